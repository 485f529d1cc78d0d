// SPDX-License-Identifier: Apache-2.0
// ReferenceOrder: happens-before by the book, for the oracle.
//
// Written to be obviously right and for no other purpose. Clocks are maps from
// thread to number; every release operation joins its thread's clock into the
// object and ticks; every acquire operation joins the object's clock into the
// thread. No slots, no epochs, no shortcuts, and no code shared with
// happens_before.h, which is tested against it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/sync_clock.h"
#include "model/event.h"

namespace deadheat {

class ReferenceOrder {
 public:
  using Clock = std::map<ThreadId, std::uint64_t>;

  explicit ReferenceOrder(ReleaseSequences release_sequences) : release_sequences_(release_sequences) {}

  // What the event's thread knows at the moment of the event: with everything
  // that the event acquires, before anything that it releases.
  const Clock& before(const Event& event);

  // The event's releasing half.
  void after(const Event& event);

  // New memory: atomic variables in [address, address + size) are gone.
  void forget_atomics(Address address, std::uint64_t size);

 private:
  struct Thread {
    Clock seen;
    std::optional<Clock> release_fence;  // what the last release fence published
    Clock pending_acquire;               // what relaxed loads saw, for an acquire fence
  };
  struct Lock {
    Clock exclusive;
    Clock shared;
  };
  // A release sequence that the current value of an atomic variable belongs to.
  struct Head {
    ThreadId thread{};
    Clock clock;
  };

  Thread& thread(ThreadId id);
  void release_to(Clock& object, ThreadId id);
  void add_head(std::vector<Head>& heads, ThreadId id, MemoryOrder order);

  ReleaseSequences release_sequences_;
  std::map<ThreadId, Thread> threads_;
  std::map<SyncId, Lock> locks_;
  // The phases of the barriers that exist, and what each thread arrived at: a
  // phase outlives its barrier until all have left.
  using Phase = std::shared_ptr<Clock>;
  std::map<std::pair<SyncId, std::uint64_t>, Phase> barriers_;
  std::map<std::tuple<ThreadId, SyncId, std::uint64_t>, Phase> arrived_;
  std::map<SyncId, Clock> semaphores_;
  std::map<SyncId, Clock> onces_;
  std::map<SyncId, Clock> tags_;
  std::map<Address, std::vector<Head>> atomics_;
};

}  // namespace deadheat
