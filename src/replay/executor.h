// SPDX-License-Identifier: Apache-2.0
// Executor: one instruction on one state; the families of instructions are in interpreter_*.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "replay/interpreter.h"

namespace deadheat::replay {

class Executor {
 public:
  Executor(const Instruction& instruction, MachineState& state)
      : instruction_(instruction), state_(state), registers_(state.registers) {}

  // Each family says whether the instruction is one of its own, and executes it then.
  bool moves();
  bool arithmetic();
  bool multiplication();
  bool logic();
  bool shifts();
  bool bits();
  bool strings();
  bool stack();
  void anything_else();
  std::optional<std::uint64_t> jumps();

 private:
  [[nodiscard]] const Operand& operand(unsigned index) const { return instruction_.operands[index]; }
  [[nodiscard]] unsigned size() const { return operand(0).size; }
  [[nodiscard]] Value read(const Operand& from);
  [[nodiscard]] Value read(unsigned index) { return read(operand(index)); }
  void write(const Operand& to, const Value& value);
  void write(unsigned index, const Value& value) { write(operand(index), value); }
  [[nodiscard]] Value load(const Value& address, unsigned bytes);
  void store(const Value& address, unsigned bytes, const Value& value);
  [[nodiscard]] Value memory_address(const Operand& memory) const;
  void note_load(const Value& address, bool is_value_known);

  void set(Register name, const Value& value) { registers_[name] = value; }
  void set_flag(std::uint32_t flag, std::optional<bool> value) { registers_.flags.set(flag, value); }
  void set_result_flags(const Value& result, unsigned bytes);
  Value add(const Value& a, const Value& b, std::optional<bool> carry, unsigned bytes);
  Value subtract(const Value& a, const Value& b, std::optional<bool> borrow, unsigned bytes);
  void push(const Value& value, unsigned bytes);
  [[nodiscard]] Value pop(unsigned bytes);

  void multiply_wide(bool is_signed);
  void divide(bool is_signed);
  void rotate(bool is_left);
  void shift_double(bool is_left);
  void test_bit();
  void count_bits();
  void string_compare(unsigned bytes, std::optional<std::int64_t> step, bool has_source);
  void advance(Register name, const Value& count, std::optional<std::int64_t> step);

  const Instruction& instruction_;
  MachineState& state_;
  Registers& registers_;
};

// The most significant bit of that many bytes.
[[nodiscard]] constexpr std::uint64_t sign_bit(unsigned bytes) { return 1ULL << (8 * bytes - 1); }

}  // namespace deadheat::replay
