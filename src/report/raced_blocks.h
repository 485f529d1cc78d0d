// SPDX-License-Identifier: Apache-2.0
// RacedBlocks: in which blocks of the heap the races of a trace are.
//
// Detectors know no blocks, and a report names a race by the place where its block was allocated.
// So this reads the events beside the detector: it keeps the open calls of each thread and the
// latest allocation of each address, with the calls that led there, and asks them when a race was found.
// A block that was freed stays known until its memory is allocated again.
// Cost: a look at the kind of each event, a push or pop per call, a map entry per allocation.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "model/event.h"
#include "model/finding.h"

namespace deadheat {

class RacedBlocks {
 public:
  // The next events of the trace; `findings` are all so far, those by these events included.
  void add(std::span<const Event> events, std::span<const Finding> findings);

  // By finding; of the later ones nothing is known.
  [[nodiscard]] const std::vector<RacedBlock>& blocks() const { return blocks_; }

 private:
  struct Block {
    std::uint64_t size = 0;
    std::vector<SiteId> allocated;
  };

  std::vector<SiteId>& calls_of(ThreadId thread);
  void allocate(const Event& event);
  [[nodiscard]] RacedBlock block_at(Address address) const;

  std::uint64_t index_ = 0;
  std::vector<std::vector<SiteId>> calls_;  // by thread, outermost first
  std::map<Address, Block> alive_;
  std::vector<RacedBlock> blocks_;
};

}  // namespace deadheat
