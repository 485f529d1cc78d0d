// SPDX-License-Identifier: Apache-2.0
#include "watch/decode_site.h"

#include <Zydis/Zydis.h>

#include <limits>

namespace deadheat::watch {
namespace {

constexpr unsigned kMostBytes = 64;  // of one access

const ZydisDecoder& decoder() {
  static const ZydisDecoder kDecoder = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  return kDecoder;
}

// Kinds of instructions that are no sites whatever their operands are.
bool is_left_out(const ZydisDecodedInstruction& instruction) {
  switch (instruction.meta.category) {
    // The instruction after it is another one.
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_COND_BR:
    // Two accesses, or the stack's.
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_POP:
    case ZYDIS_CATEGORY_STRINGOP:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_MOVDIR:
    case ZYDIS_CATEGORY_ENQCMD:
    // No access.
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_CLDEMOTE:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_CLZERO:
    case ZYDIS_CATEGORY_MPX:
    // Which bytes is known only when it runs.
    case ZYDIS_CATEGORY_AVX2GATHER:
    case ZYDIS_CATEGORY_GATHER:
    case ZYDIS_CATEGORY_SCATTER:
    case ZYDIS_CATEGORY_COMPRESS:
    case ZYDIS_CATEGORY_EXPAND:
    case ZYDIS_CATEGORY_AMX_TILE:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
    // Not in ordinary programs, or not their data.
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_SGX:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_PT:
    case ZYDIS_CATEGORY_KNC:
      return true;
    default:
      break;
  }
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
    // Written or read in parts, with gaps.
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FLDENV:
      return true;
    default:
      return false;
  }
}

bool is_bit_test(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_BT || mnemonic == ZYDIS_MNEMONIC_BTS || mnemonic == ZYDIS_MNEMONIC_BTR ||
         mnemonic == ZYDIS_MNEMONIC_BTC;
}

// nullopt for what a site cannot name.
std::optional<std::uint8_t> number_of(ZydisRegister name) {
  if (name == ZYDIS_REGISTER_NONE) return kNoRegister;
  if (name == ZYDIS_REGISTER_RIP) return kInstructionPointer;
  if (ZydisRegisterGetClass(name) != ZYDIS_REGCLASS_GPR64) return std::nullopt;
  return static_cast<std::uint8_t>(ZydisRegisterGetId(name));
}

std::optional<Site> site_of_operand(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand& operand) {
  const ZydisDecodedOperandMem& memory = operand.mem;
  if (memory.type != ZYDIS_MEMOP_TYPE_MEM) return std::nullopt;
  if (memory.segment == ZYDIS_REGISTER_FS || memory.segment == ZYDIS_REGISTER_GS) return std::nullopt;
  const auto base = number_of(memory.base);
  const auto index = number_of(memory.index);
  if (!base || !index) return std::nullopt;
  const ZyanI64 displacement = memory.disp.has_displacement != 0 ? memory.disp.value : 0;
  if (displacement < std::numeric_limits<std::int32_t>::min() ||
      displacement > std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;
  }
  const unsigned bytes = operand.size / 8U;
  if (bytes == 0 || bytes > kMostBytes) return std::nullopt;
  Site site;
  site.displacement = static_cast<std::int32_t>(displacement);
  site.base = *base;
  site.index = *index;
  site.scale = *index == kNoRegister ? std::uint8_t{1} : memory.scale;
  site.length = instruction.length;
  site.size = static_cast<std::uint8_t>(bytes);
  if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0) site.flags |= kReads;
  if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0) site.flags |= kWrites;
  if (site.flags == 0) return std::nullopt;
  if (site.base == ZydisRegisterGetId(ZYDIS_REGISTER_RSP)) site.flags |= kStackSite;
  const bool is_locked = (instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0;
  if (is_locked || instruction.mnemonic == ZYDIS_MNEMONIC_XCHG) site.flags |= kAtomicSite;
  return site;
}

std::optional<Site> site_of(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand* operands) {
  if (instruction.address_width != 64 || is_left_out(instruction)) return std::nullopt;
  const bool is_masked =
      instruction.avx.mask.mode != ZYDIS_MASK_MODE_INVALID && instruction.avx.mask.mode != ZYDIS_MASK_MODE_DISABLED;
  if (is_masked) return std::nullopt;
  const ZydisDecodedOperand* only = nullptr;
  for (unsigned index = 0; index < instruction.operand_count; ++index) {
    const ZydisDecodedOperand& operand = operands[index];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    if (operand.visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT || only != nullptr) return std::nullopt;
    only = &operand;
  }
  if (only == nullptr) return std::nullopt;
  if (is_bit_test(instruction.mnemonic) && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER) return std::nullopt;
  return site_of_operand(instruction, *only);
}

// Cheap, and true of nearly all that have one.
bool may_access_memory(const ZydisDecodedInstruction& instruction) {
  const bool has_operand = (instruction.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 && instruction.raw.modrm.mod != 3;
  return has_operand || instruction.raw.disp.size == 64;  // or an absolute address
}

}  // namespace

std::optional<DecodedInstruction> decode_instruction(std::span<const std::byte> code) {
  ZydisDecoderContext context;
  ZydisDecodedInstruction instruction;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder(), &context, code.data(), code.size(), &instruction))) {
    return std::nullopt;
  }
  DecodedInstruction decoded{instruction.length, std::nullopt};
  if (!may_access_memory(instruction)) return decoded;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(
          ZydisDecoderDecodeOperands(&decoder(), &context, &instruction, operands, ZYDIS_MAX_OPERAND_COUNT))) {
    return std::nullopt;
  }
  decoded.site = site_of(instruction, operands);
  if (decoded.site) decoded.site->first_byte = std::to_integer<std::uint8_t>(code[0]);
  return decoded;
}

}  // namespace deadheat::watch
