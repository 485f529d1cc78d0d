// SPDX-License-Identifier: Apache-2.0
#include "watch/agent/attach.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <ctime>

#include "watch/agent/breakpoints.h"
#include "watch/agent/code_ranges.h"
#include "watch/agent/control.h"
#include "watch/agent/settings.h"
#include "watch/agent/signals.h"
#include "watch/agent/sites.h"
#include "watch/agent/start.h"
#include "watch/agent/system.h"
#include "watch/agent/tell.h"
#include "watch/agent/threads.h"
#include "watch/agent/traps.h"
#include "watch/agent/watches.h"

namespace deadheat::watch {
namespace {

constexpr std::uint64_t kPage = 4096;

AttachCall* calls_of(const AttachBlock& block) { return reinterpret_cast<AttachCall*>(block.calls); }

void protect(std::uint64_t word, int protection) {
  raw_call(SYS_mprotect, static_cast<long>(word / kPage * kPage), kPage, protection);
}

// Calls exchange(word) while it can be written. Threads may be calling by it: the word changes at once.
template <class Exchange>
void change_word(const AttachCall& call, Exchange exchange) {
  if (call.is_writable == 0) protect(call.word, PROT_READ | PROT_WRITE);
  exchange(reinterpret_cast<std::uint64_t*>(call.word));
  if (call.is_writable == 0) protect(call.word, PROT_READ);
}

void take_calls(AttachBlock& block) {
  for (std::uint64_t at = 0; at < block.call_count; ++at) {
    AttachCall& call = calls_of(block)[at];
    change_word(call, [&](std::uint64_t* word) {
      call.before = __atomic_exchange_n(word, call.replacement, __ATOMIC_RELAXED);
    });
  }
}

void enter_state(AttachBlock& block, AttachState state) {
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(&block.state), static_cast<std::uint32_t>(state),
                   __ATOMIC_RELEASE);  // read by the command line
}

// All other threads stand still until this is done: from then on what they do with masks and actions comes to us.
bool take_signals(AttachBlock& block) {
  if (!take_over_trap(on_trap)) return false;
  signals_at_end.masks_with_trap = block.masks_with_trap;
  block.records = describe_records();
  block.signals = reinterpret_cast<std::uint64_t>(&signals_at_end);
  const auto* const threads = reinterpret_cast<const AttachThread*>(block.threads);
  for (std::uint64_t at = 0; at < block.thread_count; ++at) static_cast<void>(adopt_thread(threads[at]));
  note_attached(block);
  take_calls(block);
  return true;
}

// Nullptr or what is wrong.
const char* start_attached(AttachBlock& block, const Settings& settings) {
  const std::uint64_t begin = read_clock(CLOCK_MONOTONIC);
  if (const int error = check_breakpoints(); error != 0) return describe_breakpoint_error(error);
  if (const char* const problem = sites.load(reinterpret_cast<const void*>(block.table), block.table_size,
                                             reinterpret_cast<SiteState*>(block.scratch), Sites::Writing::kDirect)) {
    return problem;
  }
  code_ranges.refresh();
  prepare_watches(settings);
  tell_hello(read_clock(CLOCK_MONOTONIC) - begin, sites.module_count(), sites.sampleable());
  tell_modules();
  return nullptr;
}

}  // namespace

void restore_calls(AttachBlock& block) {
  for (std::uint64_t at = 0; at < block.call_count; ++at) {
    AttachCall& call = calls_of(block)[at];
    if (call.is_late != 0) continue;
    // The loader may have written its own meanwhile.
    change_word(call, [&](std::uint64_t* word) {
      std::uint64_t seen = call.replacement;
      __atomic_compare_exchange_n(word, &seen, call.before, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    });
  }
}

}  // namespace deadheat::watch

using namespace deadheat::watch;

// The first function of the thread, with all signals blocked.
extern "C" __attribute__((visibility("default"), noreturn)) void deadheat_watch_attach(AttachBlock* block) {
  note_own_process();
  const bool has_signals = take_signals(*block);
  enter_state(*block, has_signals ? AttachState::kReady : AttachState::kFinished);
  const Settings settings = parse_settings(block->options);
  if (has_signals && open_socket(block->socket)) {
    if (const char* const problem = start_attached(*block, settings)) {
      sites.close();
      restore_calls(*block);
      tell_message("cannot watch: ", problem);
      tell_bye();
      close_socket();
    } else {
      enter_state(*block, AttachState::kWatching);
      control_here(settings);
    }
  }
  enter_state(*block, AttachState::kFinished);
  for (;;) raw_call(SYS_exit, 0);
}
