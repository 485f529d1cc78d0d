// SPDX-License-Identifier: Apache-2.0
// `deadheat tune`: rate and budget of a program that is running and samples.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/control_socket.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/sampling_options.h"
#include "report/describe.h"
#include "report/finding_json.h"
#include "report/live_sampling.h"

namespace deadheat {

namespace {

struct TuneOptions {
  std::int32_t process = 0;
  SamplingOptions sampling;
  ReportFormat format = ReportFormat::kText;
};

constexpr char kTuneFooter[] =
    R"(The process must have been started with 'deadheat run --rate' or '--budget' (or with one of
them in DEADHEAT_OPTIONS), by the same user. What is not given stays as it is; without --rate
and --budget nothing changes, and its state is shown. A budget of 0 means none: the rate
stays what it is then.

Examples:
  deadheat tune --pid 4711
  deadheat tune --pid 4711 --rate 10%
  deadheat tune --pid 4711 --budget 2% --rate 5%
  deadheat tune --pid 4711 --format json

Exit codes: 0 done; 1 no such process, or it does not sample or answer; 2 bad usage.)";

std::string describe_state(std::int32_t process, const raw_report::Sampling& sampling) {
  const double effective = effective_rate(sampling);
  std::string text = fmt::format("process {} samples {} of its work, in periods of {}", process,
                                 describe_share(share_of_million(sampling.rate)), describe_period(sampling.period_us));
  if (sampling.budget != 0) {
    text +=
        fmt::format(", for a budget of {} of the processor time", describe_share(share_of_million(sampling.budget)));
  }
  if (effective > 0) {
    return text + fmt::format("\nso far it sampled {} in {}\n", describe_share(effective), describe_amounts(sampling));
  }
  return text + "\nso far it sampled nothing\n";
}

// The state after the last request. Errors: those of ControlSocket.
Result<raw_report::Sampling> request_all(ControlSocket& socket, const SamplingOptions& wanted) {
  if (!wanted.is_on()) return socket.ask("status");
  std::optional<Result<raw_report::Sampling>> state;
  const auto request = [&](std::string_view name, std::optional<std::uint64_t> value) {
    if (!value || (state && !state->ok())) return;
    state.emplace(socket.ask(fmt::format("{}={}", name, *value)));
  };
  request("rate", wanted.rate);
  request("budget", wanted.budget);
  return *state;
}

ExitCode tune(const TuneOptions& options) {
  const auto failed = [](const Error& error) {
    print_error(error.message);
    return ExitCode::kFailure;
  };
  auto socket = ControlSocket::open(options.process);
  if (!socket.ok()) return failed(socket.error());
  const auto state = request_all(socket.value(), options.sampling);
  if (!state.ok()) return failed(state.error());
  const bool as_json = options.format == ReportFormat::kJson;
  auto output = Output::open(std::nullopt);
  if (!output.ok()) return failed(output.error());
  const Status written =
      output.value().write(as_json ? format_sampling_json(static_cast<std::uint32_t>(options.process), state.value())
                                   : describe_state(options.process, state.value()));
  return written.ok() ? ExitCode::kSuccess : failed(written.error());
}

}  // namespace

void add_tune_command(CLI::App& app, ExitCode& result) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* command = app.add_subcommand("tune", "Change how much a running program samples");
  command->footer(kTuneFooter);
  command->add_option("--pid", options->process, "The process")
      ->required()
      ->check(CLI::Range(1, 1 << 22))
      ->option_text("NUMBER");
  add_rate_and_budget(*command, options->sampling);
  add_format_option(*command, options->format);
  command->callback([options, &result] { result = tune(*options); });
}

}  // namespace deadheat
