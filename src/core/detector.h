// SPDX-License-Identifier: Apache-2.0
// Detector: the interface of the offline engines. Events go in by the batch
// (one virtual call for thousands of events), findings come out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/sampling_periods.h"
#include "core/sync_clock.h"
#include "model/event.h"
#include "model/finding.h"

namespace deadheat {

// How often a rule or an operation was applied; `name` is the rule's name in
// the paper where it has one ("read same epoch").
struct Counter {
  std::string_view name;
  std::uint64_t value = 0;
};

struct DetectorOptions {
  ReleaseSequences release_sequences = ReleaseSequences::kCpp11;
  // When PACER samples. Absent: the periods that the trace itself has.
  std::optional<SamplingPlan> sampling = {};
};

// How many of the accesses a sampling detector has recorded.
struct SampledShare {
  std::uint64_t sampled = 0;
  std::uint64_t all = 0;
  friend bool operator==(const SampledShare&, const SampledShare&) = default;
};

class Detector {
 public:
  Detector() = default;
  Detector(const Detector&) = delete;
  Detector& operator=(const Detector&) = delete;
  virtual ~Detector() = default;

  virtual void process(std::span<const Event> events) = 0;

  // After the last event. A detector that defers checks makes them now; before,
  // what it says of races and rules can be behind.
  virtual void finish() {}

  // Distinct findings so far, in the order of their first occurrence.
  [[nodiscard]] virtual const std::vector<Finding>& findings() const = 0;

  // Bytes found racy so far, as sorted disjoint ranges [begin, end).
  struct Range {
    Address begin = 0;
    Address end = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  [[nodiscard]] virtual std::vector<Range> racy_bytes() const = 0;

  [[nodiscard]] virtual std::vector<Counter> counters() const = 0;

  // Nothing for detectors that take every access.
  [[nodiscard]] virtual std::optional<SampledShare> sampled_share() const { return std::nullopt; }
};

enum class DetectorKind : std::uint8_t { kFastTrack, kSlimState, kDjit, kReference, kPacer, kLiteRace };

std::unique_ptr<Detector> make_detector(DetectorKind kind, const DetectorOptions& options = {});

}  // namespace deadheat
