// SPDX-License-Identifier: Apache-2.0
// The meaning of system calls that a program makes by number (syscall()): the memory that they read and fill, and
// what they order. A call that is not in the table is neither.
#pragma once

#include "runtime/intercept/described.h"

namespace deadheat::runtime {

struct SystemCall {
  Description touches;
  void (*gives)(const DescribedCall&) = nullptr;  // before the call
  void (*takes)(const DescribedCall&) = nullptr;  // after it, if it did not fail
};

// nullptr for a call without a meaning.
[[nodiscard]] const SystemCall* meaning_of(long number);

}  // namespace deadheat::runtime
