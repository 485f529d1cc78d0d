// SPDX-License-Identifier: Apache-2.0
// replay_bugs BUG: twelve data races after the kinds of bugs that ProRace's Table 2 has, each between two
// threads that mostly do something else. They differ in how the racy address is made: relative to
// the instruction, from a register that the thread keeps, or from a pointer that it loads first.
#include <pthread.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

extern "C" {
// Named so that the steps of a run tell of them.
__attribute__((noinline)) void lock_it(pthread_mutex_t* mutex) {
  pthread_mutex_lock(mutex);
  __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void unlock_it(pthread_mutex_t* mutex) {
  pthread_mutex_unlock(mutex);
  __asm__ volatile("" ::: "memory");
}
}

namespace {

pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
std::array<std::uint64_t, 64> table;  // under table_lock

struct Cell {
  std::uint64_t value = 0;
  Cell* next = nullptr;
};

// What a thread has for itself.
struct Own {
  std::array<Cell, 64> cells;
  std::array<std::uint8_t, 256> bytes{};
  std::uint32_t state = 0;
};

// Pointers and bytes: what a server does between two log lines.
__attribute__((noinline)) std::uint64_t other_work(Own* own, int rounds) {
  std::uint64_t sum = 0;
  for (int round = 0; round < rounds; ++round) {
    own->state = own->state * 1664525 + 1013904223;
    const Cell* cell = &own->cells[own->state >> 26];
    for (int step = 0; step < 12; ++step) {
      sum += cell->value;
      cell = cell->next;
    }
    for (std::size_t at = 0; at < 40; ++at) {
      own->bytes[at] = static_cast<std::uint8_t>(own->bytes[at + 1] ^ static_cast<std::uint8_t>(sum));
    }
    own->cells[own->state >> 26].value += sum & 7;
  }
  return sum;
}

__attribute__((noinline)) void count_it(std::uint64_t sum) {
  lock_it(&table_lock);
  table[sum & 63] += 1;
  unlock_it(&table_lock);
}

struct LogBuffer {
  std::array<char, 4096> text{};
  std::uint32_t used = 0;
};
struct Pool {
  std::uint32_t idle = 0;
  std::uint32_t total = 8;
};
struct Counted {
  std::uint32_t count = 1000;
  std::uint32_t data = 0;
};
struct Request {
  Counted* body = nullptr;
  const char* state = nullptr;
};
struct File {
  std::uint64_t position = 0;
};
struct Log {
  File* file = nullptr;
};
struct Session {
  Request* request = nullptr;
  Log* log = nullptr;
};
struct Queue {
  std::uint64_t* slots = nullptr;
  std::uint32_t size = 16;
};

LogBuffer shared_log;
LogBuffer shared_time;
Pool shared_pool;
Counted shared_counted;
Request shared_request;
File shared_file;
Log shared_binary_log;
Session shared_session;
std::array<std::uint64_t, 16> shared_slots;
Queue shared_queue;

// Relative to the instruction.
std::uint32_t output_done = 0;
std::uint32_t active_workers = 4;
std::uint64_t bytes_written = 0;

// Where the compiler may not see through: a pointer that comes from elsewhere.
template <class T>
T* opaque(T* pointer) {
  __asm__ volatile("" : "+r"(pointer));
  return pointer;
}

using Racy = void (*)(Own*, int);
constexpr int kRounds = 30;

// Each bug is one function, run by both threads: other work, then the racy access.
template <class Access>
void repeat(Own* own, int thread, Access access) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t sum = other_work(own, 5);
    // Early, so that it orders nothing of what follows.
    if (round == 0) count_it(sum);
    access(thread, round);
  }
}

void bug_log(Own* own, int number) {
  LogBuffer* log = opaque(&shared_log);
  repeat(own, number, [log](int thread, int round) {
    log->text[log->used & 4095] = static_cast<char>('a' + thread + round);
    log->used += 1;
  });
}
void bug_pool(Own* own, int number) {
  Pool* pool = opaque(&shared_pool);
  repeat(own, number, [pool](int /*thread*/, int /*round*/) {
    if (pool->idle < pool->total) pool->idle += 1;
  });
}
void bug_buffer(Own* own, int number) {
  LogBuffer* log = opaque(&shared_log);
  repeat(own, number, [log](int thread, int /*round*/) {
    for (int letter = 0; letter < 8; ++letter) log->text[(log->used + 8) & 4095] = static_cast<char>(letter + thread);
    log->used += 8;
  });
}
void bug_time(Own* own, int number) {
  LogBuffer* when = opaque(&shared_time);
  repeat(own, number, [when](int thread, int round) { std::memset(when->text.data(), thread + round, 16); });
}
void bug_refcount(Own* own, int number) {
  Session* session = opaque(&shared_session);
  repeat(own, number, [session](int /*thread*/, int /*round*/) { session->request->body->count -= 1; });
}
void bug_state(Own* own, int number) {
  Session* session = opaque(&shared_session);
  repeat(own, number, [session](int thread, int round) {
    if (round == 7) session->request->state = thread == 0 ? nullptr : "busy";
  });
}
void bug_cache(Own* own, int number) {
  Request** head = opaque(&shared_session.request);
  repeat(own, number,
         [head](int thread, int round) { (*head)->body->data = static_cast<std::uint32_t>(thread + round); });
}
void bug_binlog(Own* own, int number) {
  Session* session = opaque(&shared_session);
  repeat(own, number, [session](int /*thread*/, int round) {
    if (round % 3 == 0) session->log->file->position += 100;
  });
}
void bug_queue(Own* own, int number) {
  Queue* queue = opaque(&shared_queue);
  repeat(own, number, [queue](int thread, int round) {
    if (round == 11) queue->slots[3] = static_cast<std::uint64_t>(thread);
  });
}
void bug_progress(Own* own, int number) {
  repeat(own, number, [](int /*thread*/, int /*round*/) { output_done = output_done + 1; });
}
void bug_workers(Own* own, int number) {
  repeat(own, number, [](int /*thread*/, int round) {
    if (round == 9) active_workers = active_workers - 1;
  });
}
void bug_written(Own* own, int number) {
  repeat(own, number, [](int /*thread*/, int /*round*/) { bytes_written = bytes_written + 512; });
}

struct Bug {
  std::string_view name;
  Racy run;
};
constexpr Bug kBugs[] = {{"refcount", bug_refcount}, {"log", bug_log},         {"pool", bug_pool},
                         {"state", bug_state},       {"cache", bug_cache},     {"binlog", bug_binlog},
                         {"buffer", bug_buffer},     {"time", bug_time},       {"queue", bug_queue},
                         {"progress", bug_progress}, {"workers", bug_workers}, {"written", bug_written}};

const Bug* chosen = nullptr;
std::array<Own, 2> owns;
pthread_barrier_t start_line;

}  // namespace

// Two, because a function that is being entered by one thread can be missed for another (src/record/stepper.h).
extern "C" {
__attribute__((noinline)) void first_racing_thread() { chosen->run(&owns[0], 0); }
__attribute__((noinline)) void second_racing_thread() { chosen->run(&owns[1], 1); }
}

namespace {

void* thread_main(void* argument) {
  const auto number = static_cast<int>(reinterpret_cast<std::uintptr_t>(argument));
  pthread_barrier_wait(&start_line);
  number == 0 ? first_racing_thread() : second_racing_thread();
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  for (const Bug& bug : kBugs) {
    if (count > 1 && bug.name == arguments[1]) chosen = &bug;
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "usage: replay_bugs BUG\n");
    return 2;
  }
  shared_request.body = &shared_counted;
  shared_session = {&shared_request, &shared_binary_log};
  shared_binary_log.file = &shared_file;
  shared_queue.slots = shared_slots.data();
  for (Own& own : owns) {
    own.state = 7;
    for (std::size_t index = 0; index < own.cells.size(); ++index) {
      own.cells[index].value = index;
      own.cells[index].next = &own.cells[(index * 13 + 5) % own.cells.size()];
    }
  }
  pthread_barrier_init(&start_line, nullptr, 2);
  std::array<pthread_t, 2> threads{};
  for (std::uintptr_t index = 0; index < 2; ++index) {
    pthread_create(&threads[index], nullptr, thread_main, reinterpret_cast<void*>(index));
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return 0;
}
