// SPDX-License-Identifier: Apache-2.0
#include "report/live_sampling.h"

#include <fmt/format.h>

#include "report/describe.h"

namespace deadheat {

namespace {

// The second bound that is told: what a tester may want to know of a race that is rare.
constexpr double kRareOccurrence = 0.1;

std::string describe_request(const raw_report::Sampling& sampling) {
  const std::string rate = describe_share(share_of_million(sampling.rate));
  if (sampling.budget == 0) return fmt::format("asked for {}", rate);
  return fmt::format("rate {} at the end, for a budget of {}", rate, describe_share(share_of_million(sampling.budget)));
}

// What this run, and more runs like it, say of a race that they do not report.
std::string describe_bounds(double rate) {
  const std::string confidence = describe_share(kConfidence);
  const std::string rare =
      fmt::format("to know that it occurs in less than {} of the runs", describe_share(kRareOccurrence));
  const std::uint64_t runs_for_rare = runs_to_bound(rate, kRareOccurrence).value_or(0);
  if (const auto bound = occurrence_bound(rate, 1)) {
    return fmt::format(
        "a race that this run did not report occurs in less than {} of the runs, with {} confidence; "
        "it takes {} without a report {}",
        describe_share(*bound), confidence, counted(runs_for_rare, "run"), rare);
  }
  return fmt::format(
      "one run says little: it takes {} without a report to exclude such a race with {} confidence, "
      "and {} {}",
      counted(runs_to_bound(rate).value_or(0), "run"), confidence, grouped(runs_for_rare), rare);
}

// What the horizon leaves of the guarantee.
std::string describe_distance(std::uint64_t horizon_us) {
  return fmt::format(", its two accesses at most {} of work apart,", describe_period(horizon_us));
}

std::string describe_expired(const raw_report::Sampling& sampling) {
  return fmt::format(
      "{} expired, {} of work after their period or later: a race with them whose second access came after that "
      "was not seen (--horizon forever keeps them)",
      counted(sampling.expired_records, "record"), describe_period(sampling.horizon_us));
}

}  // namespace

void add_to(std::uint64_t& sum, std::uint64_t number) {
  if (__builtin_add_overflow(sum, number, &sum)) sum = UINT64_MAX;
}

void LiveSampling::add(const raw_report::Sampling& one) {
  if (processes++ == 0) {
    totals = one;
    return;
  }
  add_to(totals.periods, one.periods);
  add_to(totals.work_ns, one.work_ns);
  add_to(totals.sampled_work_ns, one.sampled_work_ns);
  add_to(totals.expected_work_ns, one.expected_work_ns);
  add_to(totals.cost_ns, one.cost_ns);
  add_to(totals.sampled_accesses, one.sampled_accesses);
  add_to(totals.checked_accesses, one.checked_accesses);
  add_to(totals.expired_records, one.expired_records);
}

double expected_rate(const raw_report::Sampling& sampling) {
  if (sampling.work_ns != 0) return share_of(sampling.expected_work_ns, sampling.work_ns);
  return sampling.budget == 0 ? share_of_million(sampling.rate) : 0;
}

double cost_share(const raw_report::Sampling& sampling) {
  std::uint64_t all = sampling.work_ns;
  add_to(all, sampling.cost_ns);
  return share_of(sampling.cost_ns, all);
}

std::string describe_period(std::uint64_t microseconds) {
  if (microseconds < 1000) return fmt::format("{} us", microseconds);
  if (microseconds < 1'000'000) return fmt::format("{:.4g} ms", static_cast<double>(microseconds) / 1e3);
  return fmt::format("{:.4g} s", static_cast<double>(microseconds) / 1e6);
}

std::string describe_amounts(const raw_report::Sampling& sampling) {
  return fmt::format("{}: {}; it took {} of the processor time; seed {}", counted(sampling.periods, "period"),
                     sampling.sampled_accesses == 1 ? "1 access" : grouped(sampling.sampled_accesses) + " accesses",
                     describe_share(cost_share(sampling)), sampling.seed);
}

std::vector<std::string> describe_sampling(const LiveSampling& sampling) {
  const raw_report::Sampling& totals = sampling.totals;
  const double sampled = effective_rate(totals);
  const double rate = expected_rate(totals);
  std::vector<std::string> lines;
  if (sampled > 0) {
    lines.push_back(fmt::format("sampled {} of the work ({}) in {}", describe_share(sampled), describe_request(totals),
                                describe_amounts(totals)));
    const bool is_bounded = totals.horizon_us != raw_report::kForever;
    lines.push_back(fmt::format("a race that occurs once in every run{} is found in a run with probability {}",
                                is_bounded ? describe_distance(totals.horizon_us) : "", describe_share(rate)));
    lines.push_back(describe_bounds(rate));
    if (is_bounded && totals.expired_records != 0) lines.push_back(describe_expired(totals));
  } else {
    lines.push_back(
        fmt::format("nothing was sampled ({}), so this run by itself says nothing about races: run longer, or take "
                    "a higher rate or shorter periods",
                    describe_request(totals)));
  }
  if (sampling.silent_processes != 0) {
    lines.push_back(fmt::format("how much {} of {} processes sampled is not known", grouped(sampling.silent_processes),
                                grouped(sampling.processes + sampling.silent_processes)));
  }
  return lines;
}

}  // namespace deadheat
