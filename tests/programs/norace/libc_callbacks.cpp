// SPDX-License-Identifier: Apache-2.0
// A function that the library calls back may leave by an exception, or call the library again.
#include "../support/turns.h"

#include <search.h>
#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace {

int throws(const void*, const void*) { throw std::runtime_error("no order"); }
int compares(const void* left, const void* right) {
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}
int sorts_again(const void* left, const void* right) {
  int own[] = {3, 1, 2};
  qsort(own, 3, sizeof(int), compares);
  size_t count = 3;
  int buffer[4] = {1, 2, 3, 0};
  int wanted = 4;
  lsearch(&wanted, buffer, &count, sizeof(int), compares);
  return own[0] == 1 && count == 4 ? compares(left, right) : 0;
}

int wrong;

void work(int number) {
  int own[8];
  for (int i = 0; i < 8; ++i) own[i] = (number + 8 - i) % 8;
  bool thrown = false;
  try {
    qsort(own, 8, sizeof(int), throws);
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  qsort(own, 8, sizeof(int), sorts_again);
  if (!thrown || !std::is_sorted(own, own + 8)) order_add(&wrong, 1);
}

}  // namespace

int main() {
  at_once(3, work);
  return order_load(&wrong);
}
