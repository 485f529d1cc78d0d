// SPDX-License-Identifier: Apache-2.0
// What the benchmark programs share: numbers that are the same in every run, two
// threads, and the command line over a table of programs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <thread>

namespace deadheat::bench {

class Random {
 public:
  Random() = default;
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint32_t next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state_ >> 33);
  }

  // 0 <= result < 1.
  double next_fraction() { return next() * 0x1p-31; }

 private:
  std::uint64_t state_ = 1;
};

// Runs `work(0)` and `work(1)` in two threads.
template <typename Work>
void in_two_threads(const Work& work) {
  std::thread first(work, std::size_t{0});
  std::thread second(work, std::size_t{1});
  first.join();
  second.join();
}

// `run` returns a checksum that depends on nothing but the repetitions.
struct Program {
  std::string_view name;  // of a literal: it ends with a 0
  std::uint64_t (*run)(int repetitions);
  int repetitions;  // the usual number, 100 percent
};

// The whole of main: `NAME [PERCENT]` runs one program of the table with PERCENT
// of its usual repetitions, at least one, and prints its name and checksum;
// `--list` prints the names. Returns the exit code: 2 for a wrong command line.
inline int run_program(std::span<const Program> programs, int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--list") {
    for (const Program& program : programs) std::printf("%s\n", program.name.data());
    return 0;
  }
  const auto program =
      std::find_if(programs.begin(), programs.end(), [&](const Program& candidate) { return candidate.name == name; });
  const int percent = argc > 2 ? std::atoi(argv[2]) : 100;
  if (program == programs.end() || percent < 1 || percent > 10000) {
    std::fprintf(stderr, "usage: %s NAME [PERCENT] | %s --list\n", argv[0], argv[0]);
    return 2;
  }
  const int repetitions = std::max(1, static_cast<int>(std::int64_t{program->repetitions} * percent / 100));
  std::printf("%s %llu\n", program->name.data(), static_cast<unsigned long long>(program->run(repetitions)));
  return 0;
}

}  // namespace deadheat::bench
