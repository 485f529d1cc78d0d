// SPDX-License-Identifier: Apache-2.0
// The locks of streams.
//
// Each stream has a lock, which the program can take by flockfile(). Calls of stdio by
// themselves order nothing (input_output.cpp), with one exception: a stream of fopencookie() calls functions of the
// program, with the stream locked. So these are called with the lock held as far as we are concerned. As the
// functions get no more than the program's cookie, a cookie of ours stands in front of it.
#include <cstddef>
#include <cstdio>

#include "runtime/intercept/replace.h"
#include "runtime/on_sync.h"
#include "runtime/page_source.h"

namespace deadheat::runtime {
namespace {

void locked(FILE* stream, LockAttempt attempt, Address code) {
  if (stream != nullptr && is_observing())
    on_lock_acquired(self(), address_of(stream), LockMode::kExclusive, attempt, code);
}
void unlocking(FILE* stream, Address code) {
  if (stream != nullptr && is_observing()) on_lock_releasing(self(), address_of(stream), code);
}

struct Cookie {
  void* given;
  cookie_io_functions_t functions;
  FILE* stream;  // nullptr until it is made
};

// The program's functions are called by libc with the stream locked. Nothing with a destructor lives across the call.
ssize_t read_by_program(void* cookie, char* buffer, std::size_t size) {
  const Cookie& ours = *static_cast<Cookie*>(cookie);
  locked(ours.stream, LockAttempt::kBlocking, DEADHEAT_CALLER);
  const ssize_t result = ours.functions.read(ours.given, buffer, size);
  unlocking(ours.stream, DEADHEAT_CALLER);
  return result;
}
ssize_t write_by_program(void* cookie, const char* buffer, std::size_t size) {
  const Cookie& ours = *static_cast<Cookie*>(cookie);
  locked(ours.stream, LockAttempt::kBlocking, DEADHEAT_CALLER);
  const ssize_t result = ours.functions.write(ours.given, buffer, size);
  unlocking(ours.stream, DEADHEAT_CALLER);
  return result;
}
int seek_by_program(void* cookie, off64_t* position, int from) {
  const Cookie& ours = *static_cast<Cookie*>(cookie);
  locked(ours.stream, LockAttempt::kBlocking, DEADHEAT_CALLER);
  const int result = ours.functions.seek(ours.given, position, from);
  unlocking(ours.stream, DEADHEAT_CALLER);
  return result;
}
int close_by_program(void* cookie) {
  auto* const ours = static_cast<Cookie*>(cookie);
  locked(ours->stream, LockAttempt::kBlocking, DEADHEAT_CALLER);
  const int result = ours->functions.close != nullptr ? ours->functions.close(ours->given) : 0;
  unlocking(ours->stream, DEADHEAT_CALLER);
  const RuntimeScope scope;
  PageSource::release(ours, sizeof(Cookie));
  return result;
}

Cookie* make_cookie(void* given, const cookie_io_functions_t& functions) {
  const RuntimeScope scope;
  void* const memory = PageSource::try_allocate(sizeof(Cookie));
  return memory != nullptr ? ::new (memory) Cookie{given, functions, nullptr} : nullptr;
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(void, flockfile, FILE* stream) {
  DEADHEAT_ORIGINAL(flockfile);
  original(stream);
  locked(stream, LockAttempt::kBlocking, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, ftrylockfile, FILE* stream) {
  DEADHEAT_ORIGINAL(ftrylockfile);
  const int result = original(stream);
  if (result == 0) locked(stream, LockAttempt::kTry, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(void, funlockfile, FILE* stream) {
  DEADHEAT_ORIGINAL(funlockfile);
  unlocking(stream, DEADHEAT_CALLER);
  original(stream);
}
DEADHEAT_ALSO(_IO_flockfile, flockfile);
DEADHEAT_ALSO(_IO_ftrylockfile, ftrylockfile);
DEADHEAT_ALSO(_IO_funlockfile, funlockfile);

DEADHEAT_REPLACE(FILE*, fopencookie, void* given, const char* mode, cookie_io_functions_t functions) {
  DEADHEAT_ORIGINAL(fopencookie);
  Cookie* const ours = is_observing() ? make_cookie(given, functions) : nullptr;
  if (ours == nullptr) return original(given, mode, functions);
  const cookie_io_functions_t in_front = {functions.read != nullptr ? read_by_program : nullptr,
                                          functions.write != nullptr ? write_by_program : nullptr,
                                          functions.seek != nullptr ? seek_by_program : nullptr, close_by_program};
  FILE* const stream = original(ours, mode, in_front);
  ours->stream = stream;
  if (stream == nullptr) {
    const KeepErrno keep;
    const RuntimeScope scope;
    PageSource::release(ours, sizeof(Cookie));
  }
  return stream;
}
