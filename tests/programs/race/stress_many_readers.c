// SPDX-License-Identifier: Apache-2.0
// Eight threads read the same words at once, each in its own way, then one
// writes them: it races with every one of the eight, on every word.
// tsan: misses most (four cells per word)
// occurrences: 16000
#include "turns.h"

enum { kWords = 2000 };

long words[kWords];
int arrived;

static void read_all(int index) {
  order_meet(&arrived, 8);
  for (int i = 0; i < kWords; i++) {
    char* at = (char*)&words[i];
    if (index < 2) use(words[i]);                       // race: A
    if (index == 2) use(*(int*)at);                     // race: A
    if (index == 3) use(*(int*)(at + 4));               // race: A
    if (index == 4) use(*(short*)(at + 2));             // race: A
    if (index > 4) use(*(volatile char*)(at + index));  // race: A
  }
  order_meet(&arrived, 16);
  if (index == 0) order_reach(1);
  order_await(2);
}

static void* write_all(void* argument) {
  (void)argument;
  order_await(1);
  for (int i = 0; i < kWords; i++) words[i] = i;  // race: A
  order_reach(2);
  return NULL;
}

int main(void) {
  pthread_t writer;
  pthread_create(&writer, NULL, write_all, NULL);
  at_once(8, read_all);
  pthread_join(writer, NULL);
  return 0;
}
