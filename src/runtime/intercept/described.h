// SPDX-License-Identifier: Apache-2.0
// Functions of the C library that are described rather than written.
//
// Most functions that touch the caller's memory do so in one of a few ways: they read a text, fill
// a structure, copy as many bytes as a parameter or the result says. Such a function is one row:
//
//   DEADHEAT_DESCRIBE(getrusage, kZero, writes(2, sizeof(rusage)))
//   DEADHEAT_DESCRIBE(getxattr, kCount, reads_text(1), reads_text(2), writes_result(3))
//
// The row makes the interceptor. It passes six registers on, which is right for every function
// whose parameters are whole numbers and pointers, with `...` or without. DEADHEAT_DESCRIBE_LONG
// passes nine parameters. Functions with floating-point parameters or results are written by hand.
//
// Parameters are counted from 1; 0 is the result. Reads are reported before the call, writes after
// it, and only if the call succeeded in the sense that the row names. Nothing with a destructor
// lives across the call: it may be cancelled, or left by an exception of a callback.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/intercept/replace.h"

namespace deadheat::runtime {

// One call of a described function.
struct DescribedCall {
  const std::uint64_t* arguments;
  std::uint64_t result;
  Address code;
  mutable std::uint64_t notes[2] = {};  // of what reports before the call, for what reports after it

  [[nodiscard]] std::uint64_t value(unsigned parameter) const {
    return parameter == 0 ? result : arguments[parameter - 1];
  }
  template <class Type>
  [[nodiscard]] Type* pointer(unsigned parameter) const {
    return reinterpret_cast<Type*>(value(parameter));
  }
  [[nodiscard]] int integer(unsigned parameter) const { return static_cast<int>(value(parameter)); }
};

enum class Success : std::uint8_t {
  kAlways,
  kZero,         // an int, 0
  kOne,          // an int, 1
  kNotNegative,  // an int
  kCount,        // a long, not negative
  kNotNull,      // a pointer, or any other value that is not 0
};
using enum Success;

enum class Measure : std::uint8_t {
  kFixed,        // `unit` bytes
  kText,         // up to the terminator
  kWideText,     // the same in wchar_t
  kCounted,      // `unit` times a parameter of 64 bits, or the result
  kIntCounted,   // `unit` times a parameter of 32 bits, if that is positive
  kPointedInt,   // as many bytes as the 32 bits behind a parameter say
  kPointedLong,  // the same for 64 bits
  kAsked,        // a function reports
};

enum class Moment : std::uint8_t { kBefore, kAfter };

struct Effect {
  Moment moment;
  AccessKind kind;
  Measure measure;
  std::uint8_t parameter;
  std::uint8_t count = 0;  // the parameter that says how many
  std::uint32_t unit = 1;
  void (*ask)(const DescribedCall&) = nullptr;
};

struct Description {
  Success success;
  std::uint8_t count;
  const Effect* effects;
};

// The parts that rows are made of.
constexpr Effect make_effect(AccessKind kind, Measure measure, unsigned parameter, unsigned count, std::size_t unit) {
  return {kind == AccessKind::kRead ? Moment::kBefore : Moment::kAfter,
          kind,
          measure,
          static_cast<std::uint8_t>(parameter),
          static_cast<std::uint8_t>(count),
          static_cast<std::uint32_t>(unit)};
}
constexpr Effect reads(unsigned parameter, std::size_t size) {
  return make_effect(AccessKind::kRead, Measure::kFixed, parameter, 0, size);
}
constexpr Effect reads_text(unsigned parameter) {
  return make_effect(AccessKind::kRead, Measure::kText, parameter, 0, 1);
}
constexpr Effect reads_wide(unsigned parameter) {
  return make_effect(AccessKind::kRead, Measure::kWideText, parameter, 0, 1);
}
constexpr Effect reads_bytes(unsigned parameter, unsigned count, std::size_t unit = 1) {
  return make_effect(AccessKind::kRead, Measure::kCounted, parameter, count, unit);
}
constexpr Effect reads_ints(unsigned parameter, unsigned count, std::size_t unit = 1) {
  return make_effect(AccessKind::kRead, Measure::kIntCounted, parameter, count, unit);
}
constexpr Effect writes(unsigned parameter, std::size_t size) {
  return make_effect(AccessKind::kWrite, Measure::kFixed, parameter, 0, size);
}
constexpr Effect writes_text(unsigned parameter) {
  return make_effect(AccessKind::kWrite, Measure::kText, parameter, 0, 1);
}
constexpr Effect writes_wide(unsigned parameter) {
  return make_effect(AccessKind::kWrite, Measure::kWideText, parameter, 0, 1);
}
constexpr Effect writes_bytes(unsigned parameter, unsigned count, std::size_t unit = 1) {
  return make_effect(AccessKind::kWrite, Measure::kCounted, parameter, count, unit);
}
constexpr Effect writes_ints(unsigned parameter, unsigned count, std::size_t unit = 1) {
  return make_effect(AccessKind::kWrite, Measure::kIntCounted, parameter, count, unit);
}
// As many as the result says.
constexpr Effect writes_result(unsigned parameter, std::size_t unit = 1) {
  return make_effect(AccessKind::kWrite, Measure::kCounted, parameter, 0, unit);
}
constexpr Effect writes_int_result(unsigned parameter, std::size_t unit) {
  return make_effect(AccessKind::kWrite, Measure::kIntCounted, parameter, 0, unit);
}
// As many bytes as a socklen_t, or a size_t, says that another parameter points to.
constexpr Effect writes_sized(unsigned parameter, unsigned size) {
  return make_effect(AccessKind::kWrite, Measure::kPointedInt, parameter, size, 1);
}
constexpr Effect writes_long_sized(unsigned parameter, unsigned size) {
  return make_effect(AccessKind::kWrite, Measure::kPointedLong, parameter, size, 1);
}
// Written in any case: reported before the call.
constexpr Effect updates(unsigned parameter, std::size_t size) {
  Effect effect = writes(parameter, size);
  effect.moment = Moment::kBefore;
  return effect;
}
constexpr Effect updates_bytes(unsigned parameter, unsigned count, std::size_t unit = 1) {
  Effect effect = writes_bytes(parameter, count, unit);
  effect.moment = Moment::kBefore;
  return effect;
}
constexpr Effect before(void (*ask)(const DescribedCall&)) {
  return {Moment::kBefore, AccessKind::kRead, Measure::kAsked, 0, 0, 0, ask};
}
constexpr Effect after(void (*ask)(const DescribedCall&)) {
  return {Moment::kAfter, AccessKind::kWrite, Measure::kAsked, 0, 0, 0, ask};
}

void report_before(const Description& description, const DescribedCall& call);
void report_after(const Description& description, const DescribedCall& call);

// The text and its terminator; 0 for nullptr.
[[nodiscard]] std::size_t size_of_text(const char* text);
[[nodiscard]] std::size_t size_of_wide_text(const wchar_t* text);
// Nothing for nullptr.
void report_text_read(const char* text, Address code);
void report_text_written(const char* text, Address code);

// The address that stands for the state that libc's drand48() and its relatives share.
[[nodiscard]] const void* drand48_state();

}  // namespace deadheat::runtime

#define DEADHEAT_ROW(name, when, ...)                                                                               \
  namespace deadheat::runtime {                                                                                     \
  namespace {                                                                                                       \
  constexpr Effect effects_of_##name[] = {__VA_ARGS__};                                                             \
  constexpr Description description_of_##name{when, sizeof(effects_of_##name) / sizeof(Effect), effects_of_##name}; \
  }                                                                                                                 \
  }

#define DEADHEAT_DESCRIBE(name, when, ...)                                                                  \
  DEADHEAT_ROW(name, when, __VA_ARGS__)                                                                     \
  DEADHEAT_REPLACE(std::uint64_t, name, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d, \
                   std::uint64_t e, std::uint64_t f) {                                                      \
    using namespace deadheat::runtime;                                                                      \
    DEADHEAT_ORIGINAL(name);                                                                                \
    if (!is_observing_accesses()) return original(a, b, c, d, e, f);                                        \
    const std::uint64_t arguments[] = {a, b, c, d, e, f};                                                   \
    DescribedCall call{arguments, 0, DEADHEAT_CALLER};                                                      \
    report_before(description_of_##name, call);                                                             \
    call.result = original(a, b, c, d, e, f);                                                               \
    report_after(description_of_##name, call);                                                              \
    return call.result;                                                                                     \
  }

#define DEADHEAT_DESCRIBE_LONG(name, when, ...)                                                             \
  DEADHEAT_ROW(name, when, __VA_ARGS__)                                                                     \
  DEADHEAT_REPLACE(std::uint64_t, name, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d, \
                   std::uint64_t e, std::uint64_t f, std::uint64_t g, std::uint64_t h, std::uint64_t i) {   \
    using namespace deadheat::runtime;                                                                      \
    DEADHEAT_ORIGINAL(name);                                                                                \
    const std::uint64_t arguments[] = {a, b, c, d, e, f, g, h, i};                                          \
    DescribedCall call{arguments, 0, DEADHEAT_CALLER};                                                      \
    const bool is_seen = is_observing_accesses();                                                           \
    if (is_seen) report_before(description_of_##name, call);                                                \
    call.result = original(a, b, c, d, e, f, g, h, i);                                                      \
    if (is_seen) report_after(description_of_##name, call);                                                 \
    return call.result;                                                                                     \
  }
