// SPDX-License-Identifier: Apache-2.0
// TextNames: which names of a text trace can stand for a number, so far. A
// dictionary maps numbers to names and may give two numbers the same name; as
// an operand such a name would be ambiguous. The reader refuses it, the writer
// does not use it, and both decide by this table, line for line.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/identity.h"

namespace deadheat::text {

template <class Number>
class NameIndex {
 public:
  void add(std::string_view name, Number number) {
    const auto [entry, is_new] = numbers_.try_emplace(std::string(name), number);
    if (!is_new) entry->second.reset();
  }

  [[nodiscard]] bool knows(std::string_view name) const { return numbers_.contains(name); }

  // Nothing when the name is unknown or ambiguous.
  [[nodiscard]] std::optional<Number> find(std::string_view name) const {
    const auto entry = numbers_.find(name);
    return entry == numbers_.end() ? std::nullopt : entry->second;
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };
  std::unordered_map<std::string, std::optional<Number>, Hash, std::equal_to<>> numbers_;
};

struct TextNames {
  NameIndex<Address> ranges;
  NameIndex<SyncId> syncs;
  NameIndex<ThreadId> threads;
};

}  // namespace deadheat::text
