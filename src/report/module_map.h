// SPDX-License-Identifier: Apache-2.0
// ModuleMap: which file a code or data address of one process belongs to.
//
// A process sends its list of modules again whenever it changes. A race may
// concern code that was unloaded before the race was found, so old lists are
// not forgotten: an address that no present module has is looked up among those
// that are gone, the latest first. Two modules that lived at one address one
// after the other can be confused that way; the present one wins.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/raw_packet_reader.h"

namespace deadheat {

// A place in a file: `address` is what the file's own symbol table would call it.
struct FileAddress {
  std::string path;
  std::uint64_t address = 0;
  friend auto operator<=>(const FileAddress&, const FileAddress&) = default;
};

class ModuleMap {
 public:
  void replace(const std::vector<RawModule>& modules);

  [[nodiscard]] std::optional<FileAddress> find(std::uint64_t address) const;

  [[nodiscard]] bool empty() const { return present_.empty(); }
  [[nodiscard]] const std::map<std::uint64_t, RawModule>& present() const { return present_; }

 private:
  std::map<std::uint64_t, RawModule> present_;  // by first address
  std::vector<RawModule> gone_;                 // the latest last
};

}  // namespace deadheat
