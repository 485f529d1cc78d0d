// SPDX-License-Identifier: Apache-2.0
#include "trace/stream_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

#include "trace/binary_dictionary.h"
#include "trace/binary_reader.h"

namespace deadheat {
namespace {

struct SiteOrder {
  using Key =
      std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::string_view, std::string_view, std::string_view>;
  bool operator()(const Site& left, const Site& right) const { return key(left) < key(right); }
  static Key key(const Site& site) {
    return {site.offset, site.line, site.function_line, site.function, site.file, site.module};
  }
};

// The dictionary of the merged trace.
class MergedDictionary {
 public:
  [[nodiscard]] const Dictionary& get() const { return dictionary_; }

  SiteId number_of(const Site& site) {
    if (site == Site{}) return SiteId::kUnknown;
    const auto [place, is_new] = numbers_.try_emplace(site, SiteId::kUnknown);
    if (is_new) place->second = dictionary_.sites.add(site);
    return place->second;
  }

  void add_names(const Dictionary& other) {
    for (const auto& [address, range] : other.ranges) {
      if (fits_between(dictionary_.ranges, address, range.size)) dictionary_.ranges.try_emplace(address, range);
    }
    dictionary_.syncs.insert(other.syncs.begin(), other.syncs.end());
    dictionary_.threads.insert(other.threads.begin(), other.threads.end());
  }

 private:
  Dictionary dictionary_;
  std::map<Site, SiteId, SiteOrder> numbers_;
};

// One input with its place in it.
class Stream {
 public:
  Stream(std::unique_ptr<BinaryReader> reader, std::string path) : reader_(std::move(reader)), path_(std::move(path)) {}

  [[nodiscard]] bool has_event() const { return at_ < events_.size(); }
  [[nodiscard]] const Event& event() const { return events_[at_]; }
  [[nodiscard]] std::uint64_t sequence() const { return sequences_[at_]; }
  [[nodiscard]] const BinaryReader& reader() const { return *reader_; }

  // The merged number of the current event's site.
  SiteId merged_site(MergedDictionary& merged) {
    const std::uint32_t site = raw(event().site);
    if (site >= reader_->dictionary().sites.size()) return SiteId::kUnknown;
    while (site >= site_map_.size()) {
      const SiteId next{static_cast<std::uint32_t>(site_map_.size())};
      site_map_.push_back(merged.number_of(reader_->dictionary().sites[next]));
    }
    return site_map_[site];
  }

  // To the next event, or to none at the end.
  Status advance(MergedDictionary& merged) {
    const std::uint64_t before = sequence();
    last_kind_ = event().kind;
    ++at_;
    if (!has_event()) {
      if (Status status = load(merged); !status) return status;
    }
    if (has_event() && sequence() < before) {
      return Error{ErrorCode::kInvalid,
                   fmt::format("stream '{}' goes backwards: sequence number {} follows {}", path_, sequence(), before)};
    }
    return {};
  }

  Status load(MergedDictionary& merged) {
    at_ = 0;
    events_ = {};
    const auto batch = reader_->next_batch();
    if (!batch) return batch.error();
    events_ = batch.value();
    sequences_ = reader_->sequences();
    const Dictionary& own = reader_->dictionary();
    const std::size_t names = own.ranges.size() + own.syncs.size() + own.threads.size();
    if (names != std::exchange(names_merged_, names)) merged.add_names(own);
    return {};
  }

  // At the end: what is missing, if something is.
  [[nodiscard]] std::optional<std::string> missing() const {
    return last_kind_ == EventKind::kThreadExit ? std::nullopt : reader_->truncation();
  }

 private:
  std::unique_ptr<BinaryReader> reader_;
  std::string path_;
  std::span<const Event> events_;
  std::span<const std::uint64_t> sequences_;
  std::size_t at_ = 0;
  std::size_t names_merged_ = 0;
  std::vector<SiteId> site_map_;
  std::optional<EventKind> last_kind_;
};

class MergedSource final : public EventSource {
 public:
  explicit MergedSource(std::vector<Stream> streams) : streams_(std::move(streams)) {}

  Status start() {
    for (std::size_t index = 0; index < streams_.size(); ++index) {
      if (Status status = streams_[index].load(dictionary_); !status) return status;
      enter(index);
    }
    return {};
  }

  Result<std::span<const Event>> next_batch() override {
    batch_.clear();
    while (!pending_error_ && !truncation_ && !heap_.empty() && batch_.size() < kBatch) step();
    if (batch_.empty() && pending_error_) {
      heap_ = {};
      return *std::exchange(pending_error_, std::nullopt);
    }
    return std::span<const Event>{batch_};
  }

  [[nodiscard]] const Dictionary& dictionary() const override { return dictionary_.get(); }
  [[nodiscard]] std::optional<std::string> truncation() const override { return truncation_; }
  [[nodiscard]] SourceProgress progress() const override {
    SourceProgress sum;
    for (const Stream& stream : streams_) {
      sum.done += stream.reader().progress().done;
      sum.total += stream.reader().progress().total;
    }
    return sum;
  }

 private:
  static constexpr std::size_t kBatch = 2048;

  struct Turn {
    std::uint64_t sequence;
    ThreadId thread;
    std::size_t stream;
    friend auto operator<=>(const Turn&, const Turn&) = default;
  };

  // Delivers the next event of the stream whose turn it is, and those after it
  // as long as no other stream comes first.
  void step() {
    const std::size_t index = heap_.top().stream;
    heap_.pop();
    Stream& stream = streams_[index];
    do {
      Event event = stream.event();
      event.site = stream.merged_site(dictionary_);
      batch_.push_back(event);
      if (Status status = stream.advance(dictionary_); !status) {
        pending_error_ = status.error();
        return;
      }
    } while (stream.has_event() && batch_.size() < kBatch && (heap_.empty() || turn_of(index) < heap_.top()));
    enter(index);
  }

  [[nodiscard]] Turn turn_of(std::size_t index) const {
    return {streams_[index].sequence(), streams_[index].event().thread, index};
  }

  void enter(std::size_t index) {
    if (streams_[index].has_event()) {
      heap_.push(turn_of(index));
    } else if (!truncation_) {
      if (const auto missing = streams_[index].missing()) truncation_ = "a stream is incomplete: " + *missing;
    }
  }

  std::vector<Stream> streams_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> heap_;
  MergedDictionary dictionary_;
  std::vector<Event> batch_;
  std::optional<std::string> truncation_;
  std::optional<Error> pending_error_;
};

}  // namespace

Result<std::unique_ptr<EventSource>> merge_streams(std::span<const std::string> paths) {
  std::vector<Stream> streams;
  for (const std::string& path : paths) {
    auto reader = BinaryReader::open(path);
    if (!reader) return reader.error();
    if (reader.value()->has_sequences() == Sequences::kAbsent) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("cannot merge trace '{}': its events have no sequence numbers", path)};
    }
    streams.emplace_back(std::move(reader).value(), path);
  }
  auto merged = std::make_unique<MergedSource>(std::move(streams));
  if (Status status = merged->start(); !status) return status.error();
  return std::unique_ptr<EventSource>{std::move(merged)};
}

}  // namespace deadheat
