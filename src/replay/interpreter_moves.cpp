// SPDX-License-Identifier: Apache-2.0
// mov and its kin, the stack, jumps.
#include "replay/executor.h"

namespace deadheat::replay {
namespace {

// The lowest `bytes` bytes the other way round.
Value reversed(const Value& value, unsigned bytes) {
  Value result;
  result.is_from_memory = value.is_from_memory;
  for (unsigned byte = 0; byte < bytes; ++byte) {
    const unsigned to = bytes - 1 - byte;
    result.bits |= (value.bits >> (8 * byte) & 0xff) << (8 * to);
    if ((value.known >> byte & 1) != 0) result.known = static_cast<std::uint8_t>(result.known | 1U << to);
  }
  return result.low(bytes);
}

}  // namespace

bool Executor::moves() {
  const int condition = condition_of(instruction_);
  switch (instruction_.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
      // Also from and to segment registers; a store of one is 16 bits of unknown.
      if (operand(1).kind == Operand::Kind::kOther || operand(0).kind == Operand::Kind::kOther) return false;
      write(0, read(1));
      return true;
    case ZYDIS_MNEMONIC_MOVZX:
      write(0, read(1));
      return true;
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
      write(0, sign_extended(read(1), operand(1).size));
      return true;
    case ZYDIS_MNEMONIC_MOVBE:
      write(0, reversed(read(1), operand(1).size));
      return true;
    case ZYDIS_MNEMONIC_LEA:
      if (!operand(1).is_address_usable) return false;
      write(0, memory_address(operand(1)));
      return true;
    case ZYDIS_MNEMONIC_BSWAP:
      if (size() < 4) return false;
      write(0, reversed(read(0), size()));
      return true;
    case ZYDIS_MNEMONIC_XCHG: {
      const Value first = read(0);
      const Value second = read(1);
      write(0, second);
      write(1, first);
      return true;
    }
    case ZYDIS_MNEMONIC_CBW:
    case ZYDIS_MNEMONIC_CWDE:
    case ZYDIS_MNEMONIC_CDQE: {
      const unsigned to = instruction_.mnemonic == ZYDIS_MNEMONIC_CBW    ? 2
                          : instruction_.mnemonic == ZYDIS_MNEMONIC_CWDE ? 4
                                                                         : 8;
      Operand rax{Operand::Kind::kRegister, static_cast<std::uint8_t>(to)};
      write(rax, sign_extended(registers_[Register::kRax], to / 2));
      return true;
    }
    case ZYDIS_MNEMONIC_CWD:
    case ZYDIS_MNEMONIC_CDQ:
    case ZYDIS_MNEMONIC_CQO: {
      const unsigned bytes = instruction_.mnemonic == ZYDIS_MNEMONIC_CWD   ? 2
                             : instruction_.mnemonic == ZYDIS_MNEMONIC_CDQ ? 4
                                                                           : 8;
      const Value& source = registers_[Register::kRax];
      Operand rdx{Operand::Kind::kRegister, static_cast<std::uint8_t>(bytes),
                  static_cast<std::uint8_t>(Register::kRdx)};
      Value signs;
      signs.is_from_memory = source.is_from_memory;
      if ((source.known >> (bytes - 1) & 1) != 0) {
        signs = Value::of((source.bits & sign_bit(bytes)) != 0 ? ~0ULL : 0);
        signs.is_from_memory = source.is_from_memory;
      }
      write(rdx, signs);
      return true;
    }
    case ZYDIS_MNEMONIC_LAHF: {
      constexpr std::uint32_t kSaved = kSign | kZero | kAdjust | kParity | kCarry;
      const bool is_known = (registers_.flags.known & kSaved) == kSaved;
      Operand ah{Operand::Kind::kRegister, 1, 0, 8};
      write(ah, is_known ? Value::of((registers_.flags.bits & kSaved) | 2) : Value{});
      return true;
    }
    case ZYDIS_MNEMONIC_SAHF: {
      const Value& rax = registers_[Register::kRax];
      const bool is_known = (rax.known & 2) != 0;
      for (const std::uint32_t flag : {kSign, kZero, kAdjust, kParity, kCarry}) {
        set_flag(flag, is_known ? std::optional((rax.bits >> 8 & flag) != 0) : std::nullopt);
      }
      return true;
    }
    case ZYDIS_MNEMONIC_CLC:
      set_flag(kCarry, false);
      return true;
    case ZYDIS_MNEMONIC_STC:
      set_flag(kCarry, true);
      return true;
    case ZYDIS_MNEMONIC_CMC: {
      const auto carry = registers_.flags.get(kCarry);
      set_flag(kCarry, carry ? std::optional(!*carry) : std::nullopt);
      return true;
    }
    case ZYDIS_MNEMONIC_CLD:
      set_flag(kDirection, false);
      return true;
    case ZYDIS_MNEMONIC_STD:
      set_flag(kDirection, true);
      return true;
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_ENDBR64:
      return true;
    default:
      break;
  }
  if (condition < 0) return false;
  const auto truth = holds(condition, registers_.flags);
  if (instruction_.operand_count == 1) {  // setcc
    write(0, truth ? Value::of(*truth ? 1 : 0) : Value{});
    return true;
  }
  // cmovcc reads its source in any case, and writes in any case.
  const Value source = read(1);
  const Value old = read(0);
  write(0, !truth ? common(old, source) : *truth ? source : old);
  return true;
}

bool Executor::stack() {
  const unsigned bytes = instruction_.width;
  switch (instruction_.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH: {
      if (operand(0).kind == Operand::Kind::kOther) return false;
      // Immediates are extended with their sign.
      const Value value = operand(0).kind == Operand::Kind::kImmediate ? Value::of(operand(0).value) : read(0);
      push(value, bytes);
      return true;
    }
    case ZYDIS_MNEMONIC_POP: {
      if (operand(0).kind == Operand::Kind::kOther) return false;
      const Value value = pop(bytes);
      write(0, value);
      return true;
    }
    case ZYDIS_MNEMONIC_LEAVE:
      if (bytes != 8) return false;
      set(Register::kRsp, registers_[Register::kRbp]);
      set(Register::kRbp, pop(8));
      return true;
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
      push({}, bytes);
      return true;
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
      (void)pop(bytes);
      registers_.flags.forget(kTrackedFlags);
      return true;
    default:
      return false;
  }
}

std::optional<std::uint64_t> Executor::jumps() {
  const auto destination = [this]() -> std::optional<std::uint64_t> {
    if (const auto target = instruction_.target()) return target;
    const Value value = read(0);
    return value.is_known() ? std::optional(value.bits) : std::nullopt;
  };
  switch (instruction_.flow) {
    case Flow::kJump:
      return destination();
    case Flow::kCall: {
      const auto target = destination();
      push(Value::of(instruction_.next()), 8);
      return target;
    }
    case Flow::kReturn: {
      const Value target = pop(8);
      if (instruction_.operand_count > 0) {
        set(Register::kRsp, sum(registers_[Register::kRsp], Value::of(operand(0).value)));
      }
      return target.is_known() ? std::optional(target.bits) : std::nullopt;
    }
    default:
      break;
  }
  std::optional<bool> truth = holds(condition_of(instruction_), registers_.flags);
  const auto is_zero = [](const Value& value, unsigned bytes) -> std::optional<bool> {
    const Value low = value.low(bytes);
    if (low.bits != 0) return false;
    return low.is_known() ? std::optional(true) : std::nullopt;
  };
  const Value& counter = registers_[Register::kRcx];
  switch (instruction_.mnemonic) {
    case ZYDIS_MNEMONIC_JRCXZ:
      truth = is_zero(counter, 8);
      break;
    case ZYDIS_MNEMONIC_JECXZ:
      truth = is_zero(counter, 4);
      break;
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE: {
      set(Register::kRcx, difference(counter, Value::of(1)));
      const auto ended = is_zero(registers_[Register::kRcx], 8);
      truth = ended ? std::optional(!*ended) : std::nullopt;
      if (instruction_.mnemonic != ZYDIS_MNEMONIC_LOOP) {
        const auto zero = registers_.flags.get(kZero);
        const bool wanted = instruction_.mnemonic == ZYDIS_MNEMONIC_LOOPE;
        if (truth == false || (zero && *zero != wanted)) {
          truth = false;
        } else if (!zero) {
          truth = std::nullopt;
        }
      }
      break;
    }
    default:
      break;
  }
  if (!truth) return std::nullopt;
  return *truth ? instruction_.target() : std::optional(instruction_.next());
}

}  // namespace deadheat::replay
