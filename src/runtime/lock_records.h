// SPDX-License-Identifier: Apache-2.0
// Lock records: where each lock that ever was lies and was made, by serial number.
// Sets of locks (origins.h) outlive the locks in them; the serial number tells apart
// locks that lived at one address.
#pragma once

#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

struct LockRecord {
  Address address = 0;  // 0: one of many locks, or not known
  std::uint32_t created_stack = 0;
  std::uint32_t reserved = 0;
};

// Remembers a new lock and returns its serial number. Of the locks that are created
// at one place the first 16 have a number each and all later ones one together:
// a table of thousands of locks would otherwise make thousands of origins of every
// access. Beyond 67 million locks the records end and the numbers go on.
[[nodiscard]] std::uint64_t add_lock_record(Address address, std::uint32_t created_stack);
[[nodiscard]] LockRecord lock_record(std::uint64_t serial);

}  // namespace deadheat::runtime
