// SPDX-License-Identifier: Apache-2.0
// memcpy, memset and their relatives.
//
// They are called at every moment of a process's life: by the dynamic linker's
// helpers before libc is ready, by ourselves, by the compiler behind our backs.
// So until the runtime is ready nothing is looked up; copying is then done with
// the string instructions of the processor, which need nobody. The other
// functions here have plain loops for that time.
//
// memcmp counts as reading all its bytes, because C lets it; memchr reads up to
// the match, because C says so.
#include <cstddef>
#include <cstdint>

#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

void copy_upwards(void* to, const void* from, std::size_t size) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

void copy_downwards(void* to, const void* from, std::size_t size) {
  to = static_cast<char*>(to) + size - 1;
  from = static_cast<const char*>(from) + size - 1;
  __asm__ volatile("std\n\trep movsb\n\tcld" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

void fill(void* to, int value, std::size_t size) {
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
}

bool can_look_up() { return runtime_is_ready.load(std::memory_order_relaxed); }

// A real function that is asked for by its first call: that is the quickest to ask, a jump by way
// of a pointer that is always there.
template <class Function>
using Pointer = std::atomic<Function*>;
using Copy = void*(void*, const void*, std::size_t);
using Set = void*(void*, int, std::size_t);
using Compare = int(const void*, const void*, std::size_t);
Copy first_copy;
Copy first_move;
Set first_set;
Compare first_compare;
constinit Pointer<Copy> real_copy{first_copy};
constinit Pointer<Copy> real_move{first_move};
constinit Pointer<Set> real_set{first_set};
constinit Pointer<Compare> real_compare{first_compare};

DEADHEAT_LOOKED_UP(copy, "memcpy");
DEADHEAT_LOOKED_UP(move, "memmove");
DEADHEAT_LOOKED_UP(set, "memset");
DEADHEAT_LOOKED_UP(compare, "memcmp");

template <class Function>
Function* look_up(Pointer<Function>& pointer, const char* name) {
  auto* const found = reinterpret_cast<Function*>(find_real(name));
  pointer.store(found, std::memory_order_relaxed);  // all writers store the same
  return found;
}
void* first_copy(void* to, const void* from, std::size_t size) {
  return look_up(real_copy, name_of_copy)(to, from, size);
}
void* first_move(void* to, const void* from, std::size_t size) {
  return look_up(real_move, name_of_move)(to, from, size);
}
void* first_set(void* to, int value, std::size_t size) { return look_up(real_set, name_of_set)(to, value, size); }
int first_compare(const void* left, const void* right, std::size_t size) {
  return look_up(real_compare, name_of_compare)(left, right, size);
}

template <class Function>
[[gnu::always_inline]] inline Function* real(const Pointer<Function>& pointer) {
  return pointer.load(std::memory_order_relaxed);
}

// The runtime is ready, and nobody needs to know of accesses (unchecked_code.h).
[[gnu::always_inline]] inline bool passes_unseen() {
  return __atomic_load_n(&current.runs_unchecked, __ATOMIC_RELAXED) != 0;
}

void* copy(void* to, const void* from, std::size_t size) {
  if (can_look_up()) return real(real_copy)(to, from, size);
  copy_upwards(to, from, size);
  return to;
}

void* move(void* to, const void* from, std::size_t size) {
  if (can_look_up()) return real(real_move)(to, from, size);
  if (size == 0) return to;
  address_of(to) - address_of(from) < size ? copy_downwards(to, from, size) : copy_upwards(to, from, size);
  return to;
}

void* set(void* to, int value, std::size_t size) {
  if (can_look_up()) return real(real_set)(to, value, size);
  fill(to, value, size);
  return to;
}

int compare(const void* left, const void* right, std::size_t size) {
  if (can_look_up()) return real(real_compare)(left, right, size);
  const auto* a = static_cast<const volatile unsigned char*>(left);
  const auto* b = static_cast<const volatile unsigned char*>(right);
  for (std::size_t at = 0; at < size; ++at) {
    if (a[at] != b[at]) return a[at] - b[at];
  }
  return 0;
}

[[gnu::noinline]] void* check_and_copy(void* to, const void* from, std::size_t size, Address code) {
  if (is_observing_accesses()) {
    on_read(from, size, code);
    on_write(to, size, code);
  }
  return copy(to, from, size);
}

[[gnu::noinline]] void* check_and_move(void* to, const void* from, std::size_t size, Address code) {
  if (is_observing_accesses()) {
    on_read(from, size, code);
    on_write(to, size, code);
  }
  return move(to, from, size);
}

[[gnu::noinline]] void* check_and_set(void* to, int value, std::size_t size, Address code) {
  if (is_observing_accesses()) on_write(to, size, code);
  return set(to, value, size);
}

[[gnu::noinline]] int check_and_compare(const void* left, const void* right, std::size_t size, Address code) {
  if (is_observing_accesses()) {
    on_read(left, size, code);
    on_read(right, size, code);
  }
  return compare(left, right, size);
}

[[gnu::always_inline]] inline void* observed_copy(void* to, const void* from, std::size_t size, Address code) {
  return passes_unseen() ? real(real_copy)(to, from, size) : check_and_copy(to, from, size, code);
}
[[gnu::always_inline]] inline void* observed_move(void* to, const void* from, std::size_t size, Address code) {
  return passes_unseen() ? real(real_move)(to, from, size) : check_and_move(to, from, size, code);
}
[[gnu::always_inline]] inline void* observed_set(void* to, int value, std::size_t size, Address code) {
  return passes_unseen() ? real(real_set)(to, value, size) : check_and_set(to, value, size, code);
}
[[gnu::always_inline]] inline int observed_compare(const void* left, const void* right, std::size_t size,
                                                   Address code) {
  return passes_unseen() ? real(real_compare)(left, right, size) : check_and_compare(left, right, size, code);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(void*, memcpy, void* to, const void* from, std::size_t size) {
  return observed_copy(to, from, size, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void*, mempcpy, void* to, const void* from, std::size_t size) {
  observed_copy(to, from, size, DEADHEAT_CALLER);
  return static_cast<char*>(to) + size;
}
DEADHEAT_REPLACE(void*, __mempcpy, void* to, const void* from, std::size_t size) {
  observed_copy(to, from, size, DEADHEAT_CALLER);
  return static_cast<char*>(to) + size;
}
DEADHEAT_REPLACE(void*, memmove, void* to, const void* from, std::size_t size) {
  return observed_move(to, from, size, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void, bcopy, const void* from, void* to, std::size_t size) {
  observed_move(to, from, size, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void*, memset, void* to, int value, std::size_t size) {
  return observed_set(to, value, size, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void, bzero, void* to, std::size_t size) { observed_set(to, 0, size, DEADHEAT_CALLER); }
DEADHEAT_REPLACE(void, explicit_bzero, void* to, std::size_t size) {
  observed_set(to, 0, size, DEADHEAT_CALLER);
  __asm__ volatile("" : : "r"(to) : "memory");
}
DEADHEAT_REPLACE(int, memcmp, const void* left, const void* right, std::size_t size) {
  return observed_compare(left, right, size, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, bcmp, const void* left, const void* right, std::size_t size) {
  return observed_compare(left, right, size, DEADHEAT_CALLER);
}

// What clang 19 and later call instead of the functions themselves.
DEADHEAT_REPLACE(void*, __tsan_memcpy, void* to, const void* from, std::size_t size) {
  return observed_copy(to, from, size, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void*, __tsan_memmove, void* to, const void* from, std::size_t size) {
  return observed_move(to, from, size, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void*, __tsan_memset, void* to, int value, std::size_t size) {
  return observed_set(to, value, size, DEADHEAT_CALLER);
}

// The checked forms end the program if the buffer is too small: libc's business.
DEADHEAT_REPLACE(void*, __memcpy_chk, void* to, const void* from, std::size_t size, std::size_t room) {
  DEADHEAT_ORIGINAL(__memcpy_chk);
  if (size > room) return original(to, from, size, room);
  return observed_copy(to, from, size, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void*, __mempcpy_chk, void* to, const void* from, std::size_t size, std::size_t room) {
  DEADHEAT_ORIGINAL(__mempcpy_chk);
  if (size > room) return original(to, from, size, room);
  observed_copy(to, from, size, DEADHEAT_CALLER);
  return static_cast<char*>(to) + size;
}
DEADHEAT_REPLACE(void*, __memmove_chk, void* to, const void* from, std::size_t size, std::size_t room) {
  DEADHEAT_ORIGINAL(__memmove_chk);
  if (size > room) return original(to, from, size, room);
  return observed_move(to, from, size, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void*, __memset_chk, void* to, int value, std::size_t size, std::size_t room) {
  DEADHEAT_ORIGINAL(__memset_chk);
  if (size > room) return original(to, value, size, room);
  return observed_set(to, value, size, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(void, __explicit_bzero_chk, void* to, std::size_t size, std::size_t room) {
  DEADHEAT_ORIGINAL(__explicit_bzero_chk);
  if (size > room) return original(to, size, room);
  observed_set(to, 0, size, DEADHEAT_CALLER);
  __asm__ volatile("" : : "r"(to) : "memory");
}

DEADHEAT_REPLACE(void*, memchr, const void* begin, int value, std::size_t size) {
  DEADHEAT_ORIGINAL(memchr);
  void* const found = original(begin, value, size);
  if (is_observing_accesses())
    on_read(begin, found ? address_of(found) - address_of(begin) + 1 : size, DEADHEAT_CALLER);
  return found;
}
DEADHEAT_REPLACE(void*, rawmemchr, const void* begin, int value) {
  DEADHEAT_ORIGINAL(rawmemchr);
  void* const found = original(begin, value);
  if (is_observing_accesses()) on_read(begin, address_of(found) - address_of(begin) + 1, DEADHEAT_CALLER);
  return found;
}
DEADHEAT_REPLACE(void*, memrchr, const void* begin, int value, std::size_t size) {
  DEADHEAT_ORIGINAL(memrchr);
  void* const found = original(begin, value, size);
  if (is_observing_accesses()) {
    const Address first = found != nullptr ? address_of(found) : address_of(begin);
    on_read(reinterpret_cast<const void*>(first), address_of(begin) + size - first, DEADHEAT_CALLER);
  }
  return found;
}
DEADHEAT_REPLACE(void*, memmem, const void* text, std::size_t size, const void* part, std::size_t part_size) {
  DEADHEAT_ORIGINAL(memmem);
  void* const found = original(text, size, part, part_size);
  if (is_observing_accesses()) {
    on_read(part, part_size, DEADHEAT_CALLER);
    on_read(text, found ? address_of(found) - address_of(text) + part_size : size, DEADHEAT_CALLER);
  }
  return found;
}
DEADHEAT_REPLACE(void*, memccpy, void* to, const void* from, int value, std::size_t size) {
  DEADHEAT_ORIGINAL(memccpy);
  void* const end = original(to, from, value, size);
  if (is_observing_accesses()) {
    const std::size_t copied = end != nullptr ? address_of(end) - address_of(to) : size;
    on_read(from, copied, DEADHEAT_CALLER);
    on_write(to, copied, DEADHEAT_CALLER);
  }
  return end;
}
