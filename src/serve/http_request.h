// SPDX-License-Identifier: Apache-2.0
// HttpRequest: HTTP/1.1 requests (RFC 9112) as far as a page and its few calls need them,
// and strictly: whatever two readers could understand in two ways is refused. Lines end
// with CRLF, header names have no space before the colon, lines are not folded, lengths are
// given once and in digits, and no body comes in chunks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace deadheat {

struct HttpRequest {
  std::string method;
  std::string path;                                          // decoded, without the query; begins with '/'
  std::vector<std::pair<std::string, std::string>> query;    // decoded
  std::vector<std::pair<std::string, std::string>> headers;  // names in small letters
  std::string body;
  bool keeps_alive = true;

  // The first of the name, in small letters; nothing if there is none.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
  // Of the header "Cookie".
  [[nodiscard]] std::optional<std::string_view> cookie(std::string_view name) const;
};

// A status to answer with; the connection ends after it.
struct HttpRefusal {
  int status = 400;
  std::string reason;
};

struct NeedsMore {};

inline constexpr std::size_t kLongestHead = std::size_t{16} << 10;
inline constexpr std::size_t kLongestTarget = 4096;
inline constexpr std::size_t kMostHeaders = 64;
inline constexpr std::size_t kLongestBody = std::size_t{64} << 10;

// Takes one whole request from the front of `bytes`, and leaves the rest there.
[[nodiscard]] std::variant<NeedsMore, HttpRequest, HttpRefusal> take_request(std::string& bytes);

// "%41+b" -> "A b" ('+' only in a query). Nothing if an escape is broken or the result has control characters.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text, bool is_query);

}  // namespace deadheat
