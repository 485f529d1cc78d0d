// SPDX-License-Identifier: Apache-2.0
// libgomp's teams: parallel regions, barriers and what ends with one. See gomp_team.h.
#include "runtime/intercept/gomp_team.h"

#include <new>

#include "runtime/intercept/library_calls.h"

namespace deadheat::runtime {
namespace {

constinit thread_local GompTask* current_task __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

constinit OrderTag gomp_events;
constinit std::atomic<bool> has_gomp_events{false};

GompTask* current_gomp_task() { return current_task; }
void set_current_gomp_task(GompTask* task) { current_task = task; }

void GompTeam::forget_tags() {
  for (OrderTag* tag : {&begun, &ended, &arrived[0], &arrived[1], &finished[0], &finished[1], &ordered, &loop_posts})
    tag->forget();
}

GompTask* make_gomp_task(GompTeam* team, GompTask* parent) {
  if (!is_observing()) return nullptr;
  void* const memory = PageSource::try_allocate(sizeof(GompTask));
  if (memory == nullptr) return nullptr;
  auto* const task = ::new (memory) GompTask;
  task->team = team;
  task->parent = parent;
  if (parent == nullptr) return task;
  parent->use();
  task->phase = parent->phase;
  task->group = parent->group;
  return task;
}

void drop_gomp_task(GompTask* task) {
  while (task != nullptr && task->users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    GompTask* const parent = task->parent;
    task->created.forget();
    task->children.forget();
    PageSource::release(task, sizeof(GompTask));
    task = parent;
  }
}

void arrive_at_gomp_barrier(Address code) {
  GompTask* const task = current_task;
  if (task != nullptr) task->team->arrived[task->phase % 2].give(code);
}

void leave_gomp_barrier(Address code) {
  GompTask* const task = current_task;
  if (task == nullptr) return;
  task->team->arrived[task->phase % 2].take(code);
  task->team->finished[task->phase % 2].take(code);
  task->children.take(code);
  take_gomp_events(code);
  ++task->phase;
}

namespace {

// The share that one thread does of a parallel region.
void run_share(void* data) {
  auto& team = *static_cast<GompTeam*>(data);
  GompTask* const outer = current_task;
  GompTask* const task = make_gomp_task(&team, nullptr);
  current_task = task;
  team.begun.take(team.code);
  team.share(team.data);
  team.ended.give(team.code);
  current_task = outer;
  drop_gomp_task(task);
}

// Runs a region in the master's thread. The team lives until libgomp has seen all shares and tasks end.
template <class Real>
void run_team(void (*share)(void*), void* data, Address code, bool has_reductions, Real real) {
  if (!is_observing()) return real(share, data);
  GompTeam team;
  team.share = share;
  team.data = data;
  team.code = code;
  if (has_reductions) team.first_word = *static_cast<void**>(data);
  team.begun.give(code);
  real(run_share, &team);
  team.ended.take(code);
  team.finished[0].take(code);
  team.finished[1].take(code);
  take_gomp_events(code);
  team.forget_tags();
}

template <class Real>
auto pass_barrier(Address code, Real real) {
  arrive_at_gomp_barrier(code);
  const auto result = real();
  leave_gomp_barrier(code);
  return result;
}

using Share = void (*)(void*);

}  // namespace
}  // namespace deadheat::runtime

using namespace deadheat::runtime;

#define GOMP_CALL(result, name, ...) DEADHEAT_LIBRARY_CALL("libgomp", result, name, __VA_ARGS__)

GOMP_CALL(void, GOMP_parallel, Share share, void* data, unsigned threads, unsigned flags) {
  DEADHEAT_BEHIND(GOMP_parallel);
  run_team(share, data, DEADHEAT_CALLER, false, [&](Share ours, void* team) { behind(ours, team, threads, flags); });
}

GOMP_CALL(unsigned, GOMP_parallel_reductions, Share share, void* data, unsigned threads, unsigned flags) {
  DEADHEAT_BEHIND(GOMP_parallel_reductions);
  unsigned result = 0;
  run_team(share, data, DEADHEAT_CALLER, true,
           [&](Share ours, void* team) { result = behind(ours, team, threads, flags); });
  return result;
}

#define GOMP_PARALLEL_LOOP(name)                                                                                \
  GOMP_CALL(void, name, Share share, void* data, unsigned threads, long begin, long end, long step, long chunk, \
            unsigned flags) {                                                                                   \
    DEADHEAT_BEHIND(name);                                                                                      \
    run_team(share, data, DEADHEAT_CALLER, false,                                                               \
             [&](Share ours, void* team) { behind(ours, team, threads, begin, end, step, chunk, flags); });     \
  }
GOMP_PARALLEL_LOOP(GOMP_parallel_loop_static)
GOMP_PARALLEL_LOOP(GOMP_parallel_loop_dynamic)
GOMP_PARALLEL_LOOP(GOMP_parallel_loop_guided)
GOMP_PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
GOMP_PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_guided)

// The kind of schedule is not known when the program is compiled: no size of chunks.
#define GOMP_PARALLEL_RUNTIME_LOOP(name)                                                                              \
  GOMP_CALL(void, name, Share share, void* data, unsigned threads, long begin, long end, long step, unsigned flags) { \
    DEADHEAT_BEHIND(name);                                                                                            \
    run_team(share, data, DEADHEAT_CALLER, false,                                                                     \
             [&](Share ours, void* team) { behind(ours, team, threads, begin, end, step, flags); });                  \
  }
GOMP_PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_runtime)
GOMP_PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
GOMP_PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

GOMP_CALL(void, GOMP_parallel_sections, Share share, void* data, unsigned threads, unsigned count, unsigned flags) {
  DEADHEAT_BEHIND(GOMP_parallel_sections);
  run_team(share, data, DEADHEAT_CALLER, false,
           [&](Share ours, void* team) { behind(ours, team, threads, count, flags); });
}

#define GOMP_BARRIER(name)                                      \
  GOMP_CALL(void, name) {                                       \
    DEADHEAT_BEHIND(name);                                      \
    pass_barrier(DEADHEAT_CALLER, [&] { return behind(), 0; }); \
  }
GOMP_BARRIER(GOMP_barrier)
GOMP_BARRIER(GOMP_loop_end)
GOMP_BARRIER(GOMP_sections_end)

#define GOMP_CANCELLABLE_BARRIER(name)                              \
  GOMP_CALL(bool, name) {                                           \
    DEADHEAT_BEHIND(name);                                          \
    return pass_barrier(DEADHEAT_CALLER, [&] { return behind(); }); \
  }
GOMP_CANCELLABLE_BARRIER(GOMP_barrier_cancel)
GOMP_CANCELLABLE_BARRIER(GOMP_loop_end_cancel)
GOMP_CANCELLABLE_BARRIER(GOMP_sections_end_cancel)

GOMP_CALL(void, GOMP_workshare_task_reduction_unregister, bool is_cancelled) {
  DEADHEAT_BEHIND(GOMP_workshare_task_reduction_unregister);
  pass_barrier(DEADHEAT_CALLER, [&] { return behind(is_cancelled), 0; });
}

// One thread gets nullptr and goes on; the others wait for what it has to copy.
GOMP_CALL(void*, GOMP_single_copy_start) {
  DEADHEAT_BEHIND(GOMP_single_copy_start);
  arrive_at_gomp_barrier(DEADHEAT_CALLER);
  void* const copied = behind();
  if (copied != nullptr) leave_gomp_barrier(DEADHEAT_CALLER);
  return copied;
}
GOMP_CALL(void, GOMP_single_copy_end, void* data) {
  DEADHEAT_BEHIND(GOMP_single_copy_end);
  pass_barrier(DEADHEAT_CALLER, [&] { return behind(data), 0; });
}
