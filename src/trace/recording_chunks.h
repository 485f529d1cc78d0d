// SPDX-License-Identifier: Apache-2.0
// The bytes of recording.dhr, for its writer and its reader; see RECORDING_FORMAT.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/chunk_checksum.h"
#include "trace/recording_file.h"

namespace deadheat::recording_chunks {

inline constexpr char kMainFile[] = "recording.dhr";
inline constexpr char kMagic[8] = {'D', 'H', 'R', 'E', 'C', 'O', 'R', 'D'};
inline constexpr std::size_t kMostPayload = 64U << 20U;
inline constexpr std::uint64_t kNoPosition = ~0ULL;

enum ChunkType : std::uint32_t {
  kHead = 1,
  kMapping,
  kName,
  kSamples,
  kPath,
  kClock,
  kTrace,
  kEnd,
  kMark,
  kTraceRange,
  kTraceTiming,
  kSums
};

struct FileHead {
  char magic[8] = {};
  std::uint32_t version = kRecordingVersion;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(FileHead) == 16);

struct ChunkHead {
  std::uint32_t type = 0;
  std::uint32_t size = 0;  // of the payload
  std::uint64_t checksum = 0;
};
static_assert(sizeof(ChunkHead) == 16);

// A chunk whose type was damaged must not look like one of a kind that may be skipped.
[[nodiscard]] inline std::uint64_t checksum_of(std::uint32_t type, std::span<const std::byte> payload) {
  return xxh64(payload) + type;
}

// Numbers are 64 bits, little-endian; texts and bytes have their size in front.
class Put {
 public:
  explicit Put(std::vector<std::byte>& to) : to_(to) {}
  void number(std::uint64_t value) { bytes(std::as_bytes(std::span(&value, 1))); }
  void bytes(std::span<const std::byte> bytes) { to_.insert(to_.end(), bytes.begin(), bytes.end()); }
  void text(std::string_view text) {
    number(text.size());
    bytes(std::as_bytes(std::span(text)));
  }

 private:
  std::vector<std::byte>& to_;
};

// Past the end everything is 0 or empty, and is_bad() says so.
class Take {
 public:
  explicit Take(std::span<const std::byte> from) : from_(from) {}
  [[nodiscard]] std::uint64_t number() {
    std::uint64_t value = 0;
    const auto bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::span<const std::byte> sized_bytes() { return take(number()); }
  [[nodiscard]] std::string text() {
    const auto bytes = sized_bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] std::span<const std::byte> rest() { return take(from_.size()); }
  [[nodiscard]] bool is_empty() const { return from_.empty(); }
  [[nodiscard]] bool is_bad() const { return is_bad_; }

 private:
  std::span<const std::byte> take(std::uint64_t size) {
    if (size > from_.size()) {
      is_bad_ = true;
      from_ = {};
      return {};
    }
    const auto bytes = from_.first(static_cast<std::size_t>(size));
    from_ = from_.subspan(static_cast<std::size_t>(size));
    return bytes;
  }

  std::span<const std::byte> from_;
  bool is_bad_ = false;
};

}  // namespace deadheat::recording_chunks
