// SPDX-License-Identifier: Apache-2.0
// Numbers in strings: strtol, atoi and their relatives.
//
// The conversion reads the number and the character that ends it, and writes
// where it ended. Where there is no number only the first character counts as
// read: white space and a prefix may have been skipped before it became clear,
// but libc does not say how far.
#include <cstddef>
#include <cstdint>

#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

void report_number(const char* text, const char* end, char** end_result, Address code) {
  if (!is_observing_accesses()) return;
  const KeepErrno keep;
  on_read(text, static_cast<std::size_t>(end - text) + 1, code);
  if (end_result != nullptr) on_write(end_result, sizeof(*end_result), code);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

// A conversion to `type` with a base.
#define DEADHEAT_WHOLE_NUMBER(type, name)                                       \
  DEADHEAT_REPLACE(type, name, const char* text, char** end_result, int base) { \
    DEADHEAT_ORIGINAL(name);                                                    \
    char* end = const_cast<char*>(text);                                        \
    const type result = original(text, &end, base);                             \
    if (end_result != nullptr) *end_result = end;                               \
    report_number(text, end, end_result, DEADHEAT_CALLER);                      \
    return result;                                                              \
  }

DEADHEAT_WHOLE_NUMBER(long, strtol)
DEADHEAT_WHOLE_NUMBER(long long, strtoll)
DEADHEAT_WHOLE_NUMBER(unsigned long, strtoul)
DEADHEAT_WHOLE_NUMBER(unsigned long long, strtoull)
DEADHEAT_WHOLE_NUMBER(std::intmax_t, strtoimax)
DEADHEAT_WHOLE_NUMBER(std::uintmax_t, strtoumax)
DEADHEAT_WHOLE_NUMBER(long long, strtoq)
DEADHEAT_WHOLE_NUMBER(unsigned long long, strtouq)
// What programs call that were compiled for C23 with glibc 2.38 or later.
DEADHEAT_WHOLE_NUMBER(long, __isoc23_strtol)
DEADHEAT_WHOLE_NUMBER(long long, __isoc23_strtoll)
DEADHEAT_WHOLE_NUMBER(unsigned long, __isoc23_strtoul)
DEADHEAT_WHOLE_NUMBER(unsigned long long, __isoc23_strtoull)
DEADHEAT_WHOLE_NUMBER(std::intmax_t, __isoc23_strtoimax)
DEADHEAT_WHOLE_NUMBER(std::uintmax_t, __isoc23_strtoumax)

// A conversion to a floating type.
#define DEADHEAT_REAL_NUMBER(type, name)                              \
  DEADHEAT_REPLACE(type, name, const char* text, char** end_result) { \
    DEADHEAT_ORIGINAL(name);                                          \
    char* end = const_cast<char*>(text);                              \
    const type result = original(text, &end);                         \
    if (end_result != nullptr) *end_result = end;                     \
    report_number(text, end, end_result, DEADHEAT_CALLER);            \
    return result;                                                    \
  }

DEADHEAT_REAL_NUMBER(float, strtof)
DEADHEAT_REAL_NUMBER(double, strtod)
DEADHEAT_REAL_NUMBER(long double, strtold)

namespace deadheat::runtime {
namespace {

constexpr int kDecimal = 10;

long long whole_number(const char* text, Address code) {
  static constinit RealFunction<long long(const char*, char**, int)> convert;
  char* end = const_cast<char*>(text);
  const long long result = convert.get("strtoll")(text, &end, kDecimal);
  report_number(text, end, nullptr, code);
  return result;
}

}  // namespace
}  // namespace deadheat::runtime

DEADHEAT_REPLACE(int, atoi, const char* text) { return static_cast<int>(whole_number(text, DEADHEAT_CALLER)); }
DEADHEAT_REPLACE(long, atol, const char* text) { return static_cast<long>(whole_number(text, DEADHEAT_CALLER)); }
DEADHEAT_REPLACE(long long, atoll, const char* text) { return whole_number(text, DEADHEAT_CALLER); }
DEADHEAT_REPLACE(double, atof, const char* text) {
  static constinit RealFunction<double(const char*, char**)> convert;
  char* end = const_cast<char*>(text);
  const double result = convert.get("strtod")(text, &end);
  report_number(text, end, nullptr, DEADHEAT_CALLER);
  return result;
}
