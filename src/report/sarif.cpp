// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/describe.h"
#include "report/document_places.h"
#include "report/json_parts.h"
#include "report/json_text.h"
#include "report/race_formats.h"

namespace deadheat {

namespace {

using Sarif = nlohmann::ordered_json;

constexpr char kSchema[] = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr char kRoot[] = "SRCROOT";

struct Rule {
  const char* kind;
  const char* name;
  const char* words;
};
constexpr Rule kRules[] = {
    {"write-write", "WriteWriteRace", "Two threads write the same memory, and nothing orders the two writes."},
    {"read-write", "ReadWriteRace", "A thread writes memory that another one has read, and nothing orders the two."},
    {"write-read", "WriteReadRace", "A thread reads memory that another one has written, and nothing orders the two."},
    {"use-free", "UseFreeRace", "A thread uses memory that another one frees, and nothing orders the two."},
    {"atomic-plain", "AtomicPlainRace",
     "One side of the race is atomic and the other is not, and nothing orders the two."},
};

// RFC 3986: what is not a letter of a path is written as %XX.
std::string uri_of(const std::string& path) {
  std::string uri;
  for (const char letter : path) {
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= '0' && letter <= '9') ||
                          std::string_view("-._~/+@").find(letter) != std::string_view::npos;
    uri += is_plain ? std::string(1, letter) : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
  }
  return uri;
}

Sarif message(const std::string& text) { return {{"text", text}}; }

Sarif artifact_of(const std::string& file, const std::string& root) {
  const std::string path = relative_file(file, root);
  if (path.starts_with('/')) return {{"uri", "file://" + uri_of(path)}};
  Sarif artifact = {{"uri", uri_of(path)}};
  if (!root.empty()) artifact["uriBaseId"] = kRoot;
  return artifact;
}

Sarif location_of(const Sarif& frame, const std::string& root, const std::string& words) {
  Sarif location;
  const std::string file = text_member(frame, "file");
  if (!file.empty()) {
    Sarif& physical = location["physicalLocation"];
    physical["artifactLocation"] = artifact_of(file, root);
    if (frame.contains("line") && frame["line"].is_number_unsigned())
      physical["region"] = {{"startLine", frame["line"]}};
    if (physical.contains("region") && frame.contains("column") && frame["column"].is_number_unsigned())
      physical["region"]["startColumn"] = frame["column"];
  }
  const std::string function = text_member(frame, "function");
  if (!function.empty()) {
    location["logicalLocations"] = Sarif::array({{{"fullyQualifiedName", function}, {"kind", "function"}}});
  }
  location["message"] = message(words);
  return location;
}

const Sarif& stack_in(const Sarif& side) {
  static const Sarif none = Sarif::array();
  return side.is_object() && side.contains("stack") ? side["stack"] : none;
}

// Innermost first.
Sarif stack_of_side(const Sarif& side, const std::string& root, const std::string& words) {
  Sarif frames = Sarif::array();
  for (const Sarif& frame : stack_in(side)) {
    Sarif one;
    one["location"] = location_of(frame, root, frame_words(frame, root));
    if (const std::string module = text_member(frame, "module"); !module.empty()) one["module"] = module;
    frames.push_back(std::move(one));
  }
  return {{"message", message(words)}, {"frames", std::move(frames)}};
}

// From the thread's beginning to the access.
Sarif flow_of_side(const Sarif& side, const std::string& root, const std::string& words, const char* id) {
  Sarif locations = Sarif::array();
  const Sarif& frames = stack_in(side);
  int depth = 0;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const bool is_access = std::next(frame) == frames.rend();
    Sarif step;
    step["location"] = location_of(*frame, root, is_access ? words : frame_words(*frame, root));
    step["nestingLevel"] = depth++;
    step["importance"] = is_access ? "essential" : "important";
    locations.push_back(std::move(step));
  }
  return {{"id", id}, {"message", message(words)}, {"locations", std::move(locations)}};
}

std::size_t rule_index(const std::string& kind) {
  for (std::size_t index = 0; index < std::size(kRules); ++index) {
    if (kind == kRules[index].kind) return index;
  }
  return 0;
}

Sarif result_of(const RaceReport::Entry& entry, const RaceReport& report) {
  const Sarif document = document_of(entry);
  const Sarif earlier = document.value("earlier", Sarif::object());
  const Sarif later = document.value("later", Sarif::object());
  const std::string earlier_words = side_words(earlier);
  const std::string later_words = side_words(later);
  const std::size_t rule = rule_index(entry.race.kind);
  Sarif result;
  result["ruleId"] = fmt::format("race/{}", kRules[rule].kind);
  result["ruleIndex"] = rule;
  result["level"] = "error";
  std::string text = fmt::format("Data race: {}. {} ({}) races with {} ({}).", headline_of(entry.race), later_words,
                                 entry.race.later, earlier_words, entry.race.earlier);
  if (const std::string why = text_member(document, "explanation"); !why.empty()) text += fmt::format(" {}.", why);
  result["message"] = message(text);
  result["locations"] = Sarif::array();
  if (const Sarif* frame = shown_frame(later, report.root)) {
    result["locations"].push_back(location_of(*frame, report.root, later_words));
  }
  result["relatedLocations"] = Sarif::array();
  if (const Sarif* frame = shown_frame(earlier, report.root)) {
    Sarif related = location_of(*frame, report.root, "the other side: " + earlier_words);
    related["id"] = 1;
    result["relatedLocations"].push_back(std::move(related));
  }
  result["codeFlows"] =
      Sarif::array({{{"message", message("the two threads")},
                     {"threadFlows", Sarif::array({flow_of_side(earlier, report.root, earlier_words, "earlier"),
                                                   flow_of_side(later, report.root, later_words, "later")})}}});
  result["stacks"] = Sarif::array({stack_of_side(later, report.root, "later: " + later_words),
                                   stack_of_side(earlier, report.root, "earlier: " + earlier_words)});
  result["partialFingerprints"] = {{"deadheatRace/v2", entry.race.fingerprint}};
  if (!entry.race.old_fingerprint.empty()) {
    result["partialFingerprints"]["deadheatRace/v1"] = entry.race.old_fingerprint;
  }
  result["occurrenceCount"] = std::max<std::uint64_t>(1, entry.race.occurrences);
  if (report.has_baseline) result["baselineState"] = entry.is_known ? "unchanged" : "new";
  if (entry.is_ignored) {
    result["suppressions"] = Sarif::array({{{"kind", "external"}, {"justification", "ignored in the store of races"}}});
  }
  return result;
}

Sarif rules() {
  Sarif all = Sarif::array();
  for (const Rule& rule : kRules) {
    all.push_back({{"id", fmt::format("race/{}", rule.kind)},
                   {"name", rule.name},
                   {"shortDescription", message(fmt::format("Data race ({})", rule.kind))},
                   {"fullDescription", message(rule.words)},
                   {"help", message("A lock that both sides hold, an atomic variable on both sides, or joining the "
                                    "thread first orders them.")},
                   {"defaultConfiguration", {{"level", "error"}}},
                   {"properties", {{"tags", {"concurrency", "data-race", "external/cwe/cwe-362"}}}}});
  }
  return all;
}

}  // namespace

std::string format_sarif(const RaceReport& report) {
  Sarif run;
  run["tool"]["driver"] = {{"name", "deadheat"},
                           {"version", report.tool_version},
                           {"semanticVersion", report.tool_version},
                           {"rules", rules()}};
  run["invocations"] = Sarif::array({{{"executionSuccessful", true}}});
  if (!report.root.empty()) {
    const std::string front = report.root.ends_with('/') ? report.root : report.root + "/";
    run["originalUriBaseIds"][kRoot] = {{"uri", "file://" + uri_of(front)}};
  }
  run["columnKind"] = "unicodeCodePoints";
  run["results"] = Sarif::array();
  for (const RaceReport::Entry& entry : report.races) run["results"].push_back(result_of(entry, report));
  Sarif log;
  log["$schema"] = kSchema;
  log["version"] = "2.1.0";
  log["runs"] = Sarif::array({std::move(run)});
  return text_of_document(log);
}

}  // namespace deadheat
