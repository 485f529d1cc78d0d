// SPDX-License-Identifier: Apache-2.0
// Streams: the buffers that fread, fgets, fputs and their relatives fill and
// read. The streams themselves are libc's, with locks of its own, and invisible.
// Streams order nothing between threads.
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

using Count = long;  // ssize_t

std::size_t length_of(const char* text) {
  static constinit RealFunction<std::size_t(const char*)> original;
  return original.get("strlen")(text);
}

// A line and its terminator. Lines may hold zeros: then the first one counts.
char* report_line(char* line, Address code) {
  if (line != nullptr && is_observing_accesses()) report_written(line, length_of(line) + 1, code);
  return line;
}

Count report_allocated_line(char** line, std::size_t* room, Count length, Address code) {
  if (length < 0) return length;
  report_written(line, sizeof(*line), code);
  report_written(room, sizeof(*room), code);
  report_written(*line, static_cast<std::size_t>(length) + 1, code);
  return length;
}

void report_text(const char* text, Address code) {
  if (is_observing_accesses()) on_read(text, length_of(text) + 1, code);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(std::size_t, fread, void* buffer, std::size_t size, std::size_t count, FILE* stream) {
  DEADHEAT_ORIGINAL(fread);
  const std::size_t done = original(buffer, size, count, stream);
  report_written(buffer, done * size, DEADHEAT_CALLER);
  return done;
}
DEADHEAT_REPLACE(std::size_t, fread_unlocked, void* buffer, std::size_t size, std::size_t count, FILE* stream) {
  DEADHEAT_ORIGINAL(fread_unlocked);
  const std::size_t done = original(buffer, size, count, stream);
  report_written(buffer, done * size, DEADHEAT_CALLER);
  return done;
}
DEADHEAT_REPLACE(std::size_t, __fread_chk, void* buffer, std::size_t room, std::size_t size, std::size_t count,
                 FILE* stream) {
  DEADHEAT_ORIGINAL(__fread_chk);
  const std::size_t done = original(buffer, room, size, count, stream);
  report_written(buffer, done * size, DEADHEAT_CALLER);
  return done;
}
DEADHEAT_REPLACE(std::size_t, fwrite, const void* buffer, std::size_t size, std::size_t count, FILE* stream) {
  DEADHEAT_ORIGINAL(fwrite);
  if (is_observing_accesses()) on_read(buffer, size * count, DEADHEAT_CALLER);
  return original(buffer, size, count, stream);
}
DEADHEAT_REPLACE(std::size_t, fwrite_unlocked, const void* buffer, std::size_t size, std::size_t count, FILE* stream) {
  DEADHEAT_ORIGINAL(fwrite_unlocked);
  if (is_observing_accesses()) on_read(buffer, size * count, DEADHEAT_CALLER);
  return original(buffer, size, count, stream);
}

DEADHEAT_REPLACE(char*, fgets, char* line, int room, FILE* stream) {
  DEADHEAT_ORIGINAL(fgets);
  return report_line(original(line, room, stream), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(char*, fgets_unlocked, char* line, int room, FILE* stream) {
  DEADHEAT_ORIGINAL(fgets_unlocked);
  return report_line(original(line, room, stream), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(char*, __fgets_chk, char* line, std::size_t size, int room, FILE* stream) {
  DEADHEAT_ORIGINAL(__fgets_chk);
  return report_line(original(line, size, room, stream), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(Count, getline, char** line, std::size_t* room, FILE* stream) {
  DEADHEAT_ORIGINAL(getline);
  return report_allocated_line(line, room, original(line, room, stream), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(Count, getdelim, char** line, std::size_t* room, int delimiter, FILE* stream) {
  DEADHEAT_ORIGINAL(getdelim);
  return report_allocated_line(line, room, original(line, room, delimiter, stream), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(Count, __getdelim, char** line, std::size_t* room, int delimiter, FILE* stream) {
  DEADHEAT_ORIGINAL(__getdelim);
  return report_allocated_line(line, room, original(line, room, delimiter, stream), DEADHEAT_CALLER);
}

DEADHEAT_REPLACE(int, fputs, const char* text, FILE* stream) {
  DEADHEAT_ORIGINAL(fputs);
  report_text(text, DEADHEAT_CALLER);
  return original(text, stream);
}
DEADHEAT_REPLACE(int, fputs_unlocked, const char* text, FILE* stream) {
  DEADHEAT_ORIGINAL(fputs_unlocked);
  report_text(text, DEADHEAT_CALLER);
  return original(text, stream);
}
DEADHEAT_REPLACE(int, puts, const char* text) {
  DEADHEAT_ORIGINAL(puts);
  report_text(text, DEADHEAT_CALLER);
  return original(text);
}
DEADHEAT_REPLACE(void, perror, const char* text) {
  DEADHEAT_ORIGINAL(perror);
  if (text != nullptr) {
    const KeepErrno keep;
    report_text(text, DEADHEAT_CALLER);
  }
  original(text);
}
