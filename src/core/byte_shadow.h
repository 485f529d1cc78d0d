// SPDX-License-Identifier: Apache-2.0
// ByteShadow: a cell of access history for every byte, at the price of one cell
// for every variable.
//
// Bytes that have always been accessed together have the same history, so they
// share a cell. Each 8-byte word keeps a list of parts, a part being a cell and
// the mask of the bytes it stands for: one part for a pointer, two for a pair
// of ints, eight only if eight chars live separate lives. An access that cuts
// through a part splits it (both halves start with the same history); parts
// whose cells have become equal are joined again. Nothing is ever evicted or
// rounded: the verdicts are those of one cell per byte.
//
// Words live in pages of 16, found by hash, so memory follows the addresses in
// use. A free is a write of the whole block, which may be huge and mostly
// untouched: where no page exists, the free is kept as a range and becomes
// cells when somebody touches the memory.
//
// What a cell is, the Policy decides (concept CellPolicy).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "core/access_record.h"
#include "core/range_map.h"
#include "model/identity.h"

namespace deadheat {

template <class Policy>
concept CellPolicy = requires(Policy policy, typename Policy::Cell cell, const AccessRecord& record) {
  // A default constructed cell has no history.
  requires std::default_initializable<typename Policy::Cell>;
  // The same history with a life of its own.
  { policy.copy(cell) } -> std::same_as<typename Policy::Cell>;
  // Gives up what the cell holds outside itself.
  policy.release(cell);
  // Whether bytes with these cells may share one of them.
  { policy.interchangeable(cell, cell) } -> std::convertible_to<bool>;
  // The history of memory that this free was the last to touch.
  { policy.cell_after_free(record) } -> std::same_as<typename Policy::Cell>;
  // Calls the function with every record of the cell.
  policy.for_each_record(cell, [](const AccessRecord&) {});
  // For revisit(), has_no_history(cell) as well.
};

// Bytes that share a cell: those of `mask` in the word at `base`, or, with a
// full mask, all of [base, base + length).
struct Touched {
  Address base = 0;
  std::uint64_t length = 8;
  std::uint8_t mask = 0xff;
};

template <CellPolicy Policy>
class ByteShadow {
 public:
  using Cell = typename Policy::Cell;

  explicit ByteShadow(Policy& policy) : policy_(policy) {}

  // Calls visit(cell, touched) for each cell of [address, address + size); size
  // is not 0. Together the touched bytes are exactly the range.
  template <class Visit>
  void access(Address address, std::uint64_t size, Visit&& visit) {
    const std::uint64_t offset = address % kWordBytes;
    if (offset + size <= kWordBytes) [[likely]] {
      const auto mask = static_cast<std::uint8_t>(((1U << size) - 1U) << offset);
      return access_word(word_at(address), address - offset, mask, visit);
    }
    const Address last = last_byte(address, size);
    for_each_word(address, last,
                  [&](Address base, std::uint8_t mask) { access_word(word_at(base), base, mask, visit); });
  }

  // The same for a free, without making pages for memory that has none.
  template <class Visit>
  void free(Address address, std::uint64_t size, const AccessRecord& record, Visit&& visit) {
    const Address last = last_byte(address, size);
    for_each_page(address, last, [&](Address first, Address end, Page* page) {
      if (page != nullptr) {
        for_each_word(first, end, [&](Address base, std::uint8_t mask) {
          access_word(page->words[word_index(base)], base, mask, visit);
        });
        return;
      }
      freed_.for_each(first, end, [&](Address from, Address to, const AccessRecord& earlier) {
        Cell cell = policy_.cell_after_free(earlier);
        visit(cell, Touched{from, to - from + 1, 0xff});
        policy_.release(cell);
      });
      freed_.assign(first, end, record);
    });
  }

  // Calls visit(cell, touched) for the cells that [address, address + size) has and
  // makes none. A cell that visit leaves without history goes, and its page with the
  // last one.
  template <class Visit>
  void revisit(Address address, std::uint64_t size, Visit&& visit) {
    if (pages_.empty() && freed_.empty()) return;
    const std::uint64_t offset = address % kWordBytes;
    if (offset + size <= kWordBytes && freed_.empty()) [[likely]] {
      const std::unique_ptr<Page>* page = pages_.find(address / kPageBytes);
      if (page == nullptr) return;
      const auto mask = static_cast<std::uint8_t>(((1U << size) - 1U) << offset);
      if (revisit_word((*page)->words[word_index(address)], address - offset, mask, visit)) drop_if_unused(address);
      return;
    }
    for_each_page(address, last_byte(address, size), [&](Address first, Address end, Page* page) {
      if (page == nullptr) return revisit_freed(first, end, visit);
      bool is_any_unused = false;
      for_each_word(first, end, [&](Address base, std::uint8_t mask) {
        is_any_unused |= revisit_word(page->words[word_index(base)], base, mask, visit);
      });
      if (is_any_unused) drop_if_unused(first);
    });
  }

  // New memory: no history.
  void forget(Address address, std::uint64_t size) {
    const Address last = last_byte(address, size);
    for_each_page(address, last, [&](Address first, Address end, Page* page) {
      freed_.erase(first, end);
      if (page == nullptr) return;
      for_each_word(first, end,
                    [&](Address base, std::uint8_t mask) { forget_bytes(page->words[word_index(base)], mask); });
      if (first % kPageBytes == 0 && end % kPageBytes == kPageBytes - 1) drop_page(first / kPageBytes);
    });
  }

  // Calls visit(record) for every record in any history.
  template <class Visit>
  void for_each_record(Visit&& visit) {
    const auto visit_part = [&](const Part& part) {
      if (part.mask != 0) policy_.for_each_record(part.cell, visit);
    };
    pages_.for_each([&](Address, const std::unique_ptr<Page>& page) {
      for (const Part& word : page->words) visit_part(word);
    });
    for (const Part& part : parts_) visit_part(part);
    freed_.for_each(0, ~Address{0}, [&](Address, Address, const AccessRecord& record) { visit(record); });
  }

  // Ask the cache for what an access to this address will look at: first for
  // the entry of its page, some time later for its word.
  void prefetch_page(Address address) const { pages_.prefetch(address / kPageBytes); }
  void prefetch_word(Address address) const {
    const std::unique_ptr<Page>* page = pages_.find(address / kPageBytes);
    if (page == nullptr) return;
    const Part& word = (*page)->words[word_index(address)];
    __builtin_prefetch(&word);
    __builtin_prefetch(&word.next);
  }

  [[nodiscard]] std::uint64_t pages() const { return pages_.size(); }
  [[nodiscard]] std::uint64_t splits() const { return splits_; }

 private:
  static constexpr std::uint64_t kWordBytes = 8;
  static constexpr std::uint64_t kPageWords = 16;
  static constexpr std::uint64_t kPageBytes = kWordBytes * kPageWords;

  struct Part {
    Cell cell{};
    std::uint8_t mask = 0;   // 0: no bytes, the cell is empty
    std::uint32_t next = 0;  // index into parts_; 0 ends the list
  };
  struct Page {
    Part words[kPageWords];  // the first part of each word
  };

  static Address last_byte(Address address, std::uint64_t size) {
    const Address last = address + size - 1;
    return last < address ? ~Address{0} : last;
  }
  static std::uint64_t word_index(Address address) { return (address / kWordBytes) % kPageWords; }

  // Calls visit(base, mask) for the words of [first, last].
  template <class Visit>
  static void for_each_word(Address first, Address last, Visit&& visit) {
    for (Address base = first - first % kWordBytes;; base += kWordBytes) {
      unsigned mask = 0xff;
      if (base < first) mask &= 0xffU << (first - base);
      if (last - base < kWordBytes - 1) mask &= 0xffU >> (kWordBytes - 1 - (last - base));
      visit(base, static_cast<std::uint8_t>(mask));
      if (last - base < kWordBytes) return;
    }
  }

  // Calls visit(first, last, page) for pieces that cover [first, last]: each
  // existing page on its own, what lies between them in one piece with nullptr.
  template <class Visit>
  void for_each_page(Address first, Address last, Visit&& visit) {
    std::vector<Address> present;
    const Address low = first / kPageBytes;
    const Address high = last / kPageBytes;
    constexpr Address kFew = 64;  // a lookup each costs less than going through the table
    if (high - low <= std::max<Address>(pages_.size(), kFew)) {
      for (Address number = low; number <= high; ++number) {
        if (pages_.find(number) != nullptr) present.push_back(number);
      }
    } else {
      pages_.for_each([&](Address number, const auto&) {
        if (number >= low && number <= high) present.push_back(number);
      });
      std::sort(present.begin(), present.end());
    }
    Address at = first;
    for (const Address number : present) {
      const Address begin = std::max(first, number * kPageBytes);
      const Address end = std::min(last, number * kPageBytes + (kPageBytes - 1));
      if (at < begin) visit(at, begin - 1, nullptr);
      visit(begin, end, pages_.find(number)->get());
      if (end == last) return;
      at = end + 1;
    }
    visit(at, last, nullptr);
  }

  Part& word_at(Address address) {
    const Address number = address / kPageBytes;
    if (number != recent_number_ || recent_page_ == nullptr) {
      std::unique_ptr<Page>& page = pages_[number];
      if (page == nullptr) [[unlikely]]
        make_page(page, number);
      recent_number_ = number;
      recent_page_ = page.get();
    }
    return recent_page_->words[word_index(address)];
  }

  void make_page(std::unique_ptr<Page>& page, Address number) {
    page = std::make_unique<Page>();
    if (freed_.empty()) return;
    const Address base = number * kPageBytes;
    freed_.for_each(base, base + (kPageBytes - 1), [&](Address first, Address last, const AccessRecord& record) {
      for_each_word(first, last, [&](Address word, std::uint8_t mask) {
        add_part(page->words[word_index(word)], mask, policy_.cell_after_free(record));
      });
    });
  }

  void drop_page(Address number) {
    if (recent_number_ == number) recent_page_ = nullptr;
    pages_.erase(number);
    if (pages_.empty()) pages_.clear();  // gives the table back
  }

  void drop_if_unused(Address address) {
    const Address number = address / kPageBytes;
    for (const Part& word : (*pages_.find(number))->words) {
      if (word.mask != 0) return;
    }
    drop_page(number);
    // What the page began with must not come back.
    if (!freed_.empty()) freed_.erase(number * kPageBytes, number * kPageBytes + (kPageBytes - 1));
  }

  // True if the word is without history now.
  template <class Visit>
  bool revisit_word(Part& word, Address base, std::uint8_t mask, Visit&& visit) {
    split(word, mask);
    std::uint8_t unused = 0;
    for (Part* part = &word; part != nullptr; part = next_of(*part)) {
      if ((part->mask & mask) == 0) continue;
      visit(part->cell, Touched{base, kWordBytes, part->mask});
      if (policy_.has_no_history(part->cell)) unused = static_cast<std::uint8_t>(unused | part->mask);
    }
    if (unused != 0) forget_bytes(word, unused);
    if (word.next != 0) unite(word);
    return word.mask == 0;
  }

  // The same for memory whose history is a free: who visits leaves the free, or
  // nothing.
  template <class Visit>
  void revisit_freed(Address first, Address last, Visit&& visit) {
    std::vector<std::pair<Address, Address>> gone;
    freed_.for_each(first, last, [&](Address from, Address to, const AccessRecord& earlier) {
      Cell cell = policy_.cell_after_free(earlier);
      visit(cell, Touched{from, to - from + 1, 0xff});
      if (policy_.has_no_history(cell)) gone.emplace_back(from, to);
      policy_.release(cell);
    });
    for (const auto& [from, to] : gone) freed_.erase(from, to);
  }

  template <class Visit>
  void access_word(Part& word, Address base, std::uint8_t mask, Visit&& visit) {
    if (word.mask == mask && word.next == 0) [[likely]]
      return visit(word.cell, Touched{base, kWordBytes, mask});
    access_parts(word, base, mask, visit);
  }

  template <class Visit>
  [[gnu::noinline]] void access_parts(Part& word, Address base, std::uint8_t mask, Visit&& visit) {
    isolate(word, mask);
    Part* part = &word;
    while (part != nullptr) {
      if ((part->mask & mask) != 0) visit(part->cell, Touched{base, kWordBytes, part->mask});
      part = next_of(*part);
    }
    unite(word);
  }

  // Makes `mask` a union of whole parts: splits those that reach beyond it and
  // adds one for the bytes that have none yet.
  void isolate(Part& word, std::uint8_t mask) {
    const std::uint8_t missing = split(word, mask);
    if (missing != 0) add_part(word, missing, Cell{});
  }

  // Splits the parts that reach beyond `mask`. Returns the bytes that have none.
  std::uint8_t split(Part& word, std::uint8_t mask) {
    std::uint8_t missing = mask;
    std::uint32_t index = 0;
    for (Part* part = &word; part != nullptr;) {
      const auto inside = static_cast<std::uint8_t>(part->mask & mask);
      const auto outside = static_cast<std::uint8_t>(part->mask & ~mask);
      missing = static_cast<std::uint8_t>(missing & ~inside);
      const std::uint32_t next = part->next;
      if (inside != 0 && outside != 0) {
        part->mask = inside;
        ++splits_;
        Cell copy = policy_.copy(part->cell);
        add_part(word, outside, std::move(copy));  // may move parts_
      }
      index = next;
      part = index == 0 ? nullptr : &parts_[index];
    }
    return missing;
  }

  // Adds a part at the head of the list, in the word itself if it is free.
  void add_part(Part& word, std::uint8_t mask, Cell cell) {
    if (word.mask == 0) {
      word.mask = mask;
      word.cell = std::move(cell);
      return;
    }
    std::uint32_t index = free_part_;
    if (index == 0) {
      if (parts_.empty()) parts_.emplace_back();
      index = static_cast<std::uint32_t>(parts_.size());
      parts_.emplace_back();
    } else {
      free_part_ = parts_[index].next;
    }
    parts_[index] = Part{std::move(cell), mask, word.next};
    word.next = index;
  }

  // Joins parts whose histories have become the same.
  void unite(Part& word) {
    for (Part* one = &word; one != nullptr; one = next_of(*one)) {
      Part* before = one;
      while (before->next != 0) {
        Part& other = parts_[before->next];
        if (!policy_.interchangeable(one->cell, other.cell)) {
          before = &other;
          continue;
        }
        one->mask = static_cast<std::uint8_t>(one->mask | other.mask);
        unlink_after(*before);
      }
    }
  }

  void unlink_after(Part& before) {
    const std::uint32_t index = before.next;
    policy_.release(parts_[index].cell);
    before.next = parts_[index].next;
    parts_[index] = Part{};
    parts_[index].next = free_part_;
    free_part_ = index;
  }

  void forget_bytes(Part& word, std::uint8_t mask) {
    for (Part* before = &word; before->next != 0;) {
      Part& part = parts_[before->next];
      part.mask = static_cast<std::uint8_t>(part.mask & ~mask);
      if (part.mask == 0) {
        unlink_after(*before);
      } else {
        before = &part;
      }
    }
    word.mask = static_cast<std::uint8_t>(word.mask & ~mask);
    if (word.mask != 0) return;
    policy_.release(word.cell);
    word.cell = Cell{};
    if (word.next == 0) return;
    std::swap(word.cell, parts_[word.next].cell);
    word.mask = parts_[word.next].mask;
    unlink_after(word);
  }

  Part* next_of(Part& part) { return part.next == 0 ? nullptr : &parts_[part.next]; }

  Policy& policy_;
  FlatMap<std::unique_ptr<Page>> pages_;  // by address / kPageBytes
  Address recent_number_ = 0;
  Page* recent_page_ = nullptr;
  std::vector<Part> parts_;  // second and further parts; index 0 is not used
  std::uint32_t free_part_ = 0;
  RangeMap<AccessRecord> freed_;  // freed memory without pages
  std::uint64_t splits_ = 0;
};

}  // namespace deadheat
