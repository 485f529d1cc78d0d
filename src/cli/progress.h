// SPDX-License-Identifier: Apache-2.0
// ProgressLine: one line on the terminal that says how far a long run is. It
// appears only on a terminal, only after half a second, and leaves no trace.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "trace/event_source.h"

namespace deadheat {

class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  // Cheap enough to be called for every batch of events. Without a total there
  // is no percentage, without races no number of them.
  void update(SourceProgress progress, std::uint64_t events, std::optional<std::uint64_t> races = std::nullopt);

  // Removes the line, before anything else is printed.
  void clear();

  [[nodiscard]] double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  bool on_terminal_;
  bool visible_ = false;
  Clock::time_point start_;
  Clock::time_point next_;
};

}  // namespace deadheat
