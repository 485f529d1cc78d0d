// SPDX-License-Identifier: Apache-2.0
// HttpServer: many connections in one thread, by poll().
//
// No connection can hold up the others: nothing blocks, what a client does not read waits
// in its own buffer and nothing more is read from it meanwhile, and each step has a time
// limit: a request must be there soon after its first byte, an answer must make progress, an
// idle connection is closed. When all places are taken, the one that was idle longest makes room.
//
// A handler may answer with a stream: the connection stays, and gets each piece of news as a
// server-sent event.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "serve/access_policy.h"
#include "serve/http_request.h"
#include "serve/http_response.h"

namespace deadheat {

class HttpHandler {
 public:
  HttpHandler() = default;
  HttpHandler(const HttpHandler&) = delete;
  HttpHandler& operator=(const HttpHandler&) = delete;
  virtual ~HttpHandler() = default;

  virtual HttpResponse handle(const HttpRequest& request) = 0;
  // One line for everybody with a stream, or nothing. Asked once per tick while there is a stream.
  virtual std::optional<std::string> news() = 0;
};

struct ServerLimits {
  using Duration = std::chrono::milliseconds;
  std::size_t connections = 128;
  std::size_t streams = 64;
  std::size_t unsent_news = std::size_t{64} << 10;  // bytes; a stream that lags more is closed
  Duration request{10'000};                         // from the first byte to the last
  Duration idle{60'000};
  Duration answer{20'000};  // without a byte taken
  Duration lingering{1'000};
  Duration tick{1'000};
  Duration heartbeat{15'000};
};

class HttpServer {
 public:
  // Listens from now on. Errors: kIo.
  static Result<std::unique_ptr<HttpServer>> open(const ListenAddress& address, const ServerLimits& limits = {});

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  // The one that the system chose, if 0 was asked for.
  [[nodiscard]] std::uint16_t port() const;

  // Until something can be read from `stop`; then answers that have begun get a second to be sent. Errors: kIo.
  Status run(HttpHandler& handler, int stop);

 private:
  struct Loop;
  HttpServer(int listener, std::uint16_t port, const ServerLimits& limits);

  int listener_;
  std::uint16_t port_;
  ServerLimits limits_;
};

}  // namespace deadheat
