// SPDX-License-Identifier: Apache-2.0
// Bytes that pass through descriptors: read, write and their relatives.
//
// The buffer of a write is read before the call, the buffer of a read written
// after it, as far as the call says. Order goes from sender to receiver; see
// descriptor_order.h. Nothing with a destructor lives across a call: it may be
// cancelled.
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "runtime/intercept/descriptor_order.h"
#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

using Count = long;  // ssize_t
using Offset = long;

std::size_t positive(Count count) { return count > 0 ? static_cast<std::size_t>(count) : 0; }

// After a read: 0 is the end of the stream, which the closing sent.
void report_received(int descriptor, const void* buffer, Count count, Address code) {
  if (count < 0 || !is_observing()) return;
  after_receiving(descriptor, code);
  report_written(buffer, positive(count), code);
}

void report_sending(int descriptor, const void* buffer, std::size_t size, Address code) {
  if (!is_observing()) return;
  on_read(buffer, size, code);
  before_sending(descriptor, code);
}

// After a write: one that finds nobody to read comes after the closing.
Count sent(Count count, int descriptor, Address code) {
  if (count < 0 && (errno == EPIPE || errno == ECONNRESET)) after_receiving(descriptor, code);
  return count;
}

void report_vectors_written(const iovec* vectors, std::size_t vector_count, Count count, Address code) {
  std::size_t rest = positive(count);
  for (std::size_t at = 0; at < vector_count && rest != 0; ++at) {
    const std::size_t part = vectors[at].iov_len < rest ? vectors[at].iov_len : rest;
    report_written(vectors[at].iov_base, part, code);
    rest -= part;
  }
}

void report_vectors_received(int descriptor, const iovec* vectors, int vector_count, Count count, Address code) {
  if (count < 0 || !is_observing()) return;
  after_receiving(descriptor, code);
  report_read(vectors, sizeof(iovec) * static_cast<std::size_t>(vector_count), code);
  report_vectors_written(vectors, static_cast<std::size_t>(vector_count), count, code);
}

void report_vectors_read(const iovec* vectors, std::size_t vector_count, Address code) {
  on_read(vectors, sizeof(iovec) * vector_count, code);
  for (std::size_t at = 0; at < vector_count; ++at) on_read(vectors[at].iov_base, vectors[at].iov_len, code);
}

void report_vectors_sending(int descriptor, const iovec* vectors, int vector_count, Address code) {
  if (!is_observing() || vector_count < 0 || vectors == nullptr) return;
  report_vectors_read(vectors, static_cast<std::size_t>(vector_count), code);
  before_sending(descriptor, code);
}

void report_message_sending(int descriptor, const msghdr* message, Address code) {
  if (!is_observing() || message == nullptr) return;
  on_read(message, sizeof(*message), code);
  on_read(message->msg_name, message->msg_namelen, code);
  on_read(message->msg_control, message->msg_controllen, code);
  report_vectors_read(message->msg_iov, message->msg_iovlen, code);
  before_sending_to(descriptor, message->msg_name, message->msg_namelen, code);
}

void report_message_received(int descriptor, msghdr* message, Count count, Address code) {
  if (count < 0 || !is_observing()) return;
  after_receiving(descriptor, code);
  report_written(message, sizeof(*message), code);
  report_written(message->msg_name, message->msg_namelen, code);
  report_written(message->msg_control, message->msg_controllen, code);
  report_vectors_written(message->msg_iov, message->msg_iovlen, count, code);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(Count, read, int descriptor, void* buffer, std::size_t size) {
  DEADHEAT_ORIGINAL(read);
  const Count count = original(descriptor, buffer, size);
  report_received(descriptor, buffer, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(Count, __read_chk, int descriptor, void* buffer, std::size_t size, std::size_t room) {
  DEADHEAT_ORIGINAL(__read_chk);
  const Count count = original(descriptor, buffer, size, room);
  report_received(descriptor, buffer, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(Count, pread, int descriptor, void* buffer, std::size_t size, Offset offset) {
  DEADHEAT_ORIGINAL(pread);
  const Count count = original(descriptor, buffer, size, offset);
  report_received(descriptor, buffer, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(Count, pread64, int descriptor, void* buffer, std::size_t size, Offset offset) {
  DEADHEAT_ORIGINAL(pread64);
  const Count count = original(descriptor, buffer, size, offset);
  report_received(descriptor, buffer, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(Count, readv, int descriptor, const iovec* vectors, int vector_count) {
  DEADHEAT_ORIGINAL(readv);
  const Count count = original(descriptor, vectors, vector_count);
  report_vectors_received(descriptor, vectors, vector_count, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(Count, preadv, int descriptor, const iovec* vectors, int vector_count, Offset offset) {
  DEADHEAT_ORIGINAL(preadv);
  const Count count = original(descriptor, vectors, vector_count, offset);
  report_vectors_received(descriptor, vectors, vector_count, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(Count, preadv64, int descriptor, const iovec* vectors, int vector_count, Offset offset) {
  DEADHEAT_ORIGINAL(preadv64);
  const Count count = original(descriptor, vectors, vector_count, offset);
  report_vectors_received(descriptor, vectors, vector_count, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(Count, preadv2, int descriptor, const iovec* vectors, int vector_count, Offset offset, int flags) {
  DEADHEAT_ORIGINAL(preadv2);
  const Count count = original(descriptor, vectors, vector_count, offset, flags);
  report_vectors_received(descriptor, vectors, vector_count, count, DEADHEAT_CALLER);
  return count;
}

DEADHEAT_REPLACE(Count, write, int descriptor, const void* buffer, std::size_t size) {
  DEADHEAT_ORIGINAL(write);
  report_sending(descriptor, buffer, size, DEADHEAT_CALLER);
  return sent(original(descriptor, buffer, size), descriptor, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(Count, pwrite, int descriptor, const void* buffer, std::size_t size, Offset offset) {
  DEADHEAT_ORIGINAL(pwrite);
  report_sending(descriptor, buffer, size, DEADHEAT_CALLER);
  return original(descriptor, buffer, size, offset);
}
DEADHEAT_REPLACE(Count, pwrite64, int descriptor, const void* buffer, std::size_t size, Offset offset) {
  DEADHEAT_ORIGINAL(pwrite64);
  report_sending(descriptor, buffer, size, DEADHEAT_CALLER);
  return original(descriptor, buffer, size, offset);
}
DEADHEAT_REPLACE(Count, writev, int descriptor, const iovec* vectors, int vector_count) {
  DEADHEAT_ORIGINAL(writev);
  report_vectors_sending(descriptor, vectors, vector_count, DEADHEAT_CALLER);
  return sent(original(descriptor, vectors, vector_count), descriptor, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(Count, pwritev, int descriptor, const iovec* vectors, int vector_count, Offset offset) {
  DEADHEAT_ORIGINAL(pwritev);
  report_vectors_sending(descriptor, vectors, vector_count, DEADHEAT_CALLER);
  return original(descriptor, vectors, vector_count, offset);
}
DEADHEAT_REPLACE(Count, pwritev64, int descriptor, const iovec* vectors, int vector_count, Offset offset) {
  DEADHEAT_ORIGINAL(pwritev64);
  report_vectors_sending(descriptor, vectors, vector_count, DEADHEAT_CALLER);
  return original(descriptor, vectors, vector_count, offset);
}
DEADHEAT_REPLACE(Count, pwritev2, int descriptor, const iovec* vectors, int vector_count, Offset offset, int flags) {
  DEADHEAT_ORIGINAL(pwritev2);
  report_vectors_sending(descriptor, vectors, vector_count, DEADHEAT_CALLER);
  return original(descriptor, vectors, vector_count, offset, flags);
}

DEADHEAT_REPLACE(Count, recv, int descriptor, void* buffer, std::size_t size, int flags) {
  DEADHEAT_ORIGINAL(recv);
  const Count count = original(descriptor, buffer, size, flags);
  report_received(descriptor, buffer, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(Count, __recv_chk, int descriptor, void* buffer, std::size_t size, std::size_t room, int flags) {
  DEADHEAT_ORIGINAL(__recv_chk);
  const Count count = original(descriptor, buffer, size, room, flags);
  report_received(descriptor, buffer, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(Count, recvfrom, int descriptor, void* buffer, std::size_t size, int flags, void* address,
                 socklen_t* address_size) {
  DEADHEAT_ORIGINAL(recvfrom);
  const Count count = original(descriptor, buffer, size, flags, address, address_size);
  report_received(descriptor, buffer, count, DEADHEAT_CALLER);
  if (count >= 0 && address != nullptr && address_size != nullptr) {
    report_written(address, *address_size, DEADHEAT_CALLER);
    report_written(address_size, sizeof(*address_size), DEADHEAT_CALLER);
  }
  return count;
}
DEADHEAT_REPLACE(Count, recvmsg, int descriptor, msghdr* message, int flags) {
  DEADHEAT_ORIGINAL(recvmsg);
  const Count count = original(descriptor, message, flags);
  report_message_received(descriptor, message, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(int, recvmmsg, int descriptor, mmsghdr* messages, unsigned message_count, int flags, void* timeout) {
  DEADHEAT_ORIGINAL(recvmmsg);
  const int count = original(descriptor, messages, message_count, flags, timeout);
  for (int at = 0; at < count; ++at) {
    report_message_received(descriptor, &messages[at].msg_hdr, messages[at].msg_len, DEADHEAT_CALLER);
    report_written(&messages[at].msg_len, sizeof(messages[at].msg_len), DEADHEAT_CALLER);
  }
  return count;
}

DEADHEAT_REPLACE(Count, send, int descriptor, const void* buffer, std::size_t size, int flags) {
  DEADHEAT_ORIGINAL(send);
  report_sending(descriptor, buffer, size, DEADHEAT_CALLER);
  return sent(original(descriptor, buffer, size, flags), descriptor, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(Count, sendto, int descriptor, const void* buffer, std::size_t size, int flags, const void* address,
                 socklen_t address_size) {
  DEADHEAT_ORIGINAL(sendto);
  if (is_observing()) {
    on_read(buffer, size, DEADHEAT_CALLER);
    on_read(address, address_size, DEADHEAT_CALLER);
    before_sending_to(descriptor, address, address_size, DEADHEAT_CALLER);
  }
  return sent(original(descriptor, buffer, size, flags, address, address_size), descriptor, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(Count, sendmsg, int descriptor, const msghdr* message, int flags) {
  DEADHEAT_ORIGINAL(sendmsg);
  report_message_sending(descriptor, message, DEADHEAT_CALLER);
  return sent(original(descriptor, message, flags), descriptor, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, sendmmsg, int descriptor, mmsghdr* messages, unsigned message_count, int flags) {
  DEADHEAT_ORIGINAL(sendmmsg);
  for (unsigned at = 0; at < message_count; ++at) {
    report_message_sending(descriptor, &messages[at].msg_hdr, DEADHEAT_CALLER);
  }
  const int count = original(descriptor, messages, message_count, flags);
  for (int at = 0; at < count; ++at) {
    report_written(&messages[at].msg_len, sizeof(messages[at].msg_len), DEADHEAT_CALLER);
  }
  return count;
}
DEADHEAT_REPLACE(int, eventfd_read, int descriptor, std::uint64_t* value) {
  DEADHEAT_ORIGINAL(eventfd_read);
  const int result = original(descriptor, value);
  if (result == 0) report_received(descriptor, value, sizeof(*value), DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, eventfd_write, int descriptor, std::uint64_t value) {
  DEADHEAT_ORIGINAL(eventfd_write);
  before_sending(descriptor, DEADHEAT_CALLER);
  return original(descriptor, value);
}

// The same under other names, and as programs call them that were built with _FORTIFY_SOURCE.
DEADHEAT_ALSO(__read, read);
DEADHEAT_ALSO(__write, write);
DEADHEAT_ALSO(__pread64, pread64);
DEADHEAT_ALSO(__pwrite64, pwrite64);
DEADHEAT_ALSO(__send, send);
DEADHEAT_ALSO(preadv64v2, preadv2);
DEADHEAT_ALSO(pwritev64v2, pwritev2);
DEADHEAT_REPLACE(Count, __pread_chk, int descriptor, void* buffer, std::size_t size, Offset offset, std::size_t room) {
  DEADHEAT_ORIGINAL(__pread_chk);
  const Count count = original(descriptor, buffer, size, offset, room);
  report_received(descriptor, buffer, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_ALSO(__pread64_chk, __pread_chk);
DEADHEAT_REPLACE(Count, __recvfrom_chk, int descriptor, void* buffer, std::size_t size, std::size_t room, int flags,
                 void* address, socklen_t* address_size) {
  DEADHEAT_ORIGINAL(__recvfrom_chk);
  const Count count = original(descriptor, buffer, size, room, flags, address, address_size);
  report_received(descriptor, buffer, count, DEADHEAT_CALLER);
  if (count >= 0 && address != nullptr && address_size != nullptr) {
    report_written(address, *address_size, DEADHEAT_CALLER);
    report_written(address_size, sizeof(*address_size), DEADHEAT_CALLER);
  }
  return count;
}
