// SPDX-License-Identifier: Apache-2.0
// What an earlier period has left in the cells is taken for no record by anybody, and what the period of now records is
// not lost to it, whoever comes in between.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/random.h"
#include "core/footprint.h"
#include "runtime/access_check.h"
#include "runtime/fresh_cells.h"
#include "runtime/range_check.h"
#include "runtime/sampling.h"
#include "runtime/shadow_memory.h"
#include "runtime/shadow_pages.h"
#include "runtime/stand_in.h"
#include "runtime/unchecked_code.h"
#include "runtime/unsampled.h"

namespace deadheat::runtime {
namespace {

constexpr Address kOneGranule = Address{1} << kGranuleShift;
constexpr Address kHere = 0x5000;
constexpr std::uint64_t kWriteOf8 = 8 << 1 | 1;

// Stops who writes to cells of a granule for the first time, until it is let go. Nothing in the detector knows.
class StoppedWriter {
 public:
  explicit StoppedWriter(Address granule) {
    cells_ = reinterpret_cast<Address>(cell_of(granule)) & ~Address{4095};
    struct sigaction action{};
    action.sa_sigaction = wait;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
    is_stopped = may_go = false;
    mprotect(reinterpret_cast<void*>(cells_.load()), 4096, PROT_READ);
  }
  ~StoppedWriter() { sigaction(SIGSEGV, &before_, nullptr); }
  StoppedWriter(const StoppedWriter&) = delete;
  StoppedWriter& operator=(const StoppedWriter&) = delete;

  static void wait_for() {
    while (!is_stopped) std::this_thread::yield();
  }
  static void let_go() { may_go = true; }

 private:
  static void wait(int /*signal*/, siginfo_t* info, void* /*context*/) {
    const Address page = reinterpret_cast<Address>(info->si_addr) & ~Address{4095};
    if (page != cells_) _exit(1);
    is_stopped = true;
    while (!may_go) std::this_thread::yield();
    mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE);
  }

  inline static std::atomic<Address> cells_;
  inline static std::atomic<bool> is_stopped;
  inline static std::atomic<bool> may_go;
  struct sigaction before_{};
};

// Empties a place after so many instructions of the current thread: as another thread may do at any time.
class Interruption {
 public:
  // False when `body` took fewer.
  static bool at(int step, std::atomic<std::uint64_t>& place, const std::function<void()>& body) {
    struct sigaction action{};
    struct sigaction before{};
    action.sa_sigaction = count;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, &before);
    left = step + 1;
    emptied = &place;
    body();
    sigaction(SIGTRAP, &before, nullptr);
    return left == 0;
  }
  // Around what `body` does.
  [[gnu::always_inline]] static void begins() {
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
  }
  [[gnu::always_inline]] static void ends() {
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
  }

 private:
  static void count(int /*signal*/, siginfo_t* /*info*/, void* context) {
    constexpr long long kTrap = 0x100;
    left = left - 1;
    if (left != 0) return;
    emptied->store(0);
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrap;
  }

  inline static volatile int left = 0;
  inline static std::atomic<std::uint64_t>* emptied = nullptr;
};

class StaleCells : public testing::Test {
 protected:
  static constexpr std::size_t kGranules = 64;
  static constexpr std::size_t kWords = kGranules * kOneGranule / 8;

  void SetUp() override {
    if (!start_stand_in()) GTEST_SKIP() << "no room for the shadow in this process";
    ASSERT_TRUE(granules.load() != nullptr || map_shadow_pages());
    samples = true;
    words_ = std::make_unique<WatchedWords>(kWords);
    // Of all the words, those of whole granules.
    first_ = ((words_->address(0) + kOneGranule - 1) & ~(kOneGranule - 1));
    samples = false;
    clear_shadow(first_, (kGranules - 1) * kOneGranule);  // other tests may have had this memory
    samples = true;
  }
  ~StaleCells() override {
    drop(Drop::kEmptied);
    words_.reset();
    if (first_ != 0) cells_are_given_back(first_, (kGranules - 1) * kOneGranule);
    samples = false;
    period_is_open = false;
    quiet_time = 0;
    granules.store(nullptr);  // as other tests have it
    if (current.state != nullptr) publish_epoch(*current.state);
  }

  [[nodiscard]] Address granule(std::size_t number) const { return first_ + number * kOneGranule; }
  [[nodiscard]] std::uint32_t races(Address word) const { return words_->races((word - words_->address(0)) / 8); }
  static void drop(Drop how) {
    static_cast<void>(
        drop_granules([](Address, void* what) { return *static_cast<Drop*>(what); }, static_cast<void*>(&how)));
  }
  // What one thread does in a period, and what it leaves behind when its records are late.
  static void do_in_period(const std::function<void()>& what) {
    period_is_open = true;
    run_threads(1, [&](int) {
      current.cell_mask = 0;  // it joins the period
      what();
    });
    period_is_open = false;
  }
  static void write(Address word) { check_first<AccessKind::kWrite, 8>(word, kHere); }

  std::unique_ptr<WatchedWords> words_;
  Address first_ = 0;
};

// Who has come upon a record and is stopped before he tells: the record may have expired when he came upon it, unless
// it could not at any time since.
TEST_F(StaleCells, WhatMayHaveExpiredIsNotReported) {
  for (const bool may_expire : {false, true}) {
    const Address word = granule(may_expire ? 3 : 5) + 64;
    do_in_period([&] { write(word); });
    const StoppedWriter stopped(word);
    std::thread other([&] {
      run_threads(1, [&](int) {
        const RuntimeScope scope;
        const SamplingEvent event(*current.state);
        check_unsampled(*current.state, AccessKind::kWrite, word, word + 8, kHere);
      });
    });
    StoppedWriter::wait_for();
    if (may_expire) {
      allow_unchecked_code();
      forbid_unchecked_code();
    }
    StoppedWriter::let_go();
    other.join();
    EXPECT_EQ(races(word), may_expire ? 0U : 1U);
  }
}

TEST_F(StaleCells, WhatIsBeingEmptiedHasNoRecords) {
  const std::function<void(Address)> ways[] = {
      [](Address word) { note_record(word); },
      [](Address word) { static_cast<void>(empty_if_stale(word)); },
      [](Address word) { const FreshGranules fresh(word, word + 8); },
  };
  for (const auto& empty : ways) {
    const Address word = granule(3) + 64;
    do_in_period([&] { write(word); });
    drop(Drop::kStale);
    const StoppedWriter stopped(word);
    std::thread other([&] { empty(word + 256); });
    StoppedWriter::wait_for();
    EXPECT_FALSE(may_have_records(word));
    run_threads(1, [&](int) {
      const RuntimeScope scope;
      const SamplingEvent event(*current.state);
      check_unsampled(*current.state, AccessKind::kRead, word, word + 8, kHere);
    });
    EXPECT_EQ(races(word), 0U);
    StoppedWriter::let_go();
    other.join();
    drop(Drop::kEmptied);
  }
}

TEST_F(StaleCells, ElementsOverTheEdgeOfAGranuleMeetNone) {
  const Address edge = granule(5);
  do_in_period([&] {
    for (const Address at : {edge - 8, edge, edge + kOneGranule - 8, edge + kOneGranule}) write(at);
  });
  drop(Drop::kStale);
  do_in_period([&] { write(edge + kOneGranule); });
  run_threads(1, [&](int) {
    const RuntimeScope scope;
    const SamplingEvent event(*current.state);
    check_unsampled(*current.state, AccessKind::kWrite, Footprint{edge - 4, kOneGranule, 2, 8}, kHere);
  });
  EXPECT_EQ(races(edge - 8), 0U);
  EXPECT_EQ(races(edge), 0U);
  EXPECT_EQ(races(edge + kOneGranule - 8), 0U);
  EXPECT_EQ(races(edge + kOneGranule), 1U);
}

TEST_F(StaleCells, AnAccessOverTheEdgeOfAStaleGranuleMeetsTheRecordBehindIt) {
  const Address edge = granule(5);
  do_in_period([&] { write(edge - 8); });
  drop(Drop::kStale);
  do_in_period([&] { write(edge); });
  run_threads(1, [&](int) { check_across<AccessKind::kWrite, 16>(edge - 8, kHere); });
  EXPECT_EQ(races(edge - 8), 0U);
  EXPECT_EQ(races(edge), 1U);
}

// A thread that waits for something from the middle of one period to the middle of another has no reason to notice
// that either ended. Its records of the first are gone.
TEST_F(StaleCells, WhoSleepsFromOnePeriodToTheNextRecordsAnew) {
  // As the program's code does.
  const auto write_inline = [](Address word) {
    const Address cell = ((word * 2) & current.cell_mask) ^ reinterpret_cast<Address>(current.cell_key);
    if (!is_settled(*reinterpret_cast<const ShadowCell*>(cell), AccessKind::kWrite, current.epoch_bits, 0xff)) {
      write(word);
    }
  };
  const auto loop = [&] { check_range(granule(8), 8, kOneGranule / 8, kWriteOf8, kHere + 16); };
  for (const bool begins_with_loop : {false, true}) {
    period_is_open = true;
    run_threads(1, [&](int) {
      current.cell_mask = 0;
      write_inline(granule(1));
      write_inline(granule(2));
      loop();
      period_is_open = false;
      current.cell_mask = 0;  // the controller has noticed that it has not noticed
      drop(Drop::kStale);
      period_is_open = true;
      if (begins_with_loop) loop();
      write_inline(granule(1));
      write_inline(granule(2));
      loop();
    });
    period_is_open = false;
    EXPECT_TRUE(may_have_records(granule(1)));
    EXPECT_TRUE(may_have_records(granule(2)));
    EXPECT_TRUE(may_have_records(granule(8)));
    drop(Drop::kEmptied);
  }
}

// The controller goes by this when it asks whether anybody is recording something.
TEST_F(StaleCells, WhoIsAboutToJoinAPeriodIsSeen) {
  period_is_open = true;
  std::atomic<ThreadState*> joining{nullptr};
  std::atomic<bool> may_join{false};
  run_threads(2, [&](int index) {
    if (index == 0) {
      current.state->clock_lock.lock();  // where it will stop
      joining = current.state;
      while (!may_join) std::this_thread::yield();
      return;
    }
    while (joining == nullptr) std::this_thread::yield();
    ThreadState& state = *joining;
    // An event of that thread, as it would begin it for itself.
    std::thread event([&] {
      const SamplingEvent inside(state);
      EXPECT_EQ(state.clock.is_sampling(), peek(state.sampling.is_in_period) != 0);
    });
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (peek(state.sampling.is_in_period) == 0 && std::chrono::steady_clock::now() < patience) {
      std::this_thread::yield();
    }
    EXPECT_NE(peek(state.sampling.depth), 0U);
    EXPECT_NE(peek(state.sampling.is_in_period), 0U);
    period_is_open = false;
    state.clock_lock.unlock();
    event.join();
    may_join = true;
  });
}

// Somebody changes a cell while a loop records in it. What follows from what was seen of it holds for the cells beside
// it that are as it was, not for one that it was not.
TEST_F(StaleCells, ACellThatChangesSaysNothingOfThoseBesideIt) {
  constexpr Address kSome = 8;
  constexpr int kSteps = 300;
  const Address begin = granule(10);
  do_in_period([&] { check_range(begin, 8, kSome, kWriteOf8, kHere); });
  const std::uint64_t foreign = cell_of(begin)->entries[0].load();
  period_is_open = true;
  run_threads(1, [&](int) {
    current.cell_mask = 0;
    {
      const SamplingEvent event(*current.state);
    }
    const RuntimeScope scope;
    const auto entry_of_epoch = [](std::uint64_t epoch_bits) {
      return CellEntry::from_bits(epoch_bits | CellEntry(ShortEpoch{}, 0, AccessKind::kWrite, OriginId{3}).bits());
    };
    const CellEntry own = entry_of_epoch(current.epoch_bits);
    const CellEntry earlier = entry_of_epoch(current.epoch_bits - (std::uint64_t{1} << CellEntry::kEpochShift));
    // Those of another thread race, and are no matter for stores. Those of an earlier epoch make way.
    for (const std::uint64_t before : {foreign, earlier.with_bytes(0xff).bits()}) {
      Address done = 0;
      const auto record = [&] {
        for (Address at = 0; at < kSome; ++at) cell_of(begin + at * 8)->entries[0] = before;
        Interruption::begins();
        done = record_in_bulk(begin, begin + 8 * kSome, own, ThreadView(*current.state));
        Interruption::ends();
      };
      for (int step = 0; step < kSteps && Interruption::at(step, cell_of(begin)->entries[0], record); ++step) {
        if (before == foreign) {
          ASSERT_LE(done, begin + 8) << step;
          ASSERT_EQ(cell_of(begin + 8)->entries[0].load(), foreign) << step;
          continue;
        }
        ASSERT_EQ(done, begin + 8 * kSome);
        for (Address word = begin + 8; word < done; word += 8) {
          ASSERT_EQ(cell_of(word)->entries[0].load(), own.with_bytes(0xff).bits()) << step << ' ' << word - begin;
        }
      }
    }
  });
}

// The same of a loop that is not recorded, in a time in which nobody records.
TEST_F(StaleCells, ACellThatIsEmptiedSaysNothingOfThoseBesideIt) {
  constexpr Address kSome = 8;
  constexpr int kSteps = 300;
  const Address begin = granule(10);
  do_in_period([&] { check_range(begin, 8, kSome, 8 << 1, kHere); });
  const std::uint64_t foreign = cell_of(begin)->entries[0].load();
  quiet_time = 1;
  run_threads(1, [&](int) {
    const RuntimeScope scope;
    const SamplingEvent event(*current.state);
    const auto check = [&] {
      for (Address at = 0; at < kSome; ++at) cell_of(begin + at * 8)->entries[0] = foreign;
      Interruption::begins();
      check_unsampled(*current.state, AccessKind::kRead, begin, begin + 8 * kSome, kHere);
      Interruption::ends();
    };
    for (int step = 0; step < kSteps && Interruption::at(step, cell_of(begin)->entries[0], check); ++step) {
      for (Address word = begin + 8; word < begin + 8 * kSome; word += 8) {
        ASSERT_EQ(cell_of(word)->entries[0].load(), foreign) << step << ' ' << word - begin;
      }
    }
  });
}

// Threads record by loops and one by one in the same granules while others check; what they leave becomes stale, is
// emptied, goes with its mapping, at random. In each period every word has one writer, which the others do not know:
// so each record of a period is found by whoever comes in its time, and nobody meets one of an earlier period.
TEST_F(StaleCells, NothingOfAPeriodIsLostAndNothingOfAnEarlierOneMet) {
  constexpr int kThreads = 3;
  constexpr std::size_t kUsed = 12;
  constexpr std::size_t kWordsUsed = kUsed * kOneGranule / 8;
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  std::uint64_t races_before = 0;
  const auto all_races = [&] {
    std::uint64_t sum = 0;
    for (std::size_t word = 0; word < kWordsUsed; ++word) sum += races(granule(0) + word * 8);
    return sum;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(800);
  for (int period = 0; std::chrono::steady_clock::now() < until && !HasFailure(); ++period) {
    const std::uint64_t period_seed = random.next();
    period_is_open = true;
    RoundBarrier start(kThreads + 1);
    std::atomic<int> recording{kThreads};
    std::vector<char> is_written(kWordsUsed);
    run_threads(kThreads + 1, [&](int index) {
      Random own(period_seed + static_cast<std::uint64_t>(index));
      // Who does not sample meets what is stale. It reads words that nobody writes in this period.
      const bool samples_now = index != kThreads;
      if (samples_now) {
        current.cell_mask = 0;
        const SamplingEvent event(*current.state);
      }
      start.meet(0);
      if (!samples_now) {
        const std::size_t lane = (kThreads + static_cast<std::size_t>(period)) % (kThreads + 1);
        const Footprint all{granule(0) + lane * 8, 32, kWordsUsed / 4, 8};
        while (recording != 0) {
          const RuntimeScope scope;
          const SamplingEvent event(*current.state);
          check_unsampled(*current.state, AccessKind::kRead, all, kHere + 64);
          if (own.below(4) == 0) static_cast<void>(empty_if_stale(granule(own.below(kUsed))));
        }
        return;
      }
      for (int turn = 0; turn < 12; ++turn) {
        const std::size_t granule_number = own.below(kUsed);
        // Of four words each thread has one, in turns by period.
        const std::size_t lane = (static_cast<std::size_t>(index) + static_cast<std::size_t>(period)) % (kThreads + 1);
        const std::size_t from = granule_number * kOneGranule / 8 + own.below(200) / 4 * 4 + lane;
        const std::size_t count = 1 + own.below(100);
        const std::size_t end = std::min(kWordsUsed, from + 4 * count);
        const Address begin = granule(0) + from * 8;
        const std::size_t elements = (end - from + 3) / 4;
        if (own.below(2) == 0) {
          check_range(begin, 32, elements, kWriteOf8, kHere + 16);
          for (std::size_t word = from; word < end; word += 4) is_written[word] = 1;
        } else {
          for (std::size_t word = from; word < end && word < from + 40; word += 4) {
            write(granule(0) + word * 8);
            is_written[word] = 1;
          }
        }
        if (own.below(4) == 0) {  // as after the release of a lock
          const RuntimeScope scope;
          current.state->clock.advance();
          renew_epoch(*current.state);
        }
      }
      recording.fetch_sub(1);
    });
    period_is_open = false;
    ASSERT_EQ(all_races(), races_before) << "met a record of an earlier period, in " << period;
    // Now and then somebody who knows of nothing comes by: exactly the words of this period race.
    if (random.below(2) == 0) {
      quiet_time = random.below(2);
      std::vector<std::uint32_t> before(kWordsUsed);
      for (std::size_t word = 0; word < kWordsUsed; ++word) before[word] = races(granule(0) + word * 8);
      run_threads(1, [&](int) {
        const RuntimeScope scope;
        const SamplingEvent event(*current.state);
        check_unsampled(*current.state, AccessKind::kRead, granule(0), granule(kUsed), kHere + 128);
      });
      quiet_time = 0;
      for (std::size_t word = 0; word < kWordsUsed; ++word) {
        const std::uint32_t met = races(granule(0) + word * 8) - before[word];
        ASSERT_EQ(met, static_cast<std::uint32_t>(is_written[word])) << period << ' ' << word;
      }
      races_before = all_races();
    }
    switch (random.below(4)) {
      case 0:
        drop(Drop::kEmptied);
        break;
      case 1: {  // memory that goes, and comes again
        const std::size_t first = random.below(kUsed);
        const std::size_t pages = 1 + random.below(kUsed - first);
        give_back_shadow(granule(first), pages * kOneGranule);
        [[fallthrough]];
      }
      default:
        drop(Drop::kStale);
    }
  }
}

}  // namespace
}  // namespace deadheat::runtime
