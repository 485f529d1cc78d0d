// SPDX-License-Identifier: Apache-2.0
// SoftwarePt: Intel PT for machines that have none. Encodes what a processor executed as the processor would have.
//
// The caller tells instruction by instruction; packets are libipt's. Like a processor with an address filter for user
// code and without compressed returns, it writes a bit for each conditional branch, an address for each indirect
// one, and where tracing goes on and off, with full time stamps.
#pragma once

#include <intel-pt.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "replay/instruction.h"

namespace deadheat::replay {

class SoftwarePt {
 public:
  explicit SoftwarePt(InstructionCache& cache);

  // Whether it is on: between resume() and what ends that.
  [[nodiscard]] bool is_on() const { return is_on_; }
  // A point at which decoding can begin. On: `ip` comes next.
  void synchronise(std::uint64_t ip);
  void stamp(std::uint64_t ticks);
  void resume(std::uint64_t ip);
  // On: executed `at`, and goes on to `next` which is traced as well.
  void execute(std::uint64_t at, std::uint64_t next);
  // On: executed a branch out of the traced code.
  void leave(std::uint64_t to);
  // On: stopped before the instruction at `ip`.
  void interrupt(std::uint64_t ip);
  // The packets since the last time.
  [[nodiscard]] std::vector<std::byte> take();

  // A path from its beginning to `end`, with a synchronisation point every that many instructions.
  [[nodiscard]] std::vector<std::byte> encode(std::span<const std::uint64_t> path, std::uint64_t end,
                                              std::size_t interval);

 private:
  void put(const pt_packet& packet);
  void put_address(pt_packet_type type, std::uint64_t ip);
  void put_off();
  void flush();

  InstructionCache& cache_;
  std::vector<std::byte> packets_;
  std::uint64_t taken_ = 0;  // branches, the last in the lowest bit
  unsigned taken_count_ = 0;
  bool is_on_ = false;
};

}  // namespace deadheat::replay
