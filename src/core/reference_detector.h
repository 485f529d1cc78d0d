// SPDX-License-Identifier: Apache-2.0
// ReferenceDetector: the oracle. For every byte, the last access of every thread
// and kind; an access races with each recorded one of a conflicting kind that
// its thread does not know of. Full read and write vectors, maps, no rule of
// access_rules.h: what it says is what "data race" means, and every other
// detector is tested against it.
//
// Cost: a few map operations per byte accessed. For tests and for small traces.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "core/detector.h"
#include "core/ignore_state.h"
#include "core/reference_order.h"
#include "model/event.h"
#include "model/finding.h"

namespace deadheat {

class ReferenceDetector final : public Detector {
 public:
  explicit ReferenceDetector(const DetectorOptions& options) : order_(options.release_sequences) {}

  void process(std::span<const Event> events) override;
  [[nodiscard]] const std::vector<Finding>& findings() const override { return findings_; }
  [[nodiscard]] std::vector<Range> racy_bytes() const override;
  [[nodiscard]] std::vector<Counter> counters() const override { return {{"byte checks", byte_checks_}}; }

 private:
  // A path of calls is its innermost one and the path around it, by index; 0 is the
  // empty path. Accesses deep in a recursion share what they have in common.
  struct Call {
    SiteId site{};
    std::size_t outer = 0;
    friend auto operator<=>(const Call&, const Call&) = default;
  };
  struct Thread {
    std::size_t calls = 0;
    std::vector<HeldLock> locks;
    IgnoreState ignore;
  };
  struct PastAccess {
    RacingAccess access;  // without its stack
    std::size_t calls = 0;
  };
  using Who = std::pair<ThreadId, AccessKind>;
  using ByteHistory = std::map<Who, std::shared_ptr<const PastAccess>>;
  using Pair = std::tuple<AccessKind, SiteId, AccessKind, SiteId, Address>;

  void step(const Event& event);
  void track(Thread& self, const Event& event);
  void enter(Thread& self, SiteId site);
  void access(const Thread& self, const Event& event, AccessKind kind, const ReferenceOrder::Clock& seen);
  void report(const PastAccess& earlier, const PastAccess& later, Address byte);
  [[nodiscard]] RacingAccess with_stack(const PastAccess& past) const;
  [[nodiscard]] bool continues_newest(const RacingAccess& earlier, const RacingAccess& later, Address byte) const;
  void forget(Address address, std::uint64_t size);

  ReferenceOrder order_;
  std::map<ThreadId, Thread> threads_;
  std::vector<Call> calls_{Call{}};
  std::map<Call, std::size_t> call_numbers_;  // index into calls_
  std::map<Address, ByteHistory> bytes_;
  std::set<Address> benign_;
  std::set<Address> racy_;
  std::vector<Finding> findings_;
  std::map<Pair, std::size_t> numbers_;    // index into findings_
  std::vector<std::uint64_t> last_event_;  // by index: the newest event counted
  std::uint64_t event_index_ = 0;
  std::uint64_t byte_checks_ = 0;
};

}  // namespace deadheat
