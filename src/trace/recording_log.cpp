// SPDX-License-Identifier: Apache-2.0
#include "trace/recording_log.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "trace/malformed.h"

namespace deadheat {
namespace {

// A thread, an object or a time that a special entry names.
struct Special {
  LogKind kind = LogKind::kNone;
  std::uint64_t time = 0;  // ticks
  std::uint64_t object = 0;
  std::uint64_t extent = 0;
  std::size_t thread = 0;  // index in the recording
  std::size_t entry = 0;   // index in its log
};

struct PlacedRecord {
  LogRecord record;
  std::size_t order = 0;
};

LogKind kind_of(const LogRecord& record) { return static_cast<LogKind>((record.where >> 48U) & 0xffU); }

std::uint64_t code_of(const LogRecord& record) { return record.where & 0xffffffffffffULL; }

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// What the record of a hand-over names.
std::uint64_t tag_of(std::uint64_t object) { return object == kAnyDescriptor ? raw(kDescriptorsTag) : object; }

// The bytes of all pieces, in order. The tail's are newer than the log's.
std::map<std::uint64_t, std::span<const std::byte>> pieces_of(const LogBytes& bytes) {
  std::map<std::uint64_t, std::span<const std::byte>> pieces;
  const auto newest = bytes.tail.first(std::min(bytes.tail.size(), 2 * kLogPiece));
  for (const auto& source : {bytes.log, newest}) {
    for (std::size_t at = 0; at < source.size(); at += kLogPiece) {
      const auto piece = source.subspan(at, std::min(kLogPiece, source.size() - at));
      if (piece.size() < sizeof(LogRecord)) continue;
      const auto first = value_at<LogRecord>(piece, 0);
      if (kind_of(first) == LogKind::kPiece) pieces[first.object] = piece;
    }
  }
  return pieces;
}

// Blocks that were freed and whose entries are not in the log yet, or just came there.
std::span<const std::byte> slots_of(const LogBytes& bytes) {
  if (bytes.tail.size() <= 2 * kLogPiece) return {};
  return bytes.tail.subspan(2 * kLogPiece, std::min(bytes.tail.size(), kTailSize) - 2 * kLogPiece);
}

bool is_known_version(std::uint32_t version) { return version >= kOldestLogVersion && version <= kLogVersion; }

Result<LogHeader> header_of(const LogBytes& bytes, std::span<const std::byte> first_piece) {
  if (first_piece.size() < sizeof(LogRecord) + sizeof(LogHeader)) {
    return malformed("{} is too short for a log", bytes.name);
  }
  const auto header = value_at<LogHeader>(first_piece, sizeof(LogRecord));
  if (header.magic != kLogMagic) return malformed("{} is not a log of the recorder", bytes.name);
  if (!is_known_version(header.version)) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} has version {}, newest known {}", bytes.name, header.version, kLogVersion)};
  }
  if (header.thread != bytes.thread || header.thread >= kThreadLimit) {
    return malformed("{} says that it is of thread {}", bytes.name, header.thread);
  }
  return header;
}

class LogReader {
 public:
  LogReader(const TickConversion& to_time, std::uint64_t stopped_at, Recording& recording)
      : to_time_(to_time), stopped_at_(stopped_at), recording_(recording) {}

  Status add(const LogBytes& bytes) {
    const auto pieces = pieces_of(bytes);
    if (pieces.empty()) return {};  // the thread was killed before its first entry
    if (pieces.begin()->first != 0) return malformed("{} lacks its beginning", bytes.name);
    const auto header = header_of(bytes, pieces.begin()->second);
    if (!header.ok()) return header.error();
    RecordedThread thread;
    thread.id = ThreadId{header.value().thread};
    thread.system_id = header.value().system_id;
    thread.is_root = header.value().is_root != 0;
    std::vector<PlacedRecord> records;
    const auto keep = [&](const LogRecord& record) {
      if (counts(record.time)) records.push_back({record, records.size()});
    };
    std::uint64_t expected = 0;
    for (const auto& [number, piece] : pieces) {
      if (number != expected++) return malformed("{} lacks piece {}", bytes.name, expected - 1);
      const std::size_t begin = sizeof(LogRecord) + (number == 0 ? sizeof(LogHeader) : 0);
      for (std::size_t at = begin; at + sizeof(LogRecord) <= piece.size(); at += sizeof(LogRecord)) {
        const auto record = value_at<LogRecord>(piece, at);
        if (kind_of(record) != LogKind::kNone) keep(record);
      }
    }
    const auto slots = slots_of(bytes);
    for (std::size_t at = 0; at + sizeof(LogRecord) <= slots.size(); at += sizeof(LogRecord)) {
      auto record = value_at<LogRecord>(slots, at);
      record.extent = 0;
      if (kind_of(record) == log_kind(EventKind::kFree)) keep(record);
    }
    recording_.threads.push_back(std::move(thread));
    records_.push_back(std::move(records));
    return {};
  }

  // After the last log: what one thread's log says of others is theirs by now.
  void read() {
    share_releases();
    for (std::size_t at = 0; at < records_.size(); ++at) {
      std::vector<PlacedRecord>& records = records_[at];
      // A signal handler's entries may stand behind the one that they interrupted.
      std::sort(records.begin(), records.end(), [](const PlacedRecord& one, const PlacedRecord& other) {
        return one.record.time != other.record.time ? one.record.time < other.record.time : one.order < other.order;
      });
      // A block that was freed may be in the log and in its slot; a release may have been acquired by several.
      const auto is_twice = [](const PlacedRecord& one, const PlacedRecord& other) {
        return (kind_of(one.record) == log_kind(EventKind::kFree) || kind_of(one.record) == LogKind::kReleasedBy) &&
               one.record.time == other.record.time && one.record.object == other.record.object &&
               one.record.where == other.record.where;
      };
      records.erase(std::unique(records.begin(), records.end(), is_twice), records.end());
      thread_ = at;
      for (const PlacedRecord& placed : records) take(recording_.threads[at], placed.record);
      records = {};
    }
    resolve();
  }

 private:
  // Nobody's log is complete once one of them stopped.
  [[nodiscard]] bool counts(std::uint64_t ticks) const { return stopped_at_ == 0 || ticks < stopped_at_; }

  // A hand-over is logged by who acquired; the release becomes an entry of who released.
  void share_releases() {
    std::map<std::uint32_t, std::size_t> places;
    for (std::size_t at = 0; at < recording_.threads.size(); ++at) places[raw(recording_.threads[at].id)] = at;
    std::vector<std::vector<PlacedRecord>> releases(records_.size());
    for (std::vector<PlacedRecord>& records : records_) {
      for (const PlacedRecord& placed : records) {
        LogRecord release = placed.record;
        if (kind_of(release) == LogKind::kHandedOver) release.time = std::exchange(release.extent, 0);
        if (kind_of(release) != LogKind::kHandedOver && kind_of(release) != LogKind::kReleasedBy) continue;
        const auto owner = places.find(static_cast<std::uint32_t>(code_of(release)));
        if (owner == places.end()) {
          count_strange();
        } else if (counts(release.time)) {
          release.where = log_where(LogKind::kReleasedBy, 0, 0);
          releases[owner->second].push_back({release, 0});
        }
      }
      std::erase_if(records, [](const PlacedRecord& placed) { return kind_of(placed.record) == LogKind::kReleasedBy; });
    }
    // Of equal times, a thread's own entries come first: the release is of something that it held since then.
    for (std::size_t at = 0; at < records_.size(); ++at) {
      for (PlacedRecord& release : releases[at]) {
        release.order = records_[at].size();
        records_[at].push_back(release);
      }
      releases[at] = {};
    }
  }

  void resolve() {
    std::sort(specials_.begin(), specials_.end(), [](const Special& one, const Special& other) {
      // Of equal times, what begins comes first.
      return std::tie(one.time, one.kind, one.thread, one.entry) <
             std::tie(other.time, other.kind, other.thread, other.entry);
    });
    resolve_barriers();
    resolve_joins();
  }

  void take(RecordedThread& thread, const LogRecord& record) {
    LoggedEvent entry;
    entry.time = to_time_(record.time);
    entry.code = code_of(record);
    entry.event.thread = thread.id;
    entry.event.detail = static_cast<std::uint8_t>(record.where >> 56U);
    entry.event.object = record.object;
    entry.event.extent = record.extent;
    if (kind_of(record) < LogKind::kBegin) {
      take_event(thread, record, entry);
    } else {
      take_special(thread, record, entry);
    }
  }

  void take_event(RecordedThread& thread, const LogRecord& record, LoggedEvent& entry) {
    const auto number = static_cast<unsigned>(kind_of(record)) - 1;
    if (number >= static_cast<unsigned>(kEventKindCount)) return count_strange();
    entry.event.kind = static_cast<EventKind>(number);
    Event& event = entry.event;
    switch (event.kind) {
      case EventKind::kLockAcquire:
      case EventKind::kLockRelease:
        event.detail &= 3U;
        event.depth = 1;
        break;
      case EventKind::kCondWaitBegin:
      case EventKind::kCondWaitEnd:
        event.detail = 0;
        event.depth = 1;
        break;
      case EventKind::kBarrierArrive:
      case EventKind::kBarrierLeave:
        specials_.push_back({kind_of(record), record.time, record.object, 0, thread_, thread.log.size()});
        break;
      case EventKind::kFork:
        if (event.object >= kThreadLimit) return count_strange();
        break;
      case EventKind::kAlloc:
        if (event.object + event.extent < event.object) return count_strange();
        break;
      case EventKind::kFree:
        if (event.object + event.extent < event.object) return count_strange();
        break;
      case EventKind::kSemaphorePost:
      case EventKind::kSemaphoreWait:
      case EventKind::kOnceComplete:
      case EventKind::kOnceObserve:
      case EventKind::kSyncDestroy:
      case EventKind::kThreadExit:
        break;
      default:
        return count_strange();
    }
    thread.log.push_back(entry);
  }

  void take_special(RecordedThread& thread, const LogRecord& record, LoggedEvent& entry) {
    const auto remember = [&](std::size_t at) {
      specials_.push_back({kind_of(record), record.time, record.object, record.extent, thread_, at});
    };
    const auto add = [&](EventKind kind, std::uint64_t object) {
      entry.event.kind = kind;
      entry.event.object = object;
      entry.event.extent = 0;
      entry.event.detail = 0;
      thread.log.push_back(entry);
    };
    switch (kind_of(record)) {
      case LogKind::kBegin:
        specials_.push_back({LogKind::kForked, record.time, record.object, raw(thread.id), 0, 0});
        break;
      case LogKind::kStack:
        if (record.object + record.extent < record.object) return count_strange();
        add(EventKind::kAlloc, record.object);
        thread.log.back().event.extent = record.extent;
        break;
      case LogKind::kForked:
      case LogKind::kBarrierInit:
        remember(0);
        break;
      case LogKind::kJoined:
        remember(thread.log.size());
        add(EventKind::kJoin, kThreadLimit);
        break;
      case LogKind::kDetached:
        break;
      case LogKind::kGuard:
        add(EventKind::kHappensBefore, raw(kEverybodyTag));
        break;
      case LogKind::kWritten:
        add(EventKind::kHappensBefore, record.object);
        add(EventKind::kHappensBefore, raw(kDescriptorsTag));
        break;
      case LogKind::kRead:
        add(EventKind::kHappensAfter, record.object);
        break;
      case LogKind::kPolled:
        add(EventKind::kHappensAfter, raw(kDescriptorsTag));
        break;
      case LogKind::kHandedOver:
        entry.code = 0;
        add(EventKind::kHappensAfter, tag_of(record.object));
        break;
      case LogKind::kReleasedBy:
        entry.code = 0;
        add(EventKind::kHappensBefore, tag_of(record.object));
        break;
      case LogKind::kFutex:
        recording_.has_unlogged_order = true;
        break;
      default:
        count_strange();
    }
  }

  void count_strange() { ++recording_.lost_log_entries; }

  // Who had this pthread_t when the join began. Specials are sorted by time, but a join counts
  // from its beginning.
  void resolve_joins() {
    struct Creation {
      std::uint64_t time;
      std::uint64_t thread;
    };
    std::map<std::uint64_t, std::vector<Creation>> creations;
    for (const Special& special : specials_) {
      if (special.kind == LogKind::kForked) creations[special.object].push_back({special.time, special.extent});
    }
    for (const Special& special : specials_) {
      if (special.kind != LogKind::kJoined) continue;
      const auto found = creations.find(special.object);
      if (found == creations.end()) continue;
      for (const Creation& creation : found->second) {
        if (creation.time > special.extent) break;
        recording_.threads[special.thread].log[special.entry].event.object = creation.thread;
      }
    }
    for (RecordedThread& thread : recording_.threads) {
      std::erase_if(thread.log, [](const LoggedEvent& entry) {
        return entry.event.kind == EventKind::kJoin && entry.event.object >= kThreadLimit;
      });
    }
  }

  // Arrivals by their time; a barrier of n lets go after each n-th. One whose beginning nobody
  // logged has one phase for ever, which orders more than it should.
  void resolve_barriers() {
    struct Barrier {
      std::uint64_t count = 0;
      std::uint64_t arrivals = 0;
      std::map<std::size_t, std::uint64_t> phases;  // by thread, of its latest arrival
      std::uint64_t base = 0;
    };
    std::map<std::uint64_t, Barrier> barriers;
    for (const Special& special : specials_) {
      if (special.kind == LogKind::kBarrierInit) {
        Barrier& barrier = barriers[special.object];
        barrier.base += barrier.count == 0 ? 0 : barrier.arrivals / barrier.count + 1;
        barrier.count = special.extent;
        barrier.arrivals = 0;
      } else if (special.kind == log_kind(EventKind::kBarrierArrive)) {
        Barrier& barrier = barriers[special.object];
        const std::uint64_t phase = barrier.count == 0 ? 0 : barrier.base + barrier.arrivals / barrier.count;
        ++barrier.arrivals;
        barrier.phases[special.thread] = phase;
        set_phase(special, phase);
      } else if (special.kind == log_kind(EventKind::kBarrierLeave)) {
        set_phase(special, barriers[special.object].phases[special.thread]);
      }
    }
  }

  void set_phase(const Special& special, std::uint64_t phase) {
    recording_.threads[special.thread].log[special.entry].event.extent = phase;
  }

  const TickConversion& to_time_;
  std::uint64_t stopped_at_;
  Recording& recording_;
  std::vector<std::vector<PlacedRecord>> records_;  // of recording_.threads
  std::size_t thread_ = 0;                          // whose records are being taken
  std::vector<Special> specials_;
};

}  // namespace

Result<AgentState> parse_agent_state(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(AgentState)) return malformed("agent is too short");
  const auto state = value_at<AgentState>(bytes, 0);
  if (state.magic != kAgentMagic) return malformed("agent was not written by the recorder's agent");
  if (!is_known_version(state.version)) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("agent has version {}, newest known {}", state.version, kLogVersion)};
  }
  if (state.clock > LogClock::kTicks || state.stop > LogStop::kConfined || state.locks > LoggedLocks::kHandedOn) {
    return malformed("agent says what makes no sense");
  }
  return state;
}

Status add_logs(std::span<const LogBytes> logs, const TickConversion& to_time, std::uint64_t stopped_at,
                Recording& recording) {
  LogReader reader(to_time, stopped_at, recording);
  for (const LogBytes& log : logs) {
    if (const Status status = reader.add(log); !status.ok()) return status;
  }
  reader.read();
  recording.has_log = true;
  return {};
}

}  // namespace deadheat
