// SPDX-License-Identifier: Apache-2.0
// The last owner destroys, whoever it is; weak pointers may ask.
#include <memory>

#include "turns.h"

struct Object {
  int values[4] = {};
  ~Object() {
    for (int& value : values) value = -1;
  }
};

std::shared_ptr<Object> shares[4];
std::weak_ptr<Object> observer;

static void body(int index) {
  std::shared_ptr<Object> mine = std::move(shares[index]);
  mine->values[index] = 1;
  std::weak_ptr<Object> watching = observer;
  mine.reset();
  if (std::shared_ptr<Object> seen = watching.lock()) use(seen.use_count());
}

int main() {
  for (int round = 0; round < 30; round++) {
    auto object = std::make_shared<Object>();
    observer = object;
    for (auto& share : shares) share = object;
    object.reset();
    at_once(4, body);
  }
}
