// SPDX-License-Identifier: Apache-2.0
#include "base/filter_program.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/confinement.h"
#include "base/inherited_filters.h"

namespace deadheat {
namespace {

constexpr std::uint32_t kNumber = offsetof(seccomp_data, nr);
constexpr std::uint32_t kFirst = offsetof(seccomp_data, args);

std::uint32_t answer(const std::vector<sock_filter>& program, long number, std::uint64_t first = 0) {
  seccomp_data call{};
  call.nr = static_cast<int>(number);
  call.arch = AUDIT_ARCH_X86_64;
  call.args[0] = first;
  return run_filter(program.data(), static_cast<std::uint32_t>(program.size()), call);
}

TEST(FilterProgramTest, ALetPassListIsFollowed) {
  const std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  EXPECT_TRUE(filter_lets_pass(answer(program, SYS_read)));
  EXPECT_TRUE(filter_lets_pass(answer(program, SYS_write)));
  EXPECT_FALSE(filter_lets_pass(answer(program, SYS_close)));
}

TEST(FilterProgramTest, ArgumentsAreLookedAt) {
  // Only write(1, ...) and write(2, ...): 1 <= first <= 2, by jumps of both kinds, a register and scratch memory.
  const std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFirst),   BPF_STMT(BPF_ST, 3),
      BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 1),       BPF_JUMP(BPF_JMP | BPF_JGE | BPF_X, 0, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_MEM, 3),        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 2, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
  };
  EXPECT_FALSE(filter_lets_pass(answer(program, SYS_write, 0)));
  EXPECT_TRUE(filter_lets_pass(answer(program, SYS_write, 1)));
  EXPECT_TRUE(filter_lets_pass(answer(program, SYS_write, 2)));
  EXPECT_FALSE(filter_lets_pass(answer(program, SYS_write, 3)));
}

TEST(FilterProgramTest, ArithmeticIsThatOfTheKernel) {
  const std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFirst),
      BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 5),
      BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 3),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff),
      BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
      BPF_STMT(BPF_ALU | BPF_NEG, 0),
      BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 4),
      BPF_STMT(BPF_RET | BPF_A, 0),
  };
  const std::uint32_t x = (1000 + 5) * 3;
  EXPECT_EQ(answer(program, SYS_read, 1000), (0 - ((x & 0xff) ^ x)) << 4);
}

TEST(FilterProgramTest, WhatIsNoProgramRefuses) {
  EXPECT_FALSE(filter_lets_pass(answer({BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 1000)}, SYS_read)));
  EXPECT_FALSE(filter_lets_pass(answer({BPF_STMT(BPF_LD | BPF_W | BPF_IMM, 1)}, SYS_read)));
  EXPECT_FALSE(filter_lets_pass(answer({BPF_JUMP(BPF_JMP | BPF_JA, 100, 0, 0)}, SYS_read)));
}

TEST(ConfinementTest, OnlyWhatCanSucceedConfines) {
  const sock_fprog program{};
  const long at = reinterpret_cast<long>(&program);
  EXPECT_EQ(confining_prctl(PR_SET_NAME, at, 0).kind, Confinement::kNone);
  EXPECT_EQ(confining_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0).kind, Confinement::kNone);
  EXPECT_EQ(confining_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, at).program, at);
  EXPECT_EQ(confining_prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0).kind, Confinement::kStrict);
  EXPECT_EQ(confining_call(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, 0).kind, Confinement::kNone);  // as libseccomp asks
  EXPECT_EQ(confining_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 0).kind, Confinement::kNone);
  EXPECT_EQ(confining_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, at).kind, Confinement::kFilter);
  EXPECT_EQ(confining_call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, at).kind, Confinement::kFilter);
  EXPECT_EQ(confining_call(SYS_read, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, at).kind, Confinement::kNone);
}

// In a child, as it stays for ever.
TEST(InheritedFiltersTest, OneMoreThanWasKnownIsNoticed) {
  const unsigned known = own_filters();
  const std::string text = std::to_string(known);
  EXPECT_FALSE(has_inherited_filters(nullptr));
  EXPECT_FALSE(has_inherited_filters(text.c_str()));
  const pid_t child = fork();
  if (child == 0) {
    sock_filter pass = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog program{1, &pass};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(2);
    _exit(has_inherited_filters(text.c_str()) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no filters here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace deadheat
