// SPDX-License-Identifier: Apache-2.0
// TraceRecorder: the events of a running program become binary traces, one per
// process.
//
// The runtime sends events in an order in which they can have happened, and the
// code addresses that they refer to before them. They go through a TraceLedger to
// the file as they come; what is kept in memory is the ledger and one site per code
// address. What a process had not sent when it ended is taken from the buffer that
// it shared.
//
// Processes have thread numbers and addresses of their own, so each has its own
// file: the first the one that was asked for, others that name with their process
// number behind it. A child of fork has its parent's past: threads that are gone
// left a history that its own accesses can race with. So its trace begins with
// a copy of the parent's up to the fork. A process that has no event of its own
// has no file.
//
// When the system refuses to write (the disk is full) recording ends with an
// error, the file stays readable up to there, and the program goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/dictionary.h"
#include "report/live_finding.h"
#include "report/module_map.h"
#include "report/raw_packet_reader.h"
#include "report/symbolizer.h"
#include "report/trace_ledger.h"
#include "trace/event_sink.h"

namespace deadheat {

class TraceRecorder {
 public:
  // Errors: kIo.
  static Result<std::unique_ptr<TraceRecorder>> create(const std::string& path);
  ~TraceRecorder();
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  // Takes pieces of a trace and what frames them, ignores other packets. A
  // descriptor that came with the packet is the caller's to close. After an error,
  // which is returned once, it takes nothing more of the process. Errors: kIo;
  // kInvalid (an event that no trace may have).
  Status add(const RawPacket& packet, const ModuleMap& modules, Symbolizer& symbolizer, int descriptor = -1);
  // The names of the process' threads, and of locks that the finding has.
  void add_names(const LiveFinding& finding);

  // Takes what the buffers still have and finishes the files. `modules_of` is asked
  // for code that was not named yet. Errors: kIo, unless add() has said it before.
  using ModulesOf = std::function<const ModuleMap&(std::uint32_t process)>;
  Status close(const ModulesOf& modules_of, Symbolizer& symbolizer);

  // Of the file that was asked for.
  [[nodiscard]] std::uint64_t event_count() const { return first_count_; }
  // The other files, and those that there should be and are not.
  [[nodiscard]] const std::vector<std::string>& other_files() const { return other_files_; }

 private:
  // Where a trace stands: all that is needed to go on with it in another file.
  struct State {
    TraceLedger ledger;
    Dictionary dictionary;
    std::unordered_map<std::uint32_t, SiteId> sites;  // the runtime's numbers, as indices of our table
    std::uint64_t event_count = 0;                    // in the file
  };
  class Buffer;
  struct Process;

  explicit TraceRecorder(std::string path, std::unique_ptr<EventSink> sink);
  Process& process_of(std::uint32_t number, const ModuleMap& modules, Symbolizer& symbolizer);
  Process& begin(std::uint32_t number, const ModuleMap& modules, Symbolizer& symbolizer);
  Status start(std::uint32_t number, const RecordingPacket& packet, const ModuleMap& modules, Symbolizer& symbolizer,
               int descriptor);
  Status remember_fork(std::uint32_t number, Process& process, std::uint64_t fork);
  Status write(Process& process, const std::vector<Event>& events);
  Status open_file(Process& process);
  Status copy_past(const Process& process);
  Status take_buffer(Process& process, const ModuleMap& modules, Symbolizer& symbolizer);
  Status finish(Process& process, const ModuleMap& modules, Symbolizer& symbolizer);
  static void add_sites(State& state, const std::vector<raw_report::RecordedSite>& sites, const ModuleMap& modules,
                        Symbolizer& symbolizer);

  std::string path_;
  std::unique_ptr<EventSink> first_sink_;  // until the first process takes it
  std::uint64_t first_count_ = 0;
  std::vector<std::string> other_files_;
  std::map<std::uint32_t, std::unique_ptr<Process>> processes_;
  // A parent's trace at each fork whose child has not spoken yet.
  struct Past {
    std::string path;
    State state;
  };
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::shared_ptr<const Past>> forks_;
};

}  // namespace deadheat
