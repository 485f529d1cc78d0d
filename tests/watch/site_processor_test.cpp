// SPDX-License-Identifier: Apache-2.0
// Sites against this processor, which knows what no emulator here does (AVX). A child
// executes one instruction at a time, and pages without rights tell what it touched:
//   - with its data in a page that does not exist, the fault is at the site's address;
//   - at the very end of a page it does not fault, one byte further it does: its size;
//   - in a page that cannot be written it faults if and only if it writes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <set>

#include "watch/site_samples.h"

namespace deadheat::watch {
namespace {

// Shared with the child: nothing, a page to write, nothing, a page to read only, code.
class Arena {
 public:
  Arena() {
    begin_ =
        static_cast<std::byte*>(::mmap(nullptr, 6 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(::mprotect(begin_, kPage, PROT_NONE), 0);
    EXPECT_EQ(::mprotect(begin_ + 2 * kPage, kPage, PROT_NONE), 0);
    EXPECT_EQ(::mprotect(begin_ + 3 * kPage, kPage, PROT_READ), 0);
    EXPECT_EQ(::mprotect(begin_ + 4 * kPage, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { ::munmap(begin_, 6 * kPage); }

  [[nodiscard]] std::uint64_t nothing() const { return address(0); }
  [[nodiscard]] std::uint64_t end_of_writable() const { return address(2); }
  [[nodiscard]] std::uint64_t read_only() const { return address(3); }
  [[nodiscard]] std::uint64_t code() const { return address(4); }
  // An instruction, and nothing where it may write: what it finds there could make it fault.
  void prepare(std::span<const std::byte> code) const {
    std::memcpy(begin_ + 4 * kPage, code.data(), code.size());
    std::memset(begin_ + 2 * kPage - 128, 0, 128);
  }

 private:
  [[nodiscard]] std::uint64_t address(int page) const { return reinterpret_cast<std::uint64_t>(begin_) + page * kPage; }
  std::byte* begin_ = nullptr;
};

// What became of one instruction.
struct Outcome {
  int signal = 0;  // SIGTRAP: it was executed
  std::uint64_t fault = 0;
};

class Child {
 public:
  Child() {
    process_ = ::fork();
    if (process_ == 0) {
      ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      ::raise(SIGSTOP);
      ::_exit(1);
    }
    int status = 0;
    ::waitpid(process_, &status, 0);
    is_traced_ = WIFSTOPPED(status) && ::ptrace(PTRACE_GETREGS, process_, nullptr, &first_) == 0 &&
                 ::ptrace(PTRACE_GETFPREGS, process_, nullptr, &first_vectors_) == 0;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  [[nodiscard]] bool is_traced() const { return is_traced_; }

  Outcome run(const Registers& registers) {
    user_regs_struct all = first_;
    unsigned long long* const places[16] = {&all.rax, &all.rcx, &all.rdx, &all.rbx, &all.rsp, &all.rbp,
                                            &all.rsi, &all.rdi, &all.r8,  &all.r9,  &all.r10, &all.r11,
                                            &all.r12, &all.r13, &all.r14, &all.r15};
    for (std::size_t index = 0; index < 16; ++index) *places[index] = registers.general[index];
    all.rip = registers.instruction_pointer;
    all.orig_rax = ~0ULL;  // no system call to be repeated
    EXPECT_EQ(::ptrace(PTRACE_SETREGS, process_, nullptr, &all), 0);
    EXPECT_EQ(::ptrace(PTRACE_SETFPREGS, process_, nullptr, &first_vectors_), 0);
    EXPECT_EQ(::ptrace(PTRACE_SINGLESTEP, process_, nullptr, nullptr), 0);
    int status = 0;
    EXPECT_EQ(::waitpid(process_, &status, 0), process_);
    siginfo_t information{};
    ::ptrace(PTRACE_GETSIGINFO, process_, nullptr, &information);
    return {WSTOPSIG(status), reinterpret_cast<std::uint64_t>(information.si_addr)};
  }

 private:
  pid_t process_ = 0;
  bool is_traced_ = false;
  user_regs_struct first_{};
  user_fpregs_struct first_vectors_{};
};

enum class Verdict { kChecked, kUnknown, kUnreachable };

class Checker {
 public:
  explicit Checker(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] bool can_trace() const { return child_.is_traced(); }

  Verdict check(const SiteSample& sample) {
    code_ = sample.code;
    const Site& site = sample.site;
    const auto missing = run(site, arena_.nothing() + 64);
    const auto at_end = run(site, arena_.end_of_writable() - site.size);
    const auto past_end = run(site, arena_.end_of_writable() - site.size + 1);
    const auto unwritable = run(site, arena_.read_only());
    if (!missing || !at_end || !past_end || !unwritable) return Verdict::kUnreachable;
    if (missing->signal == SIGILL) return Verdict::kUnknown;
    EXPECT_EQ(missing->signal, SIGSEGV);
    EXPECT_EQ(missing->fault, arena_.nothing() + 64);
    EXPECT_TRUE(is_executed(*at_end)) << "it is larger";
    EXPECT_FALSE(is_executed(*past_end)) << "it is smaller";
    const bool writes = (site.flags & kWrites) != 0;
    EXPECT_EQ(is_executed(*unwritable), !writes);
    return Verdict::kChecked;
  }

 private:
  std::optional<Outcome> run(const Site& site, std::uint64_t address) {
    // Relative to the instruction: it moves, as far as there is code.
    const auto registers = registers_for(site, address, arena_.code(), random_);
    if (!registers || registers->instruction_pointer != arena_.code()) return std::nullopt;
    arena_.prepare(code_);
    return child_.run(*registers);
  }

  // A division by zero has read its operand before.
  static bool is_executed(const Outcome& outcome) { return outcome.signal == SIGTRAP || outcome.signal == SIGFPE; }

  Random random_;
  std::span<const std::byte> code_;
  Arena arena_;
  Child child_;
};

TEST(SiteProcessor, TouchesWhatTheSitesSay) {
  const std::uint64_t seed = seed_of_this_run();
  Random random(seed);
  Checker checker(seed);
  if (!checker.can_trace()) GTEST_SKIP() << "ptrace is not allowed here";
  for (const char* file : kSampledFiles) {
    std::vector<SiteSample> all = all_samples(file);
    std::vector<SiteSample> avx = all;
    std::erase_if(avx, [](const SiteSample& sample) { return !is_avx(sample); });
    std::vector<SiteSample> drawn = draw(all, 500, random);
    for (SiteSample& sample : draw(avx, 1000, random)) drawn.push_back(std::move(sample));
    std::map<Verdict, std::size_t> totals;
    std::set<std::vector<std::byte>> kinds;
    for (const SiteSample& sample : drawn) {
      const Verdict verdict = checker.check(sample);
      if (HasFailure()) FAIL() << testing::PrintToString(sample);
      ++totals[verdict];
      if (verdict == Verdict::kChecked) kinds.insert(kind_of(sample));
    }
    std::printf("%s: %zu checked, of %zu kinds; %zu unknown to this processor, %zu without registers\n", file,
                totals[Verdict::kChecked], kinds.size(), totals[Verdict::kUnknown], totals[Verdict::kUnreachable]);
  }
}

}  // namespace
}  // namespace deadheat::watch
