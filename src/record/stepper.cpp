// SPDX-License-Identifier: Apache-2.0
#include "record/stepper.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "image/elf_image.h"
#include "replay/instruction.h"

namespace deadheat::record {
namespace {

constexpr std::uint64_t kTrapFlag = 0x100;
constexpr std::uint8_t kInt3 = 0xcc;
constexpr long kOptions =
    PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;

Error failed(const std::string& what) { return {ErrorCode::kIo, fmt::format("{}: {}", what, std::strerror(errno))}; }

RegisterFile register_file(const user_regs_struct& from) {
  RegisterFile file;
  file.general = {from.rax, from.rcx, from.rdx, from.rbx, from.rsp, from.rbp, from.rsi, from.rdi,
                  from.r8,  from.r9,  from.r10, from.r11, from.r12, from.r13, from.r14, from.r15};
  file.ip = from.rip;
  file.flags = from.eflags & ~kTrapFlag;
  return file;
}

struct Breakpoint {
  long word = 0;  // what was there, before
};

struct SteppedThread {
  bool is_stepping = false;
  bool is_known_stopped = false;  // its first stop has been seen
  bool is_after_gap = true;
  bool is_other_process = false;  // a child until it executes another program
  std::uint64_t last_ip = 0;
  std::uint64_t return_address = 0;  // of the chosen function; 0: step for ever
  std::uint64_t return_stack = 0;
};

class Stepper {
 public:
  Stepper(pid_t process, StepListener& listener) : process_(process), listener_(listener) {}

  Result<StepSummary> run();

 private:
  Status reach_entry();
  bool handle_stop(pid_t id, int status);
  void handle_new_task(pid_t id, int event);
  void on_trap(pid_t id, SteppedThread& thread);
  void show_step(pid_t id, SteppedThread& thread, const user_regs_struct& registers);
  void resume(pid_t id, SteppedThread& thread, int signal = 0);
  void step_over(pid_t id, std::uint64_t address);
  [[nodiscard]] std::optional<std::vector<std::byte>> movable(pid_t id, std::uint64_t address) const;
  // Through a thread that is stopped; the others may run.
  void insert(std::uint64_t address, pid_t through);
  void lift(std::uint64_t address, pid_t through);
  void stop_stepping_all(pid_t through);
  [[nodiscard]] bool is_repeated_string(pid_t id, std::uint64_t ip) const;
  [[nodiscard]] bool is_own_thread(pid_t id) const;

  struct Stop {
    pid_t id = -1;
    int status = 0;
  };

  pid_t process_;
  std::uint64_t entry_ = 0;
  StepListener& listener_;
  std::deque<Stop> pending_;  // that were waited for alone
  std::map<std::uint64_t, Breakpoint> breakpoints_;
  std::unordered_map<pid_t, SteppedThread> threads_;
  StepSummary summary_;
  bool steps_everything_ = false;
  bool is_free_ = false;  // nothing is stepped any more
  bool is_killed_ = false;
};

bool poke(pid_t id, std::uint64_t address, long word) {
  return ::ptrace(PTRACE_POKETEXT, id, reinterpret_cast<void*>(address), reinterpret_cast<void*>(word)) == 0;
}

void Stepper::insert(std::uint64_t address, pid_t through) {
  errno = 0;
  const long word = ::ptrace(PTRACE_PEEKTEXT, through, reinterpret_cast<void*>(address), nullptr);
  if (errno != 0) return;
  if ((word & 0xff) != kInt3) breakpoints_[address].word = word;
  (void)poke(through, address, (word & ~0xffL) | kInt3);
}

void Stepper::lift(std::uint64_t address, pid_t through) {
  (void)poke(through, address, breakpoints_.at(address).word);
}

bool Stepper::is_own_thread(pid_t id) const {
  return ::access(fmt::format("/proc/{}/task/{}", process_, id).c_str(), F_OK) == 0;
}

// Only asked when a step did not move on.
bool Stepper::is_repeated_string(pid_t id, std::uint64_t ip) const {
  std::array<std::byte, 15> code{};
  const std::size_t size = read_memory(id, ip, code);
  bool is_repeated = false;
  for (std::size_t index = 0; index < size; ++index) {
    const auto byte = std::to_integer<unsigned>(code[index]);
    if (byte == 0xf2 || byte == 0xf3) {
      is_repeated = true;
    } else if (byte == 0x66 || byte == 0x67 || (byte & 0xf0) == 0x40) {
      continue;
    } else {
      const bool is_string = (byte >= 0xa4 && byte <= 0xa7) || (byte >= 0xaa && byte <= 0xaf);
      return is_repeated && is_string;
    }
  }
  return false;
}

std::optional<std::uint64_t> entry_point(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/auxv", process), std::ios::binary);
  Elf64_auxv_t entry{};
  while (file.read(reinterpret_cast<char*>(&entry), sizeof entry)) {
    if (entry.a_type == AT_ENTRY) return entry.a_un.a_val;
  }
  return std::nullopt;
}

// The loader runs at full speed.
Status Stepper::reach_entry() {
  int status = 0;
  if (::waitpid(process_, &status, __WALL) != process_) return failed("cannot wait for the program");
  if (!WIFSTOPPED(status)) return Error{ErrorCode::kIo, "the program could not be started"};
  if (::ptrace(PTRACE_SETOPTIONS, process_, nullptr, reinterpret_cast<void*>(kOptions)) != 0) {
    return failed("cannot trace the program");
  }
  const auto entry = entry_point(process_);
  if (!entry) return Error{ErrorCode::kIo, "the program's entry point cannot be found"};
  entry_ = *entry;
  insert(*entry, process_);
  int signal = 0;
  for (;;) {
    (void)::ptrace(PTRACE_CONT, process_, nullptr, reinterpret_cast<void*>(static_cast<long>(signal)));
    if (::waitpid(process_, &status, __WALL) != process_) return failed("cannot wait for the program");
    if (!WIFSTOPPED(status)) return Error{ErrorCode::kIo, "the program ended before its entry point"};
    signal = WSTOPSIG(status);
    if (signal == SIGTRAP) break;
  }
  user_regs_struct registers{};
  (void)::ptrace(PTRACE_GETREGS, process_, nullptr, &registers);
  if (registers.rip != *entry + 1) return Error{ErrorCode::kIo, "the program stopped before its entry point"};
  lift(*entry, process_);
  breakpoints_.clear();
  registers.rip = *entry;
  (void)::ptrace(PTRACE_SETREGS, process_, nullptr, &registers);
  return {};
}

Result<StepSummary> Stepper::run() {
  if (const Status reached = reach_entry(); !reached) {
    ::kill(process_, SIGKILL);
    return reached.error();
  }
  const auto functions = listener_.on_ready(process_);
  for (const std::uint64_t address : functions) insert(address, process_);
  steps_everything_ = functions.empty();
  SteppedThread& first = threads_[process_];
  first.is_known_stopped = true;
  first.is_stepping = steps_everything_;
  if (steps_everything_) {
    user_regs_struct registers{};
    (void)::ptrace(PTRACE_GETREGS, process_, nullptr, &registers);
    show_step(process_, first, registers);
  }
  resume(process_, first);
  for (;;) {
    Stop stop;
    if (!pending_.empty()) {
      stop = pending_.front();
      pending_.pop_front();
    } else {
      stop.id = ::waitpid(-1, &stop.status, __WALL);
    }
    if (stop.id < 0) {
      if (errno == EINTR) continue;
      return failed("cannot wait for the program");
    }
    if (!handle_stop(stop.id, stop.status)) return summary_;
  }
}

// False when the program has ended.
bool Stepper::handle_stop(pid_t id, int status) {
  if (WIFEXITED(status) || WIFSIGNALED(status)) {
    if (const auto found = threads_.find(id); found != threads_.end() && !found->second.is_other_process) {
      listener_.on_thread_end(id);
    }
    threads_.erase(id);
    if (id != process_) return true;
    summary_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return false;
  }
  if (!WIFSTOPPED(status)) return true;
  const int signal = WSTOPSIG(status);
  const int event = status >> 16;
  SteppedThread& thread = threads_[id];
  if (!thread.is_known_stopped) {
    // SIGSTOP of a new task, maybe before its creator's event.
    thread.is_known_stopped = true;
    thread.is_other_process = !is_own_thread(id);
    thread.is_stepping = steps_everything_ && !thread.is_other_process;
    if (thread.is_stepping) {
      on_trap(id, thread);
    } else {
      resume(id, thread);
    }
    return true;
  }
  if (event == PTRACE_EVENT_EXEC) {
    if (id != process_) {
      (void)::ptrace(PTRACE_DETACH, id, nullptr, nullptr);
      threads_.erase(id);
      return true;
    }
    breakpoints_.clear();
    stop_stepping_all(id);
    resume(id, thread);
  } else if (event != 0) {
    handle_new_task(id, event);
  } else if (signal == SIGTRAP) {
    on_trap(id, thread);
  } else {
    resume(id, thread, signal);
  }
  return true;
}

void Stepper::handle_new_task(pid_t id, int event) {
  if (event == PTRACE_EVENT_FORK) {
    unsigned long child = 0;
    (void)::ptrace(PTRACE_GETEVENTMSG, id, nullptr, &child);
    const auto child_id = static_cast<pid_t>(child);
    int status = 0;
    const auto found = threads_.find(child_id);
    if (found == threads_.end() || !found->second.is_known_stopped) (void)::waitpid(child_id, &status, __WALL);
    for (const auto& [address, breakpoint] : breakpoints_) (void)poke(child_id, address, breakpoint.word);
    (void)::ptrace(PTRACE_DETACH, child_id, nullptr, nullptr);
    threads_.erase(child_id);
  }
  resume(id, threads_[id]);
}

void Stepper::on_trap(pid_t id, SteppedThread& thread) {
  user_regs_struct registers{};
  if (::ptrace(PTRACE_GETREGS, id, nullptr, &registers) != 0) return;
  if (thread.is_stepping) {
    const bool has_returned =
        thread.return_address != 0 && registers.rip == thread.return_address && registers.rsp == thread.return_stack;
    if (has_returned) {
      thread.is_stepping = false;
      thread.is_after_gap = true;
    } else if (registers.rip != thread.last_ip || !is_repeated_string(id, registers.rip)) {
      show_step(id, thread, registers);
    }
    resume(id, thread);
    return;
  }
  if (breakpoints_.contains(registers.rip - 1)) {
    registers.rip -= 1;
    (void)::ptrace(PTRACE_SETREGS, id, nullptr, &registers);
    if (!thread.is_other_process && !is_free_) {
      thread.is_stepping = true;
      thread.is_after_gap = true;
      thread.return_stack = registers.rsp + 8;
      errno = 0;
      thread.return_address =
          static_cast<std::uint64_t>(::ptrace(PTRACE_PEEKDATA, id, reinterpret_cast<void*>(registers.rsp), nullptr));
      show_step(id, thread, registers);
    }
    resume(id, thread);
    return;
  }
  // After a lifted breakpoint in a thread that is not stepped, or the program's own.
  resume(id, thread);
}

void Stepper::show_step(pid_t id, SteppedThread& thread, const user_regs_struct& registers) {
  const RegisterFile file = register_file(registers);
  ++summary_.steps;
  const AfterStep next = listener_.on_step({id, thread.is_after_gap, file});
  thread.is_after_gap = false;
  thread.last_ip = registers.rip;
  switch (next) {
    case AfterStep::kGoOn:
      break;
    case AfterStep::kLeaveFunction:
      thread.is_stepping = false;
      thread.is_after_gap = true;
      break;
    case AfterStep::kRunFree:
      stop_stepping_all(id);
      break;
    case AfterStep::kKill:
      is_killed_ = true;
      ::kill(process_, SIGKILL);
      break;
  }
}

void Stepper::stop_stepping_all(pid_t through) {
  for (const auto& [address, breakpoint] : breakpoints_) (void)poke(through, address, breakpoint.word);
  // Their addresses stay known: a thread may have run into one already.
  for (auto& [id, thread] : threads_) {
    thread.is_stepping = false;
  }
  steps_everything_ = false;
  is_free_ = true;
}

void Stepper::resume(pid_t id, SteppedThread& thread, int signal) {
  if (is_killed_) return;
  const bool is_single = thread.is_stepping;
  if (!breakpoints_.empty() && !is_free_) {
    user_regs_struct registers{};
    (void)::ptrace(PTRACE_GETREGS, id, nullptr, &registers);
    if (breakpoints_.contains(registers.rip) && signal == 0) return step_over(id, registers.rip);
  }
  (void)::ptrace(is_single ? PTRACE_SINGLESTEP : PTRACE_CONT, id, nullptr,
                 reinterpret_cast<void*>(static_cast<long>(signal)));
}

// The instruction under a breakpoint, if it does the same at any other address.
std::optional<std::vector<std::byte>> Stepper::movable(pid_t id, std::uint64_t address) const {
  std::array<std::byte, 16> code{};
  if (read_memory(id, address, code) != code.size()) return std::nullopt;
  code[0] = static_cast<std::byte>(breakpoints_.at(address).word & 0xff);
  const auto instruction = replay::decode(code, address);
  if (!instruction || instruction->flow != replay::Flow::kNext) return std::nullopt;
  for (unsigned index = 0; index < instruction->operand_count; ++index) {
    const replay::Operand& operand = instruction->operands[index];
    const bool may_be_relative = operand.is_memory() && operand.base == replay::kNoRegister;
    if (may_be_relative) return std::nullopt;
  }
  return std::vector<std::byte>(code.begin(), code.begin() + instruction->length);
}

// The breakpoint stays where possible: its instruction is executed elsewhere, in the program's entry, which has done
// its work. Otherwise it is lifted, nobody else is resumed until it is back, and threads that run just then may pass
// it.
void Stepper::step_over(pid_t id, std::uint64_t address) {
  const auto moved = movable(id, address);
  user_regs_struct registers{};
  (void)::ptrace(PTRACE_GETREGS, id, nullptr, &registers);
  if (moved) {
    for (std::size_t offset = 0; offset < 16; offset += sizeof(long)) {
      long word = 0;
      if (offset < moved->size()) {
        std::memcpy(&word, moved->data() + offset, std::min(sizeof word, moved->size() - offset));
      }
      (void)poke(id, entry_ + offset, word);
    }
    registers.rip = entry_;
    (void)::ptrace(PTRACE_SETREGS, id, nullptr, &registers);
  } else {
    lift(address, id);
  }
  (void)::ptrace(PTRACE_SINGLESTEP, id, nullptr, nullptr);
  Stop stop;
  do {
    stop.id = ::waitpid(id, &stop.status, __WALL);
  } while (stop.id < 0 && errno == EINTR);
  if (stop.id < 0) return;
  if (WIFSTOPPED(stop.status) && moved) {
    (void)::ptrace(PTRACE_GETREGS, id, nullptr, &registers);
    registers.rip += address - entry_;
    (void)::ptrace(PTRACE_SETREGS, id, nullptr, &registers);
  } else if (WIFSTOPPED(stop.status)) {
    insert(address, id);
  }
  pending_.push_back(stop);
}

[[noreturn]] void become(const StepCommand& command) {
  if (!command.is_layout_random) {
    const int now = ::personality(0xffffffff);
    if (now >= 0) (void)::personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE);
  }
  if (!command.is_output_shown) {
    const int nothing = ::open("/dev/null", O_WRONLY);
    if (nothing >= 0) ::dup2(nothing, STDOUT_FILENO);
  }
  for (const std::string& setting : command.environment) ::putenv(const_cast<char*>(setting.c_str()));
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) ::execvp(words[0], words.data());
  ::_exit(127);
}

}  // namespace

Result<StepSummary> step_program(const StepCommand& command, StepListener& listener) {
  if (command.words.empty()) return Error{ErrorCode::kIo, "there is no program to step"};
  const pid_t process = ::fork();
  if (process < 0) return failed("cannot start the program");
  if (process == 0) become(command);
  return Stepper(process, listener).run();
}

std::size_t read_memory(pid_t process, std::uint64_t address, std::span<std::byte> into) {
  const iovec local{into.data(), into.size()};
  const iovec remote{reinterpret_cast<void*>(address), into.size()};
  const ssize_t count = ::process_vm_readv(process, &local, 1, &remote, 1, 0);
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

Result<std::vector<std::uint64_t>> function_addresses(const CodeMapping& program,
                                                      const std::vector<std::string>& names) {
  const auto image = ElfImage::open(program.path);
  if (!image) return image.error();
  const auto base = image.value().address_of(program.file_offset);
  std::vector<std::uint64_t> addresses;
  for (const std::string& name : names) {
    const std::vector<std::uint64_t> found = image.value().functions_named(name);
    if (found.empty() || !base) {
      return Error{ErrorCode::kInvalid, fmt::format("'{}' has no function '{}'", program.path, name)};
    }
    for (const std::uint64_t address : found) addresses.push_back(address - *base + program.begin);
  }
  return addresses;
}

std::vector<CodeMapping> code_mappings(pid_t process) {
  std::vector<CodeMapping> mappings;
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  std::string line;
  while (std::getline(maps, line)) {
    std::istringstream words(line);
    std::string range;
    std::string rights;
    std::string offset;
    std::string device;
    std::string inode;
    std::string path;
    words >> range >> rights >> offset >> device >> inode >> std::ws;
    std::getline(words, path);
    const std::size_t dash = range.find('-');
    if (rights.size() < 3 || rights[2] != 'x' || path.empty() || path[0] != '/' || dash == std::string::npos) continue;
    CodeMapping mapping;
    mapping.begin = std::stoull(range.substr(0, dash), nullptr, 16);
    mapping.end = std::stoull(range.substr(dash + 1), nullptr, 16);
    mapping.file_offset = std::stoull(offset, nullptr, 16);
    mapping.path = path;
    if (const auto image = ElfImage::open(path)) {
      const auto id = image.value().build_id();
      mapping.build_id.assign(id.begin(), id.end());
    }
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

}  // namespace deadheat::record
