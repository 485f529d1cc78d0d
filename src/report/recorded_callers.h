// SPDX-License-Identifier: Apache-2.0
// RecordedCallers: from where the accesses of a recording were called, as far as that is certain.
//
// Three sources, innermost first: functions that the compiler put into each other (debug information), calls that
// the replay passed between a sample and the access, and the callers of the sample itself (its stack, unwound). A race
// is told by its instructions, which may have been reached in several ways; then only what all of them share is told.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "model/finding.h"
#include "replay/rebuild.h"
#include "report/recorded_code.h"
#include "report/sampled_stack.h"
#include "trace/recorded_order.h"
#include "trace/recording.h"

namespace deadheat {

class RecordedCallers {
 public:
  explicit RecordedCallers(RecordedCode& code) : code_(code) {}

  // Fills the stack of one side of a finding. `accesses`: of its thread; their numbers are indices of `frames`.
  void complete(RacingAccess& side, Address address, std::uint64_t size, const RecordedThread& thread,
                std::span<const PlacedAccess> accesses, std::span<const replay::CallFrame> frames);

 private:
  struct Callers {
    std::vector<std::uint64_t> calls;  // innermost first
    bool is_whole = false;
  };

  [[nodiscard]] Callers callers_of(std::uint32_t frame, const RecordedThread& thread,
                                   std::span<const replay::CallFrame> frames);
  const SampledCallers& unwound(const RegisterSample& sample);

  RecordedCode& code_;
  std::unique_ptr<SampledStack> stack_;  // when first needed: it opens files
  std::map<const RegisterSample*, SampledCallers> unwound_;
};

}  // namespace deadheat
