// SPDX-License-Identifier: Apache-2.0
// NativeProcessor: runs single instructions on the processor itself, in a stopped child process, as the judge where the
// interpreter and the emulator disagree.
#pragma once

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/recording.h"

namespace deadheat::replay {

struct NativeRegion {
  std::uint64_t address = 0;
  std::size_t size = 0;
};

class NativeProcessor {
 public:
  // Two regions of its memory, readable, writable, executable and zero.
  NativeProcessor(NativeRegion code, NativeRegion data) : child_(fork()) {
    if (child_ == 0) wait_to_be_used(code, data);
    int status = 0;
    is_usable_ = child_ > 0 && waitpid(child_, &status, 0) == child_ && WIFSTOPPED(status);
  }
  NativeProcessor(const NativeProcessor&) = delete;
  NativeProcessor& operator=(const NativeProcessor&) = delete;
  ~NativeProcessor() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  // Otherwise nothing can be traced here.
  [[nodiscard]] bool is_usable() const { return is_usable_; }

  bool write(std::uint64_t address, std::span<const std::byte> bytes) {
    const iovec local{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const iovec remote{reinterpret_cast<void*>(address), bytes.size()};
    return process_vm_writev(child_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes.size());
  }
  bool read(std::uint64_t address, std::span<std::byte> bytes) {
    const iovec local{bytes.data(), bytes.size()};
    const iovec remote{reinterpret_cast<void*>(address), bytes.size()};
    return process_vm_readv(child_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes.size());
  }

  // One instruction, or one round of a repeated one. False: it faulted.
  bool step(RegisterFile& registers) {
    constexpr std::uint64_t kFlags = 0xcd5;  // those that programs compute with, and the direction
    user_regs_struct all{};
    if (ptrace(PTRACE_GETREGS, child_, nullptr, &all) != 0) return false;
    exchange(all, registers, [](auto& theirs, auto& ours) { theirs = ours; });
    all.rip = registers.ip;
    all.eflags = (all.eflags & ~kFlags) | (registers.flags & kFlags);
    all.orig_rax = ~0ULL;
    int status = 0;
    if (ptrace(PTRACE_SETREGS, child_, nullptr, &all) != 0 ||
        ptrace(PTRACE_SINGLESTEP, child_, nullptr, nullptr) != 0 || waitpid(child_, &status, 0) != child_ ||
        !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
      return false;
    }
    if (ptrace(PTRACE_GETREGS, child_, nullptr, &all) != 0) return false;
    exchange(all, registers, [](auto& theirs, auto& ours) { ours = theirs; });
    registers.ip = all.rip;
    registers.flags = (registers.flags & ~kFlags) | (all.eflags & kFlags);
    return true;
  }

 private:
  [[noreturn]] static void wait_to_be_used(NativeRegion code, NativeRegion data) {
    for (const NativeRegion& region : {code, data}) {
      void* const wanted = reinterpret_cast<void*>(region.address);
      const void* const got = mmap(wanted, region.size, PROT_READ | PROT_WRITE | PROT_EXEC,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
      if (got != wanted) _exit(1);
    }
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    raise(SIGSTOP);
    _exit(0);
  }

  template <class Copy>
  static void exchange(user_regs_struct& theirs, RegisterFile& ours, const Copy& copy) {
    auto* general = ours.general.data();
    for (auto* place :
         {&theirs.rax, &theirs.rcx, &theirs.rdx, &theirs.rbx, &theirs.rsp, &theirs.rbp, &theirs.rsi, &theirs.rdi,
          &theirs.r8, &theirs.r9, &theirs.r10, &theirs.r11, &theirs.r12, &theirs.r13, &theirs.r14, &theirs.r15}) {
      copy(*place, *general++);
    }
  }

  pid_t child_;
  bool is_usable_ = false;
};

}  // namespace deadheat::replay
