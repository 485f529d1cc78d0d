// SPDX-License-Identifier: Apache-2.0
// Sums, products, quotients, and bitwise logic.
#include "replay/executor.h"

namespace deadheat::replay {
namespace {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

std::int64_t as_signed(const Value& value, unsigned bytes) {
  return static_cast<std::int64_t>(sign_extended(value, bytes).bits);
}

}  // namespace

void Executor::set_result_flags(const Value& result, unsigned bytes) {
  const Value low = result.low(bytes);
  if (low.bits != 0) {
    set_flag(kZero, false);
  } else {
    set_flag(kZero, low.is_known() ? std::optional(true) : std::nullopt);
  }
  const bool has_top = (low.known >> (bytes - 1) & 1) != 0;
  set_flag(kSign, has_top ? std::optional((low.bits & sign_bit(bytes)) != 0) : std::nullopt);
  const bool has_bottom = (low.known & 1) != 0;
  set_flag(kParity, has_bottom ? std::optional(std::popcount(low.bits & 0xff) % 2 == 0) : std::nullopt);
}

Value Executor::add(const Value& a, const Value& b, std::optional<bool> carry, unsigned bytes) {
  const Value result = sum(a, b, carry).low(bytes);
  set_result_flags(result, bytes);
  const bool has_all = a.is_known(bytes) && b.is_known(bytes) && carry;
  const bool has_lowest = (a.known & b.known & 1) != 0 && carry;
  const std::uint64_t mixed = a.bits ^ b.bits ^ result.bits;
  set_flag(kAdjust, has_lowest ? std::optional((mixed & 0x10) != 0) : std::nullopt);
  if (!has_all) {
    set_flag(kCarry, std::nullopt);
    set_flag(kOverflow, std::nullopt);
    return result;
  }
  const Wide total = Wide{a.bits} + b.bits + (*carry ? 1 : 0);
  set_flag(kCarry, (total >> (8 * bytes)) != 0);
  set_flag(kOverflow, ((a.bits ^ result.bits) & (b.bits ^ result.bits) & sign_bit(bytes)) != 0);
  return result;
}

Value Executor::subtract(const Value& a, const Value& b, std::optional<bool> borrow, unsigned bytes) {
  const Value result = difference(a, b, borrow).low(bytes);
  set_result_flags(result, bytes);
  const bool has_all = a.is_known(bytes) && b.is_known(bytes) && borrow;
  const bool has_lowest = (a.known & b.known & 1) != 0 && borrow;
  const std::uint64_t mixed = a.bits ^ b.bits ^ result.bits;
  set_flag(kAdjust, has_lowest ? std::optional((mixed & 0x10) != 0) : std::nullopt);
  // Bytes that are known in both and differ: not equal, whatever the others are.
  const bool is_unequal = borrow == false && (spread(a.known) & spread(b.known) & (a.bits ^ b.bits)) != 0;
  if (is_unequal) set_flag(kZero, false);
  if (!has_all) {
    set_flag(kCarry, std::nullopt);
    set_flag(kOverflow, std::nullopt);
    return result;
  }
  set_flag(kCarry, Wide{a.bits} < Wide{b.bits} + (*borrow ? 1 : 0));
  set_flag(kOverflow, ((a.bits ^ b.bits) & (a.bits ^ result.bits) & sign_bit(bytes)) != 0);
  return result;
}

namespace {

bool are_same_register(const Operand& a, const Operand& b) {
  return a.is_register() && b.is_register() && a.number == b.number && a.shift == b.shift && a.size == b.size;
}

}  // namespace

bool Executor::arithmetic() {
  const unsigned bytes = size();
  const bool is_itself = instruction_.operand_count > 1 && are_same_register(operand(0), operand(1));
  const auto carry = registers_.flags.get(kCarry);
  switch (instruction_.mnemonic) {
    case ZYDIS_MNEMONIC_ADD: {
      const Value a = read(0);
      write(0, add(a, read(1), false, bytes));
      return true;
    }
    case ZYDIS_MNEMONIC_ADC: {
      const Value a = read(0);
      write(0, add(a, read(1), carry, bytes));
      return true;
    }
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_SBB:
    case ZYDIS_MNEMONIC_CMP: {
      // A register minus itself does not depend on it.
      const Value a = is_itself ? Value::of(0) : read(0);
      const Value b = is_itself ? Value::of(0) : read(1);
      const bool borrows = instruction_.mnemonic == ZYDIS_MNEMONIC_SBB;
      const Value result = subtract(a, b, borrows ? carry : false, bytes);
      if (instruction_.mnemonic != ZYDIS_MNEMONIC_CMP) write(0, result);
      return true;
    }
    case ZYDIS_MNEMONIC_INC: {
      write(0, add(read(0), Value::of(1), false, bytes));
      set_flag(kCarry, carry);
      return true;
    }
    case ZYDIS_MNEMONIC_DEC: {
      write(0, subtract(read(0), Value::of(1), false, bytes));
      set_flag(kCarry, carry);
      return true;
    }
    case ZYDIS_MNEMONIC_NEG: {
      const Value a = read(0);
      write(0, subtract(Value::of(0), a, false, bytes));
      const Value low = a.low(bytes);
      set_flag(kCarry, low.bits != 0 ? std::optional(true) : low.is_known() ? std::optional(false) : std::nullopt);
      if (low.bits != 0) set_flag(kZero, false);
      return true;
    }
    default:
      return false;
  }
}

bool Executor::logic() {
  const unsigned bytes = size();
  const bool is_itself = instruction_.operand_count > 1 && are_same_register(operand(0), operand(1));
  Value result;
  bool is_kept = true;
  switch (instruction_.mnemonic) {
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_TEST: {
      const Value a = read(0);
      result = bit_and(a, read(1));
      is_kept = instruction_.mnemonic == ZYDIS_MNEMONIC_AND;
      break;
    }
    case ZYDIS_MNEMONIC_OR: {
      const Value a = read(0);
      result = bit_or(a, read(1));
      break;
    }
    case ZYDIS_MNEMONIC_XOR: {
      const Value a = is_itself ? Value::of(0) : read(0);
      result = is_itself ? Value::of(0) : bit_xor(a, read(1));
      break;
    }
    case ZYDIS_MNEMONIC_NOT:
      write(0, bit_not(read(0)));
      return true;
    default:
      return false;
  }
  set_result_flags(result, bytes);
  set_flag(kCarry, false);
  set_flag(kOverflow, false);
  set_flag(kAdjust, std::nullopt);
  if (is_kept) write(0, result);
  return true;
}

bool Executor::multiplication() {
  const unsigned bytes = size();
  switch (instruction_.mnemonic) {
    case ZYDIS_MNEMONIC_IMUL:
      break;
    case ZYDIS_MNEMONIC_MUL:
      multiply_wide(false);
      return true;
    case ZYDIS_MNEMONIC_DIV:
      divide(false);
      return true;
    case ZYDIS_MNEMONIC_IDIV:
      divide(true);
      return true;
    default:
      return false;
  }
  if (instruction_.operand_count == 1) {
    multiply_wide(true);
    return true;
  }
  const Value a = read(instruction_.operand_count == 3 ? 1 : 0);
  const Value b = read(instruction_.operand_count == 3 ? 2 : 1);
  registers_.flags.forget(kStatusFlags);
  if (a.is_known(bytes) && b.is_known(bytes)) {
    const SignedWide exact = SignedWide{as_signed(a, bytes)} * as_signed(b, bytes);
    const Value low = Value::of(static_cast<std::uint64_t>(exact)).low(bytes);
    const bool is_cut = exact != as_signed(low, bytes);
    set_flag(kCarry, is_cut);
    set_flag(kOverflow, is_cut);
  }
  write(0, product(a, b).low(bytes));
  return true;
}

void Executor::multiply_wide(bool is_signed) {
  const unsigned bytes = size();
  const Value a = registers_[Register::kRax].low(bytes);
  const Value b = read(0);
  registers_.flags.forget(kStatusFlags);
  const auto width = static_cast<std::uint8_t>(bytes);
  const Operand low_half{Operand::Kind::kRegister, width, static_cast<std::uint8_t>(Register::kRax)};
  const Operand high_half = bytes == 1
                                ? Operand{Operand::Kind::kRegister, 1, 0, 8}
                                : Operand{Operand::Kind::kRegister, width, static_cast<std::uint8_t>(Register::kRdx)};
  if (!a.is_known(bytes) || !b.is_known(bytes)) {
    const Value low = product(a, b);
    write(low_half, low);
    write(high_half, Value{0, 0, low.is_from_memory});
    return;
  }
  const Wide exact =
      is_signed ? static_cast<Wide>(SignedWide{as_signed(a, bytes)} * as_signed(b, bytes)) : Wide{a.bits} * b.bits;
  const bool is_from_memory = a.is_from_memory || b.is_from_memory;
  Value low = Value::of(static_cast<std::uint64_t>(exact)).low(bytes);
  Value high = Value::of(static_cast<std::uint64_t>(exact >> (8 * bytes))).low(bytes);
  low.is_from_memory = high.is_from_memory = is_from_memory;
  const std::uint64_t fill = is_signed && (low.bits & sign_bit(bytes)) != 0 ? bits_mask(bytes) : 0;
  set_flag(kCarry, high.bits != fill);
  set_flag(kOverflow, high.bits != fill);
  write(low_half, low);
  write(high_half, high);
}

void Executor::divide(bool is_signed) {
  const unsigned bytes = size();
  const auto width = static_cast<std::uint8_t>(bytes);
  const Operand quotient_to{Operand::Kind::kRegister, width, static_cast<std::uint8_t>(Register::kRax)};
  const Operand remainder_to =
      bytes == 1 ? Operand{Operand::Kind::kRegister, 1, 0, 8}
                 : Operand{Operand::Kind::kRegister, width, static_cast<std::uint8_t>(Register::kRdx)};
  const Value low = read(quotient_to);
  const Value high = read(remainder_to);
  const Value by = read(0);
  registers_.flags.forget(kStatusFlags);
  const bool is_from_memory = low.is_from_memory || high.is_from_memory || by.is_from_memory;
  const auto finish = [&](Value quotient, Value remainder) {
    quotient.is_from_memory = remainder.is_from_memory = is_from_memory;
    write(quotient_to, quotient);
    write(remainder_to, remainder);
  };
  if (!low.is_known(bytes) || !high.is_known(bytes) || !by.is_known(bytes) || by.bits == 0) return finish({}, {});
  const unsigned width_bits = 8 * bytes;
  const Wide dividend = Wide{high.bits} << width_bits | low.bits;
  if (!is_signed) {
    const Wide quotient = dividend / by.bits;
    if (quotient >> width_bits != 0) return finish({}, {});
    return finish(Value::of(static_cast<std::uint64_t>(quotient)),
                  Value::of(static_cast<std::uint64_t>(dividend % by.bits)));
  }
  // Put the sign where the type has it.
  const auto number = static_cast<SignedWide>(dividend << (128 - 2 * width_bits)) >> (128 - 2 * width_bits);
  const SignedWide divisor = as_signed(by, bytes);
  constexpr SignedWide kLowest = static_cast<SignedWide>(Wide{1} << 127);
  if (number == kLowest) return finish({}, {});
  const SignedWide quotient = number / divisor;
  const SignedWide limit = SignedWide{1} << (width_bits - 1);
  if (quotient >= limit || quotient < -limit) return finish({}, {});
  finish(Value::of(static_cast<std::uint64_t>(quotient)), Value::of(static_cast<std::uint64_t>(number % divisor)));
}

}  // namespace deadheat::replay
