// SPDX-License-Identifier: Apache-2.0
#include "runtime/on_thread.h"

#include <sys/syscall.h>

#include "runtime/cold_sampling.h"
#include "runtime/footprints.h"
#include "runtime/hand_off.h"
#include "runtime/heap_table.h"
#include "runtime/intercept/contexts.h"
#include "runtime/intercept/cxx_exceptions.h"
#include "runtime/intercept/library_calls.h"
#include "runtime/modules.h"
#include "runtime/on_memory.h"
#include "runtime/on_sync.h"
#include "runtime/races.h"
#include "runtime/record.h"
#include "runtime/sampling.h"
#include "runtime/sampling_control.h"
#include "runtime/shadow_memory.h"
#include "runtime/shadow_pages.h"
#include "runtime/start.h"
#include "runtime/sync_table.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {
namespace {

bool is_off() { return detection_is_off.load(std::memory_order_relaxed); }

// Up to this many threads it costs little to know at each start what all know.
constexpr std::uint32_t kRefreshAtStart = 32;

void copy_name(char (&to)[16], const char* from) {
  std::size_t at = 0;
  for (; at + 1 < sizeof to && from[at] != 0; ++at) to[at] = from[at];
  to[at] = 0;
}

// The thread will never be heard of again: nobody can join it any more, or
// somebody has.
void bury(ThreadState* thread) {
  if (thread->handle != 0) {
    ThreadState** known = registry().by_handle.find(thread->handle);
    if (known != nullptr && *known == thread) registry().by_handle.erase(thread->handle);
  }
  registry().remove(thread);
}

void release_held_locks(ThreadState& self) {
  // Robust mutexes are given up by the end of their holder; for others nobody
  // will ever acquire them.
  adopt_unseen_locks(self);
  while (!self.held.empty()) on_lock_releasing(self, self.held[self.held.size() - 1].lock, 0);
}

ThreadState* add_child(ThreadState& self, std::uint32_t flags, Address code) {
  settle_footprints(self);
  ThreadState* child = registry().add(&self, current_stack(self, code), flags);
  if (child == nullptr) return nullptr;
  const RecordedStep step(self, events::on_thread(EventKind::kFork, self.clock.id(), child->clock.id()), code);
  self.clock.advance();
  advance(self);
  return child;
}

}  // namespace

ThreadState* on_thread_creating(ThreadState& self, Detached detached, Address code) {
  if (is_off()) return nullptr;
  RuntimeScope scope;
  start_sampling_control();
  const SamplingEvent event(self);
  ThreadState* child = add_child(self, 0, code);
  if (child != nullptr) child->is_detached = detached == Detached::kYes;
  return child;
}

void on_thread_not_created(ThreadState& /*self*/, ThreadState* child) {
  if (child == nullptr) return;
  RuntimeScope scope;
  if (is_scheduled) schedule_end_of_thread(*child);
  SpinHolder hold(registry().lock);
  child->info->flags |= raw_report::kThreadFinished;
  bury(child);
}

void on_thread_created(ThreadState& /*self*/, ThreadState* child, std::uint64_t handle) {
  if (child == nullptr) return;
  RuntimeScope scope;
  SpinHolder hold(registry().lock);
  child->handle = handle;
  registry().by_handle[handle] = child;
}

void on_thread_started(ThreadState* child, Address stack_begin, std::size_t stack_size) {
  if (child == nullptr) return;
  RuntimeScope scope;
  child->info->os_id = static_cast<std::uint32_t>(raw_call(SYS_gettid));
  child->stack_begin = stack_begin;
  child->stack_size = stack_size;
  activate(*child);
  const SamplingEvent event(*child);
  forget_memory(*child, stack_begin, stack_size);
  SpinHolder hold(registry().lock);
  if (registry().live_count() <= kRefreshAtStart) refresh_known_to_all();
}

void on_thread_finished() {
  ThreadState* thread = current.state;
  if (thread == nullptr) return;
  RuntimeScope scope;
  settle_footprints(*thread);
  if (is_scheduled) schedule_end_of_thread(*thread);
  release_held_locks(*thread);
  {
    const RecordedStep step(*thread, events::plain(EventKind::kThreadExit, thread->clock.id()), 0);
  }
  end_sampling_of(*thread);
  {
    SpinHolder hold_clock(thread->clock_lock);
    thread->clock.finish();
  }
  current.epoch_bits = 0;
  current.second_epoch_bits = 0;
  current.origins = no_origins;
  current.stacks = no_stacks;
  current.footprints = &no_footprints;
  look_again_at_accesses();  // what a blind thread looks at goes with its state
  current.top = current.bottom = current.limit = no_frames + 1;
  current.state = nullptr;
  SpinHolder hold(registry().lock);
  thread->local = nullptr;
  current.runs_unchecked = 0;
  current.progress = 0;
  thread->info->flags |= raw_report::kThreadFinished;
  thread->life = ThreadState::Life::kFinished;
  if (thread->is_detached) bury(thread);
}

ThreadState* find_thread(std::uint64_t handle) {
  RuntimeScope scope;
  SpinHolder hold(registry().lock);
  ThreadState** known = registry().by_handle.find(handle);
  return known == nullptr ? nullptr : *known;
}

void on_joined(ThreadState& self, ThreadState* child, std::uint64_t /*handle*/, Address code) {
  if (child == nullptr) return;
  RuntimeScope scope;
  const SamplingEvent event(self);
  settle_footprints(self);
  const RecordedStep step(self, events::on_thread(EventKind::kJoin, self.clock.id(), child->clock.id()), code);
  SpinHolder hold(registry().lock);
  {
    SpinHolder hold_clock(self.clock_lock);
    self.clock.acquire(child->clock);
  }
  bury(child);
}

void on_detached(ThreadState& self, std::uint64_t handle, Address code) {
  RuntimeScope scope;
  const RecordingHold recorded;
  SpinHolder hold(registry().lock);
  ThreadState** known = registry().by_handle.find(handle);
  if (known == nullptr) return;
  ThreadState* child = *known;
  recorded.write(events::on_thread(EventKind::kDetach, self.clock.id(), child->clock.id()), code);
  child->is_detached = true;
  if (child->life == ThreadState::Life::kFinished) bury(child);
}

void on_thread_named(std::uint64_t handle, const char* name) {
  RuntimeScope scope;
  if (handle == 0) return copy_name(self().info->name, name);
  SpinHolder hold(registry().lock);
  if (ThreadState** known = registry().by_handle.find(handle)) copy_name((*known)->info->name, name);
}

void on_fork_before() {
  ++current.inside;
  if (current.state != nullptr) settle_footprints(*current.state);
  if (is_recording()) on_recording_fork();
  lock_contexts();
  sync_table().lock_all();
  lock_races();
  registry().lock.lock();
  lock_regions();
  lock_benign_ranges();
  lock_granules();
}

void on_fork_parent() {
  unlock_granules();
  unlock_benign_ranges();
  unlock_regions();
  registry().lock.unlock();
  unlock_races();
  sync_table().unlock_all();
  unlock_contexts();
  if (is_recording()) on_recording_parent();
  --current.inside;
}

void on_fork_child() {
  unlock_granules_in_child();
  unlock_benign_ranges();
  unlock_regions();
  registry().keep_only(current.state);
  forget_cold_calls();
  registry().lock.unlock();
  unlock_races();
  sync_table().unlock_all();
  unlock_contexts();
  HeapTable::begin();
  reopen_hand_off();
  forget_sampling_control();
  forget_scheduling();
  if (current.state != nullptr) {
    current.state->info->os_id = static_cast<std::uint32_t>(raw_call(SYS_gettid));
    publish_epoch(*current.state);
  }
  unlock_modules_in_child();
  unlock_exceptions_in_child();
  unlock_libuv_in_child();
  unlock_tbb_in_child();
  send_hello();
  send_modules();
  if (is_recording()) on_recording_child();
  --current.inside;
}

ThreadState* on_fiber_created(ThreadState& self, Address code) {
  if (is_off()) return nullptr;
  RuntimeScope scope;
  const SamplingEvent event(self);
  return add_child(self, raw_report::kThreadFiber, code);
}

void on_fiber_destroyed(ThreadState& /*self*/, ThreadState* fiber, Address /*code*/) {
  if (fiber == nullptr) return;
  RuntimeScope scope;
  settle_footprints(*fiber);
  SpinHolder hold(registry().lock);
  fiber->info->flags |= raw_report::kThreadFinished;
  bury(fiber);
}

void on_fiber_switch(ThreadState& self, ThreadState* fiber, FiberSwitch order, Address code) {
  if (fiber == nullptr || fiber == &self) return;
  RuntimeScope scope;
  const auto tag = reinterpret_cast<Address>(fiber);
  if (order == FiberSwitch::kSync) on_happens_before(self, tag, code);
  self.saved_top = current.top;
  activate(*fiber);
  if (order == FiberSwitch::kSync) on_happens_after(*fiber, tag, code);
}

void on_fiber_named(ThreadState* fiber, const char* name) {
  if (fiber != nullptr) copy_name(fiber->info->name, name);
}

}  // namespace deadheat::runtime
