// SPDX-License-Identifier: Apache-2.0
#include "watch/attach/placed_agent.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <thread>

#include "watch/attach/agent_image.h"
#include "watch/attach/call_table.h"
#include "watch/attach/company.h"
#include "watch/attach/process_view.h"
#include "watch/attach/remove_agent.h"
#include "watch/attach/signal_masks.h"
#include "watch/attach/target_modules.h"
#include "watch/attach/traced_process.h"
#include "watch/attach_block.h"
#include "watch/refuse_runtime.h"

namespace deadheat::watch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kWithdrawPatience = std::chrono::seconds(5);
constexpr auto kMaskPatience = std::chrono::seconds(4);  // of these
constexpr auto kInjectPatience = std::chrono::seconds(5);
constexpr auto kReadyPatience = std::chrono::seconds(1);
constexpr auto kBlindTime = std::chrono::seconds(1);
constexpr auto kPause = std::chrono::milliseconds(20);

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return {reinterpret_cast<const std::byte*>(&value), sizeof value};
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

Error refused(pid_t process, std::string_view what, long result) {
  return {ErrorCode::kIo,
          fmt::format("process {} cannot {}: {}", process, what, std::strerror(static_cast<int>(-result)))};
}

// In the kernel's own code, which every process has.
Result<std::uint64_t> find_system_call(const TracedProcess& target, const std::vector<TargetMapping>& mappings) {
  for (const TargetMapping& mapping : mappings) {
    if (mapping.path != "[vdso]" && !(mapping.is_executable && mapping.path.find("/libc") != std::string::npos))
      continue;
    std::vector<std::byte> bytes(std::min<std::uint64_t>(mapping.end - mapping.begin, 2 << 20));
    if (!target.read(mapping.begin, bytes)) continue;
    for (std::size_t at = 0; at + 1 < bytes.size(); ++at) {
      if (bytes[at] == std::byte{0x0f} && bytes[at + 1] == std::byte{0x05}) return mapping.begin + at;
    }
  }
  return Error{ErrorCode::kUnsupported, "the process has no instruction by which it calls the system"};
}

std::vector<AttachThread> describe_threads(const TracedProcess& target, const std::vector<TargetMapping>& mappings,
                                           const SignalMasks& masks) {
  std::vector<AttachThread> all;
  for (const StoppedThread& stopped : target.threads()) {
    AttachThread thread;
    thread.system_number = inner_number(target.process(), stopped.number);
    thread.thread_pointer = stopped.registers.fs_base;
    thread.trap_is_blocked = masks.blocks_trap(target, stopped, mappings) ? 1 : 0;
    if (const TargetMapping* const stack = mapping_at(mappings, stopped.registers.rsp)) {
      constexpr std::uint64_t kGrowth = 8 << 20;  // of the main thread's
      thread.stack_begin = stack->path == "[stack]" ? stack->end - kGrowth : stack->begin;
      thread.stack_end = stack->end;
    }
    all.push_back(thread);
  }
  return all;
}

Status refuse_filtered(const InjectRequest& request) {
  if (request.despite_seccomp || status_of(request.process, "Seccomp") == "0") return {};
  return Error{
      ErrorCode::kInvalid,
      fmt::format("process {} runs under a filter of system calls (seccomp), which may end it when the agent calls "
                  "perf_event_open: allow that call in the filter and say --despite-seccomp, or watch it where it "
                  "has no filter",
                  request.process)};
}

bool blocks_trap_now(const StoppedThread& thread) { return (thread.blocked_signals & kTrapMask) != 0; }

// All threads stand still, none in a moment in which libc blocks signals, and nobody of us is there. `mappings` are
// as they are then. Another deadheat may be about to come or to leave: that is waited for.
Result<std::unique_ptr<TracedProcess>> stop_alone(pid_t process, SignalMasks& masks,
                                                  std::vector<TargetMapping>& mappings) {
  const auto begin = Clock::now();
  const auto deadline = begin + kInjectPatience;
  for (unsigned attempt = 0;; ++attempt) {
    Error problem{ErrorCode::kIo, fmt::format("a thread of process {} is always in a function of libc that blocks "
                                              "signals (system, posix_spawn and the like): try again later",
                                              process)};
    {
      auto stopped = TracedProcess::stop(process);
      // Another one of us may have gone since it was in our way.
      const bool is_contended = !stopped.ok() && (Clock::now() < begin + kBlindTime || is_traced_by_us(process));
      if (!stopped.ok() && !is_contended) return stopped.error();
      if (is_contended) problem = stopped.error();
      if (stopped.ok()) {
        auto seen = mappings_of(process);
        if (!seen.ok()) return seen.error();
        const CompanyFound company = meet_company(*stopped.value(), seen.value(), masks);
        if (company.what != Company::kNone) problem = {ErrorCode::kInvalid, company.reason};
        if (company.what == Company::kStays) return problem;
        if (company.what == Company::kNone &&
            masks.settle(*stopped.value(), SignalMasks::Whose::kAll, blocks_trap_now)) {
          seen = mappings_of(process);
          if (!seen.ok()) return seen.error();
          mappings = std::move(seen).value();
          return stopped;
        }
      }
    }
    if (Clock::now() > deadline) return problem;
    // Two that come at once must not meet again and again.
    std::this_thread::sleep_for(kPause +
                                std::chrono::milliseconds((getpid() * 7 + static_cast<int>(attempt) * 13) % 31));
  }
}

// The work of place_agent() while the process stands still, in steps that can be taken back.
class Placement {
 public:
  Placement(const InjectRequest& request, const AgentImage& image, const CallTable& table, SignalMasks& masks,
            TracedProcess& target, const std::vector<TargetMapping>& mappings)
      : request_(request), image_(image), table_(table), masks_(masks), target_(target), mappings_(mappings) {}

  Result<PlacedAgent> run(pid_t watcher, std::uint64_t entry) {
    Status status = map_region(watcher, entry);
    if (status.ok()) status = open_channel();
    if (status.ok()) status = fill_region();
    if (status.ok()) status = start_thread();
    if (their_end_ >= 0) static_cast<void>(call(SYS_close, {static_cast<std::uint64_t>(their_end_)}));
    if (status.ok()) return placed_;
    // Nothing stays.
    if (placed_.channel >= 0) ::close(placed_.channel);
    block_trap_in_handlers(target_, placed_.place.system_call, placed_.place.block + kRegionPage - sizeof(KernelAction),
                           block_.masks_with_trap);
    if (placed_.place.region != 0)
      static_cast<void>(call(SYS_munmap, {placed_.place.region, placed_.place.region_size}));
    return status.error();
  }

 private:
  Result<long> call(long number, std::initializer_list<std::uint64_t> arguments) {
    return target_.call(placed_.place.system_call, number, arguments);
  }

  Status protect(std::uint64_t begin, std::uint64_t end) {
    const auto result = call(SYS_mprotect, {begin, end - begin, PROT_READ | PROT_EXEC});
    if (result.ok() && result.value() == 0) return {};
    return Error{ErrorCode::kIo, fmt::format("process {} does not let memory become code", request_.process)};
  }

  Status map_region(pid_t watcher, std::uint64_t entry) {
    auto calls = table_.choose(target_, mappings_);
    if (!calls.ok()) return calls.error();
    calls_ = std::move(calls).value();
    threads_ = describe_threads(target_, mappings_, masks_);
    layout_ = lay_out_region(image_.size(), threads_.size(), calls_.size(), request_.table.size());
    const auto instruction = find_system_call(target_, mappings_);
    if (!instruction.ok()) return instruction.error();
    AgentPlace& place = placed_.place;
    place.system_call = instruction.value();
    place.owner = describe_owner(request_.process, watcher);
    const auto mapped =
        call(SYS_mmap, {0, layout_.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~std::uint64_t{0}, 0});
    if (!mapped.ok()) return mapped.error();
    if (mapped.value() < 0 && mapped.value() > -4096)
      return refused(request_.process, "map memory for the agent", mapped.value());
    place.region = static_cast<std::uint64_t>(mapped.value());
    place.region_size = layout_.size;
    place.code_begin = place.region + image_.code_begin();
    place.code_end = place.region + image_.code_end();
    place.block = place.region + layout_.block;
    // First of all, so that it is found again whatever happens to us.
    const std::uint64_t stub = place.region + layout_.stub;
    if (!target_.write(stub, make_stub_page(place, place.region + entry))) return unwritable();
    return protect(stub, stub + kRegionPage);
  }

  Error unwritable() const {
    return {ErrorCode::kIo, fmt::format("the memory of process {} cannot be written", request_.process)};
  }

  Status open_channel() {
    const std::uint64_t pair_at = placed_.place.region + layout_.scratch;  // before the agent uses it
    const auto paired = call(SYS_socketpair, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair_at});
    if (!paired.ok()) return paired.error();
    if (paired.value() != 0) return refused(request_.process, "open a socket for the agent", paired.value());
    std::int32_t pair[2] = {-1, -1};
    static_cast<void>(target_.read(pair_at, std::as_writable_bytes(std::span(pair))));
    their_end_ = pair[1];
    const int handle = static_cast<int>(syscall(SYS_pidfd_open, request_.process, 0));
    placed_.channel = handle < 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_getfd, handle, pair[0], 0));
    const int problem = errno;
    if (handle >= 0) ::close(handle);
    static_cast<void>(call(SYS_close, {static_cast<std::uint64_t>(pair[0])}));
    if (placed_.channel < 0) return refused(request_.process, "share a socket with us", -problem);
    const std::uint64_t zero[1] = {0};
    return target_.write(pair_at, std::as_bytes(std::span(zero))) ? Status() : unwritable();
  }

  Status fill_region() {
    const AgentPlace& place = placed_.place;
    for (AttachCall& word : calls_) word.replacement += place.region;
    block_.socket = their_end_;
    block_.table = place.region + layout_.table;
    block_.table_size = request_.table.size();
    block_.scratch = place.region + layout_.scratch;
    block_.scratch_size = layout_.scratch_size;
    block_.threads = place.region + layout_.threads;
    block_.thread_count = threads_.size();
    block_.calls = place.region + layout_.calls;
    block_.call_count = calls_.size();
    std::snprintf(block_.options, sizeof block_.options, "%s%s", request_.options.c_str(),
                  table_.sees_masks() ? "" : ":patch=0");
    const auto resolve = [&](std::string_view name) { return table_.original(name); };
    const bool is_written = target_.write(place.region, image_.place_at(place.region, resolve)) &&
                            target_.write(block_.threads, bytes_of(threads_)) &&
                            target_.write(block_.calls, bytes_of(calls_)) &&
                            target_.write(block_.table, request_.table);
    if (!is_written) return unwritable();
    if (const Status status = protect(place.code_begin, place.code_end); !status.ok()) return status;
    block_.masks_with_trap =
        unblock_trap_in_handlers(target_, place.system_call, place.block + kRegionPage - sizeof(KernelAction));
    return target_.write(place.block, bytes_of(block_)) ? Status() : unwritable();
  }

  // The new thread inherits that all signals are blocked, and has descriptors of its own. Its stack begins as after a
  // call.
  Status start_thread() {
    constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    const AgentPlace& place = placed_.place;
    const auto thread =
        target_.call(place.region + layout_.stub, SYS_clone, {kThread, place.region + layout_.stack_end - 8, 0, 0, 0});
    if (!thread.ok()) return thread.error();
    if (thread.value() < 0) return refused(request_.process, "start a thread for the agent", thread.value());
    for (const pid_t number : threads_of(request_.process)) {
      if (inner_number(request_.process, number) == static_cast<std::uint32_t>(thread.value()))
        placed_.agent_thread = number;
    }
    // From now on the agent is to be taken out, not to be forgotten.
    const auto deadline = Clock::now() + kReadyPatience;
    AttachState state = AttachState::kStarting;
    while (state == AttachState::kStarting && Clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      static_cast<void>(
          target_.read(place.block + offsetof(AttachBlock, state), std::as_writable_bytes(std::span(&state, 1))));
    }
    const std::vector<StoppedThread> stopped = target_.threads();
    for (const StoppedThread& stands : stopped) masks_.unblock_trap(target_, stands, mappings_);
    placed_.process = request_.process;
    placed_.call_count = calls_.size();
    placed_.thread_count = threads_.size();
    return {};
  }

  const InjectRequest& request_;
  const AgentImage& image_;
  const CallTable& table_;
  SignalMasks& masks_;
  TracedProcess& target_;
  const std::vector<TargetMapping>& mappings_;
  std::vector<AttachCall> calls_;
  std::vector<AttachThread> threads_;
  RegionLayout layout_;
  AttachBlock block_;
  PlacedAgent placed_;
  int their_end_ = -1;
};

}  // namespace

Result<PlacedAgent> place_agent(const InjectRequest& request, pid_t watcher) {
  if (const Status status = refuse_filtered(request); !status.ok()) return status.error();
  const auto image = AgentImage::open(request.agent);
  if (!image.ok()) return image.error();
  const auto entry = image.value().functions().find(kAttachEntry);
  if (entry == image.value().functions().end()) {
    return Error{ErrorCode::kMalformed, fmt::format("'{}' is the agent of another deadheat", request.agent)};
  }
  auto early = mappings_of(request.process);
  if (!early.ok()) return early.error();
  // Reading files takes longer than the process should stand still.
  const std::vector<TargetModule> modules = modules_of(request.process, early.value());
  for (const TargetModule& module : modules) {
    const std::string whose = fmt::format("process {}", request.process);
    if (const Status status = refuse_runtime(whose, module.image, module.path); !status.ok()) return status.error();
  }
  const CallTable table(modules, image.value());
  SignalMasks masks(request.process, modules);
  std::vector<TargetMapping> mappings;
  auto target = stop_alone(request.process, masks, mappings);
  if (!target.ok()) return target.error();
  if (request.despite_seccomp) target.value()->permit_filtered_calls();
  return Placement(request, image.value(), table, masks, *target.value(), mappings).run(watcher, entry->second);
}

Status withdraw_agent(const PlacedAgent& agent) {
  ask_agent_to_finish(agent.process, agent.place);
  const auto early = mappings_of(agent.process);
  SignalMasks masks(agent.process, early.ok() ? modules_of(agent.process, early.value()) : std::vector<TargetModule>());
  const auto deadline = Clock::now() + kWithdrawPatience;
  const auto mask_deadline = Clock::now() + kMaskPatience;
  std::string obstacle = "its thread does not end";
  while (Clock::now() < deadline) {
    const std::vector<pid_t> threads = threads_of(agent.process);
    if (threads.empty() || status_of(living_thread_of(agent.process), "State").starts_with('Z')) return {};
    if (std::find(threads.begin(), threads.end(), agent.agent_thread) == threads.end()) {
      auto stopped = TracedProcess::stop(agent.process);
      const auto settling = Clock::now() < mask_deadline ? MaskSettling::kWait : MaskSettling::kSkip;
      obstacle = stopped.ok() ? remove_agent(*stopped.value(), agent.place, masks, settling) : stopped.error().message;
      if (obstacle.empty()) return {};
    }
    std::this_thread::sleep_for(kPause);
  }
  return Error{ErrorCode::kIo, fmt::format("the agent stays in process {}, idle: {}", agent.process, obstacle)};
}

}  // namespace deadheat::watch
