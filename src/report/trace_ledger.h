// SPDX-License-Identifier: Apache-2.0
// TraceLedger: makes a trace that keeps the rules out of what a program did.
//
// Problem: the runtime records what its detector did, and programs do what no rule
// of a trace allows: a thread gives up another's mutex, memory is unmapped by
// halves or comes back without having been freed, a lock dies with its memory while
// it is held, a once flag is used again, a signal handler runs while its thread
// waits for a condition. A checker must go on refusing such traces, because in
// others they are damage.
// Method: the ledger keeps what a checker would believe (trace_checker.h) and puts
// events in front of one that would be refused, so that it is allowed. What it adds
// orders and accesses nothing, because it stands between an IgnoreBegin and an
// IgnoreEnd: an acquire or release with synchronisation ignored, a free with
// writes ignored. So every detector sees the same races as if it had believed the
// program.
//   Locks       A holder that the program has forgotten gives the lock up silently;
//               who releases what it does not hold acquires it silently before.
//   Conditions  A wait is a release of the mutex and an acquire: a handler may do
//               anything in between.
//   Memory      What is allocated over something alive ends that silently; a free
//               of a part, or of several, ends all of them silently and is then a
//               free of memory that nobody allocated. The synchronisation objects
//               in memory end with it.
//   Once, tags  A second completion, and an observation without one, go through a
//               tag (HappensBefore, HappensAfter). Tags have no end in a trace, so
//               the number of one that has ended is never used again.
//   Barriers    Who is slow to leave, while others are two phases further, leaves
//               earlier: it has done nothing since it arrived.
//   Threads     One that nobody forked is a root; a second detach is dropped.
//   Sizes       Accesses are cut where they are longer than a trace allows, blocks
//               where they are longer than the reference detector walks.
// Cost: a few map operations per event that is not an access.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/event.h"
#include "model/identity.h"

namespace deadheat {

class TraceLedger {
 public:
  // Appends what stands for the event of the runtime (raw_report.h) in the trace.
  void add(const Event& event, std::vector<Event>& out);

 private:
  struct ThreadEntry {
    bool is_known = false;
    bool is_detached = false;
    bool has_ended = false;
    std::uint32_t ignored[3] = {};  // reads, writes, synchronisation
  };
  struct Holder {
    ThreadId thread{};
    std::uint16_t depth = 0;
  };
  struct LockEntry {
    LockMode mode = LockMode::kExclusive;
    std::vector<Holder> holders;
  };
  struct BarrierEntry {
    std::set<std::pair<std::uint64_t, ThreadId>> arrivals;  // by phase: who has not left
  };
  // Of one address, whatever the program uses it for.
  struct SyncEntry {
    bool is_other = false;  // barrier, semaphore, once flag
    bool is_completed = false;
    std::uint64_t tag = 0;  // its number in the trace; 0: none
    bool had_tag = false;   // another, which has ended
    BarrierEntry barrier;
  };

  void begin_thread(const Event& event);
  void silently(ThreadId thread, Ignore what, const Event& event);

  void acquire(Event event);
  void release(Event event);
  void acquire_silently(ThreadId thread, SyncId lock, LockMode mode);
  void release_silently(LockEntry& entry, SyncId lock, const Holder& holder);
  void take_from_others(LockEntry& entry, SyncId lock, ThreadId thread, LockMode mode);

  void arrive(const Event& event);
  void leave(const Event& event);
  void complete(const Event& event);
  void observe(const Event& event);
  void use_tag(Event event);
  void end_object(const Event& event);
  void end_lock(ThreadId thread, SyncId lock);
  void end_others(ThreadId thread, std::map<std::uint64_t, SyncEntry>::iterator at);
  void end_objects_in(ThreadId thread, Address begin, std::uint64_t size);

  void allocate(const Event& event);
  void free_memory(const Event& event);
  // Ends, silently, what is alive in the range; false if that is nothing but the
  // range itself, which is left alone.
  bool end_blocks_in(ThreadId thread, Address begin, std::uint64_t size);

  void load(const Event& event);
  void access(const Event& event);
  void end_ignoring(Event event);
  void detach(const Event& event);

  void emit(const Event& event) { out_->push_back(event); }

  std::vector<Event>* out_ = nullptr;  // while in add()
  bool is_begun_ = false;
  std::uint64_t later_tags_ = 0;
  std::unordered_map<std::uint32_t, ThreadEntry> threads_;
  std::map<std::uint64_t, LockEntry> locks_;    // by address
  std::map<std::uint64_t, SyncEntry> objects_;  // by address; locks not among them
  std::unordered_set<Address> atomics_;         // that somebody published through
  std::map<Address, std::uint64_t> blocks_;     // alive: size by first address
};

}  // namespace deadheat
