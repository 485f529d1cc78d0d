// SPDX-License-Identifier: Apache-2.0
// System calls by number: what they read and fill.
#include "../support/turns.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static char read_into[8], written[8] = "written", read_at[8], path[] = "/dev/zero", noise[16], place[4096], scattered[8];
static struct timespec now;
static struct stat about;
static struct utsname names;
static int zero;

static void by_number(void) {
  struct iovec piece = {scattered, 4};
  zero = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR, 0);  // race: path
  syscall(SYS_read, zero, read_into, 8);                       // race: read
  syscall(SYS_pread64, zero, read_at, 8, 0);                   // race: pread
  syscall(SYS_write, zero, written, 8);                        // race: write
  syscall(SYS_readv, zero, &piece, 1);                         // race: readv
  syscall(SYS_getrandom, noise, 16, 0);                        // race: getrandom
  syscall(SYS_getcwd, place, sizeof place);                    // race: getcwd
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);           // race: clock
  syscall(SYS_fstat, zero, &about);                            // race: fstat
  syscall(SYS_uname, &names);                                  // race: uname
}

static void by_hand(void) {
  path[5] = 'Z';          // race: path
  use(read_into[7]);      // race: read
  use(read_at[7]);        // race: pread
  written[7] = 1;         // race: write
  use(scattered[3]);      // race: readv
  use(noise[15]);         // race: getrandom
  use(place[0]);          // race: getcwd
  use((int)now.tv_sec);   // race: clock
  use((int)about.st_ino); // race: fstat
  use(names.sysname[0]);  // race: uname
}

int main(void) {
  in_turn(by_number, by_hand);
  return 0;
}
