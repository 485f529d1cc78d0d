// SPDX-License-Identifier: Apache-2.0
// What the compiler pass calls when its inline check has not settled an access.
//
// As the hooks of abi_access.cpp, with two differences. The check need not be made
// again. And they keep all general registers but r11 (LLVM's preserve_mostcc):
// a program that seldom comes here does not arrange its registers for it. Vector
// registers are the caller's business, as always.
#include <cstddef>
#include <cstdint>

#include "runtime/access_check.h"
#include "runtime/cold_hooks.h"

using namespace deadheat;
using namespace deadheat::runtime;

// The entry `name` saves registers and calls deadheat_`name`(address, code). Eight
// registers and the return address are nine words; a tenth aligns the stack.
#define COLD_HOOK(name, kind, size, check)                                                                       \
  extern "C" [[gnu::visibility("hidden"), gnu::used]] void deadheat_cold_##name(Address address, Address code) { \
    check<AccessKind::kind, size>(address, code);                                                                \
  }                                                                                                              \
  __asm__(                                                                                                       \
      ".pushsection .text\n"                                                                                     \
      ".balign 16\n"                                                                                             \
      ".globl __deadheat_" #name                                                                                 \
      "\n"                                                                                                       \
      ".type __deadheat_" #name                                                                                  \
      ", @function\n"                                                                                            \
      "__deadheat_" #name                                                                                        \
      ":\n"                                                                                                      \
      ".cfi_startproc\n"                                                                                         \
      "push %rax\n push %rcx\n push %rdx\n push %rsi\n"                                                          \
      "push %rdi\n push %r8\n push %r9\n push %r10\n"                                                            \
      "sub $8, %rsp\n"                                                                                           \
      ".cfi_adjust_cfa_offset 72\n"                                                                              \
      "mov 72(%rsp), %rsi\n"                                                                                     \
      "call deadheat_cold_" #name                                                                                \
      "\n"                                                                                                       \
      "add $8, %rsp\n"                                                                                           \
      "pop %r10\n pop %r9\n pop %r8\n pop %rdi\n"                                                                \
      "pop %rsi\n pop %rdx\n pop %rcx\n pop %rax\n"                                                              \
      ".cfi_adjust_cfa_offset -72\n"                                                                             \
      "ret\n"                                                                                                    \
      ".cfi_endproc\n"                                                                                           \
      ".size __deadheat_" #name ", . - __deadheat_" #name                                                        \
      "\n"                                                                                                       \
      ".popsection\n");

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

#define ENTRIES(size, prefix) \
  reinterpret_cast<void*>(__deadheat_##prefix##read##size), reinterpret_cast<void*>(__deadheat_##prefix##write##size)
#define DECLARE(size, prefix)                  \
  void __deadheat_##prefix##read##size(void*); \
  void __deadheat_##prefix##write##size(void*);

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
