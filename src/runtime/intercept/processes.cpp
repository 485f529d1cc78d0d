// SPDX-License-Identifier: Apache-2.0
// New processes.
//
// fork() runs the program's pthread_atfork handlers around the system call. The
// runtime must be quiet between on_fork_before() and the call, and be itself again
// before those handlers go on. So fork() is not wrapped: we are the first to
// register fork handlers, hence the last to run before the call and the first to
// run after it, and forks inside libc (daemon, forkpty) are seen as well. _Fork()
// runs no handlers and is wrapped.
//
// The child of vfork() borrows its parent's memory and stack while that waits.
// What it does is done in the parent's name, which is sound: the two never run at
// once. What must be undone are the calls the child has entered and will never
// leave, because it ends in exec or _exit: the parent's depth of calls is kept in
// a register across the system call. The stack is shared, so the return address
// must not be on it when the child returns, which takes assembly.
//
// posix_spawn, system and popen run nothing of the program in their children; that
// these may hand on order is in relatives.cpp.
// exec needs nothing: the report's descriptor is inherited.
//
// Limits: what clone() makes with CLONE_VM is not treated specially, nor is a fork
// by a bare system call that is not between the sanitizers' hooks for it.
// Between our handler and the system call libc waits for its own locks of streams;
// a thread that holds one of those while it runs code of the program (a custom
// stream) must not need the runtime to go on.
#include <sched.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include <cstdarg>
#include <cstddef>

#include "runtime/confined.h"
#include "runtime/intercept/descriptor_order.h"
#include "runtime/intercept/file_locks.h"
#include "runtime/intercept/preparation.h"
#include "runtime/intercept/relatives.h"
#include "runtime/intercept/replace.h"
#include "runtime/intercept/thread_start.h"
#include "runtime/on_thread.h"
#include "runtime/system.h"

// What pthread_atfork calls. Without the module's handle, as the runtime is never
// unloaded, and not every way of linking it provides one.
extern "C" int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(), void* module);

namespace deadheat::runtime {
namespace {

constinit std::atomic<long> process_id{0};

// One scope from here to the handler after the fork.
void before_fork() {
  before_child(0);
  ++current.inside;
  if (runtime_is_ready.load(std::memory_order_relaxed)) on_fork_before();
}

void leave_fork() {
  if (--current.inside == 0 && current.pending_signals != 0) deliver_pending_signals();
}

void after_fork_in_parent() {
  if (runtime_is_ready.load(std::memory_order_relaxed)) on_fork_parent();
  leave_fork();
}

void after_fork_in_child() {
  note_forked_process();
  ThreadStart::forget_all();
  process_id.store(raw_call(SYS_getpid), std::memory_order_relaxed);
  reset_signals_in_child();
  reset_file_locks_in_child();
  become_child();
  if (runtime_is_ready.load(std::memory_order_relaxed)) on_fork_child();
  leave_fork();
  forget_descriptor_uses();
}

}  // namespace

void prepare_forks() {
  process_id.store(raw_call(SYS_getpid), std::memory_order_relaxed);
  __register_atfork(before_fork, after_fork_in_parent, after_fork_in_child, nullptr);
}

bool owns_its_memory() {
  const long known = process_id.load(std::memory_order_relaxed);
  return known == 0 || known == raw_call(SYS_getpid);
}

}  // namespace deadheat::runtime

using namespace deadheat::runtime;

DEADHEAT_REPLACE(pid_t, _Fork) {
  DEADHEAT_ORIGINAL(_Fork);
  if (!is_observing()) return original();
  before_fork();
  const pid_t child = original();
  const KeepErrno keep;
  if (child == 0) {
    after_fork_in_child();
  } else {
    after_fork_in_parent();
  }
  return child;
}

// clone() without shared memory is a fork that begins in a function. The hooks of
// fork by system call come in the same pairs.
namespace {

struct ClonedChild {
  int (*begin)(void*);
  void* argument;
};

int begin_cloned(void* cloned) {
  const ClonedChild child = *static_cast<ClonedChild*>(cloned);
  after_fork_in_child();
  return child.begin(child.argument);
}

}  // namespace

DEADHEAT_REPLACE(int, clone, int (*begin)(void*), void* stack, int flags, void* argument, ...) {
  DEADHEAT_ORIGINAL(clone);
  va_list rest;
  va_start(rest, argument);
  auto* const parent_number = va_arg(rest, void*);  // rubbish if there is none, and then not looked at
  auto* const local_storage = va_arg(rest, void*);
  auto* const child_number = va_arg(rest, void*);
  va_end(rest);
  if (!is_observing() || (flags & CLONE_VM) != 0) {
    return original(begin, stack, flags, argument, parent_number, local_storage, child_number);
  }
  ClonedChild child{begin, argument};
  before_fork();
  const int result = original(begin_cloned, stack, flags, &child, parent_number, local_storage, child_number);
  const KeepErrno keep;
  after_fork_in_parent();
  return result;
}

DEADHEAT_COMMON_HOOK(void, __sanitizer_syscall_pre_impl_fork) {
  if (is_observing()) before_fork();
}
DEADHEAT_COMMON_HOOK(void, __sanitizer_syscall_post_impl_fork, long result) {
  if (!runtime_is_ready.load(std::memory_order_relaxed) || current.inside == 0) return;
  const KeepErrno keep;
  if (result == 0) {
    after_fork_in_child();
  } else {
    after_fork_in_parent();
  }
}

extern "C" __attribute__((visibility("hidden"), used)) void deadheat_before_vfork() { before_child(0); }
// errno of a vfork() that failed.
extern "C" __attribute__((visibility("hidden"), used)) pid_t deadheat_vfork_failed(long negated_error) {
  errno = static_cast<int>(-negated_error);
  return -1;
}

// The kernel keeps all registers but rax, rcx and r11 in both processes: rdi is
// the return address, rsi the depth of calls, rdx where it is kept.
extern "C" __attribute__((naked, visibility("default"))) pid_t replaced_vfork() __asm__("vfork");
extern "C" __attribute__((naked, visibility("default"))) pid_t replaced_vfork() {
  asm(R"(
      .globl __vfork
      .set __vfork, vfork
      subq $8, %%rsp
      call deadheat_before_vfork
      addq $8, %%rsp
      popq %%rdi
      movq __deadheat_thread@gottpoff(%%rip), %%rdx
      movq %%fs:%c0(%%rdx), %%rsi
      movl %1, %%eax
      syscall
      pushq %%rdi
      testq %%rax, %%rax
      je 1f
      movq %%rsi, %%fs:%c0(%%rdx)
      js 2f
   1: ret
   2: movq %%rax, %%rdi
      jmp deadheat_vfork_failed
  )" ::"i"(offsetof(ThreadLocal, top)),
      "i"(SYS_vfork));
}
