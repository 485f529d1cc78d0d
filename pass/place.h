// SPDX-License-Identifier: Apache-2.0
// Place: bytes in memory as far as a function can tell them apart, a pointer and
// a constant distance from it.
#pragma once

#include <cstdint>

#include "access.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Module.h"

namespace deadheat::pass {

struct Place {
  const llvm::Value* base = nullptr;
  std::int64_t offset = 0;
  std::uint64_t size = 0;

  [[nodiscard]] bool contains(const Place& other) const {
    return base == other.base && offset <= other.offset &&
           other.offset + static_cast<std::int64_t>(other.size) <= offset + static_cast<std::int64_t>(size);
  }
  friend bool operator==(const Place&, const Place&) = default;
};

[[nodiscard]] inline Place place_of(const Access& access) {
  Place place;
  place.base = llvm::GetPointerBaseWithConstantOffset(access.address, place.offset,
                                                      access.instruction->getModule()->getDataLayout());
  place.size = access.size;
  return place;
}

}  // namespace deadheat::pass
