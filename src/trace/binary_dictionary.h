// SPDX-License-Identifier: Apache-2.0
// Dictionary chunks: what the numbers of the events stand for. The payload is
// a list of entries, each a tag byte and its fields (FORMAT.md). Sites number
// themselves by their order in the file; the other entries carry their key.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "model/dictionary.h"
#include "trace/varint.h"

namespace deadheat {

// The longest name or path that an entry may hold.
inline constexpr std::size_t kLongestString = 1U << 20U;

// Serialises what a growing dictionary has gained since the last call.
class DictionaryEncoder {
 public:
  // One payload per chunk to write, none when nothing is new. Errors: kInvalid
  // (a string longer than kLongestString, an empty or overlapping
  // range).
  Result<std::vector<Bytes>> encode_new(const Dictionary& dictionary);

  [[nodiscard]] std::uint64_t sites_written() const { return sites_ - 1; }

 private:
  std::uint32_t sites_ = 1;  // one past the last site written
  // The maps as written; only their keys matter.
  std::map<Address, NamedRange> ranges_;
  std::map<SyncId, std::string> syncs_;
  std::map<ThreadId, std::string> threads_;
};

// Adds the entries of one payload. Errors: kMalformed, kInvalid (overlapping or
// wrapping ranges, a thread beyond the limit); the entries before the bad one
// have then been added.
Status decode_dictionary(std::span<const std::byte> payload, Dictionary& dictionary);

// True when no range of the dictionary but one of the same address shares a
// byte with the new one.
[[nodiscard]] bool fits_between(const std::map<Address, NamedRange>& ranges, Address address, std::uint64_t size);

}  // namespace deadheat
