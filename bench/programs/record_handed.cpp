// SPDX-License-Identifier: Apache-2.0
// Locks and descriptors that are handed from thread to thread in all the ways there are, for recording:
// record_handed WAY ROUNDS [racy]. Without a race, or, as a twin of each, with one on `bare`.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Item {
  std::array<long, 64> values{};
};

Item items[8];
Item bare;
int rounds = 0;
bool is_racy = false;

long work_on(Item& item, long seed) {
  for (long& value : item.values) value += seed++;
  return item.values[static_cast<std::size_t>(seed) % 64];
}

// Outside of every lock.
void idle(long seed) {
  static thread_local Item own;
  work_on(own, seed);
}

// After the last of them: nothing that a thread has released orders this with the others'.
void race() {
  for (int at = 0; is_racy && at < 100'000; ++at) work_on(bare, at);
}

template <class Work>
void in_threads(int count, const Work& work) {
  pthread_barrier_t start;
  pthread_barrier_init(&start, nullptr, static_cast<unsigned>(count));
  std::vector<std::thread> threads;
  for (int self = 0; self < count; ++self) {
    threads.emplace_back([&work, &start, self] {
      pthread_barrier_wait(&start);
      work(self);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

unsigned next_random(unsigned& state) {
  state = state * 1664525 + 1013904223;
  return state >> 16U;
}

pthread_mutex_t make_mutex(int type, int robust = PTHREAD_MUTEX_STALLED, int protocol = PTHREAD_PRIO_NONE,
                           int shared = PTHREAD_PROCESS_PRIVATE) {
  pthread_mutexattr_t how;
  pthread_mutexattr_init(&how);
  pthread_mutexattr_settype(&how, type);
  pthread_mutexattr_setrobust(&how, robust);
  pthread_mutexattr_setprotocol(&how, protocol);
  pthread_mutexattr_setpshared(&how, shared);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &how);
  return mutex;
}

void lock_somehow(pthread_mutex_t* mutex, unsigned choice) {
  timespec until{};
  switch (choice % 4) {
    case 0:
      while (pthread_mutex_trylock(mutex) != 0) sched_yield();
      return;
    case 1:
      clock_gettime(CLOCK_REALTIME, &until);
      until.tv_sec += 100;
      pthread_mutex_timedlock(mutex, &until);
      return;
    default:
      pthread_mutex_lock(mutex);
  }
}

// Four threads, eight locks: one or two at a time, the same again and again or another, with an item for each lock.
void with_mutexes(pthread_mutex_t (&mutexes)[8], bool are_recursive) {
  in_threads(4, [&](int self) {
    unsigned random = static_cast<unsigned>(self) + 1;
    for (int at = 0; at < rounds; ++at) {
      const unsigned first = next_random(random) % 7;
      const unsigned second = first + 1 + next_random(random) % (7 - first);
      const bool has_two = next_random(random) % 3 == 0;
      for (unsigned again = next_random(random) % 4 + 1; again != 0; --again) {
        lock_somehow(&mutexes[first], next_random(random));
        if (has_two) lock_somehow(&mutexes[second], next_random(random));
        if (are_recursive) pthread_mutex_lock(&mutexes[first]), pthread_mutex_unlock(&mutexes[first]);
        work_on(items[first], at);
        if (has_two) work_on(items[second], at);
        // In any order.
        if (has_two && again % 2 == 0) pthread_mutex_unlock(&mutexes[second]);
        pthread_mutex_unlock(&mutexes[first]);
        if (has_two && again % 2 != 0) pthread_mutex_unlock(&mutexes[second]);
      }
      idle(at);
    }
    race();
  });
}

void with_kind(const pthread_mutex_t& kind, bool is_recursive) {
  pthread_mutex_t mutexes[8];
  for (pthread_mutex_t& mutex : mutexes) mutex = kind;
  with_mutexes(mutexes, is_recursive);
}

// One item goes round: each thread has a lock with the next, and knows of all others only through its neighbours.
void with_chain() {
  constexpr int kThreads = 4;
  static pthread_mutex_t mutexes[kThreads];
  static pthread_cond_t changed[kThreads];
  static bool is_turn[kThreads] = {true};
  in_threads(kThreads, [&](int self) {
    const int next = (self + 1) % kThreads;
    for (int at = 0; at < rounds; ++at) {
      pthread_mutex_lock(&mutexes[self]);
      while (!is_turn[self]) pthread_cond_wait(&changed[self], &mutexes[self]);
      is_turn[self] = false;
      pthread_mutex_unlock(&mutexes[self]);
      work_on(items[0], at);
      pthread_mutex_lock(&mutexes[next]);
      is_turn[next] = true;
      pthread_cond_signal(&changed[next]);
      pthread_mutex_unlock(&mutexes[next]);
      idle(at);
    }
    race();
  });
}

// A wait that is cancelled has its mutex again, and nobody says so.
void with_cancelled() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
  const auto clean_up = [](void*) {
    for (int at = 0; at < 3000; ++at) work_on(items[0], at);
    pthread_mutex_unlock(&mutex);
  };
  const auto wait = [](void* clean) -> void* {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(reinterpret_cast<void (*)(void*)>(clean), nullptr);
    for (;;) pthread_cond_wait(&never, &mutex);
    pthread_cleanup_pop(0);
    return nullptr;
  };
  for (int at = 0; at < rounds; ++at) {
    pthread_t threads[2];
    for (pthread_t& thread : threads) {
      pthread_create(&thread, nullptr, wait, reinterpret_cast<void*>(+clean_up));
    }
    pthread_mutex_lock(&mutex);
    work_on(items[0], at);
    pthread_mutex_unlock(&mutex);
    for (const pthread_t thread : threads) pthread_cancel(thread);
    for (int again = 0; again < 10; ++again) {
      pthread_mutex_lock(&mutex);
      for (int more = 0; more < 1000; ++more) work_on(items[0], again);
      pthread_mutex_unlock(&mutex);
    }
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  }
  in_threads(2, [](int) { race(); });
}

// Who unlocks is not who locked: a mutex as a semaphore.
void with_foreign() {
  static pthread_mutex_t full = PTHREAD_MUTEX_INITIALIZER;
  static pthread_mutex_t empty = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&full);
  in_threads(2, [&](int self) {
    for (int at = 0; at < rounds; ++at) {
      pthread_mutex_lock(self == 0 ? &empty : &full);
      work_on(items[0], at);
      pthread_mutex_unlock(self == 0 ? &full : &empty);
      idle(at);
    }
    race();
  });
}

// Unlocks that are refused, while another thread holds the mutex.
void with_refused() {
  static pthread_mutex_t mutex = make_mutex(PTHREAD_MUTEX_ERRORCHECK);
  in_threads(3, [&](int self) {
    for (int at = 0; at < rounds; ++at) {
      if (self == 2) {
        pthread_mutex_unlock(&mutex);
        idle(at);
        continue;
      }
      pthread_mutex_lock(&mutex);
      work_on(items[0], at);
      pthread_mutex_unlock(&mutex);
    }
    race();
  });
}

// What is refused releases nothing: the holder's next steps are not ordered after what the other did before it. Nobody
// here waits for anybody by a call that is logged.
void with_misused() {
  static pthread_mutex_t mutex = make_mutex(PTHREAD_MUTEX_ERRORCHECK);
  in_threads(2, [&](int self) {
    if (self == 0) {
      race();
      pthread_mutex_unlock(&mutex);
      return;
    }
    pthread_mutex_lock(&mutex);
    const timespec until_the_other_is_done{0, 300'000'000};
    nanosleep(&until_the_other_is_done, nullptr);
    pthread_mutex_unlock(&mutex);
    race();
  });
}

// Mutexes that live as long as a round, where others were before.
void with_renewed() {
  struct Guarded {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    Item item;
  };
  for (int at = 0; at < rounds; ++at) {
    auto* const guarded = new Guarded;
    if (at % 2 != 0) pthread_mutex_init(&guarded->mutex, nullptr);
    in_threads(2, [&](int self) {
      for (int again = 0; again < 20; ++again) {
        pthread_mutex_lock(&guarded->mutex);
        work_on(guarded->item, self);
        pthread_mutex_unlock(&guarded->mutex);
      }
      idle(at);
    });
    if (at % 3 == 0) pthread_mutex_destroy(&guarded->mutex);
    delete guarded;
  }
  in_threads(2, [](int) { race(); });
}

void with_c11() {
  static mtx_t mutex;
  mtx_init(&mutex, mtx_plain);
  in_threads(3, [&](int self) {
    for (int at = 0; at < rounds; ++at) {
      mtx_lock(&mutex);
      work_on(items[0], self);
      mtx_unlock(&mutex);
      idle(at);
    }
    race();
  });
}

void must(bool is_so) {
  if (!is_so) std::abort();
}

// A descriptor for the same that has the number of a stream which ordered nothing and is closed.
int in_place_of_stream(int descriptor) {
  std::FILE* stream = std::fopen("/dev/null", "w");
  must(stream != nullptr);
  const int number = fileno(stream);
  must(write(number, "", 1) == 1);
  must(std::fclose(stream) == 0);
  must(fcntl(descriptor, F_DUPFD, 0) == number);
  return number;
}

// A token goes round through pipes, into each of which one thread writes; into the first one a second did, early.
enum class Numbers { kNew, kOfStreams };
void with_pipes(int threads, Numbers numbers = Numbers::kNew) {
  static std::array<int[2], 16> pipes;
  for (int at = 0; at < threads; ++at) {
    auto& ends = pipes[static_cast<std::size_t>(at)];
    must(pipe(ends) == 0);
    if (numbers == Numbers::kOfStreams) ends[0] = in_place_of_stream(ends[0]);
  }
  char token = 1;
  must(write(pipes[0][1], &token, 1) == 1);
  in_threads(threads, [&](int self) {
    const int from = pipes[static_cast<std::size_t>(self)][0];
    const int to = pipes[static_cast<std::size_t>((self + 1) % threads)][1];
    char byte = 0;
    for (int at = 0; at < rounds; ++at) {
      must(read(from, &byte, 1) == 1);
      work_on(items[0], at);
      must(write(to, &byte, 1) == 1);
      idle(at);
    }
    race();
  });
}

// One pipe, everybody writes and everybody reads: who has the token may work.
void with_one_pipe() {
  static int ends[2];
  must(pipe(ends) == 0);
  char token = 1;
  must(write(ends[1], &token, 1) == 1);
  in_threads(3, [&](int self) {
    char byte = 0;
    for (int at = 0; at < rounds; ++at) {
      must(read(ends[0], &byte, 1) == 1);
      work_on(items[0], self);
      must(write(ends[1], &byte, 1) == 1);
      idle(at);
    }
    race();
  });
}

// Who alone wrote until then, and reads its own, is the first that reads what another thread writes for the first time.
void with_first_write() {
  static int own[2];
  static int shared[2];
  must(pipe(own) == 0 && pipe(shared) == 0);
  in_threads(2, [&](int self) {
    char byte = 0;
    if (self == 0) {
      must(write(own[1], &byte, 1) == 1 && read(own[0], &byte, 1) == 1);
      must(read(shared[0], &byte, 1) == 1);
    }
    for (int at = 0; at < rounds; ++at) work_on(items[0], at);
    if (self == 1) must(write(shared[1], &byte, 1) == 1);
    race();
  });
}

// A pipe in each round, into which two threads write and from which the third reads: what both did before.
void with_new_pipes() {
  static int ends[2];
  pthread_barrier_t step;
  pthread_barrier_init(&step, nullptr, 3);
  in_threads(3, [&](int self) {
    char bytes[2] = {};
    for (int at = 0; at < rounds; ++at) {
      if (self == 0) must(pipe(ends) == 0);
      pthread_barrier_wait(&step);
      for (int again = 0; self != 2 && again < 3000; ++again) work_on(items[self], at);
      if (self != 2) must(write(ends[1], bytes, 1) == 1);
      for (int again = 0; self == 2 && again < 20000; ++again) idle(again);  // until both have written
      for (int left = 2; self == 2 && left != 0; --left) must(read(ends[0], bytes, 1) == 1);
      for (int again = 0; self == 2 && again < 3000; ++again) work_on(items[0], at), work_on(items[1], at);
      pthread_barrier_wait(&step);
      if (self == 0) close(ends[0]), close(ends[1]);
    }
    race();
  });
}

// Who waits is told by epoll alone and reads nothing. `early` more threads write once before all others, and no more.
void with_waits(int threads, int early = 0) {
  static std::array<int, 16> events;
  static std::array<int, 16> waits;
  for (std::size_t self = 0; self < static_cast<std::size_t>(threads); ++self) {
    events[self] = eventfd(self == 0 ? 1 : 0, EFD_NONBLOCK);
    waits[self] = epoll_create1(0);
    epoll_event wanted{};
    wanted.events = EPOLLIN | EPOLLET;
    must(epoll_ctl(waits[self], EPOLL_CTL_ADD, events[self], &wanted) == 0);
  }
  pthread_barrier_t early_wrote;
  pthread_barrier_init(&early_wrote, nullptr, static_cast<unsigned>(threads + early));
  in_threads(threads + early, [&](int self) {
    if (self >= threads) eventfd_write(eventfd(0, EFD_NONBLOCK), 1);
    pthread_barrier_wait(&early_wrote);
    const auto next = static_cast<std::size_t>((self + 1) % threads);
    for (int at = 0; at < rounds && self < threads; ++at) {
      epoll_event event{};
      must(epoll_wait(waits[static_cast<std::size_t>(self)], &event, 1, -1) == 1);
      work_on(items[0], at);
      eventfd_write(events[next], 1);
      idle(at);
    }
    race();
  });
}

int alarm_ends[2];
std::array<Item, 4096> told;  // each by the handler, once
std::size_t telling = 0;      // the handler's alone

// The handler writes in the midst of whatever its thread does, also of its own writes.
void with_handler() {
  static int other_ends[2];
  must(pipe(alarm_ends) == 0 && pipe(other_ends) == 0);
  struct sigaction action{};
  action.sa_handler = [](int) {
    Item& item = told[telling++ % told.size()];
    for (int at = 0; at < 50; ++at) work_on(item, 1);
    char byte = 2;
    must(write(alarm_ends[1], &byte, 1) == 1);
  };
  sigaction(SIGUSR1, &action, nullptr);
  static bool is_over = false;
  static pthread_mutex_t over = PTHREAD_MUTEX_INITIALIZER;
  rounds = std::min(rounds, static_cast<int>(told.size()));
  const auto ends_now = [] {
    pthread_mutex_lock(&over);
    const bool value = is_over;
    pthread_mutex_unlock(&over);
    return value;
  };
  std::thread writer([&] {
    char byte = 1;
    char taken = 0;
    while (!ends_now()) {
      must(write(other_ends[1], &byte, 1) == 1 && read(other_ends[0], &taken, 1) == 1);
    }
    race();
  });
  const pthread_t target = writer.native_handle();
  char byte = 0;
  for (int at = 0; at < rounds; ++at) {
    pthread_kill(target, SIGUSR1);
    must(read(alarm_ends[0], &byte, 1) == 1);
    Item& item = told[static_cast<std::size_t>(at) % told.size()];
    for (int again = 0; again < 50; ++again) work_on(item, at);
    pthread_mutex_lock(&over);
    is_over = at + 1 == rounds;
    pthread_mutex_unlock(&over);
  }
  race();
  writer.join();
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  const std::string way = words[1];
  rounds = std::atoi(words[2]);
  is_racy = count > 3;
  if (way == "normal") with_kind(make_mutex(PTHREAD_MUTEX_NORMAL), false);
  if (way == "adaptive") with_kind(make_mutex(PTHREAD_MUTEX_ADAPTIVE_NP), false);
  if (way == "recursive") with_kind(make_mutex(PTHREAD_MUTEX_RECURSIVE), true);
  if (way == "checked") with_kind(make_mutex(PTHREAD_MUTEX_ERRORCHECK), false);
  if (way == "robust") with_kind(make_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST), false);
  if (way == "inherit") {
    with_kind(make_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT), false);
  }
  if (way == "shared") {
    with_kind(make_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED),
              false);
  }
  if (way == "chain") with_chain();
  if (way == "cancelled") with_cancelled();
  if (way == "foreign") with_foreign();
  if (way == "refused") with_refused();
  if (way == "misused") with_misused();
  if (way == "renewed") with_renewed();
  if (way == "c11") with_c11();
  if (way == "pipes") with_pipes(3);
  if (way == "stream-pipes") with_pipes(3, Numbers::kOfStreams);
  if (way == "many-pipes") with_pipes(12);  // more writers than have places of their own
  if (way == "one-pipe") with_one_pipe();
  if (way == "first-write") with_first_write();
  if (way == "new-pipes") with_new_pipes();
  if (way == "waits") with_waits(4);
  if (way == "many-waits") with_waits(12);    // more than have places of their own
  if (way == "late-waits") with_waits(3, 8);  // none of the three has one
  if (way == "handler") with_handler();
  return 0;
}
