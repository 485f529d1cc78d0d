// SPDX-License-Identifier: Apache-2.0
// replay_work KERNEL: ordinary integer code of one thread, to be stepped (bench/replay_measure.cpp).
// Each kernel is one function; what it works on is made before.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::uint32_t noise_state = 12345;

std::uint32_t noise() {
  noise_state = noise_state * 1664525 + 1013904223;
  return noise_state >> 8;
}

struct Node {
  std::uint32_t key = 0;
  Node* left = nullptr;
  Node* right = nullptr;
};

struct Entry {
  std::uint32_t key;
  std::uint32_t count;
  Entry* next;
};

std::vector<std::uint32_t> numbers;
std::vector<std::uint8_t> text;
std::vector<Entry*> buckets;
std::vector<Entry> entries;
std::array<std::array<std::int64_t, 40>, 40> left_matrix;
std::array<std::array<std::int64_t, 40>, 40> right_matrix;
std::array<std::array<std::int64_t, 40>, 40> product_matrix;
std::array<std::uint32_t, 256> histogram;

void prepare() {
  for (int index = 0; index < 20000; ++index) numbers.push_back(noise() % 4000);
  const std::string_view words[] = {"lock", "thread", "race", "clock", "access", "epoch", " ", ", "};
  while (text.size() < 20000) {
    for (const char letter : words[noise() % 8]) text.push_back(static_cast<std::uint8_t>(letter));
  }
  buckets.resize(1024);
  entries.resize(6000);
  for (std::size_t row = 0; row < 40; ++row) {
    for (std::size_t column = 0; column < 40; ++column) {
      left_matrix[row][column] = noise() % 100;
      right_matrix[row][column] = noise() % 100;
    }
  }
}

}  // namespace

extern "C" {

// Through an index: mostly registers.
__attribute__((noinline)) std::uint64_t work_matrix() {
  std::uint64_t sum = 0;
  for (std::size_t row = 0; row < 40; ++row) {
    for (std::size_t column = 0; column < 40; ++column) {
      std::int64_t value = 0;
      for (std::size_t inner = 0; inner < 40; ++inner) value += left_matrix[row][inner] * right_matrix[inner][column];
      product_matrix[row][column] = value;
      sum += static_cast<std::uint64_t>(value);
    }
  }
  return sum;
}

__attribute__((noinline)) std::uint64_t work_sort() {
  std::sort(numbers.begin(), numbers.begin() + 6000);
  return numbers[100];
}

// Chains: addresses that were loaded.
__attribute__((noinline)) std::uint64_t work_hash() {
  std::size_t used = 0;
  std::uint64_t found = 0;
  for (const std::uint32_t number : numbers) {
    const std::uint32_t key = number * 2654435761U;
    Entry** place = &buckets[(key >> 20) & 1023];
    Entry* entry = *place;
    while (entry != nullptr && entry->key != key) entry = entry->next;
    if (entry == nullptr) {
      if (used == entries.size()) break;
      entry = &entries[used++];
      *entry = {key, 0, *place};
      *place = entry;
    }
    found += ++entry->count;
  }
  return found;
}

// A byte-wise compressor with a table of earlier places.
__attribute__((noinline)) std::uint64_t work_compress() {
  static std::array<std::uint16_t, 4096> table;
  static std::array<std::uint8_t, 40000> output;
  std::size_t written = 0;
  std::size_t at = 0;
  while (at + 4 < text.size()) {
    std::uint32_t four = 0;
    std::memcpy(&four, &text[at], 4);
    std::uint16_t& slot = table[(four * 2654435761U) >> 20];
    const std::size_t earlier = slot;
    slot = static_cast<std::uint16_t>(at);
    std::size_t length = 0;
    if (earlier < at) {
      while (at + length < text.size() && text[earlier + length] == text[at + length] && length < 255) ++length;
    }
    if (length >= 4) {
      output[written++] = 255;
      output[written++] = static_cast<std::uint8_t>(length);
      output[written++] = static_cast<std::uint8_t>(at - earlier);
      at += length;
    } else {
      output[written++] = text[at++];
    }
  }
  return written;
}

__attribute__((noinline)) Node* insert_node(Node* node, std::uint32_t key, std::vector<Node>& pool) {
  if (node == nullptr) {
    pool.push_back({key, nullptr, nullptr});
    return &pool.back();
  }
  if (key < node->key) {
    node->left = insert_node(node->left, key, pool);
  } else if (key > node->key) {
    node->right = insert_node(node->right, key, pool);
  }
  return node;
}

// Recursion: much of it is the stack.
__attribute__((noinline)) std::uint64_t work_tree() {
  std::vector<Node> pool;
  pool.reserve(4096);
  Node* root = nullptr;
  for (std::size_t index = 0; index < 3000; ++index) root = insert_node(root, numbers[index], pool);
  return pool.size();
}

__attribute__((noinline)) std::uint64_t work_histogram() {
  std::uint32_t check = 0xffffffff;
  for (int round = 0; round < 4; ++round) {
    for (const std::uint8_t byte : text) {
      ++histogram[byte];
      check = (check >> 4) ^ (check * 0x1f) ^ byte;
    }
  }
  return check;
}

// Standard containers and the allocator.
__attribute__((noinline)) std::uint64_t work_words() {
  std::map<std::string, int> counts;
  std::string word;
  for (std::size_t at = 0; at < 8000; ++at) {
    const auto letter = static_cast<char>(text[at]);
    if (letter == ' ' || letter == ',') {
      if (!word.empty()) ++counts[word];
      word.clear();
    } else {
      word += letter;
    }
  }
  return counts.size();
}
}

int main(int count, char** arguments) {
  const std::string_view kernel = count > 1 ? arguments[1] : "";
  prepare();
  const std::pair<std::string_view, std::uint64_t (*)()> kernels[] = {
      {"matrix", work_matrix}, {"sort", work_sort},           {"hash", work_hash},  {"compress", work_compress},
      {"tree", work_tree},     {"histogram", work_histogram}, {"words", work_words}};
  for (const auto& [name, function] : kernels) {
    if (name == kernel) {
      std::printf("%llu\n", static_cast<unsigned long long>(function()));
      return 0;
    }
  }
  std::fprintf(stderr, "usage: replay_work KERNEL\n");
  return 2;
}
