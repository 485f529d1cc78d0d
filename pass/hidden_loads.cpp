// SPDX-License-Identifier: Apache-2.0
#include "hidden_loads.h"

#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace deadheat::pass {

namespace {

constexpr char kShielded[] = "deadheat.shielded";
constexpr char kPrefix[] = "deadheat.hidden.";

// An address at a constant distance from a choice is one, too.
bool is_choice(const llvm::Value* address) {
  for (int depth = 0; depth < 8; ++depth) {
    if (llvm::isa<llvm::SelectInst>(address)) return true;
    const auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(address);
    if (element == nullptr) return false;
    address = element->getPointerOperand();
  }
  return false;
}

// Loads of which InstCombine makes whole ones, at once or by way of the first.
bool is_masked_load(const llvm::IntrinsicInst& call) {
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::masked_load:
    case llvm::Intrinsic::x86_avx_maskload_ps:
    case llvm::Intrinsic::x86_avx_maskload_pd:
    case llvm::Intrinsic::x86_avx_maskload_ps_256:
    case llvm::Intrinsic::x86_avx_maskload_pd_256:
    case llvm::Intrinsic::x86_avx2_maskload_d:
    case llvm::Intrinsic::x86_avx2_maskload_q:
    case llvm::Intrinsic::x86_avx2_maskload_d_256:
    case llvm::Intrinsic::x86_avx2_maskload_q_256:
      return true;
    default:
      return false;
  }
}

// The same function by a name that nobody knows. It reads where its argument points.
llvm::Function* hidden_twin(const llvm::Function& function) {
  llvm::LLVMContext& context = function.getContext();
  llvm::AttributeList attributes;
  for (const auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn, llvm::Attribute::NoSync,
                               llvm::Attribute::NoFree, llvm::Attribute::NoCallback}) {
    attributes = attributes.addFnAttribute(context, attribute);
  }
  attributes = attributes.addFnAttribute(
      context, llvm::Attribute::getWithMemoryEffects(context, llvm::MemoryEffects::argMemOnly(llvm::ModRefInfo::Ref)));
  attributes = attributes.addParamAttribute(context, 0, llvm::Attribute::NoCapture);
  auto* module = const_cast<llvm::Module*>(function.getParent());
  return llvm::cast<llvm::Function>(
      module->getOrInsertFunction((kPrefix + function.getName()).str(), function.getFunctionType(), attributes)
          .getCallee());
}

llvm::Function* shown_twin(llvm::Function& hidden) {
  llvm::StringRef name = hidden.getName();
  name.consume_front(kPrefix);
  const llvm::Intrinsic::ID number = llvm::Function::lookupIntrinsicID(name);
  return llvm::cast<llvm::Function>(
      hidden.getParent()
          ->getOrInsertFunction(name, hidden.getFunctionType(),
                                llvm::Intrinsic::getAttributes(hidden.getContext(), number))
          .getCallee());
}

}  // namespace

void shield_loads_of_choices(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load == nullptr || !load->isSimple() || !is_choice(load->getPointerOperand())) continue;
      load->setVolatile(true);
      load->setMetadata(kShielded, llvm::MDNode::get(function.getContext(), {}));
    }
  }
}

void unshield_loads(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load == nullptr || !load->isVolatile() || !load->hasMetadata(kShielded)) continue;
      load->setVolatile(false);
      load->setMetadata(kShielded, nullptr);
    }
  }
}

bool hide_masked_loads(llvm::Function& function) {
  llvm::SmallVector<llvm::IntrinsicInst*, 4> loads;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (call != nullptr && is_masked_load(*call)) loads.push_back(call);
    }
  }
  for (llvm::IntrinsicInst* load : loads) load->setCalledFunction(hidden_twin(*load->getCalledFunction()));
  return !loads.empty();
}

bool show_masked_loads(llvm::Function& function) {
  llvm::SmallVector<llvm::CallInst*, 4> loads;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
      if (callee != nullptr && callee->getName().starts_with(kPrefix)) loads.push_back(call);
    }
  }
  for (llvm::CallInst* load : loads) load->setCalledFunction(shown_twin(*load->getCalledFunction()));
  return !loads.empty();
}

}  // namespace deadheat::pass
