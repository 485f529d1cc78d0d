// SPDX-License-Identifier: Apache-2.0
// The rest of the printf family: wide characters, obstacks, the system's log, warnings, and the
// names that libc gives to itself.
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "runtime/intercept/described.h"
#include "runtime/intercept/format_walk.h"

namespace deadheat::runtime {
namespace {

int report_wide_result(const wchar_t* buffer, std::size_t room, int length, Address code) {
  if (length >= 0 && room != 0) {
    const std::size_t size = static_cast<std::size_t>(length) + 1;
    report_written(buffer, (size < room ? size : room) * sizeof(wchar_t), code);
  }
  return length;
}

int report_text_result(const char* buffer, int length, Address code) {
  if (length >= 0) report_written(buffer, static_cast<std::size_t>(length) + 1, code);
  return length;
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

// Forms with a va_list whose parameters before it do not matter: int list_name(parameters, format,
// arguments), and the same with dots.
#define DEADHEAT_PRINTS(letter, dots_name, list_name, parameters, names)                                               \
  DEADHEAT_REPLACE(int, list_name, DEADHEAT_LIST parameters const letter* format, va_list arguments) {                 \
    DEADHEAT_ORIGINAL(list_name);                                                                                      \
    report_format(format, arguments, DEADHEAT_CALLER);                                                                 \
    return original(DEADHEAT_LIST names format, arguments);                                                            \
  }                                                                                                                    \
  DEADHEAT_REPLACE(int, dots_name, DEADHEAT_LIST parameters const letter* format, ...) {                               \
    DEADHEAT_WITH_DOTS(replaced_##list_name, format, function.get(#list_name)(DEADHEAT_LIST names format, arguments)); \
    return length;                                                                                                     \
  }
#define DEADHEAT_LIST(...) __VA_ARGS__

DEADHEAT_PRINTS(wchar_t, fwprintf, vfwprintf, (FILE * stream, ), (stream, ))
DEADHEAT_PRINTS(wchar_t, wprintf, vwprintf, (), ())
DEADHEAT_PRINTS(wchar_t, __fwprintf_chk, __vfwprintf_chk, (FILE * stream, int flag, ), (stream, flag, ))
DEADHEAT_PRINTS(wchar_t, __wprintf_chk, __vwprintf_chk, (int flag, ), (flag, ))
DEADHEAT_PRINTS(char, __dprintf_chk, __vdprintf_chk, (int descriptor, int flag, ), (descriptor, flag, ))
DEADHEAT_PRINTS(char, obstack_printf, obstack_vprintf, (void* stack, ), (stack, ))
DEADHEAT_PRINTS(char, __obstack_printf_chk, __obstack_vprintf_chk, (void* stack, int flag, ), (stack, flag, ))

// The same without a result.
#define DEADHEAT_SAYS(dots_name, list_name, parameters, names)                                        \
  DEADHEAT_REPLACE(void, list_name, DEADHEAT_LIST parameters const char* format, va_list arguments) { \
    DEADHEAT_ORIGINAL(list_name);                                                                     \
    report_format(format, arguments, DEADHEAT_CALLER);                                                \
    original(DEADHEAT_LIST names format, arguments);                                                  \
  }                                                                                                   \
  DEADHEAT_REPLACE(void, dots_name, DEADHEAT_LIST parameters const char* format, ...) {               \
    static constinit RealFunction<decltype(replaced_##list_name)> function;                           \
    va_list arguments;                                                                                \
    va_start(arguments, format);                                                                      \
    report_format(format, arguments, DEADHEAT_CALLER);                                                \
    function.get(#list_name)(DEADHEAT_LIST names format, arguments);                                  \
    va_end(arguments);                                                                                \
  }

DEADHEAT_SAYS(syslog, vsyslog, (int priority, ), (priority, ))
DEADHEAT_SAYS(__syslog_chk, __vsyslog_chk, (int priority, int flag, ), (priority, flag, ))
DEADHEAT_SAYS(warn, vwarn, (), ())
DEADHEAT_SAYS(warnx, vwarnx, (), ())
// These do not return.
DEADHEAT_SAYS(err, verr, (int status, ), (status, ))
DEADHEAT_SAYS(errx, verrx, (int status, ), (status, ))

DEADHEAT_REPLACE(int, vswprintf, wchar_t* buffer, std::size_t room, const wchar_t* format, va_list arguments) {
  DEADHEAT_ORIGINAL(vswprintf);
  report_format(format, arguments, DEADHEAT_CALLER);
  return report_wide_result(buffer, room, original(buffer, room, format, arguments), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, swprintf, wchar_t* buffer, std::size_t room, const wchar_t* format, ...) {
  DEADHEAT_WITH_DOTS(replaced_vswprintf, format, function.get("vswprintf")(buffer, room, format, arguments));
  return report_wide_result(buffer, room, length, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, __vswprintf_chk, wchar_t* buffer, std::size_t size, int flag, std::size_t room,
                 const wchar_t* format, va_list arguments) {
  DEADHEAT_ORIGINAL(__vswprintf_chk);
  report_format(format, arguments, DEADHEAT_CALLER);
  return report_wide_result(buffer, size, original(buffer, size, flag, room, format, arguments), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, __swprintf_chk, wchar_t* buffer, std::size_t size, int flag, std::size_t room,
                 const wchar_t* format, ...) {
  DEADHEAT_WITH_DOTS(replaced___vswprintf_chk, format,
                     function.get("__vswprintf_chk")(buffer, size, flag, room, format, arguments));
  return report_wide_result(buffer, size, length, DEADHEAT_CALLER);
}

// The names that libc gives to itself.
DEADHEAT_PRINTS(char, _IO_fprintf, _IO_vfprintf, (FILE * stream, ), (stream, ))
DEADHEAT_REPLACE(int, _IO_printf, const char* format, ...) {
  static constinit RealFunction<int(const char*, va_list)> function;
  va_list arguments;
  va_start(arguments, format);
  report_format(format, arguments, DEADHEAT_CALLER);
  const int length = function.get("vprintf")(format, arguments);
  va_end(arguments);
  return length;
}
DEADHEAT_REPLACE(int, _IO_vsprintf, char* buffer, const char* format, va_list arguments) {
  DEADHEAT_ORIGINAL(_IO_vsprintf);
  report_format(format, arguments, DEADHEAT_CALLER);
  return report_text_result(buffer, original(buffer, format, arguments), DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, _IO_sprintf, char* buffer, const char* format, ...) {
  DEADHEAT_WITH_DOTS(replaced__IO_vsprintf, format, function.get("vsprintf")(buffer, format, arguments));
  return report_text_result(buffer, length, DEADHEAT_CALLER);
}
DEADHEAT_REPLACE(int, __vsnprintf, char* buffer, std::size_t room, const char* format, va_list arguments) {
  DEADHEAT_ORIGINAL(__vsnprintf);
  report_format(format, arguments, DEADHEAT_CALLER);
  const int length = original(buffer, room, format, arguments);
  if (length >= 0 && room != 0) {
    const std::size_t size = static_cast<std::size_t>(length) + 1;
    report_written(buffer, size < room ? size : room, DEADHEAT_CALLER);
  }
  return length;
}
