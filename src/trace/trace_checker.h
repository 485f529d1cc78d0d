// SPDX-License-Identifier: Apache-2.0
// TraceChecker: the rules that every trace must satisfy before a detector's
// verdict on it means anything.
//
// Problem: a damaged or badly written trace (a release without its acquire, an
// event of a thread that was joined long ago) would send a detector into
// nonsense silently. The checker runs in front of every analysis, so it may
// cost next to nothing.
// Method: a small state machine per thread, lock, barrier, once flag and
// allocation. Nearly all events are accesses, and an access can break only one
// rule: its thread must be running. That is one table lookup, inline; all else
// is out of line, by family:
//   trace_checker.cpp         dispatch, and what a thread says about itself
//   trace_checker_threads.cpp life of threads
//   trace_checker_locks.cpp   locks and condition waits
//   trace_checker_sync.cpp    barriers, once flags, destruction
//   trace_checker_memory.cpp  allocations
// Cost: 1-2 ns per access, 10-30 ns per other event; memory grows with the
// threads, synchronisation objects and live allocations.
//
// The rules. They hold for every prefix of a valid trace, so a trace may stop
// anywhere.
//   Threads   An event follows the fork or the ThreadRoot of its thread, unless
//             the thread is that of the first event. A thread begins once: it is
//             not forked twice, not by itself, and is no root after that. It
//             does nothing after its exit or after having been joined. A join is
//             of a known thread, once, not of itself, not of a detached or of a
//             waiting one. A detach is of a known thread, once, not after a join.
//   Locks     Exclusive excludes everyone else, shared excludes exclusive; no
//             thread holds one lock in both modes. A release is by a holder, in
//             the mode of the acquire. Depths count: an acquire has the depth
//             held plus one, a release the depth held. A thread may exit with
//             locks held; they count as free from then on, which is what
//             acquiring a robust mutex of a dead owner looks like.
//   Waits     begin with the mutex held exclusively at depth 1, and end on the
//             same condition and mutex with the mutex free. In between the
//             thread does nothing.
//   Barriers  Phases do not go backwards. Nobody arrives at a phase that someone
//             has left. A thread leaves the phase at which it arrived last, once
//             per arrival, and not when others have arrived two phases further:
//             only two phases can be alive. Arriving without leaving is legal
//             (std::barrier::arrive), and so is arriving twice.
//   Once      Completed at most once per life; observed only when completed.
//   Destroy   Not of a held lock. It ends the life of the number in every family.
//             Threads that have yet to leave a destroyed barrier may still do so.
//   Memory    A new allocation does not overlap a live one. A free names the
//             start and size of a live allocation, or memory that overlaps none:
//             what was allocated before recording began may be freed.
//   Regions   FunctionExit closes an open call; sampling periods alternate; an
//             IgnoreEnd switches off only what is switched on, each of reads,
//             writes and synchronisation counted by itself.
// Semaphore counts are not checked (the initial value is unknown), and signals,
// broadcasts and annotation tags are always in order. The fields of single
// events are the readers' business (event_validity.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/dictionary.h"
#include "model/event.h"

namespace deadheat {

struct TraceCheckerOptions {
  // Error messages then use names where it has them. It must outlive the
  // checker and may grow meanwhile, as the dictionary of an EventSource does.
  const Dictionary* names = nullptr;
};

class TraceChecker {
 public:
  explicit TraceChecker(TraceCheckerOptions options = {}) : names_(options.names) {}

  // The next event of the trace. Error: kInvalid, one sentence that names the
  // event by its number from 0. After an error every further call repeats it.
  Status check(const Event& event) {
    if (is_access_of_running_thread(event)) {
      ++event_count_;
      return {};
    }
    return check_other(event);
  }

  // The same for the next events in order; stops at the first error.
  Status check(std::span<const Event> events) {
    for (const Event& event : events) {
      if (is_access_of_running_thread(event)) {
        ++event_count_;
        continue;
      }
      if (Status status = check_other(event); !status.ok()) return status;
    }
    return {};
  }

  // After the last event: the first error, if there was one. The end itself
  // breaks no rule.
  [[nodiscard]] Status finish() const { return failure_ ? Status{*failure_} : Status{}; }

  [[nodiscard]] std::uint64_t event_count() const { return event_count_; }

 private:
  // Where a thread is in its life.
  enum class Activity : std::uint8_t { kUnknown, kForked, kRunning, kWaiting, kExited, kJoined };

  struct ThreadState {
    bool detached = false;
    bool sampling = false;
    std::uint64_t open_calls = 0;
    std::uint64_t ignored_reads = 0;
    std::uint64_t ignored_writes = 0;
    std::uint64_t ignored_sync = 0;
    // The condition and mutex of the wait, while the thread is in one.
    SyncId wait_condition{};
    SyncId wait_mutex{};
  };

  struct Holder {
    ThreadId thread{};
    std::uint64_t depth = 0;
  };
  // Either one exclusive holder or any number of shared ones.
  struct LockState {
    LockMode mode = LockMode::kExclusive;
    std::vector<Holder> holders;
  };

  struct Arrival {
    std::uint64_t phase = 0;
    std::uint64_t count = 0;
    std::uint64_t life = 0;
  };
  struct BarrierState {
    std::uint64_t life = 0;
    std::optional<std::uint64_t> newest_arrived;
    std::optional<std::uint64_t> newest_left;
    // The arrivals that have not been followed by a leave, by thread.
    std::unordered_map<std::uint32_t, Arrival> arrivals;
  };

  [[nodiscard]] bool is_access_of_running_thread(const Event& event) const {
    return event.kind <= EventKind::kAtomicRmw && raw(event.thread) < activities_.size() &&
           activities_[raw(event.thread)] == Activity::kRunning;
  }

  // Each of these applies the rules of its events and returns what is wrong, or
  // an empty text; the caller puts the number of the event in front.
  [[gnu::noinline]] Status check_other(const Event& event);
  std::string apply(const Event& event);
  std::string begin_if_first(const Event& event);

  std::string thread_root(const Event& event);
  std::string thread_fork(const Event& event);
  std::string thread_join(const Event& event);
  std::string thread_detach(const Event& event);
  std::string thread_exit(const Event& event);

  std::string function_exit(const Event& event);
  std::string sampling(const Event& event);
  std::string ignore_begin(const Event& event);
  std::string ignore_end(const Event& event);

  std::string lock_acquire(const Event& event);
  std::string lock_release(const Event& event);
  std::string wait_begin(const Event& event);
  std::string wait_end(const Event& event);
  void drop_dead_holders(LockState& lock) const;

  std::string barrier_arrive(const Event& event);
  std::string barrier_leave(const Event& event);
  std::string once_complete(const Event& event);
  std::string once_observe(const Event& event);
  std::string destroy(const Event& event);

  std::string allocate(const Event& event);
  std::string free_memory(const Event& event);
  [[nodiscard]] std::optional<std::pair<Address, std::uint64_t>> live_overlap(Address begin, std::uint64_t size) const;

  [[nodiscard]] Activity activity(ThreadId thread) const;
  void set_activity(ThreadId thread, Activity activity);
  ThreadState& state(ThreadId thread);
  [[nodiscard]] bool is_alive(ThreadId thread) const;

  // Words for messages: "thread 3 (worker)", "m" or "0x10".
  [[nodiscard]] std::string name(ThreadId thread) const;
  [[nodiscard]] std::string name(SyncId object) const;
  [[nodiscard]] static std::string range(Address begin, std::uint64_t size);

  const Dictionary* names_;
  std::uint64_t event_count_ = 0;
  std::optional<Error> failure_;
  // By thread number. Emptied after an error, which sends every event to
  // check_other(). Numbers are below kThreadLimit, so a hostile trace cannot
  // make this larger than 16 MiB.
  std::vector<Activity> activities_;
  std::unordered_map<std::uint32_t, ThreadState> threads_;
  std::unordered_map<std::uint64_t, LockState> locks_;
  std::unordered_map<std::uint64_t, BarrierState> barriers_;
  std::unordered_set<std::uint64_t> once_flags_;  // completed in this life
  std::map<Address, std::uint64_t> allocations_;  // live, size by first address
};

}  // namespace deadheat
