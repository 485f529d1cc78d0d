// SPDX-License-Identifier: Apache-2.0
// One statement of a random program: which object, in which form.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace deadheat::random_programs {

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : random_(seed) {}

  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint32_t>(limit)); }
  bool one_in(int count) { return below(count) == 0; }
  template <class Container>
  const auto& pick(const Container& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }

 private:
  std::mt19937 random_;
};

enum class Shape : std::uint8_t {
  kScalar,
  kVector,
  kArray,
  kPoints,
  kStruct,
  kPacked,
  kUnion,
  kFields,
  kBytes,
  kHeap,
  kLargeHeap,
};

struct Object {
  Shape shape = Shape::kScalar;
  std::string type;  // of the object, or of its elements
  std::string name;
  int count = 1;   // elements
  int guard = -1;  // the mutex that most uses hold; none: -1
  bool is_freed = false;
};

// The things that the statement may use besides its object.
struct Surroundings {
  std::vector<const Object*> others;  // whose uses are allowed here, too
  bool may_use_avx2 = false;
};

// One line, without its end.
[[nodiscard]] std::string statement(Dice& dice, const Object& object, const Surroundings& around);

}  // namespace deadheat::random_programs
