// SPDX-License-Identifier: Apache-2.0
// Races of which one side at least is made once in a run, at moments spread over it.
#include "sampling_program.h"

namespace {

using namespace deadheat::bench;

[[gnu::used]] long written_twice;
[[gnu::used]] long written_then_read;
[[gnu::used]] long read_then_written;
[[gnu::used]] long written_long_before;
[[gnu::used]] long progress;
[[gnu::used]] long setting;

[[gnu::noinline]] void write_twice_first() { written_twice = 1; }           // first of cold_write_write: once
[[gnu::noinline]] void write_twice_again() { written_twice = 2; }           // second of cold_write_write
[[gnu::noinline]] void write_for_reader() { written_then_read = 1; }        // first of cold_write_read: once
[[gnu::noinline]] void read_what_was_written() { use(written_then_read); }  // second of cold_write_read
[[gnu::noinline]] void read_early() { use(read_then_written); }             // first of cold_read_write: once
[[gnu::noinline]] void write_after_reader() { read_then_written = 1; }      // second of cold_read_write
[[gnu::noinline]] void write_long_before() { written_long_before = 1; }     // first of cold_far_apart: once
[[gnu::noinline]] void read_long_after() { use(written_long_before); }      // second of cold_far_apart

// The last of many writes by one thread is what the one read races with first.
[[gnu::noinline]] void note_progress(long step) { progress = step; }  // first of hot_then_cold: once
[[gnu::noinline]] void look_at_progress() { use(progress); }          // second of hot_then_cold

[[gnu::noinline]] void change_setting() { setting = 1; }   // first of cold_then_hot: once
[[gnu::noinline]] void follow_setting() { use(setting); }  // second of cold_then_hot

// What happens in the middle of a chunk.
void act_ahead(int chunk) {
  switch (chunk) {
    case 1:
      return write_long_before();
    case 4:
      return write_twice_first();
    case 11:
      return read_what_was_written();
    case 14:
      return read_early();
    default:
      return;
  }
}

void act_behind(int chunk) {
  switch (chunk) {
    case 2:
      return change_setting();
    case 5:
      return write_twice_again();
    case 9:
      return write_for_reader();
    case 13:
      return look_at_progress();
    case 16:
      return write_after_reader();
    case 18:
      return read_long_after();
    default:
      return;
  }
}

void run_ahead(int steps) {
  OwnWork work;
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    for (int step = 0; step < steps; ++step) {
      work.step();
      if (chunk >= 6 && chunk < 12) note_progress(step);
      if (chunk >= 4) follow_setting();
      if (step == steps / 2) act_ahead(chunk);
    }
    end_chunk(chunk);
  }
}

void run_behind(int steps) {
  OwnWork work;
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    for (int step = 0; step < steps; ++step) {
      work.step();
      if (step == steps / 2) act_behind(chunk);
    }
    end_chunk(chunk);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = steps_of_chunk(1000, argc, argv);
  run_both([=] { run_ahead(steps); }, [=] { run_behind(steps); });
  return 0;
}
