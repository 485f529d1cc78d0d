// SPDX-License-Identifier: Apache-2.0
#include "report/raw_packet_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "model/finding.h"

namespace deadheat {

namespace {

using raw_report::PacketHeader;
using raw_report::PacketKind;

Error malformed(std::string message) { return Error{ErrorCode::kMalformed, std::move(message)}; }

// Takes values off the front of the bytes, never more than there are.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  [[nodiscard]] bool take(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (bytes_.size() < sizeof(T)) return false;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_ = bytes_.subspan(sizeof(T));
    return true;
  }

  template <class T>
  [[nodiscard]] bool take(std::vector<T>& values, std::uint64_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count > bytes_.size() / sizeof(T)) return false;
    values.resize(count);
    if (count != 0) std::memcpy(values.data(), bytes_.data(), count * sizeof(T));
    bytes_ = bytes_.subspan(count * sizeof(T));
    return true;
  }

  // All that is left, as whole values.
  template <class T>
  [[nodiscard]] bool take_rest(std::vector<T>& values) {
    return bytes_.size() % sizeof(T) == 0 && take(values, bytes_.size() / sizeof(T));
  }

  [[nodiscard]] std::span<const std::byte> rest() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Body>
using Parsed = Result<Body>;

Parsed<HelloPacket> parse_hello(Cursor cursor) {
  raw_report::Hello hello;
  if (!cursor.take(hello)) return malformed("a greeting is too short");
  return HelloPacket{hello.parent_process, text_of(hello.program)};
}

Parsed<ModulesPacket> parse_modules(Cursor cursor) {
  raw_report::Modules header;
  std::vector<raw_report::Module> modules;
  if (!cursor.take(header) || !cursor.take(modules, header.count)) return malformed("a list of modules is too short");
  if (cursor.rest().size() != header.path_bytes) return malformed("the paths of a list of modules have another size");
  const std::string paths = as_text(cursor.rest());
  ModulesPacket packet;
  packet.modules.reserve(modules.size());
  for (const raw_report::Module& module : modules) {
    if (module.end < module.begin) return malformed("a module ends before it begins");
    if (module.path_offset > paths.size() || module.path_size > paths.size() - module.path_offset) {
      return malformed("the path of a module lies outside of the packet");
    }
    packet.modules.push_back(
        {module.begin, module.end, module.load_bias, paths.substr(module.path_offset, module.path_size)});
  }
  return packet;
}

// The checks that make a finding safe to read by its own numbers.
class FindingCheck {
 public:
  explicit FindingCheck(const FindingPacket& packet) : packet_(packet) {}

  [[nodiscard]] Status all() {
    const raw_report::Finding& finding = packet_.finding;
    side(finding.earlier);
    side(finding.later);
    memory(finding.memory);
    for (const raw_report::Thread& thread : packet_.threads) stack(thread.created);
    for (const raw_report::Lock& lock : packet_.locks) {
      stack(lock.created);
      stack(lock.acquired);
      if (lock.mode > raw(LockMode::kShared)) problem_ = "a lock of a finding has an unknown mode";
    }
    if (finding.size > UINT64_MAX - finding.address) problem_ = "the bytes of a finding pass the end of memory";
    if (problem_ != nullptr) return malformed(problem_);
    return {};
  }

 private:
  void stack(const raw_report::Stack& stack) {
    const std::size_t count = packet_.code.size();
    if (stack.first > count || stack.count > count - stack.first) problem_ = "a stack lies outside of its finding";
  }

  void side(const raw_report::Side& side) {
    stack(side.stack);
    const std::size_t count = packet_.locks.size();
    if (side.locks.first > count || side.locks.count > count - side.locks.first) {
      problem_ = "the locks of an access lie outside of its finding";
    }
    if (side.thread >= packet_.threads.size()) problem_ = "an access is by a thread that its finding does not have";
    if (side.kind > raw(AccessKind::kFree)) problem_ = "an access is of an unknown kind";
  }

  void thread_or_none(std::uint32_t index) {
    if (index != raw_report::kNoThread && index >= packet_.threads.size()) {
      problem_ = "memory belongs to a thread that its finding does not have";
    }
  }

  void memory(const raw_report::Memory& memory) {
    stack(memory.allocated);
    stack(memory.freed);
    thread_or_none(memory.thread);
    thread_or_none(memory.freed_by);
    if (raw(memory.kind) > raw(raw_report::MemoryKind::kMapped)) problem_ = "memory is of an unknown kind";
    if (memory.size > UINT64_MAX - memory.begin) problem_ = "the memory of a finding passes the end of memory";
  }

  const FindingPacket& packet_;
  const char* problem_ = nullptr;
};

Parsed<FindingPacket> parse_finding(Cursor cursor) {
  FindingPacket packet;
  const raw_report::Finding& finding = packet.finding;
  if (!cursor.take(packet.finding) || !cursor.take(packet.threads, finding.thread_count) ||
      !cursor.take(packet.locks, finding.lock_count) || !cursor.take(packet.code, finding.code_count)) {
    return malformed("a finding is shorter than its own counts say");
  }
  if (!cursor.rest().empty() && !cursor.take(packet.flag.emplace())) return malformed("a finding's flag is too short");
  if (packet.flag && std::max(packet.flag->write_order, packet.flag->read_order) >= kMemoryOrderCount) {
    return malformed("a finding's flag has an unknown memory order");
  }
  if (!cursor.rest().empty()) return malformed("a finding is longer than its own counts say");
  if (Status status = FindingCheck(packet).all(); !status.ok()) return status.error();
  return packet;
}

Parsed<SummaryPacket> parse_summary(Cursor cursor) {
  raw_report::Summary summary;
  std::vector<raw_report::Counter> counters;
  SummaryPacket packet;
  if (!cursor.take(summary) || !cursor.take(packet.repeats, summary.repeat_count) ||
      !cursor.take(counters, summary.counter_count)) {
    return malformed("a summary is shorter than its own counts say");
  }
  packet.is_final = summary.is_final != 0;
  packet.counters.reserve(counters.size());
  for (const raw_report::Counter& counter : counters) {
    packet.counters.push_back({text_of(counter.name), counter.value, counter.is_loss != 0});
  }
  return packet;
}

Parsed<EventsPacket> parse_events(Cursor cursor) {
  EventsPacket packet;
  if (!cursor.take_rest(packet.events)) return malformed("a piece of the trace ends in the middle of an event");
  return packet;
}

Parsed<SitesPacket> parse_sites(Cursor cursor) {
  SitesPacket packet;
  if (!cursor.take_rest(packet.sites)) return malformed("a list of code addresses ends in the middle of one");
  return packet;
}

Parsed<RecordingPacket> parse_recording(Cursor cursor) {
  raw_report::Recording recording;
  if (!cursor.take(recording)) return malformed("the beginning of a trace is too short");
  return RecordingPacket{recording.parent_process, recording.fork};
}

Parsed<ForkingPacket> parse_forking(Cursor cursor) {
  raw_report::Forking forking;
  if (!cursor.take(forking)) return malformed("the announcement of a fork is too short");
  return ForkingPacket{forking.fork};
}

Parsed<SuppressionsPacket> parse_suppressions(Cursor cursor) {
  raw_report::Suppressions suppressions;
  if (!cursor.take(suppressions)) return malformed("the suppressions of a program are too short");
  return SuppressionsPacket{suppressions.first_line, as_text(cursor.rest())};
}

Parsed<SamplingPacket> parse_sampling(Cursor cursor) {
  raw_report::Sampling sampling;
  if (!cursor.take(sampling)) return malformed("the amounts of a process that samples are too short");
  const auto checked = check_sampling(sampling);
  if (!checked.ok()) return checked.error();
  return SamplingPacket{checked.value()};
}

Parsed<ColdCallsPacket> parse_cold_calls(Cursor cursor) {
  raw_report::ColdCalls calls;
  if (!cursor.take(calls)) return malformed("the calls of a process that samples cold code are too short");
  if (calls.sampled_calls > calls.calls) return malformed("a process sampled more calls than it made");
  return ColdCallsPacket{calls};
}

Parsed<CountsPacket> parse_counts(Cursor cursor) {
  CountsPacket packet;
  raw_report::Counts& counts = packet.counts;
  if (!cursor.take(counts) || !cursor.take(packet.locks, counts.lock_count) ||
      !cursor.take(packet.code, counts.code_count) || !cursor.rest().empty()) {
    return malformed("counts of accesses have another size than they say");
  }
  if (counts.without_lock > counts.accesses) return malformed("more accesses without a lock than accesses");
  for (raw_report::CountedLock& lock : packet.locks) {
    if (lock.accesses > counts.accesses) return malformed("more accesses with a lock than accesses");
    const raw_report::Stack& stack = lock.lock.created;
    if (stack.first > packet.code.size() || stack.count > packet.code.size() - stack.first) {
      return malformed("a stack lies outside of its packet");
    }
  }
  return packet;
}

template <class Body>
Result<RawPacket> packed(std::uint32_t process, Result<Body> body) {
  if (!body.ok()) return body.error();
  return RawPacket{process, std::move(body).value()};
}

}  // namespace

Result<raw_report::Sampling> check_sampling(raw_report::Sampling sampling) {
  if (sampling.rate > raw_report::kWholeRate) return malformed("a process samples at a rate above 100%");
  if (sampling.budget > raw_report::kWholeRate) return malformed("a process samples with a budget above 100%");
  sampling.sampled_work_ns = std::min(sampling.sampled_work_ns, sampling.work_ns);
  sampling.expected_work_ns = std::min(sampling.expected_work_ns, sampling.work_ns);
  return sampling;
}

Result<RawPacket> parse_packet(std::span<const std::byte> bytes) {
  Cursor cursor(bytes);
  PacketHeader header;
  if (!cursor.take(header)) return malformed("a packet is too short for its header");
  if (header.magic != raw_report::kMagic) return malformed("a packet does not begin with 'DHR1'");
  if (header.size != bytes.size()) {
    return malformed(fmt::format("a packet of {} bytes says that it has {}", bytes.size(), header.size));
  }
  switch (header.kind) {
    case PacketKind::kHello:
      return packed(header.process, parse_hello(cursor));
    case PacketKind::kModules:
      return packed(header.process, parse_modules(cursor));
    case PacketKind::kFinding:
      return packed(header.process, parse_finding(cursor));
    case PacketKind::kNotice:
      return RawPacket{header.process, NoticePacket{as_text(cursor.rest())}};
    case PacketKind::kSummary:
      return packed(header.process, parse_summary(cursor));
    case PacketKind::kEvents:
      return packed(header.process, parse_events(cursor));
    case PacketKind::kSites:
      return packed(header.process, parse_sites(cursor));
    case PacketKind::kRecording:
      return packed(header.process, parse_recording(cursor));
    case PacketKind::kForking:
      return packed(header.process, parse_forking(cursor));
    case PacketKind::kSuppressions:
      return packed(header.process, parse_suppressions(cursor));
    case PacketKind::kSampling:
      return packed(header.process, parse_sampling(cursor));
    case PacketKind::kColdCalls:
      return packed(header.process, parse_cold_calls(cursor));
    case PacketKind::kCounts:
      return packed(header.process, parse_counts(cursor));
    case PacketKind::kMailbox:
      break;  // for who receives it with its descriptor
  }
  return Error{ErrorCode::kUnsupported,
               fmt::format("a packet is of kind {}, which this version does not know", raw(header.kind))};
}

std::optional<std::span<const std::byte>> RawPacketReader::next() {
  const std::span<const std::byte> rest = bytes_.subspan(position_);
  if (rest.empty() || damage_) return std::nullopt;
  PacketHeader header;
  const bool has_header = Cursor(rest).take(header);
  if (has_header && header.magic != raw_report::kMagic) {
    damage_ = malformed(position_ == 0 ? std::string("this is not a raw report of Deadheat")
                                       : fmt::format("byte {}: no packet begins here", position_));
  } else if (has_header && (header.size < sizeof(header) || header.size > raw_report::kMaxPacket)) {
    damage_ = malformed(fmt::format("byte {}: a packet of {} bytes is impossible", position_, header.size));
  } else if (!has_header || header.size > rest.size()) {
    damage_ = malformed(fmt::format("byte {}: the file ends in the middle of a packet", position_));
  }
  if (damage_) return std::nullopt;
  position_ += header.size;
  return rest.first(header.size);
}

}  // namespace deadheat
