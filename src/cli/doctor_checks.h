// SPDX-License-Identifier: Apache-2.0
// The checks of `deadheat doctor`. Each tries the thing itself where that can be
// done (maps memory, opens the event, compiles and runs a program) and reads the
// system's settings only to explain a failure: a setting says what should work,
// a trial what does.
//
// Checks change nothing that outlives them and never fail as functions: what
// cannot be found out is a result, too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deadheat {

enum class CheckVerdict : std::uint8_t {
  kOk,
  kWarning,  // works, with a restriction; or what it is for is not needed by everyone
  kMissing,  // what the check is about does not work here
};

// What needs it.
enum class CheckScope : std::uint8_t {
  kFullDetection,  // `deadheat run`: decides the exit code
  kWatch,          // hardware breakpoints on programs that were not recompiled
  kRecord,         // sampling for offline analysis
  kInformation,
};

struct CheckResult {
  std::string name;
  CheckScope scope = CheckScope::kInformation;
  CheckVerdict verdict = CheckVerdict::kOk;
  std::string found;    // what is the case here
  std::string meaning;  // of anything but kOk, for the user
  std::string fix;      // empty if there is none
};

[[nodiscard]] std::string_view name_of(CheckVerdict verdict);
[[nodiscard]] std::string_view name_of(CheckScope scope);

// Kernel, address space, limits, performance events, confinement.
[[nodiscard]] std::vector<CheckResult> check_machine();

// The runtime's files, and each compiler with a small program that has a race:
// compiled, linked, run, reported, with lines. Takes seconds.
[[nodiscard]] std::vector<CheckResult> check_compilers();

}  // namespace deadheat
