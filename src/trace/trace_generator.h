// SPDX-License-Identifier: Apache-2.0
// TraceGenerator: an endless supply of well-formed traces from a seed.
//
// Problem: property tests need many small traces with every kind of event in
// every order a program could produce, some known to be free of races;
// benchmarks need traces of any length without a program to record.
//
// Method: a simulation. A scheduler picks a thread; the thread takes a random
// step that is legal in its state (a lock is taken only while it is free, a
// thread that waits does nothing else, ...), so every prefix obeys the rules of
// the trace checker. Nothing can deadlock: a thread that waits for a condition
// or a barrier holds no lock, and a barrier's phase may close with whoever has
// arrived. After the asked-for number of events the threads are wound down:
// locks released, calls returned from, threads exited and joined.
//
// Freedom from races at race_density 0 is by permissions, not by running a
// detector; see trace_generator_permissions.h.
//
// Cost: one event at a time, memory independent of the trace's length, about
// 20 to 60 ns per event. All randomness comes from base/random.h: the same
// options give the same trace on every machine.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "model/dictionary.h"
#include "model/event.h"
#include "trace/trace_generator_options.h"

namespace deadheat {

class TraceGenerator {
 public:
  explicit TraceGenerator(const GeneratorOptions& options);
  ~TraceGenerator();
  TraceGenerator(const TraceGenerator&) = delete;
  TraceGenerator& operator=(const TraceGenerator&) = delete;

  // The next event; false at the end of the trace.
  [[nodiscard]] bool next(Event& event);

  // Fills from the front; returns how many. Fewer than asked for only at the end.
  [[nodiscard]] std::size_t fill(std::span<Event> events);

  // Names of variables, locks, sites and of the threads met so far.
  [[nodiscard]] const Dictionary& dictionary() const;

 private:
  class Simulation;
  std::unique_ptr<Simulation> simulation_;
};

// The whole trace at once, for short ones.
[[nodiscard]] std::vector<Event> generate_trace(const GeneratorOptions& options);

}  // namespace deadheat
