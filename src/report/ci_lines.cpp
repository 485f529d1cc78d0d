// SPDX-License-Identifier: Apache-2.0
// JUnit XML, GitHub's lines, suppressions.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report/describe.h"
#include "report/document_places.h"
#include "report/json_text.h"
#include "report/race_formats.h"

namespace deadheat {

namespace {

using CiJson = nlohmann::ordered_json;

// XML 1.0 knows no control characters, escaped or not.
std::string xml_text(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(letter) < 0x20 && letter != '\n' && letter != '\t' ? '?' : letter;
    }
  }
  return out;
}

// Of a workflow command: in the message, or in a property.
std::string github_text(std::string_view text, bool is_property) {
  std::string out;
  for (const char letter : text) {
    const bool is_escaped =
        letter == '%' || letter == '\r' || letter == '\n' || (is_property && (letter == ':' || letter == ','));
    out += is_escaped ? fmt::format("%{:02X}", static_cast<unsigned char>(letter)) : std::string(1, letter);
  }
  return out;
}

struct CiPlace {
  std::string file;
  std::uint64_t line = 0;
};

CiPlace place_of(const CiJson& document, const std::string& root) {
  for (const char* const side : {"later", "earlier"}) {
    if (!document.contains(side)) continue;
    const CiJson* const frame = shown_frame(document[side], root);
    if (frame == nullptr) continue;
    return {
        relative_file(text_member(*frame, "file"), root),
        (*frame).contains("line") && (*frame)["line"].is_number_unsigned() ? (*frame)["line"].get<std::uint64_t>() : 0};
  }
  return {};
}

std::string side_paragraph(const CiJson& document, const char* name, const std::string& root) {
  const CiJson side = document.value(name, CiJson::object());
  std::string text = fmt::format("{}: {}\n", name, side_words(side));
  if (!side.contains("stack")) return text;
  for (const CiJson& frame : side["stack"]) text += fmt::format("    {}\n", printable(frame_words(frame, root)));
  return text;
}

std::string paragraphs_of(const RaceReport::Entry& entry, const CiJson& document, const std::string& root) {
  std::string text = headline_of(entry.race) + "\n";
  text += side_paragraph(document, "later", root) + side_paragraph(document, "earlier", root);
  if (const std::string why = text_member(document, "explanation"); !why.empty()) text += "why: " + why + "\n";
  return text + fmt::format("seen {}; fingerprint {}", counted(entry.race.occurrences, "time"), entry.race.fingerprint);
}

bool fails(const RaceReport::Entry& entry) { return !entry.is_known && !entry.is_ignored; }

std::string test_case(const RaceReport::Entry& entry, const RaceReport& report) {
  const CiJson document = document_of(entry);
  const CiPlace place = place_of(document, report.root);
  std::string attributes =
      fmt::format("classname=\"deadheat.{}\" name=\"{}\"", xml_text(entry.race.kind),
                  xml_text(fmt::format("{}: {} / {} [{}]", headline_of(entry.race), entry.race.later,
                                       entry.race.earlier, entry.race.fingerprint)));
  if (!place.file.empty()) attributes += fmt::format(" file=\"{}\"", xml_text(place.file));
  if (place.line != 0) attributes += fmt::format(" line=\"{}\"", place.line);
  const std::string text = xml_text(paragraphs_of(entry, document, report.root));
  if (fails(entry)) {
    return fmt::format(
        "    <testcase {}>\n      <failure message=\"{}\" type=\"data race\">{}</failure>\n    </testcase>\n",
        attributes, xml_text(headline_of(entry.race)), text);
  }
  return fmt::format(
      "    <testcase {}>\n      <skipped message=\"{}\"/>\n      <system-out>{}</system-out>\n    </testcase>\n",
      attributes, entry.is_ignored ? "ignored in the store" : "in the baseline", text);
}

// The innermost frame with a name.
std::string suppression_of(const RacingAccess& access, const Dictionary& dictionary) {
  const Site& site = dictionary.sites[stack_of(access).front()];
  if (!site.function.empty()) return fmt::format("race_top:^{}$", printable(site.function));
  if (!site.module.empty()) return fmt::format("race:{}$", printable(base_name(site.module)));
  return {};
}

}  // namespace

std::size_t RaceReport::failures() const {
  return static_cast<std::size_t>(std::count_if(races.begin(), races.end(), fails));
}

std::string format_junit(const RaceReport& report) {
  const std::size_t tests = std::max<std::size_t>(1, report.races.size());
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"", tests,
                                         report.failures(), report.races.size() - report.failures());
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format("<testsuites name=\"deadheat\" {}>\n  <testsuite name=\"{}\" {}>\n", counts,
                     xml_text(printable(report.program)), counts);
  for (const RaceReport::Entry& entry : report.races) out += test_case(entry, report);
  if (report.races.empty()) out += "    <testcase classname=\"deadheat\" name=\"no data races\"/>\n";
  return out + "  </testsuite>\n</testsuites>\n";
}

std::string format_github_lines(const RaceReport& report) {
  std::string out;
  for (const RaceReport::Entry& entry : report.races) {
    const CiJson document = document_of(entry);
    const CiPlace place = place_of(document, report.root);
    std::string properties;
    if (!place.file.empty()) properties += fmt::format("file={},", github_text(place.file, true));
    if (place.line != 0) properties += fmt::format("line={},", place.line);
    properties += "title=" + github_text("Data race: " + headline_of(entry.race), true);
    out += fmt::format("::{} {}::{}\n", fails(entry) ? "error" : "notice", properties,
                       github_text(paragraphs_of(entry, document, report.root), false));
  }
  return out;
}

std::string format_suppression(const LiveRace& race) {
  const Finding& finding = race.live.finding;
  const Dictionary& dictionary = race.live.dictionary;
  std::string line = suppression_of(finding.later, dictionary);
  if (line.empty()) line = suppression_of(finding.earlier, dictionary);
  if (line.empty()) return {};
  return fmt::format("# {} {}: {} / {}\n{}\n", race.fingerprint, title_of(finding.kind),
                     innermost_place(finding.later, dictionary), innermost_place(finding.earlier, dictionary), line);
}

}  // namespace deadheat
