// SPDX-License-Identifier: Apache-2.0
// One function writes to six variables: six races, whatever kind of memory they are in.
// findings: 6
#include <stdlib.h>

#include "turns.h"

int hits;
int errors;
struct {
  int opened;
  int closed;
} both;
int* first_block;
int* second_block;

// Bodies differ, so that g++ leaves them two functions.
int* reserve_first() { return static_cast<int*>(malloc(4)); }
int* reserve_second() { return static_cast<int*>(calloc(1, 8)); }

__attribute__((noinline)) void put(int* where, int value) {
  *where = value;  // race
}

void report_hit() { put(&hits, 1); }
void report_error() { put(&errors, 1); }

void put_all() {
  report_hit();
  report_error();
  put(&both.opened, 1);
  put(&both.closed, 1);
  put(first_block, 1);
  put(second_block, 1);
}

void put_all_again() {
  put(second_block, 2);
  put(first_block, 2);
  put(&both.closed, 2);
  put(&both.opened, 2);
  put(&errors, 2);
  put(&hits, 2);
}

int* volatile kept_first;
int* volatile kept_second;

void allocate_one() { kept_first = reserve_first(); }
void allocate_other() { kept_second = reserve_second(); }

int main() {
  allocate_one();
  allocate_other();
  first_block = kept_first;
  second_block = kept_second;
  in_turn(put_all, put_all_again);
}
