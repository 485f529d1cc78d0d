// SPDX-License-Identifier: Apache-2.0
// Any bytes as HTTP requests. They must be understood the same whether they come at once or
// byte by byte, and whatever is understood must go through the checks of who may ask.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "serve/access_policy.h"
#include "serve/http_request.h"

using namespace deadheat;

namespace {

struct Understood {
  std::vector<HttpRequest> requests;
  int refused = 0;  // status
};

Understood read(const std::string& input, std::size_t piece) {
  Understood result;
  std::string buffer;
  for (std::size_t at = 0; at < input.size() && result.refused == 0; at += piece) {
    buffer.append(input, at, piece);
    while (result.refused == 0) {
      auto taken = take_request(buffer);
      if (std::holds_alternative<NeedsMore>(taken)) break;
      if (const auto* refusal = std::get_if<HttpRefusal>(&taken)) {
        result.refused = refusal->status;
      } else {
        result.requests.push_back(std::move(std::get<HttpRequest>(taken)));
      }
    }
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 8192) return 0;  // byte by byte is quadratic
  const std::string input(reinterpret_cast<const char*>(data), size);
  const Understood whole = read(input, input.size() + 1);
  const Understood pieces = read(input, 1 + size / 512);
  DEADHEAT_CHECK(whole.requests.size() == pieces.requests.size() && whole.refused == pieces.refused);
  const AccessPolicy policy{"0123456789abcdef", {"build.example"}};
  for (std::size_t index = 0; index < whole.requests.size(); ++index) {
    const HttpRequest& request = whole.requests[index];
    DEADHEAT_CHECK(request.path == pieces.requests[index].path && request.body == pieces.requests[index].body);
    DEADHEAT_CHECK(request.path.starts_with('/') && request.headers.size() <= kMostHeaders);
    DEADHEAT_CHECK(request.body.size() <= kLongestBody);
    const bool may_ask = !policy.refuses(request);
    DEADHEAT_CHECK(!may_ask || input.find("0123456789abcdef") != std::string::npos ||
                   input.find('%') != std::string::npos);
    (void)AccessPolicy::refuses_change(request);
  }
  (void)parse_listen_address(input);
  return 0;
}
