// SPDX-License-Identifier: Apache-2.0
// Sweeps over a square grid, one array, row after row: in place and from one
// buffer to another. Each thread has half of the rows and reads one row of the
// other's; the border stays as it is.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "array_programs.h"

namespace deadheat::bench {
namespace {

constexpr std::size_t kSide = 2048;

std::vector<double> random_grid() {
  std::vector<double> grid(kSide * kSide);
  Random random;
  for (double& number : grid) number = random.next_fraction();
  return grid;
}

// The rows of a thread, without the border.
Slice inner_rows(std::size_t self) {
  const Slice rows = slice_of(kSide - 2, self);
  return {rows.begin + 1, rows.end + 1};
}

// Points are red (0) or black (1) as the fields of a chessboard: those of one
// colour have neighbours of the other only, so their order does not matter.
void relax(double* grid, Slice rows, std::size_t colour) {
  constexpr double kOmega = 1.25;
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    double* point = grid + row * kSide;
    for (std::size_t at = 1 + (row + colour) % 2; at < kSide - 1; at += 2) {
      const double around = point[at - kSide] + point[at + kSide] + point[at - 1] + point[at + 1];
      point[at] = kOmega * 0.25 * around + (1 - kOmega) * point[at];
    }
  }
}

void average(const double* from, double* to, Slice rows) {
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    const double* source = from + row * kSide;
    double* target = to + row * kSide;
    for (std::size_t at = 1; at < kSide - 1; ++at) {
      target[at] =
          0.5 * source[at] + 0.125 * (source[at - kSide] + source[at + kSide] + source[at - 1] + source[at + 1]);
    }
  }
}

}  // namespace

// Successive over-relaxation, red points before black ones. 32 MB.
std::uint64_t over_relaxation(int repetitions) {
  std::vector<double> grid = random_grid();
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      for (const std::size_t colour : {std::size_t{0}, std::size_t{1}}) {
        relax(grid.data(), inner_rows(self), colour);
        barrier.wait();
      }
    }
  });
  Digest digest;
  digest.add_all(grid);
  return digest.value();
}

// Five points of one buffer make one of the other. 64 MB.
std::uint64_t stencil(int repetitions) {
  std::vector<double> first = random_grid();
  std::vector<double> second = first;
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    double* from = first.data();
    double* to = second.data();
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      average(from, to, inner_rows(self));
      barrier.wait();
      std::swap(from, to);
    }
  });
  Digest digest;
  digest.add_all(repetitions % 2 == 0 ? first : second);
  return digest.value();
}

}  // namespace deadheat::bench
