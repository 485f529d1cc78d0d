// SPDX-License-Identifier: Apache-2.0
// HttpConnection: one client, from accept() to close(). For http_server.cpp and its tests.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "serve/http_server.h"

namespace deadheat {

class HttpConnection {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class State : std::uint8_t {
    kReading,    // waits for a request, or for the rest of one
    kAnswering,  // has unsent bytes
    kStreaming,  // gets news
    kLingering,  // all is sent: waits for the client to close, so that it can read all
    kDone,
  };

  // Owns the descriptor, which must not block.
  HttpConnection(int descriptor, Time now, const ServerLimits& limits);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_stream() const { return state_ == State::kStreaming; }
  [[nodiscard]] bool is_done() const { return state_ == State::kDone; }
  // Between two requests.
  [[nodiscard]] bool is_idle() const { return state_ == State::kReading && in_.empty(); }
  // For poll().
  [[nodiscard]] short events() const;
  // When the time for its present step is over. Streams have none.
  [[nodiscard]] Time deadline() const { return deadline_; }

  // What poll() says. The handler is asked for every request that is complete. `may_stream`: whether
  // one more stream is welcome.
  void on_events(short events, Time now, HttpHandler& handler, bool may_stream);
  // The deadline has passed.
  void on_deadline(Time now);
  // To a stream.
  void send_news(std::string_view event, Time now);
  void finish() { state_ = State::kDone; }

 private:
  void receive(Time now);
  void transmit(Time now);
  void answer_requests(Time now, HttpHandler& handler, bool may_stream);
  void answer(const HttpRequest& request, HttpHandler& handler, bool may_stream);
  void after_sending(Time now);

  int descriptor_;
  const ServerLimits& limits_;
  State state_ = State::kReading;
  bool closes_ = false;     // after what is unsent
  bool streams_ = false;    // after what is unsent
  bool has_ended_ = false;  // the client sends no more
  std::string in_;
  std::string out_;
  std::size_t sent_ = 0;       // of out_
  std::size_t discarded_ = 0;  // while lingering
  Time deadline_;
};

}  // namespace deadheat
