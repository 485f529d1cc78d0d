// SPDX-License-Identifier: Apache-2.0
#include "replay/undo.h"

#include "replay/interpreter.h"

namespace deadheat::replay {
namespace {

class Undoing {
 public:
  Undoing(const Instruction& instruction, const Registers& after, Registers& before)
      : instruction_(instruction), after_(after), before_(before) {}

  void propagate();
  void reverse();
  [[nodiscard]] Merged result() const { return result_; }

 private:
  [[nodiscard]] const Operand& operand(unsigned index) const { return instruction_.operands[index]; }
  // A whole register, or the lower half of one.
  [[nodiscard]] static bool is_wide(const Operand& operand) { return operand.is_register() && operand.size >= 4; }
  [[nodiscard]] bool is_written(unsigned number) const { return (instruction_.written >> number & 1) != 0; }
  // Only that many bytes of the value are meant.
  void learn(unsigned number, Value value, unsigned bytes = 8) {
    value.known &= bytes_mask(bytes);
    value.bits &= spread(value.known);
    note(merge(before_.general[number], value));
  }
  void note(const Merged& merged) {
    result_.learned += merged.learned;
    result_.is_conflict |= merged.is_conflict;
  }
  void move(unsigned bytes) {
    if (is_wide(operand(0)) && operand(1).is_register() && operand(1).shift == 0) {
      learn(operand(1).number, after_.general[operand(0).number], bytes);
    }
  }
  void sums(bool is_added);
  void exclusive_or();
  void addresses();
  void choice();
  void string_step();
  void shift_stack(std::uint64_t bytes) {
    learn(static_cast<unsigned>(Register::kRsp), sum(after_[Register::kRsp], Value::of(bytes)));
  }

  const Instruction& instruction_;
  const Registers& after_;
  Registers& before_;
  Merged result_;
};

void Undoing::propagate() {
  for (unsigned number = 0; number < kRegisterCount; ++number) {
    const bool is_changed_by_kernel =
        instruction_.flow == Flow::kSystemCall &&
        (number == static_cast<unsigned>(Register::kRax) || number == static_cast<unsigned>(Register::kRcx) ||
         number == static_cast<unsigned>(Register::kR11));
    if (!is_written(number) && !is_changed_by_kernel) learn(number, after_.general[number]);
  }
}

// after = before + other, or before - other.
void Undoing::sums(bool is_added) {
  if (!is_wide(operand(0))) return;
  const unsigned bytes = operand(0).size;
  const unsigned number = operand(0).number;
  const Value after = after_.general[number];
  const Operand& second = operand(1);
  if (second.kind == Operand::Kind::kImmediate) {
    const Value amount = Value::of(second.value);
    learn(number, is_added ? difference(after, amount) : sum(after, amount), bytes);
    return;
  }
  if (!second.is_register() || second.number == number) return;
  const Value other = before_.general[second.number];
  learn(number, is_added ? difference(after, other) : sum(after, other), bytes);
  const Value old = before_.general[number];
  learn(second.number, is_added ? difference(after, old) : difference(old, after), bytes);
}

void Undoing::exclusive_or() {
  if (!is_wide(operand(0))) return;
  const unsigned bytes = operand(0).size;
  const unsigned number = operand(0).number;
  const Value after = after_.general[number];
  const Operand& second = operand(1);
  if (second.kind == Operand::Kind::kImmediate) {
    learn(number, bit_xor(after, Value::of(second.value)), bytes);
    return;
  }
  if (!second.is_register() || second.number == number) return;
  learn(number, bit_xor(after, before_.general[second.number]), bytes);
  learn(second.number, bit_xor(after, before_.general[number]), bytes);
}

// lea.
void Undoing::addresses() {
  const Operand& place = operand(1);
  if (!is_wide(operand(0)) || !place.is_address_usable) return;
  const unsigned bytes = operand(0).size;
  const Value rest = difference(after_.general[operand(0).number], Value::of(place.value));
  const bool has_base = place.base != kNoRegister;
  const bool has_index = place.index != kNoRegister;
  if (has_base && !has_index) learn(place.base, rest, bytes);
  if (has_index && !has_base && place.scale == 1) learn(place.index, rest, bytes);
  if (!has_base || !has_index || place.base == place.index) return;
  const Value scaled = product(before_.general[place.index], Value::of(place.scale));
  learn(place.base, difference(rest, scaled), bytes);
  if (place.scale == 1) learn(place.index, difference(rest, before_.general[place.base]), bytes);
}

// cmov with a condition that is known.
void Undoing::choice() {
  const auto truth = holds(condition_of(instruction_), before_.flags);
  if (!truth || !is_wide(operand(0))) return;
  const Value after = after_.general[operand(0).number];
  if (!*truth) {
    learn(operand(0).number, after, operand(0).size);
  } else if (operand(1).is_register()) {
    learn(operand(1).number, after, operand(1).size);
  }
}

// A string instruction that is not repeated moves on by one element.
void Undoing::string_step() {
  const auto is_downward = before_.flags.get(kDirection);
  if (instruction_.repeat != Repeat::kNone || !is_downward) return;
  const Value step = Value::of(instruction_.accesses[0].size);
  for (const Register name : {Register::kRsi, Register::kRdi}) {
    if (!is_written(static_cast<unsigned>(name))) continue;
    const Value& after = after_[name];
    learn(static_cast<unsigned>(name), *is_downward ? sum(after, step) : difference(after, step));
  }
}

void Undoing::reverse() {
  if (instruction_.is_atomic) return;
  const unsigned number = operand(0).number;
  const unsigned bytes = operand(0).size;
  switch (instruction_.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
      move(operand(1).size);
      break;
    case ZYDIS_MNEMONIC_ADD:
      sums(true);
      break;
    case ZYDIS_MNEMONIC_SUB:
      sums(false);
      break;
    case ZYDIS_MNEMONIC_XOR:
      exclusive_or();
      break;
    case ZYDIS_MNEMONIC_LEA:
      addresses();
      break;
    case ZYDIS_MNEMONIC_INC:
      if (is_wide(operand(0))) learn(number, difference(after_.general[number], Value::of(1)), bytes);
      break;
    case ZYDIS_MNEMONIC_DEC:
      if (is_wide(operand(0))) learn(number, sum(after_.general[number], Value::of(1)), bytes);
      break;
    case ZYDIS_MNEMONIC_NEG:
      if (is_wide(operand(0))) learn(number, difference(Value::of(0), after_.general[number]), bytes);
      break;
    case ZYDIS_MNEMONIC_NOT:
      if (is_wide(operand(0))) learn(number, bit_not(after_.general[number]), bytes);
      break;
    case ZYDIS_MNEMONIC_XCHG:
      if (is_wide(operand(0)) && is_wide(operand(1))) {
        learn(number, after_.general[operand(1).number], bytes);
        learn(operand(1).number, after_.general[number], bytes);
      }
      break;
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
      shift_stack(instruction_.width);
      break;
    case ZYDIS_MNEMONIC_POP:
      if (operand(0).is_register() && number == static_cast<unsigned>(Register::kRsp)) break;
      shift_stack(0ULL - instruction_.width);
      break;
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
      shift_stack(0ULL - instruction_.width);
      break;
    case ZYDIS_MNEMONIC_CALL:
      shift_stack(8);
      break;
    case ZYDIS_MNEMONIC_RET:
      shift_stack(0ULL - 8 - (instruction_.operand_count > 0 ? operand(0).value : 0));
      break;
    case ZYDIS_MNEMONIC_LEAVE:
      if (instruction_.width == 8) {
        learn(static_cast<unsigned>(Register::kRbp), difference(after_[Register::kRsp], Value::of(8)));
      }
      break;
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
      learn(static_cast<unsigned>(Register::kRcx), sum(after_[Register::kRcx], Value::of(1)));
      break;
    default:
      if (instruction_.access_count > 0 && (instruction_.accesses[0].place == MemoryAccess::Place::kSource ||
                                            instruction_.accesses[0].place == MemoryAccess::Place::kDestination)) {
        string_step();
      } else if (instruction_.operand_count == 2 && condition_of(instruction_) >= 0) {
        choice();
      }
      break;
  }
}

}  // namespace

Merged merge(Value& into, const Value& from) {
  const auto both = static_cast<std::uint8_t>(into.known & from.known);
  const auto added = static_cast<std::uint8_t>(from.known & ~into.known);
  const bool is_conflict = ((into.bits ^ from.bits) & spread(both)) != 0;
  if (added == 0) return {0, is_conflict};
  into.bits |= from.bits & spread(added);
  into.known = static_cast<std::uint8_t>(into.known | added);
  into.is_from_memory |= from.is_from_memory;
  return {static_cast<unsigned>(std::popcount(added)), is_conflict};
}

Merged merge(Registers& into, const Registers& from) {
  Merged total;
  for (unsigned number = 0; number < kRegisterCount; ++number) {
    const Merged one = merge(into.general[number], from.general[number]);
    total.learned += one.learned;
    total.is_conflict |= one.is_conflict;
  }
  const std::uint32_t both = into.flags.known & from.flags.known;
  if (((into.flags.bits ^ from.flags.bits) & both) != 0) total.is_conflict = true;
  const std::uint32_t added = from.flags.known & ~into.flags.known;
  into.flags.bits |= from.flags.bits & added;
  into.flags.known |= added;
  return total;
}

Merged undo(const Instruction& instruction, const Registers& after, Registers& before, Backward how) {
  if (instruction.flow == Flow::kWild) return {};
  Undoing undoing(instruction, after, before);
  undoing.propagate();
  if (how == Backward::kReverseExecution) undoing.reverse();
  return undoing.result();
}

}  // namespace deadheat::replay
