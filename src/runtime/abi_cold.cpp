// SPDX-License-Identifier: Apache-2.0
// What the compiler pass calls when its inline check has not settled an access, and
// after loops.
//
// As the hooks of abi_access.cpp, with two differences. A function that calls nobody
// else has not noted its frame (pass/frames.h); the leaf_... ones do it. And they
// keep all general registers but r11 (LLVM's preserve_mostcc): a program that seldom
// comes here does not arrange its registers for it. Vector registers are the
// caller's business, as always.
//
// The fast check is made again: of several accesses that were checked together, most
// may be settled, and those must not be noted a second time.
#include <cstddef>
#include <cstdint>

#include "runtime/access_hooks.h"
#include "runtime/cold_hooks.h"
#include "runtime/range_check.h"
#include "runtime/thread_state.h"

using namespace deadheat;
using namespace deadheat::runtime;

namespace {

// A function without a frame of its own: it is open during the check.
class LeafFrame {
 public:
  explicit LeafFrame(Address caller) : is_open_(push_frame(caller)) {}
  ~LeafFrame() {
    if (is_open_) static_cast<void>(pop_frame());
  }
  LeafFrame(const LeafFrame&) = delete;
  LeafFrame& operator=(const LeafFrame&) = delete;

 private:
  bool is_open_;
};

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

#define COLD_HOOK(name, kind, size, access)                                                               \
  HIDDEN deadheat_cold_##name(const void* at, Address code) { access<AccessKind::kind, size>(at, code); } \
  HIDDEN deadheat_cold_leaf_##name(const void* at, Address caller, Address code) {                        \
    const LeafFrame frame(caller);                                                                        \
    access<AccessKind::kind, size>(at, code);                                                             \
  }                                                                                                       \
  ENTRY(name, rsi)                                                                                        \
  ENTRY(leaf_##name, rdx)

#define BOTH_KINDS(size, prefix, access)             \
  COLD_HOOK(prefix##read##size, kRead, size, access) \
  COLD_HOOK(prefix##write##size, kWrite, size, access)

BOTH_KINDS(1, , access)
BOTH_KINDS(2, , access)
BOTH_KINDS(4, , access)
BOTH_KINDS(8, , access)
BOTH_KINDS(16, , access_across)
BOTH_KINDS(2, unaligned_, access_across)
BOTH_KINDS(4, unaligned_, access_across)
BOTH_KINDS(8, unaligned_, access_across)
BOTH_KINDS(16, unaligned_, access_across)

// After a loop: all that an access of it has touched (pass/exits.h).
HIDDEN deadheat_cold_after_range(const void* start, std::int64_t step, std::uint64_t count, std::uint64_t shape,
                                 Address code) {
  check_range(reinterpret_cast<Address>(start), step, count, shape, code);
}
HIDDEN deadheat_cold_leaf_after_range(const void* start, std::int64_t step, std::uint64_t count, std::uint64_t shape,
                                      Address caller, Address code) {
  const LeafFrame frame(caller);
  check_range(reinterpret_cast<Address>(start), step, count, shape, code);
}
ENTRY(after_range, r8)
ENTRY(leaf_after_range, r9)

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
