// SPDX-License-Identifier: Apache-2.0
#include "runtime/options.h"

#include <cstddef>

#include "runtime/environment.h"
#include "runtime/page_source.h"
#include "runtime/raw_report.h"
#include "runtime/system.h"

extern "C" __attribute__((weak)) const char* __tsan_default_options();

namespace deadheat::runtime {
namespace {

constinit Options the_options;

bool same_text(const char* one, const char* other) {
  while (*one != 0 && *one == *other) {
    ++one;
    ++other;
  }
  return *one == *other;
}

bool parse(bool& target, const char* value) {
  const bool is_yes = same_text(value, "1") || same_text(value, "true") || same_text(value, "yes");
  const bool is_no = same_text(value, "0") || same_text(value, "false") || same_text(value, "no");
  if (is_yes || is_no) target = is_yes;
  return is_yes || is_no;
}

bool parse_digits(const char*& value, std::uint64_t& number) {
  if (*value < '0' || *value > '9') return false;
  for (number = 0; *value >= '0' && *value <= '9'; ++value) {
    if (number > ~std::uint64_t{0} / 10 - 1) return false;
    number = number * 10 + static_cast<std::uint64_t>(*value - '0');
  }
  return true;
}

bool parse(std::int64_t& target, const char* value) {
  const bool is_negative = *value == '-';
  if (is_negative) ++value;
  std::uint64_t number = 0;
  if (!parse_digits(value, number) || *value != 0 || number >> 62 != 0) return false;
  target = is_negative ? -static_cast<std::int64_t>(number) : static_cast<std::int64_t>(number);
  return true;
}

// "4096", "64K", "512M", "2G".
bool parse(std::uint64_t& target, const char* value) {
  std::uint64_t number = 0;
  if (!parse_digits(value, number)) return false;
  int shift = 0;
  if (*value == 'K' || *value == 'k') shift = 10;
  if (*value == 'M' || *value == 'm') shift = 20;
  if (*value == 'G' || *value == 'g') shift = 30;
  if (shift != 0) ++value;
  if (*value != 0 || number > ~std::uint64_t{0} >> (shift + 1)) return false;
  target = number << shift;
  return true;
}

bool parse(const char*& target, const char* value) {
  target = value;
  return true;
}

enum class Outcome : std::uint8_t { kSet, kUnknownName, kBadValue };

Outcome set(Options& target, const char* name, const char* value) {
#define DEADHEAT_OPTION(type, option, default_value, meaning) \
  if (same_text(name, #option)) return parse(target.option, value) ? Outcome::kSet : Outcome::kBadValue;
#include "runtime/options.def"
#undef DEADHEAT_OPTION
  return Outcome::kUnknownName;
}

bool is_separator(char character) {
  return character == ':' || character == ' ' || character == ',' || character == '\n';
}

// Takes the next piece up to one of the given ends off the text, without quotes
// around it, and ends it with 0.
char* take(char*& text, bool (*is_end)(char)) {
  char* begin = text;
  if (*begin == '"' || *begin == '\'') {
    const char quote = *begin++;
    text = begin;
    while (*text != 0 && *text != quote) ++text;
    if (*text != 0) *text++ = 0;
    return begin;
  }
  while (*text != 0 && !is_end(*text)) ++text;
  return begin;
}

// TSan's own names must not be complained about.
enum class Strictness : std::uint8_t { kTell, kSilent };

void apply(Options& target, const char* settings, const char* source, Strictness strictness) {
  std::size_t length = 0;
  while (settings[length] != 0) ++length;
  auto* text = static_cast<char*>(PageSource::allocate(length + 1));  // stays: options point into it
  for (std::size_t at = 0; at <= length; ++at) text[at] = settings[at];
  while (*text != 0) {
    if (is_separator(*text)) {
      ++text;
      continue;
    }
    char* name = take(text, [](char character) { return character == '=' || is_separator(character); });
    if (*text != '=') {
      if (*text != 0) *text++ = 0;
      if (strictness == Strictness::kTell) say("option without a value is ignored: ", name);
      continue;
    }
    *text++ = 0;
    char* value = take(text, is_separator);
    if (*text != 0) *text++ = 0;
    const Outcome outcome = set(target, name, value);
    if (strictness == Strictness::kSilent || outcome == Outcome::kSet) continue;
    say(outcome == Outcome::kBadValue ? "option with a bad value is ignored: " : "unknown option is ignored: ", name);
    say("  it was set in ", source);
  }
}

}  // namespace

const Options& options() { return the_options; }

void apply_settings(Options& target, const char* settings, const char* source) {
  apply(target, settings, source, Strictness::kTell);
}

void read_options() {
  if (__tsan_default_options != nullptr) {
    if (const char* settings = __tsan_default_options()) apply(the_options, settings, "", Strictness::kSilent);
  }
  if (const char* settings = environment("TSAN_OPTIONS")) apply(the_options, settings, "", Strictness::kSilent);
  if (const char* settings = environment(raw_report::kOptionsVariable)) {
    apply_settings(the_options, settings, raw_report::kOptionsVariable);
  }
}

}  // namespace deadheat::runtime
