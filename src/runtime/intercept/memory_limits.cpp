// SPDX-License-Identifier: Apache-2.0
// Limits of the address space and of private memory (RLIMIT_AS, RLIMIT_DATA) that a program sets for itself: what it
// asks for is its own, and the shadow counts as well, which is larger than any limit. So what is ours, and some for
// what comes, is added where the program sets such a limit, and taken off where it asks.
#include <sys/resource.h>

#include <atomic>

#include "runtime/intercept/replace.h"
#include "runtime/system.h"

using namespace deadheat;
using namespace deadheat::runtime;

namespace {

constexpr std::uint64_t kForWhatComes = 256 << 20;

// The amounts for RLIMIT_AS and RLIMIT_DATA: added to what the program wanted.
constinit std::atomic<std::uint64_t> added[2];

std::atomic<std::uint64_t>* added_to(int resource) {
  if (!runtime_is_ready.load(std::memory_order_relaxed)) return nullptr;
  if (resource == RLIMIT_AS) return &added[0];
  return resource == RLIMIT_DATA ? &added[1] : nullptr;
}

rlimit64 raise(const rlimit64& wanted, std::uint64_t by) {
  const auto raised = [by](std::uint64_t value) {
    return value > RLIM64_INFINITY - by - 1 ? RLIM64_INFINITY : value + by;
  };
  return {raised(wanted.rlim_cur), raised(wanted.rlim_max)};
}

rlimit64 lower(const rlimit64& seen, std::uint64_t by) {
  const auto lowered = [by](std::uint64_t value) {
    return value == RLIM64_INFINITY || value < by ? value : value - by;
  };
  return {lowered(seen.rlim_cur), lowered(seen.rlim_max)};
}

// A soft limit may be raised again up to the hard one: by what was added to that.
std::uint64_t amount_for(std::uint64_t before) { return before != 0 ? before : mapped_by_us() + kForWhatComes; }

template <class Set>
int set_limit(int resource, const rlimit64* wanted, Address code, Set set) {
  report_read(wanted, sizeof *wanted, code);
  std::atomic<std::uint64_t>* const by = added_to(resource);
  if (by == nullptr || wanted == nullptr) return set(wanted);
  const std::uint64_t amount = amount_for(by->load(std::memory_order_relaxed));
  const rlimit64 raised = raise(*wanted, amount);
  const int result = set(&raised);
  if (result == 0) by->store(amount, std::memory_order_relaxed);
  return result;
}

void show_limit(int resource, rlimit64* seen, Address code) {
  if (seen == nullptr) return;
  const std::atomic<std::uint64_t>* const by = added_to(resource);
  if (by != nullptr) *seen = lower(*seen, by->load(std::memory_order_relaxed));
  report_written(seen, sizeof *seen, code);
}

bool is_us(pid_t process) { return process == 0 || process == raw_call(SYS_getpid); }

}  // namespace

#define DEADHEAT_SETS_LIMIT(name)                                                                                   \
  DEADHEAT_REPLACE(int, name, int resource, const rlimit64* limit) {                                                \
    DEADHEAT_ORIGINAL(name);                                                                                        \
    return set_limit(resource, limit, DEADHEAT_CALLER, [&](const rlimit64* to) { return original(resource, to); }); \
  }
#define DEADHEAT_SHOWS_LIMIT(name)                                 \
  DEADHEAT_REPLACE(int, name, int resource, rlimit64* limit) {     \
    DEADHEAT_ORIGINAL(name);                                       \
    const int result = original(resource, limit);                  \
    if (result == 0) show_limit(resource, limit, DEADHEAT_CALLER); \
    return result;                                                 \
  }
#define DEADHEAT_CHANGES_LIMIT(name)                                                                           \
  DEADHEAT_REPLACE(int, name, pid_t process, int resource, const rlimit64* limit, rlimit64* before) {          \
    DEADHEAT_ORIGINAL(name);                                                                                   \
    if (!is_us(process)) return original(process, resource, limit, before);                                    \
    const std::atomic<std::uint64_t>* const by = added_to(resource);                                           \
    const std::uint64_t shown = by == nullptr ? 0 : by->load(std::memory_order_relaxed);                       \
    const int result = set_limit(resource, limit, DEADHEAT_CALLER,                                             \
                                 [&](const rlimit64* to) { return original(process, resource, to, before); }); \
    if (result != 0 || before == nullptr) return result;                                                       \
    *before = lower(*before, shown);                                                                           \
    report_written(before, sizeof *before, DEADHEAT_CALLER);                                                   \
    return result;                                                                                             \
  }

// One structure under two names, on this machine.
static_assert(sizeof(rlimit) == sizeof(rlimit64) && RLIM_INFINITY == RLIM64_INFINITY);
DEADHEAT_SETS_LIMIT(setrlimit)
DEADHEAT_SETS_LIMIT(setrlimit64)
DEADHEAT_SHOWS_LIMIT(getrlimit)
DEADHEAT_SHOWS_LIMIT(getrlimit64)
DEADHEAT_SHOWS_LIMIT(__getrlimit)
DEADHEAT_CHANGES_LIMIT(prlimit)
DEADHEAT_CHANGES_LIMIT(prlimit64)
