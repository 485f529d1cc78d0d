// SPDX-License-Identifier: Apache-2.0
// Which code of a file is built-in atomic operations (__atomic_load_n, __sync_fetch_and_add, ...) on plain variables.
// Compilers leave no trace of them: a load is an ordinary mov. Debug information says by which place of the source
// each instruction was made, and the source, where it can be read, says what stands there.
//
// A place is a line and a column: that of the built-in's name, or of a macro that has one in its definition. Without
// columns the whole line counts. A file that is newer than the program is not read.
#pragma once

#include <string>
#include <vector>

#include "image/elf_image.h"

namespace deadheat {

// Both sorted, without overlaps.
struct AtomicSource {
  std::vector<AddressRange> atomic;
  std::vector<AddressRange> read;  // all code whose source could be read
};

[[nodiscard]] AtomicSource atomic_code_by_source(const std::string& path);

// For tests: whether an atomic operation stands at that column (from 1; 0: anywhere) of the line. `macros`: names of
// those that have one in them.
[[nodiscard]] bool has_atomic_operation(std::string_view line, int column, const std::vector<std::string>& macros);
// Names of macros of a file with an atomic operation in them, or one of the macros that are known.
[[nodiscard]] std::vector<std::string> atomic_macros(std::string_view text, const std::vector<std::string>& known);

}  // namespace deadheat
