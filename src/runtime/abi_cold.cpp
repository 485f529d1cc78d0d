// SPDX-License-Identifier: Apache-2.0
// What the compiler pass calls when its inline check has not settled an access.
//
// As the hooks of abi_access.cpp, with three differences. The check need not be made
// again. A function that calls nobody else has not noted its frame (pass/frames.h);
// the leaf_... ones do it. And they keep all general registers but r11 (LLVM's preserve_mostcc):
// a program that seldom comes here does not arrange its registers for it. Vector
// registers are the caller's business, as always.
#include <cstddef>
#include <cstdint>

#include "runtime/access_check.h"
#include "runtime/cold_hooks.h"
#include "runtime/thread_state.h"

using namespace deadheat;
using namespace deadheat::runtime;

namespace {

// A function without a frame of its own: it is open during the check.
template <void (*kCheck)(Address address, Address code)>
[[gnu::always_inline]] inline void check_in_leaf(Address address, Address caller, Address code) {
  const bool has_frame = push_frame(caller);
  kCheck(address, code);
  if (has_frame) pop_frame();
}

}  // namespace

// The entry __deadheat_`name` saves registers and calls deadheat_cold_`name` with its own
// arguments and the return address, in the register `code`. Eight registers and the
// return address are nine words; a tenth aligns the stack.
#define ENTRY(name, code)                                 \
  __asm__(                                                \
      ".pushsection .text\n"                              \
      ".balign 16\n"                                      \
      ".globl __deadheat_" #name                          \
      "\n"                                                \
      ".type __deadheat_" #name                           \
      ", @function\n"                                     \
      "__deadheat_" #name                                 \
      ":\n"                                               \
      ".cfi_startproc\n"                                  \
      "push %rax\n push %rcx\n push %rdx\n push %rsi\n"   \
      "push %rdi\n push %r8\n push %r9\n push %r10\n"     \
      "sub $8, %rsp\n"                                    \
      ".cfi_adjust_cfa_offset 72\n"                       \
      "mov 72(%rsp), %" #code                             \
      "\n"                                                \
      "call deadheat_cold_" #name                         \
      "\n"                                                \
      "add $8, %rsp\n"                                    \
      "pop %r10\n pop %r9\n pop %r8\n pop %rdi\n"         \
      "pop %rsi\n pop %rdx\n pop %rcx\n pop %rax\n"       \
      ".cfi_adjust_cfa_offset -72\n"                      \
      "ret\n"                                             \
      ".cfi_endproc\n"                                    \
      ".size __deadheat_" #name ", . - __deadheat_" #name \
      "\n"                                                \
      ".popsection\n");

#define HIDDEN extern "C" [[gnu::visibility("hidden"), gnu::used]] void

#define COLD_HOOK(name, kind, size, check)                                                                     \
  HIDDEN deadheat_cold_##name(Address address, Address code) { check<AccessKind::kind, size>(address, code); } \
  HIDDEN deadheat_cold_leaf_##name(Address address, Address caller, Address code) {                            \
    check_in_leaf<check<AccessKind::kind, size>>(address, caller, code);                                       \
  }                                                                                                            \
  ENTRY(name, rsi)                                                                                             \
  ENTRY(leaf_##name, rdx)

#define BOTH_KINDS(size, prefix, check)             \
  COLD_HOOK(prefix##read##size, kRead, size, check) \
  COLD_HOOK(prefix##write##size, kWrite, size, check)

BOTH_KINDS(1, , check_first)
BOTH_KINDS(2, , check_first)
BOTH_KINDS(4, , check_first)
BOTH_KINDS(8, , check_first)
BOTH_KINDS(16, , check_across)
BOTH_KINDS(2, unaligned_, check_across)
BOTH_KINDS(4, unaligned_, check_across)
BOTH_KINDS(8, unaligned_, check_across)
BOTH_KINDS(16, unaligned_, check_across)

#undef BOTH_KINDS
#undef COLD_HOOK
#undef HIDDEN
#undef ENTRY

#define ENTRIES_OF(name) reinterpret_cast<void*>(__deadheat_##name), reinterpret_cast<void*>(__deadheat_leaf_##name)
#define ENTRIES(size, prefix) ENTRIES_OF(prefix##read##size), ENTRIES_OF(prefix##write##size)
#define DECLARE_ENTRIES_OF(name) \
  void __deadheat_##name(void*); \
  void __deadheat_leaf_##name(void*, void*);
#define DECLARE(size, prefix)            \
  DECLARE_ENTRIES_OF(prefix##read##size) \
  DECLARE_ENTRIES_OF(prefix##write##size)

extern "C" {
DECLARE(1, )
DECLARE(2, )
DECLARE(4, )
DECLARE(8, )
DECLARE(16, )
DECLARE(2, unaligned_)
DECLARE(4, unaligned_)
DECLARE(8, unaligned_)
DECLARE(16, unaligned_)
}

namespace deadheat::runtime {

void* const cold_hooks[kColdHooks] = {ENTRIES(1, ),           ENTRIES(2, ),           ENTRIES(4, ),
                                      ENTRIES(8, ),           ENTRIES(16, ),          ENTRIES(2, unaligned_),
                                      ENTRIES(4, unaligned_), ENTRIES(8, unaligned_), ENTRIES(16, unaligned_)};

}  // namespace deadheat::runtime
