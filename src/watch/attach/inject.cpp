// SPDX-License-Identifier: Apache-2.0
#include "watch/attach/inject.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>
#include <thread>

#include "watch/attach/agent_image.h"
#include "watch/attach/target_modules.h"
#include "watch/attach/traced_process.h"
#include "watch/attach_block.h"
#include "watch/site_table.h"

namespace deadheat::watch {
namespace {

constexpr std::uint64_t kRegionPage = 4096;
constexpr std::uint64_t kAgentStack = 128 << 10;
constexpr std::uint64_t kStateSize = 8;  // at least that of agent/sites.h
constexpr std::uint64_t kTrapMask = std::uint64_t{1} << (SIGTRAP - 1);
constexpr auto kWithdrawPatience = std::chrono::seconds(3);

std::uint64_t whole_pages(std::uint64_t size) { return (size + kRegionPage - 1) / kRegionPage * kRegionPage; }

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

// Where everything is, from the beginning of the region.
struct Layout {
  std::uint64_t stub = 0;
  std::uint64_t block = 0;
  std::uint64_t threads = 0;
  std::uint64_t calls = 0;
  std::uint64_t table = 0;
  std::uint64_t scratch = 0;
  std::uint64_t scratch_size = 0;
  std::uint64_t stack_end = 0;
  std::uint64_t size = 0;
};

Layout lay_out(std::uint64_t image, std::size_t threads, std::size_t calls, std::size_t table) {
  Layout layout;
  layout.stub = whole_pages(image);
  layout.block = layout.stub + kRegionPage;
  layout.threads = layout.block + whole_pages(sizeof(AttachBlock));
  layout.calls = layout.threads + whole_pages(threads * sizeof(AttachThread));
  layout.table = layout.calls + whole_pages(calls * sizeof(AttachCall));
  layout.scratch = layout.table + whole_pages(table);
  layout.scratch_size = whole_pages(table / sizeof(Site) * kStateSize + kRegionPage);
  layout.stack_end = layout.scratch + layout.scratch_size + kAgentStack;
  layout.size = layout.stack_end;
  return layout;
}

// What the new thread finds after the system call that made it.
std::vector<std::byte> make_stub(std::uint64_t block, std::uint64_t entry) {
  std::vector<std::uint8_t> code = {0x0f, 0x05,              // syscall
                                    0x85, 0xc0, 0x75, 0x18,  // test %eax, %eax; jnz past the end
                                    0x31, 0xed};             // xor %ebp, %ebp
  const auto add_load = [&](std::uint8_t which, std::uint64_t value) {
    code.insert(code.end(), {0x48, which});
    for (int at = 0; at < 8; ++at) code.push_back(static_cast<std::uint8_t>(value >> 8 * at));
  };
  add_load(0xbf, block);                  // to %rdi
  add_load(0xb8, entry);                  // to %rax
  code.insert(code.end(), {0xff, 0xe0});  // jmp *%rax
  const auto bytes = std::as_bytes(std::span(code));
  return {bytes.begin(), bytes.end()};
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

// As the process numbers it, which a container may do by itself.
std::uint32_t inner_number(pid_t process, pid_t thread) {
  std::istringstream numbers(status_of_thread(process, thread, "NSpid"));
  std::uint32_t last = static_cast<std::uint32_t>(thread);
  for (std::uint32_t number = 0; numbers >> number;) last = number;
  return last;
}

std::vector<AttachThread> describe_threads(pid_t process, const TracedProcess& target,
                                           const std::vector<TargetMapping>& mappings) {
  std::vector<AttachThread> all;
  for (const StoppedThread& stopped : target.threads()) {
    AttachThread thread;
    thread.system_number = inner_number(process, stopped.number);
    thread.thread_pointer = stopped.registers.fs_base;
    thread.trap_is_blocked = (stopped.blocked_signals & kTrapMask) != 0 ? 1 : 0;
    if (const TargetMapping* const stack = mapping_at(mappings, stopped.registers.rsp)) {
      constexpr std::uint64_t kGrowth = 8 << 20;  // of the main thread's
      thread.stack_begin = stack->path == "[stack]" ? stack->end - kGrowth : stack->begin;
      thread.stack_end = stack->end;
    }
    all.push_back(thread);
  }
  return all;
}

bool is_c_library(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libc.so") || name.starts_with("libc-2") || name.starts_with("ld-musl");
}

bool belongs_to_loader(const std::string& path) { return path.substr(path.rfind('/') + 1).starts_with("ld-"); }

// Of the C library: names to addresses in the process. Empty for a program that is linked statically.
std::map<std::string, std::uint64_t, std::less<>> library_functions(const std::vector<TargetModule>& modules) {
  std::map<std::string, std::uint64_t, std::less<>> functions;
  for (const TargetModule& module : modules) {
    if (!is_c_library(module.path) && module.path.find("/libpthread") == std::string::npos) continue;
    for (const auto& [name, address] : defined_functions(module.image)) functions.emplace(name, module.bias + address);
  }
  return functions;
}

// Words of all modules that call what the agent replaces; `replacement` is from the agent's beginning.
std::vector<AttachCall> find_calls(const std::vector<TargetModule>& modules, const std::vector<TargetMapping>& mappings,
                                   const AgentImage& agent,
                                   const std::map<std::string, std::uint64_t, std::less<>>& originals) {
  std::vector<AttachCall> calls;
  for (const TargetModule& module : modules) {
    if (is_c_library(module.path) || belongs_to_loader(module.path)) continue;
    for (const CallWord& word : call_words(module.image)) {
      const auto replacement = agent.functions().find(std::string(word.name));
      if (replacement == agent.functions().end() || !originals.contains(word.name)) continue;
      AttachCall call;
      call.word = module.bias + word.address;
      call.replacement = replacement->second;
      const TargetMapping* const mapping = mapping_at(mappings, call.word);
      if (mapping == nullptr) continue;
      call.is_writable = mapping->is_writable ? 1 : 0;
      calls.push_back(call);
    }
  }
  return calls;
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

}  // namespace

InjectedAgent::~InjectedAgent() {
  if (channel_ >= 0) close(channel_);
}

Result<std::unique_ptr<InjectedAgent>> InjectedAgent::inject(const InjectRequest& request) {
  if (std::string reason = reason_against_tracing(request.process); !reason.empty())
    return Error{ErrorCode::kIo, reason};
  if (const Status status = refuse_filtered(request); !status.ok()) return status.error();
  const auto agent = AgentImage::open(request.agent);
  if (!agent.ok()) return agent.error();
  const auto entry = agent.value().functions().find(kAttachEntry);
  if (entry == agent.value().functions().end()) {
    return Error{ErrorCode::kMalformed, fmt::format("'{}' is the agent of another deadheat", request.agent)};
  }
  auto early = mappings_of(request.process);
  if (!early.ok()) return early.error();
  // Reading files takes longer than the process should stand still.
  const std::vector<TargetModule> modules = modules_of(request.process, early.value());
  const auto originals = library_functions(modules);
  std::vector<AttachCall> calls = find_calls(modules, early.value(), agent.value(), originals);

  auto stopped = TracedProcess::stop(request.process);
  if (!stopped.ok()) return stopped.error();
  TracedProcess& target = *stopped.value();
  if (request.despite_seccomp) target.permit_filtered_calls();
  const auto mappings = mappings_of(request.process);
  if (!mappings.ok()) return mappings.error();
  std::erase_if(calls, [&](const AttachCall& call) { return mapping_at(mappings.value(), call.word) == nullptr; });
  std::vector<AttachThread> threads = describe_threads(request.process, target, mappings.value());
  const Layout layout = lay_out(agent.value().size(), threads.size(), calls.size(), request.table.size());

  std::unique_ptr<InjectedAgent> injected(new InjectedAgent);
  injected->process_ = request.process;
  injected->call_count_ = calls.size();
  injected->thread_count_ = threads.size();
  const auto instruction = find_system_call(target, mappings.value());
  if (!instruction.ok()) return instruction.error();
  injected->system_call_ = instruction.value();
  const auto call = [&](long number, std::initializer_list<std::uint64_t> arguments) {
    return target.call(instruction.value(), number, arguments);
  };

  const auto mapped =
      call(SYS_mmap, {0, layout.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~std::uint64_t{0}, 0});
  if (!mapped.ok()) return mapped.error();
  if (mapped.value() < 0 && mapped.value() > -4096)
    return refused(request.process, "map memory for the agent", mapped.value());
  const auto base = static_cast<std::uint64_t>(mapped.value());
  injected->region_ = base;
  injected->region_size_ = layout.size;
  injected->code_begin_ = base + agent.value().code_begin();
  injected->code_end_ = base + agent.value().code_end();
  injected->block_ = base + layout.block;
  // Gives up, leaving nothing.
  const auto abandon = [&](Error error) -> Result<std::unique_ptr<InjectedAgent>> {
    static_cast<void>(call(SYS_munmap, {base, layout.size}));
    return error;
  };

  for (AttachCall& word : calls) word.replacement += base;
  AttachBlock block;
  block.table = base + layout.table;
  block.table_size = request.table.size();
  block.scratch = base + layout.scratch;
  block.scratch_size = layout.scratch_size;
  block.threads = base + layout.threads;
  block.thread_count = threads.size();
  block.calls = base + layout.calls;
  block.call_count = calls.size();
  std::snprintf(block.options, sizeof block.options, "%s", request.options.c_str());
  const auto resolve = [&](std::string_view name) {
    const auto found = originals.find(name);
    return found == originals.end() ? std::uint64_t{0} : found->second;
  };

  const std::uint64_t pair_at = block.scratch;  // for two descriptors, before the agent uses it
  const auto paired = call(SYS_socketpair, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair_at});
  if (!paired.ok()) return paired.error();
  if (paired.value() != 0) return abandon(refused(request.process, "open a socket for the agent", paired.value()));
  std::int32_t pair[2] = {-1, -1};
  static_cast<void>(target.read(pair_at, std::as_writable_bytes(std::span(pair))));
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, request.process, 0));
  injected->channel_ = handle < 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_getfd, handle, pair[0], 0));
  const int problem = errno;
  if (handle >= 0) close(handle);
  static_cast<void>(call(SYS_close, {static_cast<std::uint64_t>(pair[0])}));
  if (injected->channel_ < 0) {
    static_cast<void>(call(SYS_close, {static_cast<std::uint64_t>(pair[1])}));
    return abandon(refused(request.process, "share a socket with us", -problem));
  }
  block.socket = pair[1];

  const std::uint64_t zero[1] = {0};
  bool is_written = target.write(pair_at, std::as_bytes(std::span(zero)));
  is_written = is_written && target.write(base, agent.value().place_at(base, resolve));
  is_written = is_written && target.write(base + layout.stub, make_stub(injected->block_, base + entry->second));
  is_written =
      is_written && target.write(block.threads, bytes_of(threads)) && target.write(block.calls, bytes_of(calls));
  is_written =
      is_written && target.write(block.table, request.table) && target.write(injected->block_, bytes_of(block));
  const auto make_code = [&](std::uint64_t begin, std::uint64_t end) {
    const auto result = call(SYS_mprotect, {begin, end - begin, PROT_READ | PROT_EXEC});
    return result.ok() && result.value() == 0;
  };
  const std::uint64_t stub = base + layout.stub;
  if (!is_written || !make_code(injected->code_begin_, injected->code_end_) || !make_code(stub, stub + kRegionPage)) {
    static_cast<void>(call(SYS_close, {static_cast<std::uint64_t>(pair[1])}));
    return abandon({ErrorCode::kIo, fmt::format("process {} does not let memory become code", request.process)});
  }

  // The new thread inherits that all signals are blocked, and has descriptors of its own. Its stack begins as after a
  // call.
  constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  const auto thread = target.call(stub, SYS_clone, {kThread, base + layout.stack_end - 8, 0, 0, 0});
  if (!thread.ok()) return thread.error();
  static_cast<void>(call(SYS_close, {static_cast<std::uint64_t>(pair[1])}));
  if (thread.value() < 0) {
    return abandon(refused(request.process, "start a thread for the agent", thread.value()));
  }
  const std::vector<pid_t> now = threads_of(request.process);
  for (const pid_t number : now) {
    if (inner_number(request.process, number) == static_cast<std::uint32_t>(thread.value()))
      injected->agent_thread_ = number;
  }
  for (const StoppedThread& stands : target.threads()) {
    if ((stands.blocked_signals & kTrapMask) == 0) continue;
    injected->blocked_trap_.push_back(stands.number);
    target.set_blocked_signals(stands.number, stands.blocked_signals & ~kTrapMask);
  }
  return injected;
}

void InjectedAgent::ask_to_finish() {
  std::uint32_t is_over = 1;
  const iovec from{&is_over, sizeof is_over};
  const iovec to{reinterpret_cast<void*>(block_ + offsetof(AttachBlock, is_over)), sizeof is_over};
  static_cast<void>(process_vm_writev(process_, &from, 1, &to, 1, 0));
}

Status InjectedAgent::withdraw() {
  if (channel_ >= 0) close(channel_);
  channel_ = -1;
  ask_to_finish();
  const auto deadline = std::chrono::steady_clock::now() + kWithdrawPatience;
  std::string obstacle = "its thread does not end";
  bool is_done = false;
  while (std::chrono::steady_clock::now() < deadline) {
    std::error_code error;
    const std::vector<pid_t> threads = threads_of(process_);
    if (threads.empty() || status_of(process_, "State").starts_with('Z')) return {};
    if (std::find(threads.begin(), threads.end(), agent_thread_) == threads.end()) {
      if (const Status status = try_to_unmap(is_done, obstacle); !status.ok()) obstacle = status.error().message;
      if (is_done) return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return Error{ErrorCode::kIo, fmt::format("the agent stays in process {}, idle: {}", process_, obstacle)};
}

namespace {

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

}  // namespace

Status InjectedAgent::try_to_unmap(bool& is_done, std::string& obstacle) {
  auto stopped = TracedProcess::stop(process_);
  if (!stopped.ok()) return stopped.error();
  TracedProcess& target = *stopped.value();
  const auto mappings = mappings_of(process_);
  if (!mappings.ok()) return mappings.error();
  AttachBlock block;
  if (!target.read(block_, {reinterpret_cast<std::byte*>(&block), sizeof block})) {
    is_done = true;  // another program: exec has taken it out
    return {};
  }
  if (block.state != AttachState::kFinished) return Error{ErrorCode::kIo, "it has not finished"};
  if (block.trap_action_is_lost != 0)
    return Error{ErrorCode::kIo, "the program has set an action for SIGTRAP meanwhile"};
  for (const StoppedThread& thread : target.threads()) {
    if (!leads_into(target, thread, mappings.value(), code_begin_, code_end_) &&
        !has_pending_trap(process_, thread.number)) {
      continue;
    }
    obstacle = fmt::format("thread {} may return into it", thread.number);
    return {};
  }
  const auto restored = target.call(system_call_, SYS_rt_sigaction,
                                    {SIGTRAP, block_ + offsetof(AttachBlock, trap_action), 0, sizeof(std::uint64_t)});
  if (!restored.ok()) return restored.error();
  const auto unmapped = target.call(system_call_, SYS_munmap, {region_, region_size_});
  if (!unmapped.ok()) return unmapped.error();
  for (const StoppedThread& thread : target.threads()) {
    if (std::find(blocked_trap_.begin(), blocked_trap_.end(), thread.number) == blocked_trap_.end()) continue;
    target.set_blocked_signals(thread.number, thread.blocked_signals | kTrapMask);
  }
  is_done = true;
  return {};
}

}  // namespace deadheat::watch
