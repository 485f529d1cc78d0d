// SPDX-License-Identifier: Apache-2.0
#include "watch/attach/call_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "watch/attach/signal_masks.h"

namespace deadheat::watch {
namespace {

constexpr std::string_view kMaskFunctions[] = {"sigprocmask", "pthread_sigmask", "sigaction", "sigsetmask", "sigblock"};

bool sets_masks(std::string_view name) {
  return std::find(std::begin(kMaskFunctions), std::end(kMaskFunctions), name) != std::end(kMaskFunctions);
}

// Late functions keep, or depend on, the masks and actions that the program wants.
bool is_late(std::string_view name) {
  constexpr std::string_view kOthers[] = {"pthread_sigmask", "pthread_create", "thrd_create", "ppoll",
                                          "pselect",         "epoll_pwait",    "epoll_pwait2"};
  if (std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers)) return true;
  if (name.find("cond_") != std::string_view::npos || name.find("cnd_") != std::string_view::npos) return false;
  for (const std::string_view part : {"sig", "jmp", "context"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

std::string_view file_name(const std::string& path) { return std::string_view(path).substr(path.rfind('/') + 1); }

bool belongs_to_loader(const std::string& path) { return file_name(path).starts_with("ld-"); }

bool belongs_to_library(const std::string& path) {
  return is_c_library(path) || path.find("/libpthread") != std::string::npos;
}

// An agent of ours that is preloaded keeps masks as we do.
bool is_own_agent(std::string_view path) { return path.find("/libdeadheat_watch.so") != std::string_view::npos; }

}  // namespace

CallTable::CallTable(const std::vector<TargetModule>& modules, const AgentImage& agent) {
  for (const TargetModule& module : modules) {
    const bool is_library = belongs_to_library(module.path);
    for (const auto& [name, address] : defined_functions(module.image)) {
      if (is_library) originals_.emplace(name, module.bias + address);
      if (!is_library && !belongs_to_loader(module.path) && agent.functions().contains(std::string(name))) {
        others_.emplace(name, module.path);
      }
    }
  }
  // Linked statically: nobody knows how it blocks signals.
  sees_masks_ = !originals_.empty();
  for (const TargetModule& module : modules) {
    if (belongs_to_library(module.path) || belongs_to_loader(module.path) || is_own_agent(module.path)) continue;
    for (const CallWord& word : call_words(module.image)) {
      if (!word.is_only_called && sets_masks(word.name)) sees_masks_ = false;
      const auto replacement = agent.functions().find(std::string(word.name));
      const bool is_wanted =
          word.is_only_called && replacement != agent.functions().end() && originals_.contains(word.name);
      if (is_wanted) words_.push_back({word.name, module.bias + word.address, replacement->second, &module});
    }
  }
}

std::uint64_t CallTable::original(std::string_view name) const {
  const auto found = originals_.find(name);
  return found == originals_.end() ? 0 : found->second;
}

Result<std::vector<AttachCall>> CallTable::choose(const TracedProcess& target,
                                                  const std::vector<TargetMapping>& mappings) const {
  std::vector<AttachCall> calls;
  for (const Word& word : words_) {
    const TargetMapping* const mapping = mapping_at(mappings, word.address);
    std::uint64_t value = 0;
    if (mapping == nullptr || !target.read(word.address, std::as_writable_bytes(std::span(&value, 1)))) continue;
    const TargetMapping* const code = mapping_at(mappings, value);
    if (code == nullptr) continue;
    const auto other = others_.find(word.name);
    const bool is_unresolved = code->path == word.module->path && other == others_.end();
    if (!is_unresolved && !belongs_to_library(code->path)) {
      const std::string& whose = other != others_.end() ? other->second : code->path;
      if (!sets_masks(word.name) || is_own_agent(whose)) continue;
      return Error{ErrorCode::kInvalid,
                   fmt::format("the process has a '{}' of its own ('{}', a sanitizer?) in front of libc's, and a "
                               "breakpoint in a thread that blocks SIGTRAP behind our back would end it: it is left "
                               "alone",
                               word.name, whose)};
    }
    AttachCall call;
    call.word = word.address;
    call.replacement = word.replacement;
    call.is_writable = mapping->is_writable ? 1 : 0;
    call.is_late = is_late(word.name) ? 1 : 0;
    calls.push_back(call);
  }
  return calls;
}

}  // namespace deadheat::watch
