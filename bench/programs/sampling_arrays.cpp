// SPDX-License-Identifier: Apache-2.0
// Races of loops over arrays, of which the compiler pass makes one access to a range
// each: what one thread sweeps overlaps with what the other sweeps a chunk later.
#include <cstring>
#include <vector>

#include "sampling_program.h"

namespace {

using namespace deadheat::bench;

using Array = std::vector<double>;

constexpr std::size_t kSwept = 64;          // elements of a sweep
constexpr std::size_t kPitch = 2 * kSwept;  // from one sweep to the next
constexpr std::size_t kShift = kSwept / 2;  // of the sweeps behind
constexpr std::size_t kLong = 4096;         // elements of those that are made once

[[gnu::noinline]] void fill(double* array, double value) {
  for (std::size_t at = 0; at < kSwept; ++at) array[at] = value;  // first of array_fill_fill: often
}
[[gnu::noinline]] void scale(double* array) {
  for (std::size_t at = 0; at < kSwept; ++at) array[at] *= 3;  // second of array_fill_fill
}
[[gnu::noinline]] double sum(const double* array) {
  double total = 0;
  for (std::size_t at = 0; at < kSwept; ++at) total += array[at];  // first of array_read_write: often
  return total;
}
[[gnu::noinline]] void clear(double* array) {
  for (std::size_t at = 0; at < kSwept; ++at) array[at] = static_cast<double>(at);  // second of array_read_write
}

[[gnu::noinline]] void fill_long(double* array) {
  for (std::size_t at = 0; at < kLong; ++at) array[at] = 1;  // first of array_once: once
}
[[gnu::noinline]] double sum_long(const double* array) {
  double total = 0;
  for (std::size_t at = 0; at < kLong; ++at) total += array[at];  // second of array_once
  return total;
}
[[gnu::noinline]] void fill_every_third(double* array) {
  for (std::size_t at = 0; at < kLong; at += 3) array[at] = 2;  // first of array_stride_once: once
}
[[gnu::noinline]] void fill_every_second(double* array) {
  for (std::size_t at = 0; at < kLong; at += 2) array[at] = 3;  // second of array_stride_once
}
[[gnu::noinline]] void copy_in(char* to, const char* from) {
  std::memcpy(to, from, opaque(kLong));  // first of array_copy_once: once
}
[[gnu::noinline]] void wipe(char* to) {
  std::memset(to, 0, opaque(kLong));  // second of array_copy_once
}

struct Arrays {
  explicit Arrays(std::size_t sweeps)
      : filled(sweeps * kPitch + kPitch),
        summed(sweeps * kPitch + kPitch),
        swept(2 * kLong),
        strided(kLong),
        copied(2 * kLong) {}
  Array filled;
  Array summed;
  Array swept;
  Array strided;
  std::vector<char> copied;
};

void act_ahead(int chunk, Arrays& arrays) {
  const std::vector<char> text(kLong, 'x');
  switch (chunk) {
    case 3:
      return fill_long(arrays.swept.data());
    case 8:
      return fill_every_third(arrays.strided.data());
    case 13:
      return copy_in(arrays.copied.data(), text.data());
    default:
      return;
  }
}

void act_behind(int chunk, Arrays& arrays) {
  switch (chunk) {
    case 6:
      return use(static_cast<long long>(sum_long(arrays.swept.data() + kLong / 2)));
    case 10:
      return fill_every_second(arrays.strided.data());
    case 17:
      return wipe(arrays.copied.data() + kLong / 2);
    default:
      return;
  }
}

void run_ahead(int steps, Arrays& arrays) {
  OwnWork work;
  for (int chunk = 0; chunk + 1 < kChunks; ++chunk) {
    for (int step = 0; step < steps; ++step) {
      const std::size_t at = static_cast<std::size_t>(chunk * steps + step) * kPitch;
      for (int part = 0; part < 4; ++part) work.step();
      fill(arrays.filled.data() + at, 1);
      use(static_cast<long long>(sum(arrays.summed.data() + at)));
      if (step == steps / 2) act_ahead(chunk, arrays);
    }
    end_chunk(chunk);
  }
  end_chunk(kChunks - 1);
}

void run_behind(int steps, Arrays& arrays) {
  OwnWork work;
  end_chunk(0);
  for (int chunk = 1; chunk < kChunks; ++chunk) {
    for (int step = 0; step < steps; ++step) {
      const std::size_t at = static_cast<std::size_t>((chunk - 1) * steps + step) * kPitch + kShift;
      for (int part = 0; part < 4; ++part) work.step();
      scale(arrays.filled.data() + at);
      clear(arrays.summed.data() + at);
      if (step == steps / 2) act_behind(chunk, arrays);
    }
    end_chunk(chunk);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = steps_of_chunk(250, argc, argv);
  Arrays arrays(static_cast<std::size_t>(kChunks * steps));
  run_both([&] { run_ahead(steps, arrays); }, [&] { run_behind(steps, arrays); });
  return 0;
}
