// SPDX-License-Identifier: Apache-2.0
// Declarations of the text format, and sites written at their events.
#include <algorithm>
#include <limits>
#include <utility>

#include "trace/malformed.h"
#include "trace/text_parser.h"

namespace deadheat::text {

namespace {

// "counter.cpp:12" into file and line; without digits after a last colon all of
// it is the file.
void split_file_and_line(std::string_view text, Site& site) {
  const std::size_t colon = text.rfind(':');
  const std::string_view digits = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  const auto line = digits.starts_with("0x") ? std::nullopt : parse_number(digits);
  if (line && *line <= std::numeric_limits<std::uint32_t>::max()) {
    site.line = static_cast<std::uint32_t>(*line);
    text = text.substr(0, colon);
  }
  site.file = text;
}

// FILE:LINE(FUNCTION), any part of which may be missing, or MODULE+0xOFFSET.
Site parse_inline_site(std::string_view text) {
  Site site;
  const std::size_t plus = text.rfind("+0x");
  if (plus != std::string_view::npos) {
    if (const auto offset = parse_number(text.substr(plus + 1))) {
      site.module = text.substr(0, plus);
      site.offset = *offset;
      return site;
    }
  }
  const std::size_t parenthesis = text.find('(');
  if (parenthesis != std::string_view::npos && text.ends_with(')')) {
    site.function = text.substr(parenthesis + 1, text.size() - parenthesis - 2);
    text = text.substr(0, parenthesis);
  }
  split_file_and_line(text, site);
  return site;
}

// Splits key=value at the first = that no quote precedes.
std::optional<std::pair<std::string_view, std::string_view>> split_key(std::string_view word) {
  const std::size_t sign = word.find_first_of("=\"");
  if (sign == std::string_view::npos || word[sign] != '=') return std::nullopt;
  return std::pair{word.substr(0, sign), word.substr(sign + 1)};
}

}  // namespace

Status TextParser::declare(std::string_view keyword, Words words) {
  if (keyword == "name") return declare_range(words);
  if (keyword == "thread") return declare_thread(words);
  if (keyword == "site") return declare_site(words);
  return declare_sync(words);
}

Status TextParser::declare_range(Words words) {
  const auto begin = words.size() == 3 ? parse_number(words[1]) : std::nullopt;
  const auto size = words.size() == 3 ? parse_number(words[2]) : std::nullopt;
  if (!begin || !size) return malformed("a range is declared as: name NAME ADDRESS SIZE");
  Result<std::string> name = unquote(words[0]);
  if (!name.ok()) return name.error();
  return add_range(*begin, *size, std::move(name).value());
}

Status TextParser::add_range(Address begin, std::uint64_t size, std::string name) {
  if (size > std::numeric_limits<std::uint64_t>::max() - begin) {
    return malformed("'{}' reaches beyond the last address", name);
  }
  const auto after = dictionary_.ranges.lower_bound(begin);
  if (after != dictionary_.ranges.end() && (after->first == begin || after->first < begin + size)) {
    return malformed("'{}' overlaps '{}' at {:#x}", name, after->second.name, after->first);
  }
  if (after != dictionary_.ranges.begin()) {
    const auto& [before_begin, before] = *std::prev(after);
    if (before_begin + before.size > begin) {
      return malformed("'{}' overlaps '{}' at {:#x}", name, before.name, before_begin);
    }
  }
  names_.ranges.add(name, begin);
  dictionary_.ranges.emplace(begin, NamedRange{size, std::move(name)});
  return {};
}

Status TextParser::declare_sync(Words words) {
  const auto number = words.size() == 2 ? parse_number(words[1]) : std::nullopt;
  if (!number) return malformed("an object is declared as: sync NAME NUMBER (or lock NAME NUMBER)");
  Result<std::string> name = unquote(words[0]);
  if (!name.ok()) return name.error();
  const auto [entry, is_new] = dictionary_.syncs.emplace(SyncId{*number}, name.value());
  if (!is_new) return malformed("object {:#x} is called '{}' already", *number, entry->second);
  names_.syncs.add(name.value(), SyncId{*number});
  return {};
}

Status TextParser::declare_thread(Words words) {
  std::optional<std::uint64_t> number;
  if (words.size() == 2) number = parse_number(words[0]);
  if (words.size() == 2 && !number) number = parse_numbered_thread(words[0]);
  if (!number) return malformed("a thread is declared as: thread NUMBER NAME");
  if (*number >= kThreadLimit) return malformed("thread {} is not below {}", *number, kThreadLimit);
  Result<std::string> name = unquote(words[1]);
  if (!name.ok()) return name.error();
  const ThreadId thread{static_cast<std::uint32_t>(*number)};
  const auto [entry, is_new] = dictionary_.threads.emplace(thread, name.value());
  if (!is_new) return malformed("thread {} is called '{}' already", *number, entry->second);
  names_.threads.add(name.value(), thread);
  return {};
}

Status TextParser::declare_site(Words words) {
  constexpr const char* kForm = "a site is declared as: site NUMBER FUNCTION FILE:LINE (with - for what is unknown)";
  const auto number = words.empty() ? std::nullopt : parse_number(words[0]);
  if (!number) return malformed("{}", kForm);
  Site site;
  std::size_t position = 0;
  for (const std::string_view word : words.subspan(1)) {
    if (const auto key = split_key(word)) {
      if (Status status = set_site_field(site, key->first, key->second); !status.ok()) return status;
      continue;
    }
    if (++position > 2) return malformed("{}", kForm);
    if (word == "-") continue;
    Result<std::string> value = unquote(word);
    if (!value.ok()) return value.error();
    if (position == 1) {
      site.function = std::move(value).value();
    } else {
      split_file_and_line(value.value(), site);
    }
  }
  return add_site(*number, std::move(site));
}

Status TextParser::set_site_field(Site& site, std::string_view key, std::string_view value) const {
  constexpr std::string_view kKeys[] = {"function", "file", "line", "module", "offset", "function_line"};
  if (key == "line" || key == "offset" || key == "function_line") {
    const auto number = parse_number(value);
    const std::uint64_t limit = key == "offset" ? ~std::uint64_t{0} : std::numeric_limits<std::uint32_t>::max();
    if (!number || *number > limit) return malformed("'{}={}' is not a number up to {}", key, value, limit);
    if (key == "line") {
      site.line = static_cast<std::uint32_t>(*number);
    } else if (key == "function_line") {
      site.function_line = static_cast<std::uint32_t>(*number);
    } else {
      site.offset = *number;
    }
    return {};
  }
  Result<std::string> text = unquote(value);
  if (!text.ok()) return text.error();
  if (key == "function") {
    site.function = std::move(text).value();
  } else if (key == "file") {
    site.file = std::move(text).value();
  } else if (key == "module") {
    site.module = std::move(text).value();
  } else {
    return malformed("a site has no '{}'{}; put a text with = in quotes", key, did_you_mean(key, kKeys));
  }
  return {};
}

Status TextParser::add_site(std::uint64_t number, Site site) {
  SiteTable& sites = dictionary_.sites;
  if (number == 0) return malformed("site 0 is the unknown site");
  if (number < sites.size()) return malformed("site {} is declared already: the next is {}", number, sites.size());
  if (number - sites.size() > kMostSkippedSites - skipped_sites_) {
    return malformed("site {} skips too many numbers: the next is {}", number, sites.size());
  }
  while (sites.size() < number) {
    sites.add({});
    ++skipped_sites_;
  }
  sites.add(std::move(site));
  return {};
}

Result<SiteId> TextParser::site(std::string_view text) {
  if (text.empty()) return malformed("nothing follows the @");
  if (const auto number = parse_number(text)) {
    if (*number > std::numeric_limits<std::uint32_t>::max()) return malformed("site {} does not exist", *number);
    return SiteId{static_cast<std::uint32_t>(*number)};
  }
  const auto [entry, is_new] = inline_sites_.try_emplace(std::string(text), SiteId::kUnknown);
  if (is_new) entry->second = dictionary_.sites.add(parse_inline_site(text));
  return entry->second;
}

}  // namespace deadheat::text
