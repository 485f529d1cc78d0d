// SPDX-License-Identifier: Apache-2.0
// The runtime without its host: the parts of src/runtime that work on memory of
// their own run inside a test. What reaches out of the process, or into libc, is
// replaced (stand_in.cpp): races are counted per word instead of being sent,
// nothing is recorded, threads are registered by hand.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/races.h"
#include "runtime/racy_words.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

// Sets the runtime up, once; false where the address space has no room for the
// shadow (some sanitizers fill it).
[[nodiscard]] bool start_stand_in();

// Words whose races are counted, with the number of races seen on each.
class WatchedWords {
 public:
  explicit WatchedWords(std::size_t count);
  ~WatchedWords();
  WatchedWords(const WatchedWords&) = delete;
  WatchedWords& operator=(const WatchedWords&) = delete;

  [[nodiscard]] Address address(std::size_t index) const { return reinterpret_cast<Address>(&words_[index]); }
  [[nodiscard]] std::size_t size() const { return words_.size(); }
  [[nodiscard]] std::uint32_t races(std::size_t index) const { return counts_[index].load(); }
  void count(Address word);

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::atomic<std::uint32_t>> counts_;
};

// Of the word that got its number last (racy_words.h).
[[nodiscard]] RacyWordCounts counts_of_last_racy_word();

// Runs body(index) in so many threads, none of which knows of another.
void run_threads(int count, const std::function<void(int)>& body);

// Lets threads start a round together: spins, and gives way when that takes long.
class RoundBarrier {
 public:
  explicit RoundBarrier(int threads) : threads_(threads) {}
  void meet(int round);

 private:
  int threads_;
  std::atomic<int> arrived_{0};
};

}  // namespace deadheat::runtime
