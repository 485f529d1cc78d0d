// SPDX-License-Identifier: Apache-2.0
// Which variables of a file are atomic by their type: C's _Atomic, std::atomic, alone or as members and elements.
// Whatever touches them is an atomic operation, however plain its instruction: the language has no other. Only
// variables that live as long as the program are known by address; those of the heap and of stacks are not.
#pragma once

#include <string>
#include <vector>

#include "image/elf_image.h"

namespace deadheat {

// Sorted, without overlaps; empty where there is no debug information.
[[nodiscard]] std::vector<AddressRange> atomic_data_by_debug_information(const std::string& path);

// Whether the address is in one of the ranges, which are as above.
[[nodiscard]] bool is_in_ranges(const std::vector<AddressRange>& ranges, std::uint64_t address);

// Sorted, and those that touch are one.
[[nodiscard]] std::vector<AddressRange> merge_ranges(std::vector<AddressRange> ranges);

}  // namespace deadheat
