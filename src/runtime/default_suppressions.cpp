// SPDX-License-Identifier: Apache-2.0
#include "runtime/default_suppressions.h"

#include <cstddef>
#include <cstdint>

#include "runtime/hand_off.h"
#include "runtime/page_source.h"
#include "runtime/raw_report.h"
#include "runtime/system.h"

extern "C" __attribute__((weak)) const char* __tsan_default_suppressions();

namespace deadheat::runtime {
namespace {

using raw_report::PacketHeader;
using raw_report::PacketKind;

// Written at the start only.
constinit const char* all_lines = nullptr;

constexpr std::size_t kPiece = 64 * 1024;

struct SuppressionsPacket {
  PacketHeader header;
  raw_report::Suppressions suppressions;
  char text[kPiece];
};
static_assert(sizeof(SuppressionsPacket) <= raw_report::kMaxPacket);

// How much of the text goes into one packet: whole lines. A line that is longer than
// a packet is cut, and its rest is taken for another line.
std::size_t piece_of(const char* text) {
  std::size_t whole_lines = 0;
  std::size_t size = 0;
  for (; size < kPiece && text[size] != 0; ++size) {
    if (text[size] == '\n') whole_lines = size + 1;
  }
  return text[size] == 0 || whole_lines == 0 ? size : whole_lines;
}

}  // namespace

void ask_for_suppressions() {
  if (__tsan_default_suppressions == nullptr) return;
  const char* const text = __tsan_default_suppressions();
  if (text == nullptr || *text == 0) return;
  std::size_t length = 0;
  while (text[length] != 0) ++length;
  auto* const copy = static_cast<char*>(PageSource::allocate(length + 1));
  for (std::size_t at = 0; at <= length; ++at) copy[at] = text[at];
  all_lines = copy;
}

bool program_has_suppressions() { return all_lines != nullptr; }

void send_suppressions() {
  if (all_lines == nullptr) return;
  auto* const packet = static_cast<SuppressionsPacket*>(PageSource::try_allocate(sizeof(SuppressionsPacket)));
  if (packet == nullptr) return say("out of memory: the suppressions of the program itself are not applied");
  std::uint32_t line = 1;
  for (const char* text = all_lines; *text != 0;) {
    const std::size_t size = piece_of(text);
    packet->header.kind = PacketKind::kSuppressions;
    packet->header.size = static_cast<std::uint32_t>(offsetof(SuppressionsPacket, text) + size);
    packet->suppressions = {line, 0};
    for (std::size_t at = 0; at < size; ++at) {
      packet->text[at] = text[at];
      if (text[at] == '\n') ++line;
    }
    send_packet(&packet->header);
    text += size;
  }
  PageSource::release(packet, sizeof(SuppressionsPacket));
}

}  // namespace deadheat::runtime
