// SPDX-License-Identifier: Apache-2.0
// AccessPolicy: who may ask at all.
//
// *Host.* A page of somebody else can let its own name resolve to 127.0.0.1 (DNS rebinding);
// the browser then takes our answers for that page's own. So the name that the browser
// believes it talks to must be one that cannot be rebound: an address, "localhost", or a
// name that the user gave.
// *Token.* Anybody who can reach the port can ask. On loopback these are the users of this
// machine; elsewhere a token is needed: "Authorization: Bearer TOKEN", or a cookie, which the page
// gets when it is opened with "?token=TOKEN".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serve/http_request.h"
#include "serve/http_response.h"

namespace deadheat {

struct ListenAddress {
  std::string host;  // without brackets; an address
  std::uint16_t port = 0;
  bool is_loopback = false;
};
// "127.0.0.1:8080", "[::1]:8080", "localhost:0", ":8080" (loopback), "8080". Errors: kInvalid.
[[nodiscard]] Result<ListenAddress> parse_listen_address(std::string_view text);

inline constexpr std::size_t kShortestToken = 16;
inline constexpr std::string_view kTokenCookie = "deadheat_token";

struct AccessPolicy {
  std::string token;                    // empty: none is needed
  std::vector<std::string> host_names;  // of ours, beside addresses and "localhost"

  // An answer that says no, or nothing: go on.
  [[nodiscard]] std::optional<HttpResponse> refuses(const HttpRequest& request) const;
  // For requests that change something: whether it comes from our page and not from another
  // one that the user has open. An answer that says no, or nothing.
  [[nodiscard]] static std::optional<HttpResponse> refuses_change(const HttpRequest& request);
  // The cookie to send with the page; nothing unless the request brought the token in its query.
  [[nodiscard]] std::optional<std::string> cookie_for(const HttpRequest& request) const;
};

// In a time that depends on the lengths only.
[[nodiscard]] bool same_secret(std::string_view one, std::string_view other);

}  // namespace deadheat
