// SPDX-License-Identifier: Apache-2.0
#include "report/finding_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "report/describe.h"
#include "report/fingerprint.h"
#include "report/race_groups.h"

namespace deadheat {

namespace {

std::string describe_bytes(const Finding& finding, const Dictionary& dictionary) {
  const std::string bytes = counted(finding.size, "byte");
  const std::string address = describe_address(finding.address, dictionary);
  if (!name_of(finding.address, dictionary)) return fmt::format("{} at {}", bytes, address);
  return fmt::format("{} ({} at {:#x})", address, bytes, finding.address);
}

std::string format_share(const SampledShare& share) {
  return fmt::format("deadheat: sampled {} of {} accesses, effective rate {}\n", grouped(share.sampled),
                     grouped(share.all), describe_share(effective_rate(share)));
}

}  // namespace

std::string format_finding(const Finding& finding, std::uint64_t number, const Dictionary& dictionary,
                           ColourMode colour, const AccessContext* context) {
  std::string out = fmt::format("{}. {} on {}\n", number, painted(title_of(finding.kind), Paint::kBad, colour),
                                describe_bytes(finding, dictionary));
  add_access(out, "later", finding.later, {}, dictionary, colour);
  add_access(out, "earlier", finding.earlier, {}, dictionary, colour);
  if (finding.block.size != 0) {
    add_line(
        out, "memory",
        fmt::format("heap block of {} at {:#x}, allocated", counted(finding.block.size, "byte"), finding.block.begin),
        colour);
    add_stack(out, finding.block.allocated, dictionary, colour);
  }
  add_line(out, "why", explain(finding, dictionary, context), colour);
  add_line(out, "seen",
           fmt::format("{}, first at event {}; fingerprint {}", counted(finding.occurrences, "time"),
                       grouped(finding.event_index), fingerprint_of(finding, dictionary)),
           colour);
  return out;
}

std::string format_summary(const Analysis& analysis, ColourMode colour) {
  const std::string sampling = analysis.sampled ? format_share(*analysis.sampled) : "";
  std::string extent =
      fmt::format("in {}, {}", counted(analysis.event_count, "event"), counted(analysis.thread_count, "thread"));
  if (analysis.suppressed_count != 0) extent += fmt::format(", {} suppressed", grouped(analysis.suppressed_count));
  if (const auto why = why_nothing_seen(analysis)) {
    return fmt::format("deadheat: {}: {}\n{}", painted("nothing was looked at", Paint::kBad, colour), *why, sampling);
  }
  if (analysis.findings.empty()) {
    return fmt::format("deadheat: {} {}\n{}", painted("no data races", Paint::kGood, colour), extent, sampling);
  }
  const std::string races = counted(analysis.findings.size(), "data race");
  return fmt::format("deadheat: {} ({}) {}\n{}", painted(races, Paint::kBad, colour),
                     counted(total_occurrences(analysis.findings), "occurrence"), extent, sampling);
}

std::string format_counters(const std::vector<Counter>& counters) {
  std::size_t width = 0;
  for (const Counter& counter : counters) width = std::max(width, counter.name.size());
  std::string out;
  for (const Counter& counter : counters) {
    fmt::format_to(std::back_inserter(out), "  {:<{}}  {:>16}\n", counter.name, width, grouped(counter.value));
  }
  return out;
}

std::string format_text_report(const Analysis& analysis, ColourMode colour) {
  std::string out;
  for (std::size_t index = 0; index < analysis.findings.size(); ++index) {
    out +=
        format_finding(analysis.findings[index], index + 1, analysis.dictionary, colour, context_of(analysis, index));
    out += '\n';
  }
  std::vector<NumberedRace> races;
  for (const Finding& finding : analysis.findings) races.push_back({races.size() + 1, &finding, &analysis.dictionary});
  for (const std::string& line : describe_groups(races)) out += fmt::format("deadheat: {}\n", line);
  return out + format_summary(analysis, colour);
}

}  // namespace deadheat
