// SPDX-License-Identifier: Apache-2.0
#include "watch/attach/signal_masks.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>

namespace deadheat::watch {
namespace {

// Signals that libc keeps for itself (SIGCANCEL, SIGSETXID): nobody else can block them by its functions.
constexpr std::uint64_t kLibrarySignals = std::uint64_t{3} << 31;
constexpr auto kDrivePatience = std::chrono::milliseconds(30);  // of one thread, on a busy machine
constexpr int kTimesOfHelper = 3;
constexpr std::uint64_t kMostStack = 1 << 20;

constexpr std::array<std::uint8_t, 5> kLoadMaskCall = {0xb8, SYS_rt_sigprocmask, 0, 0, 0};  // mov to %eax
constexpr std::array<std::uint8_t, 5> kLoadActionCall = {0xb8, SYS_rt_sigaction, 0, 0, 0};
constexpr std::array<std::uint8_t, 2> kSyscallBytes = {0x0f, 0x05};
constexpr std::array<std::uint8_t, 9> kRestorer = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

template <std::size_t size>
std::size_t find_in(std::span<const std::byte> bytes, const std::array<std::uint8_t, size>& wanted, std::size_t from) {
  const auto as_byte = [](std::byte one, std::uint8_t other) { return std::to_integer<std::uint8_t>(one) == other; };
  const auto found = std::search(bytes.begin() + static_cast<std::ptrdiff_t>(std::min(from, bytes.size())), bytes.end(),
                                 wanted.begin(), wanted.end(), as_byte);
  return static_cast<std::size_t>(found - bytes.begin());
}

// The frame that the kernel leaves on the stack for a handler: the address that it returns to, and a ucontext.
struct SignalFrame {
  std::uint64_t restorer;
  std::uint64_t flags_and_link[2];
  std::uint64_t stack[3];
  std::uint64_t general[15];  // r8..r15, rdi, rsi, rbp, rbx, rdx, rax, rcx
  std::uint64_t stack_pointer;
  std::uint64_t instruction;
  std::uint64_t processor_flags;
  std::uint16_t segments[4];
  std::uint64_t fault[4];
  std::uint64_t floating_point;
  std::uint64_t reserved[8];
  std::uint64_t mask;
};
static_assert(offsetof(SignalFrame, mask) == 8 + 296);

bool is_plausible(const SignalFrame& frame, std::uint64_t at, const std::vector<TargetMapping>& mappings) {
  constexpr std::uint16_t kUserCode = 0x33;
  constexpr std::uint64_t kMostFrame = 64 << 10;
  // These cannot be blocked.
  constexpr std::uint64_t kNever = std::uint64_t{1} << (SIGKILL - 1) | std::uint64_t{1} << (SIGSTOP - 1);
  if (frame.segments[0] != kUserCode || (frame.mask & kNever) != 0) return false;
  const bool has_state = frame.floating_point > at && frame.floating_point - at < kMostFrame;
  if (!has_state && frame.floating_point != 0) return false;
  const TargetMapping* const code = mapping_at(mappings, frame.instruction);
  return code != nullptr && code->is_executable && mapping_at(mappings, frame.stack_pointer) != nullptr;
}

// A mask that was just put back is the program's, although the thread is still in the function.
bool has_just_put_back(const user_regs_struct& registers) {
  if (registers.rax != 0) return false;
  return registers.orig_rax == SYS_rt_sigaction ||
         (registers.orig_rax == SYS_rt_sigprocmask && registers.rdi == SIG_SETMASK);
}

}  // namespace

bool is_c_library(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libc.so") || name.starts_with("libc-2") || name.starts_with("ld-musl");
}

SignalMasks::SignalMasks(pid_t process, const std::vector<TargetModule>& modules)
    : unwinder_(std::make_unique<StackUnwinder>()) {
  for (const TargetModule& module : modules) unwinder_->add_module(file_of_process(process, module.path), module.bias);
  static_cast<void>(unwinder_->unwind(StackCopy{}));  // it opens the files
  for (const TargetModule& module : modules) {
    if (is_c_library(module.path) || module.path.find("/libpthread") != std::string::npos) add_functions(module);
    if (is_c_library(module.path)) add_system(module);
    if (module.path.substr(module.path.rfind('/') + 1).starts_with("ld-linux")) add_loader(module);
  }
}

// That function, and those that it goes on in.
void SignalMasks::add_system(const TargetModule& module) {
  constexpr std::byte kJump{0xe9};
  constexpr std::byte kCall{0xe8};
  const std::uint64_t begin = module.image.symbol("system").value_or(0);
  const std::vector<AddressRange> functions = module.image.functions();
  const auto function_at = [&](std::uint64_t address) {
    return std::find_if(functions.begin(), functions.end(),
                        [&](const AddressRange& range) { return range.begin <= address && address < range.end; });
  };
  const auto own = function_at(begin);
  if (begin == 0 || own == functions.end()) return;
  system_functions_.push_back({module.bias + own->begin, module.bias + own->end});
  for (const PlacedBytes& code : module.image.code()) {
    if (begin < code.address || own->end > code.address + code.bytes.size()) continue;
    const auto bytes = code.bytes.subspan(own->begin - code.address, own->end - own->begin);
    for (std::size_t at = 0; at + 5 <= bytes.size(); ++at) {
      if (bytes[at] != kJump && bytes[at] != kCall) continue;
      std::int32_t distance = 0;
      std::memcpy(&distance, bytes.data() + at + 1, sizeof distance);
      const std::uint64_t target = own->begin + at + 5 + static_cast<std::uint64_t>(std::int64_t{distance});
      const auto other = function_at(target);
      if (other == functions.end() || other->begin != target) continue;
      system_functions_.push_back({module.bias + other->begin, module.bias + other->end});
    }
  }
}

std::vector<std::uint64_t> SignalMasks::callers(const TracedProcess& target, const StoppedThread& thread) const {
  const user_regs_struct& now = thread.registers;
  StackCopy stack;
  const std::uint64_t registers[] = {now.rax, now.rdx, now.rcx, now.rbx, now.rsi, now.rdi, now.rbp, now.rsp, now.r8,
                                     now.r9,  now.r10, now.r11, now.r12, now.r13, now.r14, now.r15, now.rip};
  std::copy(std::begin(registers), std::end(registers), stack.registers);
  // The stack may end before.
  stack.size = sizeof stack.bytes;
  while (stack.size != 0 && !target.read(now.rsp, std::as_writable_bytes(std::span(stack.bytes)).first(stack.size)))
    stack.size /= 2;
  return unwinder_->unwind(stack);
}

bool SignalMasks::is_in_system(const TracedProcess& target, const StoppedThread& thread) const {
  std::vector<std::uint64_t> words = callers(target, thread);
  words.push_back(thread.registers.rip);
  return std::any_of(words.begin(), words.end(), [&](std::uint64_t word) {
    return std::any_of(system_functions_.begin(), system_functions_.end(),
                       [&](const Range& range) { return word >= range.begin && word < range.end; });
  });
}

// It writes the words by which modules call, and jumps to what it has found: a call of libc that nobody would see.
// Asking for thread-local variables is all that programs do there all the time.
void SignalMasks::add_loader(const TargetModule& module) {
  const auto asked = module.image.symbol("__tls_get_addr").value_or(0);
  for (const AddressRange& function : module.image.functions()) {
    if (function.begin <= asked && asked < function.end) continue;
    functions_.push_back({module.bias + function.begin, module.bias + function.end});
  }
}

void SignalMasks::add_functions(const TargetModule& module) {
  constexpr std::size_t kNear = 64;
  const std::vector<AddressRange> ranges = module.image.functions();
  // These call one that does it.
  for (const char* const name :
       {"sigprocmask", "sigaction", "signal", "bsd_signal", "ssignal", "sysv_signal", "sigset", "sighold", "sigrelse",
        "sigignore", "sigblock", "sigsetmask", "siginterrupt", "siglongjmp", "longjmp", "_longjmp", "__longjmp_chk"}) {
    const std::uint64_t begin = module.image.symbol(name).value_or(0);
    const auto range = std::find_if(ranges.begin(), ranges.end(), [&](const AddressRange& one) {
      return begin != 0 && one.begin <= begin && begin < one.end;
    });
    if (range != ranges.end()) functions_.push_back({module.bias + range->begin, module.bias + range->end});
  }
  for (const PlacedBytes& code : module.image.code()) {
    for (const auto& load : {kLoadMaskCall, kLoadActionCall}) {
      for (std::size_t at = find_in(code.bytes, load, 0); at < code.bytes.size();
           at = find_in(code.bytes, load, at + 1)) {
        if (find_in(code.bytes.first(std::min(at + kNear, code.bytes.size())), kSyscallBytes, at) + 2 > at + kNear)
          continue;
        const std::uint64_t address = code.address + at;
        const auto range = std::find_if(ranges.begin(), ranges.end(), [&](const AddressRange& one) {
          return one.begin <= address && address < one.end;
        });
        if (range != ranges.end()) functions_.push_back({module.bias + range->begin, module.bias + range->end});
      }
    }
    for (std::size_t at = find_in(code.bytes, kRestorer, 0); at < code.bytes.size();
         at = find_in(code.bytes, kRestorer, at + 1)) {
      restorers_.push_back(module.bias + code.address + at);
    }
  }
}

bool SignalMasks::is_in_function(const StoppedThread& thread) const {
  const std::uint64_t at = thread.registers.rip;
  return std::any_of(functions_.begin(), functions_.end(),
                     [&](const Range& range) { return at >= range.begin && at < range.end; });
}

bool SignalMasks::is_momentary(const StoppedThread& thread) const {
  if ((thread.blocked_signals & kLibrarySignals) != 0) return true;
  return is_in_function(thread) && !has_just_put_back(thread.registers);
}

bool SignalMasks::settle(TracedProcess& target, Whose whose,
                         const std::function<bool(const StoppedThread&)>& wants_block) {
  for (bool must_look = true; must_look;) {
    std::vector<pid_t> inside;
    for (const StoppedThread& thread : target.threads()) {
      const bool wants = wants_block(thread);
      if (!is_momentary(thread) || (whose == Whose::kOfThoseThatWant && !wants)) {
        seen_inside_.erase(thread.number);
        if (wants && is_in_system(target, thread)) return false;
        continue;
      }
      Place& place = seen_inside_[thread.number];
      const bool is_where_it_was =
          place.instruction == thread.registers.rip && place.stack == thread.registers.rsp && place.times != 0;
      if (!is_where_it_was) place = {thread.registers.rip, thread.registers.rsp, 0};
      if (place.times < kTimesOfHelper) inside.push_back(thread.number);
    }
    for (const pid_t number : inside) {
      if (target.drive_out(number, [&](const StoppedThread& thread) { return is_momentary(thread); }, kDrivePatience)) {
        seen_inside_.erase(number);
        continue;
      }
      if (++seen_inside_[number].times < kTimesOfHelper) return false;
    }
    bool has_new = false;
    if (!target.stop_new_threads(has_new).ok()) return false;
    must_look = has_new || !inside.empty();
  }
  return true;
}

std::vector<std::uint64_t> SignalMasks::saved_masks(const TracedProcess& target, const StoppedThread& thread,
                                                    const std::vector<TargetMapping>& mappings) const {
  std::vector<std::uint64_t> found;
  if (restorers_.empty()) return found;
  std::optional<std::vector<std::uint64_t>> known;  // to unwind takes time, and few threads have frames
  std::uint64_t from = thread.registers.rsp / 8 * 8;
  // On its way back from a handler: the word is off the stack.
  const bool is_returning = std::any_of(restorers_.begin(), restorers_.end(), [&](std::uint64_t restorer) {
    return thread.registers.rip - restorer < kRestorer.size();
  });
  const std::uint64_t returns_by = is_returning ? from - sizeof from : 0;
  if (is_returning) from = returns_by;
  constexpr std::size_t kMostFrames = 64;
  while (found.size() < kMostFrames) {
    const TargetMapping* const stack = mapping_at(mappings, from);
    if (stack == nullptr) return found;
    std::vector<std::uint64_t> words(std::min(stack->end - from, kMostStack) / 8);
    if (!target.read(from, std::as_writable_bytes(std::span(words)))) return found;
    std::optional<std::uint64_t> next;
    for (std::size_t at = 0; at + sizeof(SignalFrame) / 8 <= words.size() && !next; ++at) {
      if (std::find(restorers_.begin(), restorers_.end(), words[at]) == restorers_.end()) continue;
      SignalFrame frame;
      std::memcpy(&frame, words.data() + at, sizeof frame);
      if (!is_plausible(frame, from + at * 8, mappings)) continue;
      if (!known) known = callers(target, thread);
      const bool is_old = from + at * 8 != returns_by && !known->empty() &&
                          std::find(known->begin(), known->end(), frame.instruction) == known->end();
      if (is_old) continue;
      found.push_back(from + at * 8 + offsetof(SignalFrame, mask));
      // The handler may run on a stack of its own.
      next = frame.stack_pointer / 8 * 8;
    }
    if (!next) return found;
    from = *next;
  }
  return found;
}

bool SignalMasks::blocks_trap(const TracedProcess& target, const StoppedThread& thread,
                              const std::vector<TargetMapping>& mappings) const {
  if ((thread.blocked_signals & kLibrarySignals) != 0) return false;  // of libc's own
  const std::vector<std::uint64_t> saved = saved_masks(target, thread, mappings);
  std::uint64_t mask = thread.blocked_signals;
  if (!saved.empty() && !target.read(saved.back(), std::as_writable_bytes(std::span(&mask, 1)))) return false;
  return (mask & kTrapMask) != 0;
}

void SignalMasks::change(TracedProcess& target, const StoppedThread& thread, const std::vector<TargetMapping>& mappings,
                         std::uint64_t bit) const {
  const std::uint64_t mask = (thread.blocked_signals & ~kTrapMask) | bit;
  for (const std::uint64_t address : saved_masks(target, thread, mappings)) {
    std::uint64_t saved = 0;
    if (!target.read(address, std::as_writable_bytes(std::span(&saved, 1)))) continue;
    saved = (saved & ~kTrapMask) | bit;
    static_cast<void>(target.write(address, std::as_bytes(std::span(&saved, 1))));
  }
  if (mask != thread.blocked_signals) target.set_blocked_signals(thread.number, mask);
}

void SignalMasks::unblock_trap(TracedProcess& target, const StoppedThread& thread,
                               const std::vector<TargetMapping>& mappings) const {
  change(target, thread, mappings, 0);
}

void SignalMasks::block_trap(TracedProcess& target, const StoppedThread& thread,
                             const std::vector<TargetMapping>& mappings) const {
  change(target, thread, mappings, kTrapMask);
}

}  // namespace deadheat::watch
