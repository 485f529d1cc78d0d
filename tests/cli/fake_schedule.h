// SPDX-License-Identifier: Apache-2.0
// The scheduler of a program in a hunt, for a program that only plays one: it writes to
// the run file that the option schedule_out names.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "schedule/run_file.h"

namespace deadheat::fake_schedule {

// Empty outside of hunts.
inline std::string run_file_path() {
  const char* const options = std::getenv("DEADHEAT_OPTIONS");
  const std::string text = options == nullptr ? "" : options;
  const std::string name = "schedule_out=\"";
  const std::size_t begin = text.find(name);
  if (begin == std::string::npos) return "";
  const std::size_t from = begin + name.size();
  return text.substr(from, text.find('"', from) - from);
}

// The file is in memory, and called "run-3.schedule".
inline int run_number() {
  char name[128] = {};
  if (readlink(run_file_path().c_str(), name, sizeof name - 1) < 0) return 0;
  const std::string path = name;
  const std::size_t dash = path.rfind('-');
  return dash == std::string::npos ? 0 : std::atoi(path.c_str() + dash + 1);
}

inline schedule::RunFile& run_file() {
  const int descriptor = open(run_file_path().c_str(), O_RDWR | O_CLOEXEC);
  void* const mapped = mmap(nullptr, sizeof(schedule::RunFile), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    std::perror("fake program: run file");
    std::exit(9);
  }
  return *static_cast<schedule::RunFile*>(mapped);
}

inline void count() {
  schedule::RunCounters& counters = run_file().header.counters;
  counters.suspensions = 14;
  counters.thrashings = 3;
  counters.steps = 100;
  counters.diverged = 2;
}

// Says that two threads wait for each other, and waits itself.
inline void deadlock(std::uint64_t lock, std::uint64_t one, std::uint64_t other) {
  schedule::RunFileHeader& header = run_file().header;
  header.cycle[0] = {.number = 2, .frame_count = 1, .wanted = lock, .frames = {one}};
  header.cycle[1] = {.number = 3, .frame_count = 1, .wanted = 0x7000, .frames = {other}};
  std::atomic_ref<std::uint32_t>(header.deadlocked).store(2, std::memory_order_release);
  pause();
}

}  // namespace deadheat::fake_schedule
