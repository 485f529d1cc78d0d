// SPDX-License-Identifier: Apache-2.0
// What is written reads back as exactly the same events and dictionary. For
// that, sites are declared by number, and a name stands for its number only
// where the reader will understand it: names that are not plain words, or that
// two objects share, are declared but not used. One formatter serves the writer, which
// must be understood by the reader, and to_text(), which people read: they
// differ only in which names and sites they may use.
#include "trace/text_writer.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "trace/event_validity.h"
#include "trace/text_format.h"
#include "trace/text_lines.h"
#include "trace/text_names.h"
#include "trace/text_output.h"
#include "trace/text_words.h"

namespace deadheat {

namespace {

using text::quote_if_needed;

auto end_of(std::string& out) { return std::back_inserter(out); }

class EventFormatter {
 public:
  // With `usable`, only names that it finds unambiguously, and sites by number.
  EventFormatter(std::string& out, const Dictionary& dictionary, const text::TextNames* usable)
      : out_(out), dictionary_(dictionary), usable_(usable) {}

  void format(const Event& event) {
    const EventKindInfo& meaning = info(event.kind);
    fmt::format_to(end_of(out_), "{} {}", raw(event.thread), meaning.word);
    object(event, meaning.object);
    extent(event, meaning.extent);
    detail(event, meaning.detail);
    site(event.site);
  }

 private:
  void object(const Event& event, ObjectMeaning meaning) {
    if (meaning == ObjectMeaning::kAddress) address(event.address());
    if (meaning == ObjectMeaning::kSync) sync(event.sync());
    if (meaning == ObjectMeaning::kThread) fmt::format_to(end_of(out_), " {}", event.object);
  }

  void extent(const Event& event, ExtentMeaning meaning) {
    if (meaning == ExtentMeaning::kSize) fmt::format_to(end_of(out_), " {}", event.size());
    if (meaning == ExtentMeaning::kMutex) sync(event.mutex());
    if (meaning == ExtentMeaning::kPhase) fmt::format_to(end_of(out_), " phase={}", event.phase());
  }

  void detail(const Event& event, DetailMeaning meaning) {
    switch (meaning) {
      case DetailMeaning::kNone:
        return;
      case DetailMeaning::kOrder:
        fmt::format_to(end_of(out_), " {}", text::kOrderWords[event.detail]);
        return;
      case DetailMeaning::kFlavour:
        if (event.flavour() == AccessFlavour::kVolatile) out_ += " volatile";
        return;
      case DetailMeaning::kLock:
        return lock(event);
      case DetailMeaning::kIgnore:
        return ignore(event.ignored());
    }
  }

  void lock(const Event& event) {
    if (event.lock_mode() == LockMode::kShared) out_ += " shared";
    const bool is_failed_try = event.kind == EventKind::kLockTryFailed;
    if (event.lock_attempt() == LockAttempt::kTry && !is_failed_try) out_ += " try";
    if (event.lock_attempt() == LockAttempt::kBlocking && is_failed_try) out_ += " blocking";
    if (event.depth != (is_failed_try ? 0 : 1)) fmt::format_to(end_of(out_), " depth={}", event.depth);
  }

  void ignore(Ignore set) {
    if (set == Ignore::kAll) {
      out_ += " all";
      return;
    }
    char separator = ' ';
    const auto part = [&](Ignore bit, const char* word) {
      if (!includes(set, bit)) return;
      fmt::format_to(end_of(out_), "{}{}", separator, word);
      separator = ',';
    };
    part(Ignore::kReads, "reads");
    part(Ignore::kWrites, "writes");
    part(Ignore::kSync, "sync");
  }

  void address(Address address) {
    auto range = dictionary_.ranges.upper_bound(address);
    if (range != dictionary_.ranges.begin()) {
      --range;
      const std::uint64_t offset = address - range->first;
      const std::string& name = range->second.name;
      const bool usable = usable_ == nullptr || (text::is_plain_name(name) && usable_->ranges.find(name));
      if (offset < range->second.size && usable) {
        fmt::format_to(end_of(out_), " {}", name);
        if (offset != 0) fmt::format_to(end_of(out_), "+{}", offset);
        return;
      }
    }
    fmt::format_to(end_of(out_), " {:#x}", address);
  }

  void sync(SyncId object) {
    const auto found = dictionary_.syncs.find(object);
    if (found != dictionary_.syncs.end()) {
      const std::string& name = found->second;
      if (usable_ == nullptr || (text::is_plain_name(name) && usable_->syncs.find(name))) {
        fmt::format_to(end_of(out_), " {}", name);
        return;
      }
    }
    fmt::format_to(end_of(out_), " {:#x}", raw(object));
  }

  void site(SiteId number) {
    if (number == SiteId::kUnknown) return;
    const Site& site = dictionary_.sites[number];
    const bool has_words = !site.file.empty() || !site.function.empty();
    if (usable_ != nullptr || (!has_words && site.module.empty())) {
      fmt::format_to(end_of(out_), " @{}", raw(number));
    } else if (!has_words) {
      fmt::format_to(end_of(out_), " @{}+{:#x}", site.module, site.offset);
    } else {
      fmt::format_to(end_of(out_), " @{}", site.file);
      if (site.line != 0) fmt::format_to(end_of(out_), ":{}", site.line);
      if (!site.function.empty()) fmt::format_to(end_of(out_), "({})", site.function);
    }
  }

  std::string& out_;
  const Dictionary& dictionary_;
  const text::TextNames* usable_;
};

std::string format_site(std::uint32_t number, const Site& site) {
  std::string out = fmt::format("site {}", number);
  // The short form where it says the same: a file that is a plain name without a colon of its own.
  const bool is_short = text::is_plain_name(site.file) && site.file.find(':') == std::string::npos && site.line != 0;
  if (!site.function.empty() || is_short) {
    fmt::format_to(end_of(out), " {}", site.function.empty() ? "-" : quote_if_needed(site.function));
  }
  if (is_short) {
    fmt::format_to(end_of(out), " {}:{}", site.file, site.line);
  } else {
    if (!site.file.empty()) fmt::format_to(end_of(out), " file={}", quote_if_needed(site.file));
    if (site.line != 0) fmt::format_to(end_of(out), " line={}", site.line);
  }
  if (!site.module.empty()) fmt::format_to(end_of(out), " module={}", quote_if_needed(site.module));
  if (site.offset != 0) fmt::format_to(end_of(out), " offset={:#x}", site.offset);
  if (site.function_line != 0) fmt::format_to(end_of(out), " function_line={}", site.function_line);
  return out;
}

class TextWriter final : public EventSink {
 public:
  explicit TextWriter(TextOutput output) : output_(std::move(output)) {}

  Status write(std::span<const Event> events) override {
    for (const Event& event : events) {
      if (Status status = validate(event); !status.ok()) return status;
      EventFormatter(output_.buffer(), written_, &names_).format(event);
      output_.buffer() += '\n';
      if (Status status = output_.drain_if_full(); !status.ok()) return status;
    }
    return {};
  }

  Status update(const Dictionary& dictionary) override {
    for (std::uint32_t number = written_.sites.size(); number < dictionary.sites.size(); ++number) {
      const Site& site = dictionary.sites[SiteId{number}];
      if (Status status = declare(format_site(number, site)); !status.ok()) return status;
      written_.sites.add(site);
    }
    if (dictionary.ranges.size() != written_.ranges.size()) {
      if (Status status = update_ranges(dictionary); !status.ok()) return status;
    }
    if (dictionary.syncs.size() != written_.syncs.size()) {
      if (Status status = update_syncs(dictionary); !status.ok()) return status;
    }
    if (dictionary.threads.size() != written_.threads.size()) return update_threads(dictionary);
    return {};
  }

  Status flush() override { return output_.flush(); }
  Status close() override { return output_.close(); }

  [[nodiscard]] std::string& text() { return output_.buffer(); }

 private:
  Status declare(const std::string& line) {
    if (line.size() > LineReader::kLongestLine) {
      return Error{ErrorCode::kInvalid, fmt::format("a name is too long for the text format: '{:.40}...'", line)};
    }
    output_.buffer() += line;
    output_.buffer() += '\n';
    return output_.drain_if_full();
  }

  Status update_ranges(const Dictionary& dictionary) {
    Address free_from = 0;
    for (const auto& [begin, range] : dictionary.ranges) {
      if (begin < free_from || range.size > ~begin) {
        return Error{ErrorCode::kInvalid,
                     fmt::format("the range '{}' at {:#x} overlaps another, or the end of memory", range.name, begin)};
      }
      free_from = begin + range.size;
      if (written_.ranges.contains(begin)) continue;
      Status status = declare(fmt::format("name {} {:#x} {}", quote_if_needed(range.name), begin, range.size));
      if (!status.ok()) return status;
      written_.ranges.emplace(begin, range);
      names_.ranges.add(range.name, begin);
    }
    return {};
  }

  Status update_syncs(const Dictionary& dictionary) {
    for (const auto& [number, name] : dictionary.syncs) {
      if (written_.syncs.contains(number)) continue;
      Status status = declare(fmt::format("sync {} {:#x}", quote_if_needed(name), raw(number)));
      if (!status.ok()) return status;
      written_.syncs.emplace(number, name);
      names_.syncs.add(name, number);
    }
    return {};
  }

  Status update_threads(const Dictionary& dictionary) {
    for (const auto& [number, name] : dictionary.threads) {
      if (written_.threads.contains(number)) continue;
      Status status = declare(fmt::format("thread {} {}", raw(number), quote_if_needed(name)));
      if (!status.ok()) return status;
      written_.threads.emplace(number, name);
    }
    return {};
  }

  TextOutput output_;
  Dictionary written_;
  text::TextNames names_;
};

}  // namespace

Result<std::unique_ptr<EventSink>> create_text_trace(const std::string& path) {
  Result<TextOutput> output = TextOutput::create(path);
  if (!output.ok()) return output.error();
  return std::unique_ptr<EventSink>(std::make_unique<TextWriter>(std::move(output).value()));
}

Result<std::string> write_text_trace(std::span<const Event> events, const Dictionary& dictionary) {
  TextWriter writer{TextOutput()};
  if (Status status = writer.update(dictionary); !status.ok()) return status.error();
  if (Status status = writer.write(events); !status.ok()) return status.error();
  return std::move(writer.text());
}

std::string to_text(const Event& event, const Dictionary& dictionary) {
  std::string text;
  if (!is_valid(event)) {
    return fmt::format("{} (damaged event of kind {})", raw(event.thread), raw(event.kind));
  }
  EventFormatter(text, dictionary, nullptr).format(event);
  return text;
}

}  // namespace deadheat
