// SPDX-License-Identifier: Apache-2.0
// Functions of libm that store a second result or read through a pointer, and numbers that become
// texts. Each exists once per floating type and once more per name that C23 gave the type.
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "runtime/intercept/described.h"

namespace deadheat::runtime {
namespace {

__extension__ typedef __float128 Quad;
using Extended = long double;

// fesetenv and fesetmode take constants that are no addresses.
template <std::size_t kSize>
void takes_environment(const DescribedCall& call) {
  constexpr std::uint64_t kConstants = ~std::uint64_t{0} - 4096;
  if (call.value(1) < kConstants) on_read(call.pointer<const void>(1), kSize, call.code);
}

void report_text_result(const char* text, Address code) {
  if (text == nullptr || !is_observing_accesses()) return;
  const KeepErrno keep;
  report_text_written(text, code);
}

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat;
using namespace deadheat::runtime;

// DEADHEAT_SUFFIXES(MACRO, name): every name that a function of the family has.
#define DEADHEAT_SUFFIXES(macro, name) \
  macro(float, name##f) macro(double, name) macro(Extended, name##l) DEADHEAT_C23_SUFFIXES(macro, name)
#define DEADHEAT_C23_SUFFIXES(macro, name)                                                               \
  macro(float, name##f32) macro(double, name##f64) macro(double, name##f32x) macro(Extended, name##f64x) \
      macro(Quad, name##f128)

#define DEADHEAT_MODF(type, name)                           \
  DEADHEAT_REPLACE(type, name, type value, type* whole) {   \
    DEADHEAT_ORIGINAL(name);                                \
    const type result = original(value, whole);             \
    report_written(whole, sizeof(*whole), DEADHEAT_CALLER); \
    return result;                                          \
  }
#define DEADHEAT_WITH_INT(type, name)                         \
  DEADHEAT_REPLACE(type, name, type value, int* stored) {     \
    DEADHEAT_ORIGINAL(name);                                  \
    const type result = original(value, stored);              \
    report_written(stored, sizeof(*stored), DEADHEAT_CALLER); \
    return result;                                            \
  }
#define DEADHEAT_REMQUO(type, name)                                   \
  DEADHEAT_REPLACE(type, name, type value, type divisor, int* bits) { \
    DEADHEAT_ORIGINAL(name);                                          \
    const type result = original(value, divisor, bits);               \
    report_written(bits, sizeof(*bits), DEADHEAT_CALLER);             \
    return result;                                                    \
  }
#define DEADHEAT_SINCOS(type, name)                                    \
  DEADHEAT_REPLACE(void, name, type value, type* sine, type* cosine) { \
    DEADHEAT_ORIGINAL(name);                                           \
    original(value, sine, cosine);                                     \
    report_written(sine, sizeof(*sine), DEADHEAT_CALLER);              \
    report_written(cosine, sizeof(*cosine), DEADHEAT_CALLER);          \
  }
#define DEADHEAT_SET_PAYLOAD(type, name)                      \
  DEADHEAT_REPLACE(int, name, type* result, type payload) {   \
    DEADHEAT_ORIGINAL(name);                                  \
    const int done = original(result, payload);               \
    report_written(result, sizeof(*result), DEADHEAT_CALLER); \
    return done;                                              \
  }
#define DEADHEAT_GET_PAYLOAD(type, name)                 \
  DEADHEAT_REPLACE(type, name, const type* value) {      \
    DEADHEAT_ORIGINAL(name);                             \
    report_read(value, sizeof(*value), DEADHEAT_CALLER); \
    return original(value);                              \
  }
#define DEADHEAT_NAN(type, name)                            \
  DEADHEAT_REPLACE(type, name, const char* text) {          \
    DEADHEAT_ORIGINAL(name);                                \
    report_read(text, size_of_text(text), DEADHEAT_CALLER); \
    return original(text);                                  \
  }
#define DEADHEAT_TOTAL_ORDER(type, name) \
  DEADHEAT_DESCRIBE(name, kAlways, reads(1, sizeof(type)), reads(2, sizeof(type)))
#define DEADHEAT_CANONICALIZE(type, name) \
  DEADHEAT_DESCRIBE(name, kZero, reads(2, sizeof(type)), writes(1, sizeof(type)))

DEADHEAT_SUFFIXES(DEADHEAT_MODF, modf)
DEADHEAT_SUFFIXES(DEADHEAT_WITH_INT, frexp)
DEADHEAT_SUFFIXES(DEADHEAT_REMQUO, remquo)
DEADHEAT_SUFFIXES(DEADHEAT_SINCOS, sincos)
DEADHEAT_SUFFIXES(DEADHEAT_SET_PAYLOAD, setpayload)
DEADHEAT_SUFFIXES(DEADHEAT_SET_PAYLOAD, setpayloadsig)
DEADHEAT_SUFFIXES(DEADHEAT_GET_PAYLOAD, getpayload)
DEADHEAT_SUFFIXES(DEADHEAT_NAN, nan)
DEADHEAT_SUFFIXES(DEADHEAT_TOTAL_ORDER, totalorder)
DEADHEAT_SUFFIXES(DEADHEAT_TOTAL_ORDER, totalordermag)
DEADHEAT_SUFFIXES(DEADHEAT_CANONICALIZE, canonicalize)
// Here the type is in the middle of the name.
DEADHEAT_WITH_INT(float, lgammaf_r)
DEADHEAT_WITH_INT(double, lgamma_r)
DEADHEAT_WITH_INT(Extended, lgammal_r)
DEADHEAT_WITH_INT(float, lgammaf32_r)
DEADHEAT_WITH_INT(double, lgammaf64_r)
DEADHEAT_WITH_INT(double, lgammaf32x_r)
DEADHEAT_WITH_INT(Extended, lgammaf64x_r)
DEADHEAT_WITH_INT(Quad, lgammaf128_r)

// The environment of floating-point arithmetic.
DEADHEAT_DESCRIBE(fegetenv, kZero, writes(1, sizeof(fenv_t)))
DEADHEAT_DESCRIBE(feholdexcept, kZero, writes(1, sizeof(fenv_t)))
DEADHEAT_DESCRIBE(fesetenv, kAlways, before(takes_environment<sizeof(fenv_t)>))
DEADHEAT_DESCRIBE(feupdateenv, kAlways, before(takes_environment<sizeof(fenv_t)>))
DEADHEAT_DESCRIBE(fegetmode, kZero, writes(1, 8))
DEADHEAT_DESCRIBE(fesetmode, kAlways, before(takes_environment<8>))
DEADHEAT_DESCRIBE(fegetexceptflag, kZero, writes(1, sizeof(fexcept_t)))
DEADHEAT_DESCRIBE(fesetexceptflag, kAlways, reads(1, sizeof(fexcept_t)))
DEADHEAT_DESCRIBE(fetestexceptflag, kAlways, reads(1, sizeof(fexcept_t)))

// Numbers as texts. The forms without _r return a text of libc's.
#define DEADHEAT_CONVERT(type, name)                                                                               \
  DEADHEAT_REPLACE(char*, name, type value, int digits, int* point, int* sign) {                                   \
    DEADHEAT_ORIGINAL(name);                                                                                       \
    char* const text = original(value, digits, point, sign);                                                       \
    report_text_result(text, DEADHEAT_CALLER);                                                                     \
    report_written(point, sizeof(*point), DEADHEAT_CALLER);                                                        \
    report_written(sign, sizeof(*sign), DEADHEAT_CALLER);                                                          \
    return text;                                                                                                   \
  }                                                                                                                \
  DEADHEAT_REPLACE(int, name##_r, type value, int digits, int* point, int* sign, char* buffer, std::size_t room) { \
    DEADHEAT_ORIGINAL(name##_r);                                                                                   \
    const int result = original(value, digits, point, sign, buffer, room);                                         \
    if (result != 0) return result;                                                                                \
    report_text_result(buffer, DEADHEAT_CALLER);                                                                   \
    report_written(point, sizeof(*point), DEADHEAT_CALLER);                                                        \
    report_written(sign, sizeof(*sign), DEADHEAT_CALLER);                                                          \
    return result;                                                                                                 \
  }
DEADHEAT_CONVERT(double, ecvt)
DEADHEAT_CONVERT(double, fcvt)
DEADHEAT_CONVERT(Extended, qecvt)
DEADHEAT_CONVERT(Extended, qfcvt)
#define DEADHEAT_CONVERT_SHORTEST(type, name)                           \
  DEADHEAT_REPLACE(char*, name, type value, int digits, char* buffer) { \
    DEADHEAT_ORIGINAL(name);                                            \
    char* const text = original(value, digits, buffer);                 \
    report_text_result(text, DEADHEAT_CALLER);                          \
    return text;                                                        \
  }
DEADHEAT_CONVERT_SHORTEST(double, gcvt)
DEADHEAT_CONVERT_SHORTEST(Extended, qgcvt)

#define DEADHEAT_PRINT_NUMBER(type, name)                                                       \
  DEADHEAT_REPLACE(int, name, char* buffer, std::size_t room, const char* format, type value) { \
    DEADHEAT_ORIGINAL(name);                                                                    \
    report_read(format, size_of_text(format), DEADHEAT_CALLER);                                 \
    const int length = original(buffer, room, format, value);                                   \
    if (length < 0 || room == 0) return length;                                                 \
    const auto size = static_cast<std::size_t>(length) + 1;                                     \
    report_written(buffer, size < room ? size : room, DEADHEAT_CALLER);                         \
    return length;                                                                              \
  }
DEADHEAT_PRINT_NUMBER(double, strfromd)
DEADHEAT_PRINT_NUMBER(float, strfromf)
DEADHEAT_PRINT_NUMBER(Extended, strfroml)
DEADHEAT_C23_SUFFIXES(DEADHEAT_PRINT_NUMBER, strfrom)

// Random numbers from a state of the caller's, or of libc's, which has no lock for it.
DEADHEAT_REPLACE(double, erand48, unsigned short* sequence) {
  DEADHEAT_ORIGINAL(erand48);
  report_written(sequence, 3 * sizeof(*sequence), DEADHEAT_CALLER);
  return original(sequence);
}
DEADHEAT_REPLACE(double, drand48, void) {
  DEADHEAT_ORIGINAL(drand48);
  report_written(drand48_state(), 1, DEADHEAT_CALLER);
  return original();
}
