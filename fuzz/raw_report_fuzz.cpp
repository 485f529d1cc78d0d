// SPDX-License-Identifier: Apache-2.0
// Any bytes as a raw file of packets. Whatever parses must go through the whole
// report: symbols, suppressions, text, JSON. Modules are not allowed to name
// files here, so that the fuzzer looks at our code and not at elfutils.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "report/finding_json.h"
#include "report/live_report.h"
#include "report/live_text.h"
#include "report/raw_packet_reader.h"

using namespace deadheat;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Suppressions suppressions;
  DEADHEAT_CHECK(suppressions.add("race:^x*y$\nrace_top:z\ncalled_from_lib:lib", "fuzz").ok());
  LiveReport report(std::move(suppressions));
  RawPacketReader reader(std::as_bytes(std::span(data, size)));
  while (const auto bytes = reader.next()) {
    auto packet = parse_packet(*bytes);
    if (!packet.ok()) {
      DEADHEAT_CHECK(!packet.error().message.empty());
      continue;
    }
    if (auto* modules = std::get_if<ModulesPacket>(&packet.value().body)) {
      for (RawModule& module : modules->modules) module.path.insert(0, "/nowhere/");
    }
    const auto news = report.add(packet.value());
    if (news.race != nullptr) DEADHEAT_CHECK(!format_live_race(*news.race, 1, ColourMode::kColour).empty());
  }
  DEADHEAT_CHECK(report.race_count() + report.suppressed_count() == report.races().size());
  DEADHEAT_CHECK(!describe_totals(report, ColourMode::kPlain).empty());
  if (const auto sampling = report.sampling()) {
    DEADHEAT_CHECK(effective_rate(sampling->totals) <= 1 && cost_share(sampling->totals) <= 1);
    DEADHEAT_CHECK(!describe_sampling(*sampling).empty());
  }
  DEADHEAT_CHECK(!format_live_json_report(report, {"0", "program", {}, {}, {}}).empty());
  return 0;
}
