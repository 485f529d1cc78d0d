// SPDX-License-Identifier: Apache-2.0
// Functions that fill a structure or a path for the program: stat, the clocks,
// getcwd, getaddrinfo and others. All have the same shape, so they are rows of
// tables: the result that means success, what was written, and how much. What
// such a function reads (a path, a time) is reported where it is more than the
// kernel's business.
#include <arpa/inet.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

std::size_t size_of_text(const char* text) {
  static constinit RealFunction<std::size_t(const char*)> original;
  return original.get("strlen")(text) + 1;
}

void report_text_read(const char* text, Address code) {
  if (text != nullptr && is_observing()) on_read(text, size_of_text(text), code);
}

char* report_text_written(char* text, Address code) {
  if (text != nullptr && is_observing()) report_written(text, size_of_text(text), code);
  return text;
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

// int name(parameters): 0 is success and `target` was filled.
#define DEADHEAT_FILLS(name, parameters, arguments, target)                    \
  DEADHEAT_REPLACE(int, name, DEADHEAT_LIST parameters) {                      \
    DEADHEAT_ORIGINAL(name);                                                   \
    const int result = original arguments;                                     \
    if (result == 0) report_written(target, sizeof(*target), DEADHEAT_CALLER); \
    return result;                                                             \
  }
// The same with a path in front, which is read.
#define DEADHEAT_FILLS_BY_PATH(name, parameters, arguments, target)            \
  DEADHEAT_REPLACE(int, name, DEADHEAT_LIST parameters) {                      \
    DEADHEAT_ORIGINAL(name);                                                   \
    report_text_read(path, DEADHEAT_CALLER);                                   \
    const int result = original arguments;                                     \
    if (result == 0) report_written(target, sizeof(*target), DEADHEAT_CALLER); \
    return result;                                                             \
  }
#define DEADHEAT_LIST(...) __VA_ARGS__

using FileStatus = struct stat;
using FileSystem = struct statfs;
using FileSystemView = struct statvfs;

// On x86-64 the forms for large files have the same structures.
DEADHEAT_FILLS_BY_PATH(stat, (const char* path, FileStatus* status), (path, status), status)
DEADHEAT_FILLS_BY_PATH(stat64, (const char* path, FileStatus* status), (path, status), status)
DEADHEAT_FILLS_BY_PATH(lstat, (const char* path, FileStatus* status), (path, status), status)
DEADHEAT_FILLS_BY_PATH(lstat64, (const char* path, FileStatus* status), (path, status), status)
DEADHEAT_FILLS(fstat, (int descriptor, FileStatus* status), (descriptor, status), status)
DEADHEAT_FILLS(fstat64, (int descriptor, FileStatus* status), (descriptor, status), status)
DEADHEAT_FILLS_BY_PATH(fstatat, (int directory, const char* path, FileStatus* status, int flags),
                       (directory, path, status, flags), status)
DEADHEAT_FILLS_BY_PATH(fstatat64, (int directory, const char* path, FileStatus* status, int flags),
                       (directory, path, status, flags), status)
// What programs built for glibc before 2.33 call.
DEADHEAT_FILLS_BY_PATH(__xstat, (int version, const char* path, FileStatus* status), (version, path, status), status)
DEADHEAT_FILLS_BY_PATH(__xstat64, (int version, const char* path, FileStatus* status), (version, path, status), status)
DEADHEAT_FILLS_BY_PATH(__lxstat, (int version, const char* path, FileStatus* status), (version, path, status), status)
DEADHEAT_FILLS_BY_PATH(__lxstat64, (int version, const char* path, FileStatus* status), (version, path, status), status)
DEADHEAT_FILLS(__fxstat, (int version, int descriptor, FileStatus* status), (version, descriptor, status), status)
DEADHEAT_FILLS(__fxstat64, (int version, int descriptor, FileStatus* status), (version, descriptor, status), status)
DEADHEAT_FILLS_BY_PATH(statfs, (const char* path, FileSystem* status), (path, status), status)
DEADHEAT_FILLS_BY_PATH(statfs64, (const char* path, FileSystem* status), (path, status), status)
DEADHEAT_FILLS(fstatfs, (int descriptor, FileSystem* status), (descriptor, status), status)
DEADHEAT_FILLS_BY_PATH(statvfs, (const char* path, FileSystemView* status), (path, status), status)
DEADHEAT_FILLS_BY_PATH(statvfs64, (const char* path, FileSystemView* status), (path, status), status)
DEADHEAT_FILLS(fstatvfs, (int descriptor, FileSystemView* status), (descriptor, status), status)

DEADHEAT_FILLS(gettimeofday, (timeval * now, void* zone), (now, zone), now)
DEADHEAT_FILLS(clock_gettime, (int clock, timespec* now), (clock, now), now)
DEADHEAT_FILLS(clock_getres, (int clock, timespec* resolution), (clock, resolution), resolution)
DEADHEAT_FILLS(getitimer, (int which, itimerval* value), (which, value), value)
DEADHEAT_FILLS(getrusage, (int who, rusage* usage), (who, usage), usage)
DEADHEAT_FILLS(uname, (utsname * names), (names), names)
DEADHEAT_FILLS(pthread_getcpuclockid, (unsigned long thread, int* clock), (thread, clock), clock)
using SystemStatus = struct sysinfo;
DEADHEAT_FILLS(sysinfo, (SystemStatus * status), (status), status)

DEADHEAT_REPLACE(std::time_t, time, std::time_t* now) {
  DEADHEAT_ORIGINAL(time);
  const std::time_t result = original(now);
  report_written(now, sizeof(*now), DEADHEAT_CALLER);
  return result;
}
using ProcessTimes = struct tms;
DEADHEAT_REPLACE(clock_t, times, ProcessTimes* spent) {
  DEADHEAT_ORIGINAL(times);
  const clock_t result = original(spent);
  if (result != -1) report_written(spent, sizeof(*spent), DEADHEAT_CALLER);
  return result;
}

DEADHEAT_REPLACE(tm*, localtime_r, const std::time_t* when, tm* result) {
  DEADHEAT_ORIGINAL(localtime_r);
  report_read(when, sizeof(*when), DEADHEAT_CALLER);
  tm* const done = original(when, result);
  report_written(done, sizeof(*done), DEADHEAT_CALLER);
  return done;
}
DEADHEAT_REPLACE(tm*, gmtime_r, const std::time_t* when, tm* result) {
  DEADHEAT_ORIGINAL(gmtime_r);
  report_read(when, sizeof(*when), DEADHEAT_CALLER);
  tm* const done = original(when, result);
  report_written(done, sizeof(*done), DEADHEAT_CALLER);
  return done;
}
// These two share one structure of libc's: callers on two threads race on it.
DEADHEAT_REPLACE(tm*, localtime, const std::time_t* when) {
  DEADHEAT_ORIGINAL(localtime);
  report_read(when, sizeof(*when), DEADHEAT_CALLER);
  tm* const done = original(when);
  report_written(done, sizeof(*done), DEADHEAT_CALLER);
  return done;
}
DEADHEAT_REPLACE(tm*, gmtime, const std::time_t* when) {
  DEADHEAT_ORIGINAL(gmtime);
  report_read(when, sizeof(*when), DEADHEAT_CALLER);
  tm* const done = original(when);
  report_written(done, sizeof(*done), DEADHEAT_CALLER);
  return done;
}
DEADHEAT_REPLACE(char*, ctime_r, const std::time_t* when, char* text) {
  DEADHEAT_ORIGINAL(ctime_r);
  report_read(when, sizeof(*when), DEADHEAT_CALLER);
  return report_text_written(original(when, text), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(char*, asctime_r, const tm* parts, char* text) {
  DEADHEAT_ORIGINAL(asctime_r);
  report_read(parts, sizeof(*parts), DEADHEAT_CALLER);
  return report_text_written(original(parts, text), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(std::time_t, mktime, tm* parts) {
  DEADHEAT_ORIGINAL(mktime);
  const std::time_t result = original(parts);
  report_written(parts, sizeof(*parts), DEADHEAT_CALLER);
  return result;
}
DEADHEAT_REPLACE(std::size_t, strftime, char* text, std::size_t room, const char* format, const tm* parts) {
  DEADHEAT_ORIGINAL(strftime);
  report_text_read(format, DEADHEAT_CALLER);
  report_read(parts, sizeof(*parts), DEADHEAT_CALLER);
  const std::size_t length = original(text, room, format, parts);
  if (length != 0) report_written(text, length + 1, DEADHEAT_CALLER);
  return length;
}
// What is left of a sleep that a signal ended; nothing is written otherwise.
DEADHEAT_REPLACE(int, nanosleep, const timespec* wanted, timespec* rest) {
  DEADHEAT_ORIGINAL(nanosleep);
  report_read(wanted, sizeof(*wanted), DEADHEAT_CALLER);
  const int result = original(wanted, rest);
  if (result != 0 && errno == EINTR) report_written(rest, sizeof(*rest), DEADHEAT_CALLER);
  return result;
}

DEADHEAT_REPLACE(char*, getcwd, char* path, std::size_t room) {
  DEADHEAT_ORIGINAL(getcwd);
  return report_text_written(original(path, room), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(char*, realpath, const char* path, char* resolved) {
  DEADHEAT_ORIGINAL(realpath);
  report_text_read(path, DEADHEAT_CALLER);
  return report_text_written(original(path, resolved), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(long, readlink, const char* path, char* target, std::size_t room) {
  DEADHEAT_ORIGINAL(readlink);
  report_text_read(path, DEADHEAT_CALLER);
  const long length = original(path, target, room);
  if (length > 0) report_written(target, static_cast<std::size_t>(length), DEADHEAT_CALLER);
  return length;
}
DEADHEAT_REPLACE(long, readlinkat, int directory, const char* path, char* target, std::size_t room) {
  DEADHEAT_ORIGINAL(readlinkat);
  report_text_read(path, DEADHEAT_CALLER);
  const long length = original(directory, path, target, room);
  if (length > 0) report_written(target, static_cast<std::size_t>(length), DEADHEAT_CALLER);
  return length;
}
DEADHEAT_REPLACE(int, gethostname, char* name, std::size_t room) {
  DEADHEAT_ORIGINAL(gethostname);
  const int result = original(name, room);
  if (result == 0) report_text_written(name, DEADHEAT_CALLER);
  return result;
}

// A buffer whose size goes in and out by a pointer.
#define DEADHEAT_FILLS_SIZED(name, parameters, arguments, target, size) \
  DEADHEAT_REPLACE(int, name, DEADHEAT_LIST parameters) {               \
    DEADHEAT_ORIGINAL(name);                                            \
    const int result = original arguments;                              \
    if (result == 0) {                                                  \
      report_written(target, *size, DEADHEAT_CALLER);                   \
      report_written(size, sizeof(*size), DEADHEAT_CALLER);             \
    }                                                                   \
    return result;                                                      \
  }
DEADHEAT_FILLS_SIZED(getsockname, (int descriptor, void* address, socklen_t* size), (descriptor, address, size),
                     address, size)
DEADHEAT_FILLS_SIZED(getpeername, (int descriptor, void* address, socklen_t* size), (descriptor, address, size),
                     address, size)
DEADHEAT_FILLS_SIZED(getsockopt, (int descriptor, int level, int option, void* value, socklen_t* size),
                     (descriptor, level, option, value, size), value, size)

DEADHEAT_REPLACE(int, getaddrinfo, const char* node, const char* service, const addrinfo* hints, addrinfo** result) {
  DEADHEAT_ORIGINAL(getaddrinfo);
  report_text_read(node, DEADHEAT_CALLER);
  report_text_read(service, DEADHEAT_CALLER);
  report_read(hints, sizeof(*hints), DEADHEAT_CALLER);
  const int error = original(node, service, hints, result);
  if (error != 0) return error;
  report_written(result, sizeof(*result), DEADHEAT_CALLER);
  for (const addrinfo* entry = *result; entry != nullptr; entry = entry->ai_next) {
    report_written(entry, sizeof(*entry), DEADHEAT_CALLER);
    report_written(entry->ai_addr, entry->ai_addrlen, DEADHEAT_CALLER);
  }
  return error;
}
DEADHEAT_REPLACE(const char*, inet_ntop, int family, const void* address, char* text, socklen_t room) {
  DEADHEAT_ORIGINAL(inet_ntop);
  const char* const done = original(family, address, text, room);
  if (done == nullptr) return nullptr;
  report_read(address, family == AF_INET ? 4 : 16, DEADHEAT_CALLER);
  report_text_written(text, DEADHEAT_CALLER);
  return done;
}
DEADHEAT_REPLACE(int, inet_pton, int family, const char* text, void* address) {
  DEADHEAT_ORIGINAL(inet_pton);
  report_text_read(text, DEADHEAT_CALLER);
  const int result = original(family, text, address);
  if (result == 1) report_written(address, family == AF_INET ? 4 : 16, DEADHEAT_CALLER);
  return result;
}

DEADHEAT_REPLACE(int, rand_r, unsigned* seed) {
  DEADHEAT_ORIGINAL(rand_r);
  report_written(seed, sizeof(*seed), DEADHEAT_CALLER);
  return original(seed);
}

// GNU's strerror_r returns the buffer only if it used it; the other one always does.
DEADHEAT_REPLACE(char*, strerror_r, int error, char* buffer, std::size_t size) {
  DEADHEAT_ORIGINAL(strerror_r);
  char* const text = original(error, buffer, size);
  if (text == buffer) report_text_written(text, DEADHEAT_CALLER);
  return text;
}
DEADHEAT_REPLACE(int, __xpg_strerror_r, int error, char* buffer, std::size_t size) {
  DEADHEAT_ORIGINAL(__xpg_strerror_r);
  const int result = original(error, buffer, size);
  if (size != 0) report_text_written(buffer, DEADHEAT_CALLER);
  return result;
}
DEADHEAT_ALSO(__strerror_r, strerror_r);
