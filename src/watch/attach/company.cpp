// SPDX-License-Identifier: Apache-2.0
#include "watch/attach/company.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "watch/attach/agent_region.h"
#include "watch/attach/remove_agent.h"

namespace deadheat::watch {
namespace {

constexpr char kAgentThread[] = "deadheat";

pid_t parent_of(pid_t process) {
  return static_cast<pid_t>(std::strtol(status_of(process, "PPid").c_str(), nullptr, 10));
}

// The command that the process was started by, if it is one of ours and still there; 0 otherwise.
pid_t starter_of(pid_t process) {
  constexpr int kMostAncestors = 64;
  pid_t ancestor = parent_of(process);
  for (int count = 0; ancestor > 1 && count < kMostAncestors; ++count) {
    if (status_of(ancestor, "Name") == kAgentThread) return ancestor;
    ancestor = parent_of(ancestor);
  }
  return 0;
}

bool has_mapped(const std::vector<TargetMapping>& mappings, std::string_view file) {
  return std::any_of(mappings.begin(), mappings.end(),
                     [&](const TargetMapping& mapping) { return mapping.path.find(file) != std::string::npos; });
}

bool has_agent_thread(const TracedProcess& target) {
  return std::any_of(target.threads().begin(), target.threads().end(), [&](const StoppedThread& thread) {
    return status_of_thread(target.process(), thread.number, "Name") == kAgentThread;
  });
}

std::string named(pid_t process) {
  return process == 0 ? std::string("another deadheat")
                      : fmt::format("process {} ('{}')", process, command_of(process));
}

CompanyFound meet_attached(TracedProcess& target, const AgentPlace& place, SignalMasks& masks) {
  const AgentOwner& owner = place.owner;
  const bool is_copy = owner.process != target.process();  // a child of fork has it
  if (!is_copy && watcher_lives(owner)) {
    return {Company::kStays, fmt::format("process {} is watched already, by process {} ('{}'): wait for its end, or "
                                         "end it with Ctrl-C first",
                                         target.process(), owner.watcher, owner.command)};
  }
  const bool is_kept = !is_copy && keeper_lives(owner);
  if (is_kept || agent_works(target, place)) {
    if (!is_kept) ask_agent_to_finish(target.process(), place);
    return {Company::kLeaving, fmt::format("the agent of a deadheat that was killed is still in process {}: try again "
                                           "in a moment",
                                           target.process())};
  }
  const std::string obstacle = remove_agent(target, place, masks, MaskSettling::kWait);
  if (obstacle.empty()) return {Company::kLeaving, ""};
  return {Company::kLeaving,
          fmt::format("the agent of an earlier watch is still in process {}: {}", target.process(), obstacle)};
}

CompanyFound meet_preloaded(const TracedProcess& target, const std::vector<TargetMapping>& mappings) {
  const pid_t starter = starter_of(target.process());
  if (has_mapped(mappings, "/libdeadheat_watch.so") && has_agent_thread(target)) {
    return {starter != 0 ? Company::kStays : Company::kLeaving,
            fmt::format("process {} is watched already, by {}, which has started it: wait for the end of that watch",
                        target.process(), named(starter))};
  }
  if (has_mapped(mappings, "/libdeadheat_record.so") && starter != 0) {
    return {Company::kStays, fmt::format("process {} is being recorded, by {}: wait for the end of the recording",
                                         target.process(), named(starter))};
  }
  return {};
}

}  // namespace

CompanyFound meet_company(TracedProcess& target, const std::vector<TargetMapping>& mappings, SignalMasks& masks) {
  for (const AgentPlace& place : agents_in(target, mappings)) {
    CompanyFound found = meet_attached(target, place, masks);
    if (found.what != Company::kNone) return found;
  }
  if (CompanyFound found = meet_preloaded(target, mappings); found.what != Company::kNone) return found;
  // One of another version, which has no mark that we understand.
  if (!has_agent_thread(target) || status_of(target.process(), "Name") == kAgentThread) return {};
  return {Company::kStays,
          fmt::format("process {} is watched already, by a deadheat of another version", target.process())};
}

}  // namespace deadheat::watch
