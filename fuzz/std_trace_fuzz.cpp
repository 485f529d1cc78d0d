// SPDX-License-Identifier: Apache-2.0
// Any bytes as an STD trace. What parses must be valid events that name only
// what the dictionary knows, and must survive the text format unchanged.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "trace/event_validity.h"
#include "trace/std_reader.h"
#include "trace/text_writer.h"
#include "trace/trace_checker.h"

using namespace deadheat;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<ParsedTrace> trace = parse_std_trace({reinterpret_cast<const char*>(data), size});
  if (!trace.ok()) {
    DEADHEAT_CHECK(!trace.error().message.empty());
    return 0;
  }
  const auto& [events, dictionary] = trace.value();
  for (const Event& event : events) {
    DEADHEAT_CHECK(is_valid(event));
    DEADHEAT_CHECK(dictionary.threads.contains(event.thread));
    DEADHEAT_CHECK(raw(event.site) < dictionary.sites.size());
    const ObjectMeaning meaning = info(event.kind).object;
    if (meaning == ObjectMeaning::kAddress) DEADHEAT_CHECK(dictionary.ranges.contains(event.address()));
    if (meaning == ObjectMeaning::kSync) DEADHEAT_CHECK(dictionary.syncs.contains(event.sync()));
    if (meaning == ObjectMeaning::kThread) DEADHEAT_CHECK(dictionary.threads.contains(event.other_thread()));
  }
  TraceChecker checker({.names = &dictionary});
  static_cast<void>(checker.check(std::span<const Event>(events)));

  const Result<std::string> text = write_text_trace(events, dictionary);
  if (!text.ok()) {
    DEADHEAT_CHECK(size > 8 * 1024);
    return 0;
  }
  const Result<ParsedTrace> again = parse_text_trace(text.value());
  DEADHEAT_CHECK(again.ok());
  DEADHEAT_CHECK(again.value().events == events);
  DEADHEAT_CHECK(again.value().dictionary == dictionary);
  return 0;
}
