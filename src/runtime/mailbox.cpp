// SPDX-License-Identifier: Apache-2.0
#include "runtime/mailbox.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstddef>

#include "runtime/hand_off.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

// Processes that fork share it. The room is taken from a counter in the mailbox itself.
std::atomic<char*> mailbox{nullptr};
constexpr std::uint64_t kRoomForReports = raw_report::kMailboxSize / 8;

}  // namespace

void open_mailbox() {
  if (has_mailbox()) return;
  const long file = raw_call(SYS_memfd_create, as_argument("deadheat-mailbox"), MFD_CLOEXEC);
  if (is_error(file)) return;
  long memory = -1;
  if (raw_call(SYS_ftruncate, file, raw_report::kMailboxSize) == 0) {
    memory = raw_call(SYS_mmap, 0, raw_report::kMailboxSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (!is_error(memory)) {
    raw_report::PacketHeader packet;
    packet.kind = raw_report::PacketKind::kMailbox;
    packet.size = sizeof packet;
    if (send_with_descriptor(&packet, static_cast<int>(file)) == HandOff::kSent) {
      mailbox.store(reinterpret_cast<char*>(memory), std::memory_order_release);  // pairs with put_in_mailbox()
    } else {
      raw_munmap(reinterpret_cast<void*>(memory), raw_report::kMailboxSize);
    }
  }
  raw_call(SYS_close, file);
}

bool has_mailbox() { return mailbox.load(std::memory_order_relaxed) != nullptr; }

bool put_in_mailbox(const raw_report::PacketHeader& packet, KeepRoom keep) {
  using raw_report::kMailboxStep;
  char* const begin = mailbox.load(std::memory_order_acquire);  // pairs with open_mailbox()
  const std::uint64_t room = (packet.size + kMailboxStep - 1) / kMailboxStep * kMailboxStep;
  auto& used = *reinterpret_cast<std::atomic<std::uint64_t>*>(begin);
  const std::uint64_t most = raw_report::kMailboxSize - kMailboxStep - (keep == KeepRoom::kYes ? kRoomForReports : 0);
  std::uint64_t before = used.load(std::memory_order_relaxed);
  do {
    if (before + room > most) return false;
  } while (!used.compare_exchange_weak(before, before + room, std::memory_order_relaxed));
  const std::uint64_t at = kMailboxStep + before;
  const char* const from = reinterpret_cast<const char*>(&packet);
  auto* const to = reinterpret_cast<volatile char*>(begin + at);
  for (std::size_t byte = sizeof packet.magic; byte < packet.size; ++byte) to[byte] = from[byte];
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(begin + at), packet.magic, __ATOMIC_RELEASE);  // read by the reader
  return true;
}

}  // namespace deadheat::runtime
