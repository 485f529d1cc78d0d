// SPDX-License-Identifier: Apache-2.0
// The end of the process, and handlers that run at exit.
//
// The registration of a handler happens before its run, in whichever thread that
// is. Handlers with an argument are wrapped: the wrapper's address in memory is
// the tag. atexit() and the destructors of static objects arrive here as
// __cxa_atexit; a handler of a module that is unloaded is called with it as
// before, as the module's handle is passed on. Handlers of quick_exit have no
// argument and share one tag.
//
// The status of a process in which races were found is changed by a handler of
// our own. It was registered first, so it runs last; libc tells it the status,
// also when main returns, and goes on with a new one when a handler calls exit()
// again. _exit() and quick_exit() run none of those handlers and are intercepted.
// A child of vfork() that calls _exit() is not the end of this process.
//
// Limit: in an executable that the runtime is linked into, destructors of modules
// (.fini_array) run after our handler; what they do counts, but the status does
// not change any more.
#include <cstdlib>

#include "runtime/intercept/preparation.h"
#include "runtime/intercept/replace.h"
#include "runtime/on_sync.h"
#include "runtime/page_source.h"
#include "runtime/start.h"

extern "C" int __cxa_at_quick_exit(void (*handler)(void*), void* module);

namespace deadheat::runtime {

namespace {

// libc passes the status to handlers of __cxa_atexit as well.
using AtExit = void(void* argument, int status);
using OnExit = void(int status, void* argument);

struct ExitHandler {
  union {
    AtExit* at_exit;
    OnExit* on_exit;
  };
  void* argument;
};

ExitHandler* make_handler(void* argument, Address code) {
  auto* const handler = static_cast<ExitHandler*>(PageSource::try_allocate(sizeof(ExitHandler)));
  if (handler == nullptr) return nullptr;
  handler->argument = argument;
  on_happens_before(self(), address_of(handler), code);
  return handler;
}

ExitHandler take_handler(void* memory) {
  revive_ended_thread();
  const ExitHandler handler = *static_cast<ExitHandler*>(memory);
  if (is_observing()) {
    on_happens_after(self(), address_of(memory), 0);
    on_sync_destroyed(self(), address_of(memory), 0);
  }
  PageSource::release(memory, sizeof(ExitHandler));
  return handler;
}

void run_at_exit(void* memory, int status) {
  const ExitHandler handler = take_handler(memory);
  handler.at_exit(handler.argument, status);
}

void run_on_exit(int status, void* memory) {
  const ExitHandler handler = take_handler(memory);
  handler.on_exit(status, handler.argument);
}

constinit char quick_exit_tag = 0;
constinit std::atomic<int> quick_exit_status{0};

[[nodiscard]] int status_at_end(int status) {
  if (!is_observing() || !owns_its_memory()) return status;
  return on_process_exit(status);
}

void end_with_exit(int status, void* /*argument*/) {
  revive_ended_thread();
  const int changed = status_at_end(status);
  if (changed != status) std::exit(changed);
}

void end_with_quick_exit(void* /*unused*/) {
  std::_Exit(quick_exit_status.load(std::memory_order_relaxed));  // our own: asks for the status
}

}  // namespace

// Inside a scope: the functions go straight to the real ones.
void prepare_exits() {
  ::on_exit(end_with_exit, nullptr);
  ::__cxa_at_quick_exit(end_with_quick_exit, nullptr);
}

}  // namespace deadheat::runtime

using namespace deadheat::runtime;

DEADHEAT_REPLACE(int, __cxa_atexit, AtExit* handler, void* argument, void* module) {
  DEADHEAT_ORIGINAL(__cxa_atexit);
  if (!is_observing()) return original(handler, argument, module);
  ExitHandler* const wrapped = make_handler(argument, DEADHEAT_CALLER);
  if (wrapped == nullptr) return original(handler, argument, module);
  wrapped->at_exit = handler;
  const int result = original(run_at_exit, wrapped, module);
  if (result != 0) PageSource::release(wrapped, sizeof(ExitHandler));
  return result;
}

DEADHEAT_REPLACE(int, on_exit, OnExit* handler, void* argument) {
  DEADHEAT_ORIGINAL(on_exit);
  if (!is_observing()) return original(handler, argument);
  ExitHandler* const wrapped = make_handler(argument, DEADHEAT_CALLER);
  if (wrapped == nullptr) return original(handler, argument);
  wrapped->on_exit = handler;
  const int result = original(run_on_exit, wrapped);
  if (result != 0) PageSource::release(wrapped, sizeof(ExitHandler));
  return result;
}

DEADHEAT_REPLACE(int, __cxa_at_quick_exit, void (*handler)(void*), void* module) {
  DEADHEAT_ORIGINAL(__cxa_at_quick_exit);
  if (is_observing()) on_happens_before(self(), address_of(&quick_exit_tag), DEADHEAT_CALLER);
  return original(handler, module);
}

DEADHEAT_REPLACE(void, quick_exit, int status) {
  DEADHEAT_ORIGINAL(quick_exit);
  if (is_observing()) on_happens_after(self(), address_of(&quick_exit_tag), DEADHEAT_CALLER);
  quick_exit_status.store(status, std::memory_order_relaxed);
  original(status);
  __builtin_unreachable();
}

DEADHEAT_REPLACE(void, _exit, int status) {
  DEADHEAT_ORIGINAL(_exit);
  original(status_at_end(status));
  __builtin_unreachable();
}

DEADHEAT_REPLACE(void, _Exit, int status) {
  DEADHEAT_ORIGINAL(_Exit);
  original(status_at_end(status));
  __builtin_unreachable();
}
