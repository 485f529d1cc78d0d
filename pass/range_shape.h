// SPDX-License-Identifier: Apache-2.0
// The calls that are put before and after loops (src/runtime/abi_pass.cpp).
#pragma once

#include <cstdint>

#include "access.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace deadheat::pass {

// What they are told of the access: its size, and whether it writes.
[[nodiscard]] inline std::uint64_t range_shape(const Access& access) {
  return access.size * 2 + (access.is_write() ? 1 : 0);
}

// Functions without an effect that the optimiser should care about, except that they
// happen.
[[nodiscard]] inline llvm::FunctionCallee checking_function(llvm::Module& module, llvm::StringRef name,
                                                            std::size_t numbers) {
  llvm::LLVMContext& context = module.getContext();
  llvm::SmallVector<llvm::Type*, 6> parameters = {llvm::PointerType::getUnqual(context)};
  parameters.append(numbers, llvm::Type::getInt64Ty(context));
  llvm::AttributeList attributes;
  for (const auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn, llvm::Attribute::NoSync,
                               llvm::Attribute::NoFree, llvm::Attribute::NoCallback}) {
    attributes = attributes.addFnAttribute(context, attribute);
  }
  attributes = attributes.addFnAttribute(
      context, llvm::Attribute::getWithMemoryEffects(context, llvm::MemoryEffects::inaccessibleMemOnly()));
  return module.getOrInsertFunction(name, llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false),
                                    attributes);
}

// (start, step, count, [step, count,] shape)
[[nodiscard]] inline llvm::FunctionCallee range_function(llvm::Module& module, std::size_t dimensions) {
  return checking_function(module, dimensions == 1 ? "__deadheat_range" : "__deadheat_range2", 2 * dimensions + 1);
}

// (start, step, count, shape), after a loop. Keeps registers, and needs no frame of a
// function that calls nobody else (frames.h).
inline void call_after_range(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  llvm::FunctionCallee hook = checking_function(module, "__deadheat_after_range", 3);
  llvm::cast<llvm::Function>(hook.getCallee())->setCallingConv(llvm::CallingConv::PreserveMost);
  builder.CreateCall(hook, arguments)->setCallingConv(llvm::CallingConv::PreserveMost);
}

// (address, shape): stands for an inline check until the end of the pipeline, where it
// becomes one. Its shape has the alignment, too.
inline constexpr char kCheckName[] = "__deadheat_check";
inline constexpr int kAlignShift = 32;
[[nodiscard]] inline llvm::FunctionCallee check_function(llvm::Module& module) {
  return checking_function(module, kCheckName, 1);
}
[[nodiscard]] inline std::uint64_t check_shape(const Access& access) {
  return range_shape(access) | (std::uint64_t{llvm::Log2(access.align)} << kAlignShift);
}

inline void call_check(llvm::IRBuilder<>& builder, llvm::Value* address, const Access& access) {
  builder.SetCurrentDebugLocation(access.instruction->getDebugLoc());
  builder.CreateCall(check_function(*builder.GetInsertBlock()->getModule()),
                     {address, builder.getInt64(check_shape(access))});
}

// True, and `access` filled in, for a call of it.
[[nodiscard]] inline bool is_check_call(llvm::Instruction& instruction, Access& access) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr || callee->getName() != kCheckName) return false;
  const std::uint64_t shape = llvm::cast<llvm::ConstantInt>(call->getArgOperand(1))->getZExtValue();
  access.instruction = call;
  access.address = call->getArgOperand(0);
  access.size = (shape & 0xffffffffU) >> 1;
  access.align = llvm::Align(std::uint64_t{1} << (shape >> kAlignShift));
  access.kind = (shape & 1) != 0 ? Kind::kWrite : Kind::kRead;
  access.flavour = Flavour::kPlain;
  return true;
}

}  // namespace deadheat::pass
