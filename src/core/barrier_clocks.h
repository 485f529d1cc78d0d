// SPDX-License-Identifier: Apache-2.0
// BarrierClocks: every arrival at a phase happens before every leave of it.
//
// A phase gathers the clocks of its arrivals. Who arrived keeps hold of the
// phase until it leaves: by then the barrier may be at the next phase, or, as
// POSIX allows once one waiter has returned, be destroyed and its number in use
// by another barrier. A thread can be between arriving and leaving in two
// phases at once (std::barrier's tokens), never in more.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "core/sync_clock.h"
#include "model/identity.h"

namespace deadheat {

template <class Clocks>
class BarrierClocksOf {
 public:
  using Thread = typename Clocks::Thread;
  using Sync = typename Clocks::Sync;

  void arrive(Thread& thread, SyncId barrier, std::uint64_t phase) {
    Phase& current = current_[raw(barrier)];
    if (current.clock == nullptr || current.number != phase) current = {phase, std::make_shared<Sync>()};
    thread.release(*current.clock);
    std::vector<Phase>& mine = arrived_[{thread.id(), barrier}];
    if (mine.size() == 2) mine.erase(mine.begin());
    mine.push_back(current);
  }

  void leave(Thread& thread, SyncId barrier, std::uint64_t phase) {
    const auto mine = arrived_.find({thread.id(), barrier});
    if (mine == arrived_.end()) return;
    std::vector<Phase>& phases = mine->second;
    for (auto at = phases.begin(); at != phases.end(); ++at) {
      if (at->number != phase) continue;
      thread.acquire(*at->clock);
      phases.erase(at);
      break;
    }
    if (phases.empty()) arrived_.erase(mine);
  }

  void destroy(SyncId barrier) { current_.erase(raw(barrier)); }

 private:
  struct Phase {
    std::uint64_t number = 0;
    std::shared_ptr<Sync> clock;
  };

  FlatMap<Phase> current_;
  std::map<std::pair<ThreadId, SyncId>, std::vector<Phase>> arrived_;  // not yet left
};

using BarrierClocks = BarrierClocksOf<CopiedClocks<>>;

}  // namespace deadheat
