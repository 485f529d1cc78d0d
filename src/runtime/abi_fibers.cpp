// SPDX-License-Identifier: Apache-2.0
// Fibers, as TSan's interface calls contexts that take turns on one thread: the
// program announces them and says when it is about to switch. A handle is the
// fiber's ThreadState, and stays valid until it is destroyed.
#include "runtime/intercept/contexts.h"
#include "runtime/intercept/interceptor.h"
#include "runtime/on_thread.h"

using namespace deadheat::runtime;

namespace {

constexpr unsigned kNoSync = 1U << 0;  // __tsan_switch_to_fiber_no_sync

ThreadState* fiber_of(void* handle) { return static_cast<ThreadState*>(handle); }

}  // namespace

DEADHEAT_INTERCEPT(void*, __tsan_get_current_fiber) { return is_observing() ? &self() : nullptr; }

DEADHEAT_INTERCEPT(void*, __tsan_create_fiber, unsigned) {
  program_switches_fibers.store(true, std::memory_order_relaxed);
  return is_observing() ? on_fiber_created(self(), DEADHEAT_CALLER) : nullptr;
}

DEADHEAT_INTERCEPT(void, __tsan_destroy_fiber, void* handle) {
  if (handle != nullptr && is_observing()) on_fiber_destroyed(self(), fiber_of(handle), DEADHEAT_CALLER);
}

DEADHEAT_INTERCEPT(void, __tsan_switch_to_fiber, void* handle, unsigned flags) {
  if (handle == nullptr || !is_observing() || handle == current.state) return;
  const FiberSwitch order = (flags & kNoSync) != 0 ? FiberSwitch::kNoSync : FiberSwitch::kSync;
  on_fiber_switch(self(), fiber_of(handle), order, DEADHEAT_CALLER);
}

DEADHEAT_INTERCEPT(void, __tsan_set_fiber_name, void* handle, const char* name) {
  if (handle != nullptr && name != nullptr && is_observing()) on_fiber_named(fiber_of(handle), name);
}
