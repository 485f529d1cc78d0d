// SPDX-License-Identifier: Apache-2.0
// Small programs in one file whose slowdown under a race detector is worth
// knowing; script/bench builds them natively, with the compilers' own TSan and
// with Deadheat, and compares. docs/benchmarks.md says how to read the result.
//
//   kernels NAME [PERCENT]   run one, with PERCENT of its usual repetitions
//   kernels --list           the names, one per line
//
// The first nine stress one kind of event each, the rest look like what programs
// with threads do. Every repetition takes a mutex once (the last two use
// atomics that release), so that a new epoch begins: a detector must not answer all accesses from the epoch of the
// first repetition. All are free of races; each prints a checksum that depends on nothing but NAME and PERCENT, so that
// wrong results and optimised-away loops are seen. The usual repetitions take 30 ms or more natively.
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness.h"

namespace deadheat::bench {
namespace {

// Begins a new epoch, and hides from the compiler what becomes of the memory, so
// that no repetition is merged with the next.
template <typename Data>
void end_repetition(Data& data) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> hold(mutex);
  asm volatile("" : : "r"(&data) : "memory");
}

std::uint64_t sweep_three_arrays(int repetitions, std::size_t elements) {
  std::vector<double> a(elements);
  std::vector<double> b(elements, 1.0);
  std::vector<double> c(elements, 2.0);
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t at = 0; at < elements; ++at) a[at] = b[at] + 3.0 * c[at];
    end_repetition(a[0]);
  }
  return static_cast<std::uint64_t>(a[elements / 2]);
}

// 3 x 128 KiB: in the second-level cache.
std::uint64_t stream(int repetitions) { return sweep_three_arrays(repetitions, std::size_t{1} << 14); }

// 3 x 16 MiB: in no cache.
std::uint64_t stream_big(int repetitions) { return sweep_three_arrays(repetitions, std::size_t{1} << 21); }

// Single bytes read in order, counters of 4 bytes changed at random.
std::uint64_t histogram(int repetitions) {
  std::vector<std::uint8_t> bytes(std::size_t{1} << 20);
  Random random;
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
  std::vector<std::uint32_t> counts(256);
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (const std::uint8_t byte : bytes) ++counts[byte];
    end_repetition(counts[0]);
  }
  return counts[7];
}

// A list whose order is unrelated to the order in memory.
std::uint64_t list(int repetitions) {
  struct Node {
    Node* next = nullptr;
    std::uint64_t value = 0;
  };
  constexpr std::size_t kNodes = std::size_t{1} << 15;
  std::vector<Node> nodes(kNodes);
  std::vector<std::size_t> order(kNodes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random;
  for (std::size_t at = kNodes - 1; at > 0; --at) std::swap(order[at], order[random.next() % at]);
  for (std::size_t at = 0; at < kNodes; ++at) nodes[order[at]] = {&nodes[order[(at + 1) % kNodes]], at};
  std::uint64_t sum = 0;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const Node* node = nodes.data();
    for (std::size_t step = 0; step < kNodes; ++step) {
      sum += node->value;
      node = node->next;
    }
    end_repetition(nodes[0]);
  }
  return sum;
}

// A hash table with chains; its entries come and go by new and delete.
std::uint64_t hash(int repetitions) {
  struct Entry {
    Entry* next = nullptr;
    std::uint32_t key = 0;
    std::uint32_t uses = 0;
  };
  constexpr std::size_t kBuckets = std::size_t{1} << 12;
  std::vector<Entry*> buckets(kBuckets);
  std::uint64_t sum = 0;
  Random random;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (int step = 0; step < 20000; ++step) {
      const std::uint32_t key = random.next() % (2 * kBuckets);
      Entry** at = &buckets[key % kBuckets];
      while (*at != nullptr && (*at)->key != key) at = &(*at)->next;
      if (*at == nullptr) {
        *at = new Entry{nullptr, key, 1};
      } else if (++(*at)->uses == 4) {
        Entry* gone = *at;
        sum += gone->key;
        *at = gone->next;
        delete gone;
      }
    }
    end_repetition(buckets[0]);
  }
  for (Entry* entry : buckets) {
    while (entry != nullptr) delete std::exchange(entry, entry->next);
  }
  return sum;
}

constexpr std::size_t kSide = 256;

// Multiplication of square matrices, all rows consecutive: the inner loop runs along rows.
std::uint64_t matrix_ikj(int repetitions) {
  std::vector<double> a(kSide * kSide, 1.0);
  std::vector<double> b(kSide * kSide, 2.0);
  std::vector<double> c(kSide * kSide);
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t i = 0; i < kSide; ++i) {
      for (std::size_t k = 0; k < kSide; ++k) {
        for (std::size_t j = 0; j < kSide; ++j) c[i * kSide + j] += a[i * kSide + k] * b[k * kSide + j];
      }
    }
    end_repetition(c[0]);
  }
  return static_cast<std::uint64_t>(c[kSide]);
}

// The same in the order of the textbook: the inner loop runs down a column.
std::uint64_t matrix_ijk(int repetitions) {
  std::vector<double> a(kSide * kSide, 1.0);
  std::vector<double> b(kSide * kSide, 2.0);
  std::vector<double> c(kSide * kSide);
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t i = 0; i < kSide; ++i) {
      for (std::size_t j = 0; j < kSide; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < kSide; ++k) sum += a[i * kSide + k] * b[k * kSide + j];
        c[i * kSide + j] += sum;
      }
    }
    end_repetition(c[0]);
  }
  return static_cast<std::uint64_t>(c[kSide]);
}

[[gnu::noinline]] std::uint64_t fibonacci(std::uint64_t n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

// Calls and next to no memory: what the hooks at function entry and exit cost.
std::uint64_t calls(int repetitions) {
  std::uint64_t sum = 0;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    std::uint64_t n = 22;
    asm volatile("" : "+r"(n));  // or clang computes it once
    sum += fibonacci(n);
    end_repetition(sum);
  }
  return sum;
}

// Two threads fight for one mutex and touch one variable.
std::uint64_t ping_pong(int repetitions) {
  std::mutex mutex;
  std::uint64_t shared = 0;
  in_two_threads([&](std::size_t) {
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      const std::lock_guard<std::mutex> hold(mutex);
      ++shared;
    }
  });
  return shared;
}

// Two threads read all of one array, which nobody writes any more.
std::uint64_t reduction(int repetitions) {
  std::vector<std::uint64_t> numbers(std::size_t{1} << 17);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{1});
  std::array<std::uint64_t, 2> results{};
  std::mutex mutex;
  in_two_threads([&](std::size_t self) {
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      std::uint64_t result = 0;
      for (const std::uint64_t number : numbers) result += self == 0 ? number : number ^ (number >> 3);
      const std::lock_guard<std::mutex> hold(mutex);
      results[self] += result;
    }
  });
  return results[0] ^ results[1];
}

// Heap blocks wander through a queue: filled and queued by one thread, read and freed by the other.
std::uint64_t queue(int repetitions) {
  using Block = std::array<std::uint32_t, 128>;
  constexpr std::size_t kCapacity = 64;
  std::array<std::unique_ptr<Block>, kCapacity> ring;
  std::size_t queued = 0;
  std::mutex mutex;
  std::condition_variable not_empty;
  std::condition_variable not_full;
  std::thread producer([&] {
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      auto block = std::make_unique<Block>();
      for (std::uint32_t& word : *block) word = static_cast<std::uint32_t>(repetition);
      std::unique_lock<std::mutex> hold(mutex);
      not_full.wait(hold, [&] { return queued < kCapacity; });
      ring[static_cast<std::size_t>(repetition) % kCapacity] = std::move(block);
      if (++queued == 1) not_empty.notify_one();
    }
  });
  std::uint64_t sum = 0;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    std::unique_lock<std::mutex> hold(mutex);
    not_empty.wait(hold, [&] { return queued > 0; });
    const auto block = std::move(ring[static_cast<std::size_t>(repetition) % kCapacity]);
    if (--queued == kCapacity - 1) not_full.notify_one();
    hold.unlock();
    for (const std::uint32_t word : *block) sum += word;
  }
  producer.join();
  return sum;
}

using Words = std::vector<std::uint32_t>;

void merge_runs(const Words& from, Words& to, std::size_t begin, std::size_t middle, std::size_t end) {
  std::size_t left = begin;
  std::size_t right = middle;
  for (std::size_t at = begin; at < end; ++at) {
    const bool from_left = left < middle && (right == end || from[left] <= from[right]);
    to[at] = from_left ? from[left++] : from[right++];
  }
}

// Sorts [begin, end) of `words`; `spare` holds the same numbers on entry.
void merge_sort(Words& words, Words& spare, std::size_t begin, std::size_t end) {
  if (end - begin < 2) return;
  const std::size_t middle = begin + (end - begin) / 2;
  merge_sort(spare, words, begin, middle);
  merge_sort(spare, words, middle, end);
  merge_runs(spare, words, begin, middle, end);
}

// Halves sorted by two new threads each time, merged by the one that waits for them.
std::uint64_t parallel_sort(int repetitions) {
  constexpr std::size_t kWords = std::size_t{1} << 15;
  Random random;
  Words input(kWords);
  for (std::uint32_t& word : input) word = random.next();
  std::uint64_t sum = 0;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    Words words = input;
    Words spare = input;
    in_two_threads([&](std::size_t self) { merge_sort(spare, words, self * kWords / 2, (self + 1) * kWords / 2); });
    merge_runs(spare, words, 0, kWords / 2, kWords);
    sum += words[static_cast<std::size_t>(repetition) % kWords];
    end_repetition(words[0]);
  }
  return sum;
}

// Each thread counts words in an ordered map of its own, then adds them to the common one.
std::uint64_t text(int repetitions) {
  std::map<std::string, std::uint64_t> counts;
  std::mutex mutex;
  in_two_threads([&](std::size_t) {
    Random random;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      std::map<std::string, std::uint64_t> own;
      for (int step = 0; step < 1000; ++step) {
        std::string word = "a word of more than a few letters: ";
        word += std::to_string(random.next() % 300);
        ++own[word];
      }
      const std::lock_guard<std::mutex> hold(mutex);
      for (const auto& [word, count] : own) counts[word] += count;
    }
  });
  std::uint64_t sum = 0;
  for (const auto& [word, count] : counts) sum += word.size() * count;
  return sum;
}

// A table of strings under a lock of many readers; one access of 32 is a writer's.
std::uint64_t shared_table(int repetitions) {
  std::unordered_map<std::string, std::uint64_t> table;
  std::shared_mutex mutex;
  in_two_threads([&](std::size_t) {
    Random random;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      const std::string key = "key " + std::to_string(random.next() % 4096);
      if (repetition % 32 == 0) {
        const std::lock_guard<std::shared_mutex> hold(mutex);
        ++table[key];
      } else {
        const std::shared_lock<std::shared_mutex> hold(mutex);
        if (const auto found = table.find(key); found != table.end() && found->second == 0) std::abort();
      }
    }
  });
  std::uint64_t sum = 0;
  for (const auto& [key, count] : table) sum += key.size() * count;
  return sum;
}

// Counters changed by both threads, relaxed and ordered, and a compare-and-swap loop.
std::uint64_t atomics(int repetitions) {
  std::atomic<std::uint64_t> tickets = 0;
  std::atomic<std::uint32_t> events = 0;
  std::atomic<std::uint64_t> highest = 0;
  in_two_threads([&](std::size_t) {
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      const std::uint64_t ticket = tickets.fetch_add(1, std::memory_order_acq_rel);
      events.fetch_add(1, std::memory_order_relaxed);
      std::uint64_t seen = highest.load(std::memory_order_acquire);
      while (seen < ticket && !highest.compare_exchange_weak(seen, ticket, std::memory_order_acq_rel)) continue;
    }
  });
  return tickets.load() + events.load() + highest.load();
}

// A lock of one atomic flag around a few plain accesses. Who has spun for long
// gives its turn away, or the time would be that of the system's scheduler.
std::uint64_t spin_flag(int repetitions) {
  std::atomic<bool> taken = false;
  std::array<std::uint64_t, 8> shared{};
  in_two_threads([&](std::size_t) {
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      for (int spins = 1; taken.exchange(true, std::memory_order_acquire); ++spins) {
        while (taken.load(std::memory_order_relaxed)) {
          if (++spins % 64 == 0) std::this_thread::yield();
        }
      }
      for (std::uint64_t& number : shared) ++number;
      taken.store(false, std::memory_order_release);
    }
  });
  return std::accumulate(shared.begin(), shared.end(), std::uint64_t{0});
}

constexpr Program kKernels[] = {
    {"stream", stream, 8000},
    {"stream-big", stream_big, 6},
    {"histogram", histogram, 70},
    {"list", list, 300},
    {"hash", hash, 150},
    {"matrix-ikj", matrix_ikj, 8},
    {"matrix-ijk", matrix_ijk, 3},
    {"calls", calls, 800},
    {"ping-pong", ping_pong, 2000000},
    {"reduction", reduction, 500},
    {"queue", queue, 150000},
    {"parallel-sort", parallel_sort, 15},
    {"text", text, 100},
    {"shared-table", shared_table, 200000},
    {"atomics", atomics, 2500000},
    {"spin-flag", spin_flag, 4000000},
};

}  // namespace
}  // namespace deadheat::bench

int main(int argc, char** argv) { return deadheat::bench::run_program(deadheat::bench::kKernels, argc, argv); }
