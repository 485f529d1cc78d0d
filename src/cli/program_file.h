// SPDX-License-Identifier: Apache-2.0
// What a program is, told from its file before it is started: found on PATH, a
// script or an ELF file, and which race detector's runtime it was linked with.
// The file is read, never run. Section headers are needed; a file without any
// looks uninstrumented.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace deadheat {

enum class ProgramKind : std::uint8_t {
  kDeadheat,        // our runtime is inside, or linked by its own name
  kSharedTsan,      // needs libtsan.so or clang's shared TSan runtime: ours can take its place
  kStaticTsan,      // clang's TSan runtime is inside: ours cannot take its place
  kUninstrumented,  // nothing that reports to us
  kScript,          // begins with "#!"; what it starts may be instrumented
};

struct ProgramFile {
  std::string path;
  ProgramKind kind = ProgramKind::kUninstrumented;
  // kSharedTsan: the library's name in DT_NEEDED.
  std::string runtime_name;
  // Directories of DT_RPATH, which the loader searches before LD_LIBRARY_PATH.
  std::vector<std::string> rpath;
};

// Why a program cannot be started; the numbers are the exit codes that shells use.
enum class LaunchFailure : int { kNotExecutable = 126, kNotFound = 127 };

struct LaunchError {
  LaunchFailure failure = LaunchFailure::kNotFound;
  std::string message;
};

// The file that the name stands for, as a shell would find it: names without a
// slash are looked up on PATH.
struct Lookup {
  std::string path;  // empty: see error
  LaunchError error;
};
[[nodiscard]] Lookup find_program(const std::string& name);

// Errors: kIo (cannot read), kUnsupported (neither a script nor an ELF file for
// this machine).
[[nodiscard]] Result<ProgramFile> inspect_program(const std::string& path);

}  // namespace deadheat
