// SPDX-License-Identifier: Apache-2.0
// The same name, another address: each turn of the loop has a node of its own, and
// the one that races is the second.
#include "turns.h"

struct Node {
  struct Node* next;
  long value;
};
struct Node nodes[3];

static void first(void) {
  struct Node* node = nodes;
  do {
    node->value++;  // race
    node = node->next;
  } while (node != NULL);
}

static void second(void) { nodes[1].value = 7; }  // race

int main(void) {
  nodes[0].next = &nodes[1];
  nodes[1].next = &nodes[2];
  in_turn(first, second);
  return 0;
}
