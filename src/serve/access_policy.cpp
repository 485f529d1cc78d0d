// SPDX-License-Identifier: Apache-2.0
#include "serve/access_policy.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>

namespace deadheat {

namespace {

bool is_address(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  return inet_pton(AF_INET, host.c_str(), &four) == 1 || inet_pton(AF_INET6, host.c_str(), &six) == 1;
}

bool is_loopback(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  return inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

struct HostAndPort {
  std::string host;
  std::string port;  // may be empty
};

std::optional<HostAndPort> split(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && !rest.starts_with(':')) return std::nullopt;
    return HostAndPort{std::string(text.substr(1, end - 1)), std::string(rest.empty() ? rest : rest.substr(1))};
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return HostAndPort{std::string(text), ""};
  if (text.find(':') != colon) return std::nullopt;
  return HostAndPort{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

std::string small_letters(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const auto bad = [text] {
    return Error{ErrorCode::kInvalid,
                 fmt::format("'{}' is no address to listen on: write ADDRESS:PORT, as in 127.0.0.1:8080", text)};
  };
  const bool is_port_only = !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const auto parts = split(is_port_only ? fmt::format(":{}", text) : std::string(text));
  if (!parts || parts->port.empty()) return bad();
  ListenAddress address;
  const char* end = parts->port.data() + parts->port.size();
  const auto read = std::from_chars(parts->port.data(), end, address.port);
  if (read.ec != std::errc{} || read.ptr != end) return bad();
  address.host = parts->host.empty() || parts->host == "localhost" ? "127.0.0.1" : parts->host;
  if (!is_address(address.host)) return bad();
  address.is_loopback = is_loopback(address.host);
  return address;
}

bool same_secret(std::string_view one, std::string_view other) {
  // The secret is `one`: the loop runs over all of it, whatever the other is.
  volatile unsigned char difference = one.size() == other.size() ? 0 : 1;
  for (std::size_t index = 0; index < one.size(); ++index) {
    const char theirs = other.empty() ? '\0' : other[index % other.size()];
    difference = static_cast<unsigned char>(difference | static_cast<unsigned char>(one[index] ^ theirs));
  }
  return difference == 0;
}

std::optional<HttpResponse> AccessPolicy::refuses(const HttpRequest& request) const {
  const auto host = split(request.header("host").value_or(""));
  const std::string name = host ? small_letters(host->host) : "";
  const bool is_ours = is_address(name) || name == "localhost" ||
                       std::ranges::any_of(host_names, [&](const auto& one) { return small_letters(one) == name; });
  if (!is_ours) {
    return error_response(421, "this server does not answer to that name; 'deadheat serve --host NAME' makes it");
  }
  if (token.empty()) return std::nullopt;
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view authorization = request.header("authorization").value_or("");
  const bool has_token =
      (authorization.starts_with(kBearer) && same_secret(token, authorization.substr(kBearer.size()))) ||
      same_secret(token, request.cookie(kTokenCookie).value_or("")) ||
      (request.path == "/" && same_secret(token, request.parameter("token").value_or("")));
  if (has_token) return std::nullopt;
  HttpResponse refusal = error_response(401, "a token is needed: open /?token=TOKEN once");
  refusal.headers.emplace_back("WWW-Authenticate", "Bearer");
  return refusal;
}

std::optional<HttpResponse> AccessPolicy::refuses_change(const HttpRequest& request) {
  // A form of another page can set neither of these two without asking us first, which we never allow.
  if (!request.header("content-type").value_or("").starts_with("application/json")) {
    return error_response(415, "send application/json");
  }
  if (request.header("x-deadheat").value_or("") != "1")
    return error_response(403, "the header 'X-Deadheat: 1' is missing");
  const std::string_view host = request.header("host").value_or("");
  if (const auto origin = request.header("origin")) {
    const bool is_same = *origin == fmt::format("http://{}", host) || *origin == fmt::format("https://{}", host);
    if (!is_same) return error_response(403, "this comes from another page");
  }
  const std::string_view site = request.header("sec-fetch-site").value_or("same-origin");
  if (site != "same-origin" && site != "none") return error_response(403, "this comes from another page");
  return std::nullopt;
}

std::optional<std::string> AccessPolicy::cookie_for(const HttpRequest& request) const {
  if (token.empty() || !request.parameter("token")) return std::nullopt;
  return fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/", kTokenCookie, token);
}

}  // namespace deadheat
