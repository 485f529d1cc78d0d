// SPDX-License-Identifier: Apache-2.0
// Files in RAPID's STD format, as any source or sink of events. std_reader.h and
// std_writer.h say what the format can express, and give access to the counts
// of what it could not.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "trace/event_sink.h"
#include "trace/event_source.h"
#include "trace/trace_file.h"

namespace deadheat {

// next_batch() gives kMalformed with the line number, after the events before that line.
std::unique_ptr<EventSource> read_std_trace(TraceFile file);

// Creates or overwrites the file; "-" is the standard output. write() refuses
// (kUnsupported) events whose loss would change which races there are. Errors: kIo.
Result<std::unique_ptr<EventSink>> create_std_trace(const std::string& path);

}  // namespace deadheat
