// SPDX-License-Identifier: Apache-2.0
#include "serve/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "serve/race_table.h"

namespace deadheat {
namespace {

using namespace std::chrono_literals;

// Blocks for at most ten seconds.
class Client {
 public:
  explicit Client(std::uint16_t port) : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    DEADHEAT_CHECK(connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    const timeval limit{10, 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { close(descriptor_); }

  void say(const std::string& text) const { (void)!send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL); }
  // Until the text has come or the server closes.
  std::string read_until(const std::string& end) {
    std::array<char, 4096> piece;
    while (end.empty() || heard_.find(end) == std::string::npos) {
      const ssize_t count = recv(descriptor_, piece.data(), piece.size(), 0);
      if (count <= 0) break;
      heard_.append(piece.data(), static_cast<std::size_t>(count));
    }
    return heard_;
  }
  std::string read_all() { return read_until(""); }
  [[nodiscard]] bool is_closed_by_server() const {
    char byte = 0;
    return recv(descriptor_, &byte, 1, MSG_PEEK) <= 0;
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::string heard_;
};

std::string get(const std::string& path, const std::string& more = "Connection: close\r\n") {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n";
}

class HttpServerTest : public ::testing::Test {
 protected:
  void start(const ServerLimits& limits = {}) {
    auto opened = HttpServer::open({"127.0.0.1", 0, true}, limits);
    DEADHEAT_CHECK(opened.ok() && pipe2(stop_.data(), O_CLOEXEC) == 0);
    server_ = std::move(opened).value();
    thread_ = std::thread([this] { DEADHEAT_CHECK(server_->run(service_, stop_[0]).ok()); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    DEADHEAT_CHECK(write(stop_[1], "x", 1) == 1);
    thread_.join();
    close(stop_[0]);
    close(stop_[1]);
  }
  void TearDown() override { stop(); }
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }

  RaceTable table_;
  RaceService service_{table_, AccessPolicy{}};
  std::unique_ptr<HttpServer> server_;
  std::array<int, 2> stop_{-1, -1};
  std::thread thread_;
};

TEST_F(HttpServerTest, AnswersCarryHeadersThatProtect) {
  start();
  Client client(port());
  client.say(get("/"));
  const std::string answer = client.read_all();
  EXPECT_EQ(answer.rfind("HTTP/1.1 200 OK\r\n", 0), 0U) << answer.substr(0, 100);
  for (const char* header :
       {"Content-Security-Policy: default-src 'none'; script-src 'self'", "X-Content-Type-Options: nosniff",
        "X-Frame-Options: DENY", "Referrer-Policy: no-referrer", "Cache-Control: no-store"}) {
    EXPECT_NE(answer.find(header), std::string::npos) << header;
  }
}

TEST_F(HttpServerTest, RequestsInARowAreAnsweredInOrder) {
  start();
  Client client(port());
  client.say(get("/api/races", "") + get("/nothing", "") + get("/api/runs"));
  const std::string answers = client.read_all();
  const std::size_t races = answers.find("may_write");
  const std::size_t nothing = answers.find("404 Not Found");
  const std::size_t runs = answers.find("{\"runs\"");
  EXPECT_TRUE(races < nothing && nothing < runs && runs != std::string::npos) << answers;
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  start();
  Client client(port());
  client.say("HEAD /page.js HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string answer = client.read_all();
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
  EXPECT_EQ(answer.find("Content-Length: 0"), std::string::npos);
}

TEST_F(HttpServerTest, BrokenRequestIsAnsweredAndClosed) {
  start();
  Client client(port());
  client.say("nonsense\r\n\r\n" + get("/"));
  const std::string answer = client.read_all();
  EXPECT_EQ(answer.rfind("HTTP/1.1 400 Bad Request\r\n", 0), 0U);
  EXPECT_EQ(answer.find("200 OK"), std::string::npos) << "nothing is believed after it";
}

TEST_F(HttpServerTest, SlowClientsDoNotHoldUpOthers) {
  table_.padding = std::size_t{8} << 20;  // more than the system buffers
  start();
  std::vector<std::unique_ptr<Client>> slow;
  for (int index = 0; index < 4; ++index) {
    slow.push_back(std::make_unique<Client>(port()));
    slow.back()->say(index % 2 == 0 ? get("/api/races") : "GET / HT");
  }
  std::this_thread::sleep_for(50ms);
  const auto begun = std::chrono::steady_clock::now();
  Client quick(port());
  quick.say(get("/page.css"));
  EXPECT_NE(quick.read_all().find("200 OK"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
  EXPECT_GT(slow[0]->read_all().size(), table_.padding) << "who reads late still gets all";
}

TEST_F(HttpServerTest, StepsHaveTimeLimits) {
  ServerLimits limits;
  limits.request = 100ms;
  limits.idle = 100ms;
  start(limits);
  Client half(port());
  half.say("GET / HTTP/1.1\r\nHos");
  EXPECT_NE(half.read_all().find("408 Request Timeout"), std::string::npos);
  const Client silent(port());
  EXPECT_TRUE(silent.is_closed_by_server());
  Client idle(port());
  idle.say(get("/api/runs", ""));
  EXPECT_NE(idle.read_all().find("200 OK"), std::string::npos);
}

TEST_F(HttpServerTest, IdleConnectionsMakeRoomForNewOnes) {
  ServerLimits limits;
  limits.connections = 4;
  start(limits);
  std::vector<std::unique_ptr<Client>> idle;
  for (int index = 0; index < 12; ++index) idle.push_back(std::make_unique<Client>(port()));
  Client late(port());
  late.say(get("/api/runs"));
  EXPECT_NE(late.read_all().find("200 OK"), std::string::npos);
}

TEST_F(HttpServerTest, StreamTellsWhatChanged) {
  ServerLimits limits;
  limits.tick = 20ms;
  limits.streams = 1;
  start(limits);
  Client page(port());
  page.say(get("/api/events", ""));
  const std::string first = page.read_until("data: 1\n\n");
  EXPECT_NE(first.find("Content-Type: text/event-stream"), std::string::npos) << first;
  EXPECT_NE(first.find("data: 1\n\n"), std::string::npos) << first;
  Client other(port());
  other.say(get("/api/events"));
  EXPECT_NE(other.read_all().find("503 Service Unavailable"), std::string::npos);
}

TEST_F(HttpServerTest, StoppingSendsWhatHasBegunAndEnds) {
  table_.padding = std::size_t{1} << 20;
  start();
  Client stream(port());
  stream.say(get("/api/events", ""));
  (void)stream.read_until("data: 1");
  Client reader(port());
  reader.say(get("/api/races"));
  (void)reader.read_until("200 OK");
  const auto begun = std::chrono::steady_clock::now();
  std::string rest;
  std::thread reading([&] { rest = reader.read_all(); });
  stop();
  reading.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
  EXPECT_GT(rest.size(), table_.padding);
  EXPECT_TRUE(stream.is_closed_by_server() || !stream.read_all().empty());
}

TEST_F(HttpServerTest, PortInUseIsAnError) {
  start();
  const auto again = HttpServer::open({"127.0.0.1", port(), true});
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find("cannot listen on 127.0.0.1 port"), std::string::npos);
}

}  // namespace
}  // namespace deadheat
