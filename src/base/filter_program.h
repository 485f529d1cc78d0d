// SPDX-License-Identifier: Apache-2.0
// The answer of a filter of system calls (seccomp) to a call: the programs that the kernel runs, run by ourselves, to
// know before a call whether it may be made. The kernel has checked a program before it accepts it; one that is not
// understood here refuses.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>

namespace deadheat {

namespace filter_program {

inline constexpr std::uint32_t kRefused = SECCOMP_RET_KILL_PROCESS;

struct Machine {
  std::uint32_t a = 0;
  std::uint32_t x = 0;
  std::uint32_t memory[BPF_MEMWORDS] = {};
};

[[nodiscard]] inline std::uint32_t calculate(std::uint16_t code, std::uint32_t a, std::uint32_t b) {
  switch (BPF_OP(code)) {
    case BPF_ADD:
      return a + b;
    case BPF_SUB:
      return a - b;
    case BPF_MUL:
      return a * b;
    case BPF_DIV:
      return b == 0 ? 0 : a / b;
    case BPF_OR:
      return a | b;
    case BPF_AND:
      return a & b;
    case BPF_XOR:
      return a ^ b;
    case BPF_LSH:
      return b > 31 ? 0 : a << b;
    case BPF_RSH:
      return b > 31 ? 0 : a >> b;
    default:  // BPF_NEG
      return 0U - a;
  }
}

[[nodiscard]] inline bool holds(std::uint16_t code, std::uint32_t a, std::uint32_t b) {
  switch (BPF_OP(code)) {
    case BPF_JEQ:
      return a == b;
    case BPF_JGT:
      return a > b;
    case BPF_JGE:
      return a >= b;
    default:  // BPF_JSET
      return (a & b) != 0;
  }
}

// Where a load of it ends; false for what no such program has.
[[nodiscard]] inline bool load(const sock_filter& step, const seccomp_data& call, const Machine& machine,
                               std::uint32_t& value) {
  switch (BPF_MODE(step.code)) {
    case BPF_ABS:
      if (step.k % 4 != 0 || step.k > sizeof call - 4) return false;
      value = reinterpret_cast<const std::uint32_t*>(&call)[step.k / 4];
      return true;
    case BPF_IMM:
      value = step.k;
      return true;
    case BPF_LEN:
      value = sizeof call;
      return true;
    case BPF_MEM:
      if (step.k >= BPF_MEMWORDS) return false;
      value = machine.memory[step.k];
      return true;
    default:
      return false;
  }
}

}  // namespace filter_program

// SECCOMP_RET_*, with its data.
[[nodiscard]] inline std::uint32_t run_filter(const sock_filter* program, std::uint32_t length,
                                              const seccomp_data& call) {
  using namespace filter_program;
  Machine machine;
  for (std::uint32_t at = 0; at < length; ++at) {
    const sock_filter& step = program[at];
    const std::uint32_t operand = BPF_SRC(step.code) == BPF_X ? machine.x : step.k;
    switch (BPF_CLASS(step.code)) {
      case BPF_LD:
        if (!load(step, call, machine, machine.a)) return kRefused;
        break;
      case BPF_LDX:
        if (!load(step, call, machine, machine.x)) return kRefused;
        break;
      case BPF_ST:
      case BPF_STX:
        if (step.k >= BPF_MEMWORDS) return kRefused;
        machine.memory[step.k] = BPF_CLASS(step.code) == BPF_ST ? machine.a : machine.x;
        break;
      case BPF_ALU:
        machine.a = calculate(step.code, machine.a, operand);
        break;
      case BPF_JMP:
        if (BPF_OP(step.code) == BPF_JA) {
          at += step.k;
        } else {
          at += holds(step.code, machine.a, operand) ? step.jt : step.jf;
        }
        break;
      case BPF_RET:
        return BPF_RVAL(step.code) == BPF_A ? machine.a : step.k;
      default:  // BPF_MISC
        (BPF_MISCOP(step.code) == BPF_TAX ? machine.x : machine.a) =
            BPF_MISCOP(step.code) == BPF_TAX ? machine.a : machine.x;
        break;
    }
  }
  return kRefused;
}

[[nodiscard]] inline bool filter_lets_pass(std::uint32_t answer) {
  const std::uint32_t action = answer & SECCOMP_RET_ACTION_FULL;
  return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

}  // namespace deadheat
