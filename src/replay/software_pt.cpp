// SPDX-License-Identifier: Apache-2.0
#include "replay/software_pt.h"

#include <array>
#include <utility>

namespace deadheat::replay {

SoftwarePt::SoftwarePt(InstructionCache& cache) : cache_(cache) {}

void SoftwarePt::put(const pt_packet& packet) {
  std::array<std::uint8_t, 64> room{};
  pt_config config;
  pt_config_init(&config);
  config.begin = room.data();
  config.end = room.data() + room.size();
  const std::unique_ptr<pt_encoder, decltype(&pt_free_encoder)> encoder(pt_alloc_encoder(&config), &pt_free_encoder);
  const int size = encoder ? pt_enc_next(encoder.get(), &packet) : 0;
  for (int index = 0; index < size; ++index) packets_.push_back(std::byte{room[static_cast<std::size_t>(index)]});
}

void SoftwarePt::put_address(pt_packet_type type, std::uint64_t ip) {
  pt_packet packet{};
  packet.type = type;
  packet.payload.ip.ipc = pt_ipc_sext_48;
  packet.payload.ip.ip = ip;
  put(packet);
}

void SoftwarePt::put_off() {
  pt_packet packet{};
  packet.type = ppt_tip_pgd;
  packet.payload.ip.ipc = pt_ipc_suppressed;
  put(packet);
  is_on_ = false;
}

void SoftwarePt::flush() {
  if (taken_count_ == 0) return;
  pt_packet packet{};
  packet.type = ppt_tnt_8;
  packet.payload.tnt.bit_size = static_cast<std::uint8_t>(taken_count_);
  packet.payload.tnt.payload = taken_;
  put(packet);
  taken_ = 0;
  taken_count_ = 0;
}

void SoftwarePt::synchronise(std::uint64_t ip) {
  flush();
  pt_packet packet{};
  packet.type = ppt_psb;
  put(packet);
  packet = {};
  packet.type = ppt_mode;
  packet.payload.mode.leaf = pt_mol_exec;
  packet.payload.mode.bits.exec.csl = 1;
  put(packet);
  if (is_on_) put_address(ppt_fup, ip);
  packet = {};
  packet.type = ppt_psbend;
  put(packet);
}

void SoftwarePt::stamp(std::uint64_t ticks) {
  flush();
  pt_packet packet{};
  packet.type = ppt_tsc;
  packet.payload.tsc.tsc = ticks & ((1ULL << 56U) - 1);
  put(packet);
}

void SoftwarePt::resume(std::uint64_t ip) {
  put_address(ppt_tip_pge, ip);
  is_on_ = true;
}

void SoftwarePt::execute(std::uint64_t at, std::uint64_t next) {
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
      put_address(ppt_tip, next);
      break;
    case Flow::kSystemCall:
      flush();
      put_off();
      resume(next);
      break;
    default:
      break;
  }
}

void SoftwarePt::leave(std::uint64_t to) {
  flush();
  put_address(ppt_tip_pgd, to);
  is_on_ = false;
}

void SoftwarePt::interrupt(std::uint64_t ip) {
  flush();
  put_address(ppt_fup, ip);
  put_off();
}

std::vector<std::byte> SoftwarePt::take() {
  flush();
  return std::exchange(packets_, {});
}

std::vector<std::byte> SoftwarePt::encode(std::span<const std::uint64_t> path, std::uint64_t end,
                                          std::size_t interval) {
  is_on_ = true;
  for (std::size_t index = 0; index < path.size(); ++index) {
    if (index % interval == 0) synchronise(path[index]);
    execute(path[index], index + 1 < path.size() ? path[index + 1] : end);
  }
  interrupt(end);
  return take();
}

}  // namespace deadheat::replay
