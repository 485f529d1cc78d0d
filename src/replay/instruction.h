// SPDX-License-Identifier: Apache-2.0
// Instruction: one decoded instruction in the form that replay executes many times.
#pragma once

#include <Zydis/Mnemonic.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "replay/code_space.h"

namespace deadheat::replay {

inline constexpr std::uint8_t kNoRegister = 0xff;

struct Operand {
  enum class Kind : std::uint8_t { kNone, kRegister, kMemory, kImmediate, kOther };

  Kind kind = Kind::kNone;
  std::uint8_t size = 0;             // in bytes
  std::uint8_t number = 0;           // of a register,
  std::uint8_t shift = 0;            // 8 for ah, ch, dh, bh
  std::uint8_t base = kNoRegister;   // Memory: base + index * scale + value. An address that is
  std::uint8_t index = kNoRegister;  // relative to the instruction is absolute here.
  std::uint8_t scale = 1;
  bool is_address_usable = true;  // not through fs, gs, or in 32 bits
  std::uint64_t value = 0;        // or of an immediate, with its sign

  [[nodiscard]] bool is_register() const { return kind == Kind::kRegister; }
  [[nodiscard]] bool is_memory() const { return kind == Kind::kMemory; }
};

// One place in memory that an instruction touches.
struct MemoryAccess {
  enum class Place : std::uint8_t {
    kOperand,
    kPush,         // below rsp
    kPop,          // at rsp
    kFrame,        // at rbp
    kSource,       // at rsi, of a string
    kDestination,  // at rdi, of a string
    kBit,          // at the operand, and as far away as a register says
    kUnclear,      // which bytes cannot be told from general registers
  };

  Place place = Place::kOperand;
  std::uint8_t operand = 0;  // index, of kOperand and kBit
  std::uint16_t size = 0;    // of one element, of a string
  bool reads = false;
  bool writes = false;
};

enum class Flow : std::uint8_t {
  kNext,
  kJump,
  kConditional,
  kCall,
  kReturn,
  kSystemCall,
  kWild,  // anything may have happened: far calls, interrupts, transactions
};

enum class Repeat : std::uint8_t { kNone, kWhileEqual, kWhileNotEqual };

struct Instruction {
  std::uint64_t address = 0;
  std::uint8_t length = 0;
  std::uint8_t width = 8;  // of the operation, in bytes
  Flow flow = Flow::kNext;
  Repeat repeat = Repeat::kNone;
  bool is_atomic = false;
  bool is_fence = false;
  std::uint8_t operand_count = 0;  // without hidden ones, like the stack of push
  std::uint8_t access_count = 0;
  std::uint16_t written = 0;  // general registers, by number, also in part
  std::uint16_t mnemonic = ZYDIS_MNEMONIC_INVALID;
  std::uint32_t flags_written = 0;
  std::uint32_t flags_undefined = 0;
  std::array<Operand, 4> operands{};
  std::array<MemoryAccess, 3> accesses{};

  [[nodiscard]] std::uint64_t next() const { return address + length; }
  // Of a jump or call to a fixed place.
  [[nodiscard]] std::optional<std::uint64_t> target() const {
    if (operand_count == 0 || operands[0].kind != Operand::Kind::kImmediate) return std::nullopt;
    return operands[0].value;
  }
  [[nodiscard]] bool ends_block() const { return flow != Flow::kNext && flow != Flow::kSystemCall; }
  // How many reads and writes; one that does both counts twice.
  [[nodiscard]] unsigned access_total() const;
};

// None if the bytes are no instruction, or end inside of it.
[[nodiscard]] std::optional<Instruction> decode(std::span<const std::byte> code, std::uint64_t address);

// Decodes each address once. Pointers stay good.
class InstructionCache {
 public:
  explicit InstructionCache(const CodeSpace& code) : code_(code) {}
  // Null where no code is known.
  [[nodiscard]] const Instruction* at(std::uint64_t address);

 private:
  const CodeSpace& code_;
  std::unordered_map<std::uint64_t, std::optional<Instruction>> decoded_;
};

}  // namespace deadheat::replay
