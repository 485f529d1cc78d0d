// SPDX-License-Identifier: Apache-2.0
// Fourier coefficients of a function by numerical integration, and the fast
// Fourier transform of an array.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "array_programs.h"

namespace deadheat::bench {
namespace {

constexpr std::size_t kCoefficients = 1000;
constexpr int kIntervals = 500;

enum class Wave : std::uint8_t { kCosine, kSine };

// The integral from 0 to 2 of (x + 1)^x times a wave, by the trapezoidal rule.
double integrate(double frequency, Wave wave) {
  constexpr double kWidth = 2.0 / kIntervals;
  double sum = 0;
  for (int step = 0; step <= kIntervals; ++step) {
    const double x = step * kWidth;
    const double phase = frequency * x;
    const double height = std::pow(x + 1, x) * (wave == Wave::kCosine ? std::cos(phase) : std::sin(phase));
    sum += step == 0 || step == kIntervals ? height / 2 : height;
  }
  return sum * kWidth;
}

// The stretch of the function differs by repetition, or all would be the same.
void integrate_all(double* cosines, double* sines, Slice coefficients, int repetition) {
  const double base = std::numbers::pi * (1 + repetition * 0.01);
  for (std::size_t at = coefficients.begin; at < coefficients.end; ++at) {
    cosines[at] += integrate(base * static_cast<double>(at), Wave::kCosine);
    sines[at] += integrate(base * static_cast<double>(at), Wave::kSine);
  }
}

constexpr unsigned kPointBits = 20;
constexpr std::size_t kPoints = std::size_t{1} << kPointBits;

// Not std::complex, whose multiplication calls the library for the sake of infinities.
struct Complex {
  double real = 0;
  double imaginary = 0;
};

Complex operator+(Complex a, Complex b) { return {a.real + b.real, a.imaginary + b.imaginary}; }
Complex operator-(Complex a, Complex b) { return {a.real - b.real, a.imaginary - b.imaginary}; }
Complex operator*(Complex a, Complex b) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

enum class Direction : std::uint8_t { kForward, kBackward };

std::size_t reverse_bits(std::size_t number) {
  std::size_t reversed = 0;
  for (unsigned bit = 0; bit < kPointBits; ++bit) reversed |= (number >> bit & 1) << (kPointBits - 1 - bit);
  return reversed;
}

// Each pair belongs to the thread that has its smaller index.
void reorder(Complex* points, Slice own) {
  for (std::size_t at = own.begin; at < own.end; ++at) {
    const std::size_t other = reverse_bits(at);
    if (at < other) std::swap(points[at], points[other]);
  }
}

// One stage: butterflies of points that are `half` apart, numbered in the order of memory.
void combine(Complex* points, const Complex* roots, std::size_t half, Slice butterflies, Direction direction) {
  for (std::size_t number = butterflies.begin; number < butterflies.end; ++number) {
    const std::size_t offset = number & (half - 1);
    const std::size_t low = 2 * number - offset;
    Complex root = roots[offset * (kPoints / 2 / half)];
    if (direction == Direction::kBackward) root.imaginary = -root.imaginary;
    const Complex even = points[low];
    const Complex odd = root * points[low + half];
    points[low] = even + odd;
    points[low + half] = even - odd;
  }
}

void transform(Complex* points, const Complex* roots, Direction direction, std::size_t self, Barrier& barrier) {
  reorder(points, slice_of(kPoints, self));
  barrier.wait();
  for (std::size_t half = 1; half < kPoints; half *= 2) {
    combine(points, roots, half, slice_of(kPoints / 2, self), direction);
    barrier.wait();
  }
}

void scale(Complex* points, Slice own) {
  for (std::size_t at = own.begin; at < own.end; ++at) {
    points[at].real /= kPoints;
    points[at].imaginary /= kPoints;
  }
}

std::vector<Complex> roots_of_unity() {
  std::vector<Complex> roots(kPoints / 2);
  for (std::size_t at = 0; at < roots.size(); ++at) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(at) / kPoints;
    roots[at] = {std::cos(angle), std::sin(angle)};
  }
  return roots;
}

}  // namespace

// Computes much and stores little: 16 KB.
std::uint64_t fourier_series(int repetitions) {
  std::vector<double> cosines(kCoefficients);
  std::vector<double> sines(kCoefficients);
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      integrate_all(cosines.data(), sines.data(), slice_of(kCoefficients, self), repetition);
      barrier.wait();
    }
  });
  Digest digest;
  digest.add_all(cosines);
  digest.add_all(sines);
  return digest.value();
}

// There and back, iterative and in place. What a thread owns changes from stage to stage. 24 MB.
std::uint64_t fourier_transform(int repetitions) {
  const std::vector<Complex> roots = roots_of_unity();
  std::vector<Complex> points(kPoints);
  Random random;
  for (Complex& point : points) point.real = random.next_fraction();
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      transform(points.data(), roots.data(), Direction::kForward, self, barrier);
      transform(points.data(), roots.data(), Direction::kBackward, self, barrier);
      scale(points.data(), slice_of(kPoints, self));
      barrier.wait();
    }
  });
  Random again;
  Digest digest;
  for (const Complex& point : points) {
    if (std::abs(point.real - again.next_fraction()) > 1e-9) fail("the transform there and back changes the points");
    digest.add(std::bit_cast<std::uint64_t>(point.real));
  }
  return digest.value();
}

}  // namespace deadheat::bench
