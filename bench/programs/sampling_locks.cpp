// SPDX-License-Identifier: Apache-2.0
// Two threads that take the same locks all the time, and races on what the locks do
// not protect. What is done under a common lock is ordered; so each access that is to
// race is followed by that of the other thread before either takes a lock again.
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "sampling_program.h"

namespace {

using namespace deadheat::bench;

constexpr int kLocks = 8;
constexpr int kStepsBetween = 20;  // of locking, between two places that race

struct Account {
  std::mutex lock;
  std::uint64_t amount = 0;
};

Account accounts[kLocks];
std::mutex left;
std::mutex right;
std::shared_mutex many_readers;
[[gnu::used]] long checked;
[[gnu::used]] long summary;

[[gnu::noinline]] void write_outside(std::uint64_t& place) { place = 1; }      // first of lock_outside: often
[[gnu::noinline]] void write_outside_too(std::uint64_t& place) { place = 2; }  // second of lock_outside

[[gnu::noinline]] void write_under_left(std::uint64_t& place) {
  const std::lock_guard hold(left);
  place = 1;  // first of lock_other: often
}
[[gnu::noinline]] void write_under_right(std::uint64_t& place) {
  const std::lock_guard hold(right);
  place = 2;  // second of lock_other
}

[[gnu::noinline]] void write_checked() {
  const std::lock_guard hold(left);
  checked = 1;  // first of lock_forgotten: once
}
[[gnu::noinline]] void read_checked() { use(checked); }  // second of lock_forgotten

[[gnu::noinline]] void write_summary() {
  const std::shared_lock hold(many_readers);
  summary = 1;  // first of lock_for_reading: once
}
[[gnu::noinline]] void read_summary() {
  const std::shared_lock hold(many_readers);
  use(summary);  // second of lock_for_reading
}

[[gnu::noinline]] void deposit(int step) {
  Account& account = accounts[step % kLocks];
  const std::lock_guard hold(account.lock);
  ++account.amount;
}

struct Shared {
  explicit Shared(std::size_t places) : outside(places), under(places) {}
  std::vector<std::uint64_t> outside;
  std::vector<std::uint64_t> under;
};

void lock_a_while(OwnWork& work) {
  for (int step = 0; step < kStepsBetween; ++step) {
    work.step();
    deposit(step);
  }
}

void run_ahead(int places, Shared& shared) {
  OwnWork work;
  for (int at = 0; at < places; ++at) {
    lock_a_while(work);
    write_outside(shared.outside[at]);
    write_under_left(shared.under[at]);
    if (at == places / 3) write_checked();
    if (at == places / 3 * 2) write_summary();
    end_chunk(2 * at);
    end_chunk(2 * at + 1);
  }
}

void run_behind(int places, Shared& shared) {
  OwnWork work;
  for (int at = 0; at < places; ++at) {
    lock_a_while(work);
    end_chunk(2 * at);
    write_outside_too(shared.outside[at]);
    if (at == places / 3) read_checked();
    if (at == places / 3 * 2) read_summary();
    write_under_right(shared.under[at]);
    end_chunk(2 * at + 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int places = steps_of_chunk(800, argc, argv);
  Shared shared(static_cast<std::size_t>(places));
  run_both([&] { run_ahead(places, shared); }, [&] { run_behind(places, shared); });
  return 0;
}
