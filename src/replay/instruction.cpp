// SPDX-License-Identifier: Apache-2.0
#include "replay/instruction.h"

#include <Zydis/Zydis.h>

#include "replay/machine_state.h"

namespace deadheat::replay {
namespace {

using Place = MemoryAccess::Place;

const ZydisDecoder& decoder() {
  static const ZydisDecoder kDecoder = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  return kDecoder;
}

bool is_general(ZydisRegister name) {
  switch (ZydisRegisterGetClass(name)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
      return true;
    default:
      return false;
  }
}

std::uint8_t number_of(ZydisRegister name) {
  return static_cast<std::uint8_t>(
      ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name)));
}

bool is_high_byte(ZydisRegister name) {
  return name == ZYDIS_REGISTER_AH || name == ZYDIS_REGISTER_CH || name == ZYDIS_REGISTER_DH ||
         name == ZYDIS_REGISTER_BH;
}

Operand memory_operand(const ZydisDecodedInstruction& from, const ZydisDecodedOperand& operand, std::uint64_t next) {
  Operand made;
  made.kind = Operand::Kind::kMemory;
  made.size = static_cast<std::uint8_t>(operand.size / 8U);
  const ZydisDecodedOperandMem& memory = operand.mem;
  const auto reads_general = [](ZydisRegister name) {
    return name == ZYDIS_REGISTER_NONE || ZydisRegisterGetClass(name) == ZYDIS_REGCLASS_GPR64;
  };
  made.is_address_usable =
      from.address_width == 64 && memory.segment != ZYDIS_REGISTER_FS && memory.segment != ZYDIS_REGISTER_GS &&
      (memory.type == ZYDIS_MEMOP_TYPE_MEM || memory.type == ZYDIS_MEMOP_TYPE_AGEN) &&
      (reads_general(memory.base) || memory.base == ZYDIS_REGISTER_RIP) && reads_general(memory.index);
  if (!made.is_address_usable) return made;
  made.value = memory.disp.has_displacement != 0 ? static_cast<std::uint64_t>(memory.disp.value) : 0;
  if (memory.base == ZYDIS_REGISTER_RIP) {
    made.value += next;
  } else if (memory.base != ZYDIS_REGISTER_NONE) {
    made.base = number_of(memory.base);
  }
  if (memory.index != ZYDIS_REGISTER_NONE) {
    made.index = number_of(memory.index);
    made.scale = memory.scale;
  }
  return made;
}

Operand operand_of(const ZydisDecodedInstruction& from, const ZydisDecodedOperand& operand, std::uint64_t next) {
  Operand made;
  made.size = static_cast<std::uint8_t>(operand.size / 8U);
  switch (operand.type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
      made.kind = is_general(operand.reg.value) ? Operand::Kind::kRegister : Operand::Kind::kOther;
      if (made.is_register()) {
        made.number = number_of(operand.reg.value);
        made.shift = is_high_byte(operand.reg.value) ? 8 : 0;
      }
      return made;
    case ZYDIS_OPERAND_TYPE_MEMORY:
      return memory_operand(from, operand, next);
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
      made.kind = Operand::Kind::kImmediate;
      made.value = operand.imm.value.u;
      if (operand.imm.is_relative != 0) made.value += next;
      return made;
    default:
      made.kind = Operand::Kind::kOther;
      return made;
  }
}

Flow flow_of(const ZydisDecodedInstruction& from) {
  switch (from.meta.category) {
    case ZYDIS_CATEGORY_CALL:
      return from.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? Flow::kWild : Flow::kCall;
    case ZYDIS_CATEGORY_RET:
      return from.mnemonic == ZYDIS_MNEMONIC_RET && from.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR ? Flow::kReturn
                                                                                                   : Flow::kWild;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return from.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR || from.mnemonic == ZYDIS_MNEMONIC_XABORT ? Flow::kWild
                                                                                                      : Flow::kJump;
    case ZYDIS_CATEGORY_COND_BR:
      if (from.mnemonic == ZYDIS_MNEMONIC_XBEGIN) return Flow::kWild;
      // loop with a counter of 32 bits: nobody writes it.
      return from.address_width != 64 && from.mnemonic != ZYDIS_MNEMONIC_JECXZ ? Flow::kWild : Flow::kConditional;
    case ZYDIS_CATEGORY_SYSCALL:
      return from.mnemonic == ZYDIS_MNEMONIC_SYSCALL ? Flow::kSystemCall : Flow::kWild;
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_INTERRUPT:
      return Flow::kWild;
    default:
      return from.mnemonic == ZYDIS_MNEMONIC_XEND || from.mnemonic == ZYDIS_MNEMONIC_ENTER ? Flow::kWild : Flow::kNext;
  }
}

// Looks like an access and is none.
bool is_no_access(const ZydisDecodedInstruction& from) {
  switch (from.meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_CLDEMOTE:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_MPX:
      return true;
    default:
      return from.mnemonic == ZYDIS_MNEMONIC_CLFLUSH || from.mnemonic == ZYDIS_MNEMONIC_LEA;
  }
}

// Which bytes depends on more than general registers.
bool is_unclear(const ZydisDecodedInstruction& from, const Operand& operand) {
  if (!operand.is_address_usable || operand.size == 0) return true;
  const bool is_masked =
      from.avx.mask.mode != ZYDIS_MASK_MODE_INVALID && from.avx.mask.mode != ZYDIS_MASK_MODE_DISABLED;
  if (is_masked) return true;
  switch (from.meta.category) {
    case ZYDIS_CATEGORY_AVX2GATHER:
    case ZYDIS_CATEGORY_GATHER:
    case ZYDIS_CATEGORY_SCATTER:
    case ZYDIS_CATEGORY_COMPRESS:
    case ZYDIS_CATEGORY_EXPAND:
    case ZYDIS_CATEGORY_AMX_TILE:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
    case ZYDIS_CATEGORY_MOVDIR:
    case ZYDIS_CATEGORY_ENQCMD:
      return true;
    default:
      break;
  }
  switch (from.mnemonic) {
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FLDENV:
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FRSTOR:
      return true;
    default:
      return false;
  }
}

bool is_bit_test(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_BT || mnemonic == ZYDIS_MNEMONIC_BTS || mnemonic == ZYDIS_MNEMONIC_BTR ||
         mnemonic == ZYDIS_MNEMONIC_BTC;
}

// In the code or in its meaning, like cl of a shift; not the stack of push.
bool is_visible(const ZydisDecodedOperand& operand) { return operand.visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN; }

Place place_of(const ZydisDecodedInstruction& from, const ZydisDecodedOperand& operand, const Instruction& made,
               unsigned visible_index) {
  if (from.meta.category == ZYDIS_CATEGORY_STRINGOP) {
    if (from.address_width != 64 || operand.mem.segment == ZYDIS_REGISTER_FS ||
        operand.mem.segment == ZYDIS_REGISTER_GS) {
      return Place::kUnclear;
    }
    return operand.mem.base == ZYDIS_REGISTER_RSI ? Place::kSource : Place::kDestination;
  }
  if (is_visible(operand) && visible_index < made.operands.size()) {
    if (is_unclear(from, made.operands[visible_index])) return Place::kUnclear;
    return is_bit_test(from.mnemonic) && made.operands[1].is_register() ? Place::kBit : Place::kOperand;
  }
  const bool is_plain = from.address_width == 64 && operand.mem.segment != ZYDIS_REGISTER_FS &&
                        operand.mem.segment != ZYDIS_REGISTER_GS && operand.size != 0;
  if (!is_plain) return Place::kUnclear;
  const bool reads = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
  if (from.mnemonic == ZYDIS_MNEMONIC_LEAVE) return Place::kFrame;
  switch (from.meta.category) {
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_POP:
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
      return reads ? Place::kPop : Place::kPush;
    default:
      return Place::kUnclear;
  }
}

void add_access(const ZydisDecodedInstruction& from, const ZydisDecodedOperand& operand, unsigned visible_index,
                Instruction& made) {
  if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || made.access_count == made.accesses.size()) return;
  MemoryAccess access;
  access.reads = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
  access.writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  if (!access.reads && !access.writes) return;
  access.size = static_cast<std::uint16_t>(operand.size / 8U);
  access.place = place_of(from, operand, made, visible_index);
  access.operand = static_cast<std::uint8_t>(visible_index);
  made.accesses[made.access_count++] = access;
}

std::uint32_t tracked(ZyanU32 flags) { return flags & kTrackedFlags; }

Instruction compiled(const ZydisDecodedInstruction& from, const ZydisDecodedOperand* operands, std::uint64_t address) {
  Instruction made;
  made.address = address;
  made.length = from.length;
  made.width = static_cast<std::uint8_t>(from.operand_width / 8U);
  made.mnemonic = static_cast<std::uint16_t>(from.mnemonic);
  made.flow = flow_of(from);
  if ((from.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE)) != 0) made.repeat = Repeat::kWhileEqual;
  if ((from.attributes & ZYDIS_ATTRIB_HAS_REPNE) != 0) made.repeat = Repeat::kWhileNotEqual;
  if (from.cpu_flags != nullptr) {
    made.flags_undefined = tracked(from.cpu_flags->undefined);
    made.flags_written = made.flags_undefined | tracked(from.cpu_flags->modified) | tracked(from.cpu_flags->set_0) |
                         tracked(from.cpu_flags->set_1);
  }
  bool has_memory = false;
  unsigned visible_index = 0;
  for (unsigned index = 0; index < from.operand_count; ++index) {
    const ZydisDecodedOperand& operand = operands[index];
    const bool is_shown = is_visible(operand);
    if (is_shown && visible_index < made.operands.size()) {
      made.operands[visible_index] = operand_of(from, operand, made.next());
      made.operand_count = static_cast<std::uint8_t>(visible_index + 1);
    }
    const bool is_written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && is_written && is_general(operand.reg.value)) {
      made.written = static_cast<std::uint16_t>(made.written | 1U << number_of(operand.reg.value));
    }
    if (is_shown) ++visible_index;
  }
  if (from.meta.category == ZYDIS_CATEGORY_STRINGOP) {
    // Not listed: the registers that move on.
    const auto writes = [&made](Register name) {
      made.written = static_cast<std::uint16_t>(made.written | 1U << static_cast<unsigned>(name));
    };
    for (unsigned index = 0; index < from.operand_count; ++index) {
      if (operands[index].type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
      writes(operands[index].mem.base == ZYDIS_REGISTER_RSI ? Register::kRsi : Register::kRdi);
    }
    if (made.repeat != Repeat::kNone) writes(Register::kRcx);
  }
  visible_index = 0;
  for (unsigned index = 0; index < from.operand_count && !is_no_access(from); ++index) {
    add_access(from, operands[index], visible_index, made);
    has_memory |= operands[index].type == ZYDIS_OPERAND_TYPE_MEMORY;
    if (is_visible(operands[index])) ++visible_index;
  }
  made.is_atomic =
      (from.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 || (from.mnemonic == ZYDIS_MNEMONIC_XCHG && has_memory);
  made.is_fence = made.is_atomic || from.mnemonic == ZYDIS_MNEMONIC_MFENCE || from.mnemonic == ZYDIS_MNEMONIC_LFENCE ||
                  from.mnemonic == ZYDIS_MNEMONIC_PAUSE;
  return made;
}

}  // namespace

unsigned Instruction::access_total() const {
  unsigned total = 0;
  for (unsigned index = 0; index < access_count; ++index) {
    total += (accesses[index].reads ? 1U : 0U) + (accesses[index].writes ? 1U : 0U);
  }
  return total;
}

std::optional<Instruction> decode(std::span<const std::byte> code, std::uint64_t address) {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), code.data(), code.size(), &instruction, operands))) {
    return std::nullopt;
  }
  return compiled(instruction, operands, address);
}

const Instruction* InstructionCache::at(std::uint64_t address) {
  const auto [place, is_new] = decoded_.try_emplace(address);
  if (is_new) place->second = decode(code_.bytes_at(address), address);
  return place->second ? &*place->second : nullptr;
}

}  // namespace deadheat::replay
