// SPDX-License-Identifier: Apache-2.0
// --html: a report as a page for a browser, besides what else a command writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "store/store.h"

namespace deadheat {

// Of a JSON report. Errors: kIo; those of format_html_page().
Status write_page(Output& output, const std::string& report);

// The JSON report that the page of a store shows: these races with their history, and all runs. Errors: those of
// Store.
[[nodiscard]] Result<std::string> report_of_store(Store& store, const std::vector<RaceRow>& rows);

// `deadheat report --html PAGE FILE` of a JSON report. Nothing if the file is no JSON document.
[[nodiscard]] std::optional<ExitCode> report_document(const std::string& name, const std::string& content,
                                                      const std::optional<std::string>& page);

}  // namespace deadheat
