// SPDX-License-Identifier: Apache-2.0
// The destructor writes before the memory goes back; a reader knows of neither.
#include "turns.h"

struct Node {
  int value = 1;
  ~Node() { __atomic_store_n(&value, 0, __ATOMIC_RELAXED); }  // race: destructor
};

Node* node;

static void first() { use(node->value); }  // race: destructor free?

static void second() {
  delete node;  // race: free?
}

int main() {
  node = new Node;
  in_turn(first, second);
}
