// SPDX-License-Identifier: Apache-2.0
// Functions of the C library that touch memory of the caller, in the ways that few do.
#define _GNU_SOURCE
#include "turns.h"

#include <execinfo.h>
#include <fcntl.h>
#include <monetary.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

char words[16] = "one two three";
static void cut(void) { use((long)strtok(words, " ")); }  // race: cut
static void join(void) { words[3] = '-'; }                // race: cut

char name[32] = "/tmp/deadheat-XXXXXX";
static void make(void) {
  int file = mkstemp(name);  // race: name
  if (file < 0) abort();
  close(file);
}
static void remove_it(void) {
  char copy[sizeof name];
  int index;
  for (index = 0; index < (int)sizeof name; index++) copy[index] = name[index];  // race: name
  unlink(copy);
}

char path[16] = "/dev/null";
static void open_it(void) { close(open(path, O_RDONLY)); }  // race: path
static void other_path(void) { path[5] = 'N'; }             // race: path

void* entries[8];
static void walk(void) { use(backtrace(entries, 8)); }  // race: walk
static void look(void) { use((long)entries[0]); }       // race: walk

char sum[32];
static void format_sum(void) { use(strfmon(sum, sizeof sum, "%n", 12.5)); }  // race: sum
static void read_sum(void) { use(sum[0]); }                                  // race: sum

struct itimerspec left;
int timer;
static void ask_timer(void) { use(timerfd_gettime(timer, &left)); }  // race: timer
static void read_timer(void) { use(left.it_value.tv_sec); }          // race: timer

static void first(void) {
  cut();
  make();
  open_it();
  walk();
  format_sum();
  ask_timer();
}

static void second(void) {
  join();
  remove_it();
  other_path();
  look();
  read_sum();
  read_timer();
}

int main(void) {
  timer = timerfd_create(CLOCK_MONOTONIC, 0);
  in_turn(first, second);
  return 0;
}
