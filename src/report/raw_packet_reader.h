// SPDX-License-Identifier: Apache-2.0
// Packets of runtime/raw_report.h, taken apart.
//
// The bytes come from the process under test: it may have overwritten its own
// memory before it sent them, it may have been killed in the middle of writing a
// file, and anybody may hand us any file. So every count, index, size and
// enumerator is checked here, once; whoever holds a parsed packet may index its
// arrays by its numbers without looking again. Text is bounded by its field and
// not yet safe for a terminal: see printable() in describe.h.
//
// Cost: one copy of the packet's arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/event.h"
#include "runtime/raw_report.h"

namespace deadheat {

struct HelloPacket {
  std::uint32_t parent_process = 0;
  std::string program;
};

struct RawModule {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // not below begin
  std::uint64_t load_bias = 0;
  std::string path;
};
struct ModulesPacket {
  std::vector<RawModule> modules;
};

// Every Stack lies within `code`, every LockList within `locks`, every thread
// index within `threads` or is kNoThread where that is allowed (memory only).
struct FindingPacket {
  raw_report::Finding finding;
  std::vector<raw_report::Thread> threads;
  std::vector<raw_report::Lock> locks;
  std::vector<std::uint64_t> code;
  std::optional<raw_report::Flag> flag;
};

// As FindingPacket; no lock was held by more accesses than there were.
struct CountsPacket {
  raw_report::Counts counts;
  std::vector<raw_report::CountedLock> locks;
  std::vector<std::uint64_t> code;
};

struct NoticePacket {
  std::string text;
};

// The lines are not parsed yet.
struct SuppressionsPacket {
  std::uint32_t first_line = 0;
  std::string text;
};

struct RawCounter {
  std::string name;
  std::uint64_t value = 0;
  bool is_loss = false;
};
struct SummaryPacket {
  bool is_final = false;
  std::vector<raw_report::Repeat> repeats;
  std::vector<RawCounter> counters;
};

// No rate above the whole, no more work sampled than done.
struct SamplingPacket {
  raw_report::Sampling sampling;
};

// No more calls sampled than made.
struct ColdCallsPacket {
  raw_report::ColdCalls calls;
};

// Not checked event by event: the writer of the trace does that.
struct EventsPacket {
  std::vector<Event> events;
};
struct SitesPacket {
  std::vector<raw_report::RecordedSite> sites;
};

struct RecordingPacket {
  std::uint32_t parent_process = 0;
  std::uint64_t fork = 0;
};
struct ForkingPacket {
  std::uint64_t fork = 0;
};

struct RawPacket {
  std::uint32_t process = 0;
  std::variant<HelloPacket, ModulesPacket, FindingPacket, NoticePacket, SummaryPacket, EventsPacket, SitesPacket,
               RecordingPacket, ForkingPacket, SuppressionsPacket, SamplingPacket, ColdCallsPacket, CountsPacket>
      body;
};

// The bytes of exactly one packet. Errors: kMalformed, kUnsupported (a kind that
// this version does not know).
[[nodiscard]] Result<RawPacket> parse_packet(std::span<const std::byte> bytes);

// What SamplingPacket says of its numbers, for whoever has them from elsewhere. Sampled
// work is measured a little after the work it is part of, so an excess is cut off.
// Errors: kMalformed.
[[nodiscard]] Result<raw_report::Sampling> check_sampling(raw_report::Sampling sampling);

// Bounded by the field; ends at the first 0.
template <std::size_t kSize>
[[nodiscard]] std::string text_of(const char (&field)[kSize]) {
  std::size_t length = 0;
  while (length < kSize && field[length] != '\0') ++length;
  return {field, length};
}

// Cuts the bytes of a raw file into packets. What follows a damaged header
// cannot be found again, so the first damage is the end.
class RawPacketReader {
 public:
  explicit RawPacketReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // The bytes of the next packet, header included; nothing at the end.
  [[nodiscard]] std::optional<std::span<const std::byte>> next();

  // After the end: why there was no more, if the bytes did not end with a packet.
  [[nodiscard]] const std::optional<Error>& damage() const { return damage_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::optional<Error> damage_;
};

}  // namespace deadheat
