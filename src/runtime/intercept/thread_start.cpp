// SPDX-License-Identifier: Apache-2.0
// How a thread begins.
//
// The real pthread_create stores the handle and starts the child in any order,
// and the child can hand pthread_self() to a third thread that joins it. So the
// child waits until its creator has registered the handle; mostly the creator is
// done before the child runs at all. The creator never waits.
//
// A handler of the program that runs in the child before it is registered would
// be taken for a root that nobody created, on a stack whose history is not
// forgotten yet. So the child begins with all signals blocked, like its creator
// during the creation, and takes the creator's mask when it is registered. A mask
// that the program has put into the attributes is in force from the beginning; a
// handler that is faster than we are then runs in a root of its own, which ends
// here.
//
// The range of the stack comes from pthread_getattr_np, which knows default and
// user-given stacks alike. Without the guard page, it includes the thread's
// static TLS and libc's descriptor at its upper end: their history must be
// forgotten as well, since libc reuses the block as a whole. Asking takes system calls: where a
// program has confined those, the creator tells the size, and the end is at the descriptor.
#include "runtime/intercept/thread_start.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#include <new>

#include "runtime/confined.h"
#include "runtime/intercept/interceptor.h"
#include "runtime/intercept/preparation.h"
#include "runtime/intercept/signal_mask.h"
#include "runtime/page_source.h"
#include "runtime/scheduling.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

struct StackRange {
  Address begin = 0;
  std::size_t size = 0;
};

// libc's descriptor of a thread, in its last page, stands above its stack.
StackRange stack_below_descriptor(std::size_t size) {
  constexpr Address kPage = 4096;
  constexpr Address kDescriptor = 2304;
  const Address end = (static_cast<Address>(pthread_self()) + kDescriptor + kPage - 1) & ~(kPage - 1);
  return {end - size, size};
}

StackRange stack_of_this_thread() {
  StackRange range;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return range;
  void* begin = nullptr;
  if (pthread_attr_getstack(&attributes, &begin, &range.size) == 0) range.begin = address_of(begin);
  pthread_attr_destroy(&attributes);
  return range;
}

constinit std::atomic<std::uint32_t> beginning{0};  // announced, and neither begun nor abandoned

}  // namespace

void ThreadStart::wait_for_all() {
  constexpr int kTries = 10'000;
  const timespec pause{0, 100'000};
  for (int tries = 0; tries < kTries && beginning.load(std::memory_order_relaxed) != 0; ++tries) {
    raw_call(SYS_nanosleep, as_argument(&pause), 0);
  }
}

void ThreadStart::forget_all() { beginning.store(0, std::memory_order_relaxed); }

ThreadStart* ThreadStart::announce(ThreadState& creator, Detached detached, Function function, void* argument,
                                   Address code) {
  void* const memory = PageSource::try_allocate(sizeof(ThreadStart));
  if (memory == nullptr) return nullptr;
  ThreadState* const child = on_thread_creating(creator, detached, code);
  if (child == nullptr) {
    PageSource::release(memory, sizeof(ThreadStart));
    return nullptr;
  }
  if (is_scheduled) schedule_new_thread(creator, *child, address_of(reinterpret_cast<void*>(function.posix)), argument);
  auto* const start = ::new (memory) ThreadStart;
  start->function_ = function;
  start->argument_ = argument;
  start->child_ = child;
  beginning.fetch_add(1, std::memory_order_relaxed);
  return start;
}

void ThreadStart::note_stack(const pthread_attr_t* attributes) {
  if (!is_confined()) return;
  pthread_attr_t usual;
  pthread_attr_init(&usual);
  pthread_attr_getstacksize(attributes != nullptr ? attributes : &usual, &stack_size_);
  pthread_attr_destroy(&usual);
}

void ThreadStart::created(ThreadState& creator, std::uint64_t handle) {
  on_thread_created(creator, child_, handle);
  // The child may free this object as soon as it sees the store; waking by
  // address touches no memory.
  std::atomic<std::uint32_t>* const futex = &is_known_;
  futex->store(1, std::memory_order_release);  // pairs with begin()
  raw_call(SYS_futex, reinterpret_cast<long>(futex), FUTEX_WAKE_PRIVATE, 1);
}

void ThreadStart::abandon(ThreadState& creator) {
  on_thread_not_created(creator, child_);
  beginning.fetch_sub(1, std::memory_order_relaxed);
  PageSource::release(this, sizeof(ThreadStart));
}

ThreadStart::Call ThreadStart::begin() {
  const RuntimeScope scope;
  while (is_known_.load(std::memory_order_acquire) == 0)  // pairs with created()
    raw_call(SYS_futex, reinterpret_cast<long>(&is_known_), FUTEX_WAIT_PRIVATE, 0);
  const Call call{function_, argument_};
  ThreadState* const child = child_;
  const KernelMask mask = mask_;
  const std::size_t stack_size = stack_size_;
  PageSource::release(this, sizeof(ThreadStart));

  if (current.state != nullptr) on_thread_finished();  // the root of a signal handler that was faster
  const StackRange stack = stack_size != 0 ? stack_below_descriptor(stack_size) : stack_of_this_thread();
  beginning.fetch_sub(1, std::memory_order_relaxed);
  on_thread_started(child, stack.begin, stack.size);
  watch_end_of_thread();
  if (mask != kAllBlocked) change_mask(SIG_SETMASK, mask);
  return call;
}

}  // namespace deadheat::runtime
