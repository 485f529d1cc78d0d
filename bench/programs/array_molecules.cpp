// SPDX-License-Identifier: Apache-2.0
// Molecular dynamics: particles in a box without walls (who leaves on one side
// comes back on the other) push and pull their neighbours by the Lennard-Jones
// force. A step moves the particles, sorts them by the cell of the box they are
// in, and adds up forces from this and the adjacent cells. Each thread has half of
// the particles, whose neighbours are anywhere. Positions, velocities and forces
// are arrays of three numbers per particle. 20 MB.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "array_programs.h"

namespace deadheat::bench {
namespace {

constexpr std::size_t kParticlesPerSide = 64;
constexpr std::size_t kParticles = kParticlesPerSide * kParticlesPerSide * kParticlesPerSide;
constexpr double kSpacing = 1.1;
constexpr double kBox = kParticlesPerSide * kSpacing;
constexpr std::size_t kCellsPerSide = 35;
constexpr std::size_t kCells = kCellsPerSide * kCellsPerSide * kCellsPerSide;
constexpr double kReach = kBox / kCellsPerSide;
constexpr double kTimeStep = 0.002;

struct Box {
  std::vector<double> positions = std::vector<double>(3 * kParticles);
  std::vector<double> velocities = std::vector<double>(3 * kParticles);
  std::vector<double> forces = std::vector<double>(3 * kParticles);
  // The particles of cell c are sorted[begins[c]] to before sorted[begins[c + 1]].
  std::vector<std::uint32_t> begins = std::vector<std::uint32_t>(kCells + 1);
  std::vector<std::uint32_t> sorted = std::vector<std::uint32_t>(kParticles);
};

// On a lattice, with random velocities.
void place(Box& box) {
  Random random;
  for (std::size_t particle = 0; particle < kParticles; ++particle) {
    const std::array<std::size_t, 3> place = {particle / kParticlesPerSide / kParticlesPerSide,
                                              particle / kParticlesPerSide % kParticlesPerSide,
                                              particle % kParticlesPerSide};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      box.positions[3 * particle + axis] = (static_cast<double>(place[axis]) + 0.5) * kSpacing;
      box.velocities[3 * particle + axis] = 2 * random.next_fraction() - 1;
    }
  }
}

void move(double* positions, double* velocities, const double* forces, Slice numbers) {
  for (std::size_t at = numbers.begin; at < numbers.end; ++at) {
    velocities[at] += forces[at] * kTimeStep;
    double position = positions[at] + velocities[at] * kTimeStep;
    if (position < 0) position += kBox;
    if (position >= kBox) position -= kBox;
    positions[at] = position;
  }
}

std::size_t cell_along(double position) {
  const auto cell = static_cast<std::size_t>(position / kReach);
  return cell < kCellsPerSide ? cell : kCellsPerSide - 1;
}

std::size_t cell_of(const double* position) {
  return (cell_along(position[0]) * kCellsPerSide + cell_along(position[1])) * kCellsPerSide + cell_along(position[2]);
}

// Counts the particles of each cell, makes places of the counts, fills the places.
void sort_into_cells(const double* positions, std::uint32_t* begins, std::uint32_t* sorted) {
  for (std::size_t cell = 0; cell <= kCells; ++cell) begins[cell] = 0;
  for (std::size_t particle = 0; particle < kParticles; ++particle) ++begins[cell_of(positions + 3 * particle)];
  for (std::size_t cell = 1; cell <= kCells; ++cell) begins[cell] += begins[cell - 1];
  for (std::size_t particle = kParticles; particle-- > 0;) {
    sorted[--begins[cell_of(positions + 3 * particle)]] = static_cast<std::uint32_t>(particle);
  }
}

// The distance along one axis, by the shorter way around.
double shortest(double distance) {
  if (distance > kBox / 2) return distance - kBox;
  if (distance < -kBox / 2) return distance + kBox;
  return distance;
}

using Vector = std::array<double, 3>;

// Adds the pull of one particle at `other` on one at `here`.
void attract(const Vector& here, const double* other, Vector& force) {
  const Vector apart = {shortest(here[0] - other[0]), shortest(here[1] - other[1]), shortest(here[2] - other[2])};
  const double square = apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2];
  if (square >= kReach * kReach || square == 0) return;
  const double inverse = 1 / square;
  const double sixth = inverse * inverse * inverse;
  const double strength = 48 * sixth * (sixth - 0.5) * inverse;
  for (std::size_t axis = 0; axis < 3; ++axis) force[axis] += strength * apart[axis];
}

Vector force_on(const double* position, const double* positions, const std::uint32_t* begins,
                const std::uint32_t* sorted) {
  const Vector here = {position[0], position[1], position[2]};
  const std::array<std::size_t, 3> middle = {cell_along(here[0]), cell_along(here[1]), cell_along(here[2])};
  Vector force{};
  for (std::size_t neighbour = 0; neighbour < 27; ++neighbour) {
    // One less, the same and one more, modulo the number of cells.
    const std::size_t x = (middle[0] + neighbour / 9 + kCellsPerSide - 1) % kCellsPerSide;
    const std::size_t y = (middle[1] + neighbour / 3 % 3 + kCellsPerSide - 1) % kCellsPerSide;
    const std::size_t z = (middle[2] + neighbour % 3 + kCellsPerSide - 1) % kCellsPerSide;
    const std::size_t cell = (x * kCellsPerSide + y) * kCellsPerSide + z;
    const std::uint32_t end = begins[cell + 1];
    for (std::uint32_t at = begins[cell]; at < end; ++at) {
      attract(here, positions + 3 * std::size_t{sorted[at]}, force);
    }
  }
  return force;
}

void add_up_forces(const double* positions, const std::uint32_t* begins, const std::uint32_t* sorted, double* forces,
                   Slice particles) {
  for (std::size_t particle = particles.begin; particle < particles.end; ++particle) {
    const Vector force = force_on(positions + 3 * particle, positions, begins, sorted);
    for (std::size_t axis = 0; axis < 3; ++axis) forces[3 * particle + axis] = force[axis];
  }
}

}  // namespace

std::uint64_t molecular_dynamics(int repetitions) {
  Box box;
  place(box);
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    const Slice particles = slice_of(kParticles, self);
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      move(box.positions.data(), box.velocities.data(), box.forces.data(), {3 * particles.begin, 3 * particles.end});
      barrier.wait();
      if (self == 0) sort_into_cells(box.positions.data(), box.begins.data(), box.sorted.data());
      barrier.wait();
      add_up_forces(box.positions.data(), box.begins.data(), box.sorted.data(), box.forces.data(), particles);
      barrier.wait();
    }
  });
  Digest digest;
  digest.add_all(box.positions);
  digest.add_all(box.forces);
  return digest.value();
}

}  // namespace deadheat::bench
