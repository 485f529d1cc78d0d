// SPDX-License-Identifier: Apache-2.0
// The order that libuv makes by atomics of its own: a handle that other threads wake up. Its locks, semaphores and
// pool of threads call libpthread's functions, which are seen.
//
// A second wake-up may find the first one pending and leave it at that, so the bytes that libuv writes to
// itself do not tell. The callback of the handle is called by a function of ours, which takes from the handle.
#include "base/flat_map.h"
#include "base/immortal.h"
#include "runtime/intercept/foreign_calls.h"
#include "runtime/page_source.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

using Callback = void(void* handle);

SpinLock lock;  // a leaf
constinit Immortal<FlatMap<Callback*, PageSource>> callbacks;

void wake_up(void* handle) {
  Callback* callback = nullptr;
  {
    const RuntimeScope scope;
    SpinHolder hold(lock);
    if (Callback** const known = callbacks->find(address_of(handle))) callback = *known;
  }
  ForeignOrder(0).take(address_of(handle));
  if (callback != nullptr) callback(handle);
}

Callback* wake_up_for(void* handle, Callback* callback) {
  if (callback == nullptr || !is_observing()) return callback;
  const RuntimeScope scope;
  SpinHolder hold(lock);
  (*callbacks)[address_of(handle)] = callback;
  return wake_up;
}

}  // namespace

void unlock_libuv_in_child() { lock.reset(); }

}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_LIBRARY_CALL("libuv", int, uv_async_init, void* loop, void* handle, Callback* callback) {
  DEADHEAT_BEHIND(uv_async_init);
  return behind(loop, handle, wake_up_for(handle, callback));
}
DEADHEAT_FOREIGN("libuv", uv_async_send, order.give(a), )
