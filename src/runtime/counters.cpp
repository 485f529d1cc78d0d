// SPDX-License-Identifier: Apache-2.0
#include "runtime/counters.h"

#include "runtime/cell_blocks.h"
#include "runtime/cold_sampling.h"
#include "runtime/hand_off.h"
#include "runtime/options.h"
#include "runtime/origins.h"
#include "runtime/races.h"
#include "runtime/racy_words.h"
#include "runtime/sampling.h"
#include "runtime/sampling_control.h"
#include "runtime/shadow_memory.h"
#include "runtime/slim_regions.h"
#include "runtime/slots.h"
#include "runtime/thread_registry.h"

namespace deadheat::runtime {

std::atomic<std::uint64_t> losses[static_cast<int>(Loss::kCount)];

namespace {

constexpr std::uint32_t kMaxRepeats = 4096;
constexpr std::uint32_t kMaxCounters = 64;

struct SummaryPacket {
  raw_report::PacketHeader header;
  raw_report::Summary summary;
  char body[kMaxRepeats * sizeof(raw_report::Repeat) + kMaxCounters * sizeof(raw_report::Counter)];
};
static_assert(sizeof(SummaryPacket) <= raw_report::kMaxPacket);

SummaryPacket packet;
SpinLock sending;

void add_repeat(std::uint64_t finding, std::uint64_t occurrences, void* /*context*/) {
  if (packet.summary.repeat_count == kMaxRepeats) return;
  auto* repeats = reinterpret_cast<raw_report::Repeat*>(packet.body);
  repeats[packet.summary.repeat_count++] = {finding, occurrences};
}

enum class CounterKind : std::uint8_t { kStatistic, kLoss };

void add_counter(const char* name, std::uint64_t value, CounterKind kind) {
  const bool is_wanted = kind == CounterKind::kLoss ? value != 0 : options().stats;
  if (!is_wanted || packet.summary.counter_count == kMaxCounters) return;
  auto* counters =
      reinterpret_cast<raw_report::Counter*>(packet.body + packet.summary.repeat_count * sizeof(raw_report::Repeat));
  raw_report::Counter& counter = counters[packet.summary.counter_count++];
  counter = {};
  for (std::size_t at = 0; at + 1 < sizeof counter.name && name[at] != 0; ++at) counter.name[at] = name[at];
  counter.value = value;
  counter.is_loss = kind == CounterKind::kLoss ? 1 : 0;
}

void add_slim_counters(const SlimCounters& slim) {
  constexpr auto kStatistic = CounterKind::kStatistic;
  add_counter("regions of compressed shadow", slim.regions, kStatistic);
  add_counter("bytes in regions", slim.region_bytes, kStatistic);
  add_counter("footprints committed", slim.commits, kStatistic);
  add_counter("accesses in footprints", slim.elements, kStatistic);
  add_counter("chunks gone over to cells", slim.chunks_given_up, kStatistic);
  add_counter("bytes in regions at the end", slim.live_bytes, kStatistic);
  add_counter("bytes of parts at the end", slim.part_bytes, kStatistic);
  add_counter("elements in regions", slim.part_elements, kStatistic);
  add_counter("parts of regions", slim.parts, kStatistic);
  const std::uint64_t elements = slim.part_elements == 0 ? 1 : slim.part_elements;
  add_counter("parts per million elements", slim.parts * 1'000'000 / elements, kStatistic);
  constexpr const char* kShapes[kPartitionShapeCount] = {"regions COARSE", "regions SPLIT",  "regions BLOCK",
                                                         "regions STRIDE", "regions PREFIX", "regions RUNS",
                                                         "regions FINE"};
  for (int shape = 0; shape < kPartitionShapeCount; ++shape)
    add_counter(kShapes[shape], slim.shapes[shape], kStatistic);
}

template <class Totals>
void send_totals(raw_report::PacketKind kind, const Totals& totals) {
  struct {
    raw_report::PacketHeader header;
    Totals totals;
  } own{{}, totals};
  own.header.kind = kind;
  own.header.size = sizeof own;
  send_packet(&own.header);
}

void add_clock_counters(const char* const (&names)[4], const ClockCounters::InPeriod& clocks) {
  const std::uint64_t values[] = {clocks.slow_joins, clocks.fast_joins, clocks.deep_copies, clocks.shallow_copies};
  for (int index = 0; index < 4; ++index) add_counter(names[index], values[index], CounterKind::kStatistic);
}

void add_sampling_counters(const SamplingCounters& sampling) {
  constexpr auto kStatistic = CounterKind::kStatistic;
  constexpr const char* kInPeriods[4] = {"sampling slow joins", "sampling fast joins", "sampling deep copies",
                                         "sampling shallow copies"};
  constexpr const char* kOutside[4] = {"non-sampling slow joins", "non-sampling fast joins", "non-sampling deep copies",
                                       "non-sampling shallow copies"};
  add_clock_counters(kInPeriods, sampling.clocks.sampling);
  add_counter("sampling reads", sampling.sampled_accesses[0], kStatistic);
  add_counter("sampling writes", sampling.sampled_accesses[1], kStatistic);
  add_clock_counters(kOutside, sampling.clocks.outside);
  add_counter("non-sampling slow reads", sampling.checked_accesses[0], kStatistic);
  add_counter("non-sampling slow writes", sampling.checked_accesses[1], kStatistic);
}

}  // namespace

void send_sampling(const raw_report::Sampling& totals) { send_totals(raw_report::PacketKind::kSampling, totals); }

void send_summary(SummaryKind kind) {
  if (samples) send_sampling(sampling_totals());
  if (follows_calls) send_totals(raw_report::PacketKind::kColdCalls, cold_call_totals());
  send_racy_words();
  SpinHolder hold(sending);
  packet.summary = {};
  packet.summary.is_final = kind == SummaryKind::kFinal ? 1 : 0;
  for_each_finding(add_repeat, nullptr);
  add_counter("threads", registry().count(), CounterKind::kStatistic);
  const OriginCounters origins = origin_counters();
  add_counter("stacks", origins.stacks, CounterKind::kStatistic);
  add_counter("origins of accesses", origins.origins, CounterKind::kStatistic);
  add_counter("cell blocks in use", blocks_in_use(), CounterKind::kStatistic);
  add_counter("sweeps of thread slots", slot_counters().sweeps, CounterKind::kStatistic);
  if (options().stats) add_counter("resident shadow, bytes", shadow_resident(), CounterKind::kStatistic);
  if (options().stats) add_slim_counters(slim_counters());
  if (options().stats && samples) add_sampling_counters(sampling_counters());
  add_counter("bytes of own tables", PageSource::mapped(), CounterKind::kStatistic);
  add_counter("origins kept without their locks", origins.without_locks, CounterKind::kLoss);
  add_counter("accesses whose origin was not kept", origins.unknown, CounterKind::kLoss);
  add_counter("thread slots reused with history lost", slot_counters().lost, CounterKind::kLoss);
  for (int loss = 0; loss < static_cast<int>(Loss::kCount); ++loss) {
    add_counter(kLossNames[loss], losses[loss].load(std::memory_order_relaxed), CounterKind::kLoss);
  }
  packet.header.kind = raw_report::PacketKind::kSummary;
  packet.header.size = static_cast<std::uint32_t>(sizeof packet.header + sizeof packet.summary +
                                                  packet.summary.repeat_count * sizeof(raw_report::Repeat) +
                                                  packet.summary.counter_count * sizeof(raw_report::Counter));
  send_packet(&packet.header);
}

}  // namespace deadheat::runtime
