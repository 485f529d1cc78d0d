// SPDX-License-Identifier: Apache-2.0
#include "stretches.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace deadheat::pass {

namespace {

// Functions of the C library that compute, compare or copy, and return.
bool is_quiet_function(const llvm::CallBase& call, const llvm::TargetLibraryInfo& library) {
  llvm::LibFunc function{};
  if (!library.getLibFunc(call, function) || !library.has(function)) return false;
  switch (function) {
    case llvm::LibFunc_memcpy:
    case llvm::LibFunc_memmove:
    case llvm::LibFunc_memset:
    case llvm::LibFunc_memcmp:
    case llvm::LibFunc_bcmp:
    case llvm::LibFunc_memchr:
    case llvm::LibFunc_strlen:
    case llvm::LibFunc_strnlen:
    case llvm::LibFunc_strcmp:
    case llvm::LibFunc_strncmp:
    case llvm::LibFunc_strchr:
    case llvm::LibFunc_strrchr:
    case llvm::LibFunc_strcpy:
    case llvm::LibFunc_strncpy:
    case llvm::LibFunc_abs:
    case llvm::LibFunc_sqrt:
    case llvm::LibFunc_sqrtf:
    case llvm::LibFunc_sin:
    case llvm::LibFunc_sinf:
    case llvm::LibFunc_cos:
    case llvm::LibFunc_cosf:
    case llvm::LibFunc_tan:
    case llvm::LibFunc_tanf:
    case llvm::LibFunc_exp:
    case llvm::LibFunc_expf:
    case llvm::LibFunc_exp2:
    case llvm::LibFunc_log:
    case llvm::LibFunc_logf:
    case llvm::LibFunc_log2:
    case llvm::LibFunc_log10:
    case llvm::LibFunc_pow:
    case llvm::LibFunc_powf:
    case llvm::LibFunc_fmod:
    case llvm::LibFunc_fmodf:
    case llvm::LibFunc_floor:
    case llvm::LibFunc_ceil:
    case llvm::LibFunc_atan:
    case llvm::LibFunc_atan2:
    case llvm::LibFunc_fabs:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool is_quiet_hook(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr) return false;
  llvm::StringRef name = callee->getName();
  if (name.starts_with("__deadheat_")) return true;
  if (!name.consume_front("__tsan_")) return false;
  return name.starts_with("func_") || name.starts_with("vptr_") || name.starts_with("read") ||
         name.starts_with("write") || name.starts_with("unaligned_") || name.starts_with("volatile_") ||
         name == "memcpy" || name == "memmove" || name == "memset";
}

bool ends_stretch(const llvm::Instruction& instruction, const llvm::TargetLibraryInfo& library) {
  if (instruction.isAtomic()) return true;  // also fences
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (call == nullptr || is_quiet_hook(instruction)) return false;
  if (llvm::isa<llvm::MemIntrinsic>(call)) return false;
  if (llvm::isa<llvm::IntrinsicInst>(call))
    return !call->hasFnAttr(llvm::Attribute::NoSync) && call->mayWriteToMemory();
  if (call->doesNotAccessMemory()) return false;
  // nosync is a promise about memory orders; a callee that frees would reuse memory.
  if (call->hasFnAttr(llvm::Attribute::NoSync) && call->hasFnAttr(llvm::Attribute::NoFree)) return false;
  return !is_quiet_function(*call, library);
}

bool may_not_continue(const llvm::Instruction& instruction, const llvm::TargetLibraryInfo& library) {
  if (is_quiet_hook(instruction)) return false;
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    if (is_quiet_function(*call, library)) return false;
  }
  return !llvm::isGuaranteedToTransferExecutionToSuccessor(&instruction);
}

}  // namespace deadheat::pass
