// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "trace/malformed.h"
#include "trace/recording_chunks.h"
#include "trace/recording_file.h"
#include "trace/recording_log.h"
#include "trace/recording_sums.h"

namespace deadheat {

namespace {

using namespace recording_chunks;

struct PlacedSample {
  std::uint32_t system_id = 0;
  RegisterSample sample;
};

// What the main file has, before the logs say which threads there are.
struct MainFile {
  Recording recording;
  std::vector<PlacedSample> samples;
  std::vector<std::pair<std::uint32_t, PathPiece>> paths;
  std::map<std::uint32_t, std::string> names;
  std::vector<std::pair<std::uint32_t, PathMark>> marks;
  std::vector<FileSum> sums;
  bool has_head = false;
  bool has_end = false;
};

bool take_samples(Take& take, MainFile& main) {
  while (!take.is_empty() && !take.is_bad()) {
    PlacedSample placed;
    placed.system_id = static_cast<std::uint32_t>(take.number());
    placed.sample.time = take.number();
    const std::uint64_t position = take.number();
    if (position != kNoPosition) placed.sample.position = position;
    for (std::uint64_t& value : placed.sample.registers.general) value = take.number();
    placed.sample.registers.ip = take.number();
    placed.sample.registers.flags = take.number();
    const auto stack = take.sized_bytes();
    placed.sample.stack.assign(stack.begin(), stack.end());
    if (!take.is_bad()) main.samples.push_back(std::move(placed));
  }
  return !take.is_bad();
}

bool take_path(Take& take, MainFile& main) {
  const auto system_id = static_cast<std::uint32_t>(take.number());
  PathPiece piece;
  piece.first_position = take.number();
  piece.is_after_gap = take.number() != 0;
  const auto code = take.rest();
  if (take.is_bad() || code.size() % sizeof(std::uint64_t) != 0) return false;
  piece.code.resize(code.size() / sizeof(std::uint64_t));
  std::memcpy(piece.code.data(), code.data(), code.size());
  main.paths.emplace_back(system_id, std::move(piece));
  return true;
}

// False: it does not have what its type needs.
bool take_chunk(std::uint32_t type, std::span<const std::byte> payload, MainFile& main) {
  Take take(payload);
  Recording& recording = main.recording;
  switch (type) {
    case kHead: {
      recording.program = take.text();
      const std::uint64_t count = take.number();
      for (std::uint64_t at = 0; at < count && !take.is_bad(); ++at) recording.arguments.push_back(take.text());
      recording.backend = take.text();
      recording.process = take.number();
      main.has_head = true;
      break;
    }
    case kMapping: {
      CodeMapping mapping;
      mapping.begin = take.number();
      mapping.end = take.number();
      mapping.file_offset = take.number();
      mapping.from_time = take.number();
      mapping.until_time = take.number();
      mapping.path = take.text();
      const auto build_id = take.sized_bytes();
      mapping.build_id.assign(build_id.begin(), build_id.end());
      if (mapping.end < mapping.begin) return false;
      recording.mappings.push_back(std::move(mapping));
      break;
    }
    case kName: {
      const auto system_id = static_cast<std::uint32_t>(take.number());
      main.names[system_id] = take.text();
      break;
    }
    case kSamples:
      return take_samples(take, main);
    case kPath:
      return take_path(take, main);
    case kClock: {
      const std::uint64_t ticks = take.number();
      recording.clocks.push_back({ticks, take.number()});
      break;
    }
    case kTrace: {
      TraceBytes trace;
      trace.processor = static_cast<std::uint32_t>(take.number());
      trace.offset = take.number();
      const auto bytes = take.rest();
      trace.bytes.assign(bytes.begin(), bytes.end());
      if (!take.is_bad()) recording.trace.push_back(std::move(trace));
      break;
    }
    case kMark: {
      const auto system_id = static_cast<std::uint32_t>(take.number());
      PathMark mark;
      mark.position = take.number();
      mark.from = take.number();
      mark.until = take.number();
      if (!take.is_bad()) main.marks.emplace_back(system_id, mark);
      break;
    }
    case kTraceRange: {
      TraceRange range;
      range.processor = static_cast<std::uint32_t>(take.number());
      range.offset = take.number();
      range.size = take.number();
      range.system_id = static_cast<std::uint32_t>(take.number());
      range.time = take.number();
      range.has_loss = take.number() != 0;
      if (!take.is_bad()) recording.trace_ranges.push_back(range);
      break;
    }
    case kSums:
      while (!take.is_empty() && !take.is_bad()) {
        FileSum sum;
        sum.name = take.text();
        sum.size = take.number();
        sum.checksum = take.number();
        main.sums.push_back(std::move(sum));
      }
      break;
    case kTraceTiming: {
      TraceTiming& timing = recording.trace_timing;
      timing.mtc_period = take.number();
      timing.nominal_frequency = take.number();
      timing.counter_ratio = take.number();
      timing.ratio_divisor = take.number();
      break;
    }
    case kEnd: {
      recording.seconds = static_cast<double>(take.number()) / 1e9;
      recording.lost_samples = take.number();
      std::string incomplete = take.text();
      if (!incomplete.empty()) recording.incomplete = std::move(incomplete);
      main.has_end = true;
      break;
    }
    default:
      return true;  // of a later writer of the same version: not needed to understand the rest
  }
  return !take.is_bad();
}

Result<MainFile> parse_main(std::span<const std::byte> bytes) {
  FileHead head;
  if (bytes.size() < sizeof head) return malformed("not a recording: {} is too short", kMainFile);
  std::memcpy(&head, bytes.data(), sizeof head);
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0)
    return malformed("not a recording: {} begins otherwise", kMainFile);
  if (head.reserved != 0) return malformed("{} is damaged in its first bytes", kMainFile);
  if (head.version != kRecordingVersion) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("the recording has version {}, newest known {}", head.version, kRecordingVersion)};
  }
  MainFile main;
  std::size_t at = sizeof head;
  std::optional<std::string> damage;
  while (at < bytes.size() && !damage) {
    ChunkHead chunk;
    const auto rest = bytes.subspan(at);
    if (rest.size() < sizeof chunk) {
      damage = fmt::format("{} ends in the middle of a chunk, at byte {}", kMainFile, at);
      break;
    }
    std::memcpy(&chunk, rest.data(), sizeof chunk);
    if (chunk.size > kMostPayload) {
      damage = fmt::format("{} is damaged at byte {}: a chunk of {} bytes", kMainFile, at, chunk.size);
    } else if (rest.size() - sizeof chunk < chunk.size) {
      damage = fmt::format("{} ends in the middle of a chunk, at byte {}", kMainFile, at);
    } else {
      const auto payload = rest.subspan(sizeof chunk, chunk.size);
      if (checksum_of(chunk.type, payload) != chunk.checksum) {
        damage = fmt::format("{} is damaged at byte {}: wrong checksum", kMainFile, at);
      } else if (!take_chunk(chunk.type, payload, main)) {
        damage = fmt::format("{} is damaged at byte {}: a chunk is too short for its kind", kMainFile, at);
      }
      at += sizeof chunk + chunk.size;
    }
  }
  if (!main.has_head) return malformed("{}", damage.value_or(fmt::format("{} has no beginning", kMainFile)));
  if (damage) {
    main.recording.incomplete = std::move(damage);
  } else if (!main.has_end) {
    main.recording.incomplete = "the recorder was killed before it had finished";
  }
  return main;
}

std::string_view reason_of(LogStop stop) {
  switch (stop) {
    case LogStop::kLimit:
      return "its limit was reached (record --log-limit)";
    case LogStop::kDisk:
      return "it could not be written: a full disk, or a directory that the program cannot reach";
    case LogStop::kAddressSpace:
      return "the program had no address space left";
    case LogStop::kConfined:
      return "the program confined its system calls (seccomp)";
    case LogStop::kNone:
      break;
  }
  return "of an unknown reason";
}

void note_incomplete(Recording& recording, std::string why) {
  recording.incomplete = recording.incomplete ? *recording.incomplete + "; " + why : std::move(why);
}

// Of threads that had the same system's number one after the other, the latest begun.
RecordedThread* thread_at(std::map<std::uint32_t, std::vector<RecordedThread*>>& threads, std::uint32_t system_id,
                          std::uint64_t time) {
  const auto found = threads.find(system_id);
  if (found == threads.end()) return nullptr;
  RecordedThread* best = nullptr;
  for (RecordedThread* thread : found->second) {
    if (thread->log.empty() || thread->log.front().time <= time) best = thread;
  }
  return best;
}

void place_samples(MainFile& main) {
  Recording& recording = main.recording;
  if (!recording.has_log) {  // every thread that was seen
    std::map<std::uint32_t, bool> seen;
    for (const PlacedSample& placed : main.samples) seen[placed.system_id] = true;
    for (const auto& [system_id, unused] : seen) {
      RecordedThread thread;
      thread.id = ThreadId{static_cast<std::uint32_t>(recording.threads.size())};
      thread.system_id = system_id;
      thread.is_root = true;
      recording.threads.push_back(std::move(thread));
    }
  }
  std::map<std::uint32_t, std::vector<RecordedThread*>> threads;
  for (RecordedThread& thread : recording.threads) threads[thread.system_id].push_back(&thread);
  for (auto& [system_id, same] : threads) {
    std::sort(same.begin(), same.end(), [](const RecordedThread* one, const RecordedThread* other) {
      return (one->log.empty() ? 0 : one->log.front().time) < (other->log.empty() ? 0 : other->log.front().time);
    });
  }
  for (PlacedSample& placed : main.samples) {
    RecordedThread* const thread = thread_at(threads, placed.system_id, placed.sample.time);
    if (thread == nullptr) {
      ++recording.foreign_samples;
    } else {
      thread->samples.push_back(std::move(placed.sample));
    }
  }
  for (auto& [system_id, piece] : main.paths) {
    RecordedThread* const thread = thread_at(threads, system_id, ~0ULL);
    if (thread != nullptr) thread->path.push_back(std::move(piece));
  }
  for (const auto& [system_id, mark] : main.marks) {
    RecordedThread* const thread = thread_at(threads, system_id, mark.until);
    if (thread != nullptr) thread->marks.push_back(mark);
  }
  for (RecordedThread& thread : recording.threads) {
    // Of damaged files: positions must grow, and pieces must not overlap.
    std::ranges::sort(thread.marks, {}, &PathMark::position);
    std::ranges::sort(thread.path, {}, &PathPiece::first_position);
    std::sort(thread.samples.begin(), thread.samples.end(),
              [](const RegisterSample& one, const RegisterSample& other) { return one.time < other.time; });
    if (const auto name = main.names.find(thread.system_id); name != main.names.end()) thread.name = name->second;
  }
}

// Nothing is known of what orders threads after the log has stopped.
void cut_samples(Recording& recording, std::uint64_t time) {
  for (RecordedThread& thread : recording.threads) {
    std::erase_if(thread.samples, [&](const RegisterSample& sample) { return sample.time >= time; });
  }
}

Result<std::vector<std::byte>> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot open '{}': {}", path.string(), std::generic_category().message(errno))};
  }
  const std::streamoff size = file.tellg();
  std::vector<std::byte> bytes(size > 0 ? static_cast<std::size_t>(size) : 0);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) return Error{ErrorCode::kIo, fmt::format("cannot read '{}'", path.string())};
  return bytes;
}

// N of "log.N"; nothing for other names.
std::optional<std::uint32_t> number_of(const std::string& name, std::string_view prefix) {
  std::uint32_t number = 0;
  const char* const end = name.data() + name.size();
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return std::nullopt;
  const auto [last, error] = std::from_chars(name.data() + prefix.size(), end, number);
  return error == std::errc() && last == end ? std::optional(number) : std::nullopt;
}

}  // namespace

// The line through the first and the last pair. The counter runs at a constant rate.
Result<TickConversion> tick_conversion(const std::vector<ClockPair>& clocks) {
  if (clocks.size() < 2 || clocks.back().ticks <= clocks.front().ticks || clocks.back().time <= clocks.front().time) {
    return malformed("{} does not tell how fast the processor's counter ran", kMainFile);
  }
  const ClockPair first = clocks.front();
  const auto rate = static_cast<long double>(clocks.back().time - first.time) /
                    static_cast<long double>(clocks.back().ticks - first.ticks);
  return TickConversion([first, rate](std::uint64_t ticks) {
    const auto distance = static_cast<long double>(static_cast<std::int64_t>(ticks - first.ticks)) * rate;
    const auto time = static_cast<long double>(first.time) + distance;
    return time <= 0 ? 0 : time >= 9e18L ? std::uint64_t{9'000'000'000'000'000'000} : static_cast<std::uint64_t>(time);
  });
}

Result<Recording> parse_recording(const RecordingBytes& bytes) {
  auto parsed = parse_main(bytes.main);
  if (!parsed.ok()) return parsed.error();
  MainFile main = std::move(parsed).value();
  Recording& recording = main.recording;
  if (const Status status = check_sums(main.sums, bytes); !status.ok()) return status.error();
  if (!bytes.agent.empty()) {
    const auto state = parse_agent_state(bytes.agent);
    if (!state.ok()) return state.error();
    TickConversion to_time = [](std::uint64_t time) { return time; };
    if (state.value().clock == LogClock::kTicks) {
      auto conversion = tick_conversion(recording.clocks);
      if (!conversion.ok()) return conversion.error();
      to_time = std::move(conversion).value();
    }
    recording.are_locks_known = state.value().locks == LoggedLocks::kAll;
    std::vector<LogBytes> logs;
    for (const RecordingBytes::Log& log : bytes.logs) logs.push_back({log.name, log.thread, log.log, log.tail});
    if (const Status status = add_logs(logs, to_time, state.value().stopped_at, recording); !status.ok()) {
      return status.error();
    }
    recording.lost_log_entries += state.value().unlogged;
    place_samples(main);
    if (state.value().stopped_at != 0) {
      cut_samples(recording, to_time(state.value().stopped_at));
      note_incomplete(recording,
                      fmt::format("the log of synchronisation stops early: {}", reason_of(state.value().stop)));
    }
  } else {
    place_samples(main);
  }
  return std::move(recording);
}

bool is_recording(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

Result<Recording> read_recording(const std::string& directory) {
  namespace fs = std::filesystem;
  const fs::path root(directory);
  std::error_code error;
  if (!fs::exists(root / kMainFile, error)) {
    return Error{ErrorCode::kMalformed, fmt::format("not a recording: '{}' has no {} in it", directory, kMainFile)};
  }
  const auto main = read_bytes(root / kMainFile);
  if (!main.ok()) return main.error();
  RecordingBytes bytes;
  bytes.main = main.value();
  std::vector<std::byte> agent;
  if (fs::exists(root / "agent", error)) {
    auto read = read_bytes(root / "agent");
    if (!read.ok()) return read.error();
    agent = std::move(read).value();
    bytes.agent = agent;
  }
  std::map<std::uint32_t, std::pair<std::vector<std::byte>, std::vector<std::byte>>> logs;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    const std::string name = entry.path().filename().string();
    const auto log = number_of(name, "log.");
    const auto tail = number_of(name, "tail.");
    if (!log && !tail) continue;
    auto read = read_bytes(entry.path());
    if (!read.ok()) return read.error();
    (log ? logs[*log].first : logs[*tail].second) = std::move(read).value();
  }
  for (const auto& [thread, both] : logs) {
    bytes.logs.push_back({fmt::format("log.{}", thread), thread, both.first, both.second});
  }
  return parse_recording(bytes);
}

}  // namespace deadheat
