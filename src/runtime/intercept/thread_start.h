// SPDX-License-Identifier: Apache-2.0
// ThreadStart: what a creator hands to its new thread.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "model/identity.h"
#include "runtime/on_thread.h"
#include "runtime/thread_state.h"

namespace deadheat::runtime {

// Lives in the runtime's own memory. The creator makes it and tells the child
// when its handle is known; the child frees it. If there is no child the creator
// abandons it.
class ThreadStart {
 public:
  union Function {
    void* (*posix)(void*);
    int (*c11)(void*);
  };

  // nullptr when there is no memory for another thread: create it unobserved.
  [[nodiscard]] static ThreadStart* announce(ThreadState& creator, Detached detached, Function function, void* argument,
                                             Address code);
  // By the creator, with all signals blocked, before the real creation: the mask
  // that the child is to have once it is registered.
  void unblock_in_child(std::uint64_t mask) { mask_ = mask; }
  // By the creator: the size of the child's stack, which the child itself may not ask for when system calls are
  // confined.
  void note_stack(const pthread_attr_t* attributes);
  // By the creator, after the real creation.
  void created(ThreadState& creator, std::uint64_t handle);
  void abandon(ThreadState& creator);

  // Until every child that was announced has begun or been abandoned; for a second at most. The calls of libc at a
  // child's beginning, for us, must not be made when system calls are confined.
  static void wait_for_all();
  // In the child of a fork, where they do not exist.
  static void forget_all();

  // By the child, first of all: waits until the creator has registered the
  // handle, so that nobody can join or detach a thread that is not known yet;
  // then begins the thread and frees the ThreadStart.
  struct Call {
    Function function;
    void* argument;
  };
  [[nodiscard]] Call begin();

 private:
  static constexpr std::uint64_t kAllBlocked = ~std::uint64_t{0};  // stands for: the child's mask is as it should be

  Function function_;
  void* argument_ = nullptr;
  ThreadState* child_ = nullptr;
  std::uint64_t mask_ = kAllBlocked;
  std::size_t stack_size_ = 0;  // 0: ask
  // 0: the handle is not registered; 1: it is. A futex.
  std::atomic<std::uint32_t> is_known_{0};
};

}  // namespace deadheat::runtime
