// SPDX-License-Identifier: Apache-2.0
// Threads: their creation, their logs, their ends. A thread is known by its number in the log
// and by its pthread_t to others, which is used again; which thread a join means is found
// offline by the times of creations.
#include <pthread.h>
#include <threads.h>

#include <cstdlib>

#include "base/replaced_functions.h"
#include "record/agent/heap_calls.h"
#include "record/agent/log.h"
#include "record/agent/thread_calls.h"

namespace deadheat::record {
namespace {

constinit pthread_key_t end_key = 0;
constinit bool has_key = false;

// libc runs destructors of keys in rounds, as long as there are any; the last round is
// where nobody else's come after ours.
constexpr std::uintptr_t kLastRound = 4;

void on_thread_end(void* round) {
  const auto number = reinterpret_cast<std::uintptr_t>(round);
  if (number < kLastRound) {
    pthread_setspecific(end_key, reinterpret_cast<void*>(number + 1));
  } else {
    end_log();
  }
}

struct Start {
  void* (*function)(void*);
  int (*function_c11)(void*);
  void* argument;
  std::uint32_t thread;
};

void begin(Start& start) {
  if (begin_log(start.thread, Origin::kCreated) && has_key) pthread_setspecific(end_key, reinterpret_cast<void*>(1));
}

void* begin_posix(void* argument) {
  Start start = *static_cast<Start*>(argument);
  unlogged_free(argument);
  begin(start);
  return start.function(start.argument);
}

int begin_c11(void* argument) {
  Start start = *static_cast<Start*>(argument);
  unlogged_free(argument);
  begin(start);
  return start.function_c11(start.argument);
}

Start* make_start(void* argument, const void* code) {
  if (!has_log()) return nullptr;
  auto* const start = static_cast<Start*>(unlogged_malloc(sizeof(Start)));
  if (start == nullptr) return nullptr;
  *start = {nullptr, nullptr, argument, next_thread()};
  log_before(log_kind(EventKind::kFork), start->thread, 0, code);
  return start;
}

}  // namespace

void log_main_thread() {
  has_key = pthread_key_create(&end_key, on_thread_end) == 0;
  Start start{nullptr, nullptr, nullptr, next_thread()};
  begin(start);
}

}  // namespace deadheat::record

using namespace deadheat;
using namespace deadheat::record;

DEADHEAT_REPLACE(int, pthread_create, pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                 void* argument) {
  DEADHEAT_ORIGINAL(pthread_create);
  Start* const start = make_start(argument, DEADHEAT_CALLER);
  if (start == nullptr) return original(thread, attributes, function, argument);
  const std::uint32_t number = start->thread;
  start->function = function;
  const int result = original(thread, attributes, begin_posix, start);
  if (result == 0) {
    log_after(LogKind::kForked, *thread, number, DEADHEAT_CALLER);
  } else {
    unlogged_free(start);
  }
  return result;
}

DEADHEAT_REPLACE(int, thrd_create, thrd_t* thread, thrd_start_t function, void* argument) {
  DEADHEAT_ORIGINAL(thrd_create);
  Start* const start = make_start(argument, DEADHEAT_CALLER);
  if (start == nullptr) return original(thread, function, argument);
  const std::uint32_t number = start->thread;
  start->function_c11 = function;
  const int result = original(thread, begin_c11, start);
  if (result == thrd_success) {
    log_after(LogKind::kForked, *thread, number, DEADHEAT_CALLER);
  } else {
    unlogged_free(start);
  }
  return result;
}

#define DEADHEAT_UNWRAP(...) __VA_ARGS__
#define DEADHEAT_JOINS(name, parameters, arguments)                                \
  DEADHEAT_REPLACE(int, name, DEADHEAT_UNWRAP parameters) {                        \
    DEADHEAT_ORIGINAL(name);                                                       \
    const std::uint64_t before = time_before();                                    \
    const int result = original arguments;                                         \
    if (result == 0) log_after(LogKind::kJoined, thread, before, DEADHEAT_CALLER); \
    return result;                                                                 \
  }
// clang-format off
DEADHEAT_JOINS(pthread_join, (pthread_t thread, void** value), (thread, value))
DEADHEAT_JOINS(pthread_tryjoin_np, (pthread_t thread, void** value), (thread, value))
DEADHEAT_JOINS(pthread_timedjoin_np, (pthread_t thread, void** value, const timespec* until), (thread, value, until))
DEADHEAT_JOINS(pthread_clockjoin_np, (pthread_t thread, void** value, clockid_t clock, const timespec* until), (thread, value, clock, until))
DEADHEAT_JOINS(thrd_join, (thrd_t thread, int* value), (thread, value))
// clang-format on

DEADHEAT_REPLACE(int, pthread_detach, pthread_t thread) {
  DEADHEAT_ORIGINAL(pthread_detach);
  log_before(LogKind::kDetached, thread, 0, DEADHEAT_CALLER);
  return original(thread);
}
