// SPDX-License-Identifier: Apache-2.0
// Which instructions of a function access memory, how, and which of them another
// thread can have anything to do with.
#pragma once

#include <cstdint>

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/Alignment.h"

namespace deadheat::pass {

enum class Kind : std::uint8_t { kRead, kWrite };
// The runtime treats pointers to virtual tables in its own way: storing the one
// that is there already is no write.
enum class Flavour : std::uint8_t { kPlain, kVptr };

// A plain load or store.
struct Access {
  llvm::Instruction* instruction = nullptr;
  llvm::Value* address = nullptr;
  std::uint64_t size = 0;  // in bytes
  llvm::Align align;
  Kind kind = Kind::kRead;
  Flavour flavour = Flavour::kPlain;

  [[nodiscard]] bool is_write() const { return kind == Kind::kWrite; }
};

// One of the sizes that have hooks of their own, in clang's pass, too.
[[nodiscard]] bool is_common_size(const Access& access);

// Why an access needs no check, whatever the program does.
enum class Harmless : std::uint8_t {
  kNo,
  kForeign,      // another address space, swifterror, the compiler's own counters
  kConstant,     // memory that is never written: constants, virtual tables
  kThreadLocal,  // memory that no other thread can reach
};

// True, and `access` filled in, for a plain load or store. Atomic ones are left to
// clang's pass, except those for signal handlers of the own thread.
[[nodiscard]] bool is_plain_access(llvm::Instruction& instruction, Access& access);

// Finds out for one function; remembers what it found of each object.
class HarmlessAccesses {
 public:
  explicit HarmlessAccesses(const llvm::TargetLibraryInfo& library) : library_(library) {}

  [[nodiscard]] Harmless judge(const Access& access);

 private:
  [[nodiscard]] bool is_private(const llvm::Value* object);

  const llvm::TargetLibraryInfo& library_;
  llvm::DenseMap<const llvm::Value*, bool> private_;
};

}  // namespace deadheat::pass
