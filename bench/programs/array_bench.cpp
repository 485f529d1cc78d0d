// SPDX-License-Identifier: Apache-2.0
// Programs of two threads that do little but sweep large arrays, to see what a
// race detector adds to their time and above all to their memory. The first eight
// follow the kernels that the SlimState paper (ASE 2015) measures; the others add
// ways of sharing an array that those lack. docs/benchmarks.md describes them.
//
//   deadheat_array_bench NAME [PERCENT]   run one, with PERCENT of its usual repetitions
//   deadheat_array_bench --list           the names, one per line
//
// array_programs.h says what they have in common. The usual repetitions take one
// to five seconds natively.
#include "array_programs.h"
#include "harness.h"

namespace {

using namespace deadheat::bench;

constexpr Program kPrograms[] = {
    // As in the SlimState paper.
    {"crypt", crypt_bytes, 20},
    {"lu", lu_factorisation, 15},
    {"series", fourier_series, 80},
    {"sor", over_relaxation, 300},
    {"sparse", sparse_multiply, 300},
    {"montecarlo", monte_carlo, 36},
    {"moldyn", molecular_dynamics, 10},
    {"raytracer", ray_tracer, 16},
    // Others.
    {"matmul", matrix_multiply, 24},
    {"stencil", stencil, 400},
    {"fft", fourier_transform, 16},
    {"mergesort", merge_sort, 16},
    {"compress", compress_blocks, 25},
    {"bfs", breadth_first_search, 16},
};

}  // namespace

int main(int argc, char** argv) { return run_program(kPrograms, argc, argv); }
