// SPDX-License-Identifier: Apache-2.0
// The printf family: reads the format and the strings behind %s, writes the
// result of sprintf and what %n asks for.
//
// Which arguments are strings only the format tells, so it is walked once more
// before the call. A format with numbered arguments (%2$s) or something unknown
// ends the walk: from there on nothing is reported, because the next argument
// cannot be found.
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

enum class Length : std::uint8_t { kChar, kShort, kInt, kLong, kLongLong, kLongDouble };

std::size_t length_of(const char* text, std::size_t limit) {
  static constinit RealFunction<std::size_t(const char*, std::size_t)> original;
  return original.get("strnlen")(text, limit);
}

bool is_one_of(char letter, const char* letters) {
  for (; *letters != 0; ++letters) {
    if (*letters == letter) return true;
  }
  return false;
}

// Walks a format and takes the arguments one by one.
class FormatWalk {
 public:
  FormatWalk(const char* format, va_list arguments, Address code) : at_(format), code_(code) {
    va_copy(arguments_, arguments);
  }
  ~FormatWalk() { va_end(arguments_); }
  FormatWalk(const FormatWalk&) = delete;
  FormatWalk& operator=(const FormatWalk&) = delete;

  void run() {
    const char* const begin = at_;
    on_read(begin, length_of(begin, SIZE_MAX) + 1, code_);
    while (*at_ != 0) {
      if (*at_++ != '%') continue;
      if (*at_ == '%') {
        ++at_;
      } else if (!take_conversion()) {
        return;
      }
    }
  }

 private:
  // False: the walk is over.
  bool take_conversion() {
    while (is_one_of(*at_, "-+ #0'I")) ++at_;
    if (!take_number(nullptr)) return false;
    std::size_t precision = SIZE_MAX;
    if (*at_ == '.') {
      ++at_;
      precision = 0;
      if (!take_number(&precision)) return false;
    }
    return take_argument(take_length(), precision);
  }

  bool take_number(std::size_t* value) {
    if (*at_ == '*') {
      ++at_;
      const int number = va_arg(arguments_, int);
      if (value != nullptr) *value = number < 0 ? SIZE_MAX : static_cast<std::size_t>(number);
    }
    std::size_t number = 0;
    const char* const begin = at_;
    for (; *at_ >= '0' && *at_ <= '9'; ++at_) number = number * 10 + static_cast<std::size_t>(*at_ - '0');
    if (value != nullptr && at_ != begin) *value = number;
    return *at_ != '$';
  }

  Length take_length() {
    Length length = Length::kInt;
    for (;; ++at_) {
      if (*at_ == 'h') {
        length = length == Length::kShort ? Length::kChar : Length::kShort;
      } else if (*at_ == 'l') {
        length = length == Length::kLong ? Length::kLongLong : Length::kLong;
      } else if (is_one_of(*at_, "jztq")) {
        length = Length::kLong;
      } else if (*at_ == 'L') {
        length = Length::kLongDouble;
      } else {
        return length;
      }
    }
  }

  bool take_argument(Length length, std::size_t precision) {
    const char conversion = *at_++;
    if (is_one_of(conversion, "diouxXcC")) {
      // Everything up to a long travels in a register; wider does not exist here.
      (void)va_arg(arguments_, long);
      return true;
    }
    if (is_one_of(conversion, "eEfFgGaA")) {
      if (length == Length::kLongDouble) {
        (void)va_arg(arguments_, long double);
      } else {
        (void)va_arg(arguments_, double);
      }
      return true;
    }
    if (conversion == 'm') return true;
    if (!is_one_of(conversion, "spSn")) return false;
    const void* const pointer = va_arg(arguments_, const void*);
    if (conversion == 's' && length != Length::kLong && pointer != nullptr) {
      const std::size_t size = length_of(static_cast<const char*>(pointer), precision);
      on_read(pointer, size < precision ? size + 1 : size, code_);
    }
    if (conversion == 'n') on_write(pointer, size_of(length), code_);
    return true;
  }

  static std::size_t size_of(Length length) {
    switch (length) {
      case Length::kChar:
        return sizeof(char);
      case Length::kShort:
        return sizeof(short);
      case Length::kInt:
        return sizeof(int);
      default:
        return sizeof(long);
    }
  }

  const char* at_;
  va_list arguments_;
  Address code_;
};

void report_format(const char* format, va_list arguments, Address code) {
  if (is_observing_accesses()) FormatWalk(format, arguments, code).run();
}

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

// The forms with `...` are those with a va_list. `last` is the parameter before
// the dots, `call` the call of the original of `target`.
#define DEADHEAT_WITH_DOTS(target, last, call)              \
  static constinit RealFunction<decltype(target)> function; \
  va_list arguments;                                        \
  va_start(arguments, last);                                \
  report_format(format, arguments, DEADHEAT_CALLER);        \
  const int length = call;                                  \
  va_end(arguments)

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
