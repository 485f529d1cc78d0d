// SPDX-License-Identifier: Apache-2.0
// The hooks that the compilers' -fsanitize=thread emits for plain accesses and
// calls. One line per entry point.
//
// Most accesses repeat one that the thread made in the same epoch. The fast check
// for that is a load and a compare per entry of the word's cell; all else is
// check_access(), a call in tail position. A hook whose address is not aligned
// to its size (the program cheated) goes there, too.
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

#include "core/cell_entry.h"
#include "runtime/access_hooks.h"
#include "runtime/cold_hooks.h"
#include "runtime/cold_sampling.h"
#include "runtime/counters.h"
#include "runtime/on_access.h"
#include "runtime/on_sync.h"
#include "runtime/raw_report.h"
#include "runtime/shadow_memory.h"
#include "runtime/start.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {
namespace {

using enum AccessKind;

// No room: too deep, a thread that is not known yet, or calls are followed.
[[gnu::noinline]] void enter_slowly(Address call, Address code) {
  if (detection_is_off.load(std::memory_order_relaxed)) return;
  if (current.state == nullptr) static_cast<void>(self());
  if (follows_calls && enter_call(call, code)) return;
  if (current.top == current.limit) count_loss(Loss::kFramesLost);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

#define HOOK extern "C" __attribute__((visibility("default")))
#define CALLER (reinterpret_cast<Address>(__builtin_return_address(0)))

HOOK void __tsan_init() {
  RuntimeScope scope;
  ensure_started();
}

HOOK void __tsan_func_entry(void* call) {
  note_progress();
  if (!push_frame(reinterpret_cast<Address>(call))) [[unlikely]]
    enter_slowly(reinterpret_cast<Address>(call), CALLER);
}

HOOK void __tsan_func_exit() {
  if (!pop_frame() && follows_calls) [[unlikely]]
    leave_call();
}

#define ACCESS_HOOKS(size, access)                                                                                     \
  HOOK void __tsan_read##size(void* at) { access<kRead, size>(at, CALLER); }                                           \
  HOOK void __tsan_write##size(void* at) { access<kWrite, size>(at, CALLER); }                                         \
  HOOK void __tsan_read_write##size(void* at) { access<kWrite, size>(at, CALLER); }                                    \
  HOOK void __tsan_volatile_read##size(void* at) { access<kRead, size>(at, CALLER, raw_report::kAccessVolatile); }     \
  HOOK void __tsan_volatile_write##size(void* at) { access<kWrite, size>(at, CALLER, raw_report::kAccessVolatile); }   \
  HOOK void __tsan_read##size##_pc(void* at, void* code) { access<kRead, size>(at, reinterpret_cast<Address>(code)); } \
  HOOK void __tsan_write##size##_pc(void* at, void* code) { access<kWrite, size>(at, reinterpret_cast<Address>(code)); }

ACCESS_HOOKS(1, access)
ACCESS_HOOKS(2, access)
ACCESS_HOOKS(4, access)
ACCESS_HOOKS(8, access)
ACCESS_HOOKS(16, access_across)

#define UNALIGNED_HOOKS(size, access)                                                         \
  HOOK void __tsan_unaligned_read##size(const void* at) { access<kRead, size>(at, CALLER); }  \
  HOOK void __tsan_unaligned_write##size(void* at) { access<kWrite, size>(at, CALLER); }      \
  HOOK void __tsan_unaligned_read_write##size(void* at) { access<kWrite, size>(at, CALLER); } \
  HOOK void __tsan_unaligned_volatile_read##size(void* at) {                                  \
    access<kRead, size>(at, CALLER, raw_report::kAccessVolatile);                             \
  }                                                                                           \
  HOOK void __tsan_unaligned_volatile_write##size(void* at) {                                 \
    access<kWrite, size>(at, CALLER, raw_report::kAccessVolatile);                            \
  }

UNALIGNED_HOOKS(1, access)
UNALIGNED_HOOKS(2, access_across)
UNALIGNED_HOOKS(4, access_across)
UNALIGNED_HOOKS(8, access_across)
UNALIGNED_HOOKS(16, access_across)

HOOK void __tsan_vptr_read(void** at) { access<kRead, 8>(at, CALLER, raw_report::kAccessVptr); }

// A constructor or destructor that stores the pointer that is there already does
// nothing that another thread could notice. The load is in assembly because the
// memory may never have been written.
HOOK void __tsan_vptr_update(void** at, void* value) {
  void* old = nullptr;
  __asm__ volatile("mov (%1), %0" : "=r"(old) : "r"(at) : "memory");
  if (old == value) return access<kRead, 8>(at, CALLER, raw_report::kAccessVptr);
  access<kWrite, 8>(at, CALLER, raw_report::kAccessVptr);
}

HOOK void __tsan_read_range(void* begin, unsigned long size) { on_read(begin, size, CALLER); }
HOOK void __tsan_write_range(void* begin, unsigned long size) { on_write(begin, size, CALLER); }
HOOK void __tsan_read_range_pc(void* begin, unsigned long size, void* code) {
  on_read(begin, size, reinterpret_cast<Address>(code));
}
HOOK void __tsan_write_range_pc(void* begin, unsigned long size, void* code) {
  on_write(begin, size, reinterpret_cast<Address>(code));
}

namespace deadheat::runtime {
namespace {

#define HOOKS_OF_SIZE(size)                                                                                   \
  reinterpret_cast<void*>(__tsan_read##size), reinterpret_cast<void*>(__tsan_write##size),                    \
      reinterpret_cast<void*>(__tsan_read_write##size), reinterpret_cast<void*>(__tsan_volatile_read##size),  \
      reinterpret_cast<void*>(__tsan_volatile_write##size), reinterpret_cast<void*>(__tsan_read##size##_pc),  \
      reinterpret_cast<void*>(__tsan_write##size##_pc), reinterpret_cast<void*>(__tsan_unaligned_read##size), \
      reinterpret_cast<void*>(__tsan_unaligned_write##size),                                                  \
      reinterpret_cast<void*>(__tsan_unaligned_read_write##size),                                             \
      reinterpret_cast<void*>(__tsan_unaligned_volatile_read##size),                                          \
      reinterpret_cast<void*>(__tsan_unaligned_volatile_write##size)

// Makes it return at once.
void silence(void* hook) {
  constexpr unsigned char kReturn = 0xc3;
  constexpr Address kPage = 4096;
  const auto page = static_cast<long>(reinterpret_cast<Address>(hook) & ~(kPage - 1));
  if (raw_call(SYS_mprotect, page, kPage, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    die("the detector cannot be switched off here; the program would crash. Run it without Deadheat's runtime");
  }
  *static_cast<unsigned char*>(hook) = kReturn;
  raw_call(SYS_mprotect, page, kPage, PROT_READ | PROT_EXEC);
}

}  // namespace

void silence_access_hooks() {
  void* const hooks[] = {HOOKS_OF_SIZE(1),
                         HOOKS_OF_SIZE(2),
                         HOOKS_OF_SIZE(4),
                         HOOKS_OF_SIZE(8),
                         HOOKS_OF_SIZE(16),
                         reinterpret_cast<void*>(__tsan_vptr_read),
                         reinterpret_cast<void*>(__tsan_vptr_update)};
  for (void* hook : hooks) silence(hook);
  for (void* hook : cold_hooks) silence(hook);
}

}  // namespace deadheat::runtime
