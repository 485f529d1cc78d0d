// SPDX-License-Identifier: Apache-2.0
// Soundness of leaving accesses out
//
//   Constants. A global that LLVM calls constant is never written after the loader
//   has made it; two reads do not race. The same holds for virtual tables: only
//   the pointer to one is ever written, and loads of that pointer are checked.
//
//   Private memory. A variable on the stack, or a block that this function gets from
//   malloc or new, whose address is never captured anywhere in the function: nobody
//   else knows the address, at any time. It is not enough that the address is
//   captured only *after* the access: a block that is filled first and then
//   published without synchronisation is a race with whoever reads it, and the
//   earlier half of that race is the filling.
//   The question is asked of the whole object. (clang up to 19 asks it of the field's
//   address, and does not see races on fields of structs on the stack.)
#include "access.h"

#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/ProfileData/InstrProf.h"

namespace deadheat::pass {

namespace {

bool has_vtable_tag(const llvm::Instruction& instruction) {
  const llvm::MDNode* tag = instruction.getMetadata(llvm::LLVMContext::MD_tbaa);
  return tag != nullptr && tag->isTBAAVtableAccess();
}

// Counters that -fprofile-... and --coverage put into the program: changed without
// order, on purpose.
bool is_profile_counter(const llvm::Value* object) {
  const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object);
  if (global == nullptr) return false;
  if (global->getName().starts_with("__llvm_gcov") || global->getName().starts_with("__llvm_gcda")) return true;
  if (global->getName().starts_with("__prof")) return true;
  if (!global->hasSection()) return false;
  const llvm::Triple triple(global->getParent()->getTargetTriple());
  return global->getSection().ends_with(
      llvm::getInstrProfSectionName(llvm::IPSK_cnts, triple.getObjectFormat(), /*AddSegmentInfo=*/false));
}

// Also of those that a choice or a loop has come by.
bool all_objects_are(const llvm::Value* object, bool (*is_such)(const llvm::Value*)) {
  if (!llvm::isa<llvm::SelectInst, llvm::PHINode>(object)) return is_such(object);
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(object, objects);
  return llvm::all_of(objects, is_such);
}

// Code that gets a copy of the object does not learn where it is.
class AddressIsKnown : public llvm::CaptureTracker {
 public:
  [[nodiscard]] bool answer() const { return answer_; }

 private:
  void tooManyUses() override { answer_ = true; }
  bool captured(const llvm::Use* use) override {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(use->getUser());
    answer_ = call == nullptr || !call->isArgOperand(use) || !call->isByValArgument(call->getArgOperandNo(use));
    return answer_;
  }

  bool answer_ = false;
};

bool is_constant(const llvm::Value* object) {
  if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object)) return global->isConstant();
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(object);
  return load != nullptr && has_vtable_tag(*load);
}

}  // namespace

bool is_plain_access(llvm::Instruction& instruction, Access& access) {
  if (instruction.hasMetadata(llvm::LLVMContext::MD_nosanitize)) return false;
  llvm::Type* type = nullptr;
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    if (load->isAtomic() && load->getSyncScopeID() != llvm::SyncScope::SingleThread) return false;
    type = load->getType();
    access = {load, load->getPointerOperand(), 0, load->getAlign(), Kind::kRead, Flavour::kPlain};
  } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    if (store->isAtomic() && store->getSyncScopeID() != llvm::SyncScope::SingleThread) return false;
    type = store->getValueOperand()->getType();
    access = {store, store->getPointerOperand(), 0, store->getAlign(), Kind::kWrite, Flavour::kPlain};
  } else {
    return false;
  }
  const llvm::TypeSize size = instruction.getModule()->getDataLayout().getTypeStoreSize(type);
  if (size.isScalable()) return false;
  access.size = size.getFixedValue();
  if (access.size == 8 && has_vtable_tag(instruction)) access.flavour = Flavour::kVptr;
  return access.size != 0;
}

bool is_common_size(const Access& access) { return llvm::isPowerOf2_64(access.size) && access.size <= 16; }

bool HarmlessAccesses::is_private(const llvm::Value* object) {
  // Not every function that promises fresh memory: a pool of the program's own may
  // hand out what another thread has used, without synchronisation.
  if (!llvm::isa<llvm::AllocaInst>(object) && !llvm::isAllocationFn(object, &library_)) return false;
  const auto [place, is_new] = private_.try_emplace(object, false);
  if (is_new) {
    AddressIsKnown known;
    llvm::PointerMayBeCaptured(object, &known);
    place->second = !known.answer();
  }
  return place->second;
}

Harmless HarmlessAccesses::judge(const Access& access) {
  const llvm::Value* address = access.address;
  if (address->getType()->getPointerAddressSpace() != 0 || address->isSwiftError()) return Harmless::kForeign;
  const llvm::Value* object = llvm::getUnderlyingObject(address, /*MaxLookup=*/0);
  if (all_objects_are(object, is_profile_counter)) return Harmless::kForeign;
  if (!access.is_write() && is_constant(object)) return Harmless::kConstant;
  return is_private(object) ? Harmless::kThreadLocal : Harmless::kNo;
}

}  // namespace deadheat::pass
