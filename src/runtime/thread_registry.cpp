// SPDX-License-Identifier: Apache-2.0
#include "runtime/thread_registry.h"

#include <sys/syscall.h>

#include <new>

#include "base/immortal.h"
#include "runtime/access_check.h"
#include "runtime/cold_sampling.h"
#include "runtime/footprints.h"
#include "runtime/intercept/preparation.h"
#include "runtime/sampling_control.h"
#include "runtime/shadow_memory.h"
#include "runtime/start.h"
#include "runtime/unchecked_code.h"
#include "runtime/unsampled.h"

namespace deadheat::runtime {

Frame no_frames[1];
NoCells no_cells;
constinit thread_local ThreadLocal current __attribute__((tls_model("initial-exec")));

namespace {

constinit Immortal<ThreadRegistry> the_registry;

// Short clocks that a single operation may use; the slot is changed before.
constexpr std::uint32_t kClockReserve = 16;

Frame* make_frames() { return static_cast<Frame*>(PageSource::reserve(kFrameLimit * sizeof(Frame))); }

}  // namespace

ThreadRegistry& registry() { return *the_registry; }

ThreadInfo& ThreadRegistry::info(ThreadId id) { return infos_[raw(id) < kThreadLimit ? raw(id) : 0]; }

ThreadState* ThreadRegistry::add(ThreadState* parent, std::uint32_t created_stack, std::uint32_t flags) {
  RuntimeScope scope;
  Frame* frames = make_frames();
  void* memory = PageSource::try_allocate(sizeof(ThreadState));
  if (frames == nullptr || memory == nullptr) {
    if (frames != nullptr) raw_munmap(frames, kFrameLimit * sizeof(Frame));
    PageSource::release(memory, sizeof(ThreadState));
    return nullptr;
  }
  SpinHolder hold(lock);
  if (infos_ == nullptr) {
    infos_ = static_cast<ThreadInfo*>(PageSource::reserve(std::size_t{kThreadLimit} * sizeof(ThreadInfo)));
    if (infos_ == nullptr) die("out of address space for the table of threads");
  }
  const ThreadId id{++count_};
  if (raw(id) > 1) raise_update_mode(UpdateMode::kShared);
  RuntimeClock inherited;
  if (parent != nullptr) {
    inherited = parent->clock.seen();
  } else {
    // Who made this thread is not known; what every thread knows it does, too.
    for (std::uint32_t slot = 0; slot < kSlotCount; ++slot) {
      if (const Clock known = known_to_all(ThreadSlot{slot}); known != 0) inherited.set(ThreadSlot{slot}, known);
    }
  }
  const ThreadSlot slot = take_slot(inherited, id);
  const Clock base = slot_base[raw(slot)].load(std::memory_order_relaxed);
  if (inherited.clock_of(slot) < base) inherited.set(slot, base);
  auto* thread = new (memory) ThreadState(id, slot, first_version(slot), inherited, parent);
  if (!samples) thread->clock.begin_sampling();
  thread->sampling.random = raw(id);
  thread->frames = frames;
  frames[0].context = raw(StackId::kEmpty);
  frames[0].path = kNoPath;
  thread->saved_top = frames + 1;
  thread->info = &info(id);
  thread->info->parent = parent == nullptr ? 0 : thread_number(*parent);
  thread->info->created_stack = created_stack;
  thread->info->flags = flags;
  thread->next = first_;
  if (first_ != nullptr) first_->previous = thread;
  first_ = thread;
  ++live_;
  return thread;
}

void ThreadRegistry::remove(ThreadState* thread) {
  thread->life = ThreadState::Life::kGone;
  keep_sampling_of(*thread);
  keep_cold_calls_of(*thread);
  retire_slot(thread->clock.epoch().slot(), thread->clock.epoch().clock());
  if (thread->next != nullptr) thread->next->previous = thread->previous;
  if (thread->previous != nullptr) thread->previous->next = thread->next;
  if (first_ == thread) first_ = thread->next;
  --live_;
  for (const std::uint32_t number : thread->unlinked_blocks) orphaned_blocks.push_back(number);
  for (const std::uint32_t number : thread->spare_blocks) orphaned_blocks.push_back(number);
  if (keeps_all) return;
  raw_munmap(thread->frames, kFrameLimit * sizeof(Frame));
  release_footprints(*thread);
  if (thread->origins != nullptr) PageSource::release(thread->origins, kOriginCacheSize * sizeof(OriginCacheEntry));
  if (thread->stacks != nullptr) PageSource::release(thread->stacks, kStackCacheSize * sizeof(OriginCacheEntry));
  thread->~ThreadState();
  PageSource::release(thread, sizeof(ThreadState));
}

void ThreadRegistry::keep_only(ThreadState* self) {
  for (ThreadState* thread = first_; thread != nullptr; thread = thread->next) {
    thread->clock_lock.reset();
    thread->uses_block.store(false, std::memory_order_relaxed);
    if (thread == self) continue;
    thread->life = ThreadState::Life::kFinished;
    thread->info->flags |= raw_report::kThreadFinished;
  }
}

void publish_epoch(ThreadState& thread) {
  if (&thread != current.state) return;
  const Epoch now = thread.clock.epoch();
  const std::uint64_t bits = std::uint64_t{short_epoch(now).bits()} << CellEntry::kEpochShift;
  const bool is_slow = takes_slow_path(thread);
  const bool finds_no_epoch = is_unsampled(thread);
  current.epoch_bits = is_slow ? 0 : finds_no_epoch ? kNoRecord : bits;
  current.second_epoch_bits = is_slow ? 0 : finds_no_epoch ? kNoSecondRecord : bits;
  // Where periods come and go, no access is settled before it was asked.
  current.origins = is_slow || samples || thread.origins == nullptr ? no_origins : thread.origins;
  current.footprints = is_slow || thread.footprints == nullptr ? &no_footprints : thread.footprints;
  if (follows_calls) [[unlikely]]
    publish_blind_cells(thread);
}

void publish_locks(ThreadState& thread, std::uint32_t changed_from) {
  for (std::uint32_t index = changed_from; index < thread.held.size(); ++index) {
    HeldLockState& held = thread.held[index];
    held.lock_set = 0;
    held.path = longer_path(index == 0 ? kNoPath : thread.held[index - 1].path, held.serial * 2 + raw(held.mode));
  }
  if (&thread == current.state)
    current.locks = thread.held.empty() ? kNoPath : thread.held[thread.held.size() - 1].path;
}

void activate(ThreadState& thread) {
  if (current.state != nullptr) current.state->local = nullptr;
  current.state = &thread;
  thread.local = &current;
  // A fiber that is in a period is not nudged while it does not run.
  current.cell_mask = samples && thread.clock.is_sampling() ? 0 : kCellMask;
  current.cell_key = reinterpret_cast<const void*>(shadow_key);
  current.top = thread.saved_top;
  current.bottom = thread.frames + 1;
  publish_locks(thread, thread.held.size());
  current.limit = thread.frames + kFrameLimit;
  current.stacks = thread.stacks == nullptr ? no_stacks : thread.stacks;
  publish_epoch(thread);
  follow_unchecked_code(current);
  if (follows_calls) [[unlikely]]
    follow_call();
}

void renew_epoch(ThreadState& thread) {
  const Epoch now = thread.clock.epoch();
  const Clock used = now.clock() - slot_base[raw(now.slot())].load(std::memory_order_relaxed);
  if (used + kClockReserve > ShortEpoch::kMaxClock) [[unlikely]] {
    RuntimeScope scope;
    SpinHolder hold(the_registry->lock);
    const ThreadSlot fresh = take_slot(thread.clock.seen(), thread.clock.id());
    SpinHolder hold_clock(thread.clock_lock);
    thread.clock.move_to(fresh, slot_base[raw(fresh)].load(std::memory_order_relaxed), first_version(fresh));
    retire_slot(now.slot(), now.clock());
  }
  publish_epoch(thread);
}

ThreadState& register_self() {
  RuntimeScope scope;
  ensure_started();
  if (current.state == nullptr) {
    ThreadState* thread = the_registry->add(nullptr, 0, 0);
    if (thread == nullptr) die("out of memory for another thread");
    thread->info->os_id = static_cast<std::uint32_t>(raw_call(SYS_gettid));
    activate(*thread);
    start_sampling_control();
    watch_end_of_thread();
    greet_unannounced_thread(*thread);
  }
  return *current.state;
}

}  // namespace deadheat::runtime
