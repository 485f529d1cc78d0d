// SPDX-License-Identifier: Apache-2.0
// The block cipher IDEA over a large array of bytes: encrypted from one array into
// a second, decrypted from there into a third. Each thread has one half of the
// blocks; bytes are read and written one by one. 24 MB.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "array_programs.h"

namespace deadheat::bench {
namespace {

constexpr std::size_t kBytes = std::size_t{8} << 20;
constexpr std::size_t kBlockBytes = 8;
constexpr int kRounds = 8;
constexpr std::size_t kSubkeys = 6 * kRounds + 4;

using Key = std::array<std::uint16_t, 8>;
using Subkeys = std::array<std::uint16_t, kSubkeys>;

// Multiplication modulo 65537, where 0 stands for 65536.
std::uint16_t multiply(std::uint16_t a, std::uint16_t b) {
  if (a == 0) return static_cast<std::uint16_t>(1 - b);
  if (b == 0) return static_cast<std::uint16_t>(1 - a);
  const std::uint32_t product = std::uint32_t{a} * b;
  const std::uint32_t low = product & 0xffff;
  const std::uint32_t high = product >> 16;
  return static_cast<std::uint16_t>(low - high + (low < high ? 1 : 0));
}

std::uint16_t add(std::uint16_t a, std::uint16_t b) { return static_cast<std::uint16_t>(a + b); }

std::uint16_t negative(std::uint16_t a) { return static_cast<std::uint16_t>(-a); }

// 65537 is prime, so that a to the power of 65535 is the inverse of a.
std::uint16_t inverse(std::uint16_t a) {
  std::uint16_t result = 1;
  for (int bit = 0; bit < 16; ++bit) {
    result = multiply(result, a);
    a = multiply(a, a);
  }
  return result;
}

// Eight subkeys at a time: the words of the key, then of the key rotated left by 25 bits.
Subkeys encryption_subkeys(Key key) {
  Subkeys subkeys{};
  for (std::size_t at = 0; at < kSubkeys; ++at) {
    if (at > 0 && at % 8 == 0) {
      const Key last = key;
      for (std::size_t word = 0; word < 8; ++word) {
        key[word] = static_cast<std::uint16_t>(last[(word + 1) % 8] << 9 | last[(word + 2) % 8] >> 7);
      }
    }
    subkeys[at] = key[at % 8];
  }
  return subkeys;
}

// The same rounds undo the encryption with the inverse of each subkey in the
// opposite order. Rounds but the outermost swap the two inner words, so that
// there the subkeys of addition trade places.
Subkeys decryption_subkeys(const Subkeys& forward) {
  Subkeys subkeys{};
  for (std::size_t round = 0; round <= kRounds; ++round) {
    const std::uint16_t* from = &forward[6 * (kRounds - round)];
    const bool is_outermost = round == 0 || round == kRounds;
    subkeys[6 * round] = inverse(from[0]);
    subkeys[6 * round + 1] = negative(is_outermost ? from[1] : from[2]);
    subkeys[6 * round + 2] = negative(is_outermost ? from[2] : from[1]);
    subkeys[6 * round + 3] = inverse(from[3]);
    if (round == kRounds) break;
    subkeys[6 * round + 4] = from[-2];
    subkeys[6 * round + 5] = from[-1];
  }
  return subkeys;
}

std::uint16_t load_word(const std::uint8_t* bytes) { return static_cast<std::uint16_t>(bytes[0] << 8 | bytes[1]); }

void store_word(std::uint8_t* bytes, std::uint16_t word) {
  bytes[0] = static_cast<std::uint8_t>(word >> 8);
  bytes[1] = static_cast<std::uint8_t>(word);
}

void transform_block(const std::uint8_t* from, std::uint8_t* to, const std::uint16_t* subkey) {
  std::uint16_t a = load_word(from);
  std::uint16_t b = load_word(from + 2);
  std::uint16_t c = load_word(from + 4);
  std::uint16_t d = load_word(from + 6);
  for (int round = 0; round < kRounds; ++round, subkey += 6) {
    a = multiply(a, subkey[0]);
    b = add(b, subkey[1]);
    c = add(c, subkey[2]);
    d = multiply(d, subkey[3]);
    const std::uint16_t left = multiply(a ^ c, subkey[4]);
    const std::uint16_t right = multiply(add(b ^ d, left), subkey[5]);
    const std::uint16_t sum = add(left, right);
    a ^= right;
    d ^= sum;
    const std::uint16_t inner = b ^ sum;
    b = c ^ right;
    c = inner;
  }
  store_word(to, multiply(a, subkey[0]));
  store_word(to + 2, add(c, subkey[1]));
  store_word(to + 4, add(b, subkey[2]));
  store_word(to + 6, multiply(d, subkey[3]));
}

void transform_blocks(const std::uint8_t* from, std::uint8_t* to, Slice blocks, const Subkeys& subkeys) {
  for (std::size_t block = blocks.begin; block < blocks.end; ++block) {
    transform_block(from + block * kBlockBytes, to + block * kBlockBytes, subkeys.data());
  }
}

Key key_of(int repetition) {
  Key key{};
  Random random(static_cast<std::uint64_t>(repetition) + 1);
  for (std::uint16_t& word : key) word = static_cast<std::uint16_t>(random.next());
  return key;
}

}  // namespace

std::uint64_t crypt_bytes(int repetitions) {
  std::vector<std::uint8_t> plain(kBytes);
  std::vector<std::uint8_t> encrypted(kBytes);
  std::vector<std::uint8_t> decrypted(kBytes);
  Random random;
  for (std::uint8_t& byte : plain) byte = static_cast<std::uint8_t>(random.next());
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    const Slice blocks = slice_of(kBytes / kBlockBytes, self);
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      const Subkeys forward = encryption_subkeys(key_of(repetition));
      transform_blocks(plain.data(), encrypted.data(), blocks, forward);
      barrier.wait();
      transform_blocks(encrypted.data(), decrypted.data(), blocks, decryption_subkeys(forward));
      barrier.wait();
    }
  });
  if (decrypted != plain) fail("the decrypted bytes are not those encrypted");
  Digest digest;
  digest.add_all(encrypted);
  return digest.value();
}

}  // namespace deadheat::bench
