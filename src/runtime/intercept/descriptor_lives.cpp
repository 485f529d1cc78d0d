// SPDX-License-Identifier: Apache-2.0
// Descriptors that are opened, connected, copied and closed, and waiting for
// them.
//
// What a descriptor orders is remembered by its number (descriptor_order.h), so
// every call that gives a number a new meaning says so here. A number is handed
// out again only after it was closed, so what precedes the close precedes what
// follows the open: servers keep their connections in a table by number. dup2 over a number
// that others use is no race: the kernel exchanges one file for another, which is
// how logs are reopened. Closing is one.
//
// Changes to an epoll set happen before the events it returns, and so does what
// made a descriptor ready.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "runtime/hand_off.h"
#include "runtime/intercept/described.h"
#include "runtime/intercept/descriptor_order.h"
#include "runtime/intercept/file_locks.h"
#include "runtime/intercept/replace.h"
#include "runtime/system.h"

namespace deadheat::runtime {
namespace {

constexpr unsigned kNoDescriptor = UINT32_MAX;

// Our own descriptor, if it lies in the range.
unsigned listener_in(unsigned first, unsigned last) {
  const int listener = listener_descriptor();
  if (listener < 0 || !is_listener(listener)) return kNoDescriptor;
  const auto number = static_cast<unsigned>(listener);
  return number >= first && number <= last ? number : kNoDescriptor;
}

int newly_opened(int descriptor, Address code, Made how = Made::kByName) {
  forget_descriptor(descriptor);
  note_made(descriptor, how);
  after_opening(descriptor, code);
  return descriptor;
}

void report_pair(const int* pair, Address code) {
  newly_opened(pair[0], code, Made::kHere);
  newly_opened(pair[1], code, Made::kHere);
  report_written(pair, 2 * sizeof(int), code);
}

void report_ready_events(int set, const epoll_event* events, int count, Address code) {
  if (count < 0) return;
  after_receiving(set, code);
  for (int at = 0; at < count; ++at) after_ready_in_set(set, events[at].data.u64, code);
  report_written(events, static_cast<std::size_t>(count) * sizeof(*events), code);
}

// poll writes only what came of the request.
void report_polled(const pollfd* requests, nfds_t count, int result, Address code) {
  if (result < 0 || !is_observing()) return;
  for (nfds_t at = 0; at < count; ++at) {
    report_read(&requests[at], offsetof(pollfd, revents), code);
    report_written(&requests[at].revents, sizeof(requests[at].revents), code);
    if ((requests[at].revents & (POLLIN | POLLHUP | POLLRDHUP)) != 0) after_ready(requests[at].fd, code);
  }
}

// Closed by what takes its place.
void before_replacing(int descriptor, Address code) {
  before_unlocking_all(descriptor, code);
  before_sending(descriptor, code);
}

void report_selected(int limit, const fd_set* set, int result, Address code) {
  if (result < 0 || set == nullptr || limit <= 0) return;
  constexpr int kBitsPerWord = 64;
  report_written(set, static_cast<std::size_t>((limit + kBitsPerWord - 1) / kBitsPerWord) * sizeof(long), code);
}

void report_readable(int limit, const fd_set* set, int result, Address code) {
  report_selected(limit, set, result, code);
  if (result <= 0 || set == nullptr || !is_observing()) return;
  for (int descriptor = 0; descriptor < limit; ++descriptor) {
    if (FD_ISSET(descriptor, set)) after_ready(descriptor, code);
  }
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(int, open, const char* path, int flags, ...) {
  DEADHEAT_ORIGINAL(open);
  report_text_read(path, DEADHEAT_CALLER);
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = va_arg(rest, unsigned);  // rubbish if there is none, and then not looked at
  va_end(rest);
  return newly_opened(original(path, flags, mode), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, open64, const char* path, int flags, ...) {
  DEADHEAT_ORIGINAL(open64);
  report_text_read(path, DEADHEAT_CALLER);
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = va_arg(rest, unsigned);
  va_end(rest);
  return newly_opened(original(path, flags, mode), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, openat, int directory, const char* path, int flags, ...) {
  DEADHEAT_ORIGINAL(openat);
  report_text_read(path, DEADHEAT_CALLER);
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = va_arg(rest, unsigned);
  va_end(rest);
  return newly_opened(original(directory, path, flags, mode), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, openat64, int directory, const char* path, int flags, ...) {
  DEADHEAT_ORIGINAL(openat64);
  report_text_read(path, DEADHEAT_CALLER);
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = va_arg(rest, unsigned);
  va_end(rest);
  return newly_opened(original(directory, path, flags, mode), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, creat, const char* path, unsigned mode) {
  DEADHEAT_ORIGINAL(creat);
  report_text_read(path, DEADHEAT_CALLER);
  return newly_opened(original(path, mode), DEADHEAT_CALLER);
}
DEADHEAT_ALSO(__open, open);
DEADHEAT_ALSO(__open64, open64);
DEADHEAT_ALSO(creat64, creat);
// As programs call them that were built with _FORTIFY_SOURCE.
DEADHEAT_REPLACE(int, __open_2, const char* path, int flags) {
  DEADHEAT_ORIGINAL(__open_2);
  report_text_read(path, DEADHEAT_CALLER);
  return newly_opened(original(path, flags), DEADHEAT_CALLER);
}
DEADHEAT_ALSO(__open64_2, __open_2);
DEADHEAT_REPLACE(int, __openat_2, int directory, const char* path, int flags) {
  DEADHEAT_ORIGINAL(__openat_2);
  report_text_read(path, DEADHEAT_CALLER);
  return newly_opened(original(directory, path, flags), DEADHEAT_CALLER);
}
DEADHEAT_ALSO(__openat64_2, __openat_2);
DEADHEAT_REPLACE(int, eventfd, unsigned count, int flags) {
  DEADHEAT_ORIGINAL(eventfd);
  return newly_opened(original(count, flags), DEADHEAT_CALLER, Made::kHere);
}
DEADHEAT_REPLACE(int, timerfd_create, int clock, int flags) {
  DEADHEAT_ORIGINAL(timerfd_create);
  return newly_opened(original(clock, flags), DEADHEAT_CALLER, Made::kForItself);
}
DEADHEAT_REPLACE(int, socket, int domain, int type, int protocol) {
  DEADHEAT_ORIGINAL(socket);
  return newly_opened(original(domain, type, protocol), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, socketpair, int domain, int type, int protocol, int* pair) {
  DEADHEAT_ORIGINAL(socketpair);
  const int result = original(domain, type, protocol, pair);
  if (result == 0) {
    report_pair(pair, DEADHEAT_CALLER);
    pair_sockets(pair[0], pair[1]);
  }
  return result;
}
DEADHEAT_REPLACE(int, pipe, int* pair) {
  DEADHEAT_ORIGINAL(pipe);
  const int result = original(pair);
  if (result == 0) report_pair(pair, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, pipe2, int* pair, int flags) {
  DEADHEAT_ORIGINAL(pipe2);
  const int result = original(pair, flags);
  if (result == 0) report_pair(pair, DEADHEAT_CALLER);
  return result;
}

DEADHEAT_REPLACE(int, bind, int descriptor, const void* address, socklen_t size) {
  DEADHEAT_ORIGINAL(bind);
  report_read(address, size, DEADHEAT_CALLER);
  const int result = original(descriptor, address, size);
  forget_descriptor(descriptor);
  return result;
}
DEADHEAT_REPLACE(int, connect, int descriptor, const void* address, socklen_t size) {
  DEADHEAT_ORIGINAL(connect);
  report_read(address, size, DEADHEAT_CALLER);
  before_connecting(address, size, DEADHEAT_CALLER);
  const int result = original(descriptor, address, size);
  forget_descriptor(descriptor);
  return result;
}
DEADHEAT_REPLACE(int, accept, int listener, void* address, socklen_t* size) {
  DEADHEAT_ORIGINAL(accept);
  const int result = original(listener, address, size);
  if (result < 0) return result;
  after_accepting(listener, DEADHEAT_CALLER);
  if (address != nullptr && size != nullptr) {
    report_written(address, *size, DEADHEAT_CALLER);
    report_written(size, sizeof(*size), DEADHEAT_CALLER);
  }
  return newly_opened(result, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, accept4, int listener, void* address, socklen_t* size, int flags) {
  DEADHEAT_ORIGINAL(accept4);
  const int result = original(listener, address, size, flags);
  if (result < 0) return result;
  after_accepting(listener, DEADHEAT_CALLER);
  if (address != nullptr && size != nullptr) {
    report_written(address, *size, DEADHEAT_CALLER);
    report_written(size, sizeof(*size), DEADHEAT_CALLER);
  }
  return newly_opened(result, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, shutdown, int descriptor, int how) {
  DEADHEAT_ORIGINAL(shutdown);
  before_sending(descriptor, DEADHEAT_CALLER);
  return original(descriptor, how);
}

// Forgotten before the number is free for others.
DEADHEAT_REPLACE(int, close, int descriptor) {
  DEADHEAT_ORIGINAL(close);
  if (is_listener(descriptor)) {
    errno = EBADF;
    return -1;
  }
  before_sending(descriptor, DEADHEAT_CALLER);
  before_unlocking_all(descriptor, DEADHEAT_CALLER);
  before_closing(descriptor, DEADHEAT_CALLER);
  forget_descriptor(descriptor);
  return original(descriptor);
}
// libc's own closing.
DEADHEAT_REPLACE(int, fclose, FILE* stream) {
  DEADHEAT_ORIGINAL(fclose);
  if (stream != nullptr) {
    before_sending(fileno_unlocked(stream), DEADHEAT_CALLER);
    before_unlocking_all(fileno_unlocked(stream), DEADHEAT_CALLER);
    forget_descriptor(fileno_unlocked(stream));
  }
  return original(stream);
}
DEADHEAT_REPLACE(int, closedir, DIR* directory) {
  DEADHEAT_ORIGINAL(closedir);
  if (directory != nullptr) forget_descriptor(dirfd(directory));
  return original(directory);
}
DEADHEAT_REPLACE(int, close_range, unsigned first, unsigned last, int flags) {
  DEADHEAT_ORIGINAL(close_range);
  forget_descriptors(first, last);
  const unsigned kept = listener_in(first, last);
  if (kept == kNoDescriptor) return original(first, last, flags);
  const int below = kept > first ? original(first, kept - 1, flags) : 0;
  const int above = kept < last ? original(kept + 1, last, flags) : 0;
  return below != 0 ? below : above;
}
DEADHEAT_REPLACE(void, closefrom, int first) {
  DEADHEAT_ORIGINAL(closefrom);
  const unsigned begin = first < 0 ? 0 : static_cast<unsigned>(first);
  forget_descriptors(begin, UINT32_MAX);
  const unsigned kept = listener_in(begin, UINT32_MAX);
  if (kept == kNoDescriptor) return original(first);
  for (unsigned descriptor = begin; descriptor < kept; ++descriptor) raw_call(SYS_close, static_cast<long>(descriptor));
  original(static_cast<int>(kept) + 1);
}
DEADHEAT_REPLACE(int, dup, int descriptor) {
  DEADHEAT_ORIGINAL(dup);
  const int result = original(descriptor);
  if (result >= 0) copy_descriptor(descriptor, result);
  return result;
}
DEADHEAT_REPLACE(int, dup2, int descriptor, int target) {
  DEADHEAT_ORIGINAL(dup2);
  if (is_listener(target)) move_listener();
  if (descriptor != target) before_replacing(target, DEADHEAT_CALLER);
  const int result = original(descriptor, target);
  if (result >= 0 && descriptor != target) copy_descriptor(descriptor, result);
  if (result >= 0) on_descriptor_used(target, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, dup3, int descriptor, int target, int flags) {
  DEADHEAT_ORIGINAL(dup3);
  if (is_listener(target)) move_listener();
  if (descriptor != target) before_replacing(target, DEADHEAT_CALLER);
  const int result = original(descriptor, target, flags);
  if (result >= 0) copy_descriptor(descriptor, result);
  if (result >= 0) on_descriptor_used(target, DEADHEAT_CALLER);
  return result;
}
// The argument has the size of a register whatever it is.
DEADHEAT_REPLACE(int, fcntl, int descriptor, int command, ...) {
  DEADHEAT_ORIGINAL(fcntl);
  va_list rest;
  va_start(rest, command);
  const long argument = va_arg(rest, long);
  va_end(rest);
  const FileLockCall lock(descriptor, command, argument, DEADHEAT_CALLER);
  const int result = original(descriptor, command, argument);
  lock.finish(result);
  if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) copy_descriptor(descriptor, result);
  return result;
}
DEADHEAT_REPLACE(int, fcntl64, int descriptor, int command, ...) {
  DEADHEAT_ORIGINAL(fcntl64);
  va_list rest;
  va_start(rest, command);
  const long argument = va_arg(rest, long);
  va_end(rest);
  const FileLockCall lock(descriptor, command, argument, DEADHEAT_CALLER);
  const int result = original(descriptor, command, argument);
  lock.finish(result);
  if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) copy_descriptor(descriptor, result);
  return result;
}

DEADHEAT_REPLACE(int, epoll_create, int size) {
  DEADHEAT_ORIGINAL(epoll_create);
  return newly_opened(original(size), DEADHEAT_CALLER, Made::kForItself);
}
DEADHEAT_REPLACE(int, epoll_create1, int flags) {
  DEADHEAT_ORIGINAL(epoll_create1);
  return newly_opened(original(flags), DEADHEAT_CALLER, Made::kForItself);
}
DEADHEAT_REPLACE(int, epoll_ctl, int set, int operation, int descriptor, epoll_event* event) {
  DEADHEAT_ORIGINAL(epoll_ctl);
  report_read(event, sizeof(*event), DEADHEAT_CALLER);
  before_sending(set, DEADHEAT_CALLER);
  if (operation != EPOLL_CTL_DEL && event != nullptr) watch_descriptor(set, event->data.u64, descriptor);
  return original(set, operation, descriptor, event);
}
DEADHEAT_REPLACE(int, epoll_wait, int set, epoll_event* events, int room, int timeout) {
  DEADHEAT_ORIGINAL(epoll_wait);
  const int count = original(set, events, room, timeout);
  report_ready_events(set, events, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(int, epoll_pwait, int set, epoll_event* events, int room, int timeout, const void* signals) {
  DEADHEAT_ORIGINAL(epoll_pwait);
  const int count = original(set, events, room, timeout, signals);
  report_ready_events(set, events, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(int, epoll_pwait2, int set, epoll_event* events, int room, const void* timeout, const void* signals) {
  DEADHEAT_ORIGINAL(epoll_pwait2);
  const int count = original(set, events, room, timeout, signals);
  report_ready_events(set, events, count, DEADHEAT_CALLER);
  return count;
}
DEADHEAT_REPLACE(int, poll, pollfd* requests, nfds_t count, int timeout) {
  DEADHEAT_ORIGINAL(poll);
  const int result = original(requests, count, timeout);
  report_polled(requests, count, result, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, ppoll, pollfd* requests, nfds_t count, const void* timeout, const void* signals) {
  DEADHEAT_ORIGINAL(ppoll);
  const int result = original(requests, count, timeout, signals);
  report_polled(requests, count, result, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, select, int limit, fd_set* readable, fd_set* writable, fd_set* failed, void* timeout) {
  DEADHEAT_ORIGINAL(select);
  const int result = original(limit, readable, writable, failed, timeout);
  report_readable(limit, readable, result, DEADHEAT_CALLER);
  report_selected(limit, writable, result, DEADHEAT_CALLER);
  report_selected(limit, failed, result, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, pselect, int limit, fd_set* readable, fd_set* writable, fd_set* failed, const void* timeout,
                 const void* signals) {
  DEADHEAT_ORIGINAL(pselect);
  const int result = original(limit, readable, writable, failed, timeout, signals);
  report_readable(limit, readable, result, DEADHEAT_CALLER);
  report_selected(limit, writable, result, DEADHEAT_CALLER);
  report_selected(limit, failed, result, DEADHEAT_CALLER);
  return result;
}

DEADHEAT_REPLACE(int, __poll_chk, pollfd* requests, nfds_t count, int timeout, std::size_t room) {
  DEADHEAT_ORIGINAL(__poll_chk);
  const int result = original(requests, count, timeout, room);
  report_polled(requests, count, result, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(int, __ppoll_chk, pollfd* requests, nfds_t count, const void* timeout, const void* signals,
                 std::size_t room) {
  DEADHEAT_ORIGINAL(__ppoll_chk);
  const int result = original(requests, count, timeout, signals, room);
  report_polled(requests, count, result, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_ALSO(__poll, poll);
DEADHEAT_ALSO(__select, select);
DEADHEAT_ALSO(__close, close);
DEADHEAT_ALSO(_IO_fclose, fclose);
DEADHEAT_ALSO(__dup2, dup2);
DEADHEAT_ALSO(__pipe, pipe);
DEADHEAT_ALSO(__connect, connect);
DEADHEAT_ALSO(__fcntl, fcntl);

// Temporary files: the template becomes the name.
#define DEADHEAT_MAKES_FILE(name, arguments, ...)                             \
  DEADHEAT_REPLACE(int, name, __VA_ARGS__) {                                  \
    DEADHEAT_ORIGINAL(name);                                                  \
    report_text_read(text, DEADHEAT_CALLER);                                  \
    const int descriptor = newly_opened(original arguments, DEADHEAT_CALLER); \
    if (descriptor >= 0) report_text_written(text, DEADHEAT_CALLER);          \
    return descriptor;                                                        \
  }
DEADHEAT_MAKES_FILE(mkstemp, (text), char* text)
DEADHEAT_MAKES_FILE(mkostemp, (text, flags), char* text, int flags)
DEADHEAT_MAKES_FILE(mkstemps, (text, suffix), char* text, int suffix)
DEADHEAT_MAKES_FILE(mkostemps, (text, suffix, flags), char* text, int suffix, int flags)
DEADHEAT_ALSO(mkstemp64, mkstemp);
DEADHEAT_ALSO(mkostemp64, mkostemp);
DEADHEAT_ALSO(mkstemps64, mkstemps);
DEADHEAT_ALSO(mkostemps64, mkostemps);
