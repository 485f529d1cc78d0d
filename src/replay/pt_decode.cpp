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

pt_config config_for(std::span<const std::byte> packets, const TraceTiming& timing = {}) {
  pt_config config;
  pt_config_init(&config);
  // The library does not write to it.
  config.begin = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(packets.data()));
  config.end = config.begin + packets.size();
  if (timing.ratio_divisor != 0) {
    config.mtc_freq = static_cast<std::uint8_t>(timing.mtc_period);
    config.nom_freq = static_cast<std::uint8_t>(timing.nominal_frequency);
    config.cpuid_0x15_eax = static_cast<std::uint32_t>(timing.ratio_divisor);
    config.cpuid_0x15_ebx = static_cast<std::uint32_t>(timing.counter_ratio);
  }
  return config;
}

class Decoding {
 public:
  explicit Decoding(const CodeSpace& code) : image_(pt_image_alloc(nullptr), &pt_image_free) {
    if (image_) pt_image_set_callback(image_.get(), &read_code, const_cast<CodeSpace*>(&code));
  }

  DecodedRuns run(std::span<const std::byte> packets, const TraceTiming& timing);

 private:
  void follow(int status);
  [[nodiscard]] int take_events(int status);
  void note(const pt_event& event);
  void fail(int status);
  void add(const pt_insn& instruction);
  // A run is open from its first event or instruction until one that ends it.
  TraceRun& open_run(std::uint64_t begin);
  void end_run(std::uint64_t end, bool is_interrupted);
  [[nodiscard]] std::uint64_t ticks_of(const pt_event& event) const { return event.has_tsc != 0 ? event.tsc : 0; }

  std::unique_ptr<pt_image, decltype(&pt_image_free)> image_;
  std::unique_ptr<pt_insn_decoder, decltype(&pt_insn_free_decoder)> decoder_{nullptr, &pt_insn_free_decoder};
  DecodedRuns result_;
  bool is_open_ = false;
  bool is_after_loss_ = true;
  std::uint64_t ticks_ = 0;  // the last that was told
  std::uint64_t next_ = 0;   // after the last instruction
  bool is_last_call_of_system_ = false;
};

TraceRun& Decoding::open_run(std::uint64_t begin) {
  if (!is_open_) {
    TraceRun& run = result_.runs.emplace_back();
    run.begin = begin;
    run.is_after_loss = is_after_loss_;
    run.begin_ticks = ticks_;
    run.end_ticks = ticks_;
    (void)pt_insn_get_offset(decoder_.get(), &run.offset);
    is_open_ = true;
    is_after_loss_ = false;
  }
  return result_.runs.back();
}

void Decoding::end_run(std::uint64_t end, bool is_interrupted) {
  if (!is_open_) return;
  TraceRun& run = result_.runs.back();
  run.end = end;
  run.is_interrupted = is_interrupted;
  run.end_ticks = ticks_;
  is_open_ = false;
}

void Decoding::fail(int status) {
  ++result_.errors;
  if (result_.first_error.empty()) result_.first_error = pt_errstr(pt_errcode(status));
  end_run(0, false);
  is_after_loss_ = true;
}

void Decoding::add(const pt_insn& instruction) {
  TraceRun& run = open_run(instruction.ip);
  run.code.push_back(instruction.ip);
  ++result_.instructions;
  if (run.begin_until == 0) {
    std::uint64_t now = 0;
    if (pt_insn_time(decoder_.get(), &now, nullptr, nullptr) >= 0 && now > run.begin_ticks) run.begin_until = now;
  }
  next_ = instruction.ip + instruction.size;
  is_last_call_of_system_ = instruction.iclass == ptic_far_call;
}

void Decoding::note(const pt_event& event) {
  if (ticks_of(event) != 0) ticks_ = ticks_of(event);
  if (event.status_update != 0) return;
  switch (event.type) {
    case ptev_overflow:
      ++result_.overflows;
      end_run(0, false);
      is_after_loss_ = true;
      break;
    case ptev_async_branch:
      end_run(event.variant.async_branch.from, true);
      break;
    case ptev_async_disabled:
      end_run(event.variant.async_disabled.at, true);
      break;
    case ptev_disabled:
      end_run(is_last_call_of_system_ ? next_ : 0, false);
      break;
    case ptev_enabled:
      end_run(0, false);
      (void)open_run(event.variant.enabled.ip);
      break;
    default:
      break;
  }
}

int Decoding::take_events(int status) {
  while (status >= 0 && (status & pts_event_pending) != 0) {
    pt_event event;
    status = pt_insn_event(decoder_.get(), &event, sizeof event);
    if (status >= 0) note(event);
  }
  return status;
}

// From one synchronisation point to the end or the next error.
void Decoding::follow(int status) {
  for (;;) {
    status = take_events(status);
    if (status < 0) break;
    if ((status & pts_eos) != 0) return;
    pt_insn instruction;
    status = pt_insn_next(decoder_.get(), &instruction, sizeof instruction);
    if (status < 0) break;
    if (instruction.iclass != ptic_error) add(instruction);
  }
  if (status != -pte_eos) fail(status);
}

DecodedRuns Decoding::run(std::span<const std::byte> packets, const TraceTiming& timing) {
  if (packets.empty()) return std::move(result_);
  const pt_config config = config_for(packets, timing);
  decoder_.reset(pt_insn_alloc_decoder(&config));
  if (!decoder_ || !image_ || pt_insn_set_image(decoder_.get(), image_.get()) < 0) {
    fail(-pte_nomem);
    return std::move(result_);
  }
  bool has_synchronised = false;
  for (;;) {
    const int status = pt_insn_sync_forward(decoder_.get());
    if (status < 0) {
      if (status != -pte_eos || !has_synchronised) fail(status);
      break;
    }
    std::uint64_t offset = 0;
    const bool is_beginning = !has_synchronised && pt_insn_get_sync_offset(decoder_.get(), &offset) >= 0 && offset == 0;
    if (is_beginning) is_after_loss_ = false;
    has_synchronised = true;
    follow(status);
    end_run(0, false);
    is_after_loss_ = true;
  }
  return std::move(result_);
}

}  // namespace

DecodedRuns decode_runs(std::span<const std::byte> packets, const CodeSpace& code, const TraceTiming& timing) {
  return Decoding(code).run(packets, timing);
}

void append_run(TraceRun&& run, std::uint64_t expected, std::vector<PathPiece>& path) {
  if (run.code.empty()) return;
  if (!path.empty() && !run.is_after_loss && expected != 0 && run.begin == expected) {
    auto& code = path.back().code;
    code.insert(code.end(), run.code.begin(), run.code.end());
    return;
  }
  PathPiece piece;
  if (!path.empty()) piece.first_position = path.back().first_position + path.back().code.size();
  piece.code = std::move(run.code);
  piece.is_after_gap = true;
  path.push_back(std::move(piece));
}

DecodedPath decode_pt(std::span<const std::byte> packets, const CodeSpace& code) {
  DecodedRuns decoded = decode_runs(packets, code);
  DecodedPath path{{}, decoded.instructions, decoded.errors, decoded.overflows, decoded.first_error};
  std::uint64_t expected = 0;
  for (TraceRun& run : decoded.runs) {
    const std::uint64_t end = run.end;
    append_run(std::move(run), expected, path.pieces);
    expected = end;
  }
  return path;
}

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
