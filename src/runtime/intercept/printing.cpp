// SPDX-License-Identifier: Apache-2.0
// The printf family: reads the format and the strings behind %s, writes the
// result of sprintf and what %n asks for (format_walk.h). The rest: more_printing.cpp.
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "runtime/intercept/format_walk.h"

namespace deadheat::runtime {
namespace {

constexpr std::size_t kNoLimit = SIZE_MAX;

// The text and its terminator, as far as there was room.
int report_result(const char* buffer, std::size_t room, int length, Address code) {
  if (length >= 0 && room != 0) {
    const std::size_t size = static_cast<std::size_t>(length) + 1;
    report_written(buffer, size < room ? size : room, code);
  }
  return length;
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

DEADHEAT_REPLACE(int, vfprintf, FILE* stream, const char* format, va_list arguments) {
  DEADHEAT_ORIGINAL(vfprintf);
  report_format(format, arguments, DEADHEAT_CALLER);
  return original(stream, format, arguments);
}
DEADHEAT_REPLACE(int, vprintf, const char* format, va_list arguments) {
  DEADHEAT_ORIGINAL(vprintf);
  report_format(format, arguments, DEADHEAT_CALLER);
  return original(format, arguments);
}
DEADHEAT_REPLACE(int, vdprintf, int descriptor, const char* format, va_list arguments) {
  DEADHEAT_ORIGINAL(vdprintf);
  report_format(format, arguments, DEADHEAT_CALLER);
  return original(descriptor, format, arguments);
}
DEADHEAT_REPLACE(int, vsprintf, char* buffer, const char* format, va_list arguments) {
  DEADHEAT_ORIGINAL(vsprintf);
  report_format(format, arguments, DEADHEAT_CALLER);
  return report_result(buffer, kNoLimit, original(buffer, format, arguments), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, vsnprintf, char* buffer, std::size_t room, const char* format, va_list arguments) {
  DEADHEAT_ORIGINAL(vsnprintf);
  report_format(format, arguments, DEADHEAT_CALLER);
  return report_result(buffer, room, original(buffer, room, format, arguments), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, vasprintf, char** result, const char* format, va_list arguments) {
  DEADHEAT_ORIGINAL(vasprintf);
  report_format(format, arguments, DEADHEAT_CALLER);
  const int length = original(result, format, arguments);
  report_written(result, sizeof(*result), DEADHEAT_CALLER);
  return length < 0 ? length : report_result(*result, kNoLimit, length, DEADHEAT_CALLER);
}

// What programs built with _FORTIFY_SOURCE call.
DEADHEAT_REPLACE(int, __vfprintf_chk, FILE* stream, int flag, const char* format, va_list arguments) {
  DEADHEAT_ORIGINAL(__vfprintf_chk);
  report_format(format, arguments, DEADHEAT_CALLER);
  return original(stream, flag, format, arguments);
}
DEADHEAT_REPLACE(int, __vprintf_chk, int flag, const char* format, va_list arguments) {
  DEADHEAT_ORIGINAL(__vprintf_chk);
  report_format(format, arguments, DEADHEAT_CALLER);
  return original(flag, format, arguments);
}
DEADHEAT_REPLACE(int, __vsprintf_chk, char* buffer, int flag, std::size_t room, const char* format, va_list arguments) {
  DEADHEAT_ORIGINAL(__vsprintf_chk);
  report_format(format, arguments, DEADHEAT_CALLER);
  return report_result(buffer, kNoLimit, original(buffer, flag, room, format, arguments), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, __vsnprintf_chk, char* buffer, std::size_t size, int flag, std::size_t room, const char* format,
                 va_list arguments) {
  DEADHEAT_ORIGINAL(__vsnprintf_chk);
  report_format(format, arguments, DEADHEAT_CALLER);
  return report_result(buffer, size, original(buffer, size, flag, room, format, arguments), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, __vasprintf_chk, char** result, int flag, const char* format, va_list arguments) {
  DEADHEAT_ORIGINAL(__vasprintf_chk);
  report_format(format, arguments, DEADHEAT_CALLER);
  const int length = original(result, flag, format, arguments);
  report_written(result, sizeof(*result), DEADHEAT_CALLER);
  return length < 0 ? length : report_result(*result, kNoLimit, length, DEADHEAT_CALLER);
}

// The forms with `...`.
DEADHEAT_REPLACE(int, printf, const char* format, ...) {
  DEADHEAT_WITH_DOTS(replaced_vprintf, format, function.get("vprintf")(format, arguments));
  return length;
}
DEADHEAT_REPLACE(int, fprintf, FILE* stream, const char* format, ...) {
  DEADHEAT_WITH_DOTS(replaced_vfprintf, format, function.get("vfprintf")(stream, format, arguments));
  return length;
}
DEADHEAT_REPLACE(int, dprintf, int descriptor, const char* format, ...) {
  DEADHEAT_WITH_DOTS(replaced_vdprintf, format, function.get("vdprintf")(descriptor, format, arguments));
  return length;
}
DEADHEAT_REPLACE(int, sprintf, char* buffer, const char* format, ...) {
  DEADHEAT_WITH_DOTS(replaced_vsprintf, format, function.get("vsprintf")(buffer, format, arguments));
  return report_result(buffer, kNoLimit, length, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, snprintf, char* buffer, std::size_t room, const char* format, ...) {
  DEADHEAT_WITH_DOTS(replaced_vsnprintf, format, function.get("vsnprintf")(buffer, room, format, arguments));
  return report_result(buffer, room, length, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, asprintf, char** result, const char* format, ...) {
  DEADHEAT_WITH_DOTS(replaced_vasprintf, format, function.get("vasprintf")(result, format, arguments));
  report_written(result, sizeof(*result), DEADHEAT_CALLER);
  return length < 0 ? length : report_result(*result, kNoLimit, length, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, __printf_chk, int flag, const char* format, ...) {
  DEADHEAT_WITH_DOTS(replaced___vprintf_chk, format, function.get("__vprintf_chk")(flag, format, arguments));
  return length;
}
DEADHEAT_REPLACE(int, __fprintf_chk, FILE* stream, int flag, const char* format, ...) {
  DEADHEAT_WITH_DOTS(replaced___vfprintf_chk, format, function.get("__vfprintf_chk")(stream, flag, format, arguments));
  return length;
}
DEADHEAT_REPLACE(int, __sprintf_chk, char* buffer, int flag, std::size_t room, const char* format, ...) {
  DEADHEAT_WITH_DOTS(replaced___vsprintf_chk, format,
                     function.get("__vsprintf_chk")(buffer, flag, room, format, arguments));
  return report_result(buffer, kNoLimit, length, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, __snprintf_chk, char* buffer, std::size_t size, int flag, std::size_t room, const char* format,
                 ...) {
  DEADHEAT_WITH_DOTS(replaced___vsnprintf_chk, format,
                     function.get("__vsnprintf_chk")(buffer, size, flag, room, format, arguments));
  return report_result(buffer, size, length, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, __asprintf_chk, char** result, int flag, const char* format, ...) {
  DEADHEAT_WITH_DOTS(replaced___vasprintf_chk, format,
                     function.get("__vasprintf_chk")(result, flag, format, arguments));
  report_written(result, sizeof(*result), DEADHEAT_CALLER);
  return length < 0 ? length : report_result(*result, kNoLimit, length, DEADHEAT_CALLER);
}

DEADHEAT_ALSO(__asprintf, asprintf);
