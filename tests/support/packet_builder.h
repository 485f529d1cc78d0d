// SPDX-License-Identifier: Apache-2.0
// Packets of runtime/raw_report.h as a runtime would send them, for tests of
// everything that reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/event.h"
#include "runtime/raw_report.h"

namespace deadheat::packets {

using Bytes = std::vector<std::byte>;

template <class T>
void append(Bytes& bytes, const T& value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof(value));
}
template <class T>
void append_all(Bytes& bytes, std::span<const T> values) {
  for (const T& value : values) append(bytes, value);
}
inline void append_text(Bytes& bytes, std::string_view text) {
  for (const char character : text) bytes.push_back(static_cast<std::byte>(character));
}

// A header and the body; the size is right.
inline Bytes packet(raw_report::PacketKind kind, std::uint32_t process, const Bytes& body) {
  raw_report::PacketHeader header;
  header.kind = kind;
  header.process = process;
  header.size = static_cast<std::uint32_t>(sizeof(header) + body.size());
  Bytes bytes;
  append(bytes, header);
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

template <std::size_t kSize>
void set_text(char (&field)[kSize], std::string_view text) {
  std::memcpy(field, text.data(), text.size() < kSize ? text.size() : kSize);
}

inline Bytes hello(std::uint32_t process, std::string_view program, std::uint32_t parent = 1) {
  raw_report::Hello hello;
  hello.parent_process = parent;
  set_text(hello.program, program);
  Bytes body;
  append(body, hello);
  return packet(raw_report::PacketKind::kHello, process, body);
}

struct NamedModule {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t load_bias = 0;
  std::string path;
};

inline Bytes modules(std::uint32_t process, const std::vector<NamedModule>& all) {
  std::string paths;
  Bytes entries;
  for (const NamedModule& one : all) {
    append(entries, raw_report::Module{one.begin, one.end, one.load_bias, static_cast<std::uint32_t>(paths.size()),
                                       static_cast<std::uint32_t>(one.path.size())});
    paths += one.path;
  }
  Bytes body;
  append(body, raw_report::Modules{static_cast<std::uint32_t>(all.size()), static_cast<std::uint32_t>(paths.size())});
  body.insert(body.end(), entries.begin(), entries.end());
  append_text(body, paths);
  return packet(raw_report::PacketKind::kModules, process, body);
}

inline Bytes notice(std::uint32_t process, std::string_view text) {
  Bytes body;
  append_text(body, text);
  return packet(raw_report::PacketKind::kNotice, process, body);
}

inline Bytes suppressions(std::uint32_t process, std::string_view text, std::uint32_t first_line = 1) {
  Bytes body;
  append(body, raw_report::Suppressions{first_line, 0});
  append_text(body, text);
  return packet(raw_report::PacketKind::kSuppressions, process, body);
}

enum class Loss : std::uint32_t { kNo, kYes };
struct NamedCounter {
  std::string name;
  std::uint64_t value = 0;
  Loss loss = Loss::kNo;
};
enum class Final : std::uint32_t { kNo, kYes };

inline Bytes summary(std::uint32_t process, const std::vector<raw_report::Repeat>& repeats,
                     const std::vector<NamedCounter>& counters = {}, Final final = Final::kYes) {
  Bytes body;
  append(body, raw_report::Summary{static_cast<std::uint32_t>(repeats.size()),
                                   static_cast<std::uint32_t>(counters.size()), raw(final), 0});
  append_all(body, std::span(repeats));
  for (const NamedCounter& counter : counters) {
    raw_report::Counter entry;
    set_text(entry.name, counter.name);
    entry.value = counter.value;
    entry.is_loss = raw(counter.loss);
    append(body, entry);
  }
  return packet(raw_report::PacketKind::kSummary, process, body);
}

inline Bytes sampling(std::uint32_t process, const raw_report::Sampling& amounts) {
  Bytes body;
  append(body, amounts);
  return packet(raw_report::PacketKind::kSampling, process, body);
}

inline Bytes cold_calls(std::uint32_t process, const raw_report::ColdCalls& calls) {
  Bytes body;
  append(body, calls);
  return packet(raw_report::PacketKind::kColdCalls, process, body);
}

// Ten seconds of work of which 2.98% were sampled, and half a second for that.
inline raw_report::Sampling usual_sampling() {
  raw_report::Sampling amounts;
  amounts.rate = 30'000;
  amounts.seed = 81'234;
  amounts.period_us = 1000;
  amounts.periods = 298;
  amounts.work_ns = 10'000'000'000;
  amounts.sampled_work_ns = 298'000'000;
  amounts.expected_work_ns = 300'000'000;
  amounts.cost_ns = 500'000'000;
  amounts.sampled_accesses = 48'211'034;
  amounts.checked_accesses = 7;
  amounts.horizon_us = raw_report::kForever;
  return amounts;
}

inline Bytes counts(std::uint32_t process, raw_report::Counts amounts,
                    const std::vector<raw_report::CountedLock>& locks) {
  amounts.lock_count = static_cast<std::uint32_t>(locks.size());
  Bytes body;
  append(body, amounts);
  append_all(body, std::span(locks));
  return packet(raw_report::PacketKind::kCounts, process, body);
}

inline Bytes events(std::uint32_t process, const std::vector<Event>& all) {
  Bytes body;
  append_all(body, std::span(all));
  return packet(raw_report::PacketKind::kEvents, process, body);
}

inline Bytes sites(std::uint32_t process, const std::vector<raw_report::RecordedSite>& all) {
  Bytes body;
  append_all(body, std::span(all));
  return packet(raw_report::PacketKind::kSites, process, body);
}

inline Bytes recording(std::uint32_t process, const raw_report::Recording& begun = {}) {
  Bytes body;
  append(body, begun);
  return packet(raw_report::PacketKind::kRecording, process, body);
}

inline Bytes forking(std::uint32_t process, std::uint64_t fork) {
  Bytes body;
  append(body, raw_report::Forking{fork});
  return packet(raw_report::PacketKind::kForking, process, body);
}

// A finding put together piece by piece. Thread 1 (main) and thread 2 are there
// from the start; both sides write 4 bytes at the address.
struct FindingParts {
  raw_report::Finding finding;
  std::vector<raw_report::Thread> threads;
  std::vector<raw_report::Lock> locks;
  std::vector<std::uint64_t> code;
  std::optional<raw_report::Flag> flag;

  explicit FindingParts(std::uint64_t id, std::uint64_t address) {
    finding.id = id;
    finding.address = address;
    finding.size = 4;
    finding.memory.thread = raw_report::kNoThread;
    finding.memory.freed_by = raw_report::kNoThread;
    threads.resize(2);
    threads[0].id = 1;
    threads[0].flags = raw_report::kThreadMain;
    threads[1].id = 2;
    threads[1].parent = 1;
    for (raw_report::Side* side : {&finding.earlier, &finding.later}) {
      side->kind = 1;
      side->address = address;
      side->size = 4;
    }
    finding.earlier.thread = 0;
    finding.earlier.clock = 9;
    finding.later.thread = 1;
    finding.later.clock = 4;
  }

  raw_report::Stack stack(std::initializer_list<std::uint64_t> addresses) {
    const raw_report::Stack place{static_cast<std::uint32_t>(code.size()),
                                  static_cast<std::uint32_t>(addresses.size())};
    code.insert(code.end(), addresses);
    return place;
  }

  raw_report::LockList lock_list(std::initializer_list<raw_report::Lock> held) {
    const raw_report::LockList place{static_cast<std::uint32_t>(locks.size()), static_cast<std::uint32_t>(held.size())};
    locks.insert(locks.end(), held);
    return place;
  }

  [[nodiscard]] Bytes bytes(std::uint32_t process) const {
    raw_report::Finding counted = finding;
    counted.thread_count = static_cast<std::uint32_t>(threads.size());
    counted.lock_count = static_cast<std::uint32_t>(locks.size());
    counted.code_count = static_cast<std::uint32_t>(code.size());
    Bytes body;
    append(body, counted);
    append_all(body, std::span(threads));
    append_all(body, std::span(locks));
    append_all(body, std::span(code));
    if (flag) append(body, *flag);
    return packet(raw_report::PacketKind::kFinding, process, body);
  }
};

}  // namespace deadheat::packets
