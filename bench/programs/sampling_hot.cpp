// SPDX-License-Identifier: Apache-2.0
// Races with both sides in inner loops. Each element of the tables is touched once by
// the thread ahead, and a chunk later once by the thread behind, so each is one
// occurrence. Before, the same functions work on tables that are not shared: they
// are hot when the first race occurs.
#include <vector>

#include "sampling_program.h"

namespace {

using namespace deadheat::bench;

constexpr int kWarmUp = 3;  // chunks

using Table = std::vector<long>;

[[gnu::noinline]] void put(long& place) { place = 1; }          // first of hot_write_write: often
[[gnu::noinline]] void put_again(long& place) { place = 2; }    // second of hot_write_write
[[gnu::noinline]] void give(long& place) { place = 3; }         // first of hot_write_read: often
[[gnu::noinline]] void take(const long& place) { use(place); }  // second of hot_write_read
[[gnu::noinline]] void look(const long& place) { use(place); }  // first of hot_read_write: often
[[gnu::noinline]] void clear(long& place) { place = 0; }        // second of hot_read_write

[[gnu::used]] long latest;
[[gnu::noinline]] void note(long& place, long step) { place = step; }       // first of hot_one_variable: at will
[[gnu::noinline]] void note_too(long& place, long step) { place = -step; }  // second of hot_one_variable

struct Tables {
  explicit Tables(std::size_t size) : written(size), given(size), looked_at(size) {}
  Table written;
  Table given;
  Table looked_at;
};

void run_ahead(int steps, Tables& shared) {
  OwnWork work;
  long own_latest = 0;
  Tables own(kWarmUp * static_cast<std::size_t>(steps));
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    const bool is_warm = chunk >= kWarmUp;
    Tables& tables = is_warm ? shared : own;
    const std::size_t begin = static_cast<std::size_t>(is_warm ? chunk - kWarmUp : chunk) * steps;
    for (std::size_t at = begin; at < begin + steps; ++at) {
      work.step();
      put(tables.written[at]);
      give(tables.given[at]);
      look(tables.looked_at[at]);
      note(is_warm ? latest : own_latest, static_cast<long>(at));
    }
    end_chunk(chunk);
  }
}

void run_behind(int steps, Tables& shared) {
  OwnWork work;
  long own_latest = 0;
  Tables own((kWarmUp + 1) * static_cast<std::size_t>(steps));
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    const bool is_warm = chunk > kWarmUp;
    Tables& tables = is_warm ? shared : own;
    const std::size_t begin = static_cast<std::size_t>(is_warm ? chunk - kWarmUp - 1 : chunk) * steps;
    for (std::size_t at = begin; at < begin + steps; ++at) {
      work.step();
      put_again(tables.written[at]);
      take(tables.given[at]);
      clear(tables.looked_at[at]);
      note_too(is_warm ? latest : own_latest, static_cast<long>(at));
    }
    end_chunk(chunk);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = steps_of_chunk(1000, argc, argv);
  Tables shared(static_cast<std::size_t>(kChunks - kWarmUp) * steps);
  run_both([&] { run_ahead(steps, shared); }, [&] { run_behind(steps, shared); });
  return 0;
}
