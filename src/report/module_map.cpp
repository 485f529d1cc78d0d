// SPDX-License-Identifier: Apache-2.0
#include "report/module_map.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace deadheat {

namespace {

// A program that loads and unloads plug-ins for days must not grow us.
constexpr std::size_t kMostGone = 4096;

bool has(const RawModule& module, std::uint64_t address) { return module.begin <= address && address < module.end; }

bool same(const RawModule& one, const RawModule& other) {
  return one.begin == other.begin && one.end == other.end && one.load_bias == other.load_bias && one.path == other.path;
}

FileAddress place_in(const RawModule& module, std::uint64_t address) {
  return {module.path, address - module.load_bias};
}

}  // namespace

void ModuleMap::replace(const std::vector<RawModule>& modules) {
  std::map<std::uint64_t, RawModule> before = std::exchange(present_, {});
  for (const RawModule& module : modules) present_.insert_or_assign(module.begin, module);
  for (auto& [begin, module] : before) {
    const auto now = present_.find(begin);
    if (now != present_.end() && same(now->second, module)) continue;
    std::erase_if(gone_, [&](const RawModule& old) { return same(old, module); });
    gone_.push_back(std::move(module));
  }
  if (gone_.size() > kMostGone) gone_.erase(gone_.begin(), gone_.end() - kMostGone);
}

std::optional<FileAddress> ModuleMap::find(std::uint64_t address) const {
  const auto next = present_.upper_bound(address);
  if (next != present_.begin() && has(std::prev(next)->second, address)) {
    return place_in(std::prev(next)->second, address);
  }
  const auto old = std::find_if(gone_.rbegin(), gone_.rend(), [&](const RawModule& one) { return has(one, address); });
  if (old == gone_.rend()) return std::nullopt;
  return place_in(*old, address);
}

}  // namespace deadheat
