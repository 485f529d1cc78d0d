// SPDX-License-Identifier: Apache-2.0
#include "watch/agent/tell.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <ctime>

#include "watch/agent/breakpoints.h"
#include "watch/agent/budget.h"
#include "watch/agent/counters.h"
#include "watch/agent/sites.h"
#include "watch/agent/stack_walk.h"
#include "watch/agent/system.h"
#include "watch/agent/threads.h"

namespace deadheat::watch {

constinit Counters counters;

namespace {

constinit std::atomic<int> channel{-1};
constinit std::atomic<bool> is_dead{false};
constinit SpinLock lock;  // of everything below

// Filled by handlers, with the lock, and sent by the agent's thread without it.
struct KeptCollision {
  std::atomic<bool> is_full;
  Collision packet;
};
constexpr std::uint32_t kMostKept = 8;
constinit KeptCollision kept[kMostKept] = {};
// Of the agent's thread; large.
constinit Modules modules;

// How often a pair of instructions was told. A full table tells no new pairs.
struct ToldPair {
  Address lower;
  Address higher;
  std::uint8_t times[2];  // suspected, confirmed
};
constexpr std::uint32_t kPairs = 1024;
constexpr std::uint8_t kMostTimes = 3;
constinit ToldPair told[kPairs] = {};

bool is_worth_telling(Address one, Address other, bool is_confirmed) {
  const Address lower = one < other ? one : other;
  const Address higher = one < other ? other : one;
  const std::uint64_t hash = (lower * 0x9e3779b97f4a7c15ULL) ^ (higher * 0xc2b2ae3d27d4eb4fULL);
  for (std::uint32_t tries = 0; tries < kPairs; ++tries) {
    ToldPair& pair = told[((hash >> 40) + tries) % kPairs];
    if (pair.higher == 0) pair = {lower, higher, {}};
    if (pair.lower != lower || pair.higher != higher) continue;
    std::uint8_t& times = pair.times[is_confirmed ? 1 : 0];
    if (times == kMostTimes) return false;
    ++times;
    return true;
  }
  return false;
}

enum class Patience : std::uint8_t { kNone, kSome };

bool send_packet(PacketHead& head, PacketKind kind, std::size_t size, Patience patience = Patience::kNone) {
  head.kind = kind;
  head.version = kWatchPacketVersion;
  head.process = static_cast<std::uint32_t>(raw_call(SYS_getpid));
  head.size = static_cast<std::uint32_t>(size);
  const int descriptor = channel.load(std::memory_order_relaxed);
  if (descriptor < 0) return false;
  for (int tries = 0;; ++tries) {
    const long result = raw_call(SYS_sendto, descriptor, as_argument(&head), static_cast<long>(size),
                                 MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
    if (result >= 0) return true;
    if (result == -EAGAIN && patience == Patience::kSome && tries < 20) {
      const timespec pause{0, 5'000'000};
      raw_call(SYS_nanosleep, as_argument(&pause));
      continue;
    }
    if (result != -EAGAIN && result != -EINTR && result != -ENOBUFS) is_dead.store(true, std::memory_order_relaxed);
    return false;
  }
}

std::size_t write_hexadecimal(char* to, Address value) {
  char digits[16];
  std::size_t count = 0;
  do {
    digits[count++] = "0123456789abcdef"[value % 16];
    value /= 16;
  } while (value != 0);
  for (std::size_t at = 0; at < count; ++at) to[at] = digits[count - 1 - at];
  return count;
}

// Collects the mappings of one file into one line.
struct ModuleLines {
  std::size_t size = 0;
  char path[512] = {};
  Address begin = 0;
  Address end = 0;
  bool has_code = false;

  void finish_module() {
    const std::size_t needed = length_of(path) + 2 * 17 + 2;
    if (path[0] == '/' && has_code) {
      if (size + needed > sizeof modules.lines) send();
      size += write_hexadecimal(modules.lines + size, begin);
      modules.lines[size++] = ' ';
      size += write_hexadecimal(modules.lines + size, end);
      modules.lines[size++] = ' ';
      size += copy_text(modules.lines + size, sizeof modules.lines - size, path);
      modules.lines[size++] = '\n';
    }
    path[0] = 0;
    has_code = false;
  }
  void send() {
    if (size == 0) return;
    modules.lines[size] = 0;
    send_packet(modules.head, PacketKind::kModules, offsetof(Modules, lines) + size + 1, Patience::kSome);
    size = 0;
  }
};

}  // namespace

bool open_socket(int descriptor) {
  struct stat status = {};
  if (raw_call(SYS_fstat, descriptor, as_argument(&status)) != 0 || !S_ISSOCK(status.st_mode)) return false;
  raw_call(SYS_fcntl, descriptor, F_SETFD, FD_CLOEXEC);
  channel.store(descriptor, std::memory_order_relaxed);
  return true;
}

void close_socket() {
  const int descriptor = channel.exchange(-1, std::memory_order_relaxed);
  if (descriptor >= 0) raw_call(SYS_close, descriptor);
}

void keep_only_socket() {
  const int descriptor = channel.load(std::memory_order_relaxed);
  if (descriptor > 0) raw_call(SYS_close_range, 0, descriptor - 1, 0);
  raw_call(SYS_close_range, descriptor + 1, ~0U, 0);
}

void give_socket_away() { raw_call(SYS_close, channel.load(std::memory_order_relaxed)); }

void forget_socket() { channel.store(-1, std::memory_order_relaxed); }

bool socket_is_dead() { return is_dead.load(std::memory_order_relaxed); }

void tell_hello(std::uint64_t start_ns, std::uint32_t modules_found, std::uint32_t sites_found) {
  Hello hello;
  hello.start_ns = start_ns;
  hello.modules = modules_found;
  hello.sites = sites_found;
  send_packet(hello.head, PacketKind::kHello, sizeof hello, Patience::kSome);
}

void tell_modules() {
  ModuleLines lines;
  for_each_mapping(
      [](const Mapping& mapping, void* context) {
        auto& all = *static_cast<ModuleLines*>(context);
        if (!same_text(mapping.path, all.path)) {
          all.finish_module();
          copy_text(all.path, sizeof all.path, mapping.path);
          all.begin = mapping.begin;
        }
        all.end = mapping.end;
        all.has_code = all.has_code || mapping.is_executable;
        return true;
      },
      &lines);
  lines.finish_module();
  lines.send();
}

void tell_message(const char* text, const char* more) {
  Message message;
  const std::size_t size = copy_text(message.text, sizeof message.text, text);
  copy_text(message.text + size, sizeof message.text - size, more);
  send_packet(message.head, PacketKind::kMessage, sizeof message, Patience::kSome);
}

void tell_progress(std::uint64_t elapsed_ns, const Settings& settings) {
  Progress progress;
  progress.elapsed_ns = elapsed_ns;
  progress.sites = sites.sampleable();
  progress.sites_covered = counters.sites_covered.get();
  progress.hits = counters.hits.get();
  progress.watches = counters.watches.get();
  progress.trips = counters.trips.get();
  progress.suspects = counters.suspects.get();
  progress.stalls = counters.stalls.get();
  progress.confirmed = counters.confirmed.get();
  progress.stalled_ns = counters.stalled_ns.get();
  progress.longest_stall_ns = counters.longest_stall_ns.get();
  progress.agent_ns = counters.handler_ns.get() + counters.control_ns.get() + counters.arm_ns.get();
  progress.slow_ns = counters.slow_ns.get();
  progress.processor_ns = counters.processor_ns.get();
  progress.watched_ns = counters.watched_ns.get();
  progress.threads = thread_counts.begun.load(std::memory_order_relaxed);
  progress.lost = counters.lost.get();
  progress.rate = settings.rate;
  progress.stall_share = settings.stall_share;
  progress.cpu_share = settings.cpu_share;
  progress.given_stalled_ns = kFirstStalls * settings.stall_us * kMicrosecond;
  progress.given_agent_ns = kFirstCredit;
  send_packet(progress.head, PacketKind::kProgress, sizeof progress);
}

void tell_bye() {
  PacketHead bye;
  send_packet(bye, PacketKind::kBye, sizeof bye, Patience::kSome);
}

void tell_collision(const CollisionFacts& facts) {
  const SpinHolder hold(lock);
  KeptCollision* place = nullptr;
  for (KeptCollision& each : kept) {
    if (!each.is_full.load(std::memory_order_acquire)) place = &each;  // pairs with send_collisions()
  }
  if (place == nullptr) return counters.lost.add();
  if (!is_worth_telling(facts.sampled->code, facts.tripped->code, facts.is_confirmed)) return;
  Collision& collision = place->packet;
  collision.is_confirmed = facts.is_confirmed ? 1 : 0;
  collision.is_same_stretch = facts.is_same_stretch ? 1 : 0;
  collision.time_ns = read_clock(CLOCK_REALTIME);
  collision.value_before = facts.value_before;
  collision.value_after = facts.value_after;
  copy_bytes(&collision.sampled, facts.sampled, sizeof collision.sampled);
  copy_bytes(&collision.tripped, facts.tripped, sizeof collision.tripped);
  copy_bytes(&collision.sampled_stack, facts.sampled_stack, sizeof collision.sampled_stack);
  copy_stack(collision.tripped_stack, *facts.tripped_context, register_of(*facts.tripped_context, REG_RIP));
  place->is_full.store(true, std::memory_order_release);  // pairs with send_collisions()
}

void send_collisions() {
  for (KeptCollision& each : kept) {
    if (!each.is_full.load(std::memory_order_acquire)) continue;  // pairs with tell_collision()
    if (!send_packet(each.packet.head, PacketKind::kCollision, sizeof each.packet)) counters.lost.add();
    each.is_full.store(false, std::memory_order_release);  // pairs with tell_collision()
  }
}

void reset_tell_locks() { lock.reset(); }

}  // namespace deadheat::watch
