// SPDX-License-Identifier: Apache-2.0
// Ten processes write to one store and are killed at random, again and again. What a process
// was told to be on disk must be there afterwards, and the database must be whole.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <thread>
#include <vector>

#include "base/random.h"
#include "store/sql_connection.h"
#include "store/store_fixture.h"

namespace deadheat {
namespace {

constexpr std::size_t kWriters = 10;
constexpr std::size_t kMostSightings = 1 << 16;
constexpr std::uint32_t kRaces = 64;

// Shared with the writers; survives them.
struct Acknowledged {
  struct Entry {
    char run[33];
    std::uint32_t race;
    std::uint32_t occurrences;
  };
  std::atomic<std::uint32_t> runs;
  std::atomic<std::uint32_t> failures;
  std::atomic<std::uint32_t> reserved;
  std::array<std::atomic<bool>, kMostSightings> is_written;
  std::array<Entry, kMostSightings> entries;
};

std::string fingerprint_of_number(std::uint32_t number) { return fmt::format("{:016x}", number); }

// Runs until it is killed.
[[noreturn]] void write_forever(const std::string& place, std::uint64_t seed, Acknowledged& acknowledged) {
  Random random(seed);
  while (true) {
    auto store = Store::open(place, StoreAccess::kWrite);
    if (!store.ok()) {
      std::fprintf(stderr, "writer: %s\n", store.error().message.c_str());
      acknowledged.failures.fetch_add(1);
      _exit(1);
    }
    const auto run = store.value().begin(example_run("run", now_in_microseconds()));
    if (run.ok()) acknowledged.runs.fetch_add(1);
    for (int count = 0; run.ok() && count < 20; ++count) {
      const auto race = static_cast<std::uint32_t>(random.below(kRaces));
      const auto occurrences = static_cast<std::uint32_t>(1 + random.below(1000));
      const Status added = store.value().add(run.value(), example_sighting(fingerprint_of_number(race), occurrences));
      if (!added.ok()) {
        std::fprintf(stderr, "writer: %s\n", added.error().message.c_str());
        acknowledged.failures.fetch_add(1);
        _exit(1);
      }
      const std::uint32_t slot = acknowledged.reserved.fetch_add(1);
      if (slot >= kMostSightings) _exit(0);
      Acknowledged::Entry& entry = acknowledged.entries[slot];
      run.value().copy(entry.run, 32);
      entry.race = race;
      entry.occurrences = occurrences;
      acknowledged.is_written[slot].store(true);
    }
  }
}

class KilledWritersTest : public StoreTest {
 protected:
  pid_t start_writer(std::uint64_t seed, Acknowledged& acknowledged) const {
    const pid_t child = fork();
    if (child == 0) write_forever(place_, seed, acknowledged);
    return child;
  }
};

void end(pid_t process) {
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
}

void check_integrity(const std::string& path) {
  const auto connection = must(open_sqlite(path, false));
  EXPECT_EQ(std::get<std::string>(must(connection->run("PRAGMA integrity_check"))[0][0]), "ok");
  EXPECT_TRUE(must(connection->run("PRAGMA foreign_key_check")).empty());
}

TEST_P(KilledWritersTest, NothingThatWasAcknowledgedIsLost) {
  constexpr std::uint64_t kSeed = 20;
  constexpr std::chrono::milliseconds kTime{1500};
  void* const shared = mmap(nullptr, sizeof(Acknowledged), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& acknowledged = *static_cast<Acknowledged*>(shared);
  Random random(kSeed);
  // The store does not exist yet: its making is part of what they do at once.
  std::vector<pid_t> writers;
  std::uint64_t started = 0;
  while (writers.size() < kWriters) writers.push_back(start_writer(++started, acknowledged));
  std::uint64_t kills = 0;
  const auto until = std::chrono::steady_clock::now() + kTime;
  while (std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + random.below(30)));
    pid_t& victim = writers[random.below(kWriters)];
    end(victim);
    ++kills;
    victim = start_writer(++started, acknowledged);
  }
  for (const pid_t writer : writers) end(writer);

  EXPECT_EQ(acknowledged.failures.load(), 0U);
  if (GetParam() == Backend::kSqlite) check_integrity(place_);
  if (GetParam() == Backend::kPostgres) {
    ASSERT_TRUE(crash_server());
  }
  const StoreContent content = must(open(place_, StoreAccess::kRead).content());
  std::map<std::pair<std::string, std::string>, std::uint64_t> found;
  for (const SightingRow& row : content.sightings) found[{row.fingerprint, row.run}] = row.occurrences;
  std::uint64_t checked = 0;
  for (std::size_t slot = 0; slot < kMostSightings; ++slot) {
    if (!acknowledged.is_written[slot].load()) continue;
    const Acknowledged::Entry& entry = acknowledged.entries[slot];
    const auto row = found.find({fingerprint_of_number(entry.race), entry.run});
    ASSERT_NE(row, found.end()) << "lost: race " << entry.race << " of run " << entry.run;
    ASSERT_GE(row->second, entry.occurrences);
    ++checked;
  }
  EXPECT_GE(content.runs.size(), acknowledged.runs.load());
  EXPECT_GT(checked, 50U);
  EXPECT_GT(kills, 20U);
  std::printf("%lu acknowledged reports of %zu runs, %lu kills\n", static_cast<unsigned long>(checked),
              content.runs.size(), static_cast<unsigned long>(kills));
  munmap(shared, sizeof(Acknowledged));
}

INSTANTIATE_TEST_SUITE_P(Both, KilledWritersTest, testing::Values(Backend::kSqlite, Backend::kPostgres),
                         name_of_backend);

}  // namespace
}  // namespace deadheat
