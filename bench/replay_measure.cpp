// SPDX-License-Identifier: Apache-2.0
// deadheat_bench_replay PART [--traces N] [--limit N]: what replay rebuilds, on stepped programs.
//   recovery  every rebuilt address against the true one; accesses per sample in the form of ProRace's Figure 11,
//             time per instruction as in Figure 12
//   bugs      detection in the form of Table 2: a stepped run of each race is sampled again and again with
//             random phases, rebuilt, and checked by FastTrack
// Tables go to standard output. Exit code 1: an address was wrong, or a race was reported that is none.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/detector.h"
#include "image/elf_image.h"
#include "record/step_trace.h"
#include "replay/interpreter.h"
#include "support/rebuild_truth.h"

namespace deadheat::replay {
namespace {

using record::StepTrace;
using record::ThreadSteps;

struct Settings {
  std::uint64_t traces = 100;
  std::uint64_t limit = 450'000;  // steps of one program
};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "deadheat_bench_replay: error: %s\n", why.c_str());
  std::exit(2);
}

StepTrace stepped(const std::vector<std::string>& words, const std::vector<std::string>& functions,
                  std::uint64_t limit) {
  record::StepTraceOptions options;
  options.command.words = words;
  options.command.is_output_shown = false;
  options.functions = functions;
  options.limit = limit;
  auto trace = record::trace_steps(options);
  if (!trace) give_up(trace.error().message);
  if (trace.value().threads.empty()) give_up("nothing of '" + functions.front() + "' was stepped");
  return std::move(trace).value();
}

double per(std::uint64_t count, std::uint64_t of) {
  return of == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of);
}

int measure_recovery(const Settings& settings) {
  RebuildOptions forward_only;
  forward_only.has_backward = false;
  RebuildOptions single_block;
  single_block.is_single_block = true;
  RebuildOptions without_memory;
  without_memory.has_memory = false;
  std::uint64_t all_accesses = 0;
  std::uint64_t all_compared = 0;
  std::uint64_t all_wrong = 0;
  std::uint64_t all_conflicts = 0;
  std::string rows;
  std::string kinds;
  for (const char* kernel : {"matrix", "sort", "hash", "compress", "tree", "histogram", "words"}) {
    const StepTrace trace = stepped({DEADHEAT_REPLAY_WORK, kernel}, {std::string("work_") + kernel}, settings.limit);
    const ThreadSteps& truth = trace.threads[0];
    const CodeSpace code = CodeSpace::load(trace.mappings);
    bool is_first = true;
    for (const std::uint64_t period : {100, 1'000, 10'000}) {
      const auto thread = record::sampled(truth, period, period / 3, record::Path::kKnown);
      const Comparison full = compare(code, truth, thread, {});
      const Comparison registers = compare(code, truth, thread, without_memory);
      const Comparison forward = compare(code, truth, thread, forward_only);
      const Comparison block = compare(code, truth, thread, single_block);
      const auto blind = record::sampled(truth, period, period / 3, record::Path::kUnknown);
      const Comparison free = compare(code, truth, blind, {});
      for (const Comparison& one : {full, registers, forward, block, free}) {
        all_compared += one.rebuilt;
        all_wrong += one.wrong;
        all_conflicts += one.counts.conflicts;
        if (one.wrong > 0)
          std::fprintf(stderr, "%s, period %d: %s\n", kernel, static_cast<int>(period), one.first_wrong.c_str());
      }
      if (is_first) all_accesses += full.counts.accesses_on_path;
      is_first = false;
      const std::uint64_t samples = full.counts.samples;
      rows += fmt::format(
          "| {} | {} | {:.0f}% | {:.0f}% | {:.0f}% | {:.1f} | {:.1f} | {:.1f} | {:.0f} | {:.1f} | {:.2f} |\n", kernel,
          period, 100 * per(full.rebuilt, full.counts.accesses_on_path),
          100 * per(forward.rebuilt, full.counts.accesses_on_path),
          100 * per(registers.rebuilt, full.counts.accesses_on_path), per(full.rebuilt, samples),
          per(forward.rebuilt, samples), per(block.rebuilt, samples), per(full.rebuilt, block.rebuilt),
          per(free.rebuilt, free.counts.samples), full.seconds * 1e6 / static_cast<double>(truth.steps.size()));
      if (period == 10'000) {
        kinds += fmt::format("| {} | {} | {} | {:.1f}% | {:.1f}% | {:.1f}% |\n", kernel, truth.steps.size(),
                             full.counts.accesses_on_path, 100 * per(full.counts.rebuilt_register, full.rebuilt),
                             100 * per(full.counts.rebuilt_pc_relative, full.rebuilt),
                             100 * per(full.counts.rebuilt_memory, full.rebuilt));
      }
    }
  }
  fmt::print(
      "{} accesses of 7 programs; {} rebuilt addresses compared with the true ones (five ways of rebuilding, "
      "three periods): {} wrong. Forward and backward disagreed {} times.\n\n",
      all_accesses, all_compared, all_wrong, all_conflicts);
  fmt::print(
      "| program | one sample per | of all accesses | forward only | without memory | per sample | forward only | "
      "RaceZ's block | times RaceZ "
      "| no path | us per instruction |\n");
  fmt::print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n{}\n", rows);
  fmt::print("How the rebuilt addresses were made, at one sample per 10,000:\n\n");
  fmt::print("| program | instructions | accesses | register | PC-relative | through emulated memory |\n");
  fmt::print("| --- | ---: | ---: | ---: | ---: | ---: |\n{}", kinds);
  return all_wrong == 0 && all_conflicts == 0 ? 0 : 1;
}

// An event with its place among the steps of all threads.
struct Placed {
  std::uint64_t order = 0;
  Event event;
};

class BugRun {
 public:
  BugRun(const std::string& bug, const Settings& settings)
      : trace_(stepped({DEADHEAT_REPLAY_BUGS, bug}, {"first_racing_thread", "second_racing_thread"}, settings.limit)),
        code_(CodeSpace::load(trace_.mappings)) {
    find_locks();
    for (std::size_t thread = 0; thread < trace_.threads.size(); ++thread) add_locks(thread);
    truth_ = racy_bytes(true_accesses());
  }

  [[nodiscard]] std::size_t threads() const { return trace_.threads.size(); }
  [[nodiscard]] std::uint64_t steps() const { return trace_.total(); }
  [[nodiscard]] bool has_race() const { return !truth_.empty(); }

  // Sampled once more. False alarms are counted.
  bool is_found(std::uint64_t period, Random& random, const RebuildOptions& options) {
    std::vector<Placed> accesses;
    for (std::size_t thread = 0; thread < trace_.threads.size(); ++thread) {
      const auto recorded = record::sampled(trace_.threads[thread], period, random.below(period), record::Path::kKnown);
      const auto rebuilt = rebuild(code_, recorded, 0, recorded.samples.size(), options);
      for (const RebuiltAccess& access : rebuilt.accesses) {
        if (access.is_stack || !is_own_code(access.code)) continue;
        const std::uint64_t step =
            *recorded.samples[access.sample].position + static_cast<std::uint64_t>(access.distance);
        add_access(thread, step, access.address, access.size, access.is_write, accesses);
      }
    }
    const auto found = racy_bytes(std::move(accesses));
    for (const auto& range : found) {
      const bool is_true = std::ranges::any_of(
          truth_, [&](const auto& known) { return known.begin <= range.begin && range.end <= known.end; });
      if (!is_true) ++false_alarms;
    }
    return !found.empty();
  }

  std::uint64_t false_alarms = 0;

 private:
  static ThreadId thread_id(std::size_t index) { return static_cast<ThreadId>(index + 1); }

  void find_locks() {
    const CodeMapping& program = trace_.mappings.front();
    const auto image = ElfImage::open(program.path);
    if (!image) give_up(image.error().message);
    const std::uint64_t bias = program.begin - image.value().address_of(program.file_offset).value_or(0);
    lock_ = image.value().symbol("lock_it").value_or(0) + bias;
    unlock_ = image.value().symbol("unlock_it").value_or(0) + bias;
  }

  [[nodiscard]] bool is_own_code(std::uint64_t address) const {
    return address >= trace_.mappings.front().begin && address < trace_.mappings.front().end;
  }

  // What the agent would have logged: acquire after the call, release before it.
  void add_locks(std::size_t index) {
    const ThreadSteps& thread = trace_.threads[index];
    std::uint64_t mutex = 0;
    std::uint64_t returns_to = 0;
    for (std::size_t step = 0; step < thread.steps.size(); ++step) {
      const RegisterFile& registers = thread.steps[step];
      if (mutex != 0 && registers[Register::kRsp] == returns_to) {
        log_.push_back({thread.order[step], events::acquire(thread_id(index), SyncId{mutex})});
        mutex = 0;
      }
      if (registers.ip == lock_) {
        mutex = registers[Register::kRdi];
        returns_to = registers[Register::kRsp] + 8;
      }
      if (registers.ip == unlock_) {
        log_.push_back({thread.order[step], events::release(thread_id(index), SyncId{registers[Register::kRdi]})});
      }
    }
  }

  void add_access(std::size_t thread, std::uint64_t step, std::uint64_t address, std::uint64_t size, bool is_write,
                  std::vector<Placed>& to) const {
    const ThreadId id = thread_id(thread);
    to.push_back({trace_.threads[thread].order[step],
                  is_write ? events::write(id, address, size) : events::read(id, address, size)});
  }

  std::vector<Placed> true_accesses() const {
    std::vector<Placed> accesses;
    InstructionCache cache(code_);
    for (std::size_t thread = 0; thread < trace_.threads.size(); ++thread) {
      for (std::size_t step = 0; step < trace_.threads[thread].steps.size(); ++step) {
        const RegisterFile& registers = trace_.threads[thread].steps[step];
        const Instruction* instruction = cache.at(registers.ip);
        if (instruction == nullptr || !is_own_code(registers.ip)) continue;
        const Registers before = Registers::of(registers);
        for (unsigned index = 0; index < instruction->access_count; ++index) {
          const MemoryAccess& access = instruction->accesses[index];
          const auto place = locate(*instruction, access, before);
          if (!place || place->is_stack) continue;
          if (access.reads) add_access(thread, step, place->address, place->size, false, accesses);
          if (access.writes) add_access(thread, step, place->address, place->size, true, accesses);
        }
      }
    }
    return accesses;
  }

  [[nodiscard]] std::vector<Detector::Range> racy_bytes(std::vector<Placed> all) const {
    all.insert(all.end(), log_.begin(), log_.end());
    std::ranges::stable_sort(all, {}, &Placed::order);
    std::vector<Event> stream;
    stream.push_back(events::plain(EventKind::kThreadRoot, ThreadId{0}));
    for (std::size_t thread = 0; thread < trace_.threads.size(); ++thread) {
      stream.push_back(events::on_thread(EventKind::kFork, ThreadId{0}, thread_id(thread)));
    }
    for (const Placed& one : all) stream.push_back(one.event);
    const auto detector = make_detector(DetectorKind::kFastTrack);
    detector->process(stream);
    detector->finish();
    return detector->racy_bytes();
  }

  StepTrace trace_;
  CodeSpace code_;
  std::uint64_t lock_ = 0;
  std::uint64_t unlock_ = 0;
  std::vector<Placed> log_;
  std::vector<Detector::Range> truth_;
};

struct BugRow {
  const char* name;
  const char* after;
  const char* access;
};

constexpr BugRow kBugs[] = {
    {"refcount", "apache-21287, double free", "memory indirect"},
    {"log", "apache-25520, corrupted log", "register indirect"},
    {"pool", "apache-45605, assertion", "register indirect"},
    {"state", "mysql-3596, crash", "memory indirect"},
    {"cache", "mysql-644, crash", "memory indirect"},
    {"binlog", "mysql-791, missing output", "memory indirect"},
    {"buffer", "cherokee-0.9.2, corrupted log", "register indirect"},
    {"time", "cherokee-bug1, corrupted log", "register indirect"},
    {"queue", "pbzip2-0.9.4, crash", "memory indirect"},
    {"progress", "pbzip2-0.9.4, benign", "PC-relative"},
    {"workers", "pfscan, infinite loop", "PC-relative"},
    {"written", "aget-bug2, wrong record", "PC-relative"},
};

int measure_bugs(const Settings& settings) {
  constexpr std::array<std::uint64_t, 3> kPeriods = {100, 1'000, 10'000};
  std::array<double, 6> sums{};
  std::uint64_t false_alarms = 0;
  std::uint64_t shortest = ~0ULL;
  std::uint64_t longest = 0;
  fmt::print("| race | after | access | RaceZ, 100 | 1,000 | 10,000 | replay, 100 | 1,000 | 10,000 |\n");
  fmt::print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const BugRow& bug : kBugs) {
    BugRun run(bug.name, settings);
    if (run.threads() != 2 || !run.has_race()) give_up(fmt::format("the run of '{}' has no race", bug.name));
    shortest = std::min(shortest, run.steps() / 2);
    longest = std::max(longest, run.steps() / 2);
    std::string row = fmt::format("| {} | {} | {} |", bug.name, bug.after, bug.access);
    std::size_t column = 0;
    for (const bool is_single_block : {true, false}) {
      RebuildOptions options;
      options.is_single_block = is_single_block;
      for (const std::uint64_t period : kPeriods) {
        Random random(period * 7 + column);
        std::uint64_t found = 0;
        for (std::uint64_t trace = 0; trace < settings.traces; ++trace) {
          if (run.is_found(period, random, options)) ++found;
        }
        const double percent = 100 * per(found, settings.traces);
        sums[column++] += percent;
        row += fmt::format(" {:.0f} |", percent);
      }
    }
    fmt::print("{}\n", row);
    std::fflush(stdout);
    false_alarms += run.false_alarms;
  }
  fmt::print("| **average** | | |");
  for (const double sum : sums) fmt::print(" **{:.1f}** |", sum / static_cast<double>(std::size(kBugs)));
  fmt::print(
      "\n\n{} traces for each figure, in percent of traces in which the race was found; {} to {} instructions per "
      "thread. "
      "Racy bytes reported that are not racy in the whole run: {}.\n",
      settings.traces, shortest, longest, false_alarms);
  return false_alarms == 0 ? 0 : 1;
}

int run(int count, char** arguments) {
  Settings settings;
  for (int index = 2; index + 1 < count; index += 2) {
    const std::uint64_t value = std::strtoull(arguments[index + 1], nullptr, 10);
    if (std::strcmp(arguments[index], "--traces") == 0) settings.traces = value;
    if (std::strcmp(arguments[index], "--limit") == 0) settings.limit = value;
  }
  const std::string part = count > 1 ? arguments[1] : "";
  if (part == "recovery") return measure_recovery(settings);
  if (part == "bugs") return measure_bugs(settings);
  std::fprintf(stderr, "usage: deadheat_bench_replay recovery|bugs [--traces N] [--limit N]\n");
  return 2;
}

}  // namespace
}  // namespace deadheat::replay

int main(int count, char** arguments) { return deadheat::replay::run(count, arguments); }
