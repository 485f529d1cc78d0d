// SPDX-License-Identifier: Apache-2.0
#include "cli/hunt_loop.h"

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "cli/messages.h"
#include "report/race_record.h"

namespace deadheat {

bool HuntLoop::may_start() const {
  if (interruption_ || cannot_start_ || started_ >= limits_.runs || active_.size() >= limits_.jobs) return false;
  if (limits_.until_quiet && ledger_.quiet_runs() >= *limits_.until_quiet) return false;
  const bool is_learning = started_ != 0 && ledger_.runs().empty();
  return !is_learning || setup_.strategy == HuntStrategy::kNative;
}

Status HuntLoop::start_one() {
  HuntRunRequest request;
  request.number = ++started_;
  request.strategy = next_strategy(setup_.strategy, ledger_.runs());
  request.seed = seed_of_run(setup_.seed, request.number);
  if (newest_ && request.strategy != RunStrategy::kNative) request.schedule_in = directory_.schedule_path(*newest_);
  request.schedule_out = directory_.schedule_path(request.number);
  if (!limits_.shows_output) request.output = directory_.output_path(request.number);
  request.depth = setup_.depth;
  request.time_limit = setup_.time_limit;
  auto started = HuntRun::start(plan_, std::move(request), signals_, suppressions_, symbolizer_);
  if (!started.ok()) return started.error();
  active_.push_back(std::move(started).value());
  begin_storing(*active_.back());
  return {};
}

void HuntLoop::begin_storing(const HuntRun& run) {
  StoredRun& stored = stored_[run.request().number];
  stored.mode = "hunt";
  stored.program = plan_.path;
  stored.arguments = stored_arguments(plan_.arguments);
  store_.begin(stored);
}

void HuntLoop::finish_storing(HuntRun& run, const RunRecord& record) {
  const auto stored = stored_.find(record.number);
  if (stored == stored_.end()) return;
  std::vector<Sighting> races;
  for (const LiveRace& race : run.report().races()) {
    if (!race.is_suppressed) races.push_back(sighting_of(race));
  }
  store_.add(stored->second, races);
  stored->second.duration = static_cast<Microseconds>(record.seconds * 1e6);
  const bool is_deadlocked = record.end == RunEnd::kDeadlock;
  stored->second.status = is_deadlocked ? "deadlock" : status_words(record.exit_status, record.signal, "ended");
  store_.finish(stored->second);
  stored_.erase(stored);
}

Status HuntLoop::run() {
  // A file that grows over the user's limit is an error, not our end.
  std::signal(SIGXFSZ, SIG_IGN);
  Status status;
  while (true) {
    while (may_start()) {
      status = start_one();
      cannot_start_ = !status.ok();
    }
    if (active_.empty()) break;
    wait();
    close_those_that_are_over();
    screen_.show_live_line(active_, ledger_);
  }
  if (const Status saved = directory_.save_all(); !saved.ok()) print_error(saved.error().message);
  return status;
}

void HuntLoop::wait() {
  std::vector<pollfd> waits = {{signals_.descriptor(), POLLIN, 0}};
  int time = -1;
  for (const auto& run : active_) {
    waits.push_back({run->channel(), POLLIN, 0});
    time = time < 0 ? run->time_left() : std::min(time, run->time_left());
  }
  poll(waits.data(), waits.size(), time);
  if (waits.front().revents != 0) handle_signals();
  for (std::size_t index = 0; index < active_.size(); ++index) {
    HuntRun& run = *active_[index];
    if (waits[index + 1].revents != 0) {
      run.receive({[&](const LiveRace& race) {
                     store_.add(stored_[run.request().number], {sighting_of(race)});
                     const HuntRace* fresh = ledger_.meet(race, run.request());
                     if (fresh != nullptr) screen_.show_race(*fresh, ledger_.races().size());
                   },
                   [&](const std::string& notice) { screen_.show_notice(notice); }});
    }
    run.check_time();
  }
}

void HuntLoop::handle_signals() {
  while (const auto signal = signals_.next()) {
    if (signal->number == SIGCHLD) {
      for (const auto& run : active_) run->notice_end();
    } else if (signal->number != SIGUSR1 && signal->number != SIGUSR2) {
      interruption_ = signal->number;
      for (const auto& run : active_) run->interrupt();
    }
  }
}

void HuntLoop::close_those_that_are_over() {
  for (std::size_t index = 0; index < active_.size();) {
    if (!active_[index]->is_over()) {
      ++index;
      continue;
    }
    const std::unique_ptr<HuntRun> run = std::move(active_[index]);
    active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(index));
    close(*run);
  }
  remove_stale_files();
}

void HuntLoop::close(HuntRun& run) {
  const HuntFinding* finding = ledger_.close(run.finish(), run);
  if (finding != nullptr) screen_.show_finding(*finding);
  const RunRecord& record = ledger_.runs().back();
  finish_storing(run, record);
  screen_.show_run(record);
  if (run.damage()) {
    screen_.show_warning(run.damage()->message);
    stale_.push_back(record.number);
  } else {
    const auto before = std::exchange(newest_, record.number);
    const auto is_kept = [&](std::uint32_t number) {
      const auto same = [&](const RunRecord& known) { return known.number == number; };
      return std::find_if(ledger_.runs().rbegin(), ledger_.runs().rend(), same)->has_news();
    };
    if (before && !is_kept(*before)) stale_.push_back(*before);
  }
  const Status saved = directory_.save(record);
  if (!saved.ok() && !std::exchange(cannot_save_, true)) print_error(saved.error().message);
}

// Thousands of run files would fill the disk. A run that is starting may still want to
// read the file of the run that was the newest then.
void HuntLoop::remove_stale_files() {
  const auto is_in_use = [&](std::uint32_t number) {
    const std::string path = directory_.schedule_path(number);
    return std::any_of(active_.begin(), active_.end(),
                       [&](const auto& run) { return run->request().schedule_in == path; });
  };
  std::erase_if(stale_, [&](std::uint32_t number) {
    if (is_in_use(number)) return false;
    directory_.remove_files_of(number);
    return true;
  });
}

}  // namespace deadheat
