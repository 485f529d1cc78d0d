// SPDX-License-Identifier: Apache-2.0
#include "replay/interpreter.h"

#include <limits>

#include "replay/executor.h"

namespace deadheat::replay {
namespace {

using Place = MemoryAccess::Place;

constexpr auto kStackPointer = static_cast<std::uint8_t>(Register::kRsp);
constexpr auto kFramePointer = static_cast<std::uint8_t>(Register::kRbp);
constexpr std::uint64_t kLargestFrame = 1 << 20;
constexpr std::uint64_t kLongestString = std::numeric_limits<std::int32_t>::max();

Value scaled(const Value& value, unsigned scale) { return scale == 1 ? value : product(value, Value::of(scale)); }

std::optional<Located> located(const Value& address, std::uint64_t size) {
  if (!address.is_known()) return std::nullopt;
  return Located{address.bits, size, false, false, address.is_from_memory};
}

// rsi or rdi; with a repeat prefix, all that it goes over.
std::optional<Located> locate_string(const Instruction& instruction, const MemoryAccess& access,
                                     const Registers& before) {
  const Value& start = before[access.place == Place::kSource ? Register::kRsi : Register::kRdi];
  auto place = located(start, access.size);
  if (!place || instruction.repeat == Repeat::kNone) return place;
  // cmps and scas may end early.
  const bool is_search = (instruction.flags_written & kZero) != 0;
  const Value& count = before[Register::kRcx];
  const auto is_downward = before.flags.get(kDirection);
  if (is_search || !count.is_known() || !is_downward || count.bits > kLongestString / access.size) return std::nullopt;
  place->size = count.bits * access.size;
  if (*is_downward && count.bits > 0) place->address -= (count.bits - 1) * access.size;
  return place;
}

bool is_frame_relative(const Operand& operand, const Registers& before) {
  if (operand.base == kStackPointer) return true;
  if (operand.base != kFramePointer) return false;
  const Value& frame = before[Register::kRbp];
  const Value& stack = before[Register::kRsp];
  return frame.is_known() && stack.is_known() && frame.bits - stack.bits < kLargestFrame;
}

}  // namespace

Value address_value(const Operand& operand, const Registers& registers) {
  if (!operand.is_address_usable) return {};
  Value address = Value::of(operand.value);
  if (operand.base != kNoRegister) address = sum(address, registers.general[operand.base]);
  if (operand.index != kNoRegister) address = sum(address, scaled(registers.general[operand.index], operand.scale));
  return address;
}

std::optional<Located> locate(const Instruction& instruction, const MemoryAccess& access, const Registers& before) {
  const Value& stack = before[Register::kRsp];
  std::optional<Located> place;
  switch (access.place) {
    case Place::kUnclear:
      return std::nullopt;
    case Place::kSource:
    case Place::kDestination:
      return locate_string(instruction, access, before);
    case Place::kPush:
      place = located(difference(stack, Value::of(access.size)), access.size);
      break;
    case Place::kPop:
      place = located(stack, access.size);
      break;
    case Place::kFrame:
      place = located(before[Register::kRbp], access.size);
      break;
    case Place::kBit: {
      const Value offset = before.general[instruction.operands[1].number];
      const unsigned bytes = instruction.operands[1].size;
      if (!offset.is_known(bytes)) return std::nullopt;
      const auto bit = static_cast<std::int64_t>(sign_extended(offset, bytes).bits);
      const std::int64_t element = bit >> (bytes == 8 ? 6 : bytes == 4 ? 5 : 4);
      const Value distance = Value::of(static_cast<std::uint64_t>(element) * bytes);
      return located(sum(address_value(instruction.operands[0], before), distance), access.size);
    }
    case Place::kOperand: {
      const Operand& operand = instruction.operands[access.operand];
      place = located(address_value(operand, before), access.size);
      if (!place) return std::nullopt;
      const bool is_popped = instruction.mnemonic == ZYDIS_MNEMONIC_POP && operand.base == kStackPointer;
      if (is_popped) place->address += access.size;
      place->is_pc_relative = operand.base == kNoRegister && operand.index == kNoRegister;
      place->is_stack = is_frame_relative(operand, before);
      return place;
    }
  }
  if (place) place->is_stack = true;
  return place;
}

std::optional<std::uint64_t> execute(const Instruction& instruction, MachineState& state) {
  if (instruction.flow == Flow::kWild) {
    state.registers.forget();
    state.memory.forget_all();
    return std::nullopt;
  }
  Executor executor(instruction, state);
  std::optional<std::uint64_t> next = instruction.next();
  if (instruction.is_fence) {
    executor.anything_else();
    state.memory.forget_all();
  } else if (instruction.flow == Flow::kSystemCall) {
    state.registers[Register::kRax] = {};
    state.registers[Register::kRcx] = {};
    state.registers[Register::kR11] = {};
    state.memory.forget_all();
  } else if (instruction.flow != Flow::kNext) {
    next = executor.jumps();
  } else if (!executor.moves() && !executor.arithmetic() && !executor.multiplication() && !executor.logic() &&
             !executor.shifts() && !executor.bits() && !executor.strings() && !executor.stack()) {
    executor.anything_else();
  }
  state.registers.flags.forget(instruction.flags_undefined);
  return next;
}

int condition_of(const Instruction& instruction) {
  switch (instruction.mnemonic) {
#define DEADHEAT_CONDITION(number, suffix) \
  case ZYDIS_MNEMONIC_J##suffix:           \
  case ZYDIS_MNEMONIC_SET##suffix:         \
  case ZYDIS_MNEMONIC_CMOV##suffix:        \
    return number;
    DEADHEAT_CONDITION(0, O)
    DEADHEAT_CONDITION(1, NO)
    DEADHEAT_CONDITION(2, B)
    DEADHEAT_CONDITION(3, NB)
    DEADHEAT_CONDITION(4, Z)
    DEADHEAT_CONDITION(5, NZ)
    DEADHEAT_CONDITION(6, BE)
    DEADHEAT_CONDITION(7, NBE)
    DEADHEAT_CONDITION(8, S)
    DEADHEAT_CONDITION(9, NS)
    DEADHEAT_CONDITION(10, P)
    DEADHEAT_CONDITION(11, NP)
    DEADHEAT_CONDITION(12, L)
    DEADHEAT_CONDITION(13, NL)
    DEADHEAT_CONDITION(14, LE)
    DEADHEAT_CONDITION(15, NLE)
#undef DEADHEAT_CONDITION
    default:
      return -1;
  }
}

namespace {

using Truth = std::optional<bool>;

Truth either(Truth a, Truth b) {
  if (a == true || b == true) return true;
  if (!a || !b) return std::nullopt;
  return false;
}

Truth differ(Truth a, Truth b) {
  if (!a || !b) return std::nullopt;
  return *a != *b;
}

}  // namespace

std::optional<bool> holds(int condition, const Flags& flags) {
  Truth truth;
  switch (condition >> 1) {
    case 0:
      truth = flags.get(kOverflow);
      break;
    case 1:
      truth = flags.get(kCarry);
      break;
    case 2:
      truth = flags.get(kZero);
      break;
    case 3:
      truth = either(flags.get(kCarry), flags.get(kZero));
      break;
    case 4:
      truth = flags.get(kSign);
      break;
    case 5:
      truth = flags.get(kParity);
      break;
    case 6:
      truth = differ(flags.get(kSign), flags.get(kOverflow));
      break;
    case 7:
      truth = either(flags.get(kZero), differ(flags.get(kSign), flags.get(kOverflow)));
      break;
    default:
      return std::nullopt;
  }
  if (truth && (condition & 1) != 0) return !*truth;
  return truth;
}

}  // namespace deadheat::replay
