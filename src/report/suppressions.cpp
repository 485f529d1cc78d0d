// SPDX-License-Identifier: Apache-2.0
#include "report/suppressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "report/describe.h"
#include "report/file_content.h"

namespace deadheat {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\v\f";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<SuppressionKind> kind_of(std::string_view word) {
  if (word == "race") return SuppressionKind::kRace;
  if (word == "race_top") return SuppressionKind::kRaceTop;
  if (word == "called_from_lib") return SuppressionKind::kCalledFromLibrary;
  for (const std::string_view other : {"thread", "mutex", "signal", "deadlock"}) {
    if (word == other) return SuppressionKind::kOther;
  }
  return std::nullopt;
}

// Calls the visitor with each line that says something, and with its number.
template <class Visitor>
void for_each_line(std::string_view text, std::size_t first_number, Visitor visit) {
  for (std::size_t number = first_number; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && !line.starts_with('#')) visit(line, number);
  }
}

// The message says what is wrong with the line, not where it stands.
Result<Suppression> parse_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  const auto malformed = [](std::string message) { return Error{ErrorCode::kMalformed, std::move(message)}; };
  if (colon == std::string_view::npos) {
    return malformed(fmt::format("'{}' has no ':'; a suppression looks like 'race:pattern'", line));
  }
  const std::string_view word = trimmed(line.substr(0, colon));
  const std::string_view pattern = trimmed(line.substr(colon + 1));
  const auto kind = kind_of(word);
  if (!kind) {
    return malformed(fmt::format(
        "unknown kind '{}'; known are race, race_top, called_from_lib, thread, mutex, signal, deadlock", word));
  }
  if (pattern.empty()) return malformed(fmt::format("'{}' has no pattern after the ':'", line));
  return Suppression{*kind, std::string(line), std::string(pattern), {}, 0};
}

bool matches_module(const Suppression& suppression, const Site& site) {
  return !site.module.empty() && matches_pattern(suppression.pattern, site.module);
}

bool matches_site(const Suppression& suppression, const Site& site) {
  return (!site.function.empty() && matches_pattern(suppression.pattern, site.function)) ||
         (!site.file.empty() && matches_pattern(suppression.pattern, site.file)) || matches_module(suppression, site);
}

bool matches(const Suppression& suppression, const Finding& finding, const SiteTable& sites,
             std::string_view memory_name) {
  const auto any_frame = [&](auto&& matches_frame) {
    for (const RacingAccess* side : {&finding.earlier, &finding.later}) {
      const std::vector<SiteId> stack = stack_of(*side);
      if (std::any_of(stack.begin(), stack.end(),
                      [&](SiteId site) { return matches_frame(suppression, sites[site]); })) {
        return true;
      }
    }
    return false;
  };
  switch (suppression.kind) {
    case SuppressionKind::kRace:
      return any_frame(matches_site) || (!memory_name.empty() && matches_pattern(suppression.pattern, memory_name));
    case SuppressionKind::kRaceTop:
      return matches_site(suppression, sites[finding.earlier.site]) ||
             matches_site(suppression, sites[finding.later.site]);
    case SuppressionKind::kCalledFromLibrary:
      return any_frame(matches_module);
    case SuppressionKind::kOther:
      break;
  }
  return false;
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
  const bool at_start = pattern.starts_with('^');
  if (at_start) pattern.remove_prefix(1);
  const bool at_end = pattern.ends_with('$');
  if (at_end) pattern.remove_suffix(1);
  // Each piece between two '*' goes to its first place after the one before: if
  // there is any match, there is one that way. Only the last piece of a pattern
  // that is tied to the end must be looked for there.
  bool is_tied = at_start;
  while (true) {
    const std::size_t star = pattern.find('*');
    const std::string_view piece = pattern.substr(0, star);
    if (star == std::string_view::npos && at_end) {
      return is_tied ? text == piece : text.ends_with(piece);
    }
    const std::size_t found = is_tied ? (text.starts_with(piece) ? 0 : std::string_view::npos) : text.find(piece);
    if (found == std::string_view::npos) return false;
    if (star == std::string_view::npos) return true;
    text.remove_prefix(found + piece.size());
    pattern.remove_prefix(star + 1);
    is_tied = false;
  }
}

std::vector<Suppression> Suppressions::of_headers() {
  const auto top_frame = [](const char* pattern) {
    return Suppression{.kind = SuppressionKind::kRaceTop, .line = {}, .pattern = pattern, .program = {}};
  };
  return {
      // libstdc++ up to 13: load() gives up its lock by a relaxed operation.
      top_frame("^std::_Sp_atomic<*>::load"),
      // libc++: the first use of a stream sets how it fills, also of std::cout in two threads at once.
      top_frame("^std::__1::_SentinelValueFill<"),
  };
}

Status Suppressions::add(std::string_view text, const std::string& name) {
  std::vector<Suppression> added;
  std::optional<Error> problem;
  for_each_line(text, 1, [&](std::string_view line, std::size_t number) {
    auto suppression = parse_line(line);
    if (suppression.ok()) {
      added.push_back(std::move(suppression).value());
    } else if (!problem) {
      problem = Error{suppression.error().code, fmt::format("{}:{}: {}", name, number, suppression.error().message)};
    }
  });
  if (problem) return *problem;
  all_.insert(all_.end(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
  return {};
}

Status Suppressions::add_of_program(std::string_view text, const std::string& program, std::uint32_t first_line) {
  if (!known_programs_.emplace(program, first_line).second) return {};
  std::string first_problem;
  std::uint64_t problems = 0;
  for_each_line(text, first_line, [&](std::string_view line, std::size_t number) {
    auto suppression = parse_line(line);
    if (suppression.ok()) {
      all_.push_back(std::move(suppression).value());
      all_.back().program = program;
    } else if (problems++ == 0) {
      first_problem = fmt::format("line {}: {}", number, suppression.error().message);
    }
  });
  if (problems == 0) return {};
  return Error{ErrorCode::kMalformed,
               fmt::format("{} ({})", first_problem,
                           problems == 1 ? std::string("the line is ignored")
                                         : fmt::format("this line and {} of the others are ignored", problems - 1))};
}

Status Suppressions::add_file(const std::string& path) {
  const auto text = file_content(path);
  if (!text.ok()) {
    return Error{ErrorCode::kIo, fmt::format("cannot read suppressions '{}': {}", path, text.error().message)};
  }
  return add(text.value(), path);
}

Suppression* Suppressions::match(const LiveFinding& live, std::string_view program) {
  return match(live.finding, live.dictionary, live.memory.name, program);
}

Suppression* Suppressions::match(const Finding& finding, const Dictionary& dictionary, std::string_view memory_name,
                                 std::string_view program) {
  const auto hides = [&](const Suppression& one) {
    return (one.program.empty() || one.program == program) && matches(one, finding, dictionary.sites, memory_name);
  };
  for (auto* const list : {&all_, &ours_}) {
    const auto first = std::find_if(list->begin(), list->end(), hides);
    if (first != list->end()) return &*first;
  }
  return nullptr;
}

}  // namespace deadheat
