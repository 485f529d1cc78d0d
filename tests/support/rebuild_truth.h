// SPDX-License-Identifier: Apache-2.0
// Compares what was rebuilt with a run of which every step is known.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <ctime>
#include <string>

#include "record/step_trace.h"
#include "replay/interpreter.h"
#include "replay/rebuild.h"

namespace deadheat::replay {

struct Comparison {
  RebuildCounts counts;
  std::uint64_t rebuilt = 0;
  std::uint64_t wrong = 0;  // must be 0
  std::string first_wrong;
  double seconds = 0;  // of processor time that rebuilding took
};

// Is there such an access among those that the instruction at that step made?
inline bool is_true(InstructionCache& cache, const RegisterFile& step, const RebuiltAccess& access) {
  if (step.ip != access.code) return false;
  const Instruction* instruction = cache.at(step.ip);
  if (instruction == nullptr) return false;
  const Registers registers = Registers::of(step);
  for (unsigned index = 0; index < instruction->access_count; ++index) {
    const MemoryAccess& candidate = instruction->accesses[index];
    if (access.is_write ? !candidate.writes : !candidate.reads) continue;
    const auto place = locate(*instruction, candidate, registers);
    if (place && place->address == access.address && place->size == access.size) return true;
  }
  return false;
}

// `thread` was sampled from the steps; the time of a sample without a position is its step.
inline Comparison compare(const CodeSpace& code, const record::ThreadSteps& truth, const RecordedThread& thread,
                          const RebuildOptions& options) {
  Comparison result;
  const std::clock_t begin = std::clock();
  const RebuiltThread rebuilt = rebuild(code, thread, 0, thread.samples.size(), options);
  result.seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  result.counts = rebuilt.counts;
  result.rebuilt = rebuilt.accesses.size();
  InstructionCache cache(code);
  for (const RebuiltAccess& access : rebuilt.accesses) {
    const RegisterSample& sample = thread.samples[access.sample];
    const std::uint64_t step = sample.time + static_cast<std::uint64_t>(access.distance);
    // Replay may run on where stepping ended.
    const bool is_beyond = step >= truth.steps.size() && !sample.position && access.distance > 0;
    if (is_beyond) continue;
    if (step < truth.steps.size() && is_true(cache, truth.steps[step], access)) continue;
    if (result.wrong++ == 0) {
      result.first_wrong =
          fmt::format("code {:#x} address {:#x} size {} sample {} distance {} origin {}", access.code, access.address,
                      access.size, access.sample, access.distance, static_cast<int>(access.origin));
    }
  }
  return result;
}

}  // namespace deadheat::replay
