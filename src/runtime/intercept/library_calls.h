// SPDX-License-Identifier: Apache-2.0
// Standing in front of functions of libraries that may or may not be there.
//
// An interceptor of libc has the function's own name, which the dynamic linker finds first. That
// would not do for GLib's or OpenMP's functions: a program may define such a name itself, or have the
// library linked into it, and then nobody would be behind us. So these wrappers have no name that
// a linker sees. Where a module asks the dynamic linker for such a function of such a library,
// the word that holds the answer is changed to the wrapper. A program that does not use
// the library is not touched, nor is a call that a library makes to itself, but for the C++ libraries.
//
//   DEADHEAT_LIBRARY_CALL("libgomp", void, GOMP_barrier) {
//     DEADHEAT_BEHIND(GOMP_barrier);
//     ...
//     behind();
//   }
//
// Limit: who asks by dlsym() gets the function itself, and what the constructors of a library do
// that dlopen() loads comes before its words are changed.
#pragma once

#include <atomic>

#include "runtime/intercept/interceptor.h"

namespace deadheat::runtime {

struct LibraryCall {
  const char* library;  // the file's name up to ".so", without a version
  const char* name;
  Address (*ours)();  // where the wrapper is
  // nullptr while the library is not loaded. Written by follow_library_calls() before any
  // word leads to the wrapper.
  std::atomic<Address>* real;
};

// A variable of a library's, which the wrappers want to know of when the library is there.
struct alignas(32) LibraryVariable {  // as they lie in their section
  const char* library;
  const char* name;
  void (*found)(Address variable);  // perhaps more than once
};

// Looks for the libraries of all wrappers among the modules that are loaded, and changes what leads
// to their functions. At the start, and after dlopen(); inside the runtime.
void follow_library_calls();

// In the child of a fork, where nobody else exists.
void unlock_libuv_in_child();
void unlock_tbb_in_child();

}  // namespace deadheat::runtime

// Defines a wrapper and enters it into the list.
#define DEADHEAT_LIBRARY_CALL(library, result, name, ...)                                                        \
  static result called_##name(__VA_ARGS__);                                                                      \
  static constinit std::atomic<::deadheat::Address> real_##name{0};                                              \
  static constinit const ::deadheat::runtime::LibraryCall call_of_##name                                         \
      __attribute__((section("deadheat_calls"), used)) = {                                                       \
          library, #name, []() { return reinterpret_cast<::deadheat::Address>(&called_##name); }, &real_##name}; \
  static result called_##name(__VA_ARGS__)

#define DEADHEAT_LIBRARY_VARIABLE(library, name, found)                       \
  static constinit const ::deadheat::runtime::LibraryVariable variable_##name \
      __attribute__((section("deadheat_variables"), used)) = {library, #name, found}

// Declares `behind`, a pointer to the library's function.
#define DEADHEAT_BEHIND(name) \
  auto* const behind = reinterpret_cast<decltype(&called_##name)>(real_##name.load(std::memory_order_relaxed))
