// SPDX-License-Identifier: Apache-2.0
// The beginning and the end. The process that starts first takes the socket and removes the
// variables that name it, so that programs it starts run without the agent and silently.
#include "watch/agent/start.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "base/inherited_filters.h"
#include "base/replaced_functions.h"
#include "watch/agent/code_ranges.h"
#include "watch/agent/control.h"
#include "watch/agent/settings.h"
#include "watch/agent/signal_calls.h"
#include "watch/agent/signals.h"
#include "watch/agent/sites.h"
#include "watch/agent/system.h"
#include "watch/agent/tell.h"
#include "watch/agent/thread_calls.h"
#include "watch/agent/threads.h"
#include "watch/agent/traps.h"
#include "watch/agent/watches.h"

// What pthread_atfork calls; the agent is never unloaded.
extern "C" int register_fork_handlers(void (*prepare)(), void (*parent)(), void (*child)(),
                                      void* module) __asm__("__register_atfork");

namespace deadheat::watch {

const char* describe_breakpoint_error(int error) {
  switch (-error) {
    case EACCES:
    case EPERM:
      return "not permitted (kernel.perf_event_paranoid, or a container's seccomp profile)";
    case ENOSYS:
      return "this system has no perf_event_open";
    case ENOSPC:
      return "all breakpoints of the processor are taken, by a debugger?";
    case EMFILE:
      return "too many open files";
    default:
      return "not supported here";
  }
}

namespace {

// To the command line if it listens, otherwise to standard error.
void give_up(const char* what, const char* why, bool has_socket) {
  if (!has_socket) return say(what, why);
  tell_message(what, why);
  tell_bye();
  close_socket();
}

bool parse_descriptor(const char* text, int& descriptor) {
  descriptor = 0;
  if (*text == 0) return false;
  for (; *text != 0; ++text) {
    if (*text < '0' || *text > '9' || descriptor > 1'000'000) return false;
    descriptor = descriptor * 10 + (*text - '0');
  }
  return true;
}

void in_child() {
  note_own_process();
  forget_control_in_child();
}

// With everything of the environment: nothing is left behind if it fails.
void start(const char* table, const Settings& settings, std::uint64_t begin) {
  const char* problem = watch_main_thread() ? nullptr : "too many threads";
  if (problem == nullptr && !take_over_trap(on_trap)) problem = "SIGTRAP cannot be handled";
  if (problem == nullptr) trap_view().seems_blocked = unblock_trap();
  if (problem == nullptr) {
    problem = sites.load(table, settings.refuse_write != 0 ? Sites::Writing::kThroughFile : Sites::Writing::kDirect);
  }
  if (problem != nullptr) {
    end_thread();
    return give_up("the program runs unwatched: ", problem, true);
  }
  code_ranges.refresh();
  prepare_watches(settings);
  register_fork_handlers(prepare_control_for_fork, release_control_after_fork, in_child, nullptr);
  if (start_control(settings, begin)) return give_socket_away();
  end_thread();
  give_up("the program runs unwatched: ", "no thread for the agent", true);
}

// A shell that starts the program is not what is to be watched: it passes everything on.
bool is_for_this_program(const char* table) {
  struct {
    SiteTableHeader header;
    SiteModule program;
  } begin;
  const long file = raw_call(SYS_openat, AT_FDCWD, as_argument(table), O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;  // that is said later
  const long got = raw_call(SYS_read, file, as_argument(&begin), sizeof begin);
  raw_call(SYS_close, file);
  if (got != static_cast<long>(sizeof begin) || begin.header.module_count == 0) return true;
  static char own[sizeof begin.program.path];
  const long length = raw_call(SYS_readlink, as_argument("/proc/self/exe"), as_argument(own), sizeof own - 1);
  return length < 0 || same_text(own, begin.program.path);
}

__attribute__((constructor)) void on_load() {
  const std::uint64_t begin = read_clock(CLOCK_MONOTONIC);
  const char* const table = getenv("DEADHEAT_WATCH_SITES");
  const char* const socket = getenv("DEADHEAT_WATCH_SOCKET");
  if (table == nullptr && socket == nullptr) return;
  if (table != nullptr && socket != nullptr && !is_for_this_program(table)) return;
  const bool is_filtered = has_inherited_filters(getenv(kKnownFiltersVariable));
  unsetenv(kKnownFiltersVariable);
  static char path[4096];
  copy_text(path, sizeof path, table != nullptr ? table : "");
  const Settings settings = parse_settings(getenv("DEADHEAT_WATCH_OPTIONS"));
  unsetenv("DEADHEAT_WATCH_SITES");
  unsetenv("DEADHEAT_WATCH_SOCKET");
  if (is_filtered) return;  // not even a word: to send it may be what ends the program
  int descriptor = -1;
  const bool has_socket = socket != nullptr && parse_descriptor(socket, descriptor) && open_socket(descriptor);
  if (!has_socket) {
    return give_up("the program runs unwatched: ", "DEADHEAT_WATCH_SOCKET is not the number of a socket", false);
  }
  if (path[0] == 0) return give_up("the program runs unwatched: ", "no table of sites in DEADHEAT_WATCH_SITES", true);
  find_all_originals();
  start(path, settings, begin);
}

__attribute__((destructor)) void on_unload() {
  if (is_watching() && is_own_process()) finish_watching();
}

}  // namespace
}  // namespace deadheat::watch

using namespace deadheat::watch;

DEADHEAT_REPLACE(void, _exit, int status) {
  if (is_watching() && is_own_process()) finish_watching();
  for (;;) raw_call(SYS_exit_group, status);
}

DEADHEAT_REPLACE(void, _Exit, int status) {
  if (is_watching() && is_own_process()) finish_watching();
  for (;;) raw_call(SYS_exit_group, status);
}
