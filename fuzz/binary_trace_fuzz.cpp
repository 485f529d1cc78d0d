// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a binary trace, on three levels, because a fuzzer cannot
// guess a checksum and hardly a zstd frame: as a file; as a file whose
// checksums are ignored; as the decompressed payload of an events chunk.
//
// Checked besides memory safety: every event that comes out is valid; what the
// verifying reader delivers, the other one delivers too; what was decoded can
// be encoded and decoded again and is the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "trace/binary_event_decoder.h"
#include "trace/binary_event_encoder.h"
#include "trace/binary_reader.h"
#include "trace/event_validity.h"

namespace deadheat {
namespace {

// A chunk of a few bytes may decompress to many events; enough is enough.
constexpr std::size_t kMostEvents = 1U << 18U;

template <class Source>
std::vector<Event> drain(Source& source, Result<std::span<const Event>> (Source::*next)()) {
  std::vector<Event> events;
  while (events.size() < kMostEvents) {
    const auto batch = (source.*next)();
    if (!batch || batch.value().empty()) break;
    for (const Event& event : batch.value()) DEADHEAT_CHECK(is_valid(event));
    events.insert(events.end(), batch.value().begin(), batch.value().end());
  }
  return events;
}

std::vector<Event> read_as_file(std::span<const std::byte> bytes, Checksums checksums) {
  const auto reader = BinaryReader::open_memory(bytes, {checksums});
  if (!reader) return {};
  return drain(*reader.value(), &BinaryReader::next_batch);
}

std::vector<Event> decode(std::span<const std::byte> payload, std::uint32_t count, Sequences sequences) {
  static const auto decoder = std::make_unique<EventDecoder>();
  PaddedBytes padded;
  padded.resize(payload.size());
  std::copy(payload.begin(), payload.end(), padded.bytes().begin());
  if (!decoder->begin(padded, count, sequences)) return {};
  return drain(*decoder, &EventDecoder::next);
}

void decode_and_encode(std::span<const std::byte> payload, std::uint32_t count, Sequences sequences) {
  const std::vector<Event> events = decode(payload, count, sequences);
  if (events.empty()) return;
  EventEncoder encoder{Sequences::kAbsent};
  for (const Event& event : events) encoder.add(event, 0);
  Bytes again;
  encoder.encode(again);
  DEADHEAT_CHECK(decode(again, static_cast<std::uint32_t>(events.size()), Sequences::kAbsent) == events);
}

}  // namespace
}  // namespace deadheat

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace deadheat;
  const auto bytes = std::as_bytes(std::span{data, size});
  const std::vector<Event> verified = read_as_file(bytes, Checksums::kVerified);
  const std::vector<Event> ignored = read_as_file(bytes, Checksums::kIgnored);
  DEADHEAT_CHECK(verified.size() <= ignored.size() && std::equal(verified.begin(), verified.end(), ignored.begin()));

  // Two bytes of count, one that says whether there are sequence numbers.
  if (size < 3) return 0;
  const auto count = static_cast<std::uint32_t>(data[0] | (data[1] << 8U));
  decode_and_encode(bytes.subspan(3), count, (data[2] & 1U) != 0 ? Sequences::kPresent : Sequences::kAbsent);
  return 0;
}
