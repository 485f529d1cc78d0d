// SPDX-License-Identifier: Apache-2.0
#include "serve/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "serve/http_connection.h"

namespace deadheat {

namespace {

using Time = HttpConnection::Time;
using Clock = std::chrono::steady_clock;

constexpr int kWaiting = 128;  // connections that the system keeps for us

Error system_error(std::string_view what) {
  return {ErrorCode::kIo, fmt::format("{}: {}", what, std::generic_category().message(errno))};
}

union SocketAddress {
  sockaddr any;
  sockaddr_in four;
  sockaddr_in6 six;
};

socklen_t fill(const ListenAddress& address, SocketAddress& out) {
  std::memset(&out, 0, sizeof out);
  if (inet_pton(AF_INET, address.host.c_str(), &out.four.sin_addr) == 1) {
    out.four.sin_family = AF_INET;
    out.four.sin_port = htons(address.port);
    return sizeof out.four;
  }
  inet_pton(AF_INET6, address.host.c_str(), &out.six.sin6_addr);
  out.six.sin6_family = AF_INET6;
  out.six.sin6_port = htons(address.port);
  return sizeof out.six;
}

std::uint16_t port_of(int descriptor) {
  SocketAddress address{};
  socklen_t length = sizeof address;
  if (getsockname(descriptor, &address.any, &length) != 0) return 0;
  return ntohs(address.any.sa_family == AF_INET6 ? address.six.sin6_port : address.four.sin_port);
}

}  // namespace

// All that lives while run() runs.
struct HttpServer::Loop {
  Loop(HttpServer& server_, HttpHandler& handler_, int stop_) : server(server_), handler(handler_), stop(stop_) {}

  HttpServer& server;
  HttpHandler& handler;
  int stop;
  std::vector<std::unique_ptr<HttpConnection>> connections;
  std::vector<pollfd> polled;
  Time now = Clock::now();
  Time next_tick = now;
  Time next_heartbeat = now;
  bool is_stopping = false;
  Time end = Time::max();

  [[nodiscard]] bool has_streams() const {
    return std::ranges::any_of(connections, [](const auto& one) { return one->is_stream(); });
  }
  [[nodiscard]] std::size_t stream_count() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(connections, [](const auto& one) { return one->is_stream(); }));
  }

  [[nodiscard]] int wait_time() const {
    Time next = end;
    for (const auto& one : connections) next = std::min(next, one->deadline());
    if (has_streams()) next = std::min(next, next_tick);
    if (next == Time::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }

  // The one that was idle longest, or that has been at its step longest.
  void make_room() {
    const auto rank = [](const auto& one) {
      return std::pair(one->is_idle() ? 0 : one->is_stream() ? 2 : 1, one->deadline());
    };
    const auto victim = std::ranges::min_element(connections, {}, rank);
    if (victim != connections.end()) connections.erase(victim);
  }

  // False: something is wrong with the listener.
  bool accept_all() {
    while (true) {
      const int descriptor = accept4(server.listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (descriptor < 0) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
          if (connections.empty()) return false;
          make_room();
          return true;
        }
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EPERM || errno == EPROTO;
      }
      const int on = 1;
      setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      if (connections.size() >= server.limits_.connections) make_room();
      connections.push_back(std::make_unique<HttpConnection>(descriptor, now, server.limits_));
    }
  }

  void tick() {
    if (now < next_tick || !has_streams()) return;
    next_tick = now + server.limits_.tick;
    std::string event;
    if (const auto news = handler.news()) event = fmt::format("data: {}\n\n", *news);
    if (now >= next_heartbeat) {
      next_heartbeat = now + server.limits_.heartbeat;
      event += ": still here\n\n";
    }
    if (event.empty()) return;
    for (const auto& one : connections) one->send_news(event, now);
  }

  void begin_to_stop() {
    is_stopping = true;
    end = now + server.limits_.lingering;
  }

  void drop_finished() {
    std::erase_if(connections, [this](const auto& one) {
      return one->is_done() || (is_stopping && one->state() != HttpConnection::State::kAnswering &&
                                one->state() != HttpConnection::State::kLingering);
    });
  }

  Status run() {
    while (!is_stopping || (now < end && !connections.empty())) {
      polled.assign({{is_stopping ? -1 : stop, POLLIN, 0}, {is_stopping ? -1 : server.listener_, POLLIN, 0}});
      for (const auto& one : connections) polled.push_back({one->descriptor(), one->events(), 0});
      if (poll(polled.data(), polled.size(), wait_time()) < 0 && errno != EINTR) return system_error("cannot wait");
      now = Clock::now();
      const std::size_t known = connections.size();
      for (std::size_t index = 0; index < known; ++index) {
        HttpConnection& one = *connections[index];
        const bool may_stream = stream_count() < server.limits_.streams;
        if (polled[index + 2].revents != 0) one.on_events(polled[index + 2].revents, now, handler, may_stream);
        if (!one.is_done() && now >= one.deadline()) one.on_deadline(now);
      }
      if ((polled[0].revents & POLLIN) != 0) begin_to_stop();
      if (!is_stopping && polled[1].revents != 0 && !accept_all()) return system_error("cannot accept connections");
      tick();
      drop_finished();
    }
    return {};
  }
};

HttpServer::HttpServer(int listener, std::uint16_t port, const ServerLimits& limits)
    : listener_(listener), port_(port), limits_(limits) {}

HttpServer::~HttpServer() { ::close(listener_); }

std::uint16_t HttpServer::port() const { return port_; }

Result<std::unique_ptr<HttpServer>> HttpServer::open(const ListenAddress& address, const ServerLimits& limits) {
  SocketAddress where{};
  const socklen_t length = fill(address, where);
  const int descriptor = socket(where.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return system_error("cannot make a socket");
  const int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(descriptor, &where.any, length) != 0 || listen(descriptor, kWaiting) != 0) {
    const Error error = system_error(fmt::format("cannot listen on {} port {}", address.host, address.port));
    ::close(descriptor);
    return error;
  }
  return std::unique_ptr<HttpServer>(new HttpServer(descriptor, port_of(descriptor), limits));
}

Status HttpServer::run(HttpHandler& handler, int stop) { return Loop(*this, handler, stop).run(); }

}  // namespace deadheat
