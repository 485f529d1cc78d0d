// SPDX-License-Identifier: Apache-2.0
#include "runtime/cold_sampling.h"

#include "core/cell_entry.h"
#include "runtime/hand_off.h"
#include "runtime/options.h"
#include "runtime/sampling.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

bool follows_calls = false;

namespace {

// The sampler was given up: code came whose calls are not seen. Stays so.
std::atomic<bool> is_refused{false};

// Code of the compiler pass is there. It may come before the runtime has started.
std::atomic<bool> has_code_without_calls{false};

raw_report::ColdCalls ended;  // of threads that are gone; the registry's lock

bool is_on() { return follows_calls && !is_refused.load(std::memory_order_relaxed); }

bool same_text(const char* one, const char* other) {
  while (*one != 0 && *one == *other) {
    ++one;
    ++other;
  }
  return *one == *other;
}

void fill(ColdCalls& cold, std::uint64_t entry) {
  for (ShadowCell& cell : cold.blind_cells) cell.entries[0].store(entry, std::memory_order_relaxed);
}

// In between, a signal handler finds the cell of address 0, which is nobody's: empty, so
// that accesses are looked at.
void look_at_blind_cells(ThreadState& self) {
  current.cell_mask = 0;
  __asm__ volatile("" ::: "memory");
  current.cell_key = self.cold.blind_cells;
}

// Whose calls are not followed has all the room that there is.
void give_room(const ThreadState& thread, ThreadLocal& local) {
  __atomic_store_n(&local.bottom, thread.frames + 1, __ATOMIC_RELAXED);
  __atomic_store_n(&local.limit, thread.frames + kFrameLimit, __ATOMIC_RELAXED);
}

// Threads that are blind now see from here on: nothing settles their checks any more. One
// that begins an epoch or a call at this very moment does so at its next one.
void refuse() {
  if (!follows_calls || is_refused.exchange(true, std::memory_order_relaxed)) return;
  const RuntimeScope scope;
  {
    SpinHolder hold(registry().lock);
    for (ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
      fill(thread->cold, 0);
      if (thread->local != nullptr) give_room(*thread, *thread->local);
    }
  }
  send_notice("--sampler cold needs a program built with calls: deadheat c++ --pass=no; everything is checked");
}

}  // namespace

void look_again_at_accesses() {
  current.cell_key = reinterpret_cast<const void*>(shadow_key);
  __asm__ volatile("" ::: "memory");
  current.cell_mask = kCellMask;
}

bool is_blind_in_call() {
  return is_on() && current.state != nullptr && current.cell_key == current.state->cold.blind_cells;
}

void follow_call() {
  ThreadState* const self = current.state;
  if (self == nullptr || current.top == nullptr) return;
  if (!is_on()) {
    give_room(*self, current);
    return look_again_at_accesses();
  }
  current.bottom = current.limit = current.top;
  if ((current.top - 1)->is_blind != 0) return look_at_blind_cells(*self);
  look_again_at_accesses();
}

bool enter_call(Address call, Address code) {
  ThreadState& self = *current.state;
  if (current.top == self.frames + kFrameLimit) return false;
  // In the handler of a fault inside the runtime the tables are not to be touched, and
  // accesses are not looked at anyway.
  const bool decides = is_on() && current.inside == 0;
  const RuntimeScope scope;
  bool is_sampled = true;
  if (decides) {
    ColdCalls& cold = self.cold;
    is_sampled = cold.functions[code].enter();
    __atomic_store_n(&cold.calls, cold.calls + 1, __ATOMIC_RELAXED);
    if (is_sampled) __atomic_store_n(&cold.sampled_calls, cold.sampled_calls + 1, __ATOMIC_RELAXED);
  }
  Frame* const top = current.top;
  *top = {call, longer_path((top - 1)->path, call), 0, is_sampled ? 0U : 1U};
  current.top = top + 1;
  follow_call();
  return true;
}

void leave_call() {
  if (current.state == nullptr || current.top == current.state->frames + 1) return;
  const RuntimeScope scope;
  --current.top;
  follow_call();
}

void publish_blind_cells(ThreadState& thread) {
  constexpr CellEntry kAllWritten(ShortEpoch{}, 0xff, AccessKind::kWrite, OriginId::kUnknown);
  if (is_on()) return fill(thread.cold, current.epoch_bits | kAllWritten.bits());
  follow_call();
}

void set_up_cold_sampling() {
  const char* const wanted = options().sampler;
  if (same_text(wanted, "none") || same_text(wanted, "pacer")) return;
  if (!same_text(wanted, "cold")) return say("unknown sampler is ignored: ", wanted);
  if (samples || options().record) return say("sampler=cold is ignored: it does not go with rate, budget or record");
  follows_calls = true;
}

void refuse_code_without_calls() {
  if (has_code_without_calls.load(std::memory_order_relaxed)) refuse();
}

raw_report::ColdCalls cold_call_totals() {
  const RuntimeScope scope;
  SpinHolder hold(registry().lock);
  raw_report::ColdCalls totals = ended;
  for (const ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
    // First those that are part of the others.
    totals.sampled_calls += peek(thread->cold.sampled_calls);
    totals.calls += peek(thread->cold.calls);
  }
  totals.is_refused = is_refused.load(std::memory_order_relaxed) ? 1 : 0;
  return totals;
}

void keep_cold_calls_of(const ThreadState& thread) {
  ended.calls += thread.cold.calls;
  ended.sampled_calls += thread.cold.sampled_calls;
}

void forget_cold_calls() {
  ended = {};
  for (ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
    thread->cold.calls = 0;
    thread->cold.sampled_calls = 0;
  }
}

}  // namespace deadheat::runtime

void __deadheat_inline_frames() {
  using namespace deadheat::runtime;
  has_code_without_calls.store(true, std::memory_order_relaxed);
  refuse();
}
