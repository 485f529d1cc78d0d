// SPDX-License-Identifier: Apache-2.0
// Prices that walk at random: each task makes one path in an array of its own and
// one number in the array of results; then both threads average all paths, each a
// part of the time. Paths live for one repetition: 16 MB come and go each time.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <vector>

#include "array_programs.h"

namespace deadheat::bench {
namespace {

constexpr std::size_t kTasks = 2000;
constexpr std::size_t kSteps = 1000;

// Two independent numbers of the normal distribution.
struct NormalPair {
  double first;
  double second;
};

NormalPair normal_pair(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.next_fraction()));
  const double angle = 2 * std::numbers::pi * random.next_fraction();
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// Fills a path and returns the yearly return of it, estimated back from its prices.
double walk(double* path, std::uint64_t seed) {
  constexpr double kDrift = 0.0002;
  constexpr double kVolatility = 0.01;
  Random random(seed);
  double price = 100;
  for (std::size_t step = 0; step < kSteps; step += 2) {
    const NormalPair change = normal_pair(random);
    path[step] = price *= std::exp(kDrift + kVolatility * change.first);
    path[step + 1] = price *= std::exp(kDrift + kVolatility * change.second);
  }
  double growth = 0;
  for (std::size_t step = 1; step < kSteps; ++step) growth += path[step] / path[step - 1] - 1;
  return growth / kSteps * 250;
}

using Paths = std::vector<std::unique_ptr<double[]>>;

void run_tasks(Paths& paths, double* results, Slice tasks, int repetition) {
  for (std::size_t task = tasks.begin; task < tasks.end; ++task) {
    paths[task] = std::make_unique_for_overwrite<double[]>(kSteps);
    results[task] += walk(paths[task].get(), static_cast<std::uint64_t>(repetition) * kTasks + task);
  }
}

void average_paths(const Paths& paths, double* average, Slice steps) {
  for (const auto& path : paths) {
    const double* prices = path.get();
    for (std::size_t step = steps.begin; step < steps.end; ++step) average[step] += prices[step] / kTasks;
  }
}

}  // namespace

std::uint64_t monte_carlo(int repetitions) {
  std::vector<double> results(kTasks);
  std::vector<double> average(kSteps);
  Paths paths(kTasks);
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    const Slice tasks = slice_of(kTasks, self);
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      run_tasks(paths, results.data(), tasks, repetition);
      barrier.wait();
      average_paths(paths, average.data(), slice_of(kSteps, self));
      barrier.wait();
      for (std::size_t task = tasks.begin; task < tasks.end; ++task) paths[task].reset();
    }
  });
  Digest digest;
  digest.add_all(results);
  digest.add_all(average);
  return digest.value();
}

}  // namespace deadheat::bench
