// SPDX-License-Identifier: Apache-2.0
#include "watch/attach/remove_agent.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <set>
#include <span>

#include "watch/attach/process_view.h"
#include "watch/site_table.h"

namespace deadheat::watch {
namespace {

constexpr std::byte kInt3{0xcc};
// The calls that look at actions and change them use the end of the page of the block.
constexpr std::uint64_t kScratchInBlockPage = kRegionPage - sizeof(KernelAction);
static_assert(sizeof(AttachBlock) <= kScratchInBlockPage);

template <class T>
bool read_value(const TracedProcess& target, std::uint64_t address, T& value) {
  return target.read(address, std::as_writable_bytes(std::span(&value, 1)));
}

template <class T>
bool write_value(TracedProcess& target, std::uint64_t address, const T& value) {
  return target.write(address, std::as_bytes(std::span(&value, 1)));
}

template <class T>
std::vector<T> read_values(const TracedProcess& target, std::uint64_t address, std::uint64_t count) {
  constexpr std::uint64_t kMost = 64 << 20;
  std::vector<T> values(std::min(count, kMost / sizeof(T)));
  if (!target.read(address, std::as_writable_bytes(std::span(values)))) values.clear();
  return values;
}

// Whether the thread is in that code or would return into it. Words that only look as if are taken for such.
bool leads_into(const TracedProcess& target, const StoppedThread& thread, const std::vector<TargetMapping>& mappings,
                std::uint64_t begin, std::uint64_t end) {
  const auto is_inside = [&](std::uint64_t value) { return value >= begin && value < end; };
  const user_regs_struct& registers = thread.registers;
  for (const std::uint64_t value :
       {registers.rip, registers.rax, registers.rbx, registers.rcx, registers.rdx, registers.rsi, registers.rdi,
        registers.rbp, registers.r8, registers.r9, registers.r10, registers.r11, registers.r12, registers.r13,
        registers.r14, registers.r15}) {
    if (is_inside(value)) return true;
  }
  const TargetMapping* const stack = mapping_at(mappings, registers.rsp);
  if (stack == nullptr) return true;
  constexpr std::uint64_t kMostStack = 1 << 20;
  const std::uint64_t from = registers.rsp / 8 * 8;
  std::vector<std::uint64_t> words(std::min(stack->end - from, kMostStack) / 8);
  if (!target.read(from, std::as_writable_bytes(std::span(words)))) return true;
  return std::any_of(words.begin(), words.end(), is_inside);
}

bool has_pending_trap(pid_t process, pid_t thread) {
  for (const char* const name : {"SigPnd", "ShdPnd"}) {
    const std::string pending = status_of_thread(process, thread, name);
    if ((std::strtoull(pending.c_str(), nullptr, 16) & kTrapMask) != 0) return true;
  }
  return false;
}

void restore_words(TracedProcess& target, const AttachBlock& block) {
  for (const AttachCall& call : read_values<AttachCall>(target, block.calls, block.call_count)) {
    std::uint64_t value = 0;
    const bool is_taken = call.before != 0 && read_value(target, call.word, value) && value == call.replacement;
    if (is_taken) static_cast<void>(write_value(target, call.word, call.before));
  }
}

void restore_code_of(TracedProcess& target, const AgentPlace& place, const SiteModule& module,
                     std::span<const Site> sites, const std::vector<TargetMapping>& mappings) {
  const std::string path(module.path, ::strnlen(module.path, sizeof module.path));
  std::uint64_t base = 0;
  for (const TargetMapping& mapping : mappings) {
    if (mapping.path != path) continue;
    if (base == 0) base = mapping.begin;
    if (!mapping.is_executable) continue;
    std::vector<std::byte> code(mapping.end - mapping.begin);
    if (!target.read(mapping.begin, code)) continue;
    for (const Site& site : sites) {
      const std::uint64_t at = base + site.offset - mapping.begin;
      const auto first = static_cast<std::byte>(site.first_byte);
      if (at >= code.size() || code[at] != kInt3 || first == kInt3) continue;
      static_cast<void>(write_value(target, mapping.begin + at, first));
    }
    if (!mapping.is_writable) continue;
    static_cast<void>(target.call(place.system_call, SYS_mprotect,
                                  {mapping.begin, mapping.end - mapping.begin, PROT_READ | PROT_EXEC}));
  }
}

// Where the agent could not do it.
void restore_code(TracedProcess& target, const AgentPlace& place, const AttachBlock& block,
                  const std::vector<TargetMapping>& mappings) {
  SiteTableHeader header;
  if (!read_value(target, block.table, header) || header.magic != kSiteTableMagic) return;
  const auto modules = read_values<SiteModule>(target, block.table + sizeof header, header.module_count);
  const auto sites =
      read_values<Site>(target, block.table + sizeof header + modules.size() * sizeof(SiteModule), header.site_count);
  for (const SiteModule& module : modules) {
    if (std::uint64_t{module.first_site} + module.site_count > sites.size()) continue;
    restore_code_of(target, place, module, std::span(sites).subspan(module.first_site, module.site_count), mappings);
  }
}

Result<long> get_action(TracedProcess& target, std::uint64_t system_call, std::uint64_t scratch, int signal) {
  return target.call(system_call, SYS_rt_sigaction, {static_cast<std::uint64_t>(signal), 0, scratch, 8});
}

Result<long> set_action(TracedProcess& target, std::uint64_t system_call, std::uint64_t scratch, int signal) {
  return target.call(system_call, SYS_rt_sigaction, {static_cast<std::uint64_t>(signal), scratch, 0, 8});
}

// Calls change(action) for the signals; it says whether the action is to be set.
template <class Change>
void change_actions(TracedProcess& target, std::uint64_t system_call, std::uint64_t scratch, std::uint64_t signals,
                    Change change) {
  for (int signal = 1; signal <= 64; ++signal) {
    if ((signals >> (signal - 1) & 1) == 0 || signal == SIGTRAP || signal == SIGKILL || signal == SIGSTOP) continue;
    KernelAction action;
    const auto got = get_action(target, system_call, scratch, signal);
    if (!got.ok() || got.value() != 0 || !read_value(target, scratch, action)) continue;
    if (!change(signal, action) || !write_value(target, scratch, action)) continue;
    static_cast<void>(set_action(target, system_call, scratch, signal));
  }
}

void give_back_trap_action(TracedProcess& target, const AgentPlace& place, const AttachSignals& signals,
                           const SignalMasks& masks) {
  const std::uint64_t scratch = place.block + kScratchInBlockPage;
  KernelAction present;
  const auto got = get_action(target, place.system_call, scratch, SIGTRAP);
  const bool is_ours = got.ok() && got.value() == 0 && read_value(target, scratch, present) &&
                       present.handler >= place.code_begin && present.handler < place.code_end;
  if (!is_ours) return;
  KernelAction action = signals.trap_action;
  if (signals.needs_restorer != 0 && action.handler > 1) {
    action.flags |= kActionHasRestorer;
    action.restorer = masks.restorer();
  }
  if (write_value(target, scratch, action)) static_cast<void>(set_action(target, place.system_call, scratch, SIGTRAP));
}

// Numbers, as the process has them, of threads that want SIGTRAP to be blocked.
std::set<std::uint32_t> threads_that_block(const TracedProcess& target, const AttachRecords& records) {
  std::set<std::uint32_t> numbers;
  const auto bytes = read_values<std::byte>(target, records.first, std::uint64_t{records.count} * records.size);
  for (std::size_t at = 0; records.size != 0 && at + records.size <= bytes.size(); at += records.size) {
    if (bytes[at + records.is_live_at] == std::byte{0} || bytes[at + records.trap_is_blocked_at] == std::byte{0})
      continue;
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data() + at + records.system_number_at, sizeof number);
    numbers.insert(number);
  }
  return numbers;
}

void give_back_masks(TracedProcess& target, const std::set<std::uint32_t>& blocking, const SignalMasks& masks,
                     const std::vector<TargetMapping>& mappings) {
  constexpr std::uint64_t kAllButTrap = std::uint64_t{3} << 31;  // who blocks these blocks all: one of libc's own
  const std::vector<StoppedThread> threads = target.threads();
  for (const StoppedThread& thread : threads) {
    const bool is_library = (thread.blocked_signals & kAllButTrap) == kAllButTrap;
    if (is_library || blocking.contains(inner_number(target.process(), thread.number)))
      masks.block_trap(target, thread, mappings);
  }
}

}  // namespace

bool agent_works(const TracedProcess& target, const AgentPlace& place) {
  return std::any_of(target.threads().begin(), target.threads().end(), [&](const StoppedThread& thread) {
    return thread.registers.rsp - place.region < place.region_size;
  });
}

void ask_agent_to_finish(pid_t process, const AgentPlace& place) {
  std::uint32_t is_over = 1;
  const iovec from{&is_over, sizeof is_over};
  const iovec to{reinterpret_cast<void*>(place.block + offsetof(AttachBlock, is_over)), sizeof is_over};
  static_cast<void>(process_vm_writev(living_thread_of(process), &from, 1, &to, 1, 0));
}

std::uint64_t unblock_trap_in_handlers(TracedProcess& target, std::uint64_t system_call, std::uint64_t scratch) {
  const pid_t process = target.process();
  const std::uint64_t caught = std::strtoull(status_of(process, "SigCgt").c_str(), nullptr, 16);
  std::uint64_t changed = 0;
  change_actions(target, system_call, scratch, caught, [&](int signal, KernelAction& action) {
    if ((action.mask & kTrapMask) == 0) return false;
    action.mask &= ~kTrapMask;
    changed |= std::uint64_t{1} << (signal - 1);
    return true;
  });
  return changed;
}

void block_trap_in_handlers(TracedProcess& target, std::uint64_t system_call, std::uint64_t scratch,
                            std::uint64_t signals) {
  change_actions(target, system_call, scratch, signals, [](int /*signal*/, KernelAction& action) {
    if (action.handler <= 1 || (action.mask & kTrapMask) != 0) return false;
    action.mask |= kTrapMask;
    return true;
  });
}

std::string remove_agent(TracedProcess& target, const AgentPlace& place, SignalMasks& masks, MaskSettling settling) {
  if (agent_works(target, place)) return "its thread does not end";
  const auto mappings = mappings_of(target.process());
  if (!mappings.ok()) return mappings.error().message;
  const std::vector<AgentPlace> agents = agents_in(target, mappings.value());
  const bool is_there =
      std::any_of(agents.begin(), agents.end(), [&](const AgentPlace& one) { return one.region == place.region; });
  AttachBlock block;
  if (!is_there || !read_value(target, place.block, block)) return {};  // exec has taken it out
  const std::set<std::uint32_t> blocking = threads_that_block(target, block.records);
  const bool is_settled = masks.settle(target, SignalMasks::Whose::kOfThoseThatWant, [&](const StoppedThread& thread) {
    return settling == MaskSettling::kWait && blocking.contains(inner_number(target.process(), thread.number));
  });
  if (!is_settled) return "a thread is in a function of libc that blocks signals";
  AttachSignals signals;
  if (block.signals != 0 && !read_value(target, block.signals, signals)) return "its memory cannot be read";
  if (signals.needs_restorer != 0 && masks.restorer() == 0)
    return "the program has set an action for SIGTRAP meanwhile";
  for (const StoppedThread& thread : target.threads()) {
    if (leads_into(target, thread, mappings.value(), place.code_begin, place.code_end) ||
        has_pending_trap(target.process(), thread.number)) {
      return fmt::format("thread {} may return into it", thread.number);
    }
  }
  if (const Status status = target.begin_calls(); !status.ok()) return status.error().message;
  // From here on all of it is done.
  if (block.state != AttachState::kFinished) restore_code(target, place, block, mappings.value());
  restore_words(target, block);
  give_back_trap_action(target, place, signals, masks);
  const std::uint64_t masked = block.signals != 0 ? signals.masks_with_trap : block.masks_with_trap;
  block_trap_in_handlers(target, place.system_call, place.block + kScratchInBlockPage, masked);
  give_back_masks(target, blocking, masks, mappings.value());
  const auto unmapped = target.call(place.system_call, SYS_munmap, {place.region, place.region_size});
  return unmapped.ok() ? std::string() : unmapped.error().message;
}

}  // namespace deadheat::watch
