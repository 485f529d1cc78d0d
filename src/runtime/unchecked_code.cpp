// SPDX-License-Identifier: Apache-2.0
#include "runtime/unchecked_code.h"

#include <atomic>

#include "runtime/thread_registry.h"

namespace deadheat::runtime {
namespace {

// What the words of all threads say, or soon will. Written by the one thread that
// controls sampling.
std::atomic<bool> may_run{false};
std::atomic<std::uint64_t> changes{0};

void set_all(std::uint64_t value) {
  SpinHolder hold(registry().lock);
  for (ThreadState* thread = registry().first(); thread != nullptr; thread = thread->next) {
    if (thread->local != nullptr) __atomic_store_n(&thread->local->runs_unchecked, value, __ATOMIC_RELAXED);
  }
}

}  // namespace

void begin_unchecked_code(bool may) { may_run.store(may, std::memory_order_seq_cst); }

bool may_run_unchecked() { return may_run.load(std::memory_order_relaxed); }

std::uint64_t unchecked_changes() { return changes.load(std::memory_order_relaxed); }

void allow_unchecked_code() {
  changes.fetch_add(1, std::memory_order_relaxed);
  may_run.store(true, std::memory_order_seq_cst);
  set_all(1);
}

void forbid_unchecked_code() {
  changes.fetch_add(1, std::memory_order_relaxed);
  may_run.store(false, std::memory_order_seq_cst);
  set_all(0);
}

// Either the other thread finds this one in the registry after it has changed its mind,
// or this one sees that it has: each writes before it looks.
void follow_unchecked_code(ThreadLocal& local) {
  __atomic_store_n(&local.runs_unchecked, may_run.load(std::memory_order_relaxed) ? 1 : 0, __ATOMIC_SEQ_CST);
  if (!may_run.load(std::memory_order_seq_cst)) __atomic_store_n(&local.runs_unchecked, 0, __ATOMIC_RELAXED);
}

}  // namespace deadheat::runtime
