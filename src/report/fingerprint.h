// SPDX-License-Identifier: Apache-2.0
// Fingerprint: a short name for a race that stays the same from run to run, so
// that many runs, machines and modes can be merged into one list.
//
// It has three parts, from what is always known to what is not:
//   7 digits  Places: what both sides did, in which functions, in whatever order they
//             were observed. A function is named without its class, parameters and
//             template arguments, which some debug information leaves out. Code of the
//             C and C++ libraries stands for the first frame that called it. Without a
//             function: the module's name and the offset in it (which survives
//             ASLR, unlike an address), or the file.
//   5 digits  Object: the name of a global, or the function that allocated the block of
//             the heap (outside the libraries and functions that are called after
//             allocating), with the offset if the object is small enough to be one of
//             members (has_members) and was not allocated by a container. For other memory (stacks, mappings, whatever
//             has no name): the first caller of each side.
//   4 digits  Lines of both sides, and of the allocation or callers, counted from the first
//             lines of their functions, so that edits above do not matter. 0000 where
//             no line is known: a program without debug information has the same first
//             twelve digits as one with it.
// Thread numbers, addresses, further stack, locks and counts do not take part: they vary
// between runs.
//
// Every mode comes here, so a race that is found by `run`, in the trace that the run
// recorded, and by `watch` has one fingerprint. Limits: `watch` and recordings do not know
// where a block was allocated that they did not see being allocated. Imported traces may
// not tell where functions begin; then their lines are absolute.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "model/dictionary.h"
#include "model/finding.h"

namespace deadheat {

// 16 lower-case hexadecimal digits.
[[nodiscard]] std::string fingerprint_of(const Finding& finding, const Dictionary& dictionary);
// The same of any other identity that stays the same from run to run.
[[nodiscard]] std::string fingerprint_of(std::string_view identity);
// The name of the race in versions that did not look at the memory.
[[nodiscard]] std::string old_fingerprint_of(const Finding& finding, const Dictionary& dictionary);

// Whether both are of the same two places, on whatever object.
[[nodiscard]] bool have_same_places(std::string_view one, std::string_view other);

// Fingerprints that a baseline knows.
class KnownFingerprints {
 public:
  void add(const std::string& fingerprint) { known_.insert(fingerprint); }
  // It itself; or one that differs by nothing but that one of the two has no lines.
  [[nodiscard]] bool contains(const std::string& fingerprint) const;
  [[nodiscard]] bool empty() const { return known_.empty(); }

 private:
  std::set<std::string> known_;
};

}  // namespace deadheat
