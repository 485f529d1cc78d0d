// SPDX-License-Identifier: Apache-2.0
// Threads that each brighten their part of a picture, and one pixel of the next part.
//   deadheat c++ -g -O1 -pthread pixels.cpp -o pixels && deadheat run ./pixels
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <thread>
#include <vector>

constexpr std::size_t kPixels = 4096;
constexpr std::size_t kThreads = 4;

void brighten(std::vector<int>& pixels, std::size_t first, std::size_t last) {
  for (std::size_t at = first; at <= last; ++at) pixels[at] += 10;
}

int main() {
  std::vector<int> pixels(kPixels);
  std::vector<std::thread> threads;
  const std::size_t part = kPixels / kThreads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    const std::size_t begin = thread * part;
    threads.emplace_back([&pixels, begin, part] { brighten(pixels, begin, std::min(begin + part, kPixels - 1)); });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("first %d, last %d\n", pixels.front(), pixels.back());
}
