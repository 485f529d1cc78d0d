// SPDX-License-Identifier: Apache-2.0
// Exceptions of libc++ (cxx_exceptions.h), which are in libc++abi.
#include "runtime/intercept/cxx_exceptions.h"
#include "runtime/intercept/library_calls.h"

using namespace deadheat;
using namespace deadheat::runtime;

namespace {

// How all implementations of the ABI begin.
struct HandledExceptions {
  void* innermost;
};

}  // namespace

DEADHEAT_LIBRARY_CALL("libc++abi", HandledExceptions*, __cxa_get_globals) {
  DEADHEAT_BEHIND(__cxa_get_globals);
  return behind();
}

DEADHEAT_LIBRARY_CALL("libc++abi", void, __cxa_throw, void* exception, void* type, Destructor* destructor) {
  DEADHEAT_BEHIND(__cxa_throw);
  behind(exception, type, destructor_for(exception, destructor));
}
DEADHEAT_LIBRARY_CALL("libc++abi", void*, __cxa_init_primary_exception, void* exception, void* type,
                      Destructor* destructor) {
  DEADHEAT_BEHIND(__cxa_init_primary_exception);
  return behind(exception, type, destructor_for(exception, destructor));
}

DEADHEAT_LIBRARY_CALL("libc++abi", void*, __cxa_current_primary_exception) {
  DEADHEAT_BEHIND(__cxa_current_primary_exception);
  void* const exception = behind();
  share_exception(address_of(exception));
  return exception;
}
DEADHEAT_LIBRARY_CALL("libc++abi", void, __cxa_rethrow_primary_exception, void* exception) {
  DEADHEAT_BEHIND(__cxa_rethrow_primary_exception);
  share_exception(address_of(exception));
  behind(exception);
}
DEADHEAT_LIBRARY_CALL("libc++abi", void, __cxa_decrement_exception_refcount, void* exception) {
  DEADHEAT_BEHIND(__cxa_decrement_exception_refcount);
  const ReferenceDrop drop(address_of(exception), DEADHEAT_CALLER);
  behind(exception);
}

DEADHEAT_LIBRARY_CALL("libc++abi", void, __cxa_end_catch) {
  DEADHEAT_BEHIND(__cxa_end_catch);
  if (!shares_exceptions()) return behind();
  {
    ReferenceDrop drop;
    drop_shared_exceptions(drop, DEADHEAT_CALLER);
    behind();
  }
  auto* const globals =
      reinterpret_cast<decltype(&called___cxa_get_globals)>(real___cxa_get_globals.load(std::memory_order_relaxed));
  if (globals != nullptr && globals()->innermost == nullptr) forget_shared_exceptions();
}

// The texts of exceptions are counted as in libstdc++ (cxx_counts.cpp).
#define DEADHEAT_DROPS_MESSAGE(name)                                \
  DEADHEAT_LIBRARY_CALL("libc++abi", void, name, Address* object) { \
    DEADHEAT_BEHIND(name);                                          \
    const ReferenceDrop drop(object[1], DEADHEAT_CALLER);           \
    behind(object);                                                 \
  }
DEADHEAT_DROPS_MESSAGE(_ZNSt13runtime_errorD0Ev)
DEADHEAT_DROPS_MESSAGE(_ZNSt13runtime_errorD1Ev)
DEADHEAT_DROPS_MESSAGE(_ZNSt13runtime_errorD2Ev)
DEADHEAT_DROPS_MESSAGE(_ZNSt11logic_errorD0Ev)
DEADHEAT_DROPS_MESSAGE(_ZNSt11logic_errorD1Ev)
DEADHEAT_DROPS_MESSAGE(_ZNSt11logic_errorD2Ev)
#define DEADHEAT_DROPS_MESSAGE_BY_ASSIGNMENT(name)                                   \
  DEADHEAT_LIBRARY_CALL("libc++", void*, name, Address* object, const void* other) { \
    DEADHEAT_BEHIND(name);                                                           \
    const ReferenceDrop drop(object[1], DEADHEAT_CALLER);                            \
    return behind(object, other);                                                    \
  }
DEADHEAT_DROPS_MESSAGE_BY_ASSIGNMENT(_ZNSt13runtime_erroraSERKS_)
DEADHEAT_DROPS_MESSAGE_BY_ASSIGNMENT(_ZNSt11logic_erroraSERKS_)
