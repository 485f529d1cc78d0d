// SPDX-License-Identifier: Apache-2.0
// The check of accesses, as code in the program: have they all happened in this
// epoch already? If not, the runtime is called, once for each.
//
//   tier 1   for each word touched: load the first entry of its cell and compare
//            epoch, bytes and kind with those of the access in one go
//   tier 2   the same with the better of both entries (reads of what someone else
//            wrote are in the second); a thread that samples at times looks for
//            something else there (src/runtime/unsampled.h)
//   call     one hook per access, in a block of its own out of the way, which keeps
//            the registers (src/runtime/abi_cold.cpp)
//
// What an entry looks like is said in src/core/cell_entry.h, where the cell of an
// address is in src/runtime/thread_state.h.
#pragma once

#include <cstdint>

#include "access.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace deadheat::pass {

// The functions of the runtime, and what the inline code needs of it.
class RuntimeSymbols {
 public:
  explicit RuntimeSymbols(llvm::Module& module);

  // The hook for an access, and the arguments it wants.
  llvm::CallInst* call_hook(llvm::IRBuilder<>& builder, const Access& access);
  // The same after an inline check has failed; keeps registers if there is such a hook.
  void call_cold_hook(llvm::IRBuilder<>& builder, const Access& access);

  // A cold hook once more, from a function that has no frame of its own.
  void call_leaf_hook(llvm::IRBuilder<>& builder, const llvm::CallInst& cold, llvm::Value* caller);
  llvm::CallInst* call_function_entry(llvm::IRBuilder<>& builder, llvm::Value* caller);

  [[nodiscard]] llvm::Value* epoch(llvm::IRBuilder<>& builder) { return number(builder, 0); }
  [[nodiscard]] llvm::Value* cell_mask(llvm::IRBuilder<>& builder) { return number(builder, 1); }
  [[nodiscard]] llvm::Value* cell_key(llvm::IRBuilder<>& builder) { return number(builder, 2); }
  [[nodiscard]] llvm::Value* second_epoch(llvm::IRBuilder<>& builder) { return number(builder, 7); }
  [[nodiscard]] llvm::Value* runs_unchecked(llvm::IRBuilder<>& builder);
  // The program has got so much further.
  void note_progress(llvm::IRBuilder<>& builder, llvm::Value& more);
  // Marks that an operation is under way of which the runtime is not told. What begin_unseen()
  // returns is for end_unseen().
  [[nodiscard]] llvm::Value* begin_unseen(llvm::IRBuilder<>& builder);
  void end_unseen(llvm::IRBuilder<>& builder, llvm::Value* before);
  [[nodiscard]] llvm::Value* top_frame(llvm::IRBuilder<>& builder) { return pointer(builder, 4); }
  [[nodiscard]] llvm::Value* lowest_frame(llvm::IRBuilder<>& builder) { return pointer(builder, 5); }
  [[nodiscard]] llvm::Value* frame_limit(llvm::IRBuilder<>& builder) { return pointer(builder, 6); }
  void set_top_frame(llvm::IRBuilder<>& builder, llvm::Value* frame) { store(builder, frame, member(builder, 4)); }

  // Not of the program's, so not to be checked.
  llvm::LoadInst* load(llvm::IRBuilder<>& builder, llvm::Type* type, llvm::Value* place);
  llvm::StoreInst* store(llvm::IRBuilder<>& builder, llvm::Value* value, llvm::Value* place);

  [[nodiscard]] llvm::Module& module() { return module_; }

 private:
  // Of a plain access of a common size: "PREFIX[unaligned_](read|write)SIZE".
  llvm::CallInst* call_sized_hook(llvm::IRBuilder<>& builder, llvm::StringRef prefix, const Access& access);
  [[nodiscard]] llvm::FunctionCallee function(const llvm::Twine& name, llvm::ArrayRef<llvm::Type*> parameters);
  // Of ThreadLocal: the place of a member, and what is there.
  [[nodiscard]] llvm::Value* member(llvm::IRBuilder<>& builder, unsigned index);
  [[nodiscard]] llvm::Value* number(llvm::IRBuilder<>& builder, unsigned index);
  [[nodiscard]] llvm::Value* pointer(llvm::IRBuilder<>& builder, unsigned index);

  llvm::Module& module_;
  llvm::GlobalVariable* thread_;  // struct ThreadLocal of the runtime
};

// Accesses that one check is for: of one kind, executed together, at constant
// distances from each other. In most cases there is one.
struct CheckGroup {
  // The place of the check: before this instruction.
  llvm::Instruction* before = nullptr;
  llvm::SmallVector<Access, 2> accesses;
  llvm::SmallVector<std::int64_t, 2> offsets;  // from the first access, bytes
};

// Puts the check of the group into its function. Splits the block.
void emit_check(RuntimeSymbols& runtime, const CheckGroup& group);

// The bytes of the group lie in words in a way that the inline check can name. If
// not, the runtime is always called.
[[nodiscard]] bool has_inline_check(const CheckGroup& group);

}  // namespace deadheat::pass
