// SPDX-License-Identifier: Apache-2.0
#include "watch/agent/breakpoints.h"

#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "watch/agent/system.h"

namespace deadheat::watch {
namespace {

perf_event_attr make_attributes(Address address, std::uint32_t size, Watched watched, std::uint64_t data) {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.size = sizeof attributes;
  attributes.bp_type = watched == Watched::kStores ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
  attributes.bp_addr = address;
  attributes.bp_len = size;
  attributes.sample_period = 1;
  attributes.sigtrap = 1;
  attributes.remove_on_exec = 1;  // sigtrap demands it
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.sig_data = data;
  return attributes;
}

std::uint64_t parking = 0;  // what parked events would watch

}  // namespace

long first_own_descriptor() {
  rlimit limit = {};
  raw_call(SYS_getrlimit, RLIMIT_NOFILE, as_argument(&limit));
  constexpr rlim_t kEnough = 1 << 20;
  return static_cast<long>((limit.rlim_cur < kEnough ? limit.rlim_cur : kEnough) / 2);
}

std::uint32_t watchable_size(Address address, std::uint32_t size) {
  std::uint32_t chunk = 8;
  while (chunk > 1 && (chunk > size || address % chunk != 0)) chunk /= 2;
  return chunk;
}

namespace {

// Moved to where programs do not expect it.
int open_event(perf_event_attr& attributes, std::uint32_t thread) {
  const long event =
      raw_call(SYS_perf_event_open, as_argument(&attributes), static_cast<long>(thread), -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (event < 0) return static_cast<int>(event);
  const long moved = raw_call(SYS_fcntl, event, F_DUPFD_CLOEXEC, first_own_descriptor());
  raw_call(SYS_close, event);
  return static_cast<int>(moved);
}

}  // namespace

int open_clock(std::uint32_t thread, std::uint64_t period_ns, std::uint64_t data) {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = period_ns;
  attributes.sigtrap = 1;
  attributes.remove_on_exec = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.sig_data = data;
  return open_event(attributes, thread);
}

int open_breakpoint(std::uint32_t thread) {
  perf_event_attr attributes = make_attributes(reinterpret_cast<Address>(&parking), 1, Watched::kStores, 0);
  attributes.disabled = 1;
  return open_event(attributes, thread);
}

void close_breakpoint(int event) { raw_call(SYS_close, event); }

bool set_breakpoint(int event, Address address, std::uint32_t size, Watched watched, std::uint64_t data) {
  perf_event_attr attributes = make_attributes(address, size, watched, data);
  return raw_call(SYS_ioctl, event, static_cast<long>(PERF_EVENT_IOC_MODIFY_ATTRIBUTES), as_argument(&attributes)) == 0;
}

void disable_breakpoint(int event) { raw_call(SYS_ioctl, event, PERF_EVENT_IOC_DISABLE, 0); }

}  // namespace deadheat::watch
