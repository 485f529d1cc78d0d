// SPDX-License-Identifier: Apache-2.0
#include "serve/http_connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>
#include <variant>

namespace deadheat {

namespace {

constexpr std::size_t kPiece = std::size_t{16} << 10;
constexpr std::size_t kMostDiscarded = std::size_t{1} << 20;

}  // namespace

HttpConnection::HttpConnection(int descriptor, Time now, const ServerLimits& limits)
    : descriptor_(descriptor), limits_(limits), deadline_(now + limits.request) {}

HttpConnection::~HttpConnection() { ::close(descriptor_); }

short HttpConnection::events() const {
  switch (state_) {
    case State::kReading:
    case State::kLingering:
      return POLLIN;
    case State::kAnswering:
      return POLLOUT;
    case State::kStreaming:
      // Input only tells that the client has gone.
      return static_cast<short>(out_.size() > sent_ ? POLLIN | POLLOUT : POLLIN);
    case State::kDone:
      break;
  }
  return 0;
}

void HttpConnection::on_events(short events, Time now, HttpHandler& handler, bool may_stream) {
  if ((events & (POLLERR | POLLNVAL)) != 0) return finish();
  if ((events & (POLLIN | POLLHUP)) != 0 && state_ != State::kAnswering) receive(now);
  if ((events & POLLHUP) != 0 && state_ == State::kAnswering) return finish();
  if ((events & POLLOUT) != 0 && state_ != State::kDone) transmit(now);
  if (state_ == State::kReading) answer_requests(now, handler, may_stream);
  if (state_ == State::kReading && has_ended_) finish();
}

void HttpConnection::receive(Time now) {
  std::array<char, kPiece> piece;
  const ssize_t count = ::recv(descriptor_, piece.data(), piece.size(), MSG_DONTWAIT);
  if (count < 0) {
    if (errno != EAGAIN && errno != EINTR) finish();
    return;
  }
  if (count == 0) {
    has_ended_ = true;
    if (state_ != State::kReading) finish();
    return;
  }
  if (state_ == State::kReading) {
    if (in_.empty()) deadline_ = now + limits_.request;
    in_.append(piece.data(), static_cast<std::size_t>(count));
    return;
  }
  // A stream or a connection that ends has nothing more to say.
  discarded_ += static_cast<std::size_t>(count);
  if (discarded_ > kMostDiscarded) finish();
}

// Requests in a row are answered one by one: the next when the answer before it is sent.
void HttpConnection::answer_requests(Time now, HttpHandler& handler, bool may_stream) {
  while (state_ == State::kReading) {
    auto taken = take_request(in_);
    if (std::holds_alternative<NeedsMore>(taken)) return;
    if (const auto* refusal = std::get_if<HttpRefusal>(&taken)) {
      closes_ = true;
      out_ = wire_format(error_response(refusal->status, refusal->reason), AfterResponse::kClose, WithBody::kYes);
    } else {
      answer(std::get<HttpRequest>(taken), handler, may_stream);
    }
    sent_ = 0;
    state_ = State::kAnswering;
    deadline_ = now + limits_.answer;
    transmit(now);
  }
}

void HttpConnection::answer(const HttpRequest& request, HttpHandler& handler, bool may_stream) {
  HttpResponse response = handler.handle(request);
  if (response.is_stream && !may_stream) response = error_response(503, "too many pages are open");
  const bool is_head = request.method == "HEAD";
  streams_ = response.is_stream && !is_head;
  closes_ = !request.keeps_alive && !streams_;
  out_ = wire_format(response, closes_ ? AfterResponse::kClose : AfterResponse::kKeepAlive,
                     is_head ? WithBody::kNo : WithBody::kYes);
}

void HttpConnection::transmit(Time now) {
  while (sent_ < out_.size()) {
    const ssize_t count = ::send(descriptor_, out_.data() + sent_, out_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return finish();
    sent_ += static_cast<std::size_t>(count);
    if (state_ == State::kAnswering) deadline_ = now + limits_.answer;
  }
  after_sending(now);
}

void HttpConnection::after_sending(Time now) {
  out_.clear();
  out_.shrink_to_fit();
  sent_ = 0;
  if (state_ == State::kStreaming) {
    deadline_ = Time::max();
    return;
  }
  if (streams_) {
    state_ = State::kStreaming;
    deadline_ = Time::max();
    return;
  }
  if (closes_) {
    // close() with unread input would make the system discard what is still on its way.
    ::shutdown(descriptor_, SHUT_WR);
    state_ = State::kLingering;
    deadline_ = now + limits_.lingering;
    return;
  }
  state_ = State::kReading;
  deadline_ = now + (in_.empty() ? limits_.idle : limits_.request);
}

void HttpConnection::on_deadline(Time now) {
  const bool is_late_request = state_ == State::kReading && !in_.empty();
  if (!is_late_request) return finish();
  in_.clear();
  closes_ = true;
  out_ = wire_format(error_response(408, "the request took too long"), AfterResponse::kClose, WithBody::kYes);
  state_ = State::kAnswering;
  deadline_ = now + limits_.lingering;
  transmit(now);
}

void HttpConnection::send_news(std::string_view event, Time now) {
  if (!is_stream()) return;
  if (out_.empty()) deadline_ = now + limits_.answer;
  out_ += event;
  if (out_.size() - sent_ > limits_.unsent_news) return finish();
  transmit(now);
}

}  // namespace deadheat
