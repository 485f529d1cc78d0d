// SPDX-License-Identifier: Apache-2.0
// Any bytes as a text trace. What parses must be valid events, must survive
// being written and parsed again unchanged, and must not upset the checker, the
// statistics or the words for messages.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "trace/event_validity.h"
#include "trace/text_reader.h"
#include "trace/text_writer.h"
#include "trace/trace_checker.h"
#include "trace/trace_stats.h"

using namespace deadheat;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<ParsedTrace> trace = parse_text_trace({reinterpret_cast<const char*>(data), size});
  if (!trace.ok()) {
    DEADHEAT_CHECK(trace.error().message.starts_with("line "));
    return 0;
  }
  const auto& [events, dictionary] = trace.value();
  for (const Event& event : events) {
    DEADHEAT_CHECK(is_valid(event));
    DEADHEAT_CHECK(!to_text(event, dictionary).empty());
  }
  const Result<std::string> text = write_text_trace(events, dictionary);
  // Escapes make a name up to four times as long; only that may be refused.
  if (!text.ok()) {
    DEADHEAT_CHECK(size > 8 * 1024);
    return 0;
  }
  const Result<ParsedTrace> again = parse_text_trace(text.value());
  DEADHEAT_CHECK(again.ok());
  DEADHEAT_CHECK(again.value().events == events);
  DEADHEAT_CHECK(again.value().dictionary == dictionary);

  TraceChecker checker({.names = &dictionary});
  const Status verdict = checker.check(std::span<const Event>(events));
  DEADHEAT_CHECK(verdict.ok() == checker.finish().ok());
  TraceStatsCollector stats;
  stats.add(events);
  DEADHEAT_CHECK(stats.stats().events == events.size());
  return 0;
}
