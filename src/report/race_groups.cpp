// SPDX-License-Identifier: Apache-2.0
#include "report/race_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "report/describe.h"
#include "report/function_names.h"

namespace deadheat {

namespace {

constexpr std::size_t kMostGroups = 10;
constexpr std::size_t kMostMembers = 8;

// The frames that are the program's own, innermost first.
std::vector<Site> own_frames(const std::vector<SiteId>& stack, const Dictionary& dictionary) {
  std::vector<Site> frames;
  for (const SiteId site : stack) {
    if (is_own_frame(dictionary.sites[site])) frames.push_back(dictionary.sites[site]);
  }
  return frames;
}

std::string own_place(const RacingAccess& access, const Dictionary& dictionary) {
  const std::vector<Site> frames = own_frames(stack_of(access), dictionary);
  if (frames.empty()) return innermost_place(access, dictionary);
  return describe_function(frames.front()) + " " + describe_place(frames.front());
}

std::string describe_object(const Finding& finding, const Dictionary& dictionary) {
  if (name_of(finding.address, dictionary)) return describe_address(finding.address, dictionary);
  const std::vector<Site> frames = own_frames(finding.block.allocated, dictionary);
  if (frames.empty()) return "other memory";
  return fmt::format("memory allocated by {} {}", describe_function(frames.front()), describe_place(frames.front()));
}

std::string describe_member(const NumberedRace& race) {
  std::string words = describe_object(*race.finding, *race.dictionary);
  const std::vector<Site> frames = own_frames(stack_of(race.finding->later), *race.dictionary);
  if (frames.size() > 1) words += ", by " + describe_function(frames[1]);
  return fmt::format("{} (race {})", words, race.number);
}

}  // namespace

std::vector<std::string> describe_groups(const std::vector<NumberedRace>& races) {
  std::map<std::tuple<RaceKind, std::string, std::string>, std::size_t> known;
  std::vector<std::vector<NumberedRace>> groups;
  for (const NumberedRace& race : races) {
    const auto [found, is_new] =
        known.emplace(std::tuple(race.finding->kind, own_place(race.finding->later, *race.dictionary),
                                 own_place(race.finding->earlier, *race.dictionary)),
                      groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(race);
  }
  std::vector<std::string> lines;
  for (const std::vector<NumberedRace>& group : groups) {
    if (group.size() < 2 || lines.size() == kMostGroups) continue;
    std::string line = fmt::format("race {} also on:", group.front().number);
    for (std::size_t at = 1; at < std::min(group.size(), kMostMembers + 1); ++at) {
      line += (at == 1 ? " " : "; ") + describe_member(group[at]);
    }
    if (group.size() > kMostMembers + 1) {
      line += fmt::format("; and {}", counted(group.size() - kMostMembers - 1, "more race"));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace deadheat
