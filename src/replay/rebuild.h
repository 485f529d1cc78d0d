// SPDX-License-Identifier: Apache-2.0
// rebuild(): the accesses of one thread between and around its samples (ProRace, section 5).
//
// A sample says what all registers held at one moment. From there the program's own code is
// interpreted forward, with *unknown* as a value (machine_state.h), and backward: by what the next sample says
// of registers that were not written in between, and by undoing instructions that can be undone.
// With the control flow known, both go from each sample to the next, again until nothing new is
// found. Without it, forward replay follows a branch only if its condition is known, and backward replay stays in
// the basic block. A rebuilt address is therefore never a guess; what is not certain is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/code_space.h"
#include "replay/machine_state.h"
#include "trace/recording.h"

namespace deadheat::replay {

// How the address of an access came to be known.
enum class Origin : std::uint8_t {
  kSampled,  // the instruction at which the sample was taken
  kForward,
  kBackward,
  kPcRelative,  // from control flow alone
};

inline constexpr std::uint32_t kNoSample = ~0U;
inline constexpr std::uint64_t kNoPosition = ~0ULL;
inline constexpr std::uint32_t kNoFrame = ~0U;

// A function's frame: called from another one that the replay passed, or the frame of a sample, or of the so-many-th
// caller of that.
struct CallFrame {
  std::uint32_t parent = kNoFrame;  // in RebuiltThread::frames; kNoFrame: what follows is known instead
  std::uint64_t returns_to = 0;     // just behind the call
  std::uint32_t sample = kNoSample;
  std::uint32_t returned = 0;
};

struct RebuiltAccess {
  std::uint64_t code = 0;  // address of the instruction
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  bool is_write = false;   // an instruction that reads and writes gives two: the read first
  bool is_atomic = false;  // lock prefix or xchg
  bool is_stack = false;   // the address was computed from rsp, or from rbp as a frame pointer
  Origin origin = Origin::kSampled;
  std::uint32_t sample = 0;              // index of the sample it was rebuilt from; kNoSample: from the path alone
  std::int64_t distance = 0;             // in instructions from that sample; negative: before it
  std::uint64_t position = kNoPosition;  // on the thread's path, if that is known
  std::uint32_t frame = kNoFrame;        // in RebuiltThread::frames
};

struct RebuildOptions {
  // RaceZ: nothing beyond the basic block of the sample, forward and backward.
  bool is_single_block = false;
  bool has_backward = true;
  bool has_memory = true;              // emulate memory, not only registers
  std::uint32_t forward_limit = 2000;  // instructions from a sample, when the path is not known
  // Where threads were found to race: sorted, without overlaps. Their contents are never emulated, so that an address
  // that was computed from a racy value is rebuilt without it, or not at all (regeneration, section 5.1).
  std::vector<MemoryRange> racy;
};

struct RebuildCounts {
  std::uint64_t samples = 0;
  std::uint64_t instructions = 0;      // on the path, or interpreted
  std::uint64_t accesses_on_path = 0;  // that the known path has; 0 without one
  std::uint64_t rebuilt_register = 0;  // by addressing: through registers that were known,
  std::uint64_t rebuilt_pc_relative = 0;
  std::uint64_t rebuilt_memory = 0;  // through a register that was loaded from emulated memory
  std::uint64_t conflicts = 0;       // forward and backward disagreed: must stay 0
  // Emulated memory led to a contradiction, so somebody else had written there: rebuilt again without memory.
  std::uint64_t regenerated = 0;
};

struct RebuiltThread {
  std::vector<RebuiltAccess> accesses;  // in the order of execution as far as known; each once
  std::vector<CallFrame> frames;
  RebuildCounts counts;
};

// All of a thread; without samples, what its path alone tells (both numbers are 0 then). Work is proportional to
// samples, so callers split a thread by samples [first, last) to work in parallel; pieces put together are the whole.
[[nodiscard]] RebuiltThread rebuild(const CodeSpace& code, const RecordedThread& thread, std::size_t first_sample,
                                    std::size_t last_sample, const RebuildOptions& options = {});

}  // namespace deadheat::replay
