// SPDX-License-Identifier: Apache-2.0
#include "serve/http_request.h"

#include <algorithm>
#include <charconv>

namespace deadheat {

namespace {

bool is_token_character(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_token_character); }

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string in_small_letters(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), small);
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char letter = small(c);
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

using Refused = std::optional<HttpRefusal>;

Refused read_target(std::string_view target, HttpRequest& request) {
  if (target.size() > kLongestTarget) return HttpRefusal{414, "the address is too long"};
  const auto is_odd = [](char c) { return c < 0x21 || c > 0x7E; };
  if (target.empty() || target.front() != '/' || std::ranges::any_of(target, is_odd)) {
    return HttpRefusal{400, "the address is malformed"};
  }
  const std::size_t mark = std::min(target.find('?'), target.size());
  auto path = percent_decoded(target.substr(0, mark), false);
  if (!path) return HttpRefusal{400, "the address is malformed"};
  request.path = std::move(*path);
  std::string_view query = target.substr(std::min(mark + 1, target.size()));
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (part.empty()) continue;
    const std::size_t equals = std::min(part.find('='), part.size());
    auto name = percent_decoded(part.substr(0, equals), true);
    auto value = percent_decoded(part.substr(std::min(equals + 1, part.size())), true);
    if (!name || !value) return HttpRefusal{400, "the query is malformed"};
    request.query.emplace_back(std::move(*name), std::move(*value));
  }
  return std::nullopt;
}

Refused read_request_line(std::string_view line, HttpRequest& request) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return HttpRefusal{400, "the request line is malformed"};
  const std::string_view method = line.substr(0, first);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(method) || method.size() > 16) return HttpRefusal{400, "the method is malformed"};
  if (!version.starts_with("HTTP/")) return HttpRefusal{400, "the request line is malformed"};
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return HttpRefusal{505, "HTTP/1.1, please"};
  request.method = method;
  request.keeps_alive = version == "HTTP/1.1";
  return read_target(line.substr(first + 1, last - first - 1), request);
}

Refused read_header(std::string_view line, HttpRequest& request) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return HttpRefusal{400, "a header is malformed"};
  }
  const std::string_view value = trimmed(line.substr(colon + 1));
  const auto is_odd = [](char c) { return is_control(c) && c != '\t'; };
  if (std::ranges::any_of(value, is_odd)) return HttpRefusal{400, "a header has control characters"};
  if (request.headers.size() == kMostHeaders) return HttpRefusal{431, "there are too many headers"};
  request.headers.emplace_back(in_small_letters(line.substr(0, colon)), value);
  return std::nullopt;
}

std::size_t count_of(const HttpRequest& request, std::string_view name) {
  return static_cast<std::size_t>(
      std::ranges::count_if(request.headers, [name](const auto& header) { return header.first == name; }));
}

// How long the body is.
Refused read_length(const HttpRequest& request, std::size_t& length) {
  if (count_of(request, "transfer-encoding") != 0) return HttpRefusal{501, "bodies come whole, with Content-Length"};
  if (count_of(request, "expect") != 0) return HttpRefusal{417, "nothing is expected"};
  if (count_of(request, "content-length") > 1) return HttpRefusal{400, "Content-Length is given twice"};
  const auto text = request.header("content-length");
  if (!text) return std::nullopt;
  const bool is_number =
      !text->empty() && text->size() <= 9 && std::ranges::all_of(*text, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) return HttpRefusal{text->size() > 9 ? 413 : 400, "Content-Length is malformed"};
  std::from_chars(text->data(), text->data() + text->size(), length);
  if (length > kLongestBody) return HttpRefusal{413, "the body is too long"};
  return std::nullopt;
}

void read_connection(HttpRequest& request) {
  const auto connection = request.header("connection");
  if (!connection) return;
  const std::string words = in_small_letters(*connection);
  if (words.find("close") != std::string::npos) request.keeps_alive = false;
}

Refused read_head(std::string_view head, HttpRequest& request) {
  bool is_first = true;
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (line.find('\n') != std::string_view::npos || line.find('\r') != std::string_view::npos) {
      return HttpRefusal{400, "lines end with CR and LF"};
    }
    if (auto refused = is_first ? read_request_line(line, request) : read_header(line, request)) return refused;
    is_first = false;
  }
  if (count_of(request, "host") != 1) return HttpRefusal{400, "one Host is needed"};
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  const auto found =
      std::ranges::find(headers, name, [](const auto& header) { return std::string_view(header.first); });
  return found == headers.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

std::optional<std::string_view> HttpRequest::parameter(std::string_view name) const {
  const auto found = std::ranges::find(query, name, [](const auto& part) { return std::string_view(part.first); });
  return found == query.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

std::optional<std::string_view> HttpRequest::cookie(std::string_view name) const {
  for (const auto& [header_name, value] : headers) {
    if (header_name != "cookie") continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::string_view part = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
      const std::string_view pair = trimmed(part);
      const std::size_t equals = pair.find('=');
      if (equals != std::string_view::npos && pair.substr(0, equals) == name) return pair.substr(equals + 1);
    }
  }
  return std::nullopt;
}

std::optional<std::string> percent_decoded(std::string_view text, bool is_query) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '+' && is_query) c = ' ';
    if (c == '%') {
      if (at + 2 >= text.size()) return std::nullopt;
      const int high = digit_of(text[at + 1]);
      const int low = digit_of(text[at + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      at += 2;
    }
    if (is_control(c)) return std::nullopt;
    out += c;
  }
  return out;
}

std::variant<NeedsMore, HttpRequest, HttpRefusal> take_request(std::string& bytes) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string::npos || end > kLongestHead) {
    if (bytes.size() > kLongestHead + 3) return HttpRefusal{431, "the request is too long"};
    return NeedsMore{};
  }
  HttpRequest request;
  if (auto refused = read_head(std::string_view(bytes).substr(0, end + 2), request)) return std::move(*refused);
  std::size_t length = 0;
  if (auto refused = read_length(request, length)) return std::move(*refused);
  const std::size_t begin = end + 4;
  if (bytes.size() < begin + length) return NeedsMore{};
  request.body = bytes.substr(begin, length);
  bytes.erase(0, begin + length);
  read_connection(request);
  return request;
}

}  // namespace deadheat
