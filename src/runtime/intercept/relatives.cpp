// SPDX-License-Identifier: Apache-2.0
// Children that are started by posix_spawn, system and popen, waiting for children,
// and what is shared with them. fork and vfork are in processes.cpp.
#include "runtime/intercept/relatives.h"

#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstdio>

#include "runtime/intercept/descriptor_order.h"
#include "runtime/intercept/kernel_order.h"
#include "runtime/intercept/replace.h"
#include "runtime/system.h"

namespace deadheat::runtime {

constinit std::atomic<std::uint32_t> living_relatives{0};
constinit std::atomic<std::uint32_t> started_relatives{0};

namespace {

// The parent of a process that was forked: 0 if there is none, or it has ended.
constinit std::atomic<long> parent{0};

// Shared mappings. Written and read by any thread; when all places are taken, all
// memory counts as shared.
struct SharedMemory {
  std::atomic<Address> begin{0};
  std::atomic<std::uint64_t> size{0};
};
constexpr std::uint32_t kSharedMappings = 64;
constinit SharedMemory shared_mappings[kSharedMappings];
constinit std::atomic<std::uint32_t> shared_limit{0};  // one more than the last place in use
constinit std::atomic<bool> all_is_shared{false};

bool is_shared(Address object) {
  if (all_is_shared.load(std::memory_order_relaxed)) return true;
  const std::uint32_t limit = shared_limit.load(std::memory_order_relaxed);
  for (std::uint32_t at = 0; at < limit; ++at) {
    const Address begin = shared_mappings[at].begin.load(std::memory_order_relaxed);
    if (begin != 0 && object - begin < shared_mappings[at].size.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

KernelTag outside() {
  static constinit std::atomic<KernelTag> known{kNoTag};
  KernelTag tag = known.load(std::memory_order_relaxed);
  if (tag == kNoTag) {
    tag = kernel_tag(KernelObject::kOutside);
    known.store(tag, std::memory_order_relaxed);
  }
  return tag;
}

}  // namespace

void before_child(Address code) {
  living_relatives.fetch_add(1, std::memory_order_relaxed);
  started_relatives.fetch_add(1, std::memory_order_relaxed);
  give_to_relatives(code);
}

void after_child() {
  std::uint32_t living = living_relatives.load(std::memory_order_relaxed);
  const std::uint32_t least = parent.load(std::memory_order_relaxed) != 0 ? 1 : 0;
  while (living > least && !living_relatives.compare_exchange_weak(living, living - 1, std::memory_order_relaxed)) {
  }
}

void become_child() {
  parent.store(raw_call(SYS_getppid), std::memory_order_relaxed);
  living_relatives.store(1, std::memory_order_relaxed);
}

// Daemons outlive who forked them.
bool look_for_relatives() {
  long known = parent.load(std::memory_order_relaxed);
  if (known == 0 || raw_call(SYS_getppid) == known) return true;
  if (parent.compare_exchange_strong(known, 0, std::memory_order_relaxed))
    living_relatives.fetch_sub(1, std::memory_order_relaxed);
  return living_relatives.load(std::memory_order_relaxed) != 0;
}

void give_to_relatives(Address code) {
  if (has_relatives()) give_to_kernel(outside(), code);
}
void take_from_relatives(Address code) {
  if (had_relatives()) take_from_kernel(outside(), code);
}

void give_to_outside(Address code) { give_to_kernel(outside(), code); }
void take_from_outside(Address code) { take_from_kernel(outside(), code); }

void give_if_shared(Address object, Address code) {
  if (has_relatives() && is_shared(object)) give_to_kernel(outside(), code);
}
void take_if_shared(Address object, Address code) {
  if (is_shared(object)) take_from_kernel(outside(), code);
}

void note_shared_memory(Address begin, std::uint64_t size) {
  for (std::uint32_t at = 0; at < kSharedMappings; ++at) {
    if (shared_mappings[at].begin.load(std::memory_order_relaxed) == begin) {
      shared_mappings[at].size.store(size, std::memory_order_relaxed);
      return;
    }
    Address free_place = 0;
    if (!shared_mappings[at].begin.compare_exchange_strong(free_place, begin, std::memory_order_relaxed)) continue;
    shared_mappings[at].size.store(size, std::memory_order_relaxed);
    std::uint32_t limit = shared_limit.load(std::memory_order_relaxed);
    while (limit <= at && !shared_limit.compare_exchange_weak(limit, at + 1, std::memory_order_relaxed)) {
    }
    return;
  }
  all_is_shared.store(true, std::memory_order_relaxed);
}

// A mapping that ends in part counts until it has ended as a whole.
void forget_shared_memory(Address begin, std::uint64_t size) {
  const std::uint32_t limit = shared_limit.load(std::memory_order_relaxed);
  for (std::uint32_t at = 0; at < limit; ++at) {
    const Address mapped = shared_mappings[at].begin.load(std::memory_order_relaxed);
    const std::uint64_t mapped_size = shared_mappings[at].size.load(std::memory_order_relaxed);
    if (mapped == 0 || mapped < begin || mapped + mapped_size > begin + size) continue;
    shared_mappings[at].size.store(0, std::memory_order_relaxed);
    shared_mappings[at].begin.store(0, std::memory_order_relaxed);
  }
}

void after_wait(long process, int status, int flags, Address code) {
  if (process <= 0) return;
  take_from_relatives(code);
  const bool may_live = (flags & (WUNTRACED | WCONTINUED)) != 0 && (WIFSTOPPED(status) || WIFCONTINUED(status));
  if (!may_live) after_child();
}

}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(int, posix_spawn, pid_t* process, const char* path, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  DEADHEAT_ORIGINAL(posix_spawn);
  before_child(DEADHEAT_CALLER);
  const int result = original(process, path, actions, attributes, arguments, environment);
  if (result != 0) after_child();
  if (result == 0) report_written(process, sizeof(*process), DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, posix_spawnp, pid_t* process, const char* path, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  DEADHEAT_ORIGINAL(posix_spawnp);
  before_child(DEADHEAT_CALLER);
  const int result = original(process, path, actions, attributes, arguments, environment);
  if (result != 0) after_child();
  if (result == 0) report_written(process, sizeof(*process), DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, system, const char* command) {
  DEADHEAT_ORIGINAL(system);
  before_child(DEADHEAT_CALLER);
  const int result = original(command);
  take_from_relatives(DEADHEAT_CALLER);
  after_child();
  return result;
}
DEADHEAT_REPLACE(FILE*, popen, const char* command, const char* mode) {
  DEADHEAT_ORIGINAL(popen);
  before_child(DEADHEAT_CALLER);
  FILE* const stream = original(command, mode);
  if (stream == nullptr) after_child();
  return stream;
}
DEADHEAT_REPLACE(int, pclose, FILE* stream) {
  DEADHEAT_ORIGINAL(pclose);
  give_to_relatives(DEADHEAT_CALLER);
  if (stream != nullptr) forget_descriptor(fileno_unlocked(stream));
  const int result = original(stream);
  if (result != -1) {
    take_from_relatives(DEADHEAT_CALLER);
    after_child();
  }
  return result;
}

DEADHEAT_REPLACE(pid_t, wait, int* status) {
  DEADHEAT_ORIGINAL(wait);
  const pid_t process = original(status);
  if (process > 0) report_written(status, sizeof(*status), DEADHEAT_CALLER);
  after_wait(process, 0, 0, DEADHEAT_CALLER);
  return process;
}
DEADHEAT_REPLACE(pid_t, waitpid, pid_t which, int* status, int flags) {
  DEADHEAT_ORIGINAL(waitpid);
  const pid_t process = original(which, status, flags);
  if (process > 0) report_written(status, sizeof(*status), DEADHEAT_CALLER);
  after_wait(process, status != nullptr ? *status : 0, flags, DEADHEAT_CALLER);
  return process;
}
DEADHEAT_REPLACE(pid_t, wait3, int* status, int flags, rusage* usage) {
  DEADHEAT_ORIGINAL(wait3);
  const pid_t process = original(status, flags, usage);
  if (process > 0) report_written(status, sizeof(*status), DEADHEAT_CALLER);
  if (process > 0) report_written(usage, sizeof(*usage), DEADHEAT_CALLER);
  after_wait(process, status != nullptr ? *status : 0, flags, DEADHEAT_CALLER);
  return process;
}
DEADHEAT_REPLACE(pid_t, wait4, pid_t which, int* status, int flags, rusage* usage) {
  DEADHEAT_ORIGINAL(wait4);
  const pid_t process = original(which, status, flags, usage);
  if (process > 0) report_written(status, sizeof(*status), DEADHEAT_CALLER);
  if (process > 0) report_written(usage, sizeof(*usage), DEADHEAT_CALLER);
  after_wait(process, status != nullptr ? *status : 0, flags, DEADHEAT_CALLER);
  return process;
}
DEADHEAT_REPLACE(int, waitid, int kind, unsigned which, siginfo_t* information, int flags) {
  DEADHEAT_ORIGINAL(waitid);
  const int result = original(kind, which, information, flags);
  if (result != 0) return result;
  report_written(information, sizeof(*information), DEADHEAT_CALLER);
  const bool is_told = information != nullptr;
  if (is_told && information->si_pid == 0) return result;  // WNOHANG, and nothing has happened
  take_from_relatives(DEADHEAT_CALLER);
  const bool has_ended =
      (flags & WNOWAIT) == 0 && is_told && information->si_code != CLD_STOPPED && information->si_code != CLD_CONTINUED;
  if (has_ended) after_child();
  return result;
}
DEADHEAT_ALSO(__wait, wait);
DEADHEAT_ALSO(__waitpid, waitpid);
DEADHEAT_ALSO(_IO_popen, popen);
