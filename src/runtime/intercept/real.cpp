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
// another layout of pthread_cond_t, hence names with a version: NAME@VERSION.
//
// dlsym() takes the dynamic linker's lock, which an event must never wait for: a
// thread holds it while it runs a library's constructors and destructors, and these
// may wait for other threads. So all functions are looked up at start, when one thread
// exists, and kept in a table. A name outside the list is looked up all the same, and
// counted as a loss.
//
// A function that no library has at start may come with one that dlopen() loads: the
// C++ library, for a program in C. So what is missing is looked up again after each
// dlopen(), and once more by the first thread that needs it, which then waits for the
// linker after all.
//
// A successful lookup neither allocates nor fails; a failing one makes libc build
// an error message with malloc, which happens inside a RuntimeScope and so goes
// straight to the real malloc. Both work before any constructor has run.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "runtime/counters.h"
#include "runtime/intercept/interceptor.h"
#include "runtime/intercept/preparation.h"
#include "runtime/system.h"

// The linker's names for the ends of the section that DEADHEAT_LOOKED_UP fills with
// names: each ends with a 0, between them may be more of these.
extern "C" __attribute__((visibility("hidden"))) const char __start_deadheat_originals[];
extern "C" __attribute__((visibility("hidden"))) const char __stop_deadheat_originals[];

namespace deadheat::runtime {
namespace {

// A hash table of all functions of the list. One that was not found has no address.
//   Written: by any thread, with what every other one would write.
//   Read:    by any thread, after `is_filled`.
struct KnownFunction {
  std::atomic<const char*> name;
  std::atomic<void*> address;
};
constexpr int kTableBits = 12;
constexpr std::size_t kKnownFunctions = std::size_t{1} << kTableBits;
constinit KnownFunction known_functions[kKnownFunctions];
constinit std::atomic<bool> is_filled{false};
constinit std::atomic<bool> some_are_missing{false};

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
  return hash >> (64 - kTableBits);
}

// The place of a name, which is a new one if the table did not have it; nullptr if the table is full.
KnownFunction* make_place(const char* name) {
  for (std::size_t at = place_of(name), tries = 0; tries < kKnownFunctions; ++tries, at = (at + 1) % kKnownFunctions) {
    const char* seen = nullptr;
    known_functions[at].name.compare_exchange_strong(seen, name, std::memory_order_relaxed);
    if (seen == nullptr || same_name(seen, name)) return &known_functions[at];
  }
  return nullptr;
}

// nullptr if it is not in the table.
KnownFunction* place_in_table(const char* name) {
  for (std::size_t at = place_of(name), tries = 0; tries < kKnownFunctions; ++tries, at = (at + 1) % kKnownFunctions) {
    const char* const seen = known_functions[at].name.load(std::memory_order_relaxed);
    if (seen == nullptr) return nullptr;
    if (same_name(seen, name)) return &known_functions[at];
  }
  return nullptr;
}

// The libraries that a function may be in without being among the next ones: dlopen() has loaded
// them for one user alone.
class OtherLibraries {
 public:
  enum class Which : std::uint8_t { kC, kAll };
  explicit OtherLibraries(Which which) {
    constexpr const char* kNames[kCount] = {"libc.so.6",      "libm.so.6",     "libstdc++.so.6", "libc++.so.1",
                                            "libc++abi.so.1", "libcrypt.so.1", "libresolv.so.2"};
    for (int at = 0; at < (which == Which::kAll ? kCount : 1); ++at)
      handles_[at] = dlopen(kNames[at], RTLD_LAZY | RTLD_NOLOAD);
  }
  ~OtherLibraries() {
    for (void* const handle : handles_) {
      if (handle != nullptr) dlclose(handle);
    }
  }
  OtherLibraries(const OtherLibraries&) = delete;
  OtherLibraries& operator=(const OtherLibraries&) = delete;
  [[nodiscard]] void* find(const char* name) const {
    for (void* const handle : handles_) {
      if (handle == nullptr) continue;
      if (void* const found = dlsym(handle, name)) return found;
    }
    return nullptr;
  }

 private:
  static constexpr int kCount = 7;
  void* handles_[kCount] = {};
};

// NAME@VERSION.
void* ask_for_version(const char* name, std::size_t version) {
  char plain[96];
  if (version >= sizeof plain) return nullptr;
  for (std::size_t at = 0; at < version; ++at) plain[at] = name[at];
  plain[version] = 0;
  void* const found = dlvsym(RTLD_NEXT, plain, name + version + 1);
  return found != nullptr ? found : dlsym(RTLD_NEXT, plain);
}

void* ask_for_next(const char* name) {
  for (std::size_t at = 0; name[at] != 0; ++at) {
    if (name[at] == '@') return ask_for_version(name, at);
  }
  return dlsym(RTLD_NEXT, name);
}

void look_up(const char* name, const OtherLibraries& others) {
  KnownFunction* const place = make_place(name);
  if (place == nullptr || place->address.load(std::memory_order_relaxed) != nullptr) return;
  void* address = ask_for_next(name);
  if (address == nullptr) address = others.find(name);
  if (address == nullptr) some_are_missing.store(true, std::memory_order_relaxed);
  place->address.store(address, std::memory_order_relaxed);
}

void look_up_all(OtherLibraries::Which which) {
  const RuntimeScope scope;
  const OtherLibraries others(which);
  for (const char* name = __start_deadheat_originals; name < __stop_deadheat_originals; ++name) {
    if (*name == 0) continue;
    look_up(name, others);
    while (*name != 0) ++name;
  }
}

// A linker may leave out a library if we define all that the program needs of it. So what is
// called and nobody has is looked for in the libraries that it may belong to.
void* find_by_loading(const char* name) {
  const RuntimeScope scope;
  for (const char* library : {"libm.so.6", "libcrypt.so.1", "libresolv.so.2"}) {
    void* const handle = dlopen(library, RTLD_LAZY);
    if (void* const found = handle != nullptr ? dlsym(handle, name) : nullptr) return found;
  }
  return nullptr;
}

void* insist(void* found, const char* name) {
  if (found != nullptr) [[likely]]
    return found;
  say("cannot find the C library's function ", name);
  die("this C library is not supported");
}

}  // namespace

void* find_real_or_null(const char* name) {
  if (is_filled.load(std::memory_order_acquire)) {  // pairs with the store in find_all_real()
    KnownFunction* const place = place_in_table(name);
    if (place == nullptr) {
      count_loss(Loss::kLateLookup);
    } else if (void* const known = place->address.load(std::memory_order_relaxed)) {
      return known;
    }
  }
  const RuntimeScope scope;
  void* const next = ask_for_next(name);
  return next != nullptr ? next : OtherLibraries(OtherLibraries::Which::kAll).find(name);
}

void* find_real(const char* name) {
  void* const found = find_real_or_null(name);
  return insist(found != nullptr ? found : find_by_loading(name), name);
}

void* find_listed_real(const char* name) {
  KnownFunction* const place = place_in_table(name);
  return place != nullptr ? place->address.load(std::memory_order_relaxed) : nullptr;
}

void find_all_real() {
  if (is_filled.load(std::memory_order_relaxed)) return;
  look_up_all(OtherLibraries::Which::kC);
  is_filled.store(true, std::memory_order_release);  // pairs with the load in find_real_or_null()
}

void find_missing_real() {
  if (!some_are_missing.exchange(false, std::memory_order_relaxed)) return;
  look_up_all(OtherLibraries::Which::kAll);
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
