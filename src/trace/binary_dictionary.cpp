// SPDX-License-Identifier: Apache-2.0
#include "trace/binary_dictionary.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace deadheat {
namespace {

enum class EntryTag : std::uint8_t { kSite = 1, kRange = 2, kSync = 3, kThread = 4, kSiteInFunction = 5 };

// A chunk is closed when it has grown past this; with one entry of the longest
// strings on top it is still far below kLargestChunk.
constexpr std::size_t kChunkTarget = 1U << 20U;

// The payloads under construction.
class Payloads {
 public:
  Bytes& entry(EntryTag tag) {
    if (payloads_.empty() || payloads_.back().size() > kChunkTarget) payloads_.emplace_back();
    payloads_.back().push_back(std::byte{raw(tag)});
    return payloads_.back();
  }
  void append_name(Bytes& out, const std::string& name) {
    longest_ = std::max(longest_, name.size());
    append_string(out, name);
  }
  [[nodiscard]] Result<std::vector<Bytes>> take() {
    if (longest_ <= kLongestString) return std::move(payloads_);
    return Error{ErrorCode::kInvalid,
                 fmt::format("a name of {} bytes; the binary format holds {}", longest_, kLongestString)};
  }

 private:
  std::vector<Bytes> payloads_;
  std::size_t longest_ = 0;
};

// Calls `append` for each entry of `now` whose key `written` lacks. Equal sizes
// mean equal maps, because a dictionary only grows.
template <class Map, class Append>
void for_each_new(const Map& now, Map& written, Append append) {
  if (now.size() == written.size()) return;
  auto hint = written.begin();
  for (const auto& [key, value] : now) {
    while (hint != written.end() && hint->first < key) ++hint;
    if (hint != written.end() && hint->first == key) continue;
    append(key, value);
    hint = written.emplace_hint(hint, key, value);
  }
}

// What Dictionary promises of a range, given those before it.
Status check_range(const std::map<Address, NamedRange>& ranges, Address address, const NamedRange& range) {
  const char* problem = range.size == 0 ? "is empty"
                        : range.size > std::numeric_limits<std::uint64_t>::max() - address
                            ? "reaches past the end of memory"
                        : !fits_between(ranges, address, range.size) ? "overlaps another named range"
                                                                     : nullptr;
  if (problem == nullptr) return {};
  return Error{ErrorCode::kInvalid,
               fmt::format("range '{}' of {} bytes at {:#x} {}", range.name, range.size, address, problem)};
}

Status add_range(ByteCursor& cursor, Dictionary& dictionary) {
  const Address address = cursor.varint();
  NamedRange range;
  range.size = cursor.varint();
  range.name = cursor.string(kLongestString);
  if (cursor.failed()) return {};
  Status status = check_range(dictionary.ranges, address, range);
  if (status) dictionary.ranges[address] = std::move(range);
  return status;
}

void add_site(ByteCursor& cursor, EntryTag tag, Dictionary& dictionary) {
  Site site;
  site.function = cursor.string(kLongestString);
  site.file = cursor.string(kLongestString);
  site.line = static_cast<std::uint32_t>(cursor.varint_up_to(UINT32_MAX));
  site.module = cursor.string(kLongestString);
  site.offset = cursor.varint();
  if (tag == EntryTag::kSiteInFunction) {
    site.function_line = static_cast<std::uint32_t>(cursor.varint_up_to(UINT32_MAX));
  }
  if (!cursor.failed()) dictionary.sites.add(std::move(site));
}

void add_sync(ByteCursor& cursor, Dictionary& dictionary) {
  const SyncId sync{cursor.varint()};
  std::string name = cursor.string(kLongestString);
  if (!cursor.failed()) dictionary.syncs[sync] = std::move(name);
}

void add_thread(ByteCursor& cursor, Dictionary& dictionary) {
  const ThreadId thread{static_cast<std::uint32_t>(cursor.varint_up_to(kThreadLimit - 1))};
  std::string name = cursor.string(kLongestString);
  if (!cursor.failed()) dictionary.threads[thread] = std::move(name);
}

}  // namespace

bool fits_between(const std::map<Address, NamedRange>& ranges, Address address, std::uint64_t size) {
  const auto after = ranges.upper_bound(address);
  if (after != ranges.end() && after->first - address < size) return false;
  const auto at_or_after = ranges.lower_bound(address);
  if (at_or_after == ranges.begin()) return true;
  const auto& [start, range] = *std::prev(at_or_after);
  return address - start >= range.size;
}

Result<std::vector<Bytes>> DictionaryEncoder::encode_new(const Dictionary& dictionary) {
  Payloads payloads;
  for (; sites_ < dictionary.sites.size(); ++sites_) {
    const Site& site = dictionary.sites[SiteId{sites_}];
    Bytes& out = payloads.entry(site.function_line == 0 ? EntryTag::kSite : EntryTag::kSiteInFunction);
    payloads.append_name(out, site.function);
    payloads.append_name(out, site.file);
    append_varint(out, site.line);
    payloads.append_name(out, site.module);
    append_varint(out, site.offset);
    if (site.function_line != 0) append_varint(out, site.function_line);
  }
  Status ranges_good;
  for_each_new(dictionary.ranges, ranges_, [&](Address address, const NamedRange& range) {
    if (Status status = check_range(ranges_, address, range); !status) ranges_good = status;
    Bytes& out = payloads.entry(EntryTag::kRange);
    append_varint(out, address);
    append_varint(out, range.size);
    payloads.append_name(out, range.name);
  });
  for_each_new(dictionary.syncs, syncs_, [&](SyncId sync, const std::string& name) {
    Bytes& out = payloads.entry(EntryTag::kSync);
    append_varint(out, raw(sync));
    payloads.append_name(out, name);
  });
  for_each_new(dictionary.threads, threads_, [&](ThreadId thread, const std::string& name) {
    Bytes& out = payloads.entry(EntryTag::kThread);
    append_varint(out, raw(thread));
    payloads.append_name(out, name);
  });
  if (!ranges_good) return ranges_good.error();
  return payloads.take();
}

Status decode_dictionary(std::span<const std::byte> payload, Dictionary& dictionary) {
  ByteCursor cursor{payload};
  while (cursor.remaining() > 0) {
    const auto tag = cursor.fixed<std::uint8_t>();
    switch (EntryTag{tag}) {
      case EntryTag::kSite:
      case EntryTag::kSiteInFunction:
        add_site(cursor, EntryTag{tag}, dictionary);
        break;
      case EntryTag::kRange:
        if (Status status = add_range(cursor, dictionary); !status) return status;
        break;
      case EntryTag::kSync:
        add_sync(cursor, dictionary);
        break;
      case EntryTag::kThread:
        add_thread(cursor, dictionary);
        break;
      default:
        return Error{ErrorCode::kMalformed, fmt::format("dictionary entry with unknown tag {}", tag)};
    }
    if (cursor.failed()) return Error{ErrorCode::kMalformed, "a dictionary entry is damaged"};
  }
  return {};
}

}  // namespace deadheat
