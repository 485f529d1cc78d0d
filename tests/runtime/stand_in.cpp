// SPDX-License-Identifier: Apache-2.0
#include "runtime/stand_in.h"

#include <sched.h>

#include <thread>

#include "runtime/access_check.h"
#include "runtime/counters.h"
#include "runtime/finding_packet.h"
#include "runtime/hand_off.h"
#include "runtime/intercept/preparation.h"
#include "runtime/on_sync.h"
#include "runtime/record.h"
#include "runtime/sampling_control.h"
#include "runtime/scheduling.h"
#include "runtime/shadow_memory.h"
#include "runtime/slim_regions.h"
#include "runtime/start.h"

namespace deadheat::runtime {

namespace {

std::atomic<WatchedWords*> watched{nullptr};
RacyWordCounts last_counts;
ThreadState* main_thread = nullptr;

}  // namespace

// In place of races.cpp, start.cpp, record.cpp, counters.cpp, hand_off.cpp, on_sync.cpp,
// sampling_control.cpp and intercept/.
std::atomic<bool> detection_is_off{false};
std::atomic<bool> runtime_is_ready{true};
bool recording = false;
bool is_scheduled = false;
std::atomic<std::uint64_t> losses[static_cast<int>(Loss::kCount)];

void report_race(ThreadState& /*self*/, CellEntry /*earlier*/, const CellAccess& /*access*/, Address word) {
  if (WatchedWords* words = watched.load()) words->count(word);
}
void lock_races() {}
void unlock_races() {}
void send_counts(const RacyWordCounts& counts) { last_counts = counts; }
Address first_not_benign(Address begin, Address /*end*/) { return begin; }
void ensure_started() {}
bool takes_slow_path(const ThreadState& /*thread*/) { return false; }
void watch_end_of_thread() {}
void greet_unannounced_thread(ThreadState& /*thread*/) {}
void send_notice(const char* /*text*/) {}
void start_sampling_control() {}
void keep_sampling_of(const ThreadState& /*thread*/) {}
void deliver_pending_signals() {}
void adopt_unseen_locks(ThreadState& /*self*/) {}
void name_held_locks(ThreadState& /*self*/) {}
void begin_recorded_step(const Event& /*event*/, Address /*code*/) {}
void end_recorded_step() {}

RacyWordCounts counts_of_last_racy_word() {
  send_racy_words();
  return last_counts;
}

bool start_stand_in() {
  static const bool is_ready = [] {
    if (map_shadow() != ShadowState::kReady || !map_origins() || !map_slim_regions()) return false;
    main_thread = registry().add(nullptr, 0, 0);
    activate(*main_thread);
    return true;
  }();
  return is_ready;
}

WatchedWords::WatchedWords(std::size_t count) : words_(count), counts_(count) {
  clear_shadow(address(0), count * 8);
  watched.store(this);
}

WatchedWords::~WatchedWords() { watched.store(nullptr); }

void WatchedWords::count(Address word) {
  const std::size_t index = (word - address(0)) / 8;
  if (index < counts_.size()) counts_[index].fetch_add(1);
}

void run_threads(int count, const std::function<void(int)>& body) {
  std::vector<ThreadState*> states;
  for (int index = 0; index < count; ++index) states.push_back(registry().add(main_thread, 0, 0));
  {
    std::vector<std::jthread> threads;
    for (int index = 0; index < count; ++index) {
      threads.emplace_back([&, index] {
        activate(*states[static_cast<std::size_t>(index)]);
        body(index);
      });
    }
  }
  // Not known to anybody: what follows must not continue their slots.
  SpinHolder hold(registry().lock);
  for (ThreadState* state : states) registry().remove(state);
}

void RoundBarrier::meet(int round) {
  arrived_.fetch_add(1);
  for (int turns = 0; arrived_.load() < threads_ * (round + 1); ++turns) {
    if (turns % 64 == 63) sched_yield();
  }
}

}  // namespace deadheat::runtime
