// SPDX-License-Identifier: Apache-2.0
// `deadheat trace generate`: well-formed traces from a seed, for tests and
// benchmarks.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/progress.h"
#include "cli/trace_output.h"
#include "trace/trace_generator.h"

namespace deadheat {

namespace {

enum class Preset : std::uint8_t { kAccessHeavy, kLockHeavy, kReadShared, kEverything };

// What the user said; the preset decides the rest.
struct GenerateOptions {
  std::string output;
  TraceFormat to = TraceFormat::kBinary;
  CLI::Option* to_option = nullptr;
  Preset preset = Preset::kAccessHeavy;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> events;
  std::optional<std::uint32_t> threads;
  std::optional<std::uint32_t> locks;
  std::optional<std::uint32_t> variables;
  std::optional<double> race_density;
  std::optional<double> read_fraction;
  std::optional<double> switch_rate;
};

constexpr std::uint64_t kDefaultEvents = 100'000;
constexpr std::uint32_t kDefaultThreads = 4;
constexpr std::size_t kBatch = 4096;

constexpr char kGenerateFooter[] =
    R"(Presets: access-heavy (default), nine accesses in ten events; lock-heavy, half of the
events take or leave a lock; read-shared, all threads read the same data; everything,
a short trace with every kind of event, chosen by the seed. The same options give the
same trace everywhere. Without --race-density the first three have no race.

Examples:
  deadheat trace generate big.dht --events 10000000 --threads 16
  deadheat trace generate small.trace --preset everything --seed 7
  deadheat trace generate racy.dht --race-density 0.001 && deadheat analyze racy.dht

Exit codes: 0 done; 1 failure; 2 bad usage.)";

template <class T>
void override_with(const std::optional<T>& chosen, T& value) {
  if (chosen) value = *chosen;
}

GeneratorOptions generator_options(const GenerateOptions& options) {
  const std::uint64_t events = options.events.value_or(kDefaultEvents);
  const std::uint32_t threads = options.threads.value_or(kDefaultThreads);
  GeneratorOptions generator;
  switch (options.preset) {
    case Preset::kAccessHeavy:
      generator = access_heavy(options.seed, events, threads);
      break;
    case Preset::kLockHeavy:
      generator = lock_heavy(options.seed, events, threads);
      break;
    case Preset::kReadShared:
      generator = read_shared(options.seed, events, threads);
      break;
    case Preset::kEverything:
      generator = small_everything(options.seed);
      break;
  }
  override_with(options.events, generator.events);
  override_with(options.threads, generator.threads);
  override_with(options.locks, generator.locks);
  override_with(options.variables, generator.variables);
  override_with(options.race_density, generator.race_density);
  override_with(options.read_fraction, generator.read_fraction);
  override_with(options.switch_rate, generator.switch_rate);
  return generator;
}

Status write_events(TraceGenerator& generator, EventSink& sink) {
  ProgressLine progress;
  std::vector<Event> batch(kBatch);
  std::uint64_t events = 0;
  while (true) {
    const std::size_t filled = generator.fill(batch);
    if (Status status = sink.update(generator.dictionary()); !status.ok()) return status;
    if (Status status = sink.write(std::span(batch).first(filled)); !status.ok()) return status;
    events += filled;
    progress.update({}, events);
    if (filled < batch.size()) return {};
  }
}

Status generate(const GenerateOptions& options) {
  const bool chosen = options.to_option->count() > 0;
  const auto format = format_for(options.output, chosen ? std::optional(options.to) : std::nullopt);
  if (!format.ok()) return format.error();
  auto output = TraceOutput::create(options.output, format.value());
  if (!output.ok()) return output.error();
  TraceGenerator generator(generator_options(options));
  if (Status status = write_events(generator, output.value().sink()); !status.ok()) return status;
  return output.value().close();
}

}  // namespace

void add_trace_generate_command(CLI::App& trace, ExitCode& result) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = trace.add_subcommand("generate", "Make up a trace from a seed");
  command->footer(kGenerateFooter);
  command->add_option("OUTPUT", options->output, "The trace to write; '-' is standard output")
      ->required()
      ->option_text(" ");
  add_choice<Preset>(*command, "--preset", options->preset,
                     {{"access-heavy", Preset::kAccessHeavy},
                      {"lock-heavy", Preset::kLockHeavy},
                      {"read-shared", Preset::kReadShared},
                      {"everything", Preset::kEverything}},
                     "access-heavy (default), lock-heavy, read-shared or everything");
  options->to_option = add_choice<TraceFormat>(*command, "--to", options->to, trace_format_choices(),
                                               "binary, text or std; by the ending of OUTPUT if absent");
  const auto number = [command](const std::string& name, auto& target, const std::string& help) {
    return command->add_option(name, target, help)->option_text("NUMBER");
  };
  number("--seed", options->seed, "Another seed, another trace (default 1)");
  number("--events", options->events, fmt::format("At least so many events (default {})", kDefaultEvents));
  number("--threads", options->threads, fmt::format("Threads at once (default {})", kDefaultThreads))
      ->check(CLI::Range(1, 100'000));
  number("--locks", options->locks, "Locks");
  number("--variables", options->variables, "Plain variables");
  number("--race-density", options->race_density, "Share of accesses that ignore their lock, 0 to 1")
      ->check(CLI::Range(0.0, 1.0));
  number("--read-fraction", options->read_fraction, "Share of reads among the accesses, 0 to 1")
      ->check(CLI::Range(0.0, 1.0));
  number("--switch-rate", options->switch_rate, "Probability that the next event is another thread's, 0 to 1")
      ->check(CLI::Range(0.0, 1.0));
  command->callback([options, &result] {
    const Status status = generate(*options);
    if (status.ok()) return;
    print_error(status.error().message);
    result = ExitCode::kFailure;
  });
}

}  // namespace deadheat
