// SPDX-License-Identifier: Apache-2.0
// Replacing functions whose headers stand in the way.
//
// The headers of libc declare many functions in forms that cannot be defined
// again in C++: overloads for const (strchr), redirections for large files
// (stat), aliases, attributes that let the compiler drop checks. So the
// replacement has a name of its own in C++ and the function's name only as a
// symbol:
//
//   DEADHEAT_REPLACE(std::size_t, strlen, const char* text) {
//     DEADHEAT_ORIGINAL(strlen);
//     const std::size_t length = original(text);
//     on_read(text, length + 1, DEADHEAT_CALLER);
//     return length;
//   }
#pragma once

#include <cerrno>
#include <cstddef>

#include "model/identity.h"
#include "runtime/intercept/interceptor.h"
#include "runtime/on_access.h"

// A program may have a function of its own with such a name: then that is the one that runs.
#define DEADHEAT_REPLACE(result, name, ...)                                                                   \
  extern "C" __attribute__((visibility("default"), weak)) result replaced_##name(__VA_ARGS__) __asm__(#name); \
  extern "C" __attribute__((visibility("default"), weak)) result replaced_##name(__VA_ARGS__)
// Where that would leave us without what we need to know: the heap.
#define DEADHEAT_REPLACE_FIRMLY(result, name, ...)                                                      \
  extern "C" __attribute__((visibility("default"))) result replaced_##name(__VA_ARGS__) __asm__(#name); \
  extern "C" __attribute__((visibility("default"))) result replaced_##name(__VA_ARGS__)

// Another name that libc has for a function, for one that is replaced in the same file.
#define DEADHEAT_ALSO(other, name)                       \
  extern "C" __attribute__((visibility("default"), weak, \
                            alias(#name))) decltype(replaced_##name) also_##other __asm__(#other)

// Declares `original`, a pointer to the function that we stand in front of. Its
// name goes into the list that find_all_real() works through.
#define DEADHEAT_ORIGINAL(name)                                                                  \
  DEADHEAT_LOOKED_UP(name, #name);                                                               \
  static constinit ::deadheat::runtime::RealFunction<decltype(replaced_##name)> original_##name; \
  auto* const original = original_##name.get(name_of_##name)

namespace deadheat::runtime {

// What happens after the original function must not disturb its errno.
class KeepErrno {
 public:
  KeepErrno() = default;
  ~KeepErrno() { errno = saved_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int saved_ = errno;
};

// After the original has filled a buffer.
inline void report_written(const volatile void* begin, std::size_t size, Address code) {
  if (begin == nullptr || size == 0 || !is_observing_accesses()) return;
  const KeepErrno keep;
  on_write(begin, size, code);
}
inline void report_read(const volatile void* begin, std::size_t size, Address code) {
  if (begin == nullptr || size == 0 || !is_observing_accesses()) return;
  const KeepErrno keep;
  on_read(begin, size, code);
}

}  // namespace deadheat::runtime
