// SPDX-License-Identifier: Apache-2.0
// A program to be watched: `watched_program WHAT`. Each runs until the test writes something to its standard
// input or closes it (the ones that race and those that must not), or has a fixed amount of
// work and prints a result that does not depend on being watched.
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "watch_agent/watched_sites.h"

extern "C" const KnownSite kSitesBegin[] __asm__("__start_watched_sites");
extern "C" const KnownSite kSitesEnd[] __asm__("__stop_watched_sites");
extern "C" const char kProgramBegin[] __asm__("__ehdr_start");
extern char** environ;

namespace {

using Address = std::uintptr_t;

int print_sites() {
  for (const KnownSite* site = kSitesBegin; site < kSitesEnd; ++site) {
    const Address code = reinterpret_cast<Address>(&site->begin) + static_cast<Address>(Address{0} + site->begin);
    std::printf("%lu %u %u %u %u %u\n", code - reinterpret_cast<Address>(kProgramBegin), site->name, site->length,
                site->base, site->flags, *reinterpret_cast<const unsigned char*>(code));
  }
  return 0;
}

std::atomic<bool> stop{false};

void wait_for_the_end() {
  pollfd input{0, POLLIN, 0};
  while (poll(&input, 1, -1) < 0) {
  }
  stop.store(true, std::memory_order_relaxed);
}

template <class Function>
struct Thread {
  explicit Thread(Function& function) { pthread_create(&handle, nullptr, run, &function); }
  ~Thread() { pthread_join(handle, nullptr); }
  static void* run(void* function) {
    (*static_cast<Function*>(function))();
    return nullptr;
  }
  pthread_t handle;
};

void spend_time(int amount) {
  for (int at = 0; at < amount; ++at) __asm__ volatile("");
}

__attribute__((noinline)) int load_racy(const int* from) {
  int value = 0;
  DEADHEAT_WATCHED_LOAD(value, from, 1, 1);
  return value;
}
__attribute__((noinline)) void store_racy(int* to, int value) { DEADHEAT_WATCHED_STORE(value, to, 2, 2); }

int race() {
  static int shared = 0;
  auto read = [] {
    while (!stop.load(std::memory_order_relaxed)) {
      load_racy(&shared);
      spend_time(2000);
    }
  };
  auto write = [] {
    for (int round = 0; !stop.load(std::memory_order_relaxed); ++round) {
      store_racy(&shared, round);
      spend_time(2000);
    }
  };
  {
    Thread reader(read);
    Thread writer(write);
    wait_for_the_end();
  }
  std::puts("raced");
  return 0;
}

// What looks plain is a load of an atomic variable that another thread adds to.
__attribute__((noinline)) void add_atomically(int* counter) { DEADHEAT_WATCHED_ADD(counter, 9, 7); }

int atomic_counter() {
  static int counter = 0;
  auto read = [] {
    while (!stop.load(std::memory_order_relaxed)) {
      load_racy(&counter);
      spend_time(2000);
    }
  };
  auto add = [] {
    while (!stop.load(std::memory_order_relaxed)) {
      add_atomically(&counter);
      spend_time(2000);
    }
  };
  {
    Thread reader(read);
    Thread adder(add);
    wait_for_the_end();
  }
  std::puts("counted");
  return 0;
}

__attribute__((noinline)) void add_locked(int* counter) {
  int value = 0;
  DEADHEAT_WATCHED_LOAD(value, counter, 3, 1);
  DEADHEAT_WATCHED_STORE(value + 1, counter, 4, 2);
}

int locked() {
  static int counter = 0;
  static std::atomic<int> rounds{0};
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  auto work = [] {
    while (!stop.load(std::memory_order_relaxed)) {
      pthread_mutex_lock(&mutex);
      add_locked(&counter);
      pthread_mutex_unlock(&mutex);
      rounds.fetch_add(1, std::memory_order_relaxed);
      spend_time(500);
    }
  };
  {
    Thread one(work);
    Thread other(work);
    wait_for_the_end();
  }
  std::puts(counter == rounds.load(std::memory_order_relaxed) ? "exact" : "lost updates");
  return 0;
}

// Two threads hand a plain variable to each other by a flag that is stored with release and
// loaded with acquire: on x86 both are plain instructions.
__attribute__((noinline)) int load_flag(const int* flag) {
  int value = 0;
  DEADHEAT_WATCHED_LOAD(value, flag, 5, 5);
  return value;
}
__attribute__((noinline)) void store_flag(int* flag, int value) { DEADHEAT_WATCHED_STORE(value, flag, 6, 6); }
__attribute__((noinline)) void add_passed(int* data) {
  int value = 0;
  DEADHEAT_WATCHED_LOAD(value, data, 7, 1);
  DEADHEAT_WATCHED_STORE(value + 1, data, 8, 2);
}

int ping_pong() {
  static int flag = 0;
  static int data = 0;
  static int rounds[2] = {};
  const auto play = [](int side) {
    while (!stop.load(std::memory_order_relaxed)) {
      if (load_flag(&flag) != side) continue;
      for (int times = 0; times < 8; ++times) add_passed(&data);
      rounds[side] += 8;
      spend_time(200);
      store_flag(&flag, 1 - side);
    }
  };
  auto ping = [play] { play(0); };
  auto pong = [play] { play(1); };
  {
    Thread one(ping);
    Thread other(pong);
    wait_for_the_end();
  }
  std::puts(data == rounds[0] + rounds[1] ? "exact" : "lost updates");
  return 0;
}

// Many instructions that many threads execute all the time.
constexpr int kHotSites = 64;
template <int kNumber>
__attribute__((noinline)) void hot(unsigned* cell) {
  unsigned value = 0;
  DEADHEAT_WATCHED_LOAD(value, cell, 0, 1);
  value = value * 1664525U + 1013904223U + kNumber;
  DEADHEAT_WATCHED_STORE(value, cell, 0, 2);
}
template <int... kNumbers>
void run_hot(unsigned* cells, std::integer_sequence<int, kNumbers...> /*numbers*/) {
  (hot<kNumbers>(cells + kNumbers), ...);
}

int many(int rounds) {
  static unsigned cells[8][kHotSites];
  static int wanted;
  wanted = rounds;
  static std::atomic<int> next{0};
  auto work = [] {
    unsigned* const own = cells[next.fetch_add(1, std::memory_order_relaxed)];
    for (int round = 0; round < wanted; ++round) {
      run_hot(own, std::make_integer_sequence<int, kHotSites>());
      if (round % 1000 == 999) sched_yield();
    }
  };
  {
    Thread a(work), b(work), c(work), d(work), e(work), f(work), g(work), h(work);
  }
  unsigned long sum = 0;
  for (auto& row : cells) {
    for (const unsigned cell : row) sum = sum * 31 + cell;
  }
  std::printf("%lx\n", sum);
  return 0;
}

// Keeps two threads busy with sites while it does something else.
template <class Function>
void while_busy(Function function) {
  auto work = [] {
    static unsigned cells[kHotSites];
    while (!stop.load(std::memory_order_relaxed)) run_hot(cells, std::make_integer_sequence<int, kHotSites>());
  };
  Thread one(work);
  Thread other(work);
  function();
  stop.store(true, std::memory_order_relaxed);
}

unsigned run_in_child() {
  unsigned cells[kHotSites] = {};
  for (int round = 0; round < 2000; ++round) run_hot(cells, std::make_integer_sequence<int, kHotSites>());
  return cells[kHotSites - 1] % 100;
}

template <class Fork>
int fork_children(Fork make_child) {
  while_busy([make_child] {
    const unsigned expected = run_in_child();
    for (int times = 0; times < 40; ++times) {
      const pid_t child = make_child();
      if (child == 0) _exit(static_cast<int>(run_in_child()));
      int status = 0;
      waitpid(child, &status, 0);
      if (!WIFEXITED(status) || static_cast<unsigned>(WEXITSTATUS(status)) != expected) {
        std::printf("child %d: status %x\n", times, status);
      }
    }
  });
  std::puts("forked");
  return 0;
}

int churn() {
  for (int times = 0; times < 100; ++times) {
    auto work = [] { run_in_child(); };
    Thread a(work), b(work), c(work), d(work), e(work), f(work), g(work), h(work);
  }
  std::puts("churned");
  return 0;
}

int spawn_children() {
  while_busy([] {
    for (int times = 0; times < 40; ++times) {
      const char* arguments[] = {"/bin/true", nullptr};
      pid_t child = 0;
      if (posix_spawn(&child, "/bin/true", nullptr, nullptr, const_cast<char**>(arguments), environ) != 0) continue;
      int status = 0;
      waitpid(child, &status, 0);
      if (status != 0) std::printf("spawned %d: status %x\n", times, status);
    }
    for (int times = 0; times < 40; ++times) {
      const pid_t child = vfork();
      if (child == 0) {
        run_in_child();
        execl("/bin/true", "true", nullptr);
        _exit(1);
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (status != 0) std::printf("vforked %d: status %x\n", times, status);
    }
  });
  std::puts("spawned");
  return 0;
}

volatile sig_atomic_t traps_seen = 0;

int own_traps() {
  while_busy([] {
    struct sigaction action = {};
    action.sa_handler = [](int) { traps_seen = traps_seen + 1; };
    sigaction(SIGTRAP, &action, nullptr);
    for (int times = 0; times < 100; ++times) {
      __asm__ volatile("int3");
      raise(SIGTRAP);
      run_in_child();
    }
    struct sigaction old = {};
    sigaction(SIGTRAP, nullptr, &old);
    std::puts(old.sa_handler == action.sa_handler ? "own handler" : "foreign handler");
  });
  std::printf("%d traps\n", static_cast<int>(traps_seen));
  return 0;
}

int blocked_signals() {
  sigset_t all;
  sigfillset(&all);
  sigset_t seen;
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  while_busy([&] {
    struct sigaction action = {};
    action.sa_handler = [](int) { traps_seen = traps_seen + 1; };
    sigaction(SIGTRAP, &action, nullptr);
    for (int times = 0; times < 100; ++times) run_in_child();
    pthread_sigmask(SIG_SETMASK, nullptr, &seen);
    std::puts(sigismember(&seen, SIGTRAP) == 1 ? "blocked" : "not blocked");
    raise(SIGTRAP);
    std::printf("%d traps while blocked\n", static_cast<int>(traps_seen));
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_UNBLOCK, &trap, nullptr);
    std::printf("%d traps\n", static_cast<int>(traps_seen));
    pthread_sigmask(SIG_SETMASK, nullptr, &seen);
    std::puts(sigismember(&seen, SIGTRAP) == 1 ? "blocked" : "not blocked");
    // Handlers whose mask has everything.
    action.sa_handler = [](int) { run_in_child(); };
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, nullptr);
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    for (int times = 0; times < 100; ++times) raise(SIGUSR1);
  });
  return 0;
}

int count_descriptors() {
  DIR* const folder = opendir("/proc/self/fd");
  int count = 0;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

// The lowest free descriptor is the program's own affair.
int own_descriptors() {
  int wrong = 0;
  while_busy([&] {
    const int before = count_descriptors();
    for (int times = 0; times < 20000; ++times) {
      close(0);
      if (open("/dev/null", O_RDONLY) != 0) ++wrong;
      if (times % 500 == 0 && count_descriptors() != before) ++wrong;
    }
  });
  std::printf("%d wrong\n", wrong);
  return 0;
}

// More threads at once than are ever watched.
int crowd() {
  constexpr int kThreads = 300;
  static pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, kThreads);
  const auto work = [](void*) -> void* {
    run_in_child();
    pthread_barrier_wait(&barrier);
    run_in_child();
    return nullptr;
  };
  pthread_t threads[kThreads];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, work, nullptr);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  std::puts("crowded");
  return 0;
}

int become_another() {
  while_busy([] {
    for (int times = 0; times < 100; ++times) run_in_child();
    execl("/bin/echo", "echo", "another", nullptr);
  });
  return 1;
}

// Does what the agent does, and what those who take it out do: nothing of that is permitted from then on.
template <class SetFilter>
void confine_itself(SetFilter set_filter) {
  static sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  static const sock_fprog program = {sizeof code / sizeof code[0], code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  set_filter(&program);
  std::puts(prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER ? "confined" : "free");
}

template <class SetFilter>
int confine(SetFilter set_filter) {
  while_busy([set_filter] {
    for (int times = 0; times < 100; ++times) run_in_child();
    confine_itself(set_filter);
    for (int times = 0; times < 500; ++times) run_in_child();
  });
  return 0;
}

void set_filter_for_all(const sock_fprog* program) {
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program);
}
void set_filter_by_prctl(const sock_fprog* program) { prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program); }
void set_filter_by_number(const sock_fprog* program) {
  syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0);
}

// After half a second, so that somebody can come before.
int confine_late() {
  while_busy([] {
    const timespec half{0, 500'000'000};
    nanosleep(&half, nullptr);
    confine_itself(set_filter_for_all);
    wait_for_the_end();
  });
  return 0;
}

// Threads that wait in the system, each in its own way, until the end.
int sleepers() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  static int pipe_ends[2];
  static int woken = 0;
  if (pipe(pipe_ends) != 0) return 1;
  auto wait_for_condition = [] {
    pthread_mutex_lock(&mutex);
    while (!stop.load(std::memory_order_relaxed)) pthread_cond_wait(&condition, &mutex);
    ++woken;
    pthread_mutex_unlock(&mutex);
  };
  auto wait_for_pipe = [] {
    char byte = 0;
    const bool is_read = read(pipe_ends[0], &byte, 1) == 1 && byte == 'x';
    pthread_mutex_lock(&mutex);
    woken += is_read ? 1 : 0;
    pthread_mutex_unlock(&mutex);
  };
  auto sleep_in_pieces = [] {
    int interrupted = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      const timespec time{0, 200'000'000};
      if (nanosleep(&time, nullptr) != 0) ++interrupted;
    }
    pthread_mutex_lock(&mutex);
    woken += interrupted == 0 ? 1 : 0;
    pthread_mutex_unlock(&mutex);
  };
  {
    Thread one(wait_for_condition);
    Thread two(wait_for_pipe);
    Thread three(sleep_in_pieces);
    wait_for_the_end();
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    if (write(pipe_ends[1], "x", 1) != 1) return 1;
  }
  std::printf("%d woken\n", woken);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const char* const what = count > 1 ? arguments[1] : "";
  if (std::strcmp(what, "sites") == 0) return print_sites();
  if (std::strcmp(what, "race") == 0) return race();
  if (std::strcmp(what, "atomic") == 0) return atomic_counter();
  if (std::strcmp(what, "locked") == 0) return locked();
  if (std::strcmp(what, "ping-pong") == 0) return ping_pong();
  if (std::strcmp(what, "many") == 0) return many(count > 2 ? std::atoi(arguments[2]) : 20000);
  if (std::strcmp(what, "fork") == 0) return fork_children(fork);
  if (std::strcmp(what, "bare-fork") == 0) {
    return fork_children([] { return static_cast<pid_t>(syscall(SYS_fork)); });
  }
  if (std::strcmp(what, "churn") == 0) return churn();
  if (std::strcmp(what, "spawn") == 0) return spawn_children();
  if (std::strcmp(what, "own-traps") == 0) return own_traps();
  if (std::strcmp(what, "blocked") == 0) return blocked_signals();
  if (std::strcmp(what, "descriptors") == 0) return own_descriptors();
  if (std::strcmp(what, "crowd") == 0) return crowd();
  if (std::strcmp(what, "exec") == 0) return become_another();
  if (std::strcmp(what, "confine") == 0) return confine(set_filter_for_all);
  if (std::strcmp(what, "confine-by-prctl") == 0) return confine(set_filter_by_prctl);
  if (std::strcmp(what, "confine-by-number") == 0) return confine(set_filter_by_number);
  if (std::strcmp(what, "confine-late") == 0) return confine_late();
  if (std::strcmp(what, "sleepers") == 0) return sleepers();
  return 2;
}
