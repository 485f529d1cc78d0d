// SPDX-License-Identifier: Apache-2.0
#include "record/agent/intercept.h"

#include <dlfcn.h>

// The linker's names for the ends of the section that DEADHEAT_ORIGINAL fills.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" __attribute__((visibility("hidden"))) deadheat::record::Original __start_deadheat_originals[];
extern "C" __attribute__((visibility("hidden"))) deadheat::record::Original __stop_deadheat_originals[];
// NOLINTEND(readability-identifier-naming)

namespace deadheat::record {
namespace {

// Conditions exist twice in libc, for programs from before 2003.
bool is_condition(const char* name) {
  const char* const prefix = "pthread_cond_";
  for (int at = 0; prefix[at] != 0; ++at) {
    if (name[at] != prefix[at]) return false;
  }
  return true;
}

}  // namespace

void* find_original(Original& original) {
  void* address = nullptr;
  if (is_condition(original.name)) address = dlvsym(RTLD_NEXT, original.name, "GLIBC_2.3.2");
  if (address == nullptr) address = dlsym(RTLD_NEXT, original.name);
  __atomic_store_n(&original.address, address, __ATOMIC_RELAXED);  // all writers store the same
  return address;
}

void find_all_originals() {
  for (Original* at = __start_deadheat_originals; at < __stop_deadheat_originals; ++at) {
    if (at->name != nullptr && at->address == nullptr) find_original(*at);
  }
}

}  // namespace deadheat::record
