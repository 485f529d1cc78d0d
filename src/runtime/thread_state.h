// SPDX-License-Identifier: Apache-2.0
// ThreadState: what the runtime keeps per thread (or fiber), and how the current
// one is found.
//
// The few words that every hook touches are in ThreadLocal, in initial-exec TLS:
// a load from %fs. All else is behind a pointer. A thread that nobody announced
// (it existed before the runtime, or was made by clone) registers itself as a
// root at its first event: epoch 0 fails every fast check.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/pacer_clock.h"
#include "model/identity.h"
#include "runtime/page_source.h"

namespace deadheat::runtime {

using RuntimeClock = BasicVectorClock<PageSource>;
using RuntimeClocks = PacerClocks<PageSource>;  // who checks everything samples all the time
using RuntimeThreadClock = RuntimeClocks::Thread;
using RuntimeSyncClock = RuntimeClocks::Sync;

struct ThreadState;
struct OriginCacheEntry;
[[gnu::visibility("hidden")]] extern OriginCacheEntry no_origins[];
[[gnu::visibility("hidden")]] extern OriginCacheEntry no_stacks[];
struct Footprints;
[[gnu::visibility("hidden")]] extern Footprints no_footprints;

// One open call. `path` is a hash of the calls up to here, `context` their number,
// 0 as long as nobody asked for it. `is_blind` is 1 in calls whose accesses are not looked
// at (cold_sampling.h); code of the compiler pass does not know it.
struct Frame {
  Address call = 0;  // return address into the caller
  std::uint64_t path = 0;
  std::uint32_t context = 0;
  std::uint32_t is_blind = 0;
};

// Hashes of paths: of calls, and of locks held. They have 64 bits and stand for the
// whole path: that two of a thread's few hundred thousand agree is less likely
// than a machine error.
inline constexpr std::uint64_t kNoPath = 0x9e3779b97f4a7c15ULL;
[[nodiscard, gnu::always_inline]] constexpr std::uint64_t longer_path(std::uint64_t path, std::uint64_t element) {
  return (path ^ element) * 0xd6e8feb86659fd93ULL;
}

// The stack of a thread that is not registered: the lowest frame and no room.
[[gnu::visibility("hidden")]] extern Frame no_frames[1];

// The cells of a thread that is not registered, or has none: empty, and enough for
// one access of 64 bytes.
struct alignas(16) NoCells {
  std::uint64_t entries[32] = {};
};
[[gnu::visibility("hidden")]] extern NoCells no_cells;

// The members up to `progress` are known to the code that the compiler pass puts into
// programs (pass/inline_check.h), by their offsets and the symbol's name; so is
// Frame (pass/frames.cpp).
struct ThreadLocal {
  // Slot and clock where an entry of the shadow has them (core/cell_entry.h); 0
  // when every access must take the slow path (not registered, ignoring,
  // recording).
  std::uint64_t epoch_bits = 0;
  // The cell of an address, for that code, is ((address * 2) & cell_mask) ^ cell_key:
  // what cell_of() says once the thread is registered. Until then, and where
  // there is no shadow at all, every address has the same empty cell; in a call that is
  // not sampled the same cell that settles everything (cold_sampling.h).
  std::uint64_t cell_mask = 0;
  const void* cell_key = &no_cells;
  // Depth of RuntimeScope: greater than 0 means that intercepted functions were
  // called by ourselves and go straight to the real ones.
  std::uint32_t inside = 0;
  // One past the innermost open call. There is always one below, a frame that
  // stands for the empty stack. Between `bottom` and `limit` calls begin and end by moving
  // it; a thread whose calls are followed has no room (cold_sampling.h).
  Frame* top = no_frames + 1;
  Frame* bottom = no_frames + 1;
  Frame* limit = no_frames + 1;
  // As epoch_bits, for the second entry of a cell. They differ where no epoch is looked
  // for (unsampled.h).
  std::uint64_t second_epoch_bits = 0;
  // Not 0: accesses of the thread need not be looked at for the time being, because nothing
  // is recorded that they could race with, and nothing shall be. Code that has a version
  // without checks runs that (pass/two_versions.h). Set and reset by other threads
  // (sampling_control.cpp).
  std::uint64_t runs_unchecked = 0;
  // Not 0: an operation is under way that was let pass unseen because of that
  // (unchecked_code.h). Written by the thread itself, read by the controller.
  std::uint64_t unseen = 0;
  // Counts how far the program has got, alike in all versions of its code: instructions of
  // functions and loops, roughly, and locks that were taken (core/pace.h). Written likewise.
  std::uint64_t progress = 0;
  ThreadState* state = nullptr;
  // The origins that the thread used last (origins.h; an empty cache when every
  // access must take the slow path), and the path of the locks it holds.
  OriginCacheEntry* origins = no_origins;
  std::uint64_t locks = kNoPath;
  // The stacks that it asked for last.
  OriginCacheEntry* stacks = no_stacks;
  // What it has in hand of compressed shadow (footprints.h); likewise.
  Footprints* footprints = &no_footprints;
  // How often the thread has forgotten the history of memory, for what remembers that
  // a range is settled (abi_pass.cpp).
  std::uint64_t forgotten = 0;
  // Signals that arrived while `inside` was not 0 wait here; see intercept/signals.cpp.
  std::uint32_t pending_signals = 0;
};

static_assert(offsetof(ThreadLocal, cell_key) == 16 && offsetof(ThreadLocal, top) == 32 &&
              offsetof(ThreadLocal, bottom) == 40 && offsetof(ThreadLocal, limit) == 48 &&
              offsetof(ThreadLocal, second_epoch_bits) == 56 && offsetof(ThreadLocal, runs_unchecked) == 64 &&
              offsetof(ThreadLocal, unseen) == 72 && offsetof(ThreadLocal, progress) == 80);
static_assert(sizeof(Frame) == 24 && offsetof(Frame, path) == 8 && offsetof(Frame, context) == 16);

extern constinit thread_local ThreadLocal current __asm__("__deadheat_thread")
    __attribute__((tls_model("initial-exec"), visibility("default")));

// A call begins; false when there is no room for it.
[[nodiscard, gnu::always_inline]] inline bool push_frame(Address call) {
  Frame* const top = current.top;
  if (top == current.limit) [[unlikely]]
    return false;
  top->call = call;
  top->path = longer_path((top - 1)->path, call);
  top->context = 0;
  top->is_blind = 0;
  current.top = top + 1;
  return true;
}
// A call ends; false when none is known.
[[gnu::always_inline]] inline bool pop_frame() {
  if (current.top == current.bottom) [[unlikely]]
    return false;
  --current.top;
  return true;
}

// What is counted for a lock, and for a function that was built without the pass: about as many
// instructions as they take (pass/loop_progress.h).
inline constexpr std::uint64_t kProgressOfCall = 20;
inline void note_progress() {
  __atomic_store_n(&current.progress, current.progress + kProgressOfCall, __ATOMIC_RELAXED);
}

// The runtime is set up; interceptors pass through before.
extern std::atomic<bool> runtime_is_ready;

// Registers the current thread if need be.
[[nodiscard]] ThreadState& register_self();
[[nodiscard]] inline ThreadState& self() {
  if (current.state != nullptr) [[likely]]
    return *current.state;
  return register_self();
}

// Delivers what was deferred; called when the outermost scope ends and
// pending_signals is not 0.
void deliver_pending_signals();

// Marks "this thread is inside the runtime": intercepted functions pass through,
// signal handlers of the program wait until the end of the scope.
class RuntimeScope {
 public:
  RuntimeScope() { ++current.inside; }
  ~RuntimeScope() {
    if (--current.inside == 0 && current.pending_signals != 0) [[unlikely]]
      deliver_pending_signals();
  }
  RuntimeScope(const RuntimeScope&) = delete;
  RuntimeScope& operator=(const RuntimeScope&) = delete;
};

}  // namespace deadheat::runtime
