// SPDX-License-Identifier: Apache-2.0
// MachineState: what is known of a thread's registers, flags and memory at one moment.
//
// Memory is a table of bytes that were stored or loaded with a known value. It is forgotten
// where it could have changed behind the thread's back (interpreter.cpp says when). Two
// parts: the stack near rsp, which is the thread's own, and the rest, where a plain load
// may be the moment another thread's stores become visible.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "replay/value.h"
#include "trace/recording.h"

namespace deadheat::replay {

inline constexpr std::uint32_t kCarry = 1U << 0;
inline constexpr std::uint32_t kParity = 1U << 2;
inline constexpr std::uint32_t kAdjust = 1U << 4;
inline constexpr std::uint32_t kZero = 1U << 6;
inline constexpr std::uint32_t kSign = 1U << 7;
inline constexpr std::uint32_t kDirection = 1U << 10;
inline constexpr std::uint32_t kOverflow = 1U << 11;
inline constexpr std::uint32_t kStatusFlags = kCarry | kParity | kAdjust | kZero | kSign | kOverflow;
inline constexpr std::uint32_t kTrackedFlags = kStatusFlags | kDirection;

struct Flags {
  std::uint32_t bits = 0;  // zero where not known
  std::uint32_t known = 0;

  void set(std::uint32_t flag, std::optional<bool> value) {
    bits &= ~flag;
    known &= ~flag;
    if (!value) return;
    known |= flag;
    if (*value) bits |= flag;
  }
  void forget(std::uint32_t flags) {
    bits &= ~flags;
    known &= ~flags;
  }
  [[nodiscard]] std::optional<bool> get(std::uint32_t flag) const {
    if ((known & flag) == 0) return std::nullopt;
    return (bits & flag) != 0;
  }
  friend bool operator==(const Flags&, const Flags&) = default;
};

struct Registers {
  std::array<Value, kRegisterCount> general{};
  Flags flags;

  [[nodiscard]] static Registers of(const RegisterFile& file);
  [[nodiscard]] Value& operator[](Register name) { return general[static_cast<std::size_t>(name)]; }
  [[nodiscard]] const Value& operator[](Register name) const { return general[static_cast<std::size_t>(name)]; }
  void forget() { *this = {}; }
};

// Half-open; never emulated, because threads race there.
struct MemoryRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class Memory {
 public:
  // Without it, every load is unknown.
  bool is_enabled = true;
  std::span<const MemoryRange> excluded;  // sorted

  // At most eight bytes.
  [[nodiscard]] Value load(std::uint64_t address, unsigned size) const;
  void store(std::uint64_t address, unsigned size, const Value& value, bool is_stack);
  void forget(std::uint64_t address, std::uint64_t size);
  void forget_shared() { shared_.clear(); }
  void forget_all() {
    stack_.clear();
    shared_.clear();
  }

 private:
  struct Word {
    std::uint64_t bits = 0;
    std::uint8_t known = 0;
  };
  using Words = std::unordered_map<std::uint64_t, Word>;
  [[nodiscard]] Word word_at(std::uint64_t index) const;
  [[nodiscard]] bool is_excluded(std::uint64_t address, std::uint64_t size) const;

  Words stack_;  // by address / 8
  Words shared_;
};

struct MachineState {
  Registers registers;
  Memory memory;

  // Its registers, and the bytes of the stack that it has.
  void start_at(const RegisterSample& sample);

  // Near the stack pointer, so nobody else's as long as nobody is told of it.
  [[nodiscard]] bool is_on_stack(std::uint64_t address) const;
};

}  // namespace deadheat::replay
