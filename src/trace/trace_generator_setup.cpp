// SPDX-License-Identifier: Apache-2.0
// How the simulated program's memory, locks and names are laid out.
//
// Up to kSingleVariables variables are items of their own, neighbours without
// gaps, so that one word of memory holds several disciplines. More variables
// form arrays, one item per owner, lock or use.
#include <algorithm>
#include <string>

#include "base/raw.h"
#include "trace/trace_generator_simulation.h"

namespace deadheat {

using namespace generator;

namespace {

constexpr std::uint32_t kSingleVariables = 64;
constexpr std::uint32_t kPassedGroups = 16;
constexpr std::uint32_t kNamedThreads = 4096;
constexpr Address kFirstAddress = 0x10000;
constexpr std::uint64_t kSyncFamilyStep = 1'000'000;

std::uint32_t at_least_one(std::uint32_t count) { return std::max(count, 1U); }

const char* family_name(SyncFamily family) {
  constexpr const char* kNames[] = {"lock", "condition", "barrier", "semaphore", "once", "tag"};
  return kNames[raw(family)];
}

}  // namespace

TraceGenerator::Simulation::Simulation(const GeneratorOptions& options)
    : options_(options), random_(options.seed), permissions_(at_least_one(options.threads)) {
  options_.threads = at_least_one(options_.threads);
  options_.sites = at_least_one(options_.sites);
  options_.variables = at_least_one(options_.variables);
  threads_.resize(options_.threads);
  locks_.resize(options_.locks);
  conditions_.resize(at_least_one(options_.sync_objects));
  barriers_.resize(at_least_one(options_.sync_objects));
  semaphores_.resize(at_least_one(options_.sync_objects));
  onces_.resize(at_least_one(options_.sync_objects));
  tags_.resize(at_least_one(options_.sync_objects));
  set_up_locks();
  fill_family_table();
  name_things();

  Slot first = 0;
  create_thread(first);
  lay_out_memory();
  early_forks_ = static_cast<std::uint32_t>(options_.early_fork_fraction * (options_.threads - 1) + 0.5);
}

void TraceGenerator::Simulation::set_up_locks() {
  for (Lock& lock : locks_) {
    lock.is_shared = random_.chance(options_.shared_lock_fraction);
    lock.is_recursive = !lock.is_shared && random_.chance(options_.recursive_lock_fraction);
  }
}

void TraceGenerator::Simulation::fill_family_table() {
  const EventMix& mix = options_.mix;
  const std::uint32_t weights[] = {mix.access,  mix.atomic,    mix.fence,      mix.lock,   mix.condition,
                                   mix.barrier, mix.semaphore, mix.once,       mix.thread, mix.memory,
                                   mix.call,    mix.sampling,  mix.annotation, mix.destroy};
  std::uint64_t sum = 0;
  for (const std::uint32_t weight : weights) sum += weight;
  families_.fill(Family::kAccess);
  if (sum == 0) return;
  std::uint64_t passed = 0;
  std::size_t end = 0;
  for (std::size_t i = 0; i < std::size(weights); ++i) {
    const std::size_t begin = end;
    passed += weights[i];
    end = passed * families_.size() / sum;
    std::fill(families_.begin() + static_cast<std::ptrdiff_t>(begin),
              families_.begin() + static_cast<std::ptrdiff_t>(end), static_cast<Family>(i));
  }
}

void TraceGenerator::Simulation::lay_out_memory() {
  Address place = kFirstAddress;
  span_begin_ = place;
  for (std::uint32_t i = 0; i < options_.atomics; ++i) {
    const std::uint64_t size = options_.sizes == AccessSizes::kMixed ? 1ULL << random_.below(4) : 8;
    place = (place + size - 1) / size * size;
    atomics_.push_back({place, size, {}});
    dictionary_.ranges[place] = {size, "atomic" + std::to_string(i)};
    place += size;
  }
  if (options_.sizes == AccessSizes::kUniform8) place = (place + 7) / 8 * 8;
  if (options_.variables <= kSingleVariables) {
    lay_out_single_variables(place);
  } else {
    lay_out_groups(place);
  }
  for (std::uint32_t i = 0; i < options_.blocks; ++i) {
    const std::uint64_t capacity = options_.sizes == AccessSizes::kMixed ? 5 + random_.below(20) : 32;
    const ItemIndex item = permissions_.add({.address = place, .custody = Custody::kPassed});
    blocks_.push_back({place, capacity, item});
    place += capacity;
  }
  span_end_ = place;
}

void TraceGenerator::Simulation::add_item(Item item, Address& place, const std::string& name) {
  item.address = place;
  place += item.size;
  dictionary_.ranges[item.address] = {item.size, name};
  const ItemIndex index = permissions_.add(item);
  if (item.custody == Custody::kLock) {
    locks_[item.lock].items.push_back(index);
  } else {
    permissions_.grant(0, index);
  }
}

void TraceGenerator::Simulation::lay_out_single_variables(Address& place) {
  constexpr std::uint64_t kSizes[] = {1, 1, 2, 2, 3, 4, 4, 4, 5, 8, 8, 8, 12, 16, 4, 33};
  const GuardMix& guards = options_.guards;
  const std::uint32_t lock_weight = locks_.empty() ? 0 : guards.lock;
  const std::uint32_t sum = at_least_one(lock_weight + guards.owned + guards.read_only + guards.passed);
  for (std::uint32_t i = 0; i < options_.variables; ++i) {
    Item item;
    item.size = options_.sizes == AccessSizes::kMixed ? kSizes[random_.below(std::size(kSizes))] : 8;
    const std::uint32_t choice = pick(sum);
    if (choice < lock_weight) {
      item.custody = Custody::kLock;
      item.lock = pick(locks_.size());
    } else if (choice < lock_weight + guards.owned) {
      item.custody = Custody::kOwned;
      item.home = pick(options_.threads);
    } else if (choice < lock_weight + guards.owned + guards.read_only) {
      item.custody = Custody::kReadOnly;
    }
    add_item(item, place, "v" + std::to_string(i));
  }
}

void TraceGenerator::Simulation::lay_out_groups(Address& place) {
  const GuardMix& guards = options_.guards;
  const auto lock_count = static_cast<std::uint32_t>(locks_.size());
  const std::uint32_t lock_weight = locks_.empty() ? 0 : guards.lock;
  const std::uint32_t sum = at_least_one(lock_weight + guards.owned + guards.read_only + guards.passed);
  const auto lay_out = [&](std::uint32_t weight, std::uint32_t groups, Item item, const std::string& name) {
    if (weight == 0) return;
    const std::uint64_t bytes = 8ULL * options_.variables * weight / sum;
    item.size = std::max<std::uint64_t>(bytes / groups / 8 * 8, 8);
    for (std::uint32_t i = 0; i < groups; ++i) {
      item.lock = item.custody == Custody::kLock ? i : kNobody;
      item.home = item.custody == Custody::kOwned ? i : kNobody;
      add_item(item, place, name + std::to_string(i));
    }
  };
  lay_out(lock_weight, lock_count, {.custody = Custody::kLock}, "guarded_by_lock");
  lay_out(guards.owned, options_.threads, {.custody = Custody::kOwned}, "owned_by_thread");
  lay_out(guards.read_only, 1, {.custody = Custody::kReadOnly}, "read_only");
  lay_out(guards.passed, kPassedGroups, {.custody = Custody::kPassed}, "passed");
}

SyncId TraceGenerator::Simulation::sync_id(SyncFamily family, std::uint32_t index) const {
  const std::uint64_t base = options_.sync_numbers == SyncNumbers::kDistinct ? raw(family) * kSyncFamilyStep : 0;
  return SyncId{base + index + 1};
}

void TraceGenerator::Simulation::name_things() {
  for (std::uint32_t i = 0; i < options_.sites; ++i) {
    const std::uint32_t function = i / 4;
    dictionary_.sites.add({"f" + std::to_string(function), "gen.cpp", 10 * (i + 1), {}, 0});
  }
  const auto name_family = [this](SyncFamily family, std::size_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      dictionary_.syncs.emplace(sync_id(family, i), family_name(family) + std::to_string(i));
    }
  };
  name_family(SyncFamily::kLock, locks_.size());
  name_family(SyncFamily::kCondition, conditions_.size());
  name_family(SyncFamily::kBarrier, barriers_.size());
  name_family(SyncFamily::kSemaphore, semaphores_.size());
  name_family(SyncFamily::kOnce, onces_.size());
  name_family(SyncFamily::kTag, tags_.size());
}

void TraceGenerator::Simulation::name_thread(ThreadId thread) {
  if (raw(thread) >= kNamedThreads) return;
  dictionary_.threads.emplace(thread, raw(thread) == 0 ? "main" : "worker" + std::to_string(raw(thread)));
}

}  // namespace deadheat
