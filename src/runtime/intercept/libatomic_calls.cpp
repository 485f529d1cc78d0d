// SPDX-License-Identifier: Apache-2.0
// Atomic variables that no instruction can change at once: compilers call libatomic for them, which
// takes a lock of its own. A structure of 40 bytes in a std::atomic is one.
//
// The variable is a tag: who acquires follows all who released before, also those whose value another
// store has replaced. That can hide a race. Whether the variable is accessed plainly as well is not looked at.
#include "runtime/intercept/foreign_calls.h"

namespace deadheat::runtime {
namespace {

void before_access(const ForeignOrder& order, Address variable, std::uint64_t memory_order) {
  if (releases(MemoryOrder{static_cast<std::uint8_t>(memory_order)})) order.give(variable);
}
void after_access(const ForeignOrder& order, Address variable, std::uint64_t memory_order) {
  if (acquires(MemoryOrder{static_cast<std::uint8_t>(memory_order)})) order.take(variable);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat::runtime;

// (size, variable, to, order), (size, variable, from, order), (size, variable, from, to, order),
// (size, variable, expected, desired, order, order if it fails)
DEADHEAT_FOREIGN("libatomic", __atomic_load, , after_access(order, b, d))
DEADHEAT_FOREIGN("libatomic", __atomic_store, before_access(order, b, d), )
DEADHEAT_FOREIGN("libatomic", __atomic_exchange, before_access(order, b, e), after_access(order, b, e))
DEADHEAT_FOREIGN("libatomic", __atomic_compare_exchange, before_access(order, b, e),
                 after_access(order, b, is_true(result) ? e : f))
