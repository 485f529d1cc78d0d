// SPDX-License-Identifier: Apache-2.0
// A program with functions of its own that have names of the library's: they are the program's, and run.
// flags: -fno-builtin -w
#include "../support/order.h"

int getline(void);
int error(int);
int login(int);
int warn(void);
int glob(int);
int insque(void);
int drand48(void);
int dirname(int);

int getline(void) { return 1; }
int error(int value) { return value + 1; }
int login(int value) { return value * 2; }
int warn(void) { return 3; }
int glob(int value) { return value - 1; }
int insque(void) { return 5; }
int drand48(void) { return 7; }
int dirname(int value) { return -value; }

int main(void) {
  return !(getline() == 1 && error(1) == 2 && login(4) == 8 && warn() == 3 && glob(2) == 1 && insque() == 5 &&
           drand48() == 7 && dirname(2) == -2);
}
