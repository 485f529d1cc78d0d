// SPDX-License-Identifier: Apache-2.0
// Locks of files that belong to open file descriptions, each thread with its own.
#include "turns.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

char path[64];
int flocked;
int tried;
int ranged;
int overlapping;
int until_close;
int shared_readers;

static int open_file(void) {
  const int file = open(path, O_RDWR);
  if (file < 0) abort();
  return file;
}

static void lock_range(int file, int type, long begin, long size) {
  struct flock range = {0};
  range.l_type = (short)type;
  range.l_whence = SEEK_SET;
  range.l_start = begin;
  range.l_len = size;
  while (fcntl(file, F_OFD_SETLKW, &range) != 0) abort();
}

static void body(int index) {
  const int file = open_file();
  int i;
  for (i = 0; i < 20; i++) {
    if (flock(file, LOCK_EX) != 0) abort();
    flocked++;
    flock(file, LOCK_UN);
    while (flock(file, LOCK_EX | LOCK_NB) != 0) sched_yield();
    tried++;
    flock(file, LOCK_UN);
    lock_range(file, F_WRLCK, 10, 1);
    ranged++;
    lock_range(file, F_UNLCK, 10, 1);
    lock_range(file, F_WRLCK, index == 0 ? 20 : 25, 10);
    overlapping++;
    lock_range(file, F_UNLCK, 0, 0);
    flock(file, i % 4 == 0 ? LOCK_EX : LOCK_SH);
    if (i % 4 == 0) {
      shared_readers++;
    } else {
      use(shared_readers);
    }
    flock(file, LOCK_UN);
  }
  close(file);
  for (i = 0; i < 5; i++) {
    const int once = open_file();
    const int copy = dup(once);
    if (flock(once, LOCK_EX) != 0) abort();
    close(once);
    until_close++;
    close(copy);
  }
}

int main(void) {
  snprintf(path, sizeof path, "/tmp/deadheat-locks-%d", (int)getpid());
  close(open(path, O_CREAT | O_RDWR, 0600));
  at_once(2, body);
  unlink(path);
  return flocked == 40 && tried == 40 && ranged == 40 && overlapping == 40 && until_close == 10 ? 0 : 1;
}
