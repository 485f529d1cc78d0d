// SPDX-License-Identifier: Apache-2.0
#include "cli/html_output.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cli/messages.h"
#include "report/html_page.h"
#include "report/store_json.h"

namespace deadheat {

Status write_page(Output& output, const std::string& report) {
  auto page = format_html_page(report);
  if (!page.ok()) return page.error();
  return output.write(page.value());
}

Result<std::string> report_of_store(Store& store, const std::vector<RaceRow>& rows) {
  std::vector<RaceDetails> races;
  for (const RaceRow& row : rows) {
    auto details = store.race(row.race.fingerprint);
    if (!details.ok()) return details.error();
    races.push_back(std::move(details).value());
  }
  const auto runs = store.runs();
  if (!runs.ok()) return runs.error();
  return format_store_report(DEADHEAT_VERSION, store.place(), races, runs.value());
}

namespace {

ExitCode refuse(const std::string& message, ExitCode code) {
  print_error(message);
  return code;
}

}  // namespace

std::optional<ExitCode> report_document(const std::string& name, const std::string& content,
                                        const std::optional<std::string>& page) {
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || content[first] != '{') return std::nullopt;
  if (!page) {
    return refuse(fmt::format("'{}' is a JSON report already; --html FILE makes a page of it", name), ExitCode::kUsage);
  }
  const auto text = format_html_page(content);
  if (!text.ok()) return refuse(about_file(name, text.error().message), ExitCode::kFailure);
  auto output = Output::open(page);
  if (!output.ok()) return refuse(output.error().message, ExitCode::kFailure);
  const Status status = output.value().write(text.value());
  if (!status.ok()) return refuse(status.error().message, ExitCode::kFailure);
  return ExitCode::kSuccess;
}

}  // namespace deadheat
