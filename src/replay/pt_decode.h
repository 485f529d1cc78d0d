// SPDX-License-Identifier: Apache-2.0
// Control flow from Intel PT: packets and code give the instructions that were executed.
//
// The trace of a processor is a row of runs: it is switched on where a traced program goes on, and off where the
// program enters the system, leaves the traced code or is interrupted. decode_runs() gives the runs as they are;
// decode_pt() joins those of one thread to its path. What cannot be decoded (lost packets, code that is not
// there) ends a run; decoding goes on at the next synchronisation point, and the next run says that something is
// missing before it. So does a branch that the program did not make itself: a signal handler begins a new piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "replay/code_space.h"
#include "trace/recording.h"

namespace deadheat::replay {

struct TraceRun {
  std::uint64_t offset = 0;         // of a packet that is part of it
  std::vector<std::uint64_t> code;  // addresses of executed instructions; may be empty
  std::uint64_t begin = 0;          // address of the first, or where it would have been
  // Where the program goes on if nothing else happened meanwhile; 0: not known. After a call or
  // jump out of the traced code that is not known: it may come back to the next instruction, but with other registers.
  std::uint64_t end = 0;
  bool is_interrupted = false;  // it ended between two instructions, by no doing of its own
  bool is_after_loss = false;   // something is missing before it
  // Time stamps, in ticks; 0: none. Its first instruction began after the first and before the second of these, and
  // its last ended after the third.
  std::uint64_t begin_ticks = 0;
  std::uint64_t begin_until = 0;
  std::uint64_t end_ticks = 0;
};

struct DecodedRuns {
  std::vector<TraceRun> runs;
  std::uint64_t instructions = 0;
  std::uint64_t errors = 0;     // each is a gap
  std::uint64_t overflows = 0;  // the processor itself lost packets
  std::string first_error;
};

// Never fails: bytes that are no PT data are no run, and one error.
[[nodiscard]] DecodedRuns decode_runs(std::span<const std::byte> packets, const CodeSpace& code,
                                      const TraceTiming& timing = {});

struct DecodedPath {
  std::vector<PathPiece> pieces;
  std::uint64_t instructions = 0;
  std::uint64_t errors = 0;
  std::uint64_t overflows = 0;
  std::string first_error;
};

// Of a trace that has one thread only.
[[nodiscard]] DecodedPath decode_pt(std::span<const std::byte> packets, const CodeSpace& code);

// Adds a run of a thread to its path, as a new piece where it does not continue the last one. `expected`: the end
// of the run before; 0: there is none that it could continue.
void append_run(TraceRun&& run, std::uint64_t expected, std::vector<PathPiece>& path);

struct PacketCounts {
  std::uint64_t tnt = 0;
  std::uint64_t tip = 0;
  std::uint64_t all = 0;
  std::uint64_t errors = 0;
};
// Without code: what a capture consists of.
[[nodiscard]] PacketCounts count_packets(std::span<const std::byte> packets);

}  // namespace deadheat::replay
