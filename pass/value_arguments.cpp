// SPDX-License-Identifier: Apache-2.0
#include "value_arguments.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "range_shape.h"

namespace deadheat::pass {

namespace {

Access access_of(llvm::CallBase& call, unsigned argument) {
  Access access;
  access.instruction = &call;
  access.address = call.getArgOperand(argument);
  access.size = call.getDataLayout().getTypeStoreSize(call.getParamByValType(argument)).getFixedValue();
  // The attribute has the alignment of the copy, which may be more than the object's.
  const llvm::DataLayout& layout = call.getDataLayout();
  access.align = std::min(access.address->getPointerAlignment(layout), call.getParamAlign(argument).valueOrOne());
  return access;
}

}  // namespace

bool check_value_arguments(llvm::Function& function, HarmlessAccesses& harmless) {
  llvm::SmallVector<Access, 4> accesses;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr || instruction.hasMetadata(llvm::LLVMContext::MD_nosanitize)) continue;
      for (unsigned argument = 0; argument < call->arg_size(); ++argument) {
        if (!call->isByValArgument(argument)) continue;
        const Access access = access_of(*call, argument);
        if (access.size != 0 && harmless.judge(access) == Harmless::kNo) accesses.push_back(access);
      }
    }
  }
  for (const Access& access : accesses) {
    llvm::IRBuilder<> builder(access.instruction);
    call_check(builder, access.address, access);
  }
  return !accesses.empty();
}

}  // namespace deadheat::pass
