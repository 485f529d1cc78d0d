// SPDX-License-Identifier: Apache-2.0
// Numbers go round through two pipes, with blocking reads; on their way each thread counts
// them under a lock. The order of the output is that of the pipes.
#include <unistd.h>
#include <cstdio>
#include <mutex>

#include "../hidden/hidden.h"

int there[2];
int back[2];
std::mutex mutex;
long seen;

[[gnu::noinline]] void note(int number) {
  const std::lock_guard guard(mutex);
  seen += number;
}

void give(int to, int number) {
  if (write(to, &number, sizeof number) != sizeof number) std::perror("write");
}

int take(int from) {
  int number = -1;
  if (read(from, &number, sizeof number) != sizeof number) std::perror("read");
  return number;
}

void ask() {
  for (int number = 1; number <= 10; ++number) {
    note(number);
    give(there[1], number);
    std::printf("%d squared is %d\n", number, take(back[0]));
  }
}

void answer() {
  for (int times = 0; times < 10; ++times) {
    const int number = take(there[0]);
    note(number);
    give(back[1], number * number);
  }
}

int main() {
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  run_together(ask, answer);
  std::printf("seen %ld\n", seen);
}
