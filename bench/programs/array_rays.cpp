// SPDX-License-Identifier: Apache-2.0
// A ray tracer: spheres, one lamp, shadows and mirror images. The threads take the
// rows of the image in turn. The image is one array of three numbers per point,
// 24 MB; the spheres are read by both threads for every ray.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "array_programs.h"

namespace deadheat::bench {
namespace {

constexpr std::size_t kSide = 1024;
constexpr std::size_t kSpheresPerSide = 3;
constexpr std::size_t kSpheres = kSpheresPerSide * kSpheresPerSide * kSpheresPerSide;
constexpr int kMirrors = 3;

struct Vector {
  double x = 0;
  double y = 0;
  double z = 0;
};

Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Vector operator*(double a, Vector b) { return {a * b.x, a * b.y, a * b.z}; }
double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vector unit(Vector a) { return (1 / std::sqrt(dot(a, a))) * a; }

struct Sphere {
  Vector centre;
  double radius = 0;
  Vector colour;
};

struct Ray {
  Vector origin;
  Vector direction;  // of length 1
};

struct Hit {
  const Sphere* sphere = nullptr;
  double distance = 1e30;
};

// The nearest sphere that a ray meets.
Hit nearest(const Sphere* spheres, const Ray& ray) {
  constexpr double kTooNear = 1e-6;  // the sphere that the ray begins on
  Hit hit;
  for (std::size_t at = 0; at < kSpheres; ++at) {
    const Vector to_centre = spheres[at].centre - ray.origin;
    const double middle = dot(to_centre, ray.direction);
    const double radius = spheres[at].radius;
    const double half_chord = radius * radius - dot(to_centre, to_centre) + middle * middle;
    if (middle < 0 || half_chord < 0) continue;
    const double distance = middle - std::sqrt(half_chord);
    if (distance > kTooNear && distance < hit.distance) hit = {&spheres[at], distance};
  }
  return hit;
}

Vector trace(const Sphere* spheres, Ray ray) {
  constexpr Vector kLamp = {-6, 9, -8};
  constexpr Vector kSky = {0.1, 0.15, 0.3};
  constexpr double kMirrored = 0.4;
  Vector colour;
  double weight = 1;
  for (int mirror = 0; mirror <= kMirrors; ++mirror, weight *= kMirrored) {
    const Hit hit = nearest(spheres, ray);
    if (hit.sphere == nullptr) return colour + weight * kSky;
    const Vector place = ray.origin + hit.distance * ray.direction;
    const Vector normal = unit(place - hit.sphere->centre);
    const Vector to_lamp = unit(kLamp - place);
    const double slant = dot(normal, to_lamp);
    const bool is_lit = slant > 0 && nearest(spheres, {place, to_lamp}).sphere == nullptr;
    colour = colour + (weight * (is_lit ? 0.1 + 0.9 * slant : 0.1)) * hit.sphere->colour;
    ray = {place, ray.direction - (2 * dot(ray.direction, normal)) * normal};
  }
  return colour;
}

// The eye comes a little nearer with each repetition.
void draw_row(const Sphere* spheres, double* image, std::size_t row, int repetition) {
  const Vector eye = {0.2, 0.3, -9 + 0.05 * (repetition % 20)};
  for (std::size_t column = 0; column < kSide; ++column) {
    const Vector point = {6.0 * static_cast<double>(column) / kSide - 3, 3 - 6.0 * static_cast<double>(row) / kSide,
                          -2};
    const Vector colour = trace(spheres, {eye, unit(point - eye)});
    double* target = image + 3 * (row * kSide + column);
    target[0] = colour.x;
    target[1] = colour.y;
    target[2] = colour.z;
  }
}

std::vector<Sphere> make_spheres() {
  std::vector<Sphere> spheres(kSpheres);
  Random random;
  for (std::size_t at = 0; at < kSpheres; ++at) {
    const auto along = [](std::size_t place) { return 2.0 * static_cast<double>(place % kSpheresPerSide) - 2; };
    spheres[at].centre = {along(at), along(at / kSpheresPerSide), along(at / kSpheresPerSide / kSpheresPerSide)};
    spheres[at].radius = 0.6 + 0.3 * random.next_fraction();
    spheres[at].colour = {random.next_fraction(), random.next_fraction(), random.next_fraction()};
  }
  return spheres;
}

}  // namespace

std::uint64_t ray_tracer(int repetitions) {
  const std::vector<Sphere> spheres = make_spheres();
  std::vector<double> image(3 * kSide * kSide);
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      for (std::size_t row = self; row < kSide; row += kThreads) {
        draw_row(spheres.data(), image.data(), row, repetition);
      }
      barrier.wait();
    }
  });
  Digest digest;
  digest.add_all(image);
  return digest.value();
}

}  // namespace deadheat::bench
