// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_generator_options.h"

#include "base/random.h"

namespace deadheat {

namespace {

// The themes of small_everything: each one makes a different kind of edge
// decide whether two accesses race.
EventMix small_mix(std::uint64_t theme) {
  EventMix mix;
  mix.access = 40;
  mix.lock = 0;
  mix.thread = 4;
  switch (theme) {
    case 0:  // atomics and fences
      mix.atomic = 50;
      mix.fence = 12;
      break;
    case 1:  // locks
      mix.lock = 40;
      mix.condition = 4;
      break;
    case 2:  // read-write locks and atomics
      mix.lock = 30;
      mix.atomic = 10;
      mix.destroy = 2;
      break;
    case 3:  // barriers, semaphores, once flags
      mix.barrier = 20;
      mix.semaphore = 14;
      mix.once = 10;
      mix.destroy = 4;
      break;
    case 4:  // heap blocks handed over by atomics
      mix.memory = 30;
      mix.atomic = 25;
      mix.fence = 5;
      break;
    case 5:  // threads that come and go
      mix.thread = 30;
      mix.call = 10;
      mix.sampling = 6;
      mix.lock = 8;
      break;
    case 6:  // annotations and sampling
      mix.annotation = 25;
      mix.sampling = 8;
      mix.lock = 12;
      mix.atomic = 10;
      break;
    default:
      mix = {.access = 60,
             .atomic = 20,
             .fence = 5,
             .lock = 16,
             .condition = 5,
             .barrier = 6,
             .semaphore = 6,
             .once = 4,
             .thread = 8,
             .memory = 6,
             .call = 6,
             .sampling = 4,
             .annotation = 6,
             .destroy = 3};
  }
  return mix;
}

}  // namespace

GeneratorOptions small_everything(std::uint64_t seed) {
  // A stream of its own, so that the trace is not correlated with its options.
  Random random(seed * 0xd1342543de82ef95ULL + 0x5eed);
  constexpr double kDensities[] = {0, 0, 0, 0.05, 0.15, 0.3, 0.6, 1.0};
  constexpr double kFractions[] = {0, 0.3, 0.5, 1.0};
  GeneratorOptions options;
  options.seed = seed;
  options.events = 5 + random.below(76);
  options.threads = 2 + static_cast<std::uint32_t>(random.below(4));
  options.locks = 1 + static_cast<std::uint32_t>(random.below(4));
  options.variables = 2 + static_cast<std::uint32_t>(random.below(4));
  options.atomics = 1 + static_cast<std::uint32_t>(random.below(3));
  options.blocks = 1 + static_cast<std::uint32_t>(random.below(2));
  options.sync_objects = 1 + static_cast<std::uint32_t>(random.below(2));
  options.sites = 12;
  options.race_density = kDensities[random.below(8)];
  options.read_fraction = 0.2 + 0.1 * static_cast<double>(random.below(5));
  options.switch_rate = 0.2 + 0.2 * static_cast<double>(random.below(4));
  options.early_fork_fraction = 1.0 - kFractions[random.below(3)];
  const std::uint64_t theme = random.below(10);
  options.mix = small_mix(theme);
  options.shared_lock_fraction = theme == 2 ? 1.0 : theme == 1 ? 0.0 : kFractions[random.below(3)];
  options.recursive_lock_fraction = kFractions[random.below(3)];
  options.try_fraction = kFractions[random.below(3)] * 0.5;
  const std::uint32_t lock_guards = options.mix.lock >= 30 ? 24U : options.mix.lock > 0 ? 4U : 0U;
  options.guards = {.lock = lock_guards, .owned = 1, .read_only = 1, .passed = 10};
  options.sizes = random.chance(0.7) ? AccessSizes::kMixed : AccessSizes::kUniform8;
  options.pattern = random.chance(0.2) ? AddressPattern::kSequential : AddressPattern::kRandom;
  options.sync_numbers = random.chance(0.2) ? SyncNumbers::kOverlapping : SyncNumbers::kDistinct;
  return options;
}

GeneratorOptions access_heavy(std::uint64_t seed, std::uint64_t events, std::uint32_t threads) {
  GeneratorOptions options;
  options.seed = seed;
  options.events = events;
  options.threads = threads;
  options.locks = 16;
  options.variables = 1U << 16;
  options.switch_rate = 0.05;
  options.pattern = AddressPattern::kSequential;
  options.mix = {.access = 930, .atomic = 10, .lock = 40, .call = 20};
  options.guards = {.lock = 2, .owned = 5, .read_only = 2};
  return options;
}

GeneratorOptions lock_heavy(std::uint64_t seed, std::uint64_t events, std::uint32_t threads) {
  GeneratorOptions options = access_heavy(seed, events, threads);
  options.locks = 256;
  options.variables = 1U << 12;
  options.shared_lock_fraction = 0.25;
  options.try_fraction = 0.05;
  options.pattern = AddressPattern::kRandom;
  options.mix = {.access = 45, .lock = 50, .call = 5};
  options.guards = {.lock = 1, .owned = 1};
  return options;
}

GeneratorOptions read_shared(std::uint64_t seed, std::uint64_t events, std::uint32_t threads) {
  GeneratorOptions options = access_heavy(seed, events, threads);
  options.variables = 1U << 14;
  options.read_fraction = 0.98;
  options.pattern = AddressPattern::kRandom;
  options.mix = {.access = 960, .lock = 40};
  options.guards = {.lock = 1, .owned = 0, .read_only = 30};
  return options;
}

}  // namespace deadheat
