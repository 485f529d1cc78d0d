// SPDX-License-Identifier: Apache-2.0
// DescriptorOrder: what hands order from a sender to a receiver.
//
// A byte read from a pipe was written before; so all that the writer did before
// it wrote happens before what the reader does next. The same holds for sockets
// whose two ends are in one process and for eventfds, timerfds and epoll. For
// files it holds only by luck of timing, and threads that share a log file would
// look ordered: off unless the option io_sync asks for it.
//
// The two ends of a channel are found by what the kernel knows of them: a pipe
// has one inode; the ends of a socketpair were made by one call; a TCP connection
// has two ports; a named Unix socket has its name; so do queues of messages. Each
// direction becomes a tag (kernel_order.h). Unnamed Unix sockets that nobody paired
// are ordered more than they should be.
//
// A pipe, a pair of sockets or an eventfd may also be in other hands: since a process
// was started after it had been made, or as it came with the process itself. Then
// what is sent goes to the outside, too (relatives.h).
//
// A descriptor is also memory of a kind: one thread uses the number, another
// closes it, and if nothing orders the two the use may hit whatever the number
// means next. Each number has a word that uses read and closing frees. Closing
// and opening forget the uses before, so that one life of a number never meets
// the next; what is closed without our seeing it (fclose) is forgotten, too.
#pragma once

#include <cstdint>

#include "model/identity.h"

namespace deadheat::runtime {

// Before bytes leave, and before the descriptor is closed or shut down (the
// other end sees the end of the stream).
void before_sending(int descriptor, Address code);
// After bytes, or the end of the stream, have arrived. Keeps errno.
void after_receiving(int descriptor, Address code);

// The kernel says that there is something to receive, so it was sent: order without
// a use.
void after_ready(int descriptor, Address code);
// epoll names a ready descriptor only by the word that the program gave with it.
void watch_descriptor(int set, std::uint64_t word, int descriptor);
void after_ready_in_set(int set, std::uint64_t word, Address code);

// Before bytes go from one descriptor to the other within the kernel: what is sent to
// `from` is received from `to` from now on.
void before_forwarding(int from, int to);

// A datagram to a given address: ordered with the receiver bound to it.
void before_sending_to(int descriptor, const void* socket_address, std::uint32_t size, Address code);
// Before connect, and after accept has returned.
void before_connecting(const void* socket_address, std::uint32_t size, Address code);
void after_accepting(int listener, Address code);

// Before a number is closed: checked against the uses of it by other threads.
void before_closing(int descriptor, Address code);
// The kernel gave out this number: after its last close.
void after_opening(int descriptor, Address code);
// A use that moves no bytes.
void on_descriptor_used(int descriptor, Address code);
// In the child of a fork: what other threads of the parent used is nothing to it.
void forget_descriptor_uses();

// What is known of the descriptor is stale: it was opened or closed.
void forget_descriptor(int descriptor);
void forget_descriptors(std::uint32_t first, std::uint32_t last);
void copy_descriptor(int from, int to);
// Asks the system for all that are open, as long as it may be asked.
void remember_open_descriptors();
// How a descriptor came to be, which says who else may have it; after it was forgotten.
enum class Made : std::uint8_t {
  kHere,       // without a name: others have it only if they were started later
  kByName,     // others may have opened it, too
  kForItself,  // is worth nothing to others
};
void note_made(int descriptor, Made how);
// It sends to and receives from this tag of kernel_order.h.
void name_channel(int descriptor, std::uint16_t tag);
void pair_sockets(int one, int other);

}  // namespace deadheat::runtime
