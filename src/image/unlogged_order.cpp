// SPDX-License-Identifier: Apache-2.0
#include "image/unlogged_order.h"

#include <Zydis/Zydis.h>
#include <dwarf.h>
#include <fmt/format.h>

#include <optional>
#include <span>

#include "image/atomic_code.h"
#include "image/elf_image.h"

namespace deadheat {
namespace {

// Numbers of the debug information: seven bits in each byte, the lowest first.
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t next() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    is_over_ = true;
    return 0;
  }
  void skip_byte() { ++at_; }
  [[nodiscard]] bool is_over() const { return is_over_ || at_ >= bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool is_over_ = false;
};

// A compressed section begins with its method, 1 or 2, in 32 bits, and 32 bits of nothing.
bool is_compressed(std::span<const std::byte> section) {
  if (section.size() < 8 || (section[0] != std::byte{1} && section[0] != std::byte{2})) return false;
  for (std::size_t at = 1; at < 8; ++at) {
    if (section[at] != std::byte{0}) return false;
  }
  return true;
}

// The abbreviations name every sort of entry that the debug information has.
bool has_atomic_type(std::span<const std::byte> abbreviations) {
  Numbers numbers(abbreviations);
  while (!numbers.is_over()) {
    if (numbers.next() == 0) continue;  // the end of a unit's
    if (numbers.next() == DW_TAG_atomic_type) return true;
    numbers.skip_byte();
    for (;;) {
      const std::uint64_t attribute = numbers.next();
      const std::uint64_t form = numbers.next();
      if (numbers.is_over() || (attribute == 0 && form == 0)) break;
      if (form == DW_FORM_implicit_const) numbers.next();
    }
  }
  return false;
}

bool may_order(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand* operands) {
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_SFENCE:
    case ZYDIS_MNEMONIC_LFENCE:
    case ZYDIS_MNEMONIC_PAUSE:
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_XBEGIN:
      return true;
    case ZYDIS_MNEMONIC_XCHG:
      return operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY || operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY;
    default:
      return (instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0;
  }
}

// Swept from beginning to end: what is no code may look like such an instruction, which errs on
// the safe side.
std::optional<std::uint64_t> find_ordering_instruction(const PlacedBytes& code) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  std::size_t at = 0;
  while (at < code.bytes.size()) {
    const auto rest = code.bytes.subspan(at);
    ZydisDecoderContext context;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, rest.data(), rest.size(), &instruction))) {
      ++at;
      continue;
    }
    const bool has_operands = instruction.mnemonic == ZYDIS_MNEMONIC_XCHG &&
                              ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &instruction, operands, 2));
    if ((instruction.mnemonic != ZYDIS_MNEMONIC_XCHG || has_operands) && may_order(instruction, operands)) {
      return code.address + at;
    }
    at += instruction.length;
  }
  return std::nullopt;
}

}  // namespace

Result<UnloggedOrder> find_unlogged_order(const std::string& path) {
  const auto image = ElfImage::open(path);
  if (!image.ok()) return image.error();
  for (const PlacedBytes& code : image.value().code()) {
    if (const auto address = find_ordering_instruction(code)) {
      return UnloggedOrder{true, fmt::format("an atomic or waiting instruction at {:#x}", *address)};
    }
  }
  if (!atomic_instructions_by_metadata(image.value()).empty()) {
    return UnloggedOrder{true, "atomic operations, as its compiler has listed"};
  }
  const auto abbreviations = image.value().section(".debug_abbrev");
  if (!image.value().section(".debug_info") || !abbreviations) {
    return UnloggedOrder{true, "no debug information, which would tell of atomic operations"};
  }
  if (is_compressed(abbreviations->bytes)) {
    return UnloggedOrder{true, "compressed debug information, which is not looked into"};
  }
  if (has_atomic_type(abbreviations->bytes)) return UnloggedOrder{true, "_Atomic in its debug information"};
  if (!atomic_code_by_debug_information(path).empty()) {
    return UnloggedOrder{true, "std::atomic in its debug information"};
  }
  return UnloggedOrder{false, {}};
}

}  // namespace deadheat
