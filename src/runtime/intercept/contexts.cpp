// SPDX-License-Identifier: Apache-2.0
// getcontext, makecontext, swapcontext, setcontext.
//
// A context made by makecontext has a stack of its own, so it has calls of its
// own: it becomes a fiber, and switching contexts switches fibers. Threads hand
// contexts to each other by the addresses of their ucontext_t, so a table says
// which fiber was saved there, by getcontext or swapcontext; another says which
// fiber belongs to a stack that was given to makecontext. For a context that goes
// back into its own fiber, as longjmp would, the open calls are restored.
//
// Two of the functions cannot be wrapped by ordinary ones: getcontext returns a
// second time, through a frame that would be gone, and makecontext has an
// unknown number of arguments, some on the stack. Both are short stubs that keep
// the registers, ask a C++ function what to do, and jump. A third stub stands at
// the beginning of a new context: it replaces the return address of the entry
// function, in order to learn that the function has returned and the context in
// uc_link goes on. (libc does that by itself, without calling anything we see.)
//
// Programs that announce their fibers themselves (__tsan_switch_to_fiber) switch
// them before they call swapcontext; for those the contexts change no fiber here.
//
// The copy of a ucontext_t that was saved is not recognised; switching to it
// changes no fiber, and the open calls of reports may be wrong from there on.
#include "runtime/intercept/contexts.h"

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "base/flat_map.h"
#include "runtime/intercept/replace.h"
#include "runtime/on_thread.h"
#include "runtime/page_source.h"
#include "runtime/system.h"

extern "C" __attribute__((visibility("hidden"))) void deadheat_context_begins();  // a stub

namespace deadheat::runtime {
namespace {

// Where a running context can be entered again.
struct Saved {
  ThreadState* fiber = nullptr;
  std::uint64_t serial = 0;  // of the fiber, 0 if it is not one of ours
  Frame* calls = nullptr;    // open then
};

// A stack that was given to makecontext, and what runs on it.
struct Stack {
  std::size_t size = 0;
  void* function = nullptr;  // until it begins
  void* return_to = nullptr;
  ThreadState* fiber = nullptr;
  Address link = 0;
};

struct Tables {
  FlatMap<Saved, PageSource> saved;            // by address of the ucontext_t
  FlatMap<Stack, PageSource> stacks;           // by their lowest address
  FlatMap<std::uint64_t, PageSource> entries;  // the stack of a stack pointer at entry
  FlatMap<std::uint64_t, PageSource> serials;  // of our fibers, by address of their state
  std::uint64_t next_serial = 1;
};

// The tables are used under `lock`, inside a RuntimeScope. They are made at their
// first use and never destroyed: contexts may switch while the process exits.
constinit SpinLock lock;
constinit bool tables_exist = false;
alignas(Tables) constinit char tables_storage[sizeof(Tables)] = {};

Tables& tables() {
  if (!tables_exist) {
    new (tables_storage) Tables;
    tables_exist = true;
  }
  return *std::launder(reinterpret_cast<Tables*>(tables_storage));
}

std::uint64_t key_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// 0 for a fiber that is not one of ours, or not any more. Lock held.
std::uint64_t serial_of(const ThreadState* fiber) {
  const std::uint64_t* const serial = tables().serials.find(key_of(fiber));
  return serial != nullptr ? *serial : 0;
}

bool program_decides() { return program_switches_fibers.load(std::memory_order_relaxed); }

// The running context can be entered again at this place.
void save(const ucontext_t* place) {
  if (program_decides()) return;
  const RuntimeScope scope;
  const SpinHolder holder(lock);
  tables().saved[key_of(place)] = {.fiber = current.state, .serial = serial_of(current.state), .calls = open_calls()};
}

// What is entered at this place, as far as known. A context that was made but
// never entered is recognised by where it begins and on which stack, wherever its
// ucontext_t was copied to; it begins now.
Saved about_to_enter(const ucontext_t* place) {
  const RuntimeScope scope;
  const SpinHolder holder(lock);
  Tables& known = tables();
  if (static_cast<Address>(place->uc_mcontext.gregs[REG_RIP]) == reinterpret_cast<Address>(&deadheat_context_begins)) {
    const std::uint64_t begin = key_of(place->uc_stack.ss_sp);
    const Stack* const stack = known.stacks.find(begin);
    if (stack == nullptr) return {};
    known.entries[static_cast<Address>(place->uc_mcontext.gregs[REG_RSP])] = begin;
    return {.fiber = stack->fiber, .serial = serial_of(stack->fiber), .calls = nullptr};
  }
  const Saved* const saved = known.saved.find(key_of(place));
  // A fiber that has ended may have left its places behind.
  return saved != nullptr && (saved->serial == 0 || serial_of(saved->fiber) == saved->serial) ? *saved : Saved{};
}

// Before control goes to the context.
void enter(const ucontext_t* place, Address code) {
  const Saved target = about_to_enter(place);
  if (target.fiber == nullptr || program_decides()) return;
  if (target.fiber == current.state) return unwind_calls(target.calls);
  on_fiber_switch(self(), target.fiber, FiberSwitch::kSync, code);
}

// The stack gets a new context. Returns the fiber of the one that was there and
// did not end, if it can be destroyed.
ThreadState* give_stack(const ucontext_t* place, void* function, ThreadState* fiber) {
  const RuntimeScope scope;
  const SpinHolder holder(lock);
  Tables& known = tables();
  Stack& stack = known.stacks[key_of(place->uc_stack.ss_sp)];
  ThreadState* const old = stack.fiber != current.state ? stack.fiber : nullptr;
  if (old != nullptr) known.serials.erase(key_of(old));
  stack = {.size = place->uc_stack.ss_size,
           .function = function,
           .return_to = nullptr,
           .fiber = fiber,
           .link = key_of(place->uc_link)};
  known.serials[key_of(fiber)] = known.next_serial++;
  known.saved.erase(key_of(place));
  return old;
}

// The stack whose context begins or ends with this stack pointer. Lock held.
std::uint64_t stack_at(Address stack_pointer) {
  if (const std::uint64_t* const begin = tables().entries.find(stack_pointer)) return *begin;
  // Entered while nobody was looking: one of those that were not.
  std::uint64_t found = 0;
  tables().stacks.for_each([&](std::uint64_t begin, Stack& stack) {
    if (stack.function != nullptr && stack_pointer - begin < stack.size) found = begin;
  });
  if (found != 0) tables().entries[stack_pointer] = found;
  return found;
}

// The context that ends with this stack pointer is gone.
Stack take_stack(Address stack_pointer) {
  const RuntimeScope scope;
  const SpinHolder holder(lock);
  const std::uint64_t begin = stack_at(stack_pointer);
  const Stack result = tables().stacks[begin];
  tables().stacks.erase(begin);
  tables().entries.erase(stack_pointer);
  tables().serials.erase(key_of(result.fiber));
  return result;
}

}  // namespace

std::atomic<bool> program_switches_fibers{false};

void lock_contexts() { lock.lock(); }
void unlock_contexts() { lock.unlock(); }

// For the stubs; see the assembly below.
extern "C" {

struct ContextMaking {
  void* original;
  void* function;  // what to hand to it
};

__attribute__((visibility("hidden"), used)) void* deadheat_getting_context(const ucontext_t* place) {
  DEADHEAT_LOOKED_UP(getcontext, "getcontext");
  static constinit RealFunction<int(ucontext_t*)> original;
  if (is_observing()) {
    (void)self();
    save(place);
  }
  return reinterpret_cast<void*>(original.get("getcontext"));
}

__attribute__((visibility("hidden"), used)) ContextMaking deadheat_making_context(ucontext_t* place, void* function,
                                                                                  Address code) {
  DEADHEAT_LOOKED_UP(makecontext, "makecontext");
  static constinit RealFunction<void(ucontext_t*, void (*)(), int, ...)> original;
  ContextMaking result{reinterpret_cast<void*>(original.get("makecontext")), function};
  if (!is_observing() || program_decides() || place->uc_stack.ss_sp == nullptr) return result;
  ThreadState* const fiber = on_fiber_created(self(), code);
  if (fiber == nullptr) return result;
  ThreadState* const old = give_stack(place, function, fiber);
  if (old != nullptr) on_fiber_destroyed(self(), old, code);
  result.function = reinterpret_cast<void*>(&deadheat_context_begins);
  return result;
}

// In the new context: returns the function to jump to. `stack_pointer` points to
// the return address.
__attribute__((visibility("hidden"), used)) void* deadheat_context_started(void** stack_pointer) {
  const RuntimeScope scope;
  const SpinHolder holder(lock);
  const std::uint64_t begin = stack_at(key_of(stack_pointer));
  if (begin == 0) die("makecontext: the function of a context is not known");
  Stack& stack = tables().stacks[begin];
  stack.return_to = *stack_pointer;
  void* const function = stack.function;
  stack.function = nullptr;
  return function;
}

// The function of the context has returned: returns where to go on.
__attribute__((visibility("hidden"), used)) void* deadheat_context_ended(void** stack_pointer) {
  const Stack stack = take_stack(key_of(stack_pointer));
  const Address code = key_of(stack.return_to);
  if (stack.link != 0) enter(reinterpret_cast<const ucontext_t*>(stack.link), code);
  if (current.state != stack.fiber) on_fiber_destroyed(self(), stack.fiber, code);
  return stack.return_to;
}

}  // extern "C"
}  // namespace deadheat::runtime

// Registers at the call: %rdi, %rsi, %rdx, %rcx, %r8, %r9 arguments, %rax the
// number of vector arguments. The stack is 8 bytes off alignment at entry.
__asm__(R"(
        .text
        .globl  getcontext
        .type   getcontext, @function
getcontext:
        .cfi_startproc
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        call    deadheat_getting_context
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc
        .size   getcontext, .-getcontext

        .globl  makecontext
        .type   makecontext, @function
makecontext:
        .cfi_startproc
        pushq   %rdi
        pushq   %rdx
        pushq   %rcx
        pushq   %r8
        pushq   %r9
        .cfi_adjust_cfa_offset 40
        movq    40(%rsp), %rdx
        call    deadheat_making_context
        movq    %rdx, %rsi
        popq    %r9
        popq    %r8
        popq    %rcx
        popq    %rdx
        popq    %rdi
        .cfi_adjust_cfa_offset -40
        movq    %rax, %r11
        xorl    %eax, %eax
        jmp     *%r11
        .cfi_endproc
        .size   makecontext, .-makecontext

        .globl  deadheat_context_begins
        .hidden deadheat_context_begins
        .type   deadheat_context_begins, @function
deadheat_context_begins:
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        pushq   %rcx
        pushq   %r8
        pushq   %r9
        subq    $8, %rsp
        leaq    56(%rsp), %rdi
        call    deadheat_context_started
        addq    $8, %rsp
        popq    %r9
        popq    %r8
        popq    %rcx
        popq    %rdx
        popq    %rsi
        popq    %rdi
        leaq    deadheat_context_returns(%rip), %r11
        movq    %r11, (%rsp)
        jmp     *%rax
        .size   deadheat_context_begins, .-deadheat_context_begins

        .type   deadheat_context_returns, @function
deadheat_context_returns:
        movq    %rsp, %r12
        leaq    -8(%rsp), %rdi
        subq    $8, %rsp
        andq    $-16, %rsp
        call    deadheat_context_ended
        movq    %r12, %rsp
        jmp     *%rax
        .size   deadheat_context_returns, .-deadheat_context_returns
)");

using namespace deadheat;
using namespace deadheat::runtime;

// The frame of this function stays on the stack that is left, and returns when
// somebody comes back to it.
DEADHEAT_REPLACE(int, swapcontext, ucontext_t* left, const ucontext_t* entered) {
  DEADHEAT_ORIGINAL(swapcontext);
  if (!is_observing()) return original(left, entered);
  (void)self();
  save(left);
  ThreadState* const before = current.state;
  enter(entered, DEADHEAT_CALLER);
  const int result = original(left, entered);
  // Only a failure (no memory for signals) comes back without a switch.
  if (result != 0 && current.state != before) {
    const KeepErrno keep;
    on_fiber_switch(self(), before, FiberSwitch::kSync, DEADHEAT_CALLER);
  }
  return result;
}

DEADHEAT_REPLACE(int, setcontext, const ucontext_t* entered) {
  DEADHEAT_ORIGINAL(setcontext);
  if (is_observing()) enter(entered, DEADHEAT_CALLER);
  return original(entered);
}
