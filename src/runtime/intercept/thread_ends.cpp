// SPDX-License-Identifier: Apache-2.0
// The end of a thread.
//
// A thread's last instrumented code runs after its start function has returned,
// called pthread_exit or been cancelled: first the destructors of thread_local
// objects, then, in up to PTHREAD_DESTRUCTOR_ITERATIONS rounds, the destructors
// of pthread keys. Only then has it finished for us. A key of our own whose
// destructor sets the key again sees every round and acts in the last one.
// Nothing else has to be intercepted for pthread_exit, thrd_exit and cancellation.
//
// From then on the thread stays inside the runtime: whatever libc still does in
// it is not observed, as it would make the thread register anew. The exception
// is the last thread of a process whose main thread has called pthread_exit: libc
// runs the exit handlers in it. Every thread's end is therefore also left at a
// tag, which that thread acquires: all others have ended before it.
//
// Limit: a key of the program that sets itself again in every round and has a
// higher number than ours runs once more after us, unobserved.
#include <limits.h>
#include <pthread.h>

#include "runtime/intercept/interceptor.h"
#include "runtime/intercept/preparation.h"
#include "runtime/on_sync.h"
#include "runtime/on_thread.h"

namespace deadheat::runtime {
namespace {

// Written once by prepare_thread_ends(), when one thread exists.
constinit pthread_key_t end_key = 0;
constinit std::atomic<bool> end_key_exists{false};

constinit thread_local bool has_ended __attribute__((tls_model("initial-exec"))) = false;

constinit char all_ends = 0;  // the tag

void finish_thread() {
  ++current.inside;  // for ever
  if (current.state != nullptr) {
    on_happens_before(self(), address_of(&all_ends), 0);
    on_thread_finished();
    current.top = nullptr;  // the frames are gone
    current.limit = nullptr;
  }
  forget_jump_points();
  has_ended = true;
  if (current.pending_signals != 0) deliver_pending_signals();
}

// The key's value is the number of the round in which it is seen next.
void on_round(void* value) {
  const auto round = reinterpret_cast<std::uintptr_t>(value);
  if (round < PTHREAD_DESTRUCTOR_ITERATIONS) {
    const RuntimeScope scope;
    if (pthread_setspecific(end_key, reinterpret_cast<void*>(round + 1)) == 0) return;
  }
  finish_thread();
}

}  // namespace

void prepare_thread_ends() {
  if (pthread_key_create(&end_key, on_round) != 0) return;
  end_key_exists.store(true, std::memory_order_relaxed);
  watch_end_of_thread();
}

void watch_end_of_thread() {
  if (!end_key_exists.load(std::memory_order_relaxed)) return;
  const RuntimeScope scope;
  if (pthread_getspecific(end_key) == nullptr) pthread_setspecific(end_key, reinterpret_cast<void*>(1));
}

bool thread_has_ended() { return has_ended; }

void become_last_thread() { has_ended = true; }

void revive_ended_thread() {
  if (!has_ended) return;
  has_ended = false;
  --current.inside;
  if (is_observing()) on_happens_after(self(), address_of(&all_ends), 0);
}

}  // namespace deadheat::runtime
