// SPDX-License-Identifier: Apache-2.0
// Masks of signals that come back from where the program has kept them: by a jump, or with another context. One that
// was kept before the agent came can have SIGTRAP, which must not be blocked in the kernel (signals.h).
#include <setjmp.h>
#include <ucontext.h>

#include <csignal>
#include <cstdint>

#include "base/replaced_functions.h"
#include "watch/agent/signal_calls.h"
#include "watch/agent/signals.h"
#include "watch/agent/system.h"

using namespace deadheat::watch;

namespace {

constexpr unsigned long kTrapBit = 1UL << (SIGTRAP - 1);

bool must_change(const sigset_t& mask) {
  return trap_is_ours.load(std::memory_order_relaxed) && (mask.__val[0] & kTrapBit) != 0;
}

// The original does not come back: it reads the copy on our stack, and leaves.
template <class Jump>
[[noreturn]] void jump(const __jmp_buf_tag* place, int value, Jump original) {
  __jmp_buf_tag copy;
  copy_bytes(&copy, place, sizeof copy);
  copy.__saved_mask.__val[0] &= ~kTrapBit;
  set_trap_seems_blocked(true);
  original(&copy, value);
  __builtin_unreachable();
}

bool brings_trap(const __jmp_buf_tag* place) {
  return place->__mask_was_saved != 0 && must_change(reinterpret_cast<const sigset_t&>(place->__saved_mask));
}

}  // namespace

#define DEADHEAT_JUMP(name)                                       \
  DEADHEAT_REPLACE(void, name, __jmp_buf_tag* place, int value) { \
    DEADHEAT_ORIGINAL(name);                                      \
    if (brings_trap(place)) jump(place, value, original);         \
    original(place, value);                                       \
  }
DEADHEAT_JUMP(siglongjmp)
DEADHEAT_JUMP(longjmp)
DEADHEAT_JUMP(_longjmp)
DEADHEAT_JUMP(__longjmp_chk)

DEADHEAT_REPLACE(int, setcontext, const ucontext_t* context) {
  DEADHEAT_ORIGINAL(setcontext);
  if (!must_change(context->uc_sigmask)) return original(context);
  ucontext_t copy;
  copy_bytes(&copy, context, sizeof copy);
  copy.uc_sigmask.__val[0] &= ~kTrapBit;
  set_trap_seems_blocked(true);
  return original(&copy);
}

// Left by a jump, or the context that is saved would come back to us: the program's own is changed.
DEADHEAT_REPLACE(int, swapcontext, ucontext_t* old, const ucontext_t* context) {
  DEADHEAT_ORIGINAL(swapcontext);
  if (must_change(context->uc_sigmask)) {
    const_cast<ucontext_t*>(context)->uc_sigmask.__val[0] &= ~kTrapBit;
    set_trap_seems_blocked(true);
  }
  return original(old, context);
}
