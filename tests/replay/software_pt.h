// SPDX-License-Identifier: Apache-2.0
// A source of Intel PT for machines that have none: encodes a known path as the processor would.
#pragma once

#include <intel-pt.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/instruction.h"

namespace deadheat::replay {

class SoftwarePt {
 public:
  explicit SoftwarePt(InstructionCache& cache) : cache_(cache) {}

  // A synchronisation point every that many instructions.
  std::vector<std::byte> encode(std::span<const std::uint64_t> path, std::uint64_t end, std::size_t interval) {
    buffer_.assign(path.size() * 12 + 4096, 0);
    pt_config config;
    pt_config_init(&config);
    config.begin = buffer_.data();
    config.end = buffer_.data() + buffer_.size();
    encoder_ = pt_alloc_encoder(&config);
    for (std::size_t index = 0; index < path.size(); ++index) {
      if (index % interval == 0) synchronise(path[index]);
      instruction(path[index], index + 1 < path.size() ? path[index + 1] : end);
    }
    flush();
    address(ppt_fup, end);
    put_suppressed();
    std::uint64_t size = 0;
    pt_enc_get_offset(encoder_, &size);
    pt_free_encoder(encoder_);
    const auto* bytes = reinterpret_cast<const std::byte*>(buffer_.data());
    return {bytes, bytes + size};
  }

 private:
  void put(const pt_packet& packet) { is_good_ &= pt_enc_next(encoder_, &packet) > 0; }

  void address(pt_packet_type type, std::uint64_t ip) {
    pt_packet packet{};
    packet.type = type;
    packet.payload.ip.ipc = pt_ipc_sext_48;
    packet.payload.ip.ip = ip;
    put(packet);
  }

  void put_suppressed() {
    pt_packet packet{};
    packet.type = ppt_tip_pgd;
    packet.payload.ip.ipc = pt_ipc_suppressed;
    put(packet);
  }

  void flush() {
    if (taken_count_ == 0) return;
    pt_packet packet{};
    packet.type = ppt_tnt_8;
    packet.payload.tnt.bit_size = static_cast<std::uint8_t>(taken_count_);
    packet.payload.tnt.payload = taken_;
    put(packet);
    taken_ = 0;
    taken_count_ = 0;
  }

  void synchronise(std::uint64_t ip) {
    flush();
    pt_packet packet{};
    packet.type = ppt_psb;
    put(packet);
    packet.type = ppt_mode;
    packet.payload.mode.leaf = pt_mol_exec;
    packet.payload.mode.bits.exec.csl = 1;
    put(packet);
    address(ppt_fup, ip);
    packet = {};
    packet.type = ppt_psbend;
    put(packet);
  }

  void instruction(std::uint64_t at, std::uint64_t next) {
    const Instruction* decoded = cache_.at(at);
    if (decoded == nullptr) return;
    switch (decoded->flow) {
      case Flow::kConditional:
        taken_ = taken_ << 1 | (next == decoded->next() ? 0U : 1U);
        if (++taken_count_ == 6) flush();
        break;
      case Flow::kJump:
      case Flow::kCall:
        if (decoded->target()) break;
        [[fallthrough]];
      case Flow::kReturn:
        flush();
        address(ppt_tip, next);
        break;
      case Flow::kSystemCall:
        flush();
        put_suppressed();
        address(ppt_tip_pge, next);
        break;
      default:
        break;
    }
  }

  InstructionCache& cache_;
  std::vector<std::uint8_t> buffer_;
  pt_encoder* encoder_ = nullptr;
  std::uint64_t taken_ = 0;
  unsigned taken_count_ = 0;
  bool is_good_ = true;
};

}  // namespace deadheat::replay
