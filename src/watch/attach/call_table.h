// SPDX-License-Identifier: Apache-2.0
// CallTable: the words by which the modules of a process call what the agent replaces.
//
// A word is taken when it leads to libc, directly or by the loader. One that leads elsewhere belongs to somebody who
// stands in front of libc already (a sanitizer, a tool of ours), who must go on to be called.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "watch/attach/agent_image.h"
#include "watch/attach/target_modules.h"
#include "watch/attach/traced_process.h"
#include "watch/attach_block.h"

namespace deadheat::watch {

class CallTable {
 public:
  // Reads files: before the process stands still. The modules and the agent's image must stay.
  CallTable(const std::vector<TargetModule>& modules, const AgentImage& agent);

  // libc's function of that name in the process; 0 if there is none.
  [[nodiscard]] std::uint64_t original(std::string_view name) const;

  // Replacements are from the beginning of the agent. kInvalid: somebody else has replaced the functions by which
  // signals are blocked.
  [[nodiscard]] Result<std::vector<AttachCall>> choose(const TracedProcess& target,
                                                       const std::vector<TargetMapping>& mappings) const;
  // Whether the agent will see all calls of libc by which the program blocks signals.
  [[nodiscard]] bool sees_masks() const { return sees_masks_; }

 private:
  struct Word {
    std::string_view name;
    std::uint64_t address = 0;
    std::uint64_t replacement = 0;
    const TargetModule* module = nullptr;
  };

  std::map<std::string, std::uint64_t, std::less<>> originals_;
  std::map<std::string, std::string, std::less<>> others_;  // functions that a module beside libc defines, too
  std::vector<Word> words_;
  bool sees_masks_ = true;
};

}  // namespace deadheat::watch
