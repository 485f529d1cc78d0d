// SPDX-License-Identifier: Apache-2.0
// A program that does all the time what is dangerous to be attached to: threads that spawn in every way libc has, with
// masks that they never change; handlers that run with all signals blocked; jumps and contexts that bring masks back;
// threads that come and go. It looks at its own masks, actions and descriptors all the time, and ends with status 1
// when they are not what it has set. Ends with 0 at SIGTERM.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char** environ;

namespace {

volatile int is_over = 0;
long shared_words[512];  // under a lock
thread_local long own_words[64];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_t peers[2];

void fail(const char* what) {
  std::fprintf(stderr, "harmed: %s\n", what);
  std::_Exit(1);
}

[[gnu::noinline]] void touch(long* words) {
  for (int at = 0; at < 64; ++at) words[at] += at;
}

void touch_own() { touch(own_words); }

void work(int number) {
  pthread_mutex_lock(&lock);
  touch(shared_words + number % 8 * 8);
  pthread_mutex_unlock(&lock);
}

// Bits of a mask; those that libc keeps for itself cannot be set.
unsigned long bits_of(const sigset_t& set) {
  unsigned long bits = 0;
  std::memcpy(&bits, &set, sizeof bits);
  return bits;
}

unsigned long wanted_mask(int number) {
  sigset_t set;
  sigemptyset(&set);
  if (number % 3 == 1) sigfillset(&set);
  if (number % 3 == 2) {
    sigaddset(&set, SIGTRAP);
    sigaddset(&set, SIGUSR2);
  }
  // Kinds of threads that are woken by these.
  sigdelset(&set, SIGUSR1);
  return bits_of(set) & ~(1UL << (SIGKILL - 1)) & ~(1UL << (SIGSTOP - 1));
}

void set_mask(unsigned long bits) {
  sigset_t set;
  sigemptyset(&set);
  std::memcpy(&set, &bits, sizeof bits);
  pthread_sigmask(SIG_SETMASK, &set, nullptr);
}

void check_mask(unsigned long wanted, const char* where) {
  sigset_t now;
  sigemptyset(&now);
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  if (bits_of(now) == wanted) return;
  std::fprintf(stderr, "mask %lx instead of %lx\n", bits_of(now), wanted);
  fail(where);
}

// With all signals blocked, in code that is watched.
void on_signal(int /*number*/) { touch_own(); }

void spawn_once(int way) {
  if (way == 0) {
    char* words[] = {const_cast<char*>("true"), nullptr};
    pid_t child = -1;
    if (posix_spawn(&child, "/bin/true", nullptr, nullptr, words, environ) == 0) waitpid(child, nullptr, 0);
  } else if (way == 1) {
    if (std::system("true") != 0) fail("system");
  } else if (way == 2) {
    FILE* const pipe = popen("echo hello", "r");
    char line[16] = {};
    if (pipe == nullptr || std::fgets(line, sizeof line, pipe) == nullptr) fail("popen");
    if (std::strcmp(line, "hello\n") != 0) fail("popen's output");
    pclose(pipe);
  } else {
    const pid_t child = fork();
    if (child == 0) {
      touch_own();
      _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) != 7) fail("fork");
  }
}

void* spawn_all_the_time(void* argument) {
  const int number = static_cast<int>(reinterpret_cast<long>(argument));
  const unsigned long mask = wanted_mask(number);
  set_mask(mask);
  for (int turn = 0; is_over == 0; ++turn) {
    spawn_once((number + turn) % 4);
    check_mask(mask, "mask of a thread that spawns");
    work(number);
  }
  return nullptr;
}

void* short_life(void* argument) {
  const auto mask = reinterpret_cast<unsigned long>(argument);
  check_mask(mask, "mask that a thread has inherited");
  work(3);
  return nullptr;
}

void* create_all_the_time(void* argument) {
  const int number = static_cast<int>(reinterpret_cast<long>(argument));
  const unsigned long mask = wanted_mask(number);
  set_mask(mask);
  while (is_over == 0) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, short_life, reinterpret_cast<void*>(mask)) != 0) fail("pthread_create");
    pthread_join(thread, nullptr);
    check_mask(mask, "mask of a thread that creates threads");
  }
  return nullptr;
}

// SIGUSR1 interrupts it and runs with everything blocked; jumps bring back a mask with SIGTRAP.
void* jump_all_the_time(void* argument) {
  const int number = static_cast<int>(reinterpret_cast<long>(argument));
  const unsigned long mask = wanted_mask(number);
  set_mask(mask);
  sigjmp_buf place;
  volatile int turns = 0;
  sigsetjmp(place, 1);
  while (is_over == 0) {
    check_mask(mask, "mask after a jump");
    work(number);
    for (int turn = 0; turn < 20; ++turn) touch_own();
    turns = turns + 1;
    if (turns % 64 == 0) siglongjmp(place, 1);
  }
  return nullptr;
}

ucontext_t own_context;
ucontext_t other_context;
alignas(64) char other_stack[64 << 10];

void other_side() {
  for (;;) {
    touch_own();
    swapcontext(&other_context, &own_context);
  }
}

void* switch_all_the_time(void* argument) {
  const int number = static_cast<int>(reinterpret_cast<long>(argument));
  const unsigned long mask = wanted_mask(number);
  set_mask(mask);
  getcontext(&other_context);
  other_context.uc_stack.ss_sp = other_stack;
  other_context.uc_stack.ss_size = sizeof other_stack;
  makecontext(&other_context, other_side, 0);
  while (is_over == 0) {
    swapcontext(&own_context, &other_context);
    check_mask(mask, "mask after a switch");
    work(number);
  }
  return nullptr;
}

void* signal_all_the_time(void* /*argument*/) {
  set_mask(wanted_mask(0));
  while (is_over == 0) {
    for (const pthread_t peer : peers) pthread_kill(peer, SIGUSR1);
    pthread_kill(pthread_self(), SIGUSR1);
    raise(SIGUSR1);
    usleep(100);
  }
  return nullptr;
}

void check_actions() {
  struct sigaction action = {};
  sigaction(SIGUSR1, nullptr, &action);
  if (action.sa_handler != on_signal || sigismember(&action.sa_mask, SIGTRAP) != 1) fail("action of SIGUSR1");
  action = {};
  sigaction(SIGTRAP, nullptr, &action);
  if (action.sa_handler != SIG_DFL) fail("action of SIGTRAP");
}

void on_end(int /*number*/) { is_over = 1; }

}  // namespace

int main(int count, char** words) {
  const int most = count > 1 ? std::atoi(words[1]) : 6;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigfillset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  action = {};
  action.sa_handler = on_end;
  sigaction(SIGTERM, &action, nullptr);
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &end, nullptr);  // the main thread alone gets it
  pthread_t threads[64];
  int running = 0;
  const auto start = [&](void* (*function)(void*), long number) {
    if (pthread_create(&threads[running++], nullptr, function, reinterpret_cast<void*>(number)) != 0) fail("no thread");
  };
  start(jump_all_the_time, 1);
  start(jump_all_the_time, 2);
  peers[0] = threads[0];
  peers[1] = threads[1];
  start(switch_all_the_time, 0);
  start(create_all_the_time, 1);
  start(create_all_the_time, 0);
  start(signal_all_the_time, 0);
  for (long number = 0; number < most && running < 64; ++number) start(spawn_all_the_time, number);
  std::puts("ready");
  std::fflush(stdout);
  pthread_sigmask(SIG_UNBLOCK, &end, nullptr);
  while (is_over == 0) {
    usleep(2000);
    check_actions();
  }
  for (int at = 0; at < running; ++at) pthread_join(threads[at], nullptr);
  std::puts("unharmed");
  return 0;
}
