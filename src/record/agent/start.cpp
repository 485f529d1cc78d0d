// SPDX-License-Identifier: Apache-2.0
// The beginning and the end. The process that starts first is recorded; it takes the variable
// that tells it so out of its environment, so that programs it starts, and what it becomes by
// exec, run with an agent that does nothing.
//
//   DEADHEAT_RECORD=DIR      where the log goes
//   DEADHEAT_RECORD_LIMIT=N  bytes of log at most
//   DEADHEAT_RECORD_LOCKS=all  every lock and unlock is logged, not only what is handed on
//   DEADHEAT_RECORD_CLOCK=tsc  the processor's counter is the same everywhere, and may be used
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

#include "base/inherited_filters.h"
#include "base/raw_call.h"
#include "base/replaced_functions.h"
#include "record/agent/lock_notes.h"
#include "record/agent/log.h"
#include "record/agent/thread_calls.h"

// What pthread_atfork calls; the agent is never unloaded.
extern "C" int register_fork_handlers(void (*prepare)(), void (*parent)(), void (*child)(),
                                      void* module) __asm__("__register_atfork");

namespace deadheat::record {
namespace {

void say(const char* text, const char* more) {
  char line[256];
  std::size_t size = 0;
  for (const char* part : {"deadheat: the program runs unrecorded: ", text, more, "\n"}) {
    while (*part != 0 && size < sizeof line) line[size++] = *part++;
  }
  raw_call(SYS_write, 2, as_argument(line), static_cast<long>(size));
}

__attribute__((constructor)) void on_load() {
  const char* const directory = getenv("DEADHEAT_RECORD");
  if (directory == nullptr) return;
  const bool is_filtered = has_inherited_filters(getenv(kKnownFiltersVariable));
  unsetenv(kKnownFiltersVariable);
  if (is_filtered) return;
  const char* const limit = getenv("DEADHEAT_RECORD_LIMIT");
  const char* const clock = getenv("DEADHEAT_RECORD_CLOCK");
  const char* const locks = getenv("DEADHEAT_RECORD_LOCKS");
  const bool has_counter = clock != nullptr && clock[0] == 't';
  const std::uint64_t bytes = limit == nullptr ? 1ULL << 30U : strtoull(limit, nullptr, 10);
  find_all_originals();
  const bool are_noted = can_note_locks() && (locks == nullptr || locks[0] != 'a');
  note_locks = are_noted;
  const char* const problem = open_logs(directory, has_counter ? LogClock::kTicks : LogClock::kNanoseconds,
                                        are_noted ? LoggedLocks::kHandedOn : LoggedLocks::kAll, bytes);
  unsetenv("DEADHEAT_RECORD");
  unsetenv("DEADHEAT_RECORD_LIMIT");
  unsetenv("DEADHEAT_RECORD_LOCKS");
  unsetenv("DEADHEAT_RECORD_CLOCK");
  if (problem != nullptr) return say(problem, "");
  register_fork_handlers(nullptr, nullptr, forget_logs, nullptr);
  log_main_thread();
}

__attribute__((destructor)) void on_unload() { finish_logs(); }

}  // namespace
}  // namespace deadheat::record
