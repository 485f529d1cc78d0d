// SPDX-License-Identifier: Apache-2.0
// What the tests of the binary format share: files in a temporary folder,
// random valid events, and reading a trace to its end.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "trace/binary_reader.h"
#include "trace/binary_writer.h"
#include "trace/event_validity.h"

namespace deadheat {

// A path of its own for each test process and name; removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("deadheat_" + std::to_string(::getpid()) + "_" + name + ".trace")) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

  [[nodiscard]] Bytes bytes() const {
    std::ifstream file{path_, std::ios::binary};
    const std::vector<char> letters{std::istreambuf_iterator<char>{file}, {}};
    const auto view = std::as_bytes(std::span{letters});
    return {view.begin(), view.end()};
  }

 private:
  std::filesystem::path path_;
};

// A value that likes the extremes.
inline std::uint64_t random_extreme(Random& random, std::uint64_t greatest) {
  switch (random.below(4)) {
    case 0:
      return 0;
    case 1:
      return greatest;
    case 2:
      return random.below(std::min<std::uint64_t>(greatest, 100) + 1);
    default:
      return greatest == UINT64_MAX ? random.next() : random.below(greatest + 1);
  }
}

// Any event that validate() accepts, of any kind.
inline Event random_event(Random& random) {
  for (;;) {
    Event event;
    event.kind = EventKind{static_cast<std::uint8_t>(random.below(kEventKindCount))};
    const EventKindInfo& kind = info(event.kind);
    event.detail = static_cast<std::uint8_t>(kind.detail == DetailMeaning::kNone ? 0 : random.below(8));
    event.depth =
        static_cast<std::uint16_t>(kind.detail == DetailMeaning::kLock ? random_extreme(random, UINT16_MAX) : 0);
    event.thread = ThreadId{static_cast<std::uint32_t>(random_extreme(random, kThreadLimit - 1))};
    if (kind.extent != ExtentMeaning::kNone) {
      event.extent = random_extreme(random, is_access(event.kind) ? kMaxAccessSize : UINT64_MAX);
    }
    event.object = random_extreme(random, greatest_object(event.kind, event.extent));
    event.site = SiteId{static_cast<std::uint32_t>(random_extreme(random, UINT32_MAX))};
    if (is_valid(event)) return event;
  }
}

inline std::vector<Event> random_events(std::uint64_t seed, std::size_t count) {
  Random random{seed};
  std::vector<Event> events;
  for (std::size_t index = 0; index < count; ++index) events.push_back(random_event(random));
  return events;
}

// Everything a source yields, and how it ended.
struct Outcome {
  std::vector<Event> events;
  std::vector<std::uint64_t> sequences;
  std::optional<Error> error;
  std::optional<std::string> truncation;
  Dictionary dictionary;

  [[nodiscard]] bool is_complete() const { return !error && !truncation; }
};

inline Outcome read_all(EventSource& source) {
  Outcome outcome;
  for (;;) {
    const auto batch = source.next_batch();
    if (!batch) {
      outcome.error = batch.error();
      // After an error the source stays at its end.
      const auto after = source.next_batch();
      EXPECT_TRUE(after.ok() && after.value().empty());
      break;
    }
    if (batch.value().empty()) break;
    outcome.events.insert(outcome.events.end(), batch.value().begin(), batch.value().end());
    if (const auto* reader = dynamic_cast<BinaryReader*>(&source)) {
      outcome.sequences.insert(outcome.sequences.end(), reader->sequences().begin(), reader->sequences().end());
    }
  }
  outcome.truncation = source.truncation();
  outcome.dictionary = source.dictionary();
  return outcome;
}

template <class Source>
Outcome read_all(const Result<std::unique_ptr<Source>>& source) {
  if (source) return read_all(*source.value());
  Outcome outcome;
  outcome.error = source.error();
  return outcome;
}

inline Outcome read_memory(std::span<const std::byte> bytes) { return read_all(BinaryReader::open_memory(bytes)); }

inline bool is_prefix(const std::vector<Event>& part, const std::vector<Event>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

// A dictionary with an entry of each sort.
inline Dictionary small_dictionary() {
  Dictionary dictionary;
  dictionary.sites.add({"push", "queue.cpp", 17, "libqueue.so", 0x1234});
  dictionary.sites.add({"", "", UINT32_MAX, "", UINT64_MAX});
  dictionary.ranges[0x1000] = {8, "counter"};
  dictionary.ranges[0x1008] = {64, "table"};
  dictionary.syncs[SyncId{UINT64_MAX}] = "last lock";
  dictionary.threads[ThreadId{3}] = "worker \xff\n";
  return dictionary;
}

// One event of each kind that version 1 began with, in the order of the kinds,
// and a few more; the content of the files in fuzz/corpus/binary. It must never
// change: those files prove that old traces stay readable.
inline std::vector<Event> golden_events() {
  std::vector<Event> events;
  for (std::uint32_t number = 0; number < 36; ++number) {
    Event event;
    event.kind = EventKind{static_cast<std::uint8_t>(number)};
    const EventKindInfo& kind = info(event.kind);
    event.thread = ThreadId{number % 3};
    event.site = SiteId{number % 4};
    if (kind.detail != DetailMeaning::kNone) event.detail = 1;
    if (kind.detail == DetailMeaning::kLock) event.depth = static_cast<std::uint16_t>(1 + number % 2);
    if (kind.object != ObjectMeaning::kNone) event.object = 0x1000 + 24 * number;
    if (kind.object == ObjectMeaning::kThread) event.object = 2;
    if (kind.extent != ExtentMeaning::kNone) event.extent = 8;
    events.push_back(event);
  }
  for (std::uint32_t number = 0; number < 64; ++number) {
    events.push_back(events::at(events::write(ThreadId{1}, 0x7f0000000000 + 16 * number, 8), SiteId{1}));
  }
  return events;
}

// The bytes of a closed trace with the given events and chunk size.
inline Bytes trace_bytes(const std::vector<Event>& events, std::uint32_t chunk_events) {
  const TemporaryFile file{"trace_bytes"};
  auto writer = BinaryWriter::create(file.path(), {.chunk_events = chunk_events});
  EXPECT_TRUE(writer.ok());
  EXPECT_TRUE(writer.value()->update(small_dictionary()).ok());
  EXPECT_TRUE(writer.value()->write(events).ok());
  EXPECT_TRUE(writer.value()->close().ok());
  return file.bytes();
}

}  // namespace deadheat
