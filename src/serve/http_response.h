// SPDX-License-Identifier: Apache-2.0
// HttpResponse: what is answered, and how it looks on the wire.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deadheat {

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  // The answer does not end: news follow, one "data:" event each.
  bool is_stream = false;
};

enum class AfterResponse { kKeepAlive, kClose };
enum class WithBody { kYes, kNo };  // No: of HEAD

// With the headers that keep a browser from doing anything with it but show it: no other
// origin's scripts, no frames, no guessing of types, no copy in a cache.
[[nodiscard]] std::string wire_format(const HttpResponse& response, AfterResponse after, WithBody body);

// {"error": "..."}
[[nodiscard]] HttpResponse error_response(int status, std::string_view message);

}  // namespace deadheat
