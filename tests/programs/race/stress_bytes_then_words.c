// SPDX-License-Identifier: Apache-2.0
// Eight threads write a byte each of the same words at once. A reader of whole
// words races with all eight; a writer with these and the reader, and leaves
// nothing but itself; so the last reader is reported with the writer alone. (With sampling
// the last reader has been seen with the writers of bytes: E, which is a race, too.)
// tsan: misses most (four cells per word)
// occurrences: 18000
#include "turns.h"

enum { kWords = 1000 };

long words[kWords];
int arrived;

static void write_bytes(int index) {
  order_meet(&arrived, 8);
  for (int i = 0; i < kWords; i++) ((char*)&words[i])[index] = 1;  // race: A B E?
  order_meet(&arrived, 16);
  if (index == 0) order_reach(1);
  order_await(4);
}

static void* read_words(void* argument) {
  (void)argument;
  order_await(1);
  for (int i = 0; i < kWords; i++) use(words[i]);  // race: A C
  order_reach(2);
  order_await(4);
  return NULL;
}

static void* write_words(void* argument) {
  (void)argument;
  order_await(2);
  for (int i = 0; i < kWords; i++) words[i] = i;  // race: B C D
  order_reach(3);
  order_await(4);
  return NULL;
}

static void* read_again(void* argument) {
  (void)argument;
  order_await(3);
  for (int i = 0; i < kWords; i++) use(words[i] + 1);  // race: D E?
  order_reach(4);
  return NULL;
}

int main(void) {
  pthread_t others[3];
  pthread_create(&others[0], NULL, read_words, NULL);
  pthread_create(&others[1], NULL, write_words, NULL);
  pthread_create(&others[2], NULL, read_again, NULL);
  at_once(8, write_bytes);
  for (int i = 0; i < 3; i++) pthread_join(others[i], NULL);
  return 0;
}
