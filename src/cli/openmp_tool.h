// SPDX-License-Identifier: Apache-2.0
// The tool that tells a race detector what LLVM's runtime of OpenMP orders.
//
// Programs that clang builds with -fopenmp run on libomp, whose threads wait for each other inside the
// library. Libarcher, which comes with it, hears of all that by OpenMP's interface for tools, and
// calls the annotations that a detector understands. libomp loads what OMP_TOOL_LIBRARIES names.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace deadheat {

// Where libarcher.so is, of the newest LLVM that has it.
[[nodiscard]] std::optional<std::string> find_openmp_tool();

// Adds to the environment of a program ("NAME=value") what makes libomp load it. Nothing where there is
// no tool, or where the user has said something about tools.
void add_openmp_tool(std::vector<std::string>& settings);

}  // namespace deadheat
