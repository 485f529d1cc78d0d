// SPDX-License-Identifier: Apache-2.0
// Described functions: random numbers, sorting and searching, numbers as texts. (described.h)
//
// Sorting moves whole elements, so the array counts as written, in the name of the caller. Reading
// an element is the comparison's own access: bsearch and lfind make none.
// The generators without a state of the caller's (drand48, ...) keep it in libc, which has no lock for it.
#include <search.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "runtime/heap_table.h"
#include "runtime/intercept/described.h"

namespace deadheat::runtime {
namespace {

constexpr std::size_t kSequence = 3 * sizeof(unsigned short);
constexpr std::size_t kPointer = sizeof(void*);

// Variables that stand for the things that libc has one of.
constinit char the_drand48_state;
constinit char hash_table;

void advances_drand48(const DescribedCall& call) { on_write(&the_drand48_state, 1, call.code); }
// random_r(data, result) moves two pointers within the state, and changes one word of it.
void advances(const DescribedCall& call) {
  const auto* const data = call.pointer<const random_data>(1);
  on_write(data, sizeof(*data), call.code);
}

void sorts(const DescribedCall& call) {
  if (call.value(2) > 1) on_write(call.pointer<const void>(1), call.value(2) * call.value(3), call.code);
}
// lsearch(key, array, count, size, compare): appends what it does not find.
void begins_search(const DescribedCall& call) {
  const std::size_t* const count = call.pointer<const std::size_t>(3);
  on_read(count, sizeof(*count), call.code);
  call.notes[0] = *count;
}
void ends_search(const DescribedCall& call) {
  const std::size_t* const count = call.pointer<const std::size_t>(3);
  if (*count == call.notes[0]) return;
  on_write(count, sizeof(*count), call.code);
  on_read(call.pointer<const void>(1), call.value(4), call.code);
  on_write(call.pointer<const void>(0), call.value(4), call.code);
}
// hsearch(item, action), the item in two registers.
void searches_table(const DescribedCall& call) {
  report_text_read(call.pointer<const char>(1), call.code);
  call.integer(3) == ENTER ? on_write(&hash_table, 1, call.code) : on_read(&hash_table, 1, call.code);
}
void changes_table(const DescribedCall& call) { on_write(&hash_table, 1, call.code); }
// hsearch_r(item, action, result, table)
void searches_given_table(const DescribedCall& call) {
  report_text_read(call.pointer<const char>(1), call.code);
  const auto* const table = call.pointer<const void>(5);
  call.integer(3) == ENTER ? on_write(table, sizeof(hsearch_data), call.code)
                           : on_read(table, sizeof(hsearch_data), call.code);
  on_write(call.pointer<const void>(4), kPointer, call.code);
}

// A message that is no constant lies in a block of the thread's.
void makes_message(const DescribedCall& call) {
  const auto* const text = call.pointer<const char>(0);
  if (HeapTable::describe(address_of(text)).kind == HeapKind::kLive) report_text_written(text, call.code);
}

}  // namespace

const void* drand48_state() { return &the_drand48_state; }

}  // namespace deadheat::runtime

DEADHEAT_DESCRIBE(qsort, kAlways, before(sorts))
DEADHEAT_DESCRIBE(qsort_r, kAlways, before(sorts))
DEADHEAT_DESCRIBE(lsearch, kNotNull, before(begins_search), after(ends_search))
DEADHEAT_DESCRIBE(lfind, kAlways, reads(3, sizeof(std::size_t)))
DEADHEAT_DESCRIBE(tsearch, kNotNull, updates(2, kPointer))
DEADHEAT_DESCRIBE(tdelete, kAlways, updates(2, kPointer))
DEADHEAT_DESCRIBE(tfind, kAlways, reads(2, kPointer))
DEADHEAT_DESCRIBE(twalk, kAlways, reads(1, kPointer))
DEADHEAT_DESCRIBE(twalk_r, kAlways, reads(1, kPointer))
DEADHEAT_DESCRIBE(hcreate, kAlways, before(changes_table))
DEADHEAT_DESCRIBE(hdestroy, kAlways, before(changes_table))
DEADHEAT_DESCRIBE(hsearch, kAlways, before(searches_table))
DEADHEAT_DESCRIBE(hcreate_r, kAlways, updates(2, sizeof(hsearch_data)))
DEADHEAT_DESCRIBE(hdestroy_r, kAlways, updates(1, sizeof(hsearch_data)))
DEADHEAT_DESCRIBE(hsearch_r, kAlways, before(searches_given_table))
DEADHEAT_DESCRIBE(insque, kAlways, updates(1, 2 * kPointer))
DEADHEAT_DESCRIBE(remque, kAlways, reads(1, 2 * kPointer))

DEADHEAT_DESCRIBE(lrand48, kAlways, before(advances_drand48))
DEADHEAT_DESCRIBE(mrand48, kAlways, before(advances_drand48))
DEADHEAT_DESCRIBE(srand48, kAlways, before(advances_drand48))
DEADHEAT_DESCRIBE(seed48, kAlways, reads(1, kSequence), before(advances_drand48), writes(0, kSequence))
DEADHEAT_DESCRIBE(lcong48, kAlways, reads(1, 7 * sizeof(unsigned short)), before(advances_drand48))
DEADHEAT_DESCRIBE(nrand48, kAlways, updates(1, kSequence))
DEADHEAT_DESCRIBE(jrand48, kAlways, updates(1, kSequence))
DEADHEAT_DESCRIBE(drand48_r, kZero, writes(1, sizeof(drand48_data)), writes(2, sizeof(double)))
DEADHEAT_DESCRIBE(erand48_r, kZero, writes(1, kSequence), writes(2, sizeof(drand48_data)), writes(3, sizeof(double)))
DEADHEAT_DESCRIBE(lrand48_r, kZero, writes(1, sizeof(drand48_data)), writes(2, sizeof(long)))
DEADHEAT_DESCRIBE(mrand48_r, kZero, writes(1, sizeof(drand48_data)), writes(2, sizeof(long)))
DEADHEAT_DESCRIBE(nrand48_r, kZero, writes(1, kSequence), writes(2, sizeof(drand48_data)), writes(3, sizeof(long)))
DEADHEAT_DESCRIBE(jrand48_r, kZero, writes(1, kSequence), writes(2, sizeof(drand48_data)), writes(3, sizeof(long)))
DEADHEAT_DESCRIBE(srand48_r, kZero, writes(2, sizeof(drand48_data)))
DEADHEAT_DESCRIBE(seed48_r, kZero, reads(1, kSequence), writes(2, sizeof(drand48_data)))
DEADHEAT_DESCRIBE(lcong48_r, kZero, reads(1, 7 * sizeof(unsigned short)), writes(2, sizeof(drand48_data)))
DEADHEAT_DESCRIBE(random_r, kZero, after(advances), writes(2, sizeof(std::int32_t)))
DEADHEAT_DESCRIBE(srandom_r, kZero, writes(2, sizeof(random_data)))
DEADHEAT_DESCRIBE(initstate_r, kZero, writes_bytes(2, 3), writes(4, sizeof(random_data)))
DEADHEAT_DESCRIBE(setstate_r, kZero, writes(2, sizeof(random_data)))
DEADHEAT_DESCRIBE(initstate, kNotNull, writes_bytes(2, 3))
DEADHEAT_DESCRIBE(setstate, kAlways, reads(1, sizeof(std::int32_t)))
DEADHEAT_DESCRIBE(getrandom, kCount, writes_result(1))
DEADHEAT_DESCRIBE(getentropy, kZero, writes_bytes(1, 2))
DEADHEAT_DESCRIBE(arc4random_buf, kAlways, writes_bytes(1, 2))
DEADHEAT_DESCRIBE(getloadavg, kNotNegative, writes_int_result(1, sizeof(double)))

DEADHEAT_DESCRIBE(a64l, kAlways, reads_text(1))
DEADHEAT_DESCRIBE(l64a, kNotNull, writes_text(0))

DEADHEAT_DESCRIBE(strerror, kNotNull, after(makes_message))
DEADHEAT_DESCRIBE(strerror_l, kNotNull, after(makes_message))
DEADHEAT_DESCRIBE(strsignal, kNotNull, after(makes_message))
