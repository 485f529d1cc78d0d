// SPDX-License-Identifier: Apache-2.0
// Settings that one thread loads and another waits for, by a flag that orders nothing.
//   deadheat c++ -g -O1 -pthread settings.cpp -o settings && deadheat run ./settings
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

struct Settings {
  std::string host;
  int port = 0;
};

Settings settings;
std::atomic<bool> ready{false};

void load() {
  settings.host = "a-host-whose-name-is-too-long-to-fit-into-the-string-itself";
  settings.port = 8080;
  ready.store(true, std::memory_order_relaxed);
}

void serve() {
  while (!ready.load(std::memory_order_relaxed)) std::this_thread::yield();
  std::printf("listening on %s:%d\n", settings.host.c_str(), settings.port);
}

int main() {
  std::thread loader(load);
  std::thread server(serve);
  loader.join();
  server.join();
}
