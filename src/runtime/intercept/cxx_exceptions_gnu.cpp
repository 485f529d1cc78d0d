// SPDX-License-Identifier: Apache-2.0
// Exceptions of libstdc++ (cxx_exceptions.h).
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

DEADHEAT_LIBRARY_CALL("libstdc++", HandledExceptions*, __cxa_get_globals) {
  DEADHEAT_BEHIND(__cxa_get_globals);
  return behind();
}

DEADHEAT_LIBRARY_CALL("libstdc++", void, __cxa_throw, void* exception, void* type, Destructor* destructor) {
  DEADHEAT_BEHIND(__cxa_throw);
  behind(exception, type, destructor_for(exception, destructor));
}
DEADHEAT_LIBRARY_CALL("libstdc++", void*, __cxa_init_primary_exception, void* exception, void* type,
                      Destructor* destructor) {
  DEADHEAT_BEHIND(__cxa_init_primary_exception);
  return behind(exception, type, destructor_for(exception, destructor));
}

// A pointer to an exception is one word.
DEADHEAT_LIBRARY_CALL("libstdc++", Address*, _ZSt17current_exceptionv, Address* pointer) {
  DEADHEAT_BEHIND(_ZSt17current_exceptionv);
  behind(pointer);
  share_exception(*pointer);
  return pointer;
}
DEADHEAT_LIBRARY_CALL("libstdc++", void, _ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE,
                      const Address* pointer) {
  DEADHEAT_BEHIND(_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE);
  share_exception(*pointer);
  behind(pointer);
}
DEADHEAT_LIBRARY_CALL("libstdc++", void, _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv, Address* pointer) {
  DEADHEAT_BEHIND(_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv);
  const ReferenceDrop drop(*pointer, DEADHEAT_CALLER);
  behind(pointer);
}

DEADHEAT_LIBRARY_CALL("libstdc++", void, __cxa_end_catch) {
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
