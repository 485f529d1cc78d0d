// SPDX-License-Identifier: Apache-2.0
// LiveFinding: a race of a running program, with everything that its process
// sent about it, in words and sites instead of addresses.
//
// It is a Finding with a dictionary of its own (thread numbers, lock addresses
// and names of one process mean nothing in another, and change within one), plus
// what only a live process knows: what the memory is, where the threads and
// locks came from. Stacks are lists of sites, innermost first, with inlined
// functions as frames of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/footprint.h"
#include "model/dictionary.h"
#include "model/finding.h"
#include "report/access_census.h"
#include "report/module_map.h"
#include "report/raw_packet_reader.h"
#include "report/symbolizer.h"

namespace deadheat {

using SiteStack = std::vector<SiteId>;

enum class MemoryClass : std::uint8_t { kUnknown, kGlobal, kHeap, kFreedHeap, kStack, kThreadLocal, kMapped };

struct MemoryPlace {
  MemoryClass kind = MemoryClass::kUnknown;
  Address begin = 0;
  std::uint64_t size = 0;
  std::string name;                // of a global
  std::string member;              // of a global, as far as its type is known: "Counter::n", "[3]"
  std::string module;              // of a global
  std::optional<ThreadId> thread;  // who allocated it, or whose stack it is
  SiteStack allocated;
  std::optional<ThreadId> freed_by;
  SiteStack freed;
};

// The part of it that a Finding has.
[[nodiscard]] RacedBlock block_of(const MemoryPlace& memory);

struct LiveThread {
  ThreadId id{};
  std::uint32_t system_id = 0;     // gettid(), 0 if it never ran
  std::optional<ThreadId> parent;  // none for the first thread and for roots
  bool is_main = false;
  bool is_finished = false;
  bool is_fiber = false;
  SiteStack created;
};

struct LiveLock {
  SyncId id{};
  Address address = 0;
  std::uint64_t serial = 0;
  SiteStack created;
};

struct LiveFinding {
  std::uint32_t process = 0;
  std::uint64_t id = 0;  // in its process
  Finding finding;
  Dictionary dictionary;
  MemoryPlace memory;
  Footprint later_sweep;  // of a loop that was checked as a whole; count 0: none
  std::vector<LiveThread> threads;
  std::vector<LiveLock> locks;  // those held by either side, and those that were counted, each once
  // Where each holding began, in the order of the side's locks.
  std::vector<SiteStack> earlier_acquired;
  std::vector<SiteStack> later_acquired;
  std::uint32_t counted = 0;             // the number of its counts, 0: none
  std::optional<AccessContext> context;  // a flag, if one is known, and what was counted so far
  std::string explanation;               // of a race that was read from its document: as it was explained then

  [[nodiscard]] const LiveThread* thread(ThreadId id_of_thread) const;
};

// Symbolises a packet of the given process. `modules` as they were when the
// packet was sent.
[[nodiscard]] LiveFinding make_live_finding(std::uint32_t process, const FindingPacket& packet,
                                            const ModuleMap& modules, Symbolizer& symbolizer);

// What its process counted of accesses to the memory of the race since.
void add_counts(LiveFinding& live, const CountsPacket& packet, const ModuleMap& modules, Symbolizer& symbolizer);

}  // namespace deadheat
