// SPDX-License-Identifier: Apache-2.0
// `deadheat cc` and `deadheat c++`, also called as `deadheat-cc` and
// `deadheat-c++`: a compiler that adds race detection; see compile_arguments.h.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/compile_arguments.h"
#include "cli/exit_codes.h"

namespace deadheat {

enum class SourceLanguage : std::uint8_t { kC, kCpp };

// The compiler behind the wrapper: the words to start it with, of which the
// first is an absolute path. More than one when a launcher such as ccache is in
// front.
struct Compiler {
  std::vector<std::string> words;
  CompilerFamily family = CompilerFamily::kGcc;
  bool takes_plugin = false;  // of the version that our plugin for this family is for
};

// `wanted` is what the user asked for, in words; when empty, DEADHEAT_CC or
// DEADHEAT_CXX, then clang 19, clang, gcc, whichever is found first.
// Errors: kIo when it is not found or is this wrapper itself.
[[nodiscard]] Result<Compiler> find_compiler(SourceLanguage language, const std::string& wanted);

// Runs the compiler in place of this process when the command line asks for it,
// and then returns only if that fails. Nothing: the command line is for someone
// else. Call it before anything that a child process inherits is changed.
[[nodiscard]] std::optional<ExitCode> run_as_compiler(int argument_count, char** arguments);

}  // namespace deadheat
