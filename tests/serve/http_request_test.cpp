// SPDX-License-Identifier: Apache-2.0
#include "serve/http_request.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace deadheat {
namespace {

int refused(std::string bytes) {
  const auto taken = take_request(bytes);
  const auto* refusal = std::get_if<HttpRefusal>(&taken);
  return refusal == nullptr ? 0 : refusal->status;
}

std::string request_with(const std::string& headers, const std::string& line = "GET / HTTP/1.1") {
  return line + "\r\nHost: localhost\r\n" + headers + "\r\n";
}

TEST(HttpRequestTest, AllPartsAreUnderstood) {
  std::string bytes =
      "POST /api/races/a%20b?state=open&text=x+%26y&flag HTTP/1.1\r\nHost: localhost:80\r\nX-One:  two \r\n"
      "Cookie: a=1; deadheat_token=s3cret\r\nContent-Length: 4\r\n\r\nbodyGET";
  const auto taken = take_request(bytes);
  ASSERT_TRUE(std::holds_alternative<HttpRequest>(taken));
  const auto& request = std::get<HttpRequest>(taken);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/api/races/a b");
  EXPECT_EQ(request.parameter("text"), "x &y");
  EXPECT_EQ(request.parameter("flag"), "");
  EXPECT_EQ(request.parameter("none"), std::nullopt);
  EXPECT_EQ(request.header("x-one"), "two");
  EXPECT_EQ(request.cookie("deadheat_token"), "s3cret");
  EXPECT_EQ(request.body, "body");
  EXPECT_TRUE(request.keeps_alive);
  EXPECT_EQ(bytes, "GET");
}

TEST(HttpRequestTest, PartsOfARequestAreWaitedFor) {
  const std::string whole = request_with("Content-Length: 3\r\n") + "abc";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::string part = whole.substr(0, length);
    EXPECT_TRUE(std::holds_alternative<NeedsMore>(take_request(part))) << length;
    EXPECT_EQ(part.size(), length);
  }
}

TEST(HttpRequestTest, WhatCouldBeReadInTwoWaysIsRefused) {
  EXPECT_EQ(refused(request_with("")), 0);
  EXPECT_EQ(refused("GET / HTTP/1.1\r\n\r\n"), 400) << "no Host";
  EXPECT_EQ(refused(request_with("Host: other\r\n")), 400) << "two Hosts";
  EXPECT_EQ(refused(request_with("Content-Length: 1\r\nContent-Length: 1\r\n")), 400);
  EXPECT_EQ(refused(request_with("Content-Length: +1\r\n")), 400);
  EXPECT_EQ(refused(request_with("Content-Length: 0x1\r\n")), 400);
  EXPECT_EQ(refused(request_with("Content-Length: -1\r\n")), 400);
  EXPECT_EQ(refused(request_with("Transfer-Encoding: chunked\r\n")), 501);
  EXPECT_EQ(refused(request_with("Expect: 100-continue\r\n")), 417);
  EXPECT_EQ(refused(request_with("X : 1\r\n")), 400) << "a space before the colon";
  EXPECT_EQ(refused(request_with("X: 1\r\n folded\r\n")), 400);
  EXPECT_EQ(refused(request_with("X: 1\nY: 2\r\n")), 400) << "a bare line feed";
  EXPECT_EQ(refused(request_with(std::string("X: a\0b\r\n", 8))), 400);
  EXPECT_EQ(refused(request_with("", "GET  / HTTP/1.1")), 400);
  EXPECT_EQ(refused(request_with("", "GET http://x/ HTTP/1.1")), 400);
  EXPECT_EQ(refused(request_with("", "GET /%zz HTTP/1.1")), 400);
  EXPECT_EQ(refused(request_with("", "GET /%00 HTTP/1.1")), 400);
  EXPECT_EQ(refused(request_with("", "GET /\xff HTTP/1.1")), 400);
  EXPECT_EQ(refused(request_with("", "G(T / HTTP/1.1")), 400);
  EXPECT_EQ(refused(request_with("", "GET / HTTP/2.0")), 505);
  EXPECT_EQ(refused(request_with("", "GET /")), 400);
}

TEST(HttpRequestTest, SizesAreBounded) {
  EXPECT_EQ(refused(std::string(kLongestHead + 10, 'a')), 431) << "without an end in sight";
  EXPECT_EQ(refused(request_with("X: " + std::string(kLongestHead, 'a') + "\r\n")), 431);
  EXPECT_EQ(refused(request_with("", "GET /" + std::string(kLongestTarget, 'a') + " HTTP/1.1")), 414);
  EXPECT_EQ(refused(request_with("Content-Length: 65537\r\n")), 413);
  EXPECT_EQ(refused(request_with("Content-Length: 99999999999999999999\r\n")), 413);
  std::string many;
  for (std::size_t index = 0; index < kMostHeaders; ++index) many += "X: 1\r\n";
  EXPECT_EQ(refused(request_with(many)), 431);
}

TEST(HttpRequestTest, ConnectionIsKeptUnlessSomebodyClosesIt) {
  std::string one = request_with("Connection: Close\r\n");
  EXPECT_FALSE(std::get<HttpRequest>(take_request(one)).keeps_alive);
  std::string two = request_with("", "GET / HTTP/1.0");
  EXPECT_FALSE(std::get<HttpRequest>(take_request(two)).keeps_alive);
}

}  // namespace
}  // namespace deadheat
