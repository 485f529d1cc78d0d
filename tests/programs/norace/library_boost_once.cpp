// SPDX-License-Identifier: Apache-2.0
// boost::call_once, also with an initialiser that throws at first.
// needs: /usr/include/boost/thread/once.hpp
// levels: -O2 (what the library does is the same)
// libraries: -lboost_thread -lboost_system -lboost_chrono -lboost_atomic
#include <boost/thread/once.hpp>
#include <cstdlib>

#include "turns.h"

boost::once_flag flag = BOOST_ONCE_INIT;
int attempts;
int value;

namespace {

void initialise() {
  if (++attempts == 1) throw 1;
  value = 7;
}

void fail() {
  try {
    boost::call_once(flag, initialise);
    std::abort();
  } catch (int) {
  }
}

void succeed() {
  boost::call_once(flag, initialise);
  if (value != 7) std::abort();
}

void find_it_done() {
  boost::call_once(flag, initialise);
  if (value != 7 || attempts != 2) std::abort();
}

}  // namespace

int main() {
  in_turn_3(fail, succeed, find_it_done);
  return 0;
}
