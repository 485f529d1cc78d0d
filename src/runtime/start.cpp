// SPDX-License-Identifier: Apache-2.0
#include "runtime/start.h"

#include <sys/syscall.h>

#include "runtime/cold_sampling.h"
#include "runtime/confined.h"
#include "runtime/counters.h"
#include "runtime/default_suppressions.h"
#include "runtime/footprints.h"
#include "runtime/foreign_code.h"
#include "runtime/hand_off.h"
#include "runtime/heap_table.h"
#include "runtime/intercept/interceptor.h"
#include "runtime/intercept/library_calls.h"
#include "runtime/intercept/preparation.h"
#include "runtime/large_globals.h"
#include "runtime/modules.h"
#include "runtime/options.h"
#include "runtime/origins.h"
#include "runtime/program_hooks.h"
#include "runtime/races.h"
#include "runtime/record.h"
#include "runtime/sampling.h"
#include "runtime/scheduling.h"
#include "runtime/shadow_memory.h"
#include "runtime/shadow_pages.h"
#include "runtime/slim_regions.h"
#include "runtime/sync_table.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

std::atomic<bool> runtime_is_ready{false};
std::atomic<bool> detection_is_off{false};

namespace {

enum class Stage : std::uint32_t { kNotStarted, kStarting, kStarted };
std::atomic<Stage> stage{Stage::kNotStarted};

// Before anything is checked.
void switch_off(const char* reason) {
  detection_is_off.store(true, std::memory_order_relaxed);
  say(reason);
}

void find_main_stack(ThreadState& main) {
  struct Found {
    Address inside;
    ThreadState* main;
  } found{reinterpret_cast<Address>(&found), &main};
  for_each_mapping(
      [](const Mapping& mapping, void* context) {
        auto& wanted = *static_cast<Found*>(context);
        if (wanted.inside < mapping.begin || wanted.inside >= mapping.end) return true;
        // The stack grows; 8 MiB is the usual limit.
        constexpr std::size_t kGrowth = 8 << 20;
        wanted.main->stack_begin = mapping.end - kGrowth;
        wanted.main->stack_size = kGrowth;
        return false;
      },
      &found);
}

void start() {
  RuntimeScope scope;
  find_all_real();
  // While nothing of our own is mapped.
  if (map_shadow() == ShadowState::kNoRoom) {
    switch_off(
        "no room for the shadow memory (address space limited?); the program runs unchecked; see 'deadheat doctor'");
  } else if (!map_shadow_pages() || !map_origins() || !sync_table().map() || !map_slim_regions()) {
    switch_off("address space refused (ulimit -v?); the program runs unchecked; see 'deadheat doctor'");
  }
  read_options();
  if (!detection_is_off.load(std::memory_order_relaxed)) {
    set_up_sampling();
    set_up_cold_sampling();
  }
  open_hand_off();
  if (!options().report_bugs) detection_is_off.store(true, std::memory_order_relaxed);
  if (detection_is_off.load(std::memory_order_relaxed)) return silence_access_hooks();
  ask_for_suppressions();
  prepare_for_confinement();
  recording = options().record && has_listener() && !samples;
  ThreadState* main = registry().add(nullptr, 0, raw_report::kThreadMain);
  if (main == nullptr) die("out of memory at start");
  main->info->os_id = static_cast<std::uint32_t>(raw_call(SYS_gettid));
  find_main_stack(*main);
  activate(*main);
  prepare_interceptors();
  follow_library_calls();
  note_foreign_code();
  HeapTable::begin();
  note_modules([](std::uint64_t, std::uint64_t) {});  // none so far
  if (options().slim && !samples) for_each_large_global(kSmallestRegion, make_region);
  if (has_listener()) {
    send_hello();
    send_modules();
    send_suppressions();
    if (is_recording()) start_recording();
  }
  refuse_code_without_calls();
  set_up_scheduling(*main);
}

}  // namespace

void ensure_started() {
  Stage seen = stage.load(std::memory_order_acquire);  // pairs with the store below
  if (seen == Stage::kStarted) [[likely]]
    return;
  if (seen == Stage::kNotStarted && stage.compare_exchange_strong(seen, Stage::kStarting, std::memory_order_acq_rel)) {
    start();
    stage.store(Stage::kStarted, std::memory_order_release);
    // Without detection the interceptors stay what they are before the start.
    runtime_is_ready.store(!detection_is_off.load(std::memory_order_relaxed), std::memory_order_release);
    if (runtime_is_ready.load(std::memory_order_relaxed)) tell_program_of_start();
    return;
  }
  // The thread that is starting the runtime may come here by itself; others wait.
  while (current.inside == 0 && stage.load(std::memory_order_acquire) != Stage::kStarted) raw_call(SYS_sched_yield);
}

bool takes_slow_path(const ThreadState& thread) {
  return is_recording() || detection_is_off.load(std::memory_order_relaxed) ||
         thread.ignore.ignores(AccessKind::kRead) || thread.ignore.ignores(AccessKind::kWrite);
}

int on_process_exit(int status) {
  RuntimeScope scope;
  if (current.state != nullptr) {
    settle_footprints(*current.state);
    commit_footprints_of_others(*current.state);
  }
  if (is_recording()) {
    lock_recording();
    flush_recording();
    unlock_recording();
  }
  if (has_listener() || finding_count() != 0) send_summary(SummaryKind::kFinal);
  if (ask_program_at_end(finding_count() != 0 ? 1 : 0) == 0) return status;
  // 'deadheat run' knows about suppressions and sets the status itself.
  if (finding_count() == 0 || has_listener() || options().exitcode == 0) return status;
  return static_cast<int>(options().exitcode);
}

}  // namespace deadheat::runtime

// A program that was linked with our runtime says so; `deadheat run` looks for it.
extern "C" __attribute__((visibility("default"), used)) const char __deadheat_runtime_version[] = DEADHEAT_VERSION;
