// SPDX-License-Identifier: Apache-2.0
// `deadheat trace convert`: from any format that we read to any that we write.
// Several inputs are streams that were recorded side by side; see stream_merge.h.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "cli/choice.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/progress.h"
#include "cli/trace_output.h"
#include "report/describe.h"
#include "trace/event_source.h"
#include "trace/stream_merge.h"

namespace deadheat {

namespace {

struct ConvertOptions {
  std::vector<std::string> files;  // inputs, then the output
  TraceFormat to = TraceFormat::kBinary;
  CLI::Option* to_option = nullptr;
};

constexpr char kConvertFooter[] =
    R"(The format of an INPUT is recognised by its content; that of OUTPUT by --to or by its
ending: .dht binary, .trace or .txt text, .std RAPID's STD. OUTPUT '-' is standard
output. STD knows only reads, writes, locks, forks and joins; a trace in which other
events decide about races cannot become STD. Several INPUTs are the binary streams of
one recording, one per thread, and are merged in the order of their sequence numbers.

Examples:
  deadheat trace convert run.std run.dht
  deadheat trace convert run.dht run.trace        to read it, or to edit it
  deadheat trace convert run.dht - | grep fork
  deadheat trace convert thread-*.dht run.dht     merge the streams of a recording

Exit codes: 0 done; 1 bad input or failure; 2 bad usage.)";

Result<std::uint64_t> copy_events(EventSource& source, EventSink& sink) {
  ProgressLine progress;
  std::uint64_t events = 0;
  while (true) {
    const auto batch = source.next_batch();
    if (!batch.ok()) return batch.error();
    // The last, empty batch may have brought names.
    if (const Status status = sink.update(source.dictionary()); !status.ok()) return status.error();
    if (batch.value().empty()) return events;
    if (const Status status = sink.write(batch.value()); !status.ok()) return status.error();
    events += batch.value().size();
    progress.update(source.progress(), events);
  }
}

Result<std::unique_ptr<EventSource>> open_inputs(std::span<const std::string> inputs) {
  return inputs.size() == 1 ? open_trace(inputs.front()) : merge_streams(inputs);
}

// With the file in front where there is only one that can be meant.
std::string about_inputs(std::span<const std::string> inputs, const std::string& message) {
  return inputs.size() == 1 ? about_file(inputs.front(), message) : message;
}

bool is_input(const std::string& output, std::span<const std::string> inputs) {
  std::error_code ignored;
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const std::string& input) { return std::filesystem::equivalent(input, output, ignored); });
}

Status convert(const ConvertOptions& options) {
  const std::span inputs = std::span(options.files).first(options.files.size() - 1);
  const std::string& path = options.files.back();
  const bool chosen = options.to_option->count() > 0;
  const auto format = format_for(path, chosen ? std::optional(options.to) : std::nullopt);
  if (!format.ok()) return format.error();
  auto source = open_inputs(inputs);
  if (!source.ok()) return Error{source.error().code, about_inputs(inputs, source.error().message)};
  if (is_input(path, inputs)) {
    return Error{ErrorCode::kInvalid, fmt::format("'{}' is input and output at once; choose another output", path)};
  }
  auto output = TraceOutput::create(path, format.value());
  if (!output.ok()) return output.error();
  const auto events = copy_events(*source.value(), output.value().sink());
  if (!events.ok()) return Error{events.error().code, about_inputs(inputs, events.error().message)};
  if (Status closed = output.value().close(); !closed.ok()) return closed;
  if (const auto truncation = source.value()->truncation()) {
    print_warning(fmt::format("{}; '{}' has the {} before that", about_inputs(inputs, *truncation), path,
                              counted(events.value(), "event")));
  }
  return {};
}

}  // namespace

void add_trace_convert_command(CLI::App& trace, ExitCode& result) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = trace.add_subcommand("convert", "Rewrite a trace in another format");
  command->footer(kConvertFooter);
  command->add_option("FILES", options->files, "The trace or traces to read, then the one to write")
      ->required()
      ->expected(2, CLI::detail::expected_max_vector_size)
      ->option_text("INPUT... OUTPUT");
  options->to_option =
      add_choice<TraceFormat>(*command, "--to", options->to, trace_format_choices(), "binary, text or std");
  command->callback([options, &result] {
    const Status status = convert(*options);
    if (status.ok()) return;
    print_error(status.error().message);
    result = ExitCode::kFailure;
  });
}

}  // namespace deadheat
