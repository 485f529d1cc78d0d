// SPDX-License-Identifier: Apache-2.0
// The words of a line of the text format: splitting, numbers, quoting, and the
// vocabulary of the words that are not event kinds. What the reader and the
// writer must agree on is here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/event.h"

namespace deadheat::text {

inline constexpr std::string_view kOrderWords[kMemoryOrderCount] = {"relaxed", "consume", "acquire",
                                                                    "release", "acq_rel", "seq_cst"};

// A line is its words, separated by blanks, then perhaps `@site` up to the end.
// A `#` at the start of a word begins a comment, also after a site.
struct Line {
  static constexpr std::size_t kMostWords = 10;
  std::array<std::string_view, kMostWords> words;
  std::size_t count = 0;
  std::optional<std::string_view> site;  // without the @ and outer blanks

  [[nodiscard]] std::span<const std::string_view> all() const { return {words.data(), count}; }
};
// A word may contain quoted parts ("a b"), which stay as written. Errors:
// kMalformed (too many words, a quote without its end).
Result<Line> split_line(std::string_view text);

// Decimal, or hexadecimal after 0x. Nothing if it is not exactly one number of
// 64 bits.
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view word);

// A word as the text it stands for: quoted parts are unescaped. Errors:
// kMalformed (unknown escape).
Result<std::string> unquote(std::string_view word);
// The shortest way to write a text such that unquote() gives it back and no part
// of the line's syntax is taken for it: as it is if it is a plain name, else in
// quotes.
[[nodiscard]] std::string quote_if_needed(std::string_view text);

// Whether a name can stand for its number as an operand: a letter or underscore,
// then anything but blanks and the signs that the format uses itself, and not so
// long that an event line could become too long for the reader.
inline constexpr std::size_t kLongestPlainName = 1024;
[[nodiscard]] bool is_plain_name(std::string_view text);
// `T12`: a thread by its number.
[[nodiscard]] std::optional<std::uint64_t> parse_numbered_thread(std::string_view word);

// " (did you mean 'acquire'?)" when one of the candidates is close, else empty.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace deadheat::text
