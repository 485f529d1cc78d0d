// SPDX-License-Identifier: Apache-2.0
#include "runtime/intercept/descriptor_order.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <atomic>
#include <cstddef>

#include "base/flat_map.h"
#include "runtime/intercept/replace.h"
#include "runtime/on_access.h"
#include "runtime/on_memory.h"
#include "runtime/on_sync.h"
#include "runtime/options.h"
#include "runtime/system.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {
namespace {

// Both directions of a descriptor; kNoTag where nothing is ordered.
struct Channel {
  std::uint16_t receive = 0;
  std::uint16_t send = 0;
};
constexpr std::uint16_t kNoTag = 0;

constexpr std::uint32_t kTags = 1U << 16;
constexpr std::uint32_t kDescriptors = 1U << 16;
constexpr std::uint64_t kKnown = std::uint64_t{1} << 32;

// Nothing is stored in the tags; their addresses are names that no object of the
// program can have. Neither array costs memory where it is not used.
constinit char tags[kTags] = {};
// Channel and kKnown. Any thread writes; a stale value orders what a descriptor
// of the same number was, until the next change.
constinit std::atomic<std::uint64_t> channels[kDescriptors];

// Nothing is stored here either: the history of a word is that of its descriptor.
// Reports name the array.
constinit std::uint64_t file_descriptors[kDescriptors] = {};
constinit char numbers[kDescriptors] = {};                 // names like the tags: of closing and opening
constinit std::atomic<std::uint32_t> used_descriptors{0};  // one more than the highest number used

// What is watched by epoll: a hash of set and word above the tag of what the
// descriptor receives. One that displaces another loses the other's order, which
// matters only to programs that never read what they were told is ready.
constexpr std::uint32_t kWatched = 1U << 14;
constinit std::atomic<std::uint64_t> watched[kWatched];

enum class Family : std::uint64_t {
  kInode = 1,
  kAnonymous,
  kStream,
  kDatagram,
  kLocalName,
  kLocal,
  kListener,
  kPaired
};

std::uint16_t tag_of(Family family, std::uint64_t first, std::uint64_t second) {
  const std::uint64_t mixed = spread(first + spread(second + spread(static_cast<std::uint64_t>(family))));
  const auto tag = static_cast<std::uint16_t>(mixed >> 24);
  return tag == kNoTag ? 1 : tag;
}

Address address_of_tag(std::uint16_t tag) { return address_of(&tags[tag]); }

struct SocketName {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);
};

bool get_name(long call, int descriptor, SocketName& name) {
  return raw_call(call, descriptor, reinterpret_cast<long>(&name.storage), reinterpret_cast<long>(&name.size)) == 0;
}

// 0 for an address without a port.
std::uint64_t port_of(const void* socket_address, socklen_t size) {
  const auto* generic = static_cast<const sockaddr*>(socket_address);
  if (size < sizeof(sa_family_t)) return 0;
  if (generic->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    return static_cast<const sockaddr_in*>(socket_address)->sin_port;
  }
  if (generic->sa_family == AF_INET6 && size >= offsetof(sockaddr_in6, sin6_addr)) {
    return static_cast<const sockaddr_in6*>(socket_address)->sin6_port;
  }
  return 0;
}

// 0 for a socket without a name.
std::uint64_t local_name_of(const void* socket_address, socklen_t size) {
  constexpr socklen_t kNameOffset = offsetof(sockaddr_un, sun_path);
  const auto* bytes = static_cast<const unsigned char*>(socket_address);
  std::uint64_t hash = 0;
  for (socklen_t at = kNameOffset; at < size; ++at) {
    if (bytes[at] == 0 && at != kNameOffset) break;
    hash = spread(hash + bytes[at] + 1);
  }
  return hash;
}

bool is_family(const void* socket_address, socklen_t size, int family) {
  return size >= sizeof(sa_family_t) && static_cast<const sockaddr*>(socket_address)->sa_family == family;
}

bool is_internet(const void* socket_address, socklen_t size) {
  return is_family(socket_address, size, AF_INET) || is_family(socket_address, size, AF_INET6);
}

bool is_stream(int descriptor) {
  int type = 0;
  socklen_t size = sizeof(type);
  return raw_call(SYS_getsockopt, descriptor, SOL_SOCKET, SO_TYPE, reinterpret_cast<long>(&type),
                  reinterpret_cast<long>(&size)) == 0 &&
         type != SOCK_DGRAM;
}

Channel channel_of_socket(int descriptor) {
  SocketName local;
  SocketName peer;
  if (!get_name(SYS_getsockname, descriptor, local)) return {};
  const bool connected = get_name(SYS_getpeername, descriptor, peer);
  if (is_internet(&local.storage, local.size)) {
    const std::uint64_t here = port_of(&local.storage, local.size);
    const std::uint64_t there = connected ? port_of(&peer.storage, peer.size) : 0;
    if (is_stream(descriptor)) return {tag_of(Family::kStream, there, here), tag_of(Family::kStream, here, there)};
    // The receiver of a datagram need not be connected: only its port counts.
    return {tag_of(Family::kDatagram, here, 0), tag_of(Family::kDatagram, there, 0)};
  }
  if (!is_family(&local.storage, local.size, AF_UNIX)) return {};
  // One of the two ends has the name of the listener.
  std::uint64_t name = local_name_of(&local.storage, local.size);
  if (name == 0 && connected) name = local_name_of(&peer.storage, peer.size);
  const std::uint16_t tag =
      is_stream(descriptor) && name != 0 ? tag_of(Family::kLocalName, name, 0) : tag_of(Family::kLocal, 0, 0);
  return {tag, tag};
}

Channel ask_kernel(int descriptor) {
  struct stat about{};
  if (raw_call(SYS_fstat, descriptor, reinterpret_cast<long>(&about)) != 0) return {};
  std::uint16_t tag = kNoTag;
  switch (about.st_mode & S_IFMT) {
    case S_IFSOCK:
      return channel_of_socket(descriptor);
    case S_IFIFO:
      tag = tag_of(Family::kInode, about.st_dev, about.st_ino);
      break;
    case 0:  // eventfd, timerfd, epoll: all share one inode, so the number must do
      tag = tag_of(Family::kAnonymous, static_cast<std::uint64_t>(descriptor), 0);
      break;
    default:
      if (options().io_sync) tag = tag_of(Family::kInode, about.st_dev, about.st_ino);
  }
  return {tag, tag};
}

bool is_listed(int descriptor) { return descriptor >= 0 && static_cast<std::uint32_t>(descriptor) < kDescriptors; }

// The child of vfork has descriptors of its own and the memory of its parent: what
// it does to them must not change the parent's table. It is known by its number,
// which differs from the thread's that it borrows; fibers are on no thread.
bool is_borrowed() {
  if (!is_observing()) return false;
  const std::uint32_t thread = self().info->os_id;
  return thread != 0 && static_cast<std::uint32_t>(raw_call(SYS_gettid)) != thread;
}

void remember(int descriptor, Channel channel) {
  if (!is_listed(descriptor)) return;
  const std::uint64_t packed = kKnown | (std::uint64_t{channel.receive} << 16) | channel.send;
  channels[descriptor].store(packed, std::memory_order_relaxed);
}

Channel channel_of(int descriptor) {
  if (descriptor < 0) return {};
  if (is_listed(descriptor)) {
    const std::uint64_t known = channels[descriptor].load(std::memory_order_relaxed);
    if ((known & kKnown) != 0) return {static_cast<std::uint16_t>(known >> 16), static_cast<std::uint16_t>(known)};
  }
  const Channel channel = ask_kernel(descriptor);
  remember(descriptor, channel);
  return channel;
}

constexpr std::uint64_t kTagMask = kTags - 1;
std::uint64_t watch_hash(int set, std::uint64_t word) {
  return spread(word + spread(static_cast<std::uint64_t>(set) + 1));
}

void use(int descriptor, Address code) {
  if (!is_listed(descriptor)) return;
  const auto number = static_cast<std::uint32_t>(descriptor);
  std::uint32_t used = used_descriptors.load(std::memory_order_relaxed);
  while (used <= number && !used_descriptors.compare_exchange_weak(used, number + 1, std::memory_order_relaxed)) {
  }
  on_read(&file_descriptors[number], sizeof(file_descriptors[number]), code);
}

// From `first` to before `last`.
void forget_uses(std::uint32_t first, std::uint32_t last) {
  const std::uint32_t used = used_descriptors.load(std::memory_order_relaxed);
  if (last > used) last = used;
  if (first >= last || !is_observing()) return;
  on_mapped(self(), address_of(&file_descriptors[first]), (last - first) * sizeof(file_descriptors[0]), 0);
}

void send_order(std::uint16_t tag, Address code) {
  if (tag != kNoTag) on_happens_before(self(), address_of_tag(tag), code);
}
void receive_order(std::uint16_t tag, Address code) {
  if (tag != kNoTag) on_happens_after(self(), address_of_tag(tag), code);
}

}  // namespace

void before_sending(int descriptor, Address code) {
  if (!is_observing()) return;
  use(descriptor, code);
  send_order(channel_of(descriptor).send, code);
}

void after_receiving(int descriptor, Address code) {
  if (!is_observing()) return;
  const KeepErrno keep;
  use(descriptor, code);
  receive_order(channel_of(descriptor).receive, code);
}

void after_ready(int descriptor, Address code) {
  if (!is_observing()) return;
  const KeepErrno keep;
  receive_order(channel_of(descriptor).receive, code);
}

void watch_descriptor(int set, std::uint64_t word, int descriptor) {
  if (!is_observing() || is_borrowed()) return;
  const KeepErrno keep;
  const std::uint64_t hash = watch_hash(set, word);
  watched[hash % kWatched].store((hash & ~kTagMask) | channel_of(descriptor).receive, std::memory_order_relaxed);
}

void after_ready_in_set(int set, std::uint64_t word, Address code) {
  if (!is_observing()) return;
  const KeepErrno keep;
  const std::uint64_t hash = watch_hash(set, word);
  const std::uint64_t known = watched[hash % kWatched].load(std::memory_order_relaxed);
  if (((known ^ hash) & ~kTagMask) == 0) receive_order(static_cast<std::uint16_t>(known), code);
}

void before_sending_to(int descriptor, const void* socket_address, std::uint32_t size, Address code) {
  if (!is_observing()) return;
  if (socket_address == nullptr || is_stream(descriptor)) return before_sending(descriptor, code);
  use(descriptor, code);
  if (is_internet(socket_address, size)) {
    return send_order(tag_of(Family::kDatagram, port_of(socket_address, size), 0), code);
  }
  if (is_family(socket_address, size, AF_UNIX)) send_order(tag_of(Family::kLocal, 0, 0), code);
}

void before_connecting(const void* socket_address, std::uint32_t size, Address code) {
  if (!is_observing() || socket_address == nullptr) return;
  if (is_internet(socket_address, size)) {
    return send_order(tag_of(Family::kListener, port_of(socket_address, size), 0), code);
  }
  if (is_family(socket_address, size, AF_UNIX)) {
    send_order(tag_of(Family::kListener, local_name_of(socket_address, size), 1), code);
  }
}

void after_accepting(int listener, Address code) {
  if (!is_observing()) return;
  const KeepErrno keep;
  SocketName name;
  if (!get_name(SYS_getsockname, listener, name)) return;
  if (is_internet(&name.storage, name.size)) {
    receive_order(tag_of(Family::kListener, port_of(&name.storage, name.size), 0), code);
  } else if (is_family(&name.storage, name.size, AF_UNIX)) {
    receive_order(tag_of(Family::kListener, local_name_of(&name.storage, name.size), 1), code);
  }
}

void before_closing(int descriptor, Address code) {
  if (!is_observing() || !is_listed(descriptor) || is_borrowed()) return;
  const auto number = static_cast<std::uint32_t>(descriptor);
  on_happens_before(self(), address_of(&numbers[number]), code);
  if (number >= used_descriptors.load(std::memory_order_relaxed)) return;
  on_freeing(self(), address_of(&file_descriptors[number]), sizeof(file_descriptors[number]), code);
}

void after_opening(int descriptor, Address code) {
  if (!is_observing() || !is_listed(descriptor) || is_borrowed()) return;
  const KeepErrno keep;
  on_happens_after(self(), address_of(&numbers[descriptor]), code);
}

void on_descriptor_used(int descriptor, Address code) {
  if (!is_observing() || is_borrowed()) return;
  const KeepErrno keep;
  use(descriptor, code);
}

void forget_descriptor_uses() { forget_uses(0, kDescriptors); }

void forget_descriptor(int descriptor) {
  if (!is_listed(descriptor) || is_borrowed()) return;
  const KeepErrno keep;
  channels[descriptor].store(0, std::memory_order_relaxed);
  forget_uses(static_cast<std::uint32_t>(descriptor), static_cast<std::uint32_t>(descriptor) + 1);
}

void forget_descriptors(std::uint32_t first, std::uint32_t last) {
  if (is_borrowed()) return;
  for (std::uint32_t descriptor = first; descriptor <= last && descriptor < kDescriptors; ++descriptor) {
    channels[descriptor].store(0, std::memory_order_relaxed);
  }
  forget_uses(first, last < kDescriptors ? last + 1 : kDescriptors);
}

void copy_descriptor(int from, int to) {
  if (!is_observing()) return forget_descriptor(to);
  const KeepErrno keep;
  if (is_borrowed()) return;
  if (is_listed(to)) forget_uses(static_cast<std::uint32_t>(to), static_cast<std::uint32_t>(to) + 1);
  remember(to, channel_of(from));
}

void pair_sockets(int one, int other) {
  if (is_borrowed()) return;
  struct stat first{};
  struct stat second{};
  if (raw_call(SYS_fstat, one, reinterpret_cast<long>(&first)) != 0) return;
  if (raw_call(SYS_fstat, other, reinterpret_cast<long>(&second)) != 0) return;
  const std::uint16_t to_first = tag_of(Family::kPaired, first.st_dev, first.st_ino);
  const std::uint16_t to_second = tag_of(Family::kPaired, second.st_dev, second.st_ino);
  remember(one, {to_first, to_second});
  remember(other, {to_second, to_first});
}

}  // namespace deadheat::runtime
