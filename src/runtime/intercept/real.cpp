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
// dlsym() takes the dynamic linker's lock, which must not be waited for where the
// program runs with the other lock that dlopen() needs: in a callback of
// dl_iterate_phdr(). Before one, all functions are looked up and kept in a table.
//
// A successful lookup neither allocates nor fails; a failing one makes libc build
// an error message with malloc, which happens inside a RuntimeScope and so goes
// straight to the real malloc. Both work before any constructor has run.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/intercept/interceptor.h"
#include "runtime/intercept/preparation.h"
#include "runtime/system.h"

// The linker's names for the ends of the section that DEADHEAT_ORIGINAL fills with
// names: each ends with a 0, between them may be more of these.
extern "C" __attribute__((visibility("hidden"))) const char __start_deadheat_originals[];
extern "C" __attribute__((visibility("hidden"))) const char __stop_deadheat_originals[];

namespace deadheat::runtime {
namespace {

// A hash table of all functions that were looked up together.
//   Written: by any thread, with what every other one would write.
//   Read:    by any thread, after `is_filled`.
struct KnownFunction {
  std::atomic<const char*> name;
  std::atomic<void*> address;
};
constexpr std::size_t kKnownFunctions = 1024;
constinit KnownFunction known_functions[kKnownFunctions];
constinit std::atomic<bool> is_filled{false};

bool same_name(const char* one, const char* other) {
  while (*one != 0 && *one == *other) {
    ++one;
    ++other;
  }
  return *one == *other;
}

std::size_t place_of(const char* name) {
  std::uint64_t hash = 0;
  for (; *name != 0; ++name) hash = (hash + static_cast<unsigned char>(*name)) * 0x9e3779b97f4a7c15ULL;
  return hash >> 54;  // ten bits
}
static_assert(kKnownFunctions == std::size_t{1} << 10);

void remember(const char* name, void* address) {
  for (std::size_t at = place_of(name), tries = 0; tries < kKnownFunctions; ++tries, at = (at + 1) % kKnownFunctions) {
    const char* seen = nullptr;
    known_functions[at].name.compare_exchange_strong(seen, name, std::memory_order_relaxed);
    if (seen != nullptr && !same_name(seen, name)) continue;
    known_functions[at].address.store(address, std::memory_order_relaxed);
    return;
  }
}

// nullptr if it is not in the table.
void* known_address(const char* name) {
  if (!is_filled.load(std::memory_order_acquire)) return nullptr;  // pairs with the store in find_all_real()
  for (std::size_t at = place_of(name), tries = 0; tries < kKnownFunctions; ++tries, at = (at + 1) % kKnownFunctions) {
    const char* const seen = known_functions[at].name.load(std::memory_order_relaxed);
    if (seen == nullptr) return nullptr;
    if (same_name(seen, name)) return known_functions[at].address.load(std::memory_order_relaxed);
  }
  return nullptr;
}

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
  if (void* const known = known_address(name)) return known;
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

void find_all_real() {
  if (is_filled.load(std::memory_order_relaxed)) return;
  for (const char* name = __start_deadheat_originals; name < __stop_deadheat_originals; ++name) {
    if (*name == 0) continue;
    if (void* const address = find_real_or_null(name)) remember(name, address);
    while (*name != 0) ++name;
  }
  is_filled.store(true, std::memory_order_release);  // pairs with the load in known_address()
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
