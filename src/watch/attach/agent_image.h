// SPDX-License-Identifier: Apache-2.0
// AgentImage: the agent's library, placed at an address of another process as the loader would do it. The agent needs
// little of a loader: no thread-local variables, no constructors (the one it has is for when it is preloaded), a
// handful of libc's functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace deadheat::watch {

class AgentImage {
 public:
  // kIo, kMalformed: not the agent's library.
  [[nodiscard]] static Result<AgentImage> open(const std::string& path);

  [[nodiscard]] std::uint64_t size() const { return memory_.size(); }
  [[nodiscard]] std::uint64_t code_begin() const { return code_begin_; }
  [[nodiscard]] std::uint64_t code_end() const { return code_end_; }
  // What it defines for others, from its beginning: the functions that it replaces, and its first one.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& functions() const { return functions_; }

  // The bytes for that address. `resolve` gives the address of a function of the process, 0 if it has none.
  [[nodiscard]] std::vector<std::byte> place_at(std::uint64_t base,
                                                const std::function<std::uint64_t(std::string_view)>& resolve) const;

 private:
  AgentImage() = default;
  [[nodiscard]] std::string_view text_at(std::uint64_t address) const;

  std::string name_;
  std::vector<std::byte> file_;
  std::vector<std::byte> memory_;  // as loaded, without relocation
  std::uint64_t code_begin_ = 0;
  std::uint64_t code_end_ = 0;
  std::uint64_t originals_ = 0;
  std::uint64_t originals_size_ = 0;
  std::map<std::string, std::uint64_t> functions_;
  struct Word {
    std::uint64_t place;
    std::uint64_t value;  // relative to the beginning, unless there is a name
    std::string name;
  };
  std::vector<Word> words_;
};

}  // namespace deadheat::watch
