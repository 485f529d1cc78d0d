// SPDX-License-Identifier: Apache-2.0
#include "lost_lines.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace deadheat::pass {

namespace {

constexpr unsigned kMostValues = 16;

bool has_line(const llvm::DebugLoc& location) { return location && location.getLine() != 0; }

// The line that comes first in the source, of the instructions that use the value, directly or through
// choices of the optimiser, which have no line.
llvm::DebugLoc line_of_uses(const llvm::Instruction& value) {
  llvm::DebugLoc best;
  llvm::SmallVector<const llvm::Instruction*, kMostValues> waiting{&value};
  llvm::SmallPtrSet<const llvm::Instruction*, kMostValues> seen{&value};
  for (unsigned at = 0; at < waiting.size(); ++at) {
    for (const llvm::User* user : waiting[at]->users()) {
      const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
      if (instruction == nullptr) continue;
      const llvm::DebugLoc& location = instruction->getDebugLoc();
      if (has_line(location) && !llvm::isa<llvm::PHINode>(instruction)) {
        if (!best || location.getLine() < best.getLine()) best = location;
      } else if (seen.size() < kMostValues && seen.insert(instruction).second) {
        waiting.push_back(instruction);
      }
    }
  }
  return best;
}

llvm::DebugLoc line_of_operands(const llvm::Instruction& store) {
  for (const llvm::Value* operand : store.operands()) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(operand);
    if (instruction != nullptr && has_line(instruction->getDebugLoc())) return instruction->getDebugLoc();
  }
  return {};
}

llvm::DebugLoc line_behind(const llvm::Instruction& instruction) {
  for (const llvm::Instruction* at = instruction.getNextNode(); at != nullptr; at = at->getNextNode()) {
    if (has_line(at->getDebugLoc())) return at->getDebugLoc();
  }
  return {};
}

}  // namespace

void give_lines(llvm::Function& function) {
  if (function.getSubprogram() == nullptr) return;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (!instruction.mayReadOrWriteMemory() || has_line(instruction.getDebugLoc())) continue;
      const bool is_plain = llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction);
      if (!is_plain && !llvm::isa<llvm::IntrinsicInst>(instruction)) continue;
      llvm::DebugLoc found =
          instruction.getType()->isVoidTy() ? line_of_operands(instruction) : line_of_uses(instruction);
      if (!found) found = line_behind(instruction);
      if (found) instruction.setDebugLoc(found);
    }
  }
}

}  // namespace deadheat::pass
