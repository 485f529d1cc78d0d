// SPDX-License-Identifier: Apache-2.0
#include "assembly.h"

#include "assembly_text.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"

namespace deadheat::pass {

namespace {

struct MemoryOperand {
  llvm::Value* address = nullptr;
  std::uint64_t size = 0;
  bool reads = false;
  bool writes = false;
};

class Statement {
 public:
  explicit Statement(llvm::CallBase& call)
      : call_(call), text_(read_assembly(assembly().getAsmString(), '$')), layout_(call.getDataLayout()) {
    if (!text_.has_instructions) return;
    read_constraints();
    for (const IndirectOperand& indirect : text_.indirect) add_indirect(indirect);
  }

  [[nodiscard]] llvm::ArrayRef<MemoryOperand> memory() const { return memory_; }
  [[nodiscard]] bool orders() const { return text_.is_atomic || clobbers_memory_; }
  [[nodiscard]] bool is_fence() const { return text_.is_fence; }

 private:
  struct Operand {
    llvm::Value* value = nullptr;  // none for what the statement gives back
    llvm::Type* type = nullptr;
  };

  [[nodiscard]] const llvm::InlineAsm& assembly() const {
    return *llvm::cast<llvm::InlineAsm>(call_.getCalledOperand());
  }

  // Those that are given back come first, as elements of the result.
  [[nodiscard]] llvm::Type* result_type(unsigned index) const {
    auto* all = llvm::dyn_cast<llvm::StructType>(call_.getType());
    if (all == nullptr) return call_.getType();
    return index < all->getNumElements() ? all->getElementType(index) : nullptr;
  }

  void read_constraints() {
    unsigned argument = 0;
    unsigned result = 0;
    for (const llvm::InlineAsm::ConstraintInfo& constraint : assembly().ParseConstraints()) {
      if (constraint.Type == llvm::InlineAsm::isClobber) {
        for (const std::string& code : constraint.Codes) clobbers_memory_ |= code == "{memory}";
        continue;
      }
      if (constraint.Type == llvm::InlineAsm::isLabel) continue;
      const bool is_output = constraint.Type == llvm::InlineAsm::isOutput;
      if (is_output && !constraint.isIndirect) {
        operands_.push_back({nullptr, result_type(result++)});
        continue;
      }
      llvm::Value* value = call_.getArgOperand(argument);
      operands_.push_back({value, value->getType()});
      if (constraint.isIndirect) {
        llvm::Type* type = call_.getParamElementType(argument);
        if (type != nullptr) add(value, layout_.getTypeStoreSize(type).getFixedValue(), !is_output, is_output);
      }
      ++argument;
    }
  }

  void add_indirect(const IndirectOperand& indirect) {
    if (indirect.pointer >= operands_.size()) return;
    const Operand& pointer = operands_[indirect.pointer];
    if (pointer.value == nullptr || !pointer.type->isPointerTy()) return;
    std::uint64_t size = indirect.size;
    if (size == 0 && indirect.partner >= 0 && static_cast<unsigned>(indirect.partner) < operands_.size()) {
      llvm::Type* type = operands_[static_cast<unsigned>(indirect.partner)].type;
      if (type != nullptr && type->isSized()) size = layout_.getTypeStoreSize(type).getFixedValue();
    }
    if (size != 0) add(pointer.value, size, indirect.reads, indirect.writes);
  }

  void add(llvm::Value* address, std::uint64_t size, bool reads, bool writes) {
    for (MemoryOperand& operand : memory_) {
      if (operand.address != address || operand.size != size) continue;
      operand.reads |= reads;
      operand.writes |= writes;
      return;
    }
    memory_.push_back({address, size, reads, writes});
  }

  llvm::CallBase& call_;
  AssemblyText text_;
  const llvm::DataLayout& layout_;
  bool clobbers_memory_ = false;
  llvm::SmallVector<Operand, 4> operands_;
  llvm::SmallVector<MemoryOperand, 2> memory_;
};

bool has_atomic_size(const MemoryOperand& operand) { return llvm::isPowerOf2_64(operand.size) && operand.size <= 8; }

llvm::Value* order(llvm::IRBuilder<>& builder, llvm::AtomicOrdering ordering) {
  return builder.getInt32(static_cast<std::uint32_t>(llvm::toCABI(ordering)));
}

// Both leave the value as it is.
void hand_on(llvm::IRBuilder<>& builder, llvm::Module& module, const MemoryOperand& operand) {
  llvm::Type* number = builder.getIntNTy(static_cast<unsigned>(operand.size) * 8);
  const auto hook = module.getOrInsertFunction("__tsan_atomic" + std::to_string(operand.size * 8) + "_fetch_or", number,
                                               builder.getPtrTy(), number, builder.getInt32Ty());
  const auto ordering = operand.reads ? llvm::AtomicOrdering::AcquireRelease : llvm::AtomicOrdering::Release;
  builder.CreateCall(hook, {operand.address, llvm::ConstantInt::get(number, 0), order(builder, ordering)})
      ->setDoesNotThrow();
}

void take_over(llvm::IRBuilder<>& builder, llvm::Module& module, const MemoryOperand& operand) {
  llvm::Type* number = builder.getIntNTy(static_cast<unsigned>(operand.size) * 8);
  const auto hook = module.getOrInsertFunction("__tsan_atomic" + std::to_string(operand.size * 8) + "_load", number,
                                               builder.getPtrTy(), builder.getInt32Ty());
  builder.CreateCall(hook, {operand.address, order(builder, llvm::AtomicOrdering::Acquire)})->setDoesNotThrow();
}

Access access_of(llvm::CallBase& call, const MemoryOperand& operand) {
  return {&call,          operand.address, operand.size, llvm::Align(), operand.writes ? Kind::kWrite : Kind::kRead,
          Flavour::kPlain};
}

// Where the statement has come to its end; nothing if it may go on in several places.
llvm::Instruction* place_after(llvm::CallBase& call) {
  if (llvm::isa<llvm::CallInst>(call)) return call.getNextNode();
  const auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call);
  if (invoke == nullptr || invoke->getNormalDest()->getSinglePredecessor() == nullptr) return nullptr;
  return &*invoke->getNormalDest()->getFirstInsertionPt();
}

bool instrument(llvm::CallBase& call, RuntimeSymbols& runtime, HarmlessAccesses& harmless) {
  const Statement statement(call);
  llvm::IRBuilder<> before(&call);
  bool changed = false;
  if (statement.is_fence()) {
    const auto hook =
        runtime.module().getOrInsertFunction("__tsan_atomic_thread_fence", before.getVoidTy(), before.getInt32Ty());
    before.CreateCall(hook, {order(before, llvm::AtomicOrdering::SequentiallyConsistent)})->setDoesNotThrow();
    changed = true;
  }
  for (const MemoryOperand& operand : statement.memory()) {
    if (harmless.judge(access_of(call, operand)) != Harmless::kNo) continue;
    changed = true;
    if (!statement.orders() || !has_atomic_size(operand)) {
      runtime.call_hook(before, access_of(call, operand));
      continue;
    }
    if (operand.writes) hand_on(before, runtime.module(), operand);
    llvm::Instruction* next = place_after(call);
    if (!operand.reads || next == nullptr) continue;
    llvm::IRBuilder<> after(next);
    after.SetCurrentDebugLocation(call.getDebugLoc());
    take_over(after, runtime.module(), operand);
  }
  return changed;
}

}  // namespace

bool instrument_assembly(llvm::Function& function, RuntimeSymbols& runtime, HarmlessAccesses& harmless) {
  llvm::SmallVector<llvm::CallBase*, 4> statements;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call != nullptr && call->isInlineAsm()) statements.push_back(call);
    }
  }
  bool changed = false;
  for (llvm::CallBase* statement : statements) changed |= instrument(*statement, runtime, harmless);
  return changed;
}

}  // namespace deadheat::pass
