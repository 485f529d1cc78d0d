// SPDX-License-Identifier: Apache-2.0
// Shifts, rotations, single bits, counting.
#include "replay/executor.h"

namespace deadheat::replay {
namespace {

std::optional<bool> bit_of(const Value& value, unsigned bit) {
  if (bit >= 64 || (value.known >> (bit / 8) & 1) == 0) return std::nullopt;
  return (value.bits >> bit & 1) != 0;
}

// The processor looks at five bits of a count, or at six.
unsigned masked(std::uint64_t count, unsigned bytes) { return static_cast<unsigned>(count & (bytes == 8 ? 63 : 31)); }

std::uint64_t shifted_left(std::uint64_t bits, unsigned count) { return count >= 64 ? 0 : bits << count; }
std::uint64_t shifted_right(std::uint64_t bits, unsigned count) { return count >= 64 ? 0 : bits >> count; }

// Of that many bytes; the sign comes in from the left.
std::uint64_t shifted_signed(std::uint64_t bits, unsigned count, unsigned bytes) {
  const auto wide = static_cast<std::int64_t>(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes);
  return static_cast<std::uint64_t>(wide >> (count > 63 ? 63 : count)) & bits_mask(bytes);
}

std::uint64_t rotated_left(std::uint64_t bits, unsigned count, unsigned bytes) {
  const unsigned width = 8 * bytes;
  count %= width;
  if (count == 0) return bits;
  return (bits << count | bits >> (width - count)) & bits_mask(bytes);
}

}  // namespace

bool Executor::shifts() {
  const unsigned bytes = size();
  switch (instruction_.mnemonic) {
    case ZYDIS_MNEMONIC_ROL:
      rotate(true);
      return true;
    case ZYDIS_MNEMONIC_ROR:
      rotate(false);
      return true;
    case ZYDIS_MNEMONIC_SHLD:
      shift_double(true);
      return true;
    case ZYDIS_MNEMONIC_SHRD:
      shift_double(false);
      return true;
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR:
      break;
    default:
      return false;
  }
  const Value value = read(0);
  const Value amount = instruction_.operand_count > 1 ? read(1) : Value::of(1);
  if ((amount.known & 1) == 0) {
    registers_.flags.forget(kStatusFlags);
    write(0, Value{0, 0, value.is_from_memory}.low(bytes));
    return true;
  }
  const unsigned count = masked(amount.bits, bytes);
  if (count == 0) {
    write(0, value);
    return true;
  }
  const unsigned width = 8 * bytes;
  const std::uint64_t known = spread(value.known) & bits_mask(bytes);
  std::uint64_t bits = 0;
  std::uint64_t still_known = 0;
  std::optional<bool> carry;
  if (instruction_.mnemonic == ZYDIS_MNEMONIC_SHL) {
    bits = shifted_left(value.bits, count);
    still_known = shifted_left(known, count) | (count >= 64 ? ~0ULL : (1ULL << count) - 1);
    if (count <= width) carry = bit_of(value, width - count);
  } else if (instruction_.mnemonic == ZYDIS_MNEMONIC_SHR) {
    bits = shifted_right(value.bits, count);
    still_known = ~shifted_right(~known & bits_mask(bytes), count);
    if (count <= width) carry = bit_of(value, count - 1);
  } else {
    bits = shifted_signed(value.bits, count, bytes);
    still_known = shifted_signed(known, count, bytes);
    if (count <= width) carry = bit_of(value, count - 1);
  }
  const Value result = from_known_bits(bits & bits_mask(bytes), still_known | ~bits_mask(bytes), value.is_from_memory);
  set_result_flags(result, bytes);
  // What an implementation does with counts beyond the width is its own matter.
  set_flag(kCarry, count < width ? carry : std::nullopt);
  set_flag(kAdjust, std::nullopt);
  std::optional<bool> overflow;
  if (count == 1) {
    const auto top = bit_of(value, width - 1);
    const auto next = bit_of(value, width - 2);
    if (instruction_.mnemonic == ZYDIS_MNEMONIC_SAR) overflow = false;
    if (instruction_.mnemonic == ZYDIS_MNEMONIC_SHR) overflow = top;
    if (instruction_.mnemonic == ZYDIS_MNEMONIC_SHL && top && next) overflow = *top != *next;
  }
  set_flag(kOverflow, overflow);
  write(0, result);
  return true;
}

void Executor::rotate(bool is_left) {
  const unsigned bytes = size();
  const unsigned width = 8 * bytes;
  const Value value = read(0);
  const Value amount = instruction_.operand_count > 1 ? read(1) : Value::of(1);
  if ((amount.known & 1) == 0) {
    registers_.flags.forget(kCarry | kOverflow);
    write(0, Value{0, 0, value.is_from_memory}.low(bytes));
    return;
  }
  const unsigned count = masked(amount.bits, bytes);
  if (count == 0) {
    write(0, value);
    return;
  }
  const unsigned left = is_left ? count % width : (width - count % width) % width;
  const std::uint64_t known = rotated_left(spread(value.known) & bits_mask(bytes), left, bytes);
  const std::uint64_t bits = rotated_left(value.bits & bits_mask(bytes), left, bytes);
  const Value result = from_known_bits(bits, known | ~bits_mask(bytes), value.is_from_memory);
  set_flag(kCarry, bit_of(result, is_left ? 0 : width - 1));
  std::optional<bool> overflow;
  if (count == 1) {
    const auto top = bit_of(result, width - 1);
    const auto other = bit_of(result, is_left ? 0 : width - 2);
    if (top && other) overflow = *top != *other;
  }
  set_flag(kOverflow, overflow);
  write(0, result);
}

void Executor::shift_double(bool is_left) {
  const unsigned bytes = size();
  const unsigned width = 8 * bytes;
  const Value value = read(0);
  const Value filler = read(1);
  const Value amount = read(2);
  const unsigned count = masked(amount.bits, bytes);
  const bool is_from_memory = value.is_from_memory || filler.is_from_memory;
  if ((amount.known & 1) == 0 || count >= width) {
    registers_.flags.forget(kStatusFlags);
    write(0, Value{0, 0, is_from_memory}.low(bytes));
    return;
  }
  if (count == 0) {
    write(0, value);
    return;
  }
  const auto mix = [&](std::uint64_t first, std::uint64_t second) {
    const std::uint64_t mixed =
        is_left ? first << count | second >> (width - count) : first >> count | shifted_left(second, width - count);
    return mixed & bits_mask(bytes);
  };
  const std::uint64_t known = mix(spread(value.known) & bits_mask(bytes), spread(filler.known) & bits_mask(bytes));
  const std::uint64_t bits = mix(value.bits & bits_mask(bytes), filler.bits & bits_mask(bytes));
  const Value result = from_known_bits(bits, known | ~bits_mask(bytes), is_from_memory);
  set_result_flags(result, bytes);
  set_flag(kCarry, bit_of(value, is_left ? width - count : count - 1));
  set_flag(kAdjust, std::nullopt);
  std::optional<bool> overflow;
  const auto before = bit_of(value, width - 1);
  const auto after = bit_of(result, width - 1);
  if (count == 1 && before && after) overflow = *before != *after;
  set_flag(kOverflow, overflow);
  write(0, result);
}

bool Executor::bits() {
  switch (instruction_.mnemonic) {
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC:
      test_bit();
      return true;
    case ZYDIS_MNEMONIC_BSF:
    case ZYDIS_MNEMONIC_BSR:
    case ZYDIS_MNEMONIC_TZCNT:
    case ZYDIS_MNEMONIC_LZCNT:
    case ZYDIS_MNEMONIC_POPCNT:
      count_bits();
      return true;
    default:
      return false;
  }
}

void Executor::test_bit() {
  const unsigned bytes = size();
  const Value number = read(1);
  Value address;
  if (operand(0).is_memory()) {
    const auto place = locate(instruction_, instruction_.accesses[0], registers_);
    if (place) address = Value::of(place->address);
  }
  const Value value = operand(0).is_memory() ? load(address, bytes) : read(0);
  const auto bit = static_cast<unsigned>(number.bits & (8 * bytes - 1));
  const bool is_bit_known = (number.known & 1) != 0;
  set_flag(kCarry, is_bit_known ? bit_of(value, bit) : std::nullopt);
  registers_.flags.forget(kOverflow | kSign | kAdjust | kParity);
  if (instruction_.mnemonic == ZYDIS_MNEMONIC_BT) return;
  Value result{0, 0, value.is_from_memory};
  if (is_bit_known) {
    const Value mask = Value::of(1ULL << bit);
    switch (instruction_.mnemonic) {
      case ZYDIS_MNEMONIC_BTS:
        result = bit_or(value, mask);
        break;
      case ZYDIS_MNEMONIC_BTR:
        result = bit_and(value, bit_not(mask));
        break;
      default:
        result = bit_xor(value, mask);
        break;
    }
  }
  if (operand(0).is_memory()) {
    store(address, bytes, result);
  } else {
    write(0, result);
  }
}

// tzcnt and lzcnt are bsf and bsr on old processors, which differ in flags and for zero.
void Executor::count_bits() {
  const unsigned bytes = operand(1).size;
  const Value source = read(1);
  registers_.flags.forget(kStatusFlags);
  if (!source.is_known(bytes)) {
    const bool is_search = instruction_.mnemonic == ZYDIS_MNEMONIC_BSF || instruction_.mnemonic == ZYDIS_MNEMONIC_BSR;
    if (is_search && source.low(bytes).bits != 0) set_flag(kZero, false);
    registers_.general[operand(0).number] = Value{0, 0, source.is_from_memory};
    return;
  }
  const bool is_zero = source.bits == 0;
  Value result;
  switch (instruction_.mnemonic) {
    case ZYDIS_MNEMONIC_POPCNT:
      result = Value::of(static_cast<std::uint64_t>(std::popcount(source.bits)));
      for (const std::uint32_t flag : {kCarry, kParity, kAdjust, kSign, kOverflow}) set_flag(flag, false);
      set_flag(kZero, is_zero);
      break;
    case ZYDIS_MNEMONIC_BSF:
      set_flag(kZero, is_zero);
      [[fallthrough]];
    case ZYDIS_MNEMONIC_TZCNT:
      if (!is_zero) result = Value::of(static_cast<std::uint64_t>(std::countr_zero(source.bits)));
      break;
    case ZYDIS_MNEMONIC_BSR:
      set_flag(kZero, is_zero);
      if (!is_zero) result = Value::of(63U - static_cast<unsigned>(std::countl_zero(source.bits)));
      break;
    default:  // lzcnt has another result than bsr: only for code that was made for it
      if (!is_zero) result = Value::of(static_cast<unsigned>(std::countl_zero(source.bits)) - (64 - 8 * bytes));
      break;
  }
  result.is_from_memory = source.is_from_memory;
  if (result.known == 0) {
    registers_.general[operand(0).number] = result;
  } else {
    write(0, result);
  }
}

}  // namespace deadheat::replay
