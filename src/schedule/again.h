// SPDX-License-Identifier: Apache-2.0
// Again: repeats a run. Locks are taken in the order in which the log of that run has
// them; a thread whose turn has not come waits.
//
// Threads are told apart by their ancestry, which is the same in every run, and the k-th
// acquisition of a thread is the k-th one that the log has of it. One cursor goes through
// the log. The thread of the entry at the cursor goes; when it has its lock the cursor
// moves on, past entries that were made early (by try-locks and condition waits, which do
// not ask), and the next one is resumed.
//
// A program whose threads decide by more than their locks diverges: an entry never comes,
// or comes with another lock. Divergences are counted, and never stop the run:
//   - who has no entries left goes;
//   - who wants another lock than its entry says has left out its entries up to the next
//     that fits; if none does, it does something in between, and goes;
//   - when nobody can run, or somebody has waited as long as it may, the entries that
//     hold up the others are passed over;
//   - an acquisition that is just the one at the cursor is taken for it, whatever its
//     thread left out before;
//   - when many entries in a row have been passed over, the order is given up.
#pragma once

#include <cstdint>

#include "base/flat_map.h"
#include "base/growable_array.h"
#include "schedule/strategy.h"
#include "schedule/threads.h"

namespace deadheat::schedule {

template <class Source>
class Again final : public Strategy {
 public:
  Again(const Threads<Source>& threads, World& world, const RunFile* input)
      : threads_(threads), world_(world), input_(input) {}

  void thread_begins(ThreadNumber thread) override {
    read_log();
    const std::uint32_t ancestry = threads_.find(thread)->ancestry;
    ancestries_[thread] = ancestry;
    ++turns_[ancestry].alive;
    turns_[ancestry].has_ended = false;
  }
  void thread_ends(ThreadNumber thread) override {
    if (const std::uint32_t* ancestry = ancestries_.find(thread)) {
      Turns& turns = turns_[*ancestry];
      turns.has_ended = --turns.alive == 0;
      ancestries_.erase(thread);
    }
    move_on();
  }

  Decision on_request(const Request& request) override {
    read_log();
    const Thread* thread = threads_.find(request.thread);
    if (is_over() || thread == nullptr) return kGo;
    Turns& turns = turns_[thread->ancestry];
    if (!turns.has_more()) {
      world_.note_divergence();
      return kGo;
    }
    if (turns.made < turns.passed) turns.made = turns.passed;
    const std::uint32_t left_out = left_out_before(thread->ancestry, turns.made - turns.passed, request.lock_class);
    for (std::uint32_t count = 0; count < left_out; ++count) world_.note_divergence();
    turns.made += left_out;
    if (left_out != 0) move_on();
    return is_over() || entry().thread == thread->ancestry ? kGo : kSuspend;
  }

  void on_acquired(const Request& request) override {
    read_log();
    const Thread* thread = threads_.find(request.thread);
    if (is_over() || thread == nullptr) return;
    Turns& turns = turns_[thread->ancestry];
    const bool is_at_cursor = entry().thread == thread->ancestry;
    if (is_at_cursor && entry().lock_class == logged(request.lock_class)) {
      turns.made = turns.passed + 1;
      skipped_ = 0;
    } else if (is_at_cursor) {
      world_.note_divergence();  // something in between: its entry is still to come
    } else {
      ++turns.made;
    }
    move_on();
  }

  ThreadNumber on_stuck() override {
    while (!is_over() && !is_awaited_by_anybody()) skip();
    move_on();
    return kNobody;
  }
  void on_timeout(ThreadNumber /*thread*/) override {
    if (!is_over()) skip();
    move_on();
  }

 private:
  static constexpr std::uint32_t kMostSkipped = 1000;  // in a row
  static constexpr std::uint32_t kFarthest = 10'000;   // entries to look ahead, of all threads
  static constexpr std::uint32_t kMostLeftOut = 8;     // of one thread, at a time

  // Of the threads of one ancestry.
  struct Turns {
    std::uint32_t all = 0;     // entries in the log
    std::uint32_t passed = 0;  // of them, by the cursor
    std::uint32_t made = 0;    // acquisitions, as entries
    std::uint32_t alive = 0;   // threads
    bool has_ended = false;    // they lived, and what they have not made does not come

    [[nodiscard]] bool has_more() const { return passed < all && made < all; }
  };

  // At the first use: a megabyte is not to be read by those who do something else.
  void read_log() {
    if (is_read_) return;
    is_read_ = true;
    if (input_ == nullptr) return;
    count_ = input_->header.acquisition_count;
    if (count_ > kAcquisitionPlaces) count_ = kAcquisitionPlaces;
    for (std::uint32_t at = 0; at < count_; ++at) ++turns_[input_->acquisitions[at].thread].all;
  }

  [[nodiscard]] bool is_over() const { return cursor_ >= count_; }
  [[nodiscard]] const Acquisition& entry() const { return input_->acquisitions[cursor_]; }

  // Of a thread, after so many that it has made early: how many of its entries come before
  // the first of this class. 0 also if there is none nearby.
  [[nodiscard]] std::uint32_t left_out_before(std::uint32_t ancestry, std::uint32_t early, LockClass lock_class) const {
    std::uint32_t seen = 0;
    for (std::uint32_t at = cursor_; at < count_ && at - cursor_ < kFarthest; ++at) {
      if (seen > early + kMostLeftOut) break;
      if (input_->acquisitions[at].thread != ancestry || ++seen <= early) continue;
      if (input_->acquisitions[at].lock_class == logged(lock_class)) return seen - early - 1;
    }
    return 0;
  }

  [[nodiscard]] bool is_awaited_by_anybody() const {
    for (const Thread& thread : threads_) {
      if (thread.state == ThreadState::kSuspended && thread.ancestry == entry().thread) return true;
    }
    return false;
  }

  // Past what has been made already, or never will be, to the next one's turn.
  void move_on() {
    for (; !is_over(); ++cursor_) {
      Turns& turns = turns_[entry().thread];
      if (turns.passed >= turns.made) {
        if (!turns.has_ended) break;
        world_.note_divergence();
      }
      ++turns.passed;
    }
    for (const Thread& thread : threads_) {
      if (thread.state != ThreadState::kSuspended) continue;
      if (is_over() || thread.ancestry == entry().thread || !turns_[thread.ancestry].has_more()) {
        world_.resume(thread.number);
      }
    }
  }
  void skip() {
    world_.note_divergence();
    ++turns_[entry().thread].passed;
    ++cursor_;
    if (++skipped_ >= kMostSkipped) cursor_ = count_;
  }

  const Threads<Source>& threads_;
  World& world_;
  const RunFile* input_;
  bool is_read_ = false;
  std::uint32_t count_ = 0;
  std::uint32_t cursor_ = 0;
  std::uint32_t skipped_ = 0;                  // since an acquisition was the one at the cursor
  FlatMap<Turns, Source> turns_;               // by ancestry
  FlatMap<std::uint32_t, Source> ancestries_;  // by thread
};

}  // namespace deadheat::schedule
