// SPDX-License-Identifier: Apache-2.0
// LiteRace: samples cold code (Marino, Musuvathi, Narayanasamy, PLDI 2009), as a
// baseline for PACER. In traces; in running programs it is runtime/cold_sampling.h.
//
// The idea is that races which survived testing are in code that rarely runs. Each
// function starts with all its calls sampled; after a burst of ten sampled calls
// its rate falls to 10%, then to 1%, then to the floor of 0.1%, in bursts of ten
// throughout. Rates are kept for each thread and function, so that code which is
// hot in one thread is still watched when another thread first comes to it.
// Synchronisation is always tracked, and so are atomic accesses, allocation and
// free; plain accesses of calls that are not sampled are not looked at.
//
// What it misses: a race is found only if *both* accesses are in sampled calls. Two
// hot places race unseen but for one time in a million. There is no guarantee for
// any race, and memory does not follow the rate: nothing is ever discarded.
// What it does not notice: heat within one call. A loop in main() is one call and is
// sampled for ever; in a trace without calls everything is sampled.
//
// Traces say where a call was made, not which function it reached. The place of
// the call stands for the function here: one that is called from many places is
// colder than it would be in LiteRace.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "base/paged_table.h"
#include "core/cold_code_sampler.h"
#include "core/detector.h"
#include "model/event.h"

namespace deadheat {

// Leaves out what is not sampled and lets a full detector judge the rest.
class LiteRace final : public Detector {
 public:
  explicit LiteRace(std::unique_ptr<Detector> full) : full_(std::move(full)) {}

  void process(std::span<const Event> events) override {
    batch_.assign(events.begin(), events.end());
    for (Event& event : batch_) {
      // In its place an event that orders nothing: the others keep their numbers.
      if (!takes(event)) event = events::plain(EventKind::kSamplingEnd, event.thread);
    }
    full_->process(batch_);
  }
  void finish() override { full_->finish(); }

  [[nodiscard]] const std::vector<Finding>& findings() const override { return full_->findings(); }
  [[nodiscard]] std::vector<Range> racy_bytes() const override { return full_->racy_bytes(); }
  [[nodiscard]] std::vector<Counter> counters() const override {
    std::vector<Counter> result = full_->counters();
    result.push_back({"sampled calls", sampled_calls_});
    result.push_back({"skipped calls", skipped_calls_});
    return result;
  }
  [[nodiscard]] std::optional<SampledShare> sampled_share() const override { return share_; }

 private:
  struct Thread {
    std::vector<bool> calls;  // the open ones: whether they are sampled
    FlatMap<ColdCodeSampler> functions;
  };

  [[nodiscard]] bool takes(const Event& event) {
    Thread& self = threads_[raw(event.thread)];
    switch (event.kind) {
      case EventKind::kFunctionEnter:
        self.calls.push_back(self.functions[raw(event.site)].enter());
        ++(self.calls.back() ? sampled_calls_ : skipped_calls_);
        return true;
      case EventKind::kFunctionExit:
        if (!self.calls.empty()) self.calls.pop_back();
        return true;
      case EventKind::kRead:
      case EventKind::kWrite: {
        const bool is_sampled = self.calls.empty() || self.calls.back();
        ++share_.all;
        share_.sampled += is_sampled ? 1 : 0;
        return is_sampled;
      }
      default:
        return true;
    }
  }

  std::unique_ptr<Detector> full_;
  PagedTable<Thread> threads_;  // by ThreadId
  std::vector<Event> batch_;
  SampledShare share_;
  std::uint64_t sampled_calls_ = 0;
  std::uint64_t skipped_calls_ = 0;
};

}  // namespace deadheat
