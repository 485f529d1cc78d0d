// SPDX-License-Identifier: Apache-2.0
#include "runtime/intercept/described.h"

namespace deadheat::runtime {
namespace {

bool has_succeeded(Success success, std::uint64_t result) {
  const auto number = static_cast<std::int32_t>(result);
  switch (success) {
    case Success::kAlways:
      return true;
    case Success::kZero:
      return number == 0;
    case Success::kOne:
      return number == 1;
    case Success::kNotNegative:
      return number >= 0;
    case Success::kCount:
      return static_cast<std::int64_t>(result) >= 0;
    case Success::kNotNull:
      return result != 0;
  }
  return false;
}

// The number that the 32 or 64 bits behind a pointer hold.
template <class Number>
std::size_t number_at(const DescribedCall& call, unsigned parameter) {
  const auto* const place = call.pointer<const Number>(parameter);
  return place != nullptr ? static_cast<std::size_t>(*place) : 0;
}

std::size_t size_of(const Effect& effect, const DescribedCall& call) {
  switch (effect.measure) {
    case Measure::kFixed:
      return effect.unit;
    case Measure::kText:
      return size_of_text(call.pointer<const char>(effect.parameter));
    case Measure::kWideText:
      return size_of_wide_text(call.pointer<const wchar_t>(effect.parameter));
    case Measure::kCounted:
      return call.value(effect.count) * effect.unit;
    case Measure::kIntCounted: {
      const int count = call.integer(effect.count);
      return count > 0 ? static_cast<std::size_t>(count) * effect.unit : 0;
    }
    case Measure::kPointedInt:
      return number_at<std::uint32_t>(call, effect.count);
    case Measure::kPointedLong:
      return number_at<std::uint64_t>(call, effect.count);
    case Measure::kAsked:
      break;
  }
  return 0;
}

void report(const Effect& effect, const DescribedCall& call) {
  if (effect.measure == Measure::kAsked) return effect.ask(call);
  const auto* const begin = call.pointer<const void>(effect.parameter);
  if (begin == nullptr) return;
  const std::size_t size = size_of(effect, call);
  if (size == 0) return;
  effect.kind == AccessKind::kRead ? on_read(begin, size, call.code) : on_write(begin, size, call.code);
}

void report(Moment moment, const Description& description, const DescribedCall& call) {
  const KeepErrno keep;
  for (unsigned at = 0; at < description.count; ++at) {
    if (description.effects[at].moment == moment) report(description.effects[at], call);
  }
}

}  // namespace

void report_before(const Description& description, const DescribedCall& call) {
  report(Moment::kBefore, description, call);
}

void report_after(const Description& description, const DescribedCall& call) {
  if (has_succeeded(description.success, call.result) && is_observing_accesses()) {
    report(Moment::kAfter, description, call);
  }
}

std::size_t size_of_text(const char* text) {
  static constinit RealFunction<std::size_t(const char*)> original;
  return text != nullptr ? original.get("strlen")(text) + 1 : 0;
}

std::size_t size_of_wide_text(const wchar_t* text) {
  static constinit RealFunction<std::size_t(const wchar_t*)> original;
  return text != nullptr ? (original.get("wcslen")(text) + 1) * sizeof(wchar_t) : 0;
}

void report_text_read(const char* text, Address code) {
  if (text != nullptr) on_read(text, size_of_text(text), code);
}

void report_text_written(const char* text, Address code) {
  if (text != nullptr) on_write(text, size_of_text(text), code);
}

}  // namespace deadheat::runtime
