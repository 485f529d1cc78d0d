// SPDX-License-Identifier: Apache-2.0
// setjmp and longjmp: the calls that a jump leaves never report their end.
//
// setjmp records how many calls are open, longjmp goes back to that. setjmp
// returns twice, the second time perhaps long after a wrapper's frame is gone; so
// the wrappers are assembly: they call a recorder and then jump to the real
// function with the stack as they found it.
//
// What is recorded is found again by the stack pointer that the jump restores,
// which libc keeps, encrypted, in the jmp_buf. So copies of a jmp_buf work, and
// there is no room needed in it (libc itself calls setjmp with shorter ones).
// Equal stack pointers of live frames mean the same function call, hence the same
// depth. Records of a stack form a stack themselves: one that lies at or below the
// stack pointer of a new one belongs to a call that has returned, or to the same
// one, and is dropped. A signal handler may run on a stack of its own and drops
// only its own records; so does a fiber.
//
// Costs about ten nanoseconds per setjmp and a page per thread that uses it.
// The depth of runtime scopes is recorded along with the calls: a handler that
// leaves a fault inside the runtime by siglongjmp leaves that scope too.
//
// Limits: __builtin_setjmp cannot be seen; a jump whose record is not found keeps
// the calls open (reports then show too deep a stack). Of more than kMaxPoints
// records the oldest half is dropped.
#include <setjmp.h>

#include "runtime/intercept/preparation.h"
#include "runtime/intercept/replace.h"
#include "runtime/on_thread.h"
#include "runtime/page_source.h"

namespace deadheat::runtime {
namespace {

struct JumpPoint {
  Address stack_pointer = 0;  // after the return of setjmp
  Frame* open_calls = nullptr;
  ThreadState* state = nullptr;
  std::uint32_t inside = 0;
  std::uint32_t reserved = 0;
};

constexpr std::uint32_t kFirstPoints = 64;
constexpr std::uint32_t kMaxPoints = 1U << 14;

// Only its own thread touches it, inside a RuntimeScope.
struct JumpPoints {
  JumpPoint* points = nullptr;
  std::uint32_t count = 0;
  std::uint32_t capacity = 0;
  std::uint32_t protected_count = 0;  // recorded before the current signal handler began
};

constinit thread_local JumpPoints jump_points __attribute__((tls_model("initial-exec")));

void drop_oldest_half(JumpPoints& table) {
  const std::uint32_t dropped = table.count / 2;
  for (std::uint32_t i = dropped; i < table.count; ++i) table.points[i - dropped] = table.points[i];
  table.count -= dropped;
  table.protected_count = table.protected_count > dropped ? table.protected_count - dropped : 0;
}

// False when there is no memory.
bool make_room(JumpPoints& table) {
  if (table.count < table.capacity) return true;
  if (table.capacity >= kMaxPoints) {
    drop_oldest_half(table);
    return true;
  }
  const std::uint32_t capacity = table.capacity == 0 ? kFirstPoints : table.capacity * 2;
  auto* const points = static_cast<JumpPoint*>(PageSource::try_allocate(capacity * sizeof(JumpPoint)));
  if (points == nullptr) return false;
  for (std::uint32_t i = 0; i < table.count; ++i) points[i] = table.points[i];
  if (table.points != nullptr) PageSource::release(table.points, table.capacity * sizeof(JumpPoint));
  table.points = points;
  table.capacity = capacity;
  return true;
}

void record_jump_point(Address stack_pointer) {
  const std::uint32_t inside = current.inside;
  const RuntimeScope scope;
  JumpPoints& table = jump_points;
  while (table.count > table.protected_count) {
    const JumpPoint& last = table.points[table.count - 1];
    if (last.state != current.state || last.stack_pointer > stack_pointer) break;
    --table.count;
  }
  if (!make_room(table)) return;
  table.points[table.count++] = JumpPoint{stack_pointer, open_calls(), current.state, inside, 0};
}

// libc's encryption of pointers in a jmp_buf on x86-64.
Address decrypted(Address value) {
  Address guard = 0;
  asm("movq %%fs:0x30, %0" : "=r"(guard));
  return ((value >> 17) | (value << 47)) ^ guard;
}

// The last thing before the real longjmp.
void go_back(const __jmp_buf_tag* environment) {
  current.unseen = 0;               // a handler that does not come back leaves the operation it has interrupted
  constexpr int kStackPointer = 6;  // of the registers in a jmp_buf
  const Address stack_pointer = decrypted(static_cast<Address>(environment->__jmpbuf[kStackPointer]));
  JumpPoints& table = jump_points;
  for (std::uint32_t i = table.count; i > 0; --i) {
    const JumpPoint point = table.points[i - 1];
    if (point.stack_pointer != stack_pointer || point.state != current.state) continue;
    table.count = i;
    if (table.protected_count > i) table.protected_count = i;
    unwind_calls(point.open_calls);
    if (current.inside > point.inside) {
      current.inside = point.inside;
      if (point.inside == 0 && current.pending_signals != 0) deliver_pending_signals();
    }
    return;
  }
}

DEADHEAT_LOOKED_UP(underscore_setjmp, "_setjmp");
DEADHEAT_LOOKED_UP(setjmp, "setjmp");
DEADHEAT_LOOKED_UP(sigsetjmp, "__sigsetjmp");
constinit RealFunction<int(__jmp_buf_tag*)> real_underscore_setjmp;
constinit RealFunction<int(__jmp_buf_tag*)> real_setjmp;
constinit RealFunction<int(__jmp_buf_tag*, int)> real_sigsetjmp;

}  // namespace

std::uint32_t enter_handler_jumps() {
  const std::uint32_t outer = jump_points.protected_count;
  jump_points.protected_count = jump_points.count;
  return outer;
}

void leave_handler_jumps(std::uint32_t outer) {
  JumpPoints& table = jump_points;
  if (table.count > table.protected_count) table.count = table.protected_count;
  table.protected_count = outer < table.count ? outer : table.count;
}

void forget_jump_points() {
  JumpPoints& table = jump_points;
  if (table.points != nullptr) PageSource::release(table.points, table.capacity * sizeof(JumpPoint));
  table = JumpPoints{};
}

}  // namespace deadheat::runtime

using namespace deadheat::runtime;
using deadheat::Address;

// Called by the assembly below; return the real function. A handler that runs
// while its thread is inside the runtime records as well: it may jump.
extern "C" __attribute__((visibility("hidden"), used)) void* deadheat_before_underscore_setjmp(Address stack_pointer) {
  if (runtime_is_ready.load(std::memory_order_relaxed)) record_jump_point(stack_pointer);
  return reinterpret_cast<void*>(real_underscore_setjmp.get("_setjmp"));
}
extern "C" __attribute__((visibility("hidden"), used)) void* deadheat_before_setjmp(Address stack_pointer) {
  if (runtime_is_ready.load(std::memory_order_relaxed)) record_jump_point(stack_pointer);
  return reinterpret_cast<void*>(real_setjmp.get("setjmp"));
}
extern "C" __attribute__((visibility("hidden"), used)) void* deadheat_before_sigsetjmp(Address stack_pointer) {
  if (runtime_is_ready.load(std::memory_order_relaxed)) record_jump_point(stack_pointer);
  return reinterpret_cast<void*>(real_sigsetjmp.get("__sigsetjmp"));
}

// Both arguments are kept across the recorder; what it returns is jumped to.
#define DEADHEAT_SETJMP(name, recorder) \
  asm("    .text\n"                     \
      "    .globl " name                \
      "\n"                              \
      "    .type " name                 \
      ", @function\n"                   \
      "    .p2align 4\n" name           \
      ":\n"                             \
      "    .cfi_startproc\n"            \
      "    endbr64\n"                   \
      "    pushq %rdi\n"                \
      "    .cfi_adjust_cfa_offset 8\n"  \
      "    pushq %rsi\n"                \
      "    .cfi_adjust_cfa_offset 8\n"  \
      "    subq $8, %rsp\n"             \
      "    .cfi_adjust_cfa_offset 8\n"  \
      "    leaq 32(%rsp), %rdi\n"       \
      "    call " recorder              \
      "\n"                              \
      "    addq $8, %rsp\n"             \
      "    .cfi_adjust_cfa_offset -8\n" \
      "    popq %rsi\n"                 \
      "    .cfi_adjust_cfa_offset -8\n" \
      "    popq %rdi\n"                 \
      "    .cfi_adjust_cfa_offset -8\n" \
      "    jmp *%rax\n"                 \
      "    .cfi_endproc\n"              \
      "    .size " name ", .-" name "\n")

DEADHEAT_SETJMP("_setjmp", "deadheat_before_underscore_setjmp");
DEADHEAT_SETJMP("setjmp", "deadheat_before_setjmp");
DEADHEAT_SETJMP("__sigsetjmp", "deadheat_before_sigsetjmp");

DEADHEAT_REPLACE(void, longjmp, __jmp_buf_tag* environment, int value) {
  DEADHEAT_ORIGINAL(longjmp);
  if (runtime_is_ready.load(std::memory_order_relaxed)) go_back(environment);
  original(environment, value);
  __builtin_unreachable();
}

DEADHEAT_REPLACE(void, _longjmp, __jmp_buf_tag* environment, int value) {
  DEADHEAT_ORIGINAL(_longjmp);
  if (runtime_is_ready.load(std::memory_order_relaxed)) go_back(environment);
  original(environment, value);
  __builtin_unreachable();
}

DEADHEAT_REPLACE(void, siglongjmp, __jmp_buf_tag* environment, int value) {
  DEADHEAT_ORIGINAL(siglongjmp);
  if (runtime_is_ready.load(std::memory_order_relaxed)) go_back(environment);
  original(environment, value);
  __builtin_unreachable();
}

DEADHEAT_REPLACE(void, __longjmp_chk, __jmp_buf_tag* environment, int value) {
  DEADHEAT_ORIGINAL(__longjmp_chk);
  if (runtime_is_ready.load(std::memory_order_relaxed)) go_back(environment);
  original(environment, value);
  __builtin_unreachable();
}
