// SPDX-License-Identifier: Apache-2.0
// New threads begin here; they end in the destructor of a key, which
// sees every way of ending. Code in destructors of keys that come after ours is not watched. In a process that
// was running already there is no key, which would outlive the agent: the agent's thread notices who has ended.
//
// The thread's own function is called last, by a jump, so that nothing of the agent stays on the stack.
#include "watch/agent/thread_calls.h"

#include <pthread.h>
#include <threads.h>

#include "base/replaced_functions.h"
#include "watch/agent/control.h"
#include "watch/agent/signals.h"
#include "watch/agent/threads.h"

namespace deadheat::watch {
namespace {

constinit pthread_key_t end_key = 0;
constinit bool has_end_key = false;

// Before the first code of the program.
void begin(ThreadRecord& record) {
  record.trap.seems_blocked = unblock_trap() || record.inherits_blocked_trap;
  if (!keeps_threads()) return give_back(record);
  begin_thread(record);
  if (has_end_key) pthread_setspecific(end_key, &record);
  wake_control();
}

// libc keeps in the thread's own memory, behind its thread pointer, by which function it was begun. Nobody reads that
// any more, but it would look as if the thread could come back to us for all its life.
void forget_beginning(const ThreadRecord& record, const void* ours, void* theirs) {
  constexpr Address kMostBehind = 4096;
  const Address begin = thread_pointer();
  const Address end = record.stack_end < begin + kMostBehind ? record.stack_end : begin + kMostBehind;
  for (Address at = begin; at + sizeof(void*) <= end; at += sizeof(void*)) {
    if (*reinterpret_cast<void**>(at) == ours) *reinterpret_cast<void**>(at) = theirs;
  }
}

void* begin_posix(void* argument) {
  auto& record = *static_cast<ThreadRecord*>(argument);
  const auto function = record.begin;
  void* const own_argument = record.argument;
  begin(record);
  forget_beginning(record, reinterpret_cast<const void*>(&begin_posix), reinterpret_cast<void*>(function));
  return function(own_argument);
}

int begin_c11(void* argument) {
  auto& record = *static_cast<ThreadRecord*>(argument);
  const auto function = record.begin_c11;
  void* const own_argument = record.argument;
  begin(record);
  forget_beginning(record, reinterpret_cast<const void*>(&begin_c11), reinterpret_cast<void*>(function));
  return function(own_argument);
}

ThreadRecord* prepare_record(void* argument) {
  if (!keeps_threads()) return nullptr;
  ThreadRecord* const record = take_record();
  if (record == nullptr) return nullptr;
  record->argument = argument;
  record->inherits_blocked_trap = trap_seems_blocked();
  return record;
}

}  // namespace

bool watch_main_thread() {
  ThreadRecord* const record = take_record();
  if (record == nullptr) return false;
  begin_thread(*record);
  has_end_key = pthread_key_create(&end_key, [](void* /*record*/) { end_thread(); }) == 0;
  if (has_end_key) pthread_setspecific(end_key, record);
  return true;
}

}  // namespace deadheat::watch

using namespace deadheat::watch;

DEADHEAT_REPLACE(int, pthread_create, pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                 void* argument) {
  DEADHEAT_ORIGINAL(pthread_create);
  tick_clock();
  ThreadRecord* const record = prepare_record(argument);
  if (record == nullptr) return original(thread, attributes, function, argument);
  record->begin = function;
  const int result = original(thread, attributes, begin_posix, record);
  if (result != 0) give_back(*record);
  return result;
}

DEADHEAT_REPLACE(int, thrd_create, thrd_t* thread, thrd_start_t function, void* argument) {
  DEADHEAT_ORIGINAL(thrd_create);
  tick_clock();
  ThreadRecord* const record = prepare_record(argument);
  if (record == nullptr) return original(thread, function, argument);
  record->begin_c11 = function;
  const int result = original(thread, begin_c11, record);
  if (result != thrd_success) give_back(*record);
  return result;
}
