// SPDX-License-Identifier: Apache-2.0
// Fingerprint: a short name for a race that stays the same from run to run, so
// that many runs, machines and modes can be merged into one list.
//
// It is made of both sides' places in the code and what each did there, in
// whatever order they were observed. A place is the function, the file's name
// without its directories, and the line, counted from the function's first line
// where that is known, so that edits above the function do not matter; without a
// function, the module's name and the offset in it (which survives ASLR, unlike
// an address). Thread numbers,
// addresses, stacks, locks and counts do not take part: they vary between runs.
// A side whose place is unknown is told apart by the name of the variable, if
// it has one; unnamed and unplaced races share one fingerprint.
//
// Every mode comes here, so a race that is found by `run`, in the trace that the run
// recorded, and by `watch` has one fingerprint, as far as each of them knows the
// function's name as the debug information has it. Limit: imported traces may not
// tell where functions begin. Their lines are absolute, so an edit above a function
// changes the fingerprints of the races in it.
#pragma once

#include <string>
#include <string_view>

#include "model/dictionary.h"
#include "model/finding.h"

namespace deadheat {

// 16 lower-case hexadecimal digits.
[[nodiscard]] std::string fingerprint_of(const Finding& finding, const Dictionary& dictionary);
// The same of any other identity that stays the same from run to run.
[[nodiscard]] std::string fingerprint_of(std::string_view identity);

}  // namespace deadheat
