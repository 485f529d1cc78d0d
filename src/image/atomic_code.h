// SPDX-License-Identifier: Apache-2.0
// Which code belongs to atomic operations of the source. On x86-64 an atomic load or store
// is an ordinary instruction; only the compiler knew.
//
// Two witnesses. clang's -fexperimental-sanitize-metadata=atomics lists the instructions
// exactly, of C and C++ alike. Debug information names functions, inlined or not: code of
// std::atomic and its kin counts whole, so a plain access that the compiler moved in between
// counts as well, and a race there is missed. C's atomic_load() is a macro: gcc's leaves a block with
// variables of known names behind, clang's nothing. (Variables that are atomic by type: atomic_data.h.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "image/elf_image.h"

namespace deadheat {

// Sorted, without overlaps; empty where there is no debug information.
[[nodiscard]] std::vector<AddressRange> atomic_code_by_debug_information(const std::string& path);

// Addresses of instructions, sorted; empty where the compiler left no list.
[[nodiscard]] std::vector<std::uint64_t> atomic_instructions_by_metadata(const ElfImage& image);

// Of a function, as the compiler writes it: std::atomic<T>::load, std::atomic_store, and
// what the standard libraries build them from. A name that is not mangled is C's, and
// counts if it begins as those of <stdatomic.h> do.
[[nodiscard]] bool names_atomic_operation(std::string_view linkage_name);

}  // namespace deadheat
