// SPDX-License-Identifier: Apache-2.0
#include "report/trace_recorder.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <variant>

#include "report/function_names.h"
#include "trace/event_source.h"

namespace deadheat {

// The shared buffer of a process, for as long as anybody wants it. The process may
// be alive, and may have written anything there.
class TraceRecorder::Buffer {
 public:
  static std::unique_ptr<Buffer> map(int descriptor) {
    struct stat about{};
    if (descriptor < 0 || fstat(descriptor, &about) != 0) return nullptr;
    if (static_cast<std::uint64_t>(about.st_size) < sizeof(raw_report::RecordingBuffer)) return nullptr;
    void* const memory = mmap(nullptr, sizeof(raw_report::RecordingBuffer), PROT_READ, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) return nullptr;
    return std::unique_ptr<Buffer>(new Buffer(static_cast<const raw_report::RecordingBuffer*>(memory)));
  }
  ~Buffer() { munmap(const_cast<raw_report::RecordingBuffer*>(shared_), sizeof(*shared_)); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::vector<raw_report::RecordedSite> sites() const {
    const std::uint32_t count = std::min(load(shared_->site_count), raw_report::RecordingBuffer::kSites);
    return {shared_->sites, shared_->sites + count};
  }

  // Those after the first `received` of the process.
  [[nodiscard]] std::vector<Event> events_after(std::uint64_t received) const {
    const std::uint64_t sent = load(shared_->sent);
    const std::uint32_t count = std::min(load(shared_->event_count), raw_report::RecordingBuffer::kEvents);
    if (received < sent || received - sent >= count) return {};
    std::vector<Event> events(count - (received - sent));
    std::memcpy(events.data(), shared_->events[received - sent], events.size() * sizeof(Event));
    return events;
  }

 private:
  explicit Buffer(const raw_report::RecordingBuffer* shared) : shared_(shared) {}
  // Acquire pairs with the stores of the runtime.
  template <class Number>
  static Number load(const Number& number) {
    return __atomic_load_n(&number, __ATOMIC_ACQUIRE);
  }

  const raw_report::RecordingBuffer* shared_;
};

struct TraceRecorder::Process {
  std::string path;
  std::unique_ptr<EventSink> sink;  // null until there is an event
  State state;
  std::shared_ptr<const Past> past;  // of a child, until its file is begun
  std::unique_ptr<Buffer> buffer;
  std::uint64_t received = 0;  // events of the runtime
  bool has_news = false;       // the dictionary has entries that the sink has not
  bool has_failed = false;
};

Result<std::unique_ptr<TraceRecorder>> TraceRecorder::create(const std::string& path) {
  auto sink = create_trace(path, TraceFormat::kBinary);
  if (!sink.ok()) return sink.error();
  return std::unique_ptr<TraceRecorder>(new TraceRecorder(path, std::move(sink).value()));
}

TraceRecorder::TraceRecorder(std::string path, std::unique_ptr<EventSink> sink)
    : path_(std::move(path)), first_sink_(std::move(sink)) {}

TraceRecorder::~TraceRecorder() = default;

namespace {

// The variables of the program itself; those of the system's libraries are many
// and say little.
void name_globals(Dictionary& dictionary, const ModuleMap& modules, Symbolizer& symbolizer) {
  for (const auto& [begin, module] : modules.present()) {
    if (module.path.starts_with("/lib") || module.path.starts_with("/usr/lib")) continue;
    Address free_from = 0;
    for (const GlobalSymbol& symbol : symbolizer.globals(module.path)) {
      const Address address = symbol.address + module.load_bias;
      if (address < free_from || address < module.begin || address >= module.end) continue;
      if (symbol.size > module.end - address) continue;
      dictionary.ranges[address] = {symbol.size, symbol.name};
      free_from = address + symbol.size;
    }
  }
}

}  // namespace

// A program that was just started, in a process of this number.
TraceRecorder::Process& TraceRecorder::begin(std::uint32_t number, const ModuleMap& modules, Symbolizer& symbolizer) {
  auto process = std::make_unique<Process>();
  if (first_sink_ != nullptr) {
    process->path = path_;
    process->sink = std::move(first_sink_);
  } else {
    process->path = fmt::format("{}.{}", path_, number);
    for (int life = 2; std::ranges::count(other_files_, process->path) != 0; ++life) {
      process->path = fmt::format("{}.{}.{}", path_, number, life);
    }
  }
  name_globals(process->state.dictionary, modules, symbolizer);
  process->has_news = !process->state.dictionary.ranges.empty();
  return *(processes_[number] = std::move(process));
}

TraceRecorder::Process& TraceRecorder::process_of(std::uint32_t number, const ModuleMap& modules,
                                                  Symbolizer& symbolizer) {
  const auto known = processes_.find(number);
  return known == processes_.end() ? begin(number, modules, symbolizer) : *known->second;
}

Status TraceRecorder::add(const RawPacket& packet, const ModuleMap& modules, Symbolizer& symbolizer, int descriptor) {
  if (const auto* recording = std::get_if<RecordingPacket>(&packet.body)) {
    return start(packet.process, *recording, modules, symbolizer, descriptor);
  }
  const auto* sites = std::get_if<SitesPacket>(&packet.body);
  const auto* events = std::get_if<EventsPacket>(&packet.body);
  const auto* forking = std::get_if<ForkingPacket>(&packet.body);
  if (sites == nullptr && events == nullptr && forking == nullptr) return {};
  Process& process = process_of(packet.process, modules, symbolizer);
  if (process.has_failed) return {};
  if (sites != nullptr) {
    add_sites(process.state, sites->sites, modules, symbolizer);
    process.has_news = true;
    return {};
  }
  if (forking != nullptr) return remember_fork(packet.process, process, forking->fork);
  process.received += events->events.size();
  return write(process, events->events);
}

Status TraceRecorder::start(std::uint32_t number, const RecordingPacket& packet, const ModuleMap& modules,
                            Symbolizer& symbolizer, int descriptor) {
  Status status;
  // exec, or a number that was used before.
  if (const auto known = processes_.find(number); known != processes_.end()) {
    status = finish(*known->second, modules, symbolizer);
  }
  Process& process = begin(number, modules, symbolizer);
  process.buffer = Buffer::map(descriptor);
  if (packet.fork == 0) return status;
  const auto past = forks_.find({packet.parent_process, packet.fork});
  if (past == forks_.end()) return status;
  process.past = past->second;
  process.state = process.past->state;
  forks_.erase(past);
  return status;
}

Status TraceRecorder::remember_fork(std::uint32_t number, Process& process, std::uint64_t fork) {
  const bool has_file = process.sink != nullptr;
  forks_[{number, fork}] = std::make_shared<const Past>(
      has_file || process.past == nullptr ? process.path : process.past->path, process.state);
  if (!has_file) return {};
  Status status = process.sink->flush();
  process.has_failed = !status.ok();
  return status;
}

void TraceRecorder::add_sites(State& state, const std::vector<raw_report::RecordedSite>& sites,
                              const ModuleMap& modules, Symbolizer& symbolizer) {
  for (const raw_report::RecordedSite& recorded : sites) {
    if (state.sites.contains(recorded.site)) continue;
    // Return addresses: the instruction is the one before.
    const auto place = recorded.code == 0 ? std::nullopt : modules.find(recorded.code - 1);
    if (!place) continue;
    // One site per address: the innermost function of the program's own stands for those it is inlined into.
    state.sites[recorded.site] = state.dictionary.sites.add(own_frame(symbolizer.frames(*place)));
  }
}

void TraceRecorder::add_names(const LiveFinding& finding) {
  const auto known = processes_.find(finding.process);
  if (known == processes_.end()) return;
  Process& process = *known->second;
  for (const auto& [thread, name] : finding.dictionary.threads) {
    if (raw(thread) < kThreadLimit && process.state.dictionary.threads.try_emplace(thread, name).second) {
      process.has_news = true;
    }
  }
  // A trace calls a lock by its address, and in text by its name, which must be of one lock only.
  auto& locks = process.state.dictionary.syncs;
  for (const LiveLock& lock : finding.locks) {
    const auto name = finding.dictionary.syncs.find(lock.id);
    if (lock.address == 0 || name == finding.dictionary.syncs.end()) continue;
    if (name->second.empty() || name->second.find(' ') != std::string::npos) continue;
    const auto is_same = [&](const auto& other) { return other.second == name->second; };
    if (std::any_of(locks.begin(), locks.end(), is_same)) continue;
    if (locks.try_emplace(SyncId{lock.address}, name->second).second) process.has_news = true;
  }
}

Status TraceRecorder::copy_past(const Process& process) {
  auto source = open_trace(process.past->path);
  if (!source.ok()) return source.error();
  for (std::uint64_t left = process.past->state.event_count; left > 0;) {
    const auto batch = source.value()->next_batch();
    if (!batch.ok()) return batch.error();
    if (batch.value().empty()) {
      return Error{ErrorCode::kIo, fmt::format("'{}' does not have the events before the fork", process.past->path)};
    }
    const std::span<const Event> some = batch.value().first(std::min<std::uint64_t>(left, batch.value().size()));
    if (Status status = process.sink->write(some); !status.ok()) return status;
    left -= some.size();
  }
  return {};
}

// The first event of a process that is not the first.
Status TraceRecorder::open_file(Process& process) {
  other_files_.push_back(process.path);
  auto sink = create_trace(process.path, TraceFormat::kBinary);
  if (!sink.ok()) return sink.error();
  process.sink = std::move(sink).value();
  process.has_news = false;
  if (Status status = process.sink->update(process.state.dictionary); !status.ok()) return status;
  if (process.past == nullptr) return {};
  Status status = copy_past(process);
  process.past.reset();
  return status;
}

Status TraceRecorder::write(Process& process, const std::vector<Event>& events) {
  const auto write_all = [&]() -> Status {
    State& state = process.state;
    if (events.empty()) return {};
    if (process.sink == nullptr) {
      if (Status status = open_file(process); !status.ok()) return status;
    }
    if (std::exchange(process.has_news, false)) {
      if (Status status = process.sink->update(state.dictionary); !status.ok()) return status;
    }
    std::vector<Event> translated;
    for (Event event : events) {
      const auto site = state.sites.find(raw(event.site));
      event.site = site == state.sites.end() ? SiteId::kUnknown : site->second;
      state.ledger.add(event, translated);
    }
    Status status = process.sink->write(translated);
    if (status.ok()) state.event_count += translated.size();
    return status;
  };
  Status status = write_all();
  process.has_failed = !status.ok();
  if (process.path == path_) first_count_ = process.state.event_count;
  if (status.ok() || process.path == path_) return status;
  return Error{status.error().code, fmt::format("'{}': {}", process.path, status.error().message)};
}

Status TraceRecorder::take_buffer(Process& process, const ModuleMap& modules, Symbolizer& symbolizer) {
  if (process.buffer == nullptr || process.has_failed) return {};
  const std::vector<Event> events = process.buffer->events_after(process.received);
  if (events.empty()) return {};
  add_sites(process.state, process.buffer->sites(), modules, symbolizer);
  process.has_news = true;
  process.received += events.size();
  return write(process, events);
}

Status TraceRecorder::finish(Process& process, const ModuleMap& modules, Symbolizer& symbolizer) {
  Status status = take_buffer(process, modules, symbolizer);
  if (process.sink == nullptr || process.has_failed) return status;
  if (std::exchange(process.has_news, false)) {
    if (status = process.sink->update(process.state.dictionary); !status.ok()) return status;
  }
  return process.sink->close();
}

Status TraceRecorder::close(const ModulesOf& modules_of, Symbolizer& symbolizer) {
  Status first_problem;
  const auto note = [&](Status status) {
    if (first_problem.ok() && !status.ok()) first_problem = std::move(status);
  };
  for (auto& [number, process] : processes_) note(finish(*process, modules_of(number), symbolizer));
  if (first_sink_ != nullptr) note(first_sink_->close());
  processes_.clear();
  first_sink_.reset();
  return first_problem;
}

}  // namespace deadheat
