// SPDX-License-Identifier: Apache-2.0
#include "watch/agent/breakpoints.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include <cerrno>
#include <ctime>

#include "watch/agent/system.h"

namespace deadheat::watch {
namespace {

perf_event_attr make_attributes(std::uint32_t type, std::uint64_t period, std::uint64_t data) {
  perf_event_attr attributes = {};
  attributes.type = type;
  attributes.size = sizeof attributes;
  attributes.sample_period = period;
  attributes.sigtrap = 1;
  attributes.remove_on_exec = 1;  // sigtrap demands it
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.sig_data = data;
  return attributes;
}

perf_event_attr make_breakpoint(Address address, std::uint32_t size, Watched watched, std::uint64_t data) {
  perf_event_attr attributes = make_attributes(PERF_TYPE_BREAKPOINT, 1, data);
  attributes.bp_type = watched == Watched::kStores ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
  attributes.bp_addr = address;
  attributes.bp_len = size;
  return attributes;
}

int open_event(perf_event_attr& attributes, std::uint32_t thread) {
  return static_cast<int>(
      raw_call(SYS_perf_event_open, as_argument(&attributes), static_cast<long>(thread), -1, -1, PERF_FLAG_FD_CLOEXEC));
}

// For one trap: the kernel disables it then. A limit that is set while it is enabled already costs no interrupt of the
// thread's processor, which enabling would; one trap more, in between, does no harm.
int open_once(perf_event_attr& attributes, std::uint32_t thread) {
  // A thread may have ended unseen, and its number be another process's by now.
  if (raw_call(SYS_tgkill, raw_call(SYS_getpid), static_cast<long>(thread), 0) != 0) return -ESRCH;
  const int event = open_event(attributes, thread);
  if (event >= 0) raw_call(SYS_ioctl, event, PERF_EVENT_IOC_REFRESH, 1);
  return event;
}

std::uint64_t watched_by_nobody = 0;

// The least of some times that it takes.
std::uint64_t time_to_clear_page() {
  alignas(64) static char page[4096];
  std::uint64_t least = ~std::uint64_t{0};
  for (int times = 0; times < 8; ++times) {
    const std::uint64_t begin = read_clock(CLOCK_MONOTONIC);
    void* to = page;
    std::size_t bytes = sizeof page;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0) : "memory");
    const std::uint64_t time = read_clock(CLOCK_MONOTONIC) - begin;
    if (time < least) least = time;
  }
  return least;
}

}  // namespace

std::uint32_t watchable_size(Address address, std::uint32_t size) {
  std::uint32_t chunk = 8;
  while (chunk > 1 && (chunk > size || address % chunk != 0)) chunk /= 2;
  return chunk;
}

int check_breakpoints() {
  perf_event_attr attributes = make_breakpoint(reinterpret_cast<Address>(&watched_by_nobody), 8, Watched::kStores, 0);
  attributes.disabled = 1;
  const int event = open_event(attributes, 0);
  if (event < 0) return event;
  close_event(event);
  return 0;
}

int open_breakpoint(std::uint32_t thread, Address address, std::uint32_t size, Watched watched, std::uint64_t data) {
  perf_event_attr attributes = make_breakpoint(address, size, watched, data);
  return open_once(attributes, thread);
}

int open_clock(std::uint32_t thread, std::uint64_t time_ns, std::uint64_t data) {
  perf_event_attr attributes = make_attributes(PERF_TYPE_SOFTWARE, time_ns, data);
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  return open_once(attributes, thread);
}

void close_event(int event) { raw_call(SYS_close, event); }

std::uint64_t measure_slow_page() {
  const std::uint64_t before = time_to_clear_page();
  perf_event_attr attributes = make_breakpoint(reinterpret_cast<Address>(&watched_by_nobody), 8, Watched::kStores, 0);
  const int event = open_event(attributes, 0);
  if (event < 0) return 0;
  const std::uint64_t watched = time_to_clear_page();
  close_event(event);
  return watched > before ? watched - before : 0;
}

}  // namespace deadheat::watch
