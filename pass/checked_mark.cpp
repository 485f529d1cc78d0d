// SPDX-License-Identifier: Apache-2.0
#include "checked_mark.h"

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"

namespace deadheat::pass {

namespace {

constexpr char kListName[] = "deadheat.checked";

llvm::MDNode* known_group(const llvm::Module& module) {
  const llvm::NamedMDNode* list = module.getNamedMetadata(kListName);
  return list == nullptr || list->getNumOperands() == 0 ? nullptr : list->getOperand(0);
}

}  // namespace

void mark_as_checked(llvm::Instruction& instruction) {
  llvm::Module& module = *instruction.getModule();
  llvm::MDNode* group = known_group(module);
  if (group == nullptr) {
    group = llvm::MDNode::getDistinct(module.getContext(), {});
    module.getOrInsertNamedMetadata(kListName)->addOperand(group);
  }
  llvm::MDNode* others = instruction.getMetadata(llvm::LLVMContext::MD_access_group);
  instruction.setMetadata(llvm::LLVMContext::MD_access_group, llvm::uniteAccessGroups(others, group));
}

bool is_marked_as_checked(const llvm::Instruction& instruction) {
  const llvm::MDNode* groups = instruction.getMetadata(llvm::LLVMContext::MD_access_group);
  if (groups == nullptr) return false;
  const llvm::MDNode* ours = known_group(*instruction.getModule());
  if (ours == nullptr) return false;
  if (groups == ours) return true;
  for (const llvm::MDOperand& group : groups->operands()) {
    if (group.get() == ours) return true;
  }
  return false;
}

}  // namespace deadheat::pass
