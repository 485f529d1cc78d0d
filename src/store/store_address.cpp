// SPDX-License-Identifier: Apache-2.0
#include "store/store_address.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace deadheat {

namespace {

constexpr char kHidden[] = "postgresql://...";

// The keywords that a text of libpq's words can begin with.
constexpr auto kKeywords = std::to_array<std::string_view>(
    {"host", "hostaddr", "port", "dbname", "user", "password", "service", "sslmode", "passfile", "connect_timeout",
     "application_name", "options", "sslpassword", "target_session_attrs"});

bool is_secret(std::string_view key) { return key == "password" || key == "sslpassword"; }

bool is_url(std::string_view place) { return place.starts_with("postgresql://") || place.starts_with("postgres://"); }

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool is_keyword_text(std::string_view place) {
  const std::size_t sign = place.find('=');
  if (sign == std::string_view::npos) return false;
  return std::find(kKeywords.begin(), kKeywords.end(), trimmed(place.substr(0, sign))) != kKeywords.end();
}

int digit_of(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

// "%40" is "@".
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_coded =
        text[at] == '%' && at + 2 < text.size() && digit_of(text[at + 1]) >= 0 && digit_of(text[at + 2]) >= 0;
    out += is_coded ? static_cast<char>(16 * digit_of(text[at + 1]) + digit_of(text[at + 2])) : text[at];
    if (is_coded) at += 2;
  }
  return out;
}

// An address taken apart: what may be shown, and what may not.
struct Parts {
  std::string shown;
  std::vector<std::string> secrets;
  bool is_odd = false;
};

void take_parameters(std::string_view query, Parts& parts) {
  char sign = '?';
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = pair.find('=');
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    if (is_secret(decoded(pair.substr(0, equals)))) {
      parts.secrets.emplace_back(value);
    } else {
      parts.shown += sign;
      parts.shown += pair;
      sign = '&';
    }
  }
}

Parts parts_of_url(std::string_view place) {
  Parts parts;
  const std::size_t begin = place.find("://") + 3;
  std::string_view rest = place.substr(begin);
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  const std::size_t at = authority.find('@');
  // One '@', in front of the server: everything else is a password that was not written as an address wants it.
  const auto signs = std::count(place.begin(), place.end(), '@');
  if (signs > 1 || (signs == 1 && at == std::string_view::npos)) {
    const std::size_t last = place.rfind('@');
    parts.is_odd = true;
    parts.shown = kHidden;
    parts.secrets.emplace_back(place.substr(begin, last - begin));
    return parts;
  }
  parts.shown = place.substr(0, begin);
  if (at != std::string_view::npos) {
    const std::string_view user = authority.substr(0, at);
    const std::size_t colon = user.find(':');
    parts.shown += user.substr(0, colon);
    parts.shown += '@';
    if (colon != std::string_view::npos) parts.secrets.emplace_back(user.substr(colon + 1));
  }
  const std::string_view server = at == std::string_view::npos ? authority : authority.substr(at + 1);
  parts.shown += server;
  rest.remove_prefix(end);
  const std::size_t query = std::min(rest.find('?'), rest.size());
  parts.shown += rest.substr(0, query);
  if (query < rest.size()) take_parameters(rest.substr(query + 1), parts);
  return parts;
}

// The next value of libpq's words: up to a blank, or in single quotes; a backslash protects a character.
// Nothing: a quote has no end.
std::optional<std::string> take_value(std::string_view& text) {
  std::string value;
  const bool is_quoted = text.starts_with('\'');
  if (is_quoted) text.remove_prefix(1);
  while (!text.empty()) {
    const char letter = text.front();
    if (is_quoted ? letter == '\'' : letter == ' ' || letter == '\t' || letter == '\n') break;
    if (letter == '\\' && text.size() > 1) text.remove_prefix(1);
    value += text.front();
    text.remove_prefix(1);
  }
  if (!is_quoted) return value;
  if (text.empty()) return std::nullopt;
  text.remove_prefix(1);
  return value;
}

Parts parts_of_keywords(std::string_view place) {
  Parts parts;
  std::string_view text = trimmed(place);
  while (!text.empty()) {
    const std::size_t sign = text.find('=');
    const std::string_view key = trimmed(text.substr(0, sign));
    if (sign == std::string_view::npos || key.find(' ') != std::string_view::npos) return {kHidden, {}, true};
    text = trimmed(text.substr(sign + 1));
    const std::string_view before = text;
    const auto value = take_value(text);
    if (!value) return {kHidden, {}, true};
    const std::string_view written = before.substr(0, before.size() - text.size());
    if (is_secret(key)) {
      parts.secrets.push_back(*value);
      parts.secrets.emplace_back(written);
    } else {
      if (!parts.shown.empty()) parts.shown += ' ';
      parts.shown.append(key).append("=").append(written);
    }
    text = trimmed(text);
  }
  return parts;
}

Parts parts_of(std::string_view place) {
  if (is_url(place)) return parts_of_url(place);
  if (is_keyword_text(place)) return parts_of_keywords(place);
  return {std::string(place), {}, false};
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; !what.empty() && (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

}  // namespace

bool is_postgres_url(std::string_view place) { return is_url(place) || is_keyword_text(place); }

std::string public_address(std::string_view place) { return parts_of(place).shown; }

std::string without_secrets(std::string text, std::string_view place) {
  const Parts parts = parts_of(place);
  if (parts.secrets.empty() && !parts.is_odd) return text;
  replace_all(text, place, parts.shown);
  for (const std::string& secret : parts.secrets) {
    for (const std::string& form : {secret, decoded(secret)}) replace_all(text, form, "***");
  }
  return text;
}

Status check_address(std::string_view place) {
  if (!is_postgres_url(place) || !parts_of(place).is_odd) return {};
  return Error{ErrorCode::kInvalid,
               is_url(place)
                   ? "the address of the store has an '@' that ends no name of a user: in a name or a password "
                     "write '@' as %40, '/' as %2F, '?' as %3F"
                   : "the address of the store has a quote without end, or a word without '='"};
}

}  // namespace deadheat
