// SPDX-License-Identifier: Apache-2.0
#include "trace/text_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace deadheat::text {

namespace {

constexpr std::string_view kBlanks = " \t\v\f\r";

bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_printable_ascii(char c) { return c > ' ' && c <= '~'; }

// One past the end of the word that starts at `begin`, or npos if a quote stays open.
std::size_t word_end(std::string_view text, std::size_t begin) {
  bool quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && is_blank(text[i])) {
      return i;
    }
  }
  return quoted ? std::string_view::npos : text.size();
}

// What follows @: up to a comment, without the blanks around it.
std::string_view trim_site(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '#' && is_blank(text[i - 1])) text = text.substr(0, i);
  }
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Edits (insert, delete, replace, swap neighbours) between two short words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> cost((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return cost[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.size(), b.size());
}

std::optional<unsigned> hex_digit(char c) {
  if (is_digit(c)) return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return std::nullopt;
}

}  // namespace

Result<Line> split_line(std::string_view text) {
  Line line;
  std::size_t position = 0;
  for (;;) {
    while (position < text.size() && is_blank(text[position])) ++position;
    if (position == text.size() || text[position] == '#') return line;
    if (text[position] == '@') {
      line.site = trim_site(text.substr(position + 1));
      return line;
    }
    const std::size_t end = word_end(text, position);
    if (end == std::string_view::npos) return Error{ErrorCode::kMalformed, "a quote has no end"};
    if (line.count == Line::kMostWords) {
      return Error{ErrorCode::kMalformed, fmt::format("more than {} words", Line::kMostWords)};
    }
    line.words[line.count++] = text.substr(position, end - position);
    position = end;
  }
}

std::optional<std::uint64_t> parse_number(std::string_view word) {
  int base = 10;
  if (word.starts_with("0x")) {
    word.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

Result<std::string> unquote(std::string_view word) {
  std::string text;
  bool quoted = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '"') {
      quoted = !quoted;
      continue;
    }
    if (!quoted || word[i] != '\\') {
      text += word[i];
      continue;
    }
    const char escape = ++i < word.size() ? word[i] : '\0';
    if (escape == '"' || escape == '\\') {
      text += escape;
    } else if (escape == 'x' && i + 2 < word.size() && hex_digit(word[i + 1]) && hex_digit(word[i + 2])) {
      text += static_cast<char>(*hex_digit(word[i + 1]) * 16 + *hex_digit(word[i + 2]));
      i += 2;
    } else {
      return Error{ErrorCode::kMalformed,
                   fmt::format("{}: a backslash in quotes stands before \", \\ or x and two hexadecimal digits", word)};
    }
  }
  return text;
}

std::string quote_if_needed(std::string_view text) {
  if (is_plain_name(text)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == ' ' || is_printable_ascii(c)) {
      quoted += c;
    } else {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return quoted + '"';
}

bool is_plain_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestPlainName || !(is_letter(text[0]) || text[0] == '_')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_printable_ascii(c) && std::string_view("+=@#\"\\").find(c) == std::string_view::npos;
  });
}

std::optional<std::uint64_t> parse_numbered_thread(std::string_view word) {
  if (word.size() < 2 || word[0] != 'T' || !is_digit(word[1])) return std::nullopt;
  return parse_number(word.substr(1));
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestGuess = 24;
  if (word.size() > kLongestGuess) return {};
  std::size_t best = std::min<std::size_t>(3, word.size() / 2 + 1);
  std::string_view closest;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kLongestGuess) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      closest = candidate;
    }
  }
  return closest.empty() ? std::string{} : fmt::format(" (did you mean '{}'?)", closest);
}

}  // namespace deadheat::text
