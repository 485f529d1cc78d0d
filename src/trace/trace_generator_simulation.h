// SPDX-License-Identifier: Apache-2.0
// The simulated program behind TraceGenerator: its threads, its objects, and
// the steps a thread may take. Internal to the generator.
//
//   trace_generator_setup.cpp     lays out memory, locks and names
//   trace_generator.cpp           scheduling and winding down
//   trace_generator_memory.cpp    plain and atomic accesses, fences, heap
//   trace_generator_sync.cpp      locks, conditions, barriers, semaphores, ...
//   trace_generator_threads.cpp   threads, calls, sampling, annotations
//
// Each step function either writes one event and changes the state to match,
// returning true, or finds that the step is not legal now, changes nothing that
// matters, and returns false; the scheduler then tries another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "trace/trace_generator.h"
#include "trace/trace_generator_permissions.h"

namespace deadheat {

namespace generator {

enum class Activity : std::uint8_t {
  kAbsent,     // no thread has this slot
  kReady,      // may take any step
  kWaiting,    // in a condition wait
  kAtBarrier,  // has arrived, has not left
  kExited,     // waits to be joined
};

struct HeldLock {
  LockIndex lock = 0;
  LockMode mode = LockMode::kExclusive;
  std::uint16_t depth = 1;
};

// A planned step of a message-passing idiom, see step_atomic.
struct Intent {
  EventKind kind = EventKind::kRead;  // kRead: any plain access; kWrite: preferably to what can be passed on
  MemoryOrder order = MemoryOrder::kRelaxed;
  std::uint32_t atomic = 0;
};

struct Thread {
  ThreadId id{};
  Activity activity = Activity::kAbsent;
  bool joinable = false;
  bool leaving = false;  // on its way to ThreadExit
  bool sampling = false;
  std::uint32_t open_calls = 0;
  std::vector<HeldLock> held;
  std::vector<Ignore> ignores;
  LockIndex wait_mutex = 0;       // kWaiting
  std::uint32_t wait_object = 0;  // kWaiting: condition; kAtBarrier: barrier
  std::uint64_t wait_phase = 0;   // kAtBarrier
  std::array<Intent, 4> script{};
  std::uint32_t script_length = 0;
  std::uint32_t script_position = 0;
  Mailbox fenced;  // parked by a release fence
  Mailbox unread;  // parked by a relaxed load
  // The current run of neighbouring accesses.
  ItemIndex run_item = 0;
  std::uint32_t run_left = 0;
  std::uint64_t cursor = 0;
};

struct Lock {
  Slot owner = kNobody;  // exclusive
  std::uint32_t readers = 0;
  std::uint32_t waiters = 0;  // condition waits that will reacquire it
  bool is_shared = false;
  bool is_recursive = false;
  std::vector<ItemIndex> items;  // guarded by it
};

struct Condition {
  std::uint32_t waiters = 0;
  LockIndex mutex = 0;  // of the waiters
};

struct BarrierPhase {
  std::uint32_t inside = 0;  // arrived and not left
  std::uint32_t wanted = 0;  // arrivals after which it closes by itself
  Mailbox mail;
};

// Two phases at once: the fast threads may arrive at the next one while the
// slow ones have not left the previous one.
struct Barrier {
  std::uint64_t phase = 0;  // the one that gathers arrivals
  std::array<BarrierPhase, 2> phases;
};

struct Semaphore {
  std::uint64_t count = 0;
  Mailbox mail;
};

struct Once {
  bool done = false;
  Mailbox mail;
};

struct AtomicVariable {
  Address address = 0;
  std::uint64_t size = 8;
  Mailbox mail;
};

struct Block {
  Address address = 0;
  std::uint64_t capacity = 0;
  ItemIndex item = 0;
};

enum class Family : std::uint8_t {
  kAccess,
  kAtomic,
  kFence,
  kLock,
  kCondition,
  kBarrier,
  kSemaphore,
  kOnce,
  kThread,
  kMemory,
  kCall,
  kSampling,
  kAnnotation,
  kDestroy,
};

enum class SyncFamily : std::uint8_t { kLock, kCondition, kBarrier, kSemaphore, kOnce, kTag };

// What a thread may do to an item now.
enum class Permission : std::uint8_t { kNone, kRead, kWrite };

}  // namespace generator

class TraceGenerator::Simulation {
 public:
  explicit Simulation(const GeneratorOptions& options);

  bool next(Event& event);
  [[nodiscard]] const Dictionary& dictionary() const { return dictionary_; }

 private:
  using Slot = generator::Slot;
  using Thread = generator::Thread;
  using ItemIndex = generator::ItemIndex;
  using LockIndex = generator::LockIndex;
  using Mailbox = generator::Mailbox;
  using Permission = generator::Permission;

  // trace_generator_setup.cpp
  void lay_out_memory();
  void lay_out_single_variables(Address& place);
  void lay_out_groups(Address& place);
  void add_item(generator::Item item, Address& place, const std::string& name);
  void set_up_locks();
  void fill_family_table();
  void name_things();
  void name_thread(ThreadId thread);

  // trace_generator.cpp
  bool step(Slot slot, Event& event);
  bool step_ready(Slot slot, Event& event);
  bool take_step(generator::Family family, Slot slot, Event& event);
  bool wind_down(Event& event);
  // One event that brings the thread closer to holding nothing and doing nothing.
  bool unwind(Slot slot, Event& event);

  // trace_generator_memory.cpp
  bool step_access(Slot slot, Event& event);
  bool step_atomic(Slot slot, Event& event);
  bool prepare_message(Slot slot, Event& event);
  bool step_fence(Slot slot, Event& event);
  bool step_memory(Slot slot, Event& event);
  bool run_script(Slot slot, Event& event);
  void plan_idiom(Thread& thread);
  void emit_lawless_access(Slot slot, Event& event);
  void emit_access(Slot slot, ItemIndex item, Permission permission, Event& event);
  bool emit_atomic_on_item(Slot slot, Event& event);
  void emit_atomic(Slot slot, EventKind kind, MemoryOrder order, std::uint32_t atomic, Event& event);
  void emit_fence(Slot slot, MemoryOrder order, Event& event);
  // Makes the item the thread's next choice: what just came into its hands is
  // what its former holder used, so the edge in between gets to matter.
  void turn_to(Thread& thread, ItemIndex item);
  std::uint32_t pick_atomic_with_mail();
  bool pick_item(Slot slot, ItemIndex& item, Permission& permission);
  [[nodiscard]] Permission permission_for(Slot slot, ItemIndex item) const;
  void pick_range(Thread& thread, Address begin, std::uint64_t extent, Address& address, std::uint64_t& size);
  MemoryOrder pick_order(EventKind kind);

  // trace_generator_sync.cpp
  bool step_lock(Slot slot, Event& event);
  bool step_condition(Slot slot, Event& event);
  bool step_barrier(Slot slot, Event& event);
  bool step_semaphore(Slot slot, Event& event);
  bool step_once(Slot slot, Event& event);
  bool step_destroy(Slot slot, Event& event);
  bool acquire_lock(Slot slot, LockIndex lock, Event& event);
  void release_lock(Slot slot, std::size_t position, Event& event);
  bool end_wait(Slot slot, Event& event);
  bool leave_barrier(Slot slot, Event& event);
  bool forget_lock(LockIndex lock);

  // trace_generator_threads.cpp
  bool step_thread(Slot slot, Event& event);
  bool step_call(Slot slot, Event& event);
  bool step_sampling(Slot slot, Event& event);
  bool step_annotation(Slot slot, Event& event);
  bool step_ignore(Slot slot, Event& event);
  bool fork(Slot slot, Event& event);
  bool start_root(Event& event);
  bool join(Slot slot, Event& event);
  bool detach(Slot slot, Event& event);
  bool exit_thread(Slot slot, Event& event);
  bool create_thread(Slot& slot);
  [[nodiscard]] bool may_add_unjoinable() const;
  void bury(Slot slot);

  [[nodiscard]] Thread& thread_at(Slot slot) { return threads_[slot]; }
  [[nodiscard]] SyncId sync_id(generator::SyncFamily family, std::uint32_t index) const;
  [[nodiscard]] SiteId pick_site(const Event& event);
  [[nodiscard]] std::uint32_t pick(std::size_t bound) { return static_cast<std::uint32_t>(random_.below(bound)); }
  // Whether this step may ignore the discipline.
  [[nodiscard]] bool is_lawless() { return options_.race_density > 0 && random_.chance(options_.race_density); }
  [[nodiscard]] static bool ignores_sync(const Thread& thread);

  GeneratorOptions options_;
  Random random_;
  Dictionary dictionary_;
  generator::Permissions permissions_;
  std::vector<Thread> threads_;  // by slot
  std::vector<Slot> live_;       // neither absent nor exited
  std::vector<Slot> exited_;     // to be joined
  std::uint32_t ready_ = 0;      // live threads in Activity::kReady
  std::uint32_t next_thread_ = 0;
  std::vector<generator::Lock> locks_;
  std::vector<generator::Condition> conditions_;
  std::vector<generator::Barrier> barriers_;
  std::vector<generator::Semaphore> semaphores_;
  std::vector<generator::Once> onces_;
  std::vector<Mailbox> tags_;
  std::vector<generator::AtomicVariable> atomics_;
  std::vector<generator::Block> blocks_;
  Address span_begin_ = 0;  // all memory of the program
  Address span_end_ = 0;
  std::array<generator::Family, 4096> families_{};  // drawn from uniformly
  std::uint32_t early_forks_ = 0;
  Slot current_ = 0;
  std::uint64_t emitted_ = 0;
  bool winding_down_ = false;
};

}  // namespace deadheat
