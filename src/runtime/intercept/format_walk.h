// SPDX-License-Identifier: Apache-2.0
// The uses that a format of printf makes of its arguments.
//
// Which arguments are strings only the format tells, so it is walked once more before the call. A
// format with numbered arguments (%2$s) or something unknown ends the walk: from there on nothing
// is reported, because the next argument cannot be found.
//
// In a format of wide characters %s is still a text of bytes, and %ls one of wide characters.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>

#include "runtime/intercept/replace.h"

namespace deadheat::runtime {

// Walks a format and takes the arguments one by one.
template <class Letter>
class FormatWalk {
 public:
  FormatWalk(const Letter* format, va_list arguments, Address code) : at_(format), code_(code) {
    va_copy(arguments_, arguments);
  }
  ~FormatWalk() { va_end(arguments_); }
  FormatWalk(const FormatWalk&) = delete;
  FormatWalk& operator=(const FormatWalk&) = delete;

  void run() {
    const Letter* const begin = at_;
    on_read(begin, (length_of(begin, SIZE_MAX) + 1) * sizeof(Letter), code_);
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
  enum class Length : std::uint8_t { kChar, kShort, kInt, kLong, kLongLong, kLongDouble };

  static std::size_t length_of(const char* text, std::size_t limit) {
    static constinit RealFunction<std::size_t(const char*, std::size_t)> original;
    return original.get("strnlen")(text, limit);
  }
  static std::size_t length_of(const wchar_t* text, std::size_t limit) {
    static constinit RealFunction<std::size_t(const wchar_t*, std::size_t)> original;
    return original.get("wcsnlen")(text, limit);
  }

  static bool is_one_of(Letter letter, const char* letters) {
    for (; *letters != 0; ++letters) {
      if (static_cast<Letter>(*letters) == letter) return true;
    }
    return false;
  }

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
    const Letter* const begin = at_;
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
    const Letter conversion = *at_++;
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
    if (conversion == 's' && length != Length::kLong) take_text(static_cast<const char*>(pointer), precision);
    // The precision of wide text counts the bytes that it becomes: no more letters than that.
    if (conversion == 'S' || (conversion == 's' && length == Length::kLong)) {
      take_text(static_cast<const wchar_t*>(pointer), precision);
    }
    if (conversion == 'n') on_write(pointer, size_of(length), code_);
    return true;
  }

  template <class TextLetter>
  void take_text(const TextLetter* text, std::size_t precision) {
    if (text == nullptr) return;
    const std::size_t length = length_of(text, precision);
    on_read(text, (length < precision ? length + 1 : length) * sizeof(TextLetter), code_);
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

  const Letter* at_;
  va_list arguments_;
  Address code_;
};

template <class Letter>
void report_format(const Letter* format, va_list arguments, Address code) {
  if (format == nullptr || !is_observing_accesses()) return;
  const KeepErrno keep;
  FormatWalk<Letter>(format, arguments, code).run();
}

}  // namespace deadheat::runtime

// The forms with `...` are those with a va_list. `last` is the parameter before the dots, `call` the
// call of the original of `target`, as `function`. Declares `length`.
#define DEADHEAT_WITH_DOTS(target, last, call)              \
  static constinit RealFunction<decltype(target)> function; \
  va_list arguments;                                        \
  va_start(arguments, last);                                \
  report_format(format, arguments, DEADHEAT_CALLER);        \
  const int length = call;                                  \
  va_end(arguments)
