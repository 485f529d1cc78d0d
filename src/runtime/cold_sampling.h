// SPDX-License-Identifier: Apache-2.0
// LiteRace's cold-code sampler in a running program (`deadheat run --sampler cold`):
// only the accesses of sampled calls are looked at. Which calls are sampled, what is
// always tracked and what all this misses is in core/literace.h.
//
// The hook at the beginning of a function decides for each call, by thread and function;
// the function is known by the address that the hook returns to. The decision stands in
// the call's Frame. While the innermost call is not sampled its thread is *blind*: its
// ThreadLocal sends every check to cells of the thread's own, where an entry of its
// current epoch says that all bytes were written already. So a hook returns after its
// usual check, and everything that is always tracked finds epoch, clock and shadow as in
// full detection. A thread without open calls samples.
//
// Full detection pays nothing for this. The hooks of calls ask whether there is room for
// one more, and whether one is open; a thread whose calls are followed has top, limit and
// bottom of its stack in the same place, so the answer is no, and they come here.
//
// Code that was built with the compiler pass notes its calls inline, or not at all. It
// says that it is there before it runs (pass/announcement.h); then the sampler is given
// up for good, and everything is checked.
//
// Costs a lookup in a table per call, about 20 ns with the rest, and 48 to 96 bytes per
// function and thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/flat_map.h"
#include "core/cold_code_sampler.h"
#include "runtime/page_source.h"
#include "runtime/raw_report.h"
#include "runtime/shadow_memory.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// The sampler was asked for. Constant once the runtime has started.
[[gnu::visibility("hidden")]] extern bool follows_calls;

// Of one thread.
struct ColdCalls {
  // An access of 64 bytes, as of ThreadLocal::cell_key.
  static constexpr int kBlindCells = 16;

  FlatMap<ColdCodeSampler, PageSource> functions;  // by an address in their code; inside a RuntimeScope
  // Written by the thread itself, read by cold_call_totals().
  std::uint64_t calls = 0;
  std::uint64_t sampled_calls = 0;
  // What the thread looks at when it is blind. Filled by the thread itself at each epoch,
  // emptied for good by whoever refuses.
  ShadowCell blind_cells[kBlindCells] = {};
};

// The accesses of the current thread are not to be looked at.
[[nodiscard]] bool is_blind_in_call();
[[nodiscard, gnu::always_inline]] inline bool is_blind() { return follows_calls && is_blind_in_call(); }

// The current thread begins a call, or ends one, that it has no room to note by itself.
// `call` is the return address into the caller, `code` lies in the function. False when
// calls are too deep.
[[nodiscard]] bool enter_call(Address call, Address code);
void leave_call();
// Another call has become the innermost one: the current thread sees, or is blind, as it
// says. After each change of ThreadLocal::top.
void follow_call();
// The current thread is not blind.
void look_again_at_accesses();
// The thread has a new epoch, which is in ThreadLocal.
void publish_blind_cells(ThreadState& thread);

// At the start, after the options were read and PACER's sampler was set up.
void set_up_cold_sampling();
// Later, when the user can be told: code without calls is there already.
void refuse_code_without_calls();

[[nodiscard]] raw_report::ColdCalls cold_call_totals();
// The thread ends. The registry's lock is held.
void keep_cold_calls_of(const ThreadState& thread);
// In the child of a fork, which counts for itself. The registry's lock is held.
void forget_cold_calls();

}  // namespace deadheat::runtime

// Code of the compiler pass announces itself, from a constructor of its own: once per
// translation unit, before any of it runs.
extern "C" __attribute__((visibility("default"))) void __deadheat_inline_frames();
