// SPDX-License-Identifier: Apache-2.0
// The rest of the numbers in strings: with a locale, in wide characters, by the names that C23 gave
// to types, and by the names that libc gives to itself. See string_numbers.cpp for what is reported.
#include <cstddef>
#include <cstdint>
#include <cwchar>

#include "runtime/intercept/replace.h"

namespace deadheat::runtime {
namespace {

__extension__ typedef __float128 Quad;
using Extended = long double;

// Runs `convert` with a place of its own for the end, and reports.
template <class Letter, class Convert>
[[gnu::always_inline]] inline auto convert_number(const Letter* text, Letter** end_result, Address code,
                                                  Convert convert) {
  Letter* end = const_cast<Letter*>(text);
  const auto result = convert(&end);
  if (end_result != nullptr) *end_result = end;
  report_read(text, (static_cast<std::size_t>(end - text) + 1) * sizeof(Letter), code);
  report_written(end_result, sizeof(*end_result), code);
  return result;
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

#define DEADHEAT_WHOLE(type, letter, name)                                                                             \
  DEADHEAT_REPLACE(type, name, const letter* text, letter** end_result, int base) {                                    \
    DEADHEAT_ORIGINAL(name);                                                                                           \
    return convert_number(text, end_result, DEADHEAT_CALLER, [=](letter** end) { return original(text, end, base); }); \
  }
// With one more parameter: a locale, or whether digits are grouped.
#define DEADHEAT_WHOLE_AND(type, letter, name)                                                  \
  DEADHEAT_REPLACE(type, name, const letter* text, letter** end_result, int base, void* more) { \
    DEADHEAT_ORIGINAL(name);                                                                    \
    return convert_number(text, end_result, DEADHEAT_CALLER,                                    \
                          [=](letter** end) { return original(text, end, base, more); });       \
  }
#define DEADHEAT_REAL(type, letter, name)                                                                        \
  DEADHEAT_REPLACE(type, name, const letter* text, letter** end_result) {                                        \
    DEADHEAT_ORIGINAL(name);                                                                                     \
    return convert_number(text, end_result, DEADHEAT_CALLER, [=](letter** end) { return original(text, end); }); \
  }
#define DEADHEAT_REAL_AND(type, letter, name)                                                                          \
  DEADHEAT_REPLACE(type, name, const letter* text, letter** end_result, void* more) {                                  \
    DEADHEAT_ORIGINAL(name);                                                                                           \
    return convert_number(text, end_result, DEADHEAT_CALLER, [=](letter** end) { return original(text, end, more); }); \
  }

#define DEADHEAT_WHOLE_FAMILY(type, letter, name) \
  DEADHEAT_WHOLE_AND(type, letter, name##_l)      \
  DEADHEAT_WHOLE_AND(type, letter, __##name##_l)  \
  DEADHEAT_WHOLE_AND(type, letter, __##name##_internal)
DEADHEAT_WHOLE_FAMILY(long, char, strtol)
DEADHEAT_WHOLE_FAMILY(long long, char, strtoll)
DEADHEAT_WHOLE_FAMILY(unsigned long, char, strtoul)
DEADHEAT_WHOLE_FAMILY(unsigned long long, char, strtoull)
DEADHEAT_WHOLE_FAMILY(long, wchar_t, wcstol)
DEADHEAT_WHOLE_FAMILY(long long, wchar_t, wcstoll)
DEADHEAT_WHOLE_FAMILY(unsigned long, wchar_t, wcstoul)
DEADHEAT_WHOLE_FAMILY(unsigned long long, wchar_t, wcstoull)
DEADHEAT_WHOLE(long, wchar_t, wcstol)
DEADHEAT_WHOLE(long long, wchar_t, wcstoll)
DEADHEAT_WHOLE(unsigned long, wchar_t, wcstoul)
DEADHEAT_WHOLE(unsigned long long, wchar_t, wcstoull)
DEADHEAT_WHOLE(long long, wchar_t, wcstoq)
DEADHEAT_WHOLE(unsigned long long, wchar_t, wcstouq)
DEADHEAT_WHOLE(std::intmax_t, wchar_t, wcstoimax)
DEADHEAT_WHOLE(std::uintmax_t, wchar_t, wcstoumax)

#define DEADHEAT_REAL_FAMILY(type, letter, name) \
  DEADHEAT_REAL_AND(type, letter, name##_l)      \
  DEADHEAT_REAL_AND(type, letter, __##name##_l)  \
  DEADHEAT_REAL_AND(type, letter, __##name##_internal)
DEADHEAT_REAL_FAMILY(float, char, strtof)
DEADHEAT_REAL_FAMILY(double, char, strtod)
DEADHEAT_REAL_FAMILY(Extended, char, strtold)
DEADHEAT_REAL_FAMILY(float, wchar_t, wcstof)
DEADHEAT_REAL_FAMILY(double, wchar_t, wcstod)
DEADHEAT_REAL_FAMILY(Extended, wchar_t, wcstold)
DEADHEAT_REAL(float, wchar_t, wcstof)
DEADHEAT_REAL(double, wchar_t, wcstod)
DEADHEAT_REAL(Extended, wchar_t, wcstold)
DEADHEAT_REAL_AND(Quad, char, __strtof128_internal)
DEADHEAT_REAL_AND(Quad, wchar_t, __wcstof128_internal)

#define DEADHEAT_REAL_C23(letter, name)            \
  DEADHEAT_REAL(float, letter, name##32)           \
  DEADHEAT_REAL(double, letter, name##64)          \
  DEADHEAT_REAL(double, letter, name##32x)         \
  DEADHEAT_REAL(Extended, letter, name##64x)       \
  DEADHEAT_REAL(Quad, letter, name##128)           \
  DEADHEAT_REAL_AND(float, letter, name##32_l)     \
  DEADHEAT_REAL_AND(double, letter, name##64_l)    \
  DEADHEAT_REAL_AND(double, letter, name##32x_l)   \
  DEADHEAT_REAL_AND(Extended, letter, name##64x_l) \
  DEADHEAT_REAL_AND(Quad, letter, name##128_l)
DEADHEAT_REAL_C23(char, strtof)
DEADHEAT_REAL_C23(wchar_t, wcstof)
