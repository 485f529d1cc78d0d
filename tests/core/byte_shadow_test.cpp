// SPDX-License-Identifier: Apache-2.0
// The byte shadow against one cell per byte. Cells are of two toy kinds: a log
// of everything that ever touched the byte (so a lost split, a wrong merge or a
// forgotten byte shows at once) and a last access (so that merging happens).
#include "core/byte_shadow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "core/core_fixture.h"

namespace deadheat {
namespace {

AccessRecord record_number(std::uint32_t number) {
  return {Epoch(ThreadSlot{1}, number), SiteId{number}, SituationId{}, 0, WriteFlavour::kFree};
}

// A cell is the list of the numbers of all accesses.
struct LogPolicy {
  using Cell = std::vector<std::uint32_t>;
  static Cell copy(const Cell& cell) { return cell; }
  static void release(Cell& cell) { cell.clear(); }
  static bool interchangeable(const Cell& one, const Cell& other) { return one == other; }
  static bool has_no_history(const Cell& cell) { return cell.empty(); }
  static Cell cell_after_free(const AccessRecord& record) { return {raw(record.site())}; }
  template <class Visit>
  static void for_each_record(const Cell& cell, Visit&& visit) {
    for (const std::uint32_t number : cell) visit(record_number(number));
  }
};

struct ShadowPolicy : CountingPolicy {
  static bool has_no_history(const Cell& cell) { return cell.handle == 0; }
  Cell cell_after_free(const AccessRecord& record) { return {make(), raw(record.site())}; }
  template <class Visit>
  static void for_each_record(const Cell& cell, Visit&& visit) {
    visit(record_number(cell.last));
  }
};

// Adds every byte of the touched ones to `bytes`; none may come twice.
void collect(const Touched& touched, std::set<Address>& bytes) {
  const std::uint64_t length = touched.mask == 0xff ? touched.length : 8;
  for (std::uint64_t offset = 0; offset < length; ++offset) {
    if (touched.mask != 0xff && ((touched.mask >> offset) & 1U) == 0) continue;
    EXPECT_TRUE(bytes.insert(touched.base + offset).second) << "byte visited twice";
  }
}

using Log = std::vector<std::uint32_t>;

// A free replaces the log by itself; where there was no page, the shadow must
// not even ask about untouched bytes, so the visitor checks what it is shown.
class Model {
 public:
  explicit Model(Address base) : base_(base) {}

  void access(std::uint64_t first, std::uint64_t size, std::uint32_t number) {
    std::set<Address> touched_bytes;
    shadow_.access(base_ + first, size, [&](Log& cell, const Touched& touched) {
      compare(cell, touched);
      collect(touched, touched_bytes);
      cell.push_back(number);
    });
    EXPECT_EQ(touched_bytes.size(), size);
    EXPECT_EQ(*touched_bytes.begin(), base_ + first);
    EXPECT_EQ(*touched_bytes.rbegin(), base_ + first + (size - 1));
    for (std::uint64_t at = first; at < first + size; ++at) bytes_[base_ + at].push_back(number);
  }
  void free(std::uint64_t first, std::uint64_t size, std::uint32_t number) {
    std::set<Address> touched_bytes;
    shadow_.free(base_ + first, size, record_number(number), [&](Log& cell, const Touched& touched) {
      compare(cell, touched);
      collect(touched, touched_bytes);
      cell = {number};
    });
    for (std::uint64_t at = first; at < first + size; ++at) {
      Log& log = bytes_[base_ + at];
      EXPECT_TRUE(log.empty() || touched_bytes.contains(base_ + at)) << "byte with history not visited";
      log = {number};
    }
  }
  enum class Revisit : std::uint8_t { kLook, kDiscard };
  void revisit(std::uint64_t first, std::uint64_t size, Revisit what) {
    std::set<Address> touched_bytes;
    shadow_.revisit(base_ + first, size, [&](Log& cell, const Touched& touched) {
      EXPECT_FALSE(cell.empty());
      compare(cell, touched);
      collect(touched, touched_bytes);
      if (what == Revisit::kDiscard) cell.clear();
    });
    for (std::uint64_t at = first; at < first + size; ++at) {
      Log& log = bytes_[base_ + at];
      EXPECT_EQ(log.empty(), !touched_bytes.contains(base_ + at));
      if (what == Revisit::kDiscard) log.clear();
    }
  }
  [[nodiscard]] std::uint64_t pages() const { return shadow_.pages(); }
  void forget(std::uint64_t first, std::uint64_t size) {
    shadow_.forget(base_ + first, size);
    for (std::uint64_t at = first; at < first + size; ++at) bytes_.erase(base_ + at);
  }

 private:
  void compare(const Log& cell, const Touched& touched) {
    std::set<Address> bytes;
    collect(touched, bytes);
    for (const Address byte : bytes) ASSERT_EQ(cell, bytes_[byte]) << "byte " << std::hex << byte;
  }

  Address base_;
  LogPolicy policy_;
  ByteShadow<LogPolicy> shadow_{policy_};
  std::map<Address, Log> bytes_;
};

TEST(ByteShadow, RandomAccessesMatchOneCellPerByte) {
  constexpr std::uint64_t kWindow = 600;  // four pages and a half
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const Address bases[] = {0, 5, 0x7f0000001003, kTop - (kWindow - 1), kTop - kWindow};
    Model model(bases[seed % 5]);
    const std::uint64_t largest = seed % 2 == 0 ? 24 : kWindow;
    for (std::uint32_t step = 1; step <= 250; ++step) {
      const std::uint64_t first = random.below(kWindow);
      const std::uint64_t size = 1 + random.below(std::min(largest, kWindow - first));
      const std::uint64_t action = random.below(12);
      if (action < 7) {
        model.access(first, size, step);
      } else if (action < 9) {
        model.free(first, size, step);
      } else if (action < 10) {
        model.revisit(first, size, Model::Revisit::kLook);
      } else if (action < 11) {
        model.revisit(first, size, Model::Revisit::kDiscard);
      } else {
        model.forget(first, size);
      }
      if (HasFailure()) return;
    }
    model.access(0, kWindow, 100000);
    model.revisit(0, kWindow, Model::Revisit::kDiscard);
    EXPECT_EQ(model.pages(), 0U);
  }
}

TEST(ByteShadow, RevisitingMakesNoPagesAndDiscardingGivesThemBack) {
  Model model(0x1000);
  model.revisit(0, 4096, Model::Revisit::kLook);
  EXPECT_EQ(model.pages(), 0U);
  model.access(0, 300, 1);
  EXPECT_EQ(model.pages(), 3U);
  model.revisit(0, 128, Model::Revisit::kDiscard);
  EXPECT_EQ(model.pages(), 2U);
  model.revisit(128, 171, Model::Revisit::kDiscard);  // all but one byte
  EXPECT_EQ(model.pages(), 1U);
  model.revisit(299, 1, Model::Revisit::kDiscard);
  EXPECT_EQ(model.pages(), 0U);
}

TEST(ByteShadow, AFreeDoesNotComeBackWithTheNextPage) {
  Model model(0x1000);
  model.free(0, 256, 1);
  model.access(0, 1, 2);  // makes a page of the free
  model.revisit(0, 128, Model::Revisit::kDiscard);
  EXPECT_EQ(model.pages(), 0U);
  model.revisit(0, 256, Model::Revisit::kLook);
  model.access(0, 256, 3);
}

TEST(ByteShadow, EveryMaskOfAWordSplitsExactly) {
  for (std::uint64_t first = 0; first < 8; ++first) {
    for (std::uint64_t size = 1; size <= 16; ++size) {
      Model model(0x1000);
      model.access(0, 24, 1);
      model.access(first, size, 2);
      model.access(3, 9, 3);
      model.access(0, 24, 4);
    }
  }
}

TEST(ByteShadow, PartsWithEqualHistoriesShareACellAgain) {
  struct LastPolicy : LogPolicy {};
  LastPolicy policy;
  ByteShadow<LastPolicy> shadow(policy);
  const auto set = [](Log& cell, const Touched&) { cell = {7}; };
  for (Address byte = 0x1000; byte < 0x1008; ++byte) shadow.access(byte, 1, set);
  int visits = 0;
  shadow.access(0x1000, 8, [&](Log& cell, const Touched& touched) {
    ++visits;
    EXPECT_EQ(touched.mask, 0xff);
    EXPECT_EQ(cell, Log{7});
  });
  EXPECT_EQ(visits, 1);
}

TEST(ByteShadow, AHugeFreeMakesNoPagesUntilItIsTouched) {
  LogPolicy policy;
  ByteShadow<LogPolicy> shadow(policy);
  constexpr std::uint64_t kHuge = 1ULL << 46;
  shadow.free(0x1001, kHuge, record_number(9), [](Log&, const Touched&) { FAIL() << "nothing was there"; });
  EXPECT_EQ(shadow.pages(), 0U);
  std::vector<Log> found;
  const auto look = [&](Log& cell, const Touched&) { found.push_back(cell); };
  shadow.access(0x1000, 1, look);
  shadow.access(0x1001, 1, look);
  shadow.access(0x1000 + kHuge, 1, look);
  shadow.access(0x1001 + kHuge, 1, look);
  EXPECT_EQ(found, (std::vector<Log>{{}, {9}, {9}, {}}));
  EXPECT_EQ(shadow.pages(), 2U);
}

TEST(ByteShadow, ASecondHugeFreeSeesTheFirstInOnePiece) {
  LogPolicy policy;
  ByteShadow<LogPolicy> shadow(policy);
  shadow.free(0, kTop, record_number(1), [](Log&, const Touched&) {});
  std::uint64_t bytes = 0;
  shadow.free(0, kTop, record_number(2), [&](Log& cell, const Touched& touched) {
    EXPECT_EQ(cell, Log{1});
    bytes += touched.length;
  });
  EXPECT_EQ(bytes, kTop);
}

TEST(ByteShadow, ForgettingAWholePageGivesItBackAndAPartDoesNot) {
  LogPolicy policy;
  ByteShadow<LogPolicy> shadow(policy);
  const auto touch = [](Log& cell, const Touched&) { cell.push_back(1); };
  shadow.access(0x1000, 8, touch);
  shadow.forget(0x1000, 127);
  EXPECT_EQ(shadow.pages(), 1U);
  shadow.forget(0x1000, 128);
  EXPECT_EQ(shadow.pages(), 0U);
  shadow.access(0x1000, 8, [](Log& cell, const Touched&) { EXPECT_TRUE(cell.empty()); });
}

TEST(ByteShadow, ANewPageDoesNotSeeTheFreesOfItsPredecessor) {
  LogPolicy policy;
  ByteShadow<LogPolicy> shadow(policy);
  shadow.free(0x1000, 256, record_number(1), [](Log&, const Touched&) {});
  shadow.access(0x1000, 1, [](Log& cell, const Touched&) { EXPECT_EQ(cell, Log{1}); });
  shadow.forget(0x1000, 256);
  shadow.access(0x1000, 256, [](Log& cell, const Touched&) { EXPECT_TRUE(cell.empty()); });
}

TEST(ByteShadow, EveryCellIsReleasedOnceWhenItsBytesAreForgotten) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    ShadowPolicy policy;
    ByteShadow<ShadowPolicy> shadow(policy);
    const auto touch = [&](ShadowPolicy::Cell& cell, const Touched&) {
      if (cell.handle == 0) cell.handle = policy.make();
      cell.last = static_cast<std::uint32_t>(random.below(3));
    };
    for (int step = 0; step < 400; ++step) {
      const Address at = random.below(300);
      const std::uint64_t size = 1 + random.below(20);
      switch (random.below(7)) {
        case 0:
          shadow.free(at, size, record_number(1), touch);
          break;
        case 1:
          shadow.forget(at, size);
          break;
        case 2:
          shadow.revisit(at, size, [&](ShadowPolicy::Cell& cell, const Touched&) { policy.release(cell); });
          break;
        default:
          shadow.access(at, size, touch);
          break;
      }
    }
    shadow.forget(0, 512);
    EXPECT_TRUE(policy.live.empty()) << policy.live.size() << " cells leaked";
    EXPECT_EQ(shadow.pages(), 0U);
  }
}

TEST(ByteShadow, EveryRecordIsVisited) {
  LogPolicy policy;
  ByteShadow<LogPolicy> shadow(policy);
  const auto append = [](std::uint32_t number) {
    return [number](LogPolicy::Cell& cell, const Touched&) { cell.push_back(number); };
  };
  shadow.access(0x1000, 8, append(1));
  shadow.access(0x1002, 2, append(2));                       // splits the word
  shadow.access(0x9000, 33, append(3));                      // another page
  shadow.free(0x100000, 4096, record_number(4), append(4));  // no page: kept as a range
  shadow.access(0x200000, 4, append(5));
  shadow.forget(0x200000, 4);
  std::set<std::uint32_t> seen;
  shadow.for_each_record([&](const AccessRecord& record) { seen.insert(raw(record.site())); });
  EXPECT_EQ(seen, (std::set<std::uint32_t>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace deadheat
