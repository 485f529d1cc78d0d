// SPDX-License-Identifier: Apache-2.0
// TextParser: one line of the text format (TEXT_FORMAT.md) at a time. Events
// come back as values; declarations, and names and sites used for the first
// time, go into the dictionary.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "model/dictionary.h"
#include "model/event.h"
#include "trace/text_names.h"
#include "trace/text_words.h"

namespace deadheat::text {

// Where names that nothing declares get their numbers: far from the small
// numbers that people write.
inline constexpr std::uint64_t kFirstAutomaticSync = 1ULL << 32;
inline constexpr Address kFirstAutomaticAddress = 1ULL << 32;
// The size of an undeclared variable that is first used without one.
inline constexpr std::uint64_t kAutomaticSize = 8;
// How many site numbers a trace may skip in all; the table stores the gaps.
inline constexpr std::uint32_t kMostSkippedSites = 1U << 16;

class TextParser {
 public:
  // The event of the line, or nothing for a declaration, a comment or a blank
  // line. Error: kMalformed, without the line number. After an error the parser
  // must not be used again.
  Result<std::optional<Event>> parse_line(std::string_view line);

  [[nodiscard]] const Dictionary& dictionary() const { return dictionary_; }

 private:
  using Words = std::span<const std::string_view>;

  // text_declarations.cpp. Each gets the words after its keyword.
  Status declare(std::string_view keyword, Words words);
  Status declare_range(Words words);
  Status declare_sync(Words words);
  Status declare_thread(Words words);
  Status declare_site(Words words);
  Status set_site_field(Site& site, std::string_view key, std::string_view value) const;
  Status add_range(Address begin, std::uint64_t size, std::string name);
  Status add_site(std::uint64_t number, Site site);
  Result<SiteId> site(std::string_view text);

  // text_parser.cpp. Each takes what it understands from the front of the words.
  Result<Event> parse_event(const Line& line);
  Result<ThreadId> thread(std::string_view word) const;
  Status parse_object(Event& event, Words& words);
  Status parse_extent(Event& event, Words& words, std::optional<std::uint64_t> known_size);
  Status parse_detail(Event& event, Words words) const;
  Status parse_lock_word(Event& event, std::string_view word) const;
  Result<SyncId> sync(std::string_view word);
  // The address, and the bytes from it to the end of its range if it has one.
  struct Place {
    Address address = 0;
    std::optional<std::uint64_t> size;
  };
  Result<Place> place(std::string_view word, Words following);
  Result<Place> automatic_range(std::string_view name, Words following);

  Dictionary dictionary_;
  TextNames names_;
  std::unordered_map<std::string, SiteId> inline_sites_;
  std::uint64_t next_sync_ = kFirstAutomaticSync;
  Address next_address_ = kFirstAutomaticAddress;
  std::uint32_t skipped_sites_ = 0;
};

// The declarations' keywords; no thread can be called by one of them.
inline constexpr std::string_view kDeclarations[] = {"name", "lock", "sync", "thread", "site"};

}  // namespace deadheat::text
