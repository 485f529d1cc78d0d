// SPDX-License-Identifier: Apache-2.0
// MailboxReader: packets that a program leaves in shared memory because its filter of system calls does not let it send
// (runtime/mailbox.h). The memory is the program's: what stands there is read by system calls and believed only in its
// length; whoever parses the packets checks the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace deadheat {

class MailboxReader {
 public:
  // A descriptor of the memory, which is duplicated.
  explicit MailboxReader(int descriptor);
  ~MailboxReader();
  MailboxReader(MailboxReader&& other) noexcept;
  MailboxReader& operator=(MailboxReader&&) = delete;
  MailboxReader(const MailboxReader&) = delete;
  MailboxReader& operator=(const MailboxReader&) = delete;

  // Hands over what is new.
  void read(const std::function<void(std::span<const std::byte>)>& handler);

 private:
  int descriptor_;
  std::uint64_t position_;
  std::vector<std::byte> packet_;
};

// Whether a packet says that a mailbox comes with it.
[[nodiscard]] bool announces_mailbox(std::span<const std::byte> packet);

}  // namespace deadheat
