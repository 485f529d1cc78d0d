// SPDX-License-Identifier: Apache-2.0
// Descriptors order threads, too: who reads from a pipe has waited for who wrote into it. What is
// behind a descriptor is asked once and remembered until the number is given to something
// else: a pipe is its inode, a connected socket the pair of its ends, so that both ends
// in one process are the same thing. Files and devices order nothing.
//
// Not seen: what stdio reads and writes through its own buffers, and shared memory of other kinds.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <initializer_list>

#include "base/raw_call.h"
#include "base/replaced_functions.h"
#include "record/agent/descriptor_notes.h"
#include "record/agent/log.h"

namespace deadheat::record {
namespace {

// What is behind a descriptor. Small numbers are shared by all of a kind.
constexpr std::uint64_t kUnknown = 0;
constexpr std::uint64_t kOrdersNothing = 1;
constexpr std::uint64_t kAnonymous = 2;  // eventfd, timerfd, epoll, ...
constexpr std::uint64_t kLocalSockets = 3;
constexpr std::uint64_t kSignals = 4;
constexpr std::uint64_t kFirstOwn = 16;

constexpr int kRemembered = 16384;
constinit std::uint64_t known[kRemembered] = {};

std::uint64_t mix(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15ULL;
  value ^= value >> 29U;
  return value | (1ULL << 63U);  // far from addresses, which name other objects
}

// Both ends of a connection over the internet's protocols give the same number.
std::uint64_t ends_of(int descriptor) {
  std::uint64_t both = 0;
  for (const long call : {SYS_getsockname, SYS_getpeername}) {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    if (raw_call(call, descriptor, as_argument(&name), as_argument(&size)) != 0) return kLocalSockets;
    std::uint64_t end = 0;
    if (name.ss_family == AF_INET) {
      const auto& address = reinterpret_cast<const sockaddr_in&>(name);
      end = mix((std::uint64_t{address.sin_addr.s_addr} << 16U) | address.sin_port);
    } else if (name.ss_family == AF_INET6) {
      const auto& address = reinterpret_cast<const sockaddr_in6&>(name);
      for (const std::uint8_t byte : address.sin6_addr.s6_addr) end = mix(end ^ byte);
      end = mix(end ^ address.sin6_port);
    } else {
      return kLocalSockets;
    }
    both += end;
  }
  return both | (1ULL << 63U);
}

std::uint64_t look_behind(int descriptor) {
  struct stat about{};
  if (raw_call(SYS_fstat, descriptor, as_argument(&about)) != 0) return kOrdersNothing;
  if (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) || S_ISCHR(about.st_mode) || S_ISBLK(about.st_mode)) {
    return kOrdersNothing;
  }
  if (S_ISFIFO(about.st_mode)) return mix(about.st_ino + kFirstOwn);
  return S_ISSOCK(about.st_mode) ? ends_of(descriptor) : kAnonymous;
}

std::uint64_t behind(int descriptor) {
  if (descriptor < 0) return kOrdersNothing;
  if (descriptor >= kRemembered) return look_behind(descriptor);
  std::uint64_t thing = __atomic_load_n(&known[descriptor], __ATOMIC_RELAXED);
  if (thing != kUnknown) return thing;
  thing = look_behind(descriptor);
  __atomic_store_n(&known[descriptor], thing, __ATOMIC_RELAXED);
  return thing;
}

void forget(int descriptor, std::uint64_t thing = kUnknown) {
  if (descriptor >= 0 && descriptor < kRemembered) __atomic_store_n(&known[descriptor], thing, __ATOMIC_RELAXED);
}

void before_write(int descriptor, const void* code) {
  if (!has_log()) return;
  const std::uint64_t thing = behind(descriptor);
  if (thing != kOrdersNothing) note_written(thing, code);
}

void after_read(long result, int descriptor, const void* code) {
  if (result < 0 || !has_log() || nobody_else_writes()) return;
  const std::uint64_t thing = behind(descriptor);
  if (thing != kOrdersNothing) note_read(thing, code);
}

void after_wait(long result, const void* code) {
  if (result > 0) note_waited(code);
}

}  // namespace
}  // namespace deadheat::record

using namespace deadheat;
using namespace deadheat::record;

#define DEADHEAT_UNWRAP(...) __VA_ARGS__
#define DEADHEAT_WRITES(type, name, parameters, arguments)   \
  DEADHEAT_REPLACE(type, name, DEADHEAT_UNWRAP parameters) { \
    DEADHEAT_ORIGINAL(name);                                 \
    before_write(file, DEADHEAT_CALLER);                     \
    return original arguments;                               \
  }
#define DEADHEAT_READS(type, name, parameters, arguments)    \
  DEADHEAT_REPLACE(type, name, DEADHEAT_UNWRAP parameters) { \
    DEADHEAT_ORIGINAL(name);                                 \
    const type result = original arguments;                  \
    after_read(result, file, DEADHEAT_CALLER);               \
    return result;                                           \
  }
#define DEADHEAT_POLLS(name, parameters, arguments)         \
  DEADHEAT_REPLACE(int, name, DEADHEAT_UNWRAP parameters) { \
    DEADHEAT_ORIGINAL(name);                                \
    const int result = original arguments;                  \
    after_wait(result, DEADHEAT_CALLER);                    \
    return result;                                          \
  }
// What gives a number to something new.
#define DEADHEAT_OPENS(name, parameters, arguments)         \
  DEADHEAT_REPLACE(int, name, DEADHEAT_UNWRAP parameters) { \
    DEADHEAT_ORIGINAL(name);                                \
    const int result = original arguments;                  \
    forget(result);                                         \
    return result;                                          \
  }

// clang-format off
DEADHEAT_WRITES(ssize_t, write, (int file, const void* data, std::size_t size), (file, data, size))
DEADHEAT_WRITES(ssize_t, writev, (int file, const iovec* pieces, int count), (file, pieces, count))
DEADHEAT_WRITES(ssize_t, send, (int file, const void* data, std::size_t size, int flags), (file, data, size, flags))
DEADHEAT_WRITES(ssize_t, sendto, (int file, const void* data, std::size_t size, int flags, const sockaddr* to, socklen_t length), (file, data, size, flags, to, length))
DEADHEAT_WRITES(ssize_t, sendmsg, (int file, const msghdr* message, int flags), (file, message, flags))
DEADHEAT_WRITES(int, eventfd_write, (int file, eventfd_t value), (file, value))
DEADHEAT_WRITES(int, shutdown, (int file, int how), (file, how))
DEADHEAT_READS(ssize_t, read, (int file, void* data, std::size_t size), (file, data, size))
DEADHEAT_READS(ssize_t, readv, (int file, const iovec* pieces, int count), (file, pieces, count))
DEADHEAT_READS(ssize_t, recv, (int file, void* data, std::size_t size, int flags), (file, data, size, flags))
DEADHEAT_READS(ssize_t, recvfrom, (int file, void* data, std::size_t size, int flags, sockaddr* from, socklen_t* length), (file, data, size, flags, from, length))
DEADHEAT_READS(ssize_t, recvmsg, (int file, msghdr* message, int flags), (file, message, flags))
DEADHEAT_READS(int, eventfd_read, (int file, eventfd_t* value), (file, value))
DEADHEAT_POLLS(poll, (pollfd* files, nfds_t count, int milliseconds), (files, count, milliseconds))
DEADHEAT_POLLS(ppoll, (pollfd* files, nfds_t count, const timespec* time, const sigset_t* mask), (files, count, time, mask))
DEADHEAT_POLLS(select, (int count, fd_set* read, fd_set* write, fd_set* other, timeval* time), (count, read, write, other, time))
DEADHEAT_POLLS(pselect, (int count, fd_set* read, fd_set* write, fd_set* other, const timespec* time, const sigset_t* mask), (count, read, write, other, time, mask))
DEADHEAT_POLLS(epoll_wait, (int file, epoll_event* events, int most, int milliseconds), (file, events, most, milliseconds))
DEADHEAT_POLLS(epoll_pwait, (int file, epoll_event* events, int most, int milliseconds, const sigset_t* mask), (file, events, most, milliseconds, mask))
DEADHEAT_OPENS(socket, (int family, int type, int protocol), (family, type, protocol))
DEADHEAT_OPENS(accept, (int file, sockaddr* from, socklen_t* length), (file, from, length))
DEADHEAT_OPENS(accept4, (int file, sockaddr* from, socklen_t* length, int flags), (file, from, length, flags))
DEADHEAT_OPENS(dup, (int from), (from))
DEADHEAT_OPENS(dup2, (int from, int to), (from, to))
DEADHEAT_OPENS(dup3, (int from, int to, int flags), (from, to, flags))
DEADHEAT_OPENS(eventfd, (unsigned value, int flags), (value, flags))
// clang-format on

DEADHEAT_REPLACE(int, connect, int file, const sockaddr* to, socklen_t length) {
  DEADHEAT_ORIGINAL(connect);
  const int result = original(file, to, length);
  forget(file);
  return result;
}

DEADHEAT_REPLACE(int, close, int file) {
  DEADHEAT_ORIGINAL(close);
  before_write(file, DEADHEAT_CALLER);  // the other end may wait for it
  forget(file);
  return original(file);
}

// The number may be given to something that is opened by a call which is not replaced here.
DEADHEAT_REPLACE(int, fclose, FILE* stream) {
  DEADHEAT_ORIGINAL(fclose);
  if (stream != nullptr) forget(fileno(stream));
  return original(stream);
}

DEADHEAT_REPLACE(int, close_range, unsigned first, unsigned last, int flags) {
  DEADHEAT_ORIGINAL(close_range);
  for (std::uint64_t file = first; file <= last && file < kRemembered; ++file) forget(static_cast<int>(file));
  return original(first, last, flags);
}

DEADHEAT_REPLACE(int, socketpair, int family, int type, int protocol, int* ends) {
  DEADHEAT_ORIGINAL(socketpair);
  const int result = original(family, type, protocol, ends);
  if (result == 0) forget(ends[0]), forget(ends[1]);
  return result;
}

DEADHEAT_REPLACE(int, pipe, int* ends) {
  DEADHEAT_ORIGINAL(pipe);
  const int result = original(ends);
  if (result == 0) forget(ends[0]), forget(ends[1]);
  return result;
}

DEADHEAT_REPLACE(int, pipe2, int* ends, int flags) {
  DEADHEAT_ORIGINAL(pipe2);
  const int result = original(ends, flags);
  if (result == 0) forget(ends[0]), forget(ends[1]);
  return result;
}

DEADHEAT_REPLACE(int, pthread_kill, pthread_t thread, int number) {
  DEADHEAT_ORIGINAL(pthread_kill);
  if (has_log()) note_written(kSignals, DEADHEAT_CALLER);
  return original(thread, number);
}

DEADHEAT_REPLACE(int, kill, pid_t process, int number) {
  DEADHEAT_ORIGINAL(kill);
  if (has_log()) note_written(kSignals, DEADHEAT_CALLER);
  return original(process, number);
}

DEADHEAT_REPLACE(int, sigwait, const sigset_t* set, int* number) {
  DEADHEAT_ORIGINAL(sigwait);
  const int result = original(set, number);
  if (result == 0) note_read(kSignals, DEADHEAT_CALLER);
  return result;
}

DEADHEAT_REPLACE(int, sigwaitinfo, const sigset_t* set, siginfo_t* information) {
  DEADHEAT_ORIGINAL(sigwaitinfo);
  const int result = original(set, information);
  if (result > 0) note_read(kSignals, DEADHEAT_CALLER);
  return result;
}

DEADHEAT_REPLACE(int, sigtimedwait, const sigset_t* set, siginfo_t* information, const timespec* time) {
  DEADHEAT_ORIGINAL(sigtimedwait);
  const int result = original(set, information, time);
  if (result > 0) note_read(kSignals, DEADHEAT_CALLER);
  return result;
}
