// SPDX-License-Identifier: Apache-2.0
// Runs with all other signals blocked, on whatever stack the kernel chose: little of it is used,
// libc is not called, and nothing is waited for but a stall and the ends of short sections.
//
// Who executes an int3 of ours is not always a thread of ours: a child of vfork shares the
// memory, a child of a bare fork system call has a copy, threads of bare clone calls may
// share even thread-local variables. They restore the byte and go on.
#include "watch/agent/traps.h"

#include <sys/syscall.h>
#include <ucontext.h>

#include <ctime>

#include "watch/agent/control.h"
#include "watch/agent/counters.h"
#include "watch/agent/signals.h"
#include "watch/agent/sites.h"
#include "watch/agent/system.h"
#include "watch/agent/threads.h"
#include "watch/agent/watches.h"

// The linker's names for our own ends.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern "C" __attribute__((visibility("hidden"))) const char _end[];
// NOLINTEND(readability-identifier-naming)

namespace deadheat::watch {
namespace {

// Newer than libc's headers.
constexpr int kTrapPerf = 6;
constexpr std::uint32_t kTrapPerfWasAsynchronous = 1;
struct PerfTrap {
  unsigned char common[24];
  std::uint64_t data;
  std::uint32_t type;
  std::uint32_t flags;
};

bool is_in_agent(Address code) {
  return code >= reinterpret_cast<Address>(__ehdr_start) && code < reinterpret_cast<Address>(_end);
}

// nullptr in a thread without a record; the thread pointer may be another's.
ThreadRecord* own_record() {
  const auto number = static_cast<std::uint32_t>(raw_call(SYS_gettid));
  ThreadRecord* const self = current_thread();
  if (self != nullptr && self->system_number == number) return self;
  ThreadRecord* const found = find_by_number(number);
  if (found != nullptr && self == nullptr) adopt_pointer(*found);
  return found;
}

class TimedHandler {
 public:
  explicit TimedHandler(std::uint64_t surcharge) : surcharge_(surcharge) {}
  ~TimedHandler() { counters.handler_ns.add(surcharge_ + read_clock(CLOCK_THREAD_CPUTIME_ID) - begin_); }
  TimedHandler(const TimedHandler&) = delete;
  TimedHandler& operator=(const TimedHandler&) = delete;

 private:
  std::uint64_t surcharge_;
  std::uint64_t begin_ = read_clock(CLOCK_THREAD_CPUTIME_ID);
};

void on_foreign_hit(std::uint32_t site, Address code) {
  counters.foreign_hits.add();
  if (sites.disarm(site)) return;
  // In the copy of a child nobody else will ever put it back.
  if (!is_own_process() && Sites::is_patched(code)) sites.repair(site);
}

void on_hit(std::uint32_t site, Address code, ucontext_t& context) {
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(code);
  ThreadRecord* const self = own_record();
  if (self == nullptr) return on_foreign_hit(site, code);
  const TimedHandler timed(kInt3Cost);
  // Stale, or being armed: then it traps again.
  if (!sites.disarm(site)) return;
  counters.hits.add();
  on_sampled(*self, site, code, context);
}

// The second sampler: the thread is interrupted before the instruction that it is at.
void on_clock(const PerfTrap& trap, const ucontext_t& context) {
  note_clock_trap();
  ThreadRecord* const self = own_record();
  if (self == nullptr || (trap.flags & kTrapPerfWasAsynchronous) != 0) return;
  const TimedHandler timed(kInt3Cost);
  const auto code = static_cast<Address>(context.uc_mcontext.gregs[REG_RIP]);
  const std::uint32_t site = sites.site_at(code);
  if (site == kNoSite || !Sites::may_be_sampled(sites.site(site))) return;
  counters.hits.add();
  on_sampled(*self, site, code, context);
}

void on_breakpoint(const PerfTrap& trap, const ucontext_t& context) {
  ThreadRecord* const self = own_record();
  if (self == nullptr) return;
  const TimedHandler timed(kTripCost);
  const bool is_late = (trap.flags & kTrapPerfWasAsynchronous) != 0;
  const bool is_agents = is_in_agent(static_cast<Address>(context.uc_mcontext.gregs[REG_RIP]));
  if (!is_late && !is_agents) return on_trip(*self, trap.data, context);
  (is_late ? counters.late_trips : counters.agent_trips).add();
}

}  // namespace

void on_trap(int /*number*/, siginfo_t* information, void* raw_context) {
  auto& context = *static_cast<ucontext_t*>(raw_context);
  if (information->si_code == kTrapPerf) {
    const auto& trap = *reinterpret_cast<const PerfTrap*>(information);
    if (is_our_trip(trap.data)) return on_breakpoint(trap, context);
    if (trap.data == kClockData) return on_clock(trap, context);
  }
  if (information->si_code == SI_KERNEL || information->si_code == TRAP_BRKPT) {
    const Address code = static_cast<Address>(context.uc_mcontext.gregs[REG_RIP]) - 1;
    const std::uint32_t site = sites.site_at(code);
    if (site != kNoSite) return on_hit(site, code, context);
  }
  give_trap_to_program(information, &context);
}

}  // namespace deadheat::watch
