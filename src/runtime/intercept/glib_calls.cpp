// SPDX-License-Identifier: Apache-2.0
// The order that GLib makes inside itself: its locks, which take a futex word by inline atomics; queues, pools of
// threads, sources of main loops, references.
//
// GRWLock and GRecMutex are locks of libpthread's, and what headers do by atomic built-ins is seen.
#include "runtime/intercept/foreign_calls.h"
#include "runtime/page_source.h"

extern "C" std::uint32_t __tsan_atomic32_fetch_or(volatile std::uint32_t* at, std::uint32_t value, int order);
extern "C" std::uint32_t __tsan_atomic32_load(const volatile std::uint32_t* at, int order);
extern "C" std::uint64_t __tsan_atomic64_fetch_or(volatile std::uint64_t* at, std::uint64_t value, int order);
extern "C" std::uint64_t __tsan_atomic64_load(const volatile std::uint64_t* at, int order);

namespace deadheat::runtime {
namespace {

constinit char sources = 0;  // the tag of all sources of all main loops
Address sources_tag() { return address_of(&sources); }

// A GOnce begins with its state, and headers look at that.
using OnceState = volatile std::uint32_t;
struct OnceCall {
  void* (*function)(void*);
  void* argument;
  OnceState* state;
};
void* run_once(void* context) {
  const OnceCall call = *static_cast<const OnceCall*>(context);
  void* const result = call.function(call.argument);
  __tsan_atomic32_fetch_or(call.state, 0, __ATOMIC_RELEASE);
  return result;
}

// A pool calls one function for all that is pushed. Ours stands in front of it, and is told by the
// first words of the pool, which are public.
struct Pool {
  void (*function)(void*, void*);
  void* argument;
};
struct PoolCall {
  Pool program;
  char pushed;  // tags
  char done;
};
void run_for_pool(void* data, void* context) {
  auto* const call = static_cast<PoolCall*>(context);
  const ForeignOrder order(0);
  order.take(address_of(&call->pushed));
  call->program.function(data, call->program.argument);
  order.give(address_of(&call->done));
}
PoolCall* call_of(const Pool* pool) {
  return pool != nullptr && pool->function == run_for_pool ? static_cast<PoolCall*>(pool->argument) : nullptr;
}
// Stays for good: a thread of the pool may be about to call it.
PoolCall* make_pool_call(const Pool& program) {
  if (program.function == nullptr || !is_observing()) return nullptr;
  const RuntimeScope scope;
  void* const memory = PageSource::try_allocate(sizeof(PoolCall));
  return memory != nullptr ? ::new (memory) PoolCall{program, 0, 0} : nullptr;
}

// The functions of a kind of source, which are public.
struct SourceFunctions {
  void* prepare;
  void* check;
  int (*dispatch)(void* source, int (*function)(void*), void* argument);
};
using Dispatch = decltype(SourceFunctions::dispatch);
constinit Dispatch dispatch_idle = nullptr;
constinit Dispatch dispatch_timeout = nullptr;
int dispatch_in_front_of_idle(void* source, int (*function)(void*), void* argument) {
  ForeignOrder(0).take(sources_tag());
  return dispatch_idle(source, function, argument);
}
int dispatch_in_front_of_timeout(void* source, int (*function)(void*), void* argument) {
  ForeignOrder(0).take(sources_tag());
  return dispatch_timeout(source, function, argument);
}
void stand_in_front(Address variable, Dispatch& behind, Dispatch ours) {
  auto* const functions = reinterpret_cast<SourceFunctions*>(variable);
  if (functions->dispatch == ours) return;
  behind = functions->dispatch;
  functions->dispatch = ours;
}

}  // namespace
}  // namespace deadheat::runtime

DEADHEAT_LIBRARY_VARIABLE("libglib-2", g_idle_funcs, [](deadheat::Address variable) {
  deadheat::runtime::stand_in_front(variable, deadheat::runtime::dispatch_idle,
                                    deadheat::runtime::dispatch_in_front_of_idle);
});
DEADHEAT_LIBRARY_VARIABLE("libglib-2", g_timeout_funcs, [](deadheat::Address variable) {
  deadheat::runtime::stand_in_front(variable, deadheat::runtime::dispatch_timeout,
                                    deadheat::runtime::dispatch_in_front_of_timeout);
});

using namespace deadheat;
using namespace deadheat::runtime;

#define GLIB(name, before, after) DEADHEAT_FOREIGN("libglib-2", name, before, after)

GLIB(g_mutex_lock, , order.lock(a))
GLIB(g_mutex_trylock, , order.try_lock(a, is_true_int(result)))
GLIB(g_mutex_unlock, order.unlock(a), )
GLIB(g_mutex_clear, order.end_lock(a), )
GLIB(g_cond_wait, order.unlock(b), order.lock(b))
GLIB(g_cond_wait_until, order.unlock(b), order.lock(b))
GLIB(g_bit_lock, , order.take(a))
GLIB(g_bit_trylock, , order.take(is_true_int(result) ? a : 0))
GLIB(g_bit_unlock, order.give(a), )
GLIB(g_pointer_bit_lock, , order.take(a))
GLIB(g_pointer_bit_trylock, , order.take(is_true_int(result) ? a : 0))
GLIB(g_pointer_bit_unlock, order.give(a), )

// Initialisation.
DEADHEAT_LIBRARY_CALL("libglib-2", void*, g_once_impl, OnceState* state, void* (*function)(void*), void* argument) {
  DEADHEAT_BEHIND(g_once_impl);
  OnceCall call{function, argument, state};
  void* const result = behind(state, run_once, &call);
  __tsan_atomic32_load(state, __ATOMIC_ACQUIRE);
  return result;
}
DEADHEAT_LIBRARY_CALL("libglib-2", int, g_once_init_enter, volatile std::uint64_t* place) {
  DEADHEAT_BEHIND(g_once_init_enter);
  const int is_ours = behind(place);
  if (is_ours == 0) __tsan_atomic64_load(place, __ATOMIC_ACQUIRE);
  return is_ours;
}
DEADHEAT_LIBRARY_CALL("libglib-2", void, g_once_init_leave, volatile std::uint64_t* place, std::uint64_t value) {
  DEADHEAT_BEHIND(g_once_init_leave);
  __tsan_atomic64_fetch_or(place, 0, __ATOMIC_RELEASE);
  behind(place, value);
}

// Queues: who gets something out has what was put in before.
GLIB(g_async_queue_push, order.give(a), )
GLIB(g_async_queue_push_unlocked, order.give(a), )
GLIB(g_async_queue_push_sorted, order.give(a), )
GLIB(g_async_queue_push_sorted_unlocked, order.give(a), )
GLIB(g_async_queue_push_front, order.give(a), )
GLIB(g_async_queue_push_front_unlocked, order.give(a), )
GLIB(g_async_queue_pop, , order.take(a))
GLIB(g_async_queue_pop_unlocked, , order.take(a))
GLIB(g_async_queue_try_pop, , order.take(result != 0 ? a : 0))
GLIB(g_async_queue_try_pop_unlocked, , order.take(result != 0 ? a : 0))
GLIB(g_async_queue_timeout_pop, , order.take(result != 0 ? a : 0))
GLIB(g_async_queue_timeout_pop_unlocked, , order.take(result != 0 ? a : 0))
GLIB(g_async_queue_remove, , order.take(is_true_int(result) ? a : 0))
GLIB(g_async_queue_lock, , order.lock(a + 1))
GLIB(g_async_queue_unlock, order.unlock(a + 1), )

// Pools of threads.
DEADHEAT_LIBRARY_CALL("libglib-2", Pool*, g_thread_pool_new, void (*function)(void*, void*), void* argument,
                      int threads, int is_exclusive, void** error) {
  DEADHEAT_BEHIND(g_thread_pool_new);
  PoolCall* const call = make_pool_call({function, argument});
  return call != nullptr ? behind(run_for_pool, call, threads, is_exclusive, error)
                         : behind(function, argument, threads, is_exclusive, error);
}
DEADHEAT_LIBRARY_CALL("libglib-2", Pool*, g_thread_pool_new_full, void (*function)(void*, void*), void* argument,
                      void (*end)(void*), int threads, int is_exclusive, void** error) {
  DEADHEAT_BEHIND(g_thread_pool_new_full);
  PoolCall* const call = make_pool_call({function, argument});
  return call != nullptr ? behind(run_for_pool, call, end, threads, is_exclusive, error)
                         : behind(function, argument, end, threads, is_exclusive, error);
}
DEADHEAT_LIBRARY_CALL("libglib-2", int, g_thread_pool_push, Pool* pool, void* data, void** error) {
  DEADHEAT_BEHIND(g_thread_pool_push);
  if (PoolCall* const call = call_of(pool)) ForeignOrder(DEADHEAT_CALLER).give(address_of(&call->pushed));
  return behind(pool, data, error);
}
DEADHEAT_LIBRARY_CALL("libglib-2", void, g_thread_pool_free, Pool* pool, int is_immediate, int waits) {
  DEADHEAT_BEHIND(g_thread_pool_free);
  PoolCall* const call = call_of(pool);
  behind(pool, is_immediate, waits);
  if (call != nullptr && waits != 0) ForeignOrder(DEADHEAT_CALLER).take(address_of(&call->done));
}

// Main loops. Adding a source gives to all of them; the functions that GLib calls for idle and timed sources take,
// and so does whoever runs a loop.
GLIB(g_source_attach, order.give(sources_tag()), )
GLIB(g_idle_add, order.give(sources_tag()), )
GLIB(g_idle_add_full, order.give(sources_tag()), )
GLIB(g_idle_add_once, order.give(sources_tag()), )
GLIB(g_timeout_add, order.give(sources_tag()), )
GLIB(g_timeout_add_full, order.give(sources_tag()), )
GLIB(g_timeout_add_once, order.give(sources_tag()), )
GLIB(g_timeout_add_seconds, order.give(sources_tag()), )
GLIB(g_timeout_add_seconds_full, order.give(sources_tag()), )
GLIB(g_main_context_invoke, order.give(sources_tag()), )
GLIB(g_main_context_invoke_full, order.give(sources_tag()), )
GLIB(g_main_context_wakeup, order.give(sources_tag()), )
GLIB(g_main_context_iteration, order.take(sources_tag()), order.take(sources_tag()))
GLIB(g_main_context_dispatch, order.take(sources_tag()), )
GLIB(g_main_loop_quit, order.give(a), )
GLIB(g_main_loop_run, order.take(sources_tag()), order.take(a))

// References. A thread that gives one up is done with the object; the last one ends it.
#define GLIB_DROPS(name) GLIB(name, order.give(a); order.take(a), )
GLIB(g_atomic_ref_count_dec, order.give(a), order.take(is_true_int(result) ? a : 0))
GLIB_DROPS(g_atomic_rc_box_release)
GLIB_DROPS(g_atomic_rc_box_release_full)
GLIB_DROPS(g_async_queue_unref)
GLIB_DROPS(g_ptr_array_unref)
GLIB_DROPS(g_array_unref)
GLIB_DROPS(g_hash_table_unref)
GLIB_DROPS(g_bytes_unref)
GLIB_DROPS(g_variant_unref)
GLIB_DROPS(g_source_unref)
DEADHEAT_FOREIGN("libgobject-2", g_object_unref, order.give(a); order.take(a), )
DEADHEAT_FOREIGN("libgobject-2", g_boxed_free, order.give(b); order.take(b), )
