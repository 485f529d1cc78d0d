// SPDX-License-Identifier: Apache-2.0
// TraceRecorder: the events of a running program become a binary trace.
//
// The runtime sends events in an order in which they can have happened, and the
// code addresses that they refer to before them. Events go to the file as they
// come; what is kept in memory is one site per code address. A trace is of one
// process: the first that sends events; those of others are counted and left
// out, because their thread numbers and addresses mean other things.
//
// When the system refuses to write (the disk is full) recording ends with an
// error, the file stays readable up to there, and the program goes on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "model/dictionary.h"
#include "report/live_finding.h"
#include "report/module_map.h"
#include "report/raw_packet_reader.h"
#include "report/symbolizer.h"
#include "trace/event_sink.h"

namespace deadheat {

class TraceRecorder {
 public:
  // Errors: kIo.
  static Result<std::unique_ptr<TraceRecorder>> create(const std::string& path);

  // Takes pieces of the trace, ignores other packets. After an error, which is
  // returned once, it takes nothing more. Errors: kIo; kInvalid (an event that no
  // trace may have).
  Status add(const RawPacket& packet, const ModuleMap& modules, Symbolizer& symbolizer);
  // The names of the recorded process' threads.
  void add_names(const LiveFinding& finding);

  // Finishes the file. Errors: kIo, unless add() has said it before.
  Status close();

  [[nodiscard]] std::uint64_t event_count() const { return event_count_; }
  // Events of other processes, which are not in the trace.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  explicit TraceRecorder(std::unique_ptr<EventSink> sink) : sink_(std::move(sink)) {}
  void name_globals(const ModuleMap& modules, Symbolizer& symbolizer);
  void add_sites(const SitesPacket& packet, const ModuleMap& modules, Symbolizer& symbolizer);
  Status write(const EventsPacket& packet);

  std::unique_ptr<EventSink> sink_;
  bool has_failed_ = false;
  std::optional<std::uint32_t> process_;
  Dictionary dictionary_;
  bool has_news_ = false;  // the dictionary has entries that the sink has not
  // The runtime's numbers of sites, as indices of our table.
  std::unordered_map<std::uint32_t, SiteId> sites_;
  std::uint64_t event_count_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace deadheat
