// SPDX-License-Identifier: Apache-2.0
// Where the real functions are.
//
// Our definitions come first in the search order of the dynamic linker; the real
// one is the next, which dlsym(RTLD_NEXT) finds seen from whatever holds this
// file: the shared library, or the executable that the runtime was linked into.
// A program may be linked so oddly that libc stands before us; then the symbol is
// looked up in libc by name.
//
// Conditions exist twice in libc for the sake of programs from before 2003 with
// another layout of pthread_cond_t, hence the lookup by version.
//
// A successful lookup neither allocates nor fails; a failing one makes libc build
// an error message with malloc, which happens inside a RuntimeScope and so goes
// straight to the real malloc. Both work before any constructor has run.
#include <dlfcn.h>

#include "runtime/intercept/interceptor.h"
#include "runtime/intercept/preparation.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

void* find_in_libc(const char* name) {
  void* const libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return libc != nullptr ? dlsym(libc, name) : nullptr;
}

void* insist(void* found, const char* name) {
  if (found != nullptr) [[likely]]
    return found;
  say("cannot find the C library's function ", name);
  die("this C library is not supported");
}

}  // namespace

void* find_real_or_null(const char* name) {
  const RuntimeScope scope;
  void* const next = dlsym(RTLD_NEXT, name);
  return next != nullptr ? next : find_in_libc(name);
}

void* find_real(const char* name) { return insist(find_real_or_null(name), name); }

void* find_real(const char* name, const char* version) {
  const RuntimeScope scope;
  void* const next = dlvsym(RTLD_NEXT, name, version);
  return next != nullptr ? next : insist(find_real_or_null(name), name);
}

void prepare_interceptors() {
  static constinit std::atomic<bool> is_done{false};
  if (is_done.exchange(true, std::memory_order_relaxed)) return;  // one thread exists
  const RuntimeScope scope;
  prepare_thread_ends();
  prepare_exits();
  prepare_forks();
}

}  // namespace deadheat::runtime
