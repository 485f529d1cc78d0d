// SPDX-License-Identifier: Apache-2.0
#include "trace/std_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "trace/event_validity.h"
#include "trace/std_format.h"
#include "trace/text_output.h"

namespace deadheat {

namespace {

// Gives every number a name of its own that STD's readers take for one token.
class StdNames {
 public:
  // The name given before, or a new one made from the wish.
  template <class MakeWish>
  const std::string& name(std::uint64_t number, const MakeWish& make_wish) {
    const auto known = names_.find(number);
    if (known != names_.end()) return known->second;
    std::string name = make_wish();
    std::replace_if(name.begin(), name.end(), [](char c) { return !is_safe(c); }, '_');
    while (!taken_.insert(name).second) name += '\'';
    return names_.emplace(number, std::move(name)).first->second;
  }

  static bool is_safe(char c) { return c > ' ' && c <= '~' && c != '|' && c != '(' && c != ')' && c != '#'; }

 private:
  std::unordered_map<std::uint64_t, std::string> names_;
  std::unordered_set<std::string> taken_;
};

bool is_harmless(EventKind kind) {
  switch (kind) {
    case EventKind::kLockTryFailed:
    case EventKind::kCondSignal:
    case EventKind::kCondBroadcast:
    case EventKind::kDetach:
    case EventKind::kThreadExit:
    case EventKind::kFunctionEnter:
    case EventKind::kFunctionExit:
    case EventKind::kSamplingBegin:
    case EventKind::kSamplingEnd:
      return true;
    default:
      return false;
  }
}

class StdWriter final : public StdSink {
 public:
  StdWriter(TextOutput output, StdLoss loss) : output_(std::move(output)), loss_(loss) {}

  Status write(std::span<const Event> events) override {
    for (const Event& event : events) {
      if (Status status = validate(event); !status.ok()) return status;
      if (Status status = write_one(event); !status.ok()) return status;
      ++event_count_;
      if (Status status = output_.drain_if_full(); !status.ok()) return status;
    }
    return {};
  }

  // Only remembers the names: STD has no declarations.
  Status update(const Dictionary& dictionary) override {
    for (std::uint32_t number = names_.sites.size(); number < dictionary.sites.size(); ++number) {
      names_.sites.add(dictionary.sites[SiteId{number}]);
    }
    if (names_.ranges.size() != dictionary.ranges.size()) names_.ranges = dictionary.ranges;
    if (names_.syncs.size() != dictionary.syncs.size()) names_.syncs = dictionary.syncs;
    if (names_.threads.size() != dictionary.threads.size()) names_.threads = dictionary.threads;
    return {};
  }

  Status flush() override { return output_.flush(); }
  Status close() override { return output_.close(); }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& lost_events() const override { return lost_; }

 private:
  Status write_one(const Event& event) {
    switch (event.kind) {
      case EventKind::kRead:
        return write_access(event, "r");
      case EventKind::kWrite:
        return write_access(event, "w");
      case EventKind::kLockAcquire:
        return write_lock(event, "acq");
      case EventKind::kLockRelease:
        return write_lock(event, "rel");
      case EventKind::kCondWaitBegin:
        return line(event, "rel", lock(event.mutex()));
      case EventKind::kCondWaitEnd:
        return line(event, "acq", lock(event.mutex()));
      case EventKind::kFork:
        return line(event, "fork", thread(event.other_thread()));
      case EventKind::kJoin:
        return line(event, "join", thread(event.other_thread()));
      case EventKind::kThreadRoot:
        return {};  // readers infer it
      default:
        return lose(info(event.kind).word, is_harmless(event.kind));
    }
  }

  Status write_access(const Event& event, std::string_view operation) {
    if (overlaps_in_part(event.address(), event.size())) {
      if (Status status = lose("partial overlap", false); !status.ok()) return status;
    }
    return line(event, operation, variable(event.address()));
  }

  Status write_lock(const Event& event, std::string_view operation) {
    if (event.lock_mode() == LockMode::kShared) {
      return lose(fmt::format("{} shared", info(event.kind).word), false);
    }
    return line(event, operation, lock(event.sync()));
  }

  Status line(const Event& event, std::string_view operation, const std::string& operand) {
    fmt::format_to(std::back_inserter(output_.buffer()), "{}|{}({})|{}\n", thread(event.thread), operation, operand,
                   location(event.site));
    return {};
  }

  Status lose(const std::string& what, bool harmless) {
    if (!harmless && loss_ == StdLoss::kRefuse) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("event {}: STD cannot express '{}', and without it the races would be others",
                               event_count_, what)};
    }
    ++lost_[what];
    return {};
  }

  // Remembers each variable at its first access; a later one must be the same
  // or lie apart from all.
  bool overlaps_in_part(Address begin, std::uint64_t size) {
    const auto known = variables_.find(begin);
    if (known != variables_.end()) return known->second != size;
    const auto after = variables_.upper_bound(begin);
    const bool overlaps = (after != variables_.end() && after->first < begin + size) ||
                          (after != variables_.begin() && std::prev(after)->first + std::prev(after)->second > begin);
    if (!overlaps) variables_.emplace(begin, size);
    return overlaps;
  }

  const std::string& variable(Address begin) {
    return variable_names_.name(begin, [&]() -> std::string {
      auto range = names_.ranges.upper_bound(begin);
      if (range == names_.ranges.begin()) return fmt::format("V{:x}", begin);
      --range;
      const std::uint64_t offset = begin - range->first;
      if (offset >= range->second.size) return fmt::format("V{:x}", begin);
      return offset == 0 ? range->second.name : fmt::format("{}+{}", range->second.name, offset);
    });
  }

  const std::string& lock(SyncId object) {
    return lock_names_.name(raw(object), [&]() -> std::string {
      const auto found = names_.syncs.find(object);
      return found == names_.syncs.end() ? fmt::format("L{:x}", raw(object)) : found->second;
    });
  }

  const std::string& thread(ThreadId thread) {
    return thread_names_.name(raw(thread), [&]() -> std::string {
      const auto found = names_.threads.find(thread);
      return found == names_.threads.end() ? fmt::format("T{}", raw(thread)) : found->second;
    });
  }

  // 0 is the unknown place. Sites may share a location; that is no loss for races.
  [[nodiscard]] std::string location(SiteId number) const {
    const Site& site = names_.sites[number];
    std::string text;
    if (!site.file.empty()) {
      text = fmt::format("{}:{}", site.file, site.line);
    } else if (!site.function.empty()) {
      text = site.function;
    } else if (site.line != 0) {
      text = fmt::format("{}", site.line);
    } else if (!site.module.empty()) {
      text = fmt::format("{}+{:#x}", site.module, site.offset);
    } else {
      text = "0";
    }
    std::replace_if(text.begin(), text.end(), [](char c) { return !StdNames::is_safe(c); }, '_');
    return text;
  }

  TextOutput output_;
  StdLoss loss_;
  Dictionary names_;
  StdNames thread_names_;
  StdNames lock_names_;
  StdNames variable_names_;
  std::map<Address, std::uint64_t> variables_;
  std::map<std::string, std::uint64_t> lost_;
  std::uint64_t event_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<StdSink>> create_std_sink(const std::string& path, StdLoss loss) {
  Result<TextOutput> output = TextOutput::create(path);
  if (!output.ok()) return output.error();
  return std::unique_ptr<StdSink>(std::make_unique<StdWriter>(std::move(output).value(), loss));
}

Result<std::unique_ptr<EventSink>> create_std_trace(const std::string& path) {
  Result<std::unique_ptr<StdSink>> sink = create_std_sink(path, StdLoss::kRefuse);
  if (!sink.ok()) return sink.error();
  return std::unique_ptr<EventSink>(std::move(sink).value());
}

}  // namespace deadheat
