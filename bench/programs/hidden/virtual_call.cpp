// SPDX-License-Identifier: Apache-2.0
// The lock belongs to a base class, which takes it and calls what the derived class
// overrides. The race is on a member of the derived class that it uses without the lock as
// well.
#include <memory>
#include <mutex>

#include "hidden.h"

class Device {
 public:
  virtual ~Device() = default;
  virtual void open() = 0;
  virtual void close() = 0;

 protected:
  void transfer() {
    const std::lock_guard guard(mutex_);
    move_block();
  }
  virtual void move_block() = 0;

 private:
  std::mutex mutex_;
};

class Disk : public Device {
 public:
  void open() override {
    state_ = 1;  // race virtual_call
    late_if_reversed();
    transfer();
  }
  void close() override {
    usually_late();
    transfer();
    state_ = 0;  // race virtual_call
  }

 private:
  void move_block() override { ++blocks_; }

  int state_ = 0;
  int blocks_ = 0;
};

int main() {
  const std::unique_ptr<Device> device = std::make_unique<Disk>();
  run_together([&device] { device->open(); }, [&device] { device->close(); });
}
