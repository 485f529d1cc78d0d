// SPDX-License-Identifier: Apache-2.0
// Compression of a large array of bytes in independent blocks, and back. A block
// becomes tokens: a byte below 128 and that many bytes plus one as they are, or a
// byte from 128 and two of distance, which repeat what came before. The threads
// take the blocks in turn; each block has its place in the array of the compressed
// bytes. 48 MB.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "array_programs.h"

namespace deadheat::bench {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 16;
constexpr std::size_t kBlocks = 256;
constexpr std::size_t kBytes = kBlocks * kBlockBytes;
constexpr std::size_t kMostLiterals = 128;
constexpr std::size_t kShortestMatch = 4;
constexpr std::size_t kLongestMatch = kShortestMatch + 127;
// For a block that has no repetitions at all.
constexpr std::size_t kPlaceBytes = kBlockBytes + kBlockBytes / kMostLiterals;

constexpr unsigned kTableBits = 12;
// Where bytes with this hash were last seen in the block.
using Table = std::vector<std::uint16_t>;

std::uint32_t hash(const std::uint8_t* bytes) {
  const auto word = static_cast<std::uint32_t>(bytes[0] | bytes[1] << 8 | bytes[2] << 16) | std::uint32_t{bytes[3]}
                                                                                                << 24;
  return (word * 2654435761U) >> (32 - kTableBits);
}

std::size_t match_length(const std::uint8_t* one, const std::uint8_t* other, std::size_t most) {
  std::size_t length = 0;
  while (length < most && one[length] == other[length]) ++length;
  return length;
}

std::uint8_t* put_literals(const std::uint8_t* from, const std::uint8_t* end, std::uint8_t* to) {
  while (from < end) {
    const std::size_t count = std::min<std::size_t>(end - from, kMostLiterals);
    *to++ = static_cast<std::uint8_t>(count - 1);
    for (std::size_t at = 0; at < count; ++at) *to++ = *from++;
  }
  return to;
}

std::uint8_t* put_match(std::size_t length, std::size_t distance, std::uint8_t* to) {
  *to++ = static_cast<std::uint8_t>(128 + length - kShortestMatch);
  *to++ = static_cast<std::uint8_t>(distance);
  *to++ = static_cast<std::uint8_t>(distance >> 8);
  return to;
}

// Returns the number of compressed bytes.
std::size_t compress_block(const std::uint8_t* block, std::uint8_t* compressed, std::uint16_t* table) {
  for (std::size_t at = 0; at < std::size_t{1} << kTableBits; ++at) table[at] = 0;
  std::uint8_t* to = compressed;
  std::size_t literals = 0;  // where those begin that are not yet put
  for (std::size_t at = 1; at + kShortestMatch <= kBlockBytes;) {
    std::uint16_t& seen = table[hash(block + at)];
    const std::size_t candidate = seen;
    seen = static_cast<std::uint16_t>(at);
    const std::size_t length = match_length(block + at, block + candidate, std::min(kLongestMatch, kBlockBytes - at));
    if (length < kShortestMatch) {
      ++at;
      continue;
    }
    to = put_literals(block + literals, block + at, to);
    to = put_match(length, at - candidate, to);
    literals = at += length;
  }
  to = put_literals(block + literals, block + kBlockBytes, to);
  return static_cast<std::size_t>(to - compressed);
}

void expand_block(const std::uint8_t* compressed, std::size_t size, std::uint8_t* to) {
  const std::uint8_t* end = compressed + size;
  while (compressed < end) {
    const std::size_t token = *compressed++;
    if (token < 128) {
      for (std::size_t count = 0; count <= token; ++count) *to++ = *compressed++;
      continue;
    }
    const auto distance = static_cast<std::size_t>(compressed[0] | compressed[1] << 8);
    compressed += 2;
    for (std::size_t count = 0; count < token - 128 + kShortestMatch; ++count, ++to)
      *to = to[-std::ptrdiff_t(distance)];
  }
}

// Below `limit`, and small numbers more often than large ones.
std::size_t next_skewed(Random& random, std::size_t limit) {
  const std::size_t bound = 1 + random.next() % limit;
  return random.next() % bound;
}

// Words of a made-up language, some more often than others.
std::vector<std::uint8_t> make_text() {
  constexpr std::size_t kWords = 4096;
  constexpr std::string_view kLetters = "etaoinshrdlucmfwypvbgkqjxz";
  Random random;
  std::vector<std::uint8_t> words(kWords * 8, ' ');
  for (std::size_t word = 0; word < kWords; ++word) {
    const std::size_t length = 1 + word % 7;
    for (std::size_t at = 0; at < length; ++at) {
      words[word * 8 + at] = static_cast<std::uint8_t>(kLetters[next_skewed(random, kLetters.size())]);
    }
  }
  std::vector<std::uint8_t> text(kBytes);
  for (std::size_t at = 0; at < kBytes;) {
    std::size_t letter = 8 * next_skewed(random, kWords);
    do {
      text[at++] = words[letter];
    } while (at < kBytes && words[letter++] != ' ');
  }
  return text;
}

}  // namespace

std::uint64_t compress_blocks(int repetitions) {
  const std::vector<std::uint8_t> text = make_text();
  std::vector<std::uint8_t> compressed(kBlocks * kPlaceBytes);
  std::vector<std::uint8_t> expanded(kBytes);
  std::vector<std::size_t> sizes(kBlocks);
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    Table table(std::size_t{1} << kTableBits);
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      for (std::size_t block = self; block < kBlocks; block += kThreads) {
        sizes[block] =
            compress_block(text.data() + block * kBlockBytes, compressed.data() + block * kPlaceBytes, table.data());
      }
      barrier.wait();
      // Who expands a block is not who compressed it.
      for (std::size_t block = 1 - self; block < kBlocks; block += kThreads) {
        expand_block(compressed.data() + block * kPlaceBytes, sizes[block], expanded.data() + block * kBlockBytes);
      }
      barrier.wait();
    }
  });
  if (expanded != text) fail("the expanded bytes are not those compressed");
  Digest digest;
  digest.add_all(sizes);
  digest.add_all(compressed);
  return digest.value();
}

}  // namespace deadheat::bench
