// SPDX-License-Identifier: Apache-2.0
// New threads begin here, with their breakpoints; they end in the destructor of a key, which
// sees every way of ending. Code in destructors of keys that come after ours is not watched.
#include "watch/agent/thread_calls.h"

#include <pthread.h>
#include <threads.h>

#include "watch/agent/control.h"
#include "watch/agent/intercept.h"
#include "watch/agent/signals.h"
#include "watch/agent/threads.h"

namespace deadheat::watch {
namespace {

constinit pthread_key_t end_key = 0;
constinit std::uint32_t slots = 0;

// Before the first code of the program.
void begin(ThreadRecord& record) {
  begin_signals_of_thread(record.inherits_blocked_trap);
  int error = 0;
  if (!is_watching()) return give_back(record);
  if (!begin_thread(record, slots, error)) return;
  pthread_setspecific(end_key, &record);
  wake_control();
}

void* begin_posix(void* argument) {
  auto& record = *static_cast<ThreadRecord*>(argument);
  const auto function = record.begin;
  void* const own_argument = record.argument;
  begin(record);
  return function(own_argument);
}

int begin_c11(void* argument) {
  auto& record = *static_cast<ThreadRecord*>(argument);
  const auto function = record.begin_c11;
  void* const own_argument = record.argument;
  begin(record);
  return function(own_argument);
}

ThreadRecord* prepare_record(void* argument) {
  if (!is_watching()) return nullptr;
  ThreadRecord* const record = take_record();
  if (record == nullptr) return nullptr;
  record->argument = argument;
  record->inherits_blocked_trap = trap_seems_blocked();
  return record;
}

}  // namespace

bool watch_main_thread(std::uint32_t wanted_slots, int& error) {
  slots = wanted_slots;
  ThreadRecord* const record = take_record();
  if (record == nullptr || !begin_thread(*record, slots, error)) return false;
  if (pthread_key_create(&end_key, [](void* /*record*/) { end_thread(); }) != 0) return true;
  pthread_setspecific(end_key, record);
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
  tick_clock();
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
  tick_clock();
  return result;
}
