// SPDX-License-Identifier: Apache-2.0
// The work that the wrappers of both C++ libraries do with exceptions. The names of many of their functions are the
// same, so the wrappers of each library have a file of their own.
//
// An exception is ended by whoever gives up the last reference: an std::exception_ptr, or the end of a
// handler. A thread *shares* an exception when it makes a pointer of the one that it handles, or throws the
// one that it has a pointer to; the end of a handler gives to all that the thread shares. The
// destructor of an exception is called by the library, so when it is thrown ours is put in its
// place: it takes what the others have given, and calls the program's.
#pragma once

#include "model/identity.h"
#include "runtime/intercept/cxx_counts.h"

namespace deadheat::runtime {

using Destructor = void(void*);

// The function that the library is to call instead of the program's destructor of that exception.
[[nodiscard]] Destructor* destructor_for(void* exception, Destructor* destructor);

// The current thread has got hold of an exception that others may have, too.
void share_exception(Address exception);
[[nodiscard]] bool shares_exceptions();
// Before a handler ends.
void drop_shared_exceptions(ReferenceDrop& drop, Address code);
// No handler is left.
void forget_shared_exceptions();

void unlock_exceptions_in_child();

}  // namespace deadheat::runtime
