// SPDX-License-Identifier: Apache-2.0
// The settings, published: the flag is released by the one thread and acquired by the other.
//   deadheat c++ -g -O1 -pthread fixed.cpp -o fixed && deadheat run ./fixed
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
  ready.store(true, std::memory_order_release);
}

void serve() {
  while (!ready.load(std::memory_order_acquire)) std::this_thread::yield();
  std::printf("listening on %s:%d\n", settings.host.c_str(), settings.port);
}

int main() {
  std::thread loader(load);
  std::thread server(serve);
  loader.join();
  server.join();
}
