// SPDX-License-Identifier: Apache-2.0
// Breadth-first search, level by level. The graph is an array of edges sorted by
// their first vertex; a vertex belongs to the thread that sets its level by
// compare-and-swap and is noted in that thread's array of the next frontier.
// Which thread it is differs from run to run, the levels do not. 56 MB.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "array_programs.h"

namespace deadheat::bench {
namespace {

constexpr std::uint32_t kVertices = 1U << 20;
constexpr std::uint32_t kEdgesPerVertex = 8;
constexpr std::uint32_t kUnreached = UINT32_MAX;

// The edges of vertex v go to ends[begins[v]] to before ends[begins[v + 1]].
struct Graph {
  std::vector<std::uint32_t> begins = std::vector<std::uint32_t>(kVertices + 1);
  std::vector<std::uint32_t> ends = std::vector<std::uint32_t>(kVertices * kEdgesPerVertex);
};

// One to fifteen edges for a vertex, half of them to places nearby.
Graph random_graph() {
  Graph graph;
  Random random;
  std::uint32_t edge = 0;
  for (std::size_t vertex = 0; vertex < kVertices; ++vertex) {
    graph.begins[vertex] = edge;
    std::uint32_t count = 1 + random.next() % (2 * kEdgesPerVertex - 1);
    for (; count > 0 && edge < graph.ends.size(); --count) {
      const std::uint32_t distance = random.next() % (count % 2 == 0 ? 1024 : kVertices);
      graph.ends[edge++] = static_cast<std::uint32_t>((vertex + distance) % kVertices);
    }
  }
  graph.begins[kVertices] = edge;
  return graph;
}

// Each thread fills a part of its own; together, the parts are the vertices of one level.
struct Frontier {
  std::vector<std::uint32_t> parts[kThreads] = {std::vector<std::uint32_t>(kVertices),
                                                std::vector<std::uint32_t>(kVertices)};
  std::size_t sizes[kThreads] = {};
};

using Levels = std::vector<std::atomic<std::uint32_t>>;

// Relaxed: the level decides only who has the vertex; the barrier orders the rest.
bool claim(std::atomic<std::uint32_t>& vertex_level, std::uint32_t level) {
  std::uint32_t expected = vertex_level.load(std::memory_order_relaxed);
  return expected == kUnreached &&
         vertex_level.compare_exchange_strong(expected, level, std::memory_order_relaxed, std::memory_order_relaxed);
}

// Follows the edges of some vertices of one level; returns how many are noted in `next`.
std::size_t follow(const std::uint32_t* begins, const std::uint32_t* ends, const std::uint32_t* vertices, Slice own,
                   std::atomic<std::uint32_t>* levels, std::uint32_t level, std::uint32_t* next, std::size_t noted) {
  for (std::size_t at = own.begin; at < own.end; ++at) {
    const std::uint32_t vertex = vertices[at];
    const std::uint32_t end = begins[vertex + 1];
    for (std::uint32_t edge = begins[vertex]; edge < end; ++edge) {
      if (claim(levels[ends[edge]], level)) next[noted++] = ends[edge];
    }
  }
  return noted;
}

// Both threads call it, with the same root.
void search(const Graph& graph, std::uint32_t root, Levels& levels, Frontier* frontiers, std::size_t self,
            Barrier& barrier) {
  const Slice own = slice_of(kVertices, self);
  for (std::size_t vertex = own.begin; vertex < own.end; ++vertex) {
    levels.data()[vertex].store(vertex == root ? 0 : kUnreached, std::memory_order_relaxed);
  }
  frontiers[0].sizes[self] = self == 0 ? 1 : 0;
  if (self == 0) frontiers[0].parts[0][0] = root;
  barrier.wait();
  for (std::uint32_t level = 0;; ++level) {
    const Frontier& current = frontiers[level % 2];
    Frontier& next = frontiers[(level + 1) % 2];
    if (current.sizes[0] + current.sizes[1] == 0) return;
    std::size_t noted = 0;
    for (std::size_t part = 0; part < kThreads; ++part) {
      noted = follow(graph.begins.data(), graph.ends.data(), current.parts[part].data(),
                     slice_of(current.sizes[part], self), levels.data(), level + 1, next.parts[self].data(), noted);
    }
    next.sizes[self] = noted;
    barrier.wait();
  }
}

}  // namespace

std::uint64_t breadth_first_search(int repetitions) {
  const Graph graph = random_graph();
  Levels levels(kVertices);
  std::vector<Frontier> frontiers(2);
  std::vector<std::uint64_t> sums(kThreads);
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    const Slice own = slice_of(kVertices, self);
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      const auto root = static_cast<std::uint32_t>(static_cast<std::size_t>(repetition) * 1009 % kVertices);
      barrier.wait();
      search(graph, root, levels, frontiers.data(), self, barrier);
      std::uint64_t sum = 0;
      for (std::size_t vertex = own.begin; vertex < own.end; ++vertex) {
        sum += levels.data()[vertex].load(std::memory_order_relaxed);
      }
      sums[self] += sum;
    }
  });
  Digest digest;
  digest.add_all(sums);
  return digest.value();
}

}  // namespace deadheat::bench
