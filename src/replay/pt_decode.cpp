// SPDX-License-Identifier: Apache-2.0
#include "replay/pt_decode.h"

#include <intel-pt.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace deadheat::replay {
namespace {

int read_code(std::uint8_t* buffer, std::size_t size, const pt_asid* /*space*/, std::uint64_t address, void* context) {
  const auto bytes = static_cast<const CodeSpace*>(context)->bytes_at(address);
  if (bytes.empty()) return -pte_nomap;
  const std::size_t count = std::min(size, bytes.size());
  std::memcpy(buffer, bytes.data(), count);
  return static_cast<int>(count);
}

pt_config config_for(std::span<const std::byte> packets) {
  pt_config config;
  pt_config_init(&config);
  // The library does not write to it.
  config.begin = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(packets.data()));
  config.end = config.begin + packets.size();
  return config;
}

class Decoding {
 public:
  explicit Decoding(const CodeSpace& code) : image_(pt_image_alloc(nullptr), &pt_image_free) {
    if (image_) pt_image_set_callback(image_.get(), &read_code, const_cast<CodeSpace*>(&code));
  }

  DecodedPath run(std::span<const std::byte> packets);

 private:
  void follow(pt_insn_decoder* decoder, int status);
  [[nodiscard]] int take_events(pt_insn_decoder* decoder, int status);
  void note(const pt_event& event);
  void fail(int status);
  void add(const pt_insn& instruction);

  std::unique_ptr<pt_image, decltype(&pt_image_free)> image_;
  DecodedPath path_;
  bool begins_piece_ = true;
  std::uint64_t expected_ = 0;  // where tracing must resume to be without a gap
};

void Decoding::fail(int status) {
  ++path_.errors;
  if (path_.first_error.empty()) path_.first_error = pt_errstr(pt_errcode(status));
  begins_piece_ = true;
}

void Decoding::add(const pt_insn& instruction) {
  if (begins_piece_) {
    path_.pieces.emplace_back();
    path_.pieces.back().first_position = path_.instructions;
    path_.pieces.back().is_after_gap = true;
    begins_piece_ = false;
  }
  path_.pieces.back().code.push_back(instruction.ip);
  ++path_.instructions;
  expected_ = instruction.ip + instruction.size;
}

void Decoding::note(const pt_event& event) {
  if (event.status_update != 0) return;
  switch (event.type) {
    case ptev_overflow:
      ++path_.overflows;
      begins_piece_ = true;
      break;
    case ptev_async_branch:
      begins_piece_ = true;
      break;
    case ptev_async_disabled:
      expected_ = event.variant.async_disabled.at;
      break;
    case ptev_enabled:
      if (event.variant.enabled.resumed == 0 && event.variant.enabled.ip != expected_) begins_piece_ = true;
      break;
    default:
      break;
  }
}

int Decoding::take_events(pt_insn_decoder* decoder, int status) {
  while (status >= 0 && (status & pts_event_pending) != 0) {
    pt_event event;
    status = pt_insn_event(decoder, &event, sizeof event);
    if (status >= 0) note(event);
  }
  return status;
}

// From one synchronisation point to the end or the next error.
void Decoding::follow(pt_insn_decoder* decoder, int status) {
  for (;;) {
    status = take_events(decoder, status);
    if (status < 0) break;
    if ((status & pts_eos) != 0) return;
    pt_insn instruction;
    status = pt_insn_next(decoder, &instruction, sizeof instruction);
    if (status < 0) break;
    if (instruction.iclass != ptic_error) add(instruction);
  }
  if (status != -pte_eos) fail(status);
}

DecodedPath Decoding::run(std::span<const std::byte> packets) {
  if (packets.empty()) return std::move(path_);
  const pt_config config = config_for(packets);
  const std::unique_ptr<pt_insn_decoder, decltype(&pt_insn_free_decoder)> decoder(pt_insn_alloc_decoder(&config),
                                                                                  &pt_insn_free_decoder);
  if (!decoder || !image_ || pt_insn_set_image(decoder.get(), image_.get()) < 0) {
    fail(-pte_nomem);
    return std::move(path_);
  }
  bool has_synchronised = false;
  for (;;) {
    const int status = pt_insn_sync_forward(decoder.get());
    if (status < 0) {
      if (status != -pte_eos || !has_synchronised) fail(status);
      break;
    }
    has_synchronised = true;
    follow(decoder.get(), status);
  }
  return std::move(path_);
}

}  // namespace

DecodedPath decode_pt(std::span<const std::byte> packets, const CodeSpace& code) { return Decoding(code).run(packets); }

PacketCounts count_packets(std::span<const std::byte> packets) {
  PacketCounts counts;
  if (packets.empty()) return counts;
  const pt_config config = config_for(packets);
  const std::unique_ptr<pt_packet_decoder, decltype(&pt_pkt_free_decoder)> decoder(pt_pkt_alloc_decoder(&config),
                                                                                   &pt_pkt_free_decoder);
  if (!decoder) return counts;
  while (pt_pkt_sync_forward(decoder.get()) >= 0) {
    for (;;) {
      pt_packet packet;
      const int status = pt_pkt_next(decoder.get(), &packet, sizeof packet);
      if (status < 0) {
        if (status != -pte_eos) ++counts.errors;
        break;
      }
      ++counts.all;
      if (packet.type == ppt_tnt_8 || packet.type == ppt_tnt_64) ++counts.tnt;
      if (packet.type == ppt_tip) ++counts.tip;
    }
  }
  return counts;
}

}  // namespace deadheat::replay
