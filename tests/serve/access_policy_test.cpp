// SPDX-License-Identifier: Apache-2.0
#include "serve/access_policy.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace deadheat {
namespace {

constexpr char kToken[] = "0123456789abcdef";

HttpRequest request_of(const std::string& host, std::vector<std::pair<std::string, std::string>> headers = {}) {
  HttpRequest request;
  request.method = "GET";
  request.path = "/";
  request.headers = std::move(headers);
  request.headers.emplace_back("host", host);
  return request;
}

int status_of(const AccessPolicy& policy, const HttpRequest& request) {
  const auto refusal = policy.refuses(request);
  return refusal ? refusal->status : 200;
}

TEST(AccessPolicyTest, NamesThatCanBeReboundAreRefused) {
  const AccessPolicy policy{"", {"build.example"}};
  for (const char* host :
       {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080", "192.0.2.7:80", "Build.Example:9"}) {
    EXPECT_EQ(status_of(policy, request_of(host)), 200) << host;
  }
  for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", ":80", "[::1",
                           "a:b:c", "[::1]x", "127.0.0.1@evil.example"}) {
    EXPECT_EQ(status_of(policy, request_of(host)), 421) << host;
  }
}

TEST(AccessPolicyTest, TokenOpensByHeaderCookieOrAddress) {
  const AccessPolicy policy{kToken, {}};
  EXPECT_EQ(status_of(policy, request_of("localhost")), 401);
  EXPECT_EQ(status_of(policy, request_of("localhost", {{"authorization", std::string("Bearer ") + kToken}})), 200);
  EXPECT_EQ(status_of(policy, request_of("localhost", {{"authorization", kToken}})), 401);
  EXPECT_EQ(status_of(policy, request_of("localhost", {{"authorization", "Bearer 0123456789abcdeF"}})), 401);
  EXPECT_EQ(status_of(policy, request_of("localhost", {{"cookie", std::string("x=1; deadheat_token=") + kToken}})),
            200);
  HttpRequest asked = request_of("localhost");
  EXPECT_EQ(policy.cookie_for(asked), std::nullopt);
  asked.query.emplace_back("token", kToken);
  EXPECT_EQ(status_of(policy, asked), 200);
  EXPECT_EQ(policy.cookie_for(asked), "deadheat_token=0123456789abcdef; HttpOnly; SameSite=Strict; Path=/");
  asked.path = "/api/races";
  EXPECT_EQ(status_of(policy, asked), 401) << "only the page takes it from the address";
}

TEST(AccessPolicyTest, SecretsAreTheSameOnlyIfTheyAre) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abd"));
  EXPECT_FALSE(same_secret("abc", "abcabc"));
  EXPECT_FALSE(same_secret("abcabc", "abc"));
  EXPECT_FALSE(same_secret("abc", ""));
}

TEST(AccessPolicyTest, ChangesFromOtherPagesAreRefused) {
  const std::vector<std::pair<std::string, std::string>> ours = {{"content-type", "application/json"},
                                                                 {"x-deadheat", "1"}};
  const auto with = [&](std::vector<std::pair<std::string, std::string>> more) {
    more.insert(more.end(), ours.begin(), ours.end());
    const auto refusal = AccessPolicy::refuses_change(request_of("localhost:8080", more));
    return refusal ? refusal->status : 200;
  };
  EXPECT_EQ(with({}), 200);
  EXPECT_EQ(with({{"origin", "http://localhost:8080"}, {"sec-fetch-site", "same-origin"}}), 200);
  EXPECT_EQ(with({{"origin", "http://evil.example"}}), 403);
  EXPECT_EQ(with({{"origin", "null"}}), 403);
  EXPECT_EQ(with({{"sec-fetch-site", "cross-site"}}), 403);
  EXPECT_EQ(AccessPolicy::refuses_change(request_of("localhost", {{"content-type", "text/plain"}, {"x-deadheat", "1"}}))
                ->status,
            415);
  EXPECT_EQ(AccessPolicy::refuses_change(request_of("localhost", {{"content-type", "application/json"}}))->status, 403);
}

TEST(AccessPolicyTest, AddressesToListenOn) {
  const auto text_of = [](const char* text) {
    const auto address = parse_listen_address(text);
    if (!address.ok()) return std::string("error");
    const ListenAddress& at = address.value();
    return at.host + " " + std::to_string(at.port) + (at.is_loopback ? " loopback" : "");
  };
  EXPECT_EQ(text_of("8080"), "127.0.0.1 8080 loopback");
  EXPECT_EQ(text_of(":0"), "127.0.0.1 0 loopback");
  EXPECT_EQ(text_of("localhost:80"), "127.0.0.1 80 loopback");
  EXPECT_EQ(text_of("127.5.5.5:80"), "127.5.5.5 80 loopback");
  EXPECT_EQ(text_of("[::1]:80"), "::1 80 loopback");
  EXPECT_EQ(text_of("0.0.0.0:80"), "0.0.0.0 80");
  EXPECT_EQ(text_of("[::]:80"), ":: 80");
  for (const char* bad :
       {"", "a", "localhost", "1.2.3.4", "1.2.3.4:x", "1.2.3.4:70000", "::1:80", "name.example:80", "[::1]"}) {
    EXPECT_EQ(text_of(bad), "error") << bad;
  }
}

}  // namespace
}  // namespace deadheat
