// SPDX-License-Identifier: Apache-2.0
// Which source lines a finding brings along: those of the innermost frame of each
// stack, and of the frames in the user's own files, more of them for the two accesses
// than for where things came from.
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "report/json_parts.h"
#include "report/json_text.h"

namespace deadheat {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::uint32_t kContextOfAccess = 6;
constexpr std::uint32_t kContextOfOthers = 2;
constexpr std::size_t kFramesOfAccess = 4;  // of the user's own files

class SnippetCollector {
 public:
  explicit SnippetCollector(SourceFiles& sources) : sources_(sources) {}

  void add_stack(const Json& stack, std::size_t own_frames, std::uint32_t context) {
    bool is_innermost = own_frames > 1;
    for (const Json& frame : stack) {
      if (!frame.at("file").is_string() || !frame.at("line").is_number()) continue;
      const bool is_own = !is_system_source(frame.at("file").get_ref<const std::string&>());
      if (!is_own && !is_innermost) continue;
      add_frame(frame, context);
      is_innermost = false;
      context = kContextOfOthers;
      if (is_own && --own_frames == 0) return;
    }
  }

  Json take() { return std::move(out_); }

 private:
  void add_frame(const Json& frame, std::uint32_t context) {
    const std::string& file = frame.at("file").get_ref<const std::string&>();
    const auto line = frame.at("line").get<std::uint32_t>();
    if (!seen_.emplace(file, line).second) return;
    const std::string module = frame.at("module").is_string() ? frame.at("module").get<std::string>() : "";
    const auto snippet = sources_.around(file, line, context, module);
    if (!snippet) return;
    out_.push_back({{"file", snippet->file},
                    {"line", snippet->line},
                    {"first_line", snippet->first_line},
                    {"lines", snippet->lines},
                    {"newer", snippet->is_newer}});
  }

  SourceFiles& sources_;
  std::set<std::pair<std::string, std::uint32_t>> seen_;
  Json out_ = Json::array();
};

}  // namespace

Json snippets_of(const Json& finding, SourceFiles& sources) {
  SnippetCollector collector(sources);
  for (const char* side : {"earlier", "later"}) {
    collector.add_stack(finding.at(side).at("stack"), kFramesOfAccess, kContextOfAccess);
  }
  for (const char* side : {"earlier", "later"}) {
    for (const Json& lock : finding.at(side).at("locks")) {
      for (const char* stack : {"acquired", "created"}) {
        if (lock.contains(stack)) collector.add_stack(lock.at(stack), 1, kContextOfOthers);
      }
    }
  }
  if (finding.contains("threads")) {
    for (const Json& thread : finding.at("threads")) {
      collector.add_stack(thread.at("created"), 1, kContextOfOthers);
    }
  }
  if (finding.contains("memory")) {
    for (const char* stack : {"allocated", "freed"}) {
      collector.add_stack(finding.at("memory").at(stack), 1, kContextOfOthers);
    }
  }
  return collector.take();
}

}  // namespace deadheat
