// SPDX-License-Identifier: Apache-2.0
// PairTable: numbers pairs (parent number, element). Insert-only and lock-free: a
// number is drawn, its node written, and the node pushed on its bucket's list by
// compare-and-swap. Two threads that insert the same pair at once may number it
// twice, which costs 16 bytes and nothing else. Memory is reserved for the
// largest number and touched as numbers are drawn.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/flat_map.h"
#include "runtime/page_source.h"

namespace deadheat::runtime {

class PairTable {
 public:
  struct Node {
    std::uint64_t element = 0;
    std::uint32_t parent = 0;
    std::uint32_t next = 0;
  };

  // Numbers from `first` on; 0 is never drawn.
  bool map(std::uint32_t capacity, std::uint32_t bucket_count, std::uint32_t first = 1) {
    nodes_ = static_cast<Node*>(PageSource::reserve(std::size_t{capacity} * sizeof(Node)));
    buckets_ = static_cast<std::atomic<std::uint32_t>*>(PageSource::reserve(std::size_t{bucket_count} * 4));
    capacity_ = capacity;
    bucket_mask_ = bucket_count - 1;
    next_.store(first, std::memory_order_relaxed);
    return nodes_ != nullptr && buckets_ != nullptr;
  }

  // 0 when the table is full.
  std::uint32_t number(std::uint32_t parent, std::uint64_t element) {
    std::atomic<std::uint32_t>& bucket = buckets_[(spread(element * 31 + parent) >> 24) & bucket_mask_];
    std::uint32_t head = bucket.load(std::memory_order_acquire);  // pairs with the push below
    for (std::uint32_t at = head; at != 0; at = nodes_[at].next) {
      if (nodes_[at].element == element && nodes_[at].parent == parent) return at;
    }
    const std::uint32_t fresh = next_.fetch_add(1, std::memory_order_relaxed);
    if (fresh >= capacity_) {
      next_.store(capacity_, std::memory_order_relaxed);
      return 0;
    }
    nodes_[fresh] = Node{element, parent, head};
    // Release: whoever finds the number sees the node.
    while (!bucket.compare_exchange_weak(head, fresh, std::memory_order_release, std::memory_order_relaxed)) {
      nodes_[fresh].next = head;
    }
    return fresh;
  }

  [[nodiscard]] const Node& node(std::uint32_t number) const { return nodes_[number]; }
  [[nodiscard]] std::uint32_t count() const { return next_.load(std::memory_order_relaxed); }

 private:
  Node* nodes_ = nullptr;
  std::atomic<std::uint32_t>* buckets_ = nullptr;
  std::uint32_t capacity_ = 0;
  std::uint32_t bucket_mask_ = 0;
  std::atomic<std::uint32_t> next_{1};
};

}  // namespace deadheat::runtime
