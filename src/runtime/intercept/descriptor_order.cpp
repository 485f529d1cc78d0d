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
#include "runtime/intercept/file_locks.h"
#include "runtime/intercept/io_rings.h"
#include "runtime/intercept/kernel_order.h"
#include "runtime/intercept/relatives.h"
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
  KernelTag receive = kNoTag;
  KernelTag send = kNoTag;
  // Another process may hold the other end.
  enum class Reach : std::uint8_t { kOwn, kRelatives } reach = Reach::kOwn;
};

// How channels are packed: the two tags in the lowest 32 bits, then these, and in the
// highest 16 the number of processes that had been started when the descriptor was made.
constexpr std::uint64_t kKnown = std::uint64_t{1} << 32;
constexpr std::uint64_t kMadeHere = std::uint64_t{1} << 33;  // and not inherited, or made unseen
constexpr std::uint64_t kPrivate = std::uint64_t{1} << 34;   // is worth nothing to another process
constexpr std::uint64_t kReaches = std::uint64_t{1} << 35;   // Reach::kRelatives
constexpr int kStampShift = 48;
constexpr std::uint64_t kStampMask = ~std::uint64_t{0} << kStampShift;
constexpr std::uint32_t kDescriptors = 1U << 16;

// Any thread writes; a stale value orders what a descriptor of the same number was,
// until the next change. Costs no memory where it is not used.
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

// By the tag that is received from: another one, which is received from with it. A
// second source of one target replaces the first.
constinit std::atomic<KernelTag> forwarded[1U << 16];
constexpr int kLongestRow = 8;

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
    if (is_stream(descriptor))
      return {kernel_tag(KernelObject::kStream, there, here), kernel_tag(KernelObject::kStream, here, there)};
    // The receiver of a datagram need not be connected: only its port counts.
    return {kernel_tag(KernelObject::kDatagram, here, 0), kernel_tag(KernelObject::kDatagram, there, 0)};
  }
  if (!is_family(&local.storage, local.size, AF_UNIX)) return {};
  // One of the two ends has the name of the listener.
  std::uint64_t name = local_name_of(&local.storage, local.size);
  if (name == 0 && connected) name = local_name_of(&peer.storage, peer.size);
  const KernelTag tag = is_stream(descriptor) && name != 0 ? kernel_tag(KernelObject::kLocalName, name, 0)
                                                           : kernel_tag(KernelObject::kLocal, 0, 0);
  return {tag, tag};
}

Channel ask_kernel(int descriptor) {
  struct stat about{};
  if (raw_call(SYS_fstat, descriptor, reinterpret_cast<long>(&about)) != 0) return {};
  KernelTag tag = kNoTag;
  Channel::Reach reach = Channel::Reach::kRelatives;
  switch (about.st_mode & S_IFMT) {
    case S_IFSOCK:
      return channel_of_socket(descriptor);
    case S_IFIFO:
      tag = kernel_tag(KernelObject::kInode, about.st_dev, about.st_ino);
      break;
    case 0:  // eventfd, timerfd, epoll: all share one inode, so the number must do
      tag = kernel_tag(KernelObject::kAnonymous, static_cast<std::uint64_t>(descriptor), 0);
      break;
    default:
      reach = Channel::Reach::kOwn;
      if (options().io_sync) tag = kernel_tag(KernelObject::kInode, about.st_dev, about.st_ino);
  }
  return {tag, tag, reach};
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

std::uint64_t stamp_now() { return std::uint64_t{started_relatives.load(std::memory_order_relaxed)} << kStampShift; }

void remember(int descriptor, Channel channel) {
  if (!is_listed(descriptor)) return;
  const std::uint64_t made = channels[descriptor].load(std::memory_order_relaxed) & (kMadeHere | kPrivate | kStampMask);
  const std::uint64_t reaches = channel.reach == Channel::Reach::kRelatives ? kReaches : 0;
  const std::uint64_t tags = (std::uint64_t{channel.receive} << 16) | channel.send;
  channels[descriptor].store(made | reaches | kKnown | tags, std::memory_order_relaxed);
}

Channel unpack(std::uint64_t packed) {
  // No process has a channel that was made here after the last process was started.
  const bool is_own = (packed & kReaches) == 0 || (packed & kPrivate) != 0 ||
                      ((packed & kMadeHere) != 0 && (packed & kStampMask) == stamp_now());
  return {static_cast<KernelTag>(packed >> 16), static_cast<KernelTag>(packed),
          is_own ? Channel::Reach::kOwn : Channel::Reach::kRelatives};
}

Channel channel_of(int descriptor) {
  if (descriptor < 0) return {};
  if (!is_listed(descriptor)) return ask_kernel(descriptor);
  std::uint64_t packed = channels[descriptor].load(std::memory_order_relaxed);
  if ((packed & kKnown) == 0) {
    remember(descriptor, ask_kernel(descriptor));
    packed = channels[descriptor].load(std::memory_order_relaxed);
  }
  return unpack(packed);
}

constexpr std::uint64_t kTagMask = (1U << 16) - 1;
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

// Pipes that this process was started with lead to others, whether it starts any or not.
bool is_inherited(int descriptor) {
  return is_listed(descriptor) && (channels[descriptor].load(std::memory_order_relaxed) & kMadeHere) == 0;
}

void send_order(int descriptor, const Channel& channel, Address code) {
  give_to_kernel(channel.send, code);
  if (channel.reach == Channel::Reach::kOwn) return;
  if (is_inherited(descriptor))
    give_to_outside(code);
  else
    give_to_relatives(code);
}

void receive_order(int descriptor, const Channel& channel, Address code) {
  KernelTag tag = channel.receive;
  for (int row = 0; tag != kNoTag && row < kLongestRow; ++row) {
    take_from_kernel(tag, code);
    tag = forwarded[tag].load(std::memory_order_relaxed);
  }
  if (channel.reach == Channel::Reach::kOwn) return;
  if (is_inherited(descriptor))
    take_from_outside(code);
  else
    take_from_relatives(code);
}

}  // namespace

void remember_open_descriptors() {
  constexpr int kUsual = 1024;
  for (int descriptor = 0; descriptor < kUsual; ++descriptor) {
    if (raw_call(SYS_fcntl, descriptor, F_GETFD) >= 0) channel_of(descriptor);
  }
}

void before_sending(int descriptor, Address code) {
  if (!is_observing()) return;
  use(descriptor, code);
  send_order(descriptor, channel_of(descriptor), code);
  give_to_rings(code);
}

void after_receiving(int descriptor, Address code) {
  if (!is_observing()) return;
  const KeepErrno keep;
  use(descriptor, code);
  receive_order(descriptor, channel_of(descriptor), code);
  take_from_rings(code);
}

void after_ready(int descriptor, Address code) {
  if (!is_observing()) return;
  const KeepErrno keep;
  receive_order(descriptor, channel_of(descriptor), code);
}

void before_forwarding(int from, int to) {
  if (!is_observing()) return;
  const KernelTag source = channel_of(from).receive;
  const KernelTag target = channel_of(to).send;
  if (source != kNoTag && target != kNoTag && source != target)
    forwarded[target].store(source, std::memory_order_relaxed);
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
  if (((known ^ hash) & ~kTagMask) == 0) take_from_kernel(static_cast<KernelTag>(known), code);
}

void before_sending_to(int descriptor, const void* socket_address, std::uint32_t size, Address code) {
  if (!is_observing()) return;
  if (socket_address == nullptr || is_stream(descriptor)) return before_sending(descriptor, code);
  use(descriptor, code);
  if (is_internet(socket_address, size)) {
    return give_to_kernel(kernel_tag(KernelObject::kDatagram, port_of(socket_address, size), 0), code);
  }
  if (is_family(socket_address, size, AF_UNIX)) give_to_kernel(kernel_tag(KernelObject::kLocal, 0, 0), code);
}

void before_connecting(const void* socket_address, std::uint32_t size, Address code) {
  if (!is_observing() || socket_address == nullptr) return;
  if (is_internet(socket_address, size)) {
    return give_to_kernel(kernel_tag(KernelObject::kListener, port_of(socket_address, size), 0), code);
  }
  if (is_family(socket_address, size, AF_UNIX)) {
    give_to_kernel(kernel_tag(KernelObject::kListener, local_name_of(socket_address, size), 1), code);
  }
}

void after_accepting(int listener, Address code) {
  if (!is_observing()) return;
  const KeepErrno keep;
  SocketName name;
  if (!get_name(SYS_getsockname, listener, name)) return;
  if (is_internet(&name.storage, name.size)) {
    take_from_kernel(kernel_tag(KernelObject::kListener, port_of(&name.storage, name.size), 0), code);
  } else if (is_family(&name.storage, name.size, AF_UNIX)) {
    take_from_kernel(kernel_tag(KernelObject::kListener, local_name_of(&name.storage, name.size), 1), code);
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
  forget_file_locks(descriptor);
  forget_uses(static_cast<std::uint32_t>(descriptor), static_cast<std::uint32_t>(descriptor) + 1);
}

void forget_descriptors(std::uint32_t first, std::uint32_t last) {
  if (is_borrowed()) return;
  for (std::uint32_t descriptor = first; descriptor <= last && descriptor < kDescriptors; ++descriptor) {
    const std::uint64_t packed = channels[descriptor].load(std::memory_order_relaxed);
    if ((packed & kKnown) != 0) send_order(static_cast<int>(descriptor), unpack(packed), 0);  // its end is seen
    forget_file_locks(static_cast<int>(descriptor));
    channels[descriptor].store(0, std::memory_order_relaxed);
  }
  forget_uses(first, last < kDescriptors ? last + 1 : kDescriptors);
}

void copy_descriptor(int from, int to) {
  if (!is_observing()) return forget_descriptor(to);
  const KeepErrno keep;
  if (is_borrowed() || !is_listed(to)) return;
  copy_file_locks(from, to);
  forget_uses(static_cast<std::uint32_t>(to), static_cast<std::uint32_t>(to) + 1);
  static_cast<void>(channel_of(from));  // asked for once, for both
  const std::uint64_t packed = is_listed(from) ? channels[from].load(std::memory_order_relaxed) : 0;
  channels[to].store(packed, std::memory_order_relaxed);
}

void note_made(int descriptor, Made how) {
  if (!is_listed(descriptor) || is_borrowed()) return;
  std::uint64_t made = kMadeHere;
  if (how == Made::kHere) made |= stamp_now();
  if (how == Made::kByName) made |= kStampMask;
  if (how == Made::kForItself) made |= kPrivate;
  channels[descriptor].store(made, std::memory_order_relaxed);
}

void name_channel(int descriptor, std::uint16_t tag) {
  if (!is_listed(descriptor) || is_borrowed()) return;
  remember(descriptor, {tag, tag, Channel::Reach::kRelatives});
}

void pair_sockets(int one, int other) {
  if (is_borrowed()) return;
  struct stat first{};
  struct stat second{};
  if (raw_call(SYS_fstat, one, reinterpret_cast<long>(&first)) != 0) return;
  if (raw_call(SYS_fstat, other, reinterpret_cast<long>(&second)) != 0) return;
  const KernelTag to_first = kernel_tag(KernelObject::kPaired, first.st_dev, first.st_ino);
  const KernelTag to_second = kernel_tag(KernelObject::kPaired, second.st_dev, second.st_ino);
  remember(one, {to_first, to_second, Channel::Reach::kRelatives});
  remember(other, {to_second, to_first, Channel::Reach::kRelatives});
}

}  // namespace deadheat::runtime
