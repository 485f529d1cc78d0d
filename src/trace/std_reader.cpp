// SPDX-License-Identifier: Apache-2.0
#include "trace/std_reader.h"

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/std_format.h"
#include "trace/text_lines.h"
#include "trace/text_words.h"

namespace deadheat {

namespace {

constexpr std::uint64_t kVariableSize = 8;
// Variables lie apart, so that no analysis takes neighbours for one array.
constexpr Address kFirstVariable = 0x10000;
constexpr std::uint64_t kVariableStride = 16;

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\v\f";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

struct StdLine {
  std::string_view thread;
  std::string_view operation;
  std::string_view operand;
  std::string_view location;
};

// thread|operation(operand)|location; the operand and the location may be missing.
std::optional<StdLine> split(std::string_view text) {
  StdLine line;
  const std::size_t first = text.find('|');
  if (first == std::string_view::npos) return std::nullopt;
  line.thread = trim(text.substr(0, first));
  text.remove_prefix(first + 1);
  const std::size_t second = text.rfind('|');
  if (second != std::string_view::npos) {
    line.location = trim(text.substr(second + 1));
    text = text.substr(0, second);
  }
  text = trim(text);
  const std::size_t open = text.find('(');
  line.operation = text.substr(0, open);
  if (open != std::string_view::npos) {
    if (!text.ends_with(')')) return std::nullopt;
    line.operand = text.substr(open + 1, text.size() - open - 2);
  }
  if (line.thread.empty() || line.operation.empty()) return std::nullopt;
  return line;
}

Site site_of(std::string_view location) {
  Site site;
  const std::size_t colon = location.rfind(':');
  const std::string_view digits = colon == std::string_view::npos ? location : location.substr(colon + 1);
  const auto line = text::parse_number(digits);
  if (!line || *line > std::numeric_limits<std::uint32_t>::max()) {
    site.function = location;
    return site;
  }
  site.line = static_cast<std::uint32_t>(*line);
  if (colon != std::string_view::npos) site.file = location.substr(0, colon);
  return site;
}

// Numbers names in the order of their first appearance.
class Numbering {
 public:
  struct Entry {
    std::uint64_t number = 0;
    bool is_new = false;
  };
  Entry number(std::string_view name) {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return {found->second, false};
    const std::uint64_t next = numbers_.size();
    numbers_.emplace(name, next);
    return {next, true};
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> numbers_;
};

class StdReader final : public StdSource {
 public:
  explicit StdReader(LineReader lines) : lines_(std::move(lines)) {}

  // The events before a bad line are delivered first, then the error.
  Result<std::span<const Event>> next_batch() override {
    batch_.clear();
    while (!done_ && batch_.size() < LineReader::kBatch) {
      if (Status status = read_line(); !status.ok()) {
        failure_ = status.error();
        done_ = true;
      }
    }
    if (batch_.empty() && failure_) return *std::exchange(failure_, std::nullopt);
    return std::span<const Event>(batch_);
  }

  [[nodiscard]] const Dictionary& dictionary() const override { return dictionary_; }
  [[nodiscard]] SourceProgress progress() const override { return lines_.progress(); }
  [[nodiscard]] std::optional<std::string> truncation() const override { return truncation_; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& skipped() const override { return skipped_; }

 private:
  Status read_line() {
    const Result<std::optional<LineReader::Line>> next = lines_.next();
    if (!next.ok()) return next.error();
    if (!next.value()) {
      done_ = true;
      return {};
    }
    const std::string_view text = trim(next.value()->text);
    if (text.empty() || text.front() == '#') return {};
    const std::optional<StdLine> line = split(text);
    if (line) return read_event(*line);
    if (!next.value()->terminated) {
      truncation_ = fmt::format("the file ends in the middle of line {}", lines_.line_number());
      done_ = true;
      return {};
    }
    return malformed(fmt::format("'{:.60}' does not have the form thread|operation(operand)|location", text));
  }

  Status read_event(const StdLine& line) {
    const std::optional<EventKind> kind = kind_of(line.operation);
    if (!kind) {
      ++skipped_[std::string(line.operation)];
      return {};
    }
    if (line.operand.empty()) return malformed(fmt::format("'{}' needs an operand in parentheses", line.operation));
    Event event;
    event.kind = *kind;
    const Result<ThreadId> self = running_thread(line.thread);
    if (!self.ok()) return self.error();
    event.thread = self.value();
    event.site = site(line.location);
    if (Status status = set_operand(event, line.operand); !status.ok()) return status;
    batch_.push_back(event);
    return {};
  }

  static std::optional<EventKind> kind_of(std::string_view operation) {
    if (operation == "r") return EventKind::kRead;
    if (operation == "w") return EventKind::kWrite;
    if (operation == "acq") return EventKind::kLockAcquire;
    if (operation == "rel") return EventKind::kLockRelease;
    if (operation == "fork") return EventKind::kFork;
    if (operation == "join") return EventKind::kJoin;
    return std::nullopt;
  }

  Status set_operand(Event& event, std::string_view operand) {
    switch (info(event.kind).object) {
      case ObjectMeaning::kAddress:
        event.object = variable(operand);
        event.extent = kVariableSize;
        return {};
      case ObjectMeaning::kSync:
        event.object = lock(operand);
        event.depth = count_depth(event);
        return {};
      case ObjectMeaning::kThread:
      case ObjectMeaning::kNone:
        break;
    }
    const Result<ThreadId> other = event.kind == EventKind::kFork ? thread(operand) : running_thread(operand);
    if (!other.ok()) return other.error();
    begun_[raw(other.value())] = true;
    event.object = raw(other.value());
    return {};
  }

  // Recursion is not in the file. A release without acquire keeps depth 1: the
  // trace checker is the one to refuse it.
  std::uint16_t count_depth(const Event& event) {
    std::unordered_map<std::uint64_t, std::uint16_t>& depths = depths_[raw(event.thread)];
    std::uint16_t& depth = depths[event.object];
    if (event.kind == EventKind::kLockAcquire) {
      if (depth < std::numeric_limits<std::uint16_t>::max()) ++depth;
      return depth;
    }
    const std::uint16_t released = depth == 0 ? std::uint16_t{1} : depth;
    if (depth <= 1) {
      depths.erase(event.object);
    } else {
      --depth;
    }
    return released;
  }

  Result<ThreadId> thread(std::string_view name) {
    const Numbering::Entry entry = threads_.number(name);
    if (entry.number >= kThreadLimit) return malformed("too many threads").error();
    const ThreadId thread{static_cast<std::uint32_t>(entry.number)};
    if (entry.is_new) {
      dictionary_.threads.emplace(thread, name);
      begun_.push_back(false);
      depths_.emplace_back();
    }
    return thread;
  }

  // A thread that must exist by now: a root if nothing has forked it. The thread
  // of the first event need not say so.
  Result<ThreadId> running_thread(std::string_view name) {
    Result<ThreadId> number = thread(name);
    if (!number.ok()) return number;
    if (begun_[raw(number.value())]) return number;
    begun_[raw(number.value())] = true;
    if (raw(number.value()) != 0) batch_.push_back(events::plain(EventKind::kThreadRoot, number.value()));
    return number;
  }

  Address variable(std::string_view name) {
    const Numbering::Entry entry = variables_.number(name);
    const Address address = kFirstVariable + entry.number * kVariableStride;
    if (entry.is_new) dictionary_.ranges.emplace(address, NamedRange{kVariableSize, std::string(name)});
    return address;
  }

  std::uint64_t lock(std::string_view name) {
    const Numbering::Entry entry = locks_.number(name);
    if (entry.is_new) dictionary_.syncs.emplace(SyncId{entry.number + 1}, name);
    return entry.number + 1;
  }

  // 0 and -1 are what loggers write when they do not know the place.
  SiteId site(std::string_view location) {
    if (location.empty() || location == "0" || location == "-1") return SiteId::kUnknown;
    const Numbering::Entry entry = sites_.number(location);
    if (entry.is_new) dictionary_.sites.add(site_of(location));
    return SiteId{static_cast<std::uint32_t>(entry.number + 1)};
  }

  Status malformed(std::string_view what) const {
    return Error{ErrorCode::kMalformed, fmt::format("line {}: {}", lines_.line_number(), what)};
  }

  LineReader lines_;
  Dictionary dictionary_;
  Numbering threads_;
  Numbering variables_;
  Numbering locks_;
  Numbering sites_;
  std::vector<bool> begun_;                                               // by thread: forked, or seen to run
  std::vector<std::unordered_map<std::uint64_t, std::uint16_t>> depths_;  // by thread, then by lock
  std::map<std::string, std::uint64_t> skipped_;
  std::vector<Event> batch_;
  bool done_ = false;
  std::optional<Error> failure_;
  std::optional<std::string> truncation_;
};

}  // namespace

Result<std::unique_ptr<StdSource>> open_std_source(const std::string& path) {
  auto file = TraceFile::open(path);
  if (!file.ok()) return file.error();
  return std::unique_ptr<StdSource>(std::make_unique<StdReader>(LineReader(std::move(file).value())));
}

std::unique_ptr<EventSource> read_std_trace(TraceFile file) {
  return std::make_unique<StdReader>(LineReader(std::move(file)));
}

Result<ParsedTrace> parse_std_trace(std::string_view text) {
  StdReader reader{LineReader(text)};
  ParsedTrace trace;
  for (;;) {
    const Result<std::span<const Event>> batch = reader.next_batch();
    if (!batch.ok()) return batch.error();
    if (batch.value().empty()) break;
    trace.events.insert(trace.events.end(), batch.value().begin(), batch.value().end());
  }
  if (reader.truncation()) return Error{ErrorCode::kMalformed, *reader.truncation()};
  trace.dictionary = reader.dictionary();
  return trace;
}

}  // namespace deadheat
