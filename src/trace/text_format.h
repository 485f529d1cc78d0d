// SPDX-License-Identifier: Apache-2.0
// Files in the text trace format (TEXT_FORMAT.md): one event per line, for
// people. Reading streams: memory grows with the names and sites of the trace,
// not with its events. A line costs some hundred nanoseconds; the binary format
// is the one for large traces.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "trace/event_sink.h"
#include "trace/event_source.h"
#include "trace/trace_file.h"

namespace deadheat {

// "-" is the standard input. Errors: kIo (cannot open). next_batch() gives
// kMalformed with the line number, after the events before that line. A last
// line without its newline that does not parse is the mark of a truncated file:
// see EventSource::truncation().
Result<std::unique_ptr<EventSource>> open_text_trace(const std::string& path);
std::unique_ptr<EventSource> read_text_trace(TraceFile file);

// Creates or overwrites the file; "-" is the standard output. Errors: kIo.
// What is written reads back as exactly the same events and dictionary.
// update() refuses (kInvalid) a dictionary whose ranges overlap and names of
// many kilobytes. The format has no end marker: a file that was not closed may
// lack its last lines unnoticed.
Result<std::unique_ptr<EventSink>> create_text_trace(const std::string& path);

}  // namespace deadheat
