// SPDX-License-Identifier: Apache-2.0
// operator new and delete.
//
// libstdc++'s own would come to our malloc anyway; they are replaced so that a
// block's allocation site is the caller of new. When there is no memory,
// libstdc++'s operator is called after all: it knows the new handler and how to
// throw. There may be none, because the runtime also lives in programs without
// libstdc++. The exception passes through our frames, which have nothing
// to clean up.
//
// A program that linked libstdc++ statically may have no other operator new than
// ours; there an allocation that fails ends the program with a line.
#include <cstddef>

#include "runtime/intercept/heap.h"
#include "runtime/intercept/replace.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

// The parameters std::align_val_t and const std::nothrow_t& as the ABI passes them.
using Alignment = std::size_t;
using NothrowTag = const void*;

[[noreturn]] void give_up() { die("operator new: out of memory, and no libstdc++ to throw std::bad_alloc"); }

template <class Operator>
[[nodiscard]] Operator* standard_operator(const char* name) {
  return reinterpret_cast<Operator*>(find_real_or_null(name));
}

void* new_or_throw(std::size_t size, const char* symbol, Address code) {
  void* const block = allocate_block(size, code);
  if (block != nullptr) [[likely]]
    return block;
  auto* const standard = standard_operator<void*(std::size_t)>(symbol);
  if (standard == nullptr) give_up();
  return standard(size);
}

void* new_or_null(std::size_t size, NothrowTag tag, const char* symbol, Address code) {
  void* const block = allocate_block(size, code);
  if (block != nullptr) [[likely]]
    return block;
  auto* const standard = standard_operator<void*(std::size_t, NothrowTag)>(symbol);
  return standard == nullptr ? nullptr : standard(size, tag);
}

void* new_aligned_or_throw(std::size_t size, Alignment alignment, const char* symbol, Address code) {
  void* const block = allocate_aligned_block(alignment, size, code);
  if (block != nullptr) [[likely]]
    return block;
  auto* const standard = standard_operator<void*(std::size_t, Alignment)>(symbol);
  if (standard == nullptr) give_up();
  return standard(size, alignment);
}

void* new_aligned_or_null(std::size_t size, Alignment alignment, NothrowTag tag, const char* symbol, Address code) {
  void* const block = allocate_aligned_block(alignment, size, code);
  if (block != nullptr) [[likely]]
    return block;
  auto* const standard = standard_operator<void*(std::size_t, Alignment, NothrowTag)>(symbol);
  return standard == nullptr ? nullptr : standard(size, alignment, tag);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat::runtime;

// The symbols: nw = new, na = new[], dl = delete, da = delete[]; m = size_t,
// Pv = void*, St11align_val_t and RKSt9nothrow_t the tags.

DEADHEAT_LOOKED_UP(Znwm, "_Znwm");
DEADHEAT_LOOKED_UP(Znam, "_Znam");
DEADHEAT_LOOKED_UP(ZnwmRKSt9nothrow_t, "_ZnwmRKSt9nothrow_t");
DEADHEAT_LOOKED_UP(ZnamRKSt9nothrow_t, "_ZnamRKSt9nothrow_t");
DEADHEAT_LOOKED_UP(ZnwmSt11align_val_t, "_ZnwmSt11align_val_t");
DEADHEAT_LOOKED_UP(ZnamSt11align_val_t, "_ZnamSt11align_val_t");
DEADHEAT_LOOKED_UP(ZnwmSt11align_val_tRKSt9nothrow_t, "_ZnwmSt11align_val_tRKSt9nothrow_t");
DEADHEAT_LOOKED_UP(ZnamSt11align_val_tRKSt9nothrow_t, "_ZnamSt11align_val_tRKSt9nothrow_t");

DEADHEAT_REPLACE(void*, _Znwm, std::size_t size) { return new_or_throw(size, name_of_Znwm, DEADHEAT_CALLER); }
DEADHEAT_REPLACE(void*, _Znam, std::size_t size) { return new_or_throw(size, name_of_Znam, DEADHEAT_CALLER); }
DEADHEAT_REPLACE(void*, _ZnwmRKSt9nothrow_t, std::size_t size, NothrowTag tag) {
  return new_or_null(size, tag, name_of_ZnwmRKSt9nothrow_t, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void*, _ZnamRKSt9nothrow_t, std::size_t size, NothrowTag tag) {
  return new_or_null(size, tag, name_of_ZnamRKSt9nothrow_t, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void*, _ZnwmSt11align_val_t, std::size_t size, Alignment alignment) {
  return new_aligned_or_throw(size, alignment, name_of_ZnwmSt11align_val_t, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void*, _ZnamSt11align_val_t, std::size_t size, Alignment alignment) {
  return new_aligned_or_throw(size, alignment, name_of_ZnamSt11align_val_t, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void*, _ZnwmSt11align_val_tRKSt9nothrow_t, std::size_t size, Alignment alignment, NothrowTag tag) {
  return new_aligned_or_null(size, alignment, tag, name_of_ZnwmSt11align_val_tRKSt9nothrow_t, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void*, _ZnamSt11align_val_tRKSt9nothrow_t, std::size_t size, Alignment alignment, NothrowTag tag) {
  return new_aligned_or_null(size, alignment, tag, name_of_ZnamSt11align_val_tRKSt9nothrow_t, DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(void, _ZdlPv, void* block) { free_block(block, DEADHEAT_CALLER); }
DEADHEAT_REPLACE(void, _ZdaPv, void* block) { free_block(block, DEADHEAT_CALLER); }
DEADHEAT_REPLACE(void, _ZdlPvm, void* block, std::size_t) { free_block(block, DEADHEAT_CALLER); }
DEADHEAT_REPLACE(void, _ZdaPvm, void* block, std::size_t) { free_block(block, DEADHEAT_CALLER); }
DEADHEAT_REPLACE(void, _ZdlPvRKSt9nothrow_t, void* block, NothrowTag) { free_block(block, DEADHEAT_CALLER); }
DEADHEAT_REPLACE(void, _ZdaPvRKSt9nothrow_t, void* block, NothrowTag) { free_block(block, DEADHEAT_CALLER); }
DEADHEAT_REPLACE(void, _ZdlPvSt11align_val_t, void* block, Alignment) { free_block(block, DEADHEAT_CALLER); }
DEADHEAT_REPLACE(void, _ZdaPvSt11align_val_t, void* block, Alignment) { free_block(block, DEADHEAT_CALLER); }
DEADHEAT_REPLACE(void, _ZdlPvmSt11align_val_t, void* block, std::size_t, Alignment) {
  free_block(block, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void, _ZdaPvmSt11align_val_t, void* block, std::size_t, Alignment) {
  free_block(block, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void, _ZdlPvSt11align_val_tRKSt9nothrow_t, void* block, Alignment, NothrowTag) {
  free_block(block, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void, _ZdaPvSt11align_val_tRKSt9nothrow_t, void* block, Alignment, NothrowTag) {
  free_block(block, DEADHEAT_CALLER);
}
