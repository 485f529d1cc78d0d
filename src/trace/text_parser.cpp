// SPDX-License-Identifier: Apache-2.0
// Event lines: thread, word, operands, site. The table of event kinds says
// which operands a word has, so the code below speaks of meanings, not of kinds.
#include "trace/text_parser.h"

#include <algorithm>
#include <array>

#include "trace/event_validity.h"
#include "trace/malformed.h"

namespace deadheat::text {

namespace {

constexpr auto kEventWords = [] {
  std::array<std::string_view, kEventKindCount> words;
  for (int kind = 0; kind < kEventKindCount; ++kind) words[static_cast<std::size_t>(kind)] = kEventKinds[kind].word;
  return words;
}();

const std::unordered_map<std::string_view, EventKind>& kinds_by_word() {
  static const auto kinds = [] {
    std::unordered_map<std::string_view, EventKind> map;
    for (std::size_t kind = 0; kind < kEventWords.size(); ++kind) {
      map.emplace(kEventWords[kind], EventKind{static_cast<std::uint8_t>(kind)});
    }
    return map;
  }();
  return kinds;
}

Result<EventKind> event_kind(std::string_view word) {
  const auto found = kinds_by_word().find(word);
  if (found == kinds_by_word().end()) return malformed("unknown word '{}'{}", word, did_you_mean(word, kEventWords));
  return found->second;
}

// "phase=3" with key "phase" gives 3.
std::optional<std::uint64_t> keyed_number(std::string_view word, std::string_view key) {
  if (!word.starts_with(key) || word.size() <= key.size() || word[key.size()] != '=') return std::nullopt;
  return parse_number(word.substr(key.size() + 1));
}

Result<std::uint8_t> memory_order(std::string_view word) {
  const auto* const found = std::find(std::begin(kOrderWords), std::end(kOrderWords), word);
  if (found == std::end(kOrderWords)) {
    return malformed("unknown memory order '{}'{}", word, did_you_mean(word, kOrderWords));
  }
  return static_cast<std::uint8_t>(found - std::begin(kOrderWords));
}

Result<std::uint8_t> ignore_set(std::string_view list) {
  unsigned set = 0;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view part = list.substr(0, comma);
    if (part == "reads") {
      set |= raw(Ignore::kReads);
    } else if (part == "writes") {
      set |= raw(Ignore::kWrites);
    } else if (part == "sync") {
      set |= raw(Ignore::kSync);
    } else if (part == "all") {
      set |= raw(Ignore::kAll);
    } else {
      return malformed("'{}' cannot be ignored: write all, or some of reads,writes,sync", part);
    }
    if (comma == std::string_view::npos) return static_cast<std::uint8_t>(set);
    list.remove_prefix(comma + 1);
  }
}

// What stands in an event when its line says nothing about it.
void set_defaults(Event& event) {
  switch (info(event.kind).detail) {
    case DetailMeaning::kOrder:
      event.detail = raw(MemoryOrder::kSeqCst);
      break;
    case DetailMeaning::kLock:
      event.depth = event.kind == EventKind::kLockTryFailed ? 0 : 1;
      if (event.kind == EventKind::kLockTryFailed) event.detail = lock_detail(LockMode::kExclusive, LockAttempt::kTry);
      break;
    case DetailMeaning::kNone:
    case DetailMeaning::kFlavour:
    case DetailMeaning::kIgnore:
      break;
  }
}

}  // namespace

Result<std::optional<Event>> TextParser::parse_line(std::string_view text) {
  Result<Line> split = split_line(text);
  if (!split.ok()) return split.error();
  const Line& line = split.value();
  if (line.count == 0) {
    if (line.site) return malformed("a site without an event");
    return std::optional<Event>{};
  }
  if (std::find(std::begin(kDeclarations), std::end(kDeclarations), line.words[0]) != std::end(kDeclarations)) {
    if (line.site) return malformed("a declaration has no site");
    if (Status status = declare(line.words[0], line.all().subspan(1)); !status.ok()) return status.error();
    return std::optional<Event>{};
  }
  Result<Event> event = parse_event(line);
  if (!event.ok()) return event.error();
  return std::optional<Event>{event.value()};
}

Result<Event> TextParser::parse_event(const Line& line) {
  Event event;
  const Result<ThreadId> self = thread(line.words[0]);
  if (!self.ok()) return self.error();
  event.thread = self.value();
  if (line.count < 2) return malformed("thread '{}' does nothing: a word such as 'read' is missing", line.words[0]);
  const Result<EventKind> kind = event_kind(line.words[1]);
  if (!kind.ok()) return kind.error();
  event.kind = kind.value();
  set_defaults(event);

  Words words = line.all().subspan(2);
  if (Status status = parse_object(event, words); !status.ok()) return status.error();
  if (Status status = parse_detail(event, words); !status.ok()) return status.error();
  if (line.site) {
    const Result<SiteId> number = site(*line.site);
    if (!number.ok()) return number.error();
    event.site = number.value();
  }
  if (Status status = validate(event); !status.ok()) return malformed("{}", status.error().message);
  return event;
}

Result<ThreadId> TextParser::thread(std::string_view word) const {
  std::optional<std::uint64_t> number = parse_number(word);
  if (!number) number = parse_numbered_thread(word);
  if (number) {
    if (*number >= kThreadLimit) return malformed("thread {} is not below {}", *number, kThreadLimit);
    return ThreadId{static_cast<std::uint32_t>(*number)};
  }
  if (const auto named = names_.threads.find(word)) return *named;
  if (names_.threads.knows(word)) return malformed("several threads are called '{}': write the number", word);
  return malformed("'{}' is neither a thread (0, T0, or declared: thread 0 {}) nor a declaration{}", word, word,
                   did_you_mean(word, kDeclarations));
}

Status TextParser::parse_object(Event& event, Words& words) {
  const EventKindInfo& meaning = info(event.kind);
  if (meaning.object == ObjectMeaning::kNone) return {};
  if (words.empty()) {
    const char* const what = meaning.object == ObjectMeaning::kAddress  ? "an address or a name"
                             : meaning.object == ObjectMeaning::kThread ? "a thread"
                                                                        : "an object";
    return malformed("'{}' needs {}", meaning.word, what);
  }
  const std::string_view word = words.front();
  words = words.subspan(1);
  std::optional<std::uint64_t> known_size;
  if (meaning.object == ObjectMeaning::kThread) {
    const Result<ThreadId> other = thread(word);
    if (!other.ok()) return other.error();
    event.object = raw(other.value());
  } else if (meaning.object == ObjectMeaning::kSync) {
    const Result<SyncId> object = sync(word);
    if (!object.ok()) return object.error();
    event.object = raw(object.value());
  } else {
    const Result<Place> range = place(word, words);
    if (!range.ok()) return range.error();
    event.object = range.value().address;
    known_size = range.value().size;
  }
  return parse_extent(event, words, known_size);
}

Status TextParser::parse_extent(Event& event, Words& words, std::optional<std::uint64_t> known_size) {
  const EventKindInfo& meaning = info(event.kind);
  const std::string_view word = words.empty() ? std::string_view{} : words.front();
  std::optional<std::uint64_t> number = parse_number(word);
  switch (meaning.extent) {
    case ExtentMeaning::kNone:
      return {};
    case ExtentMeaning::kSize:
      if (!number) {
        if (!known_size) return malformed("'{}' needs a size in bytes after its address", meaning.word);
        event.extent = *known_size;
        return {};
      }
      break;
    case ExtentMeaning::kPhase:
      if (!number) number = keyed_number(word, "phase");
      if (!number) return malformed("'{}' needs phase=NUMBER", meaning.word);
      break;
    case ExtentMeaning::kMutex: {
      if (words.empty()) return malformed("'{}' needs a condition and its mutex", meaning.word);
      const Result<SyncId> mutex = sync(word);
      if (!mutex.ok()) return mutex.error();
      number = raw(mutex.value());
      break;
    }
  }
  event.extent = *number;
  words = words.subspan(1);
  return {};
}

Status TextParser::parse_detail(Event& event, Words words) const {
  const DetailMeaning meaning = info(event.kind).detail;
  if (meaning == DetailMeaning::kIgnore && words.empty()) {
    return malformed("'{}' needs what to ignore: all, or some of reads,writes,sync", info(event.kind).word);
  }
  if (meaning == DetailMeaning::kLock) {
    for (const std::string_view word : words) {
      if (Status status = parse_lock_word(event, word); !status.ok()) return status;
    }
    return {};
  }
  if (words.empty()) return {};
  if (meaning == DetailMeaning::kNone) return malformed("'{}' is one word too many", words.front());
  if (words.size() > 1) return malformed("'{}' is one word too many", words[1]);
  if (meaning == DetailMeaning::kFlavour) {
    if (words.front() != "volatile") return malformed("'{}' is neither a size nor 'volatile'", words.front());
    event.detail = raw(AccessFlavour::kVolatile);
    return {};
  }
  const Result<std::uint8_t> detail =
      meaning == DetailMeaning::kOrder ? memory_order(words.front()) : ignore_set(words.front());
  if (!detail.ok()) return detail.error();
  event.detail = detail.value();
  return {};
}

Status TextParser::parse_lock_word(Event& event, std::string_view word) const {
  constexpr std::string_view kLockWords[] = {"shared", "exclusive", "try", "blocking"};
  if (word == "shared" || word == "exclusive") {
    event.detail = lock_detail(word == "shared" ? LockMode::kShared : LockMode::kExclusive, event.lock_attempt());
  } else if (word == "try" || word == "blocking") {
    event.detail = lock_detail(event.lock_mode(), word == "try" ? LockAttempt::kTry : LockAttempt::kBlocking);
  } else if (const auto depth = keyed_number(word, "depth")) {
    if (*depth > UINT16_MAX) return malformed("depth {} is above {}", *depth, UINT16_MAX);
    event.depth = static_cast<std::uint16_t>(*depth);
  } else {
    return malformed("'{}' says nothing about a lock: write shared, exclusive, try, blocking or depth=NUMBER{}", word,
                     did_you_mean(word, kLockWords));
  }
  return {};
}

Result<SyncId> TextParser::sync(std::string_view word) {
  if (const auto number = parse_number(word)) return SyncId{*number};
  if (const auto named = names_.syncs.find(word)) return *named;
  if (names_.syncs.knows(word)) return malformed("several objects are called '{}': write the number", word);
  if (!is_plain_name(word)) return malformed("'{}' is neither a number nor a name", word);
  while (dictionary_.syncs.contains(SyncId{next_sync_})) ++next_sync_;
  const SyncId number{next_sync_++};
  dictionary_.syncs.emplace(number, word);
  names_.syncs.add(word, number);
  return number;
}

Result<TextParser::Place> TextParser::place(std::string_view word, Words following) {
  if (const auto number = parse_number(word)) return Place{*number, std::nullopt};
  const std::size_t plus = word.find('+');
  const std::string_view name = word.substr(0, plus);
  std::uint64_t offset = 0;
  if (plus != std::string_view::npos) {
    const auto number = parse_number(word.substr(plus + 1));
    if (!number) return malformed("'{}': a number must follow the +", word);
    offset = *number;
  }
  const auto begin = names_.ranges.find(name);
  if (!begin) {
    if (names_.ranges.knows(name)) return malformed("several ranges are called '{}': write the address", name);
    if (!is_plain_name(name)) return malformed("'{}' is neither an address nor a name", name);
    if (plus != std::string_view::npos) {
      return malformed("'{}' is not declared, so '{}' has no meaning: write name {} ADDRESS SIZE first", name, word,
                       name);
    }
    return automatic_range(name, following);
  }
  const std::uint64_t size = dictionary_.ranges.at(*begin).size;
  if (offset >= size && offset != 0) return malformed("'{}' is outside of '{}', which has {} bytes", word, name, size);
  return Place{*begin + offset, size - offset};
}

Result<TextParser::Place> TextParser::automatic_range(std::string_view name, Words following) {
  const std::uint64_t size =
      following.empty() ? kAutomaticSize : parse_number(following.front()).value_or(kAutomaticSize);
  if (size > kMaxAccessSize) return malformed("'{}' is not declared and too large for that: {} bytes", name, size);
  // Past whatever is declared in the way; the end of an automatic range is far
  // below 2^64, so the sums do not wrap around.
  const auto next_free = [this](Address candidate) {
    const auto after = dictionary_.ranges.upper_bound(candidate);
    if (after == dictionary_.ranges.begin()) return candidate;
    const auto before = std::prev(after);
    return std::max(candidate, before->first + before->second.size);
  };
  constexpr Address kAlignment = 16;
  for (;;) {
    next_address_ = (next_free(next_address_) + kAlignment - 1) / kAlignment * kAlignment;
    if (next_address_ < kFirstAutomaticAddress || next_address_ > (1ULL << 63)) {
      return malformed("no address is left for the undeclared name '{}'", name);
    }
    const auto after = dictionary_.ranges.upper_bound(next_address_);
    if (after == dictionary_.ranges.end() || next_address_ + size <= after->first) break;
    next_address_ = after->first;
  }
  const Address begin = next_address_;
  if (Status status = add_range(begin, size, std::string(name)); !status.ok()) return status.error();
  next_address_ += std::max<std::uint64_t>(size, 1);
  return Place{begin, size};
}

}  // namespace deadheat::text
