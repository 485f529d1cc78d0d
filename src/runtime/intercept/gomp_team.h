// SPDX-License-Identifier: Apache-2.0
// The order that libgomp's teams and tasks give, as the wrappers of its entry points see it.
//
// libgomp's threads wait for each other by futexes inside the library, so all order of a
// program of g++ comes from here. Order is handed on by tags, the addresses of the members
// named below.
//
//   team    the master gives to `begun`, each share takes it. A share gives to `ended` at its end, and
//           the master takes it.
//   barrier all give to `arrived` and take it afterwards. Two tags take turns: a thread
//           that has got to the next barrier has taken what the last one gave.
//   task    its creator gives to the task, which takes it when it begins. At its end it gives to `children`
//           of its parent, for taskwait, to its group, for the end of the taskgroup, and to the
//           team's `finished`, which barriers and the team's end take.
//
// A task's address may be looked up after the task is over, so tasks and teams are counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "model/identity.h"
#include "runtime/intercept/interceptor.h"
#include "runtime/intercept/order_tag.h"
#include "runtime/page_source.h"

namespace deadheat::runtime {

struct GompTeam {
  // libgomp reads this word of the data of a region with reductions by tasks.
  void* first_word = nullptr;
  void (*share)(void*) = nullptr;
  void* data = nullptr;
  Address code = 0;
  OrderTag begun;
  OrderTag ended;
  OrderTag arrived[2];
  OrderTag finished[2];  // tasks, by the phase they belong to
  OrderTag ordered;
  OrderTag loop_posts;

  void forget_tags();
};

struct GompGroup {
  GompGroup* outer = nullptr;
  OrderTag finished;
};

struct GompTask {
  std::atomic<std::uint32_t> users{1};
  std::uint32_t phase = 0;  // how many barriers the thread has passed that it counts for
  GompTeam* team = nullptr;
  GompTask* parent = nullptr;
  GompGroup* group = nullptr;  // the innermost one that is open
  OrderTag created;
  OrderTag children;

  void use() { users.fetch_add(1, std::memory_order_relaxed); }
};

// nullptr: no memory, or nobody observes.
[[nodiscard]] GompTask* make_gomp_task(GompTeam* team, GompTask* parent);
void drop_gomp_task(GompTask* task);

// The task that the current thread runs. nullptr outside of all teams.
[[nodiscard]] GompTask* current_gomp_task();
void set_current_gomp_task(GompTask* task);

// The tag of all that a detached task waits for, whoever fulfils it: all that waits for tasks takes it.
extern constinit OrderTag gomp_events;
extern constinit std::atomic<bool> has_gomp_events;
inline void take_gomp_events(Address code) {
  if (has_gomp_events.load(std::memory_order_relaxed)) gomp_events.take(code);
}

// Around a barrier of the current team.
void arrive_at_gomp_barrier(Address code);
void leave_gomp_barrier(Address code);

}  // namespace deadheat::runtime
