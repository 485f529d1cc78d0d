// SPDX-License-Identifier: Apache-2.0
#include "cli/mailbox_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "runtime/raw_report.h"

namespace deadheat {

using raw_report::PacketHeader;

MailboxReader::MailboxReader(int descriptor)
    : descriptor_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)), position_(raw_report::kMailboxStep) {}

MailboxReader::~MailboxReader() {
  if (descriptor_ >= 0) close(descriptor_);
}

MailboxReader::MailboxReader(MailboxReader&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), position_(other.position_) {}

void MailboxReader::read(const std::function<void(std::span<const std::byte>)>& handler) {
  constexpr std::uint64_t kStep = raw_report::kMailboxStep;
  while (descriptor_ >= 0 && position_ + sizeof(PacketHeader) <= raw_report::kMailboxSize) {
    PacketHeader header;
    const auto at = static_cast<off_t>(position_);
    if (pread(descriptor_, &header, sizeof header, at) != sizeof header || header.magic != raw_report::kMagic) return;
    if (header.size < sizeof header || header.size > raw_report::kMaxPacket) return;
    packet_.resize(header.size);
    // The magic number was written last, so the rest is there once it is.
    if (pread(descriptor_, packet_.data(), packet_.size(), at) != static_cast<ssize_t>(packet_.size())) return;
    position_ += (header.size + kStep - 1) / kStep * kStep;
    handler(packet_);
  }
}

bool announces_mailbox(std::span<const std::byte> packet) {
  PacketHeader header;
  if (packet.size() != sizeof header) return false;
  std::memcpy(&header, packet.data(), sizeof header);
  return header.magic == raw_report::kMagic && header.kind == raw_report::PacketKind::kMailbox;
}

}  // namespace deadheat
