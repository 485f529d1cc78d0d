// SPDX-License-Identifier: Apache-2.0
// ThreadCensus: how many threads take part in a trace. A thread counts when it
// does something or is forked. One bit per thread number, which is bounded; a
// run of events of one thread costs a comparison each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/raw.h"
#include "model/event.h"

namespace deadheat {

class ThreadCensus {
 public:
  void add(std::span<const Event> events) {
    for (const Event& event : events) {
      if (event.thread != latest_ || count_ == 0) note(event.thread);
      latest_ = event.thread;
      if (event.kind == EventKind::kFork) note(event.other_thread());
    }
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  void note(ThreadId thread) {
    const std::size_t number = raw(thread);
    if (number >= seen_.size()) seen_.resize(number + 1);
    if (seen_[number]) return;
    seen_[number] = true;
    ++count_;
  }

  std::vector<bool> seen_;
  ThreadId latest_{};
  std::uint64_t count_ = 0;
};

}  // namespace deadheat
