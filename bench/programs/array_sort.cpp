// SPDX-License-Identifier: Apache-2.0
// Merge sort from short runs to long ones, to and fro between two arrays: each
// thread sorts one half, then makes one half of the result out of both. 24 MB.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "array_programs.h"

namespace deadheat::bench {
namespace {

constexpr std::size_t kHalf = std::size_t{1} << 20;
constexpr std::size_t kNumbers = 2 * kHalf;
constexpr std::size_t kShortestRun = 16;

// Other numbers in each repetition.
void refill(const std::uint32_t* input, std::uint32_t* numbers, Slice own, int repetition) {
  const std::uint32_t change = Random(static_cast<std::uint64_t>(repetition)).next();
  for (std::size_t at = own.begin; at < own.end; ++at) numbers[at] = input[at] ^ change;
}

void insertion_sort(std::uint32_t* begin, std::uint32_t* end) {
  for (std::uint32_t* at = begin + 1; at < end; ++at) {
    const std::uint32_t number = *at;
    std::uint32_t* place = at;
    for (; place > begin && place[-1] > number; --place) *place = place[-1];
    *place = number;
  }
}

// Merges two sorted pieces of `from` until `count` numbers are at `to`.
void merge(const std::uint32_t* from, Slice left, Slice right, std::uint32_t* to, std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) {
    const bool takes_left =
        left.begin < left.end && (right.begin == right.end || from[left.begin] <= from[right.begin]);
    to[at] = takes_left ? from[left.begin++] : from[right.begin++];
  }
}

// Sorts the piece of `numbers`; returns which of the two arrays has it in the end.
std::uint32_t* sort_piece(std::uint32_t* numbers, std::uint32_t* spare, Slice piece) {
  for (std::size_t at = piece.begin; at < piece.end; at += kShortestRun) {
    insertion_sort(numbers + at, numbers + at + kShortestRun);
  }
  for (std::size_t run = kShortestRun; run < piece.end - piece.begin; run *= 2) {
    for (std::size_t at = piece.begin; at < piece.end; at += 2 * run) {
      merge(numbers, {at, at + run}, {at + run, at + 2 * run}, spare + at, 2 * run);
    }
    std::swap(numbers, spare);
  }
  return numbers;
}

// How many of the `rank` smallest numbers of two sorted halves are in the first one.
std::size_t share_of_first_half(const std::uint32_t* numbers, std::size_t rank) {
  std::size_t least = rank > kHalf ? rank - kHalf : 0;
  std::size_t most = std::min(rank, kHalf);
  while (least < most) {
    const std::size_t guess = least + (most - least) / 2;
    if (numbers[guess] <= numbers[kHalf + rank - guess - 1]) {
      least = guess + 1;
    } else {
      most = guess;
    }
  }
  return least;
}

}  // namespace

std::uint64_t merge_sort(int repetitions) {
  std::vector<std::uint32_t> input(kNumbers);
  Random random;
  for (std::uint32_t& number : input) number = random.next();
  std::vector<std::uint32_t> first(kNumbers);
  std::vector<std::uint32_t> second(kNumbers);
  const std::uint32_t* result = nullptr;
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    const Slice own = slice_of(kNumbers, self);
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      refill(input.data(), first.data(), own, repetition);
      const std::uint32_t* sorted = sort_piece(first.data(), second.data(), own);
      barrier.wait();
      std::uint32_t* target = sorted == first.data() ? second.data() : first.data();
      const std::size_t left = share_of_first_half(sorted, own.begin);
      merge(sorted, {left, kHalf}, {kHalf + own.begin - left, kNumbers}, target + own.begin, own.end - own.begin);
      barrier.wait();
      if (self == 0) result = target;
    }
  });
  if (!std::is_sorted(result, result + kNumbers)) fail("the numbers are not sorted");
  Digest digest;
  digest.add_all(result == first.data() ? first : second);
  return digest.value();
}

}  // namespace deadheat::bench
