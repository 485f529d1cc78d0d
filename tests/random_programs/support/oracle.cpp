// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace {

constexpr int kThreads = 8;
using Clock = std::vector<long>;
using Pair = std::pair<int, int>;

struct Record {
  int thread;
  long time;  // of its thread
  int line;
  bool writes;
  bool is_atomic;
  bool is_certain;

  bool operator==(const Record&) const = default;
};

struct Byte {
  std::vector<Record> history;
  int first_racing_step = -1;
  std::set<Pair> demand;
  bool is_checked_late = false;
  bool is_doubtful = false;  // a race that the compiler's choice decides came before any certain one
};

struct Oracle {
  std::vector<Clock> threads = std::vector<Clock>(kThreads, Clock(kThreads, 0));
  std::map<void*, Clock> released;
  std::map<void*, Clock> released_by_readers;
  std::map<std::uintptr_t, Byte> bytes;
  std::set<Pair> pairs;
  int thread = 0;
  int step = -1;

  Oracle() {
    for (int at = 0; at < kThreads; ++at) threads[at][at] = 1;
  }
  ~Oracle() { write(); }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  void write() const {
    const char* const path = std::getenv("RANDOM_PROGRAM_RACES");
    std::FILE* const file = path != nullptr ? std::fopen(path, "w") : nullptr;
    if (file == nullptr) std::abort();
    for (const auto& [one, other] : pairs) std::fprintf(file, "pair %d %d\n", one, other);
    std::set<std::set<Pair>> demands;
    for (const auto& [address, byte] : bytes) {
      if (!byte.demand.empty()) demands.insert(byte.demand);
    }
    for (const std::set<Pair>& demand : demands) {
      std::fprintf(file, "demand");
      for (const auto& [one, other] : demand) std::fprintf(file, " %d %d", one, other);
      std::fprintf(file, "\n");
    }
    std::fprintf(file, "end\n");
    std::fclose(file);
  }
};

Oracle oracle;

void join(Clock& into, const Clock& from) {
  if (from.empty()) return;
  if (into.empty()) into.resize(kThreads, 0);
  for (int at = 0; at < kThreads; ++at) into[at] = std::max(into[at], from[at]);
}

Clock& now() { return oracle.threads[oracle.thread]; }
void tick() { ++now()[oracle.thread]; }

Pair pair_of(int one, int other) { return {std::min(one, other), std::max(one, other)}; }

void note(Byte& byte, const Record& access) {
  for (const Record& earlier : byte.history) {
    if (earlier.thread == access.thread || earlier.time <= now()[earlier.thread]) continue;
    if (!earlier.writes && !access.writes) continue;
    if (earlier.is_atomic && access.is_atomic) continue;
    const Pair pair = pair_of(earlier.line, access.line);
    oracle.pairs.insert(pair);
    if (!earlier.is_certain || !access.is_certain) {
      // Perhaps this is the first race of the byte, after which a detector need not report others.
      byte.is_doubtful = true;
      // One that this step is certain to have may be told as the other.
      if (byte.first_racing_step == oracle.step) byte.demand.clear();
      continue;
    }
    if (byte.is_doubtful) continue;
    if (byte.first_racing_step < 0) byte.first_racing_step = oracle.step;
    if (byte.first_racing_step == oracle.step || byte.is_checked_late) byte.demand.insert(pair);
  }
  if (std::find(byte.history.begin(), byte.history.end(), access) == byte.history.end()) byte.history.push_back(access);
}

void note_range(int line, bool writes, bool is_atomic, void* certain, size_t certain_size, void* possible,
                size_t possible_size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(possible);
  const auto sure = reinterpret_cast<std::uintptr_t>(certain);
  for (std::uintptr_t at = begin; at < begin + possible_size; ++at) {
    const bool is_certain = at >= sure && at < sure + certain_size;
    note(oracle.bytes[at], {oracle.thread, now()[oracle.thread], line, writes, is_atomic, is_certain});
  }
}

}  // namespace

void oracle_begin(int thread, int step) {
  oracle.thread = thread;
  oracle.step = step;
}

void oracle_access(int line, int writes, void* certain, size_t certain_size, void* possible, size_t possible_size) {
  note_range(line, writes != 0, false, certain, certain_size, possible, possible_size);
}

void oracle_atomic(int line, int writes, void* object, size_t size) {
  note_range(line, writes != 0, true, object, size, object, size);
}

void oracle_checked_late(void* begin, size_t size) {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  for (std::uintptr_t at = first; at < first + size; ++at) oracle.bytes[at].is_checked_late = true;
}

void oracle_acquire(void* object) { join(now(), oracle.released[object]); }

void oracle_release(void* object) {
  oracle.released[object] = now();
  tick();
}

void oracle_release_also(void* object) {
  join(oracle.released[object], now());
  tick();
}

void oracle_acquire_read(void* lock) { oracle_acquire(lock); }

void oracle_acquire_write(void* lock) {
  oracle_acquire(lock);
  join(now(), oracle.released_by_readers[lock]);
}

void oracle_release_read(void* lock) {
  join(oracle.released_by_readers[lock], now());
  tick();
}

void oracle_release_write(void* lock) { oracle_release(lock); }
