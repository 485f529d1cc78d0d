// SPDX-License-Identifier: Apache-2.0
#include "report/finding_json.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/raw.h"
#include "report/describe.h"
#include "report/fingerprint.h"

namespace deadheat {

namespace {

using Json = nlohmann::ordered_json;

std::string hexadecimal(std::uint64_t number) { return fmt::format("{:#x}", number); }

// Unknown is null, so that readers need not know our words for it.
Json known_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <class Key>
Json name_or_null(const std::map<Key, std::string>& names, Key key) {
  const auto found = names.find(key);
  return found == names.end() ? Json(nullptr) : known_or_null(found->second);
}

Json frame_of(const Site& site) {
  Json frame;
  frame["function"] = known_or_null(site.function);
  frame["file"] = known_or_null(site.file);
  frame["line"] = site.line == 0 ? Json(nullptr) : Json(site.line);
  frame["module"] = known_or_null(site.module);
  frame["offset"] = site.module.empty() ? Json(nullptr) : Json(hexadecimal(site.offset));
  return frame;
}

Json side_of(const RacingAccess& access, const Dictionary& dictionary) {
  Json side;
  side["thread"] = {{"id", raw(access.thread)}, {"name", name_or_null(dictionary.threads, access.thread)}};
  side["access"] = identifier_of(access.kind);
  side["size"] = access.size == 0 ? Json(nullptr) : Json(access.size);
  side["clock"] = access.clock;
  side["stack"] = Json::array();
  for (const SiteId site : stack_of(access)) side["stack"].push_back(frame_of(dictionary.sites[site]));
  side["locks"] = Json::array();
  for (const HeldLock& held : access.locks) {
    side["locks"].push_back({{"id", hexadecimal(raw(held.lock))},
                             {"name", name_or_null(dictionary.syncs, held.lock)},
                             {"mode", identifier_of(held.mode)}});
  }
  return side;
}

Json finding_of(const Finding& finding, const Dictionary& dictionary) {
  Json out;
  out["fingerprint"] = fingerprint_of(finding, dictionary);
  out["kind"] = identifier_of(finding.kind);
  out["title"] = title_of(finding.kind);
  out["address"] = hexadecimal(finding.address);
  out["size"] = finding.size;
  out["variable"] = nullptr;
  if (const auto place = name_of(finding.address, dictionary)) {
    out["variable"] = {{"name", place->name}, {"offset", place->offset}};
  }
  out["event_index"] = finding.event_index;
  out["occurrences"] = finding.occurrences;
  out["explanation"] = explain(finding, dictionary);
  out["earlier"] = side_of(finding.earlier, dictionary);
  out["later"] = side_of(finding.later, dictionary);
  return out;
}

}  // namespace

std::string format_json_report(const Analysis& analysis) {
  Json document;
  document["version"] = kJsonReportVersion;
  document["tool"] = {{"name", "deadheat"}, {"version", analysis.tool_version}};
  document["trace"] = {{"path", analysis.trace_path},
                       {"events", analysis.event_count},
                       {"threads", analysis.thread_count},
                       {"complete", !analysis.incomplete.has_value()},
                       {"problem", analysis.incomplete ? Json(*analysis.incomplete) : Json(nullptr)}};
  document["detector"] = {{"name", analysis.detector_name},
                          {"strict_atomics", analysis.release_sequences == ReleaseSequences::kCpp20}};
  document["summary"] = {{"races", analysis.findings.size()}, {"occurrences", total_occurrences(analysis.findings)}};
  document["counters"] = Json::object();
  for (const Counter& counter : analysis.counters) document["counters"][std::string(counter.name)] = counter.value;
  document["findings"] = Json::array();
  for (const Finding& finding : analysis.findings) {
    document["findings"].push_back(finding_of(finding, analysis.dictionary));
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace deadheat
