// SPDX-License-Identifier: Apache-2.0
// Blocks come from a pool with a lock, one block is used by both threads in turn. The
// high-water mark of the pool's users is kept outside of the lock.
#include <mutex>
#include <vector>

#include "hidden.h"

struct Block {
  int content[8] = {};
};

class Pool {
 public:
  Pool() : free_(4) {
    for (Block*& block : free_) block = new Block;
  }
  ~Pool() {
    for (Block* block : free_) delete block;
  }
  Block* take() {
    const std::lock_guard guard(mutex_);
    Block* const block = free_.back();
    free_.pop_back();
    return block;
  }
  void give_back(Block* block) {
    const std::lock_guard guard(mutex_);
    free_.push_back(block);
  }

 private:
  std::mutex mutex_;
  std::vector<Block*> free_;
};

Pool pool;
int most_used;

void allocate_first() {
  Block* const block = pool.take();
  block->content[0] = 1;
  most_used = 1;  // race memory_pool
  late_if_reversed();
  pool.give_back(block);
}

void allocate_later() {
  usually_late();
  late_if_reversed(2);  // the other has had the lock once
  Block* const block = pool.take();
  block->content[0] = 2;
  most_used = 2;  // race memory_pool
  pool.give_back(block);
}

int main() { run_together(allocate_first, allocate_later); }
