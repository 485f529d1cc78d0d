// SPDX-License-Identifier: Apache-2.0
// Linear algebra: LU factorisation and multiplication of dense matrices, and a
// sparse matrix times a vector. Dense matrices are one array, row after row.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "array_programs.h"

namespace deadheat::bench {
namespace {

constexpr std::size_t kLuSide = 1024;
constexpr std::size_t kProductSide = 768;

std::vector<double> random_numbers(std::size_t count, std::uint64_t seed) {
  std::vector<double> numbers(count);
  Random random(seed);
  for (double& number : numbers) number = random.next_fraction() - 0.5;
  return numbers;
}

// Puts the row with the largest element of the column, from the diagonal down, on the diagonal.
void choose_pivot(double* matrix, std::size_t column, std::uint32_t* pivots) {
  std::size_t best = column;
  for (std::size_t row = column + 1; row < kLuSide; ++row) {
    if (std::abs(matrix[row * kLuSide + column]) > std::abs(matrix[best * kLuSide + column])) best = row;
  }
  pivots[column] = static_cast<std::uint32_t>(best);
  if (best == column) return;
  std::swap_ranges(matrix + column * kLuSide, matrix + (column + 1) * kLuSide, matrix + best * kLuSide);
}

// Takes the row of the diagonal off one row below it and leaves the factor in its place.
void eliminate(double* matrix, std::size_t row, std::size_t column) {
  const double* diagonal = matrix + column * kLuSide;
  double* target = matrix + row * kLuSide;
  const double factor = target[column] / diagonal[column];
  target[column] = factor;
  for (std::size_t at = column + 1; at < kLuSide; ++at) target[at] -= factor * diagonal[at];
}

// The threads take turns at the pivots, and every second row below is a thread's own.
void factorise(double* matrix, std::uint32_t* pivots, std::size_t self, Barrier& barrier) {
  for (std::size_t column = 0; column < kLuSide; ++column) {
    if (column % kThreads == self) choose_pivot(matrix, column, pivots);
    barrier.wait();
    for (std::size_t row = column + 1; row < kLuSide; ++row) {
      if (row % kThreads == self) eliminate(matrix, row, column);
    }
    barrier.wait();
  }
}

// c += a * b, some rows of it, the inner loop along rows.
void multiply_rows(const double* a, const double* b, double* c, Slice rows) {
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    for (std::size_t k = 0; k < kProductSide; ++k) {
      const double factor = a[i * kProductSide + k];
      for (std::size_t j = 0; j < kProductSide; ++j) c[i * kProductSide + j] += factor * b[k * kProductSide + j];
    }
  }
}

// Compressed rows: the elements of row r are those from begins[r] to before begins[r + 1].
struct SparseMatrix {
  std::vector<std::uint32_t> begins;
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
};

constexpr std::size_t kSparseSide = 400000;
constexpr std::size_t kSparseElements = 3000000;

// Rows of zero to fifteen elements at random columns.
SparseMatrix random_sparse_matrix() {
  SparseMatrix matrix{{}, {}, random_numbers(kSparseElements, 3)};
  matrix.begins.resize(kSparseSide + 1);
  matrix.columns.resize(kSparseElements);
  Random random;
  std::uint32_t element = 0;
  for (std::size_t row = 0; row < kSparseSide; ++row) {
    matrix.begins[row] = element;
    element = std::min(element + random.next() % 16, static_cast<std::uint32_t>(kSparseElements));
  }
  matrix.begins[kSparseSide] = element;
  for (std::uint32_t& column : matrix.columns) column = random.next() % kSparseSide;
  return matrix;
}

// y += matrix * x, some rows of it.
void multiply_sparse_rows(const std::uint32_t* begins, const std::uint32_t* columns, const double* values,
                          const double* x, double* y, Slice rows) {
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    for (std::size_t at = begins[row]; at < begins[row + 1]; ++at) y[row] += values[at] * x[columns[at]];
  }
}

}  // namespace

// 16 MB.
std::uint64_t lu_factorisation(int repetitions) {
  const std::vector<double> original = random_numbers(kLuSide * kLuSide, 1);
  std::vector<double> matrix(kLuSide * kLuSide);
  std::vector<std::uint32_t> pivots(kLuSide);
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    const Slice own = slice_of(kLuSide * kLuSide, self);
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      for (std::size_t at = own.begin; at < own.end; ++at) matrix.data()[at] = original.data()[at];
      barrier.wait();
      factorise(matrix.data(), pivots.data(), self, barrier);
    }
  });
  Digest digest;
  digest.add_all(pivots);
  digest.add_all(matrix);
  return digest.value();
}

// 14 MB; each thread has half of the rows of the product and reads all of one factor.
std::uint64_t matrix_multiply(int repetitions) {
  const std::vector<double> a = random_numbers(kProductSide * kProductSide, 1);
  const std::vector<double> b = random_numbers(kProductSide * kProductSide, 2);
  std::vector<double> c(kProductSide * kProductSide);
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      multiply_rows(a.data(), b.data(), c.data(), slice_of(kProductSide, self));
      barrier.wait();
    }
  });
  Digest digest;
  digest.add_all(c);
  return digest.value();
}

// 44 MB; each thread has half of the rows and reads all of x in no order.
std::uint64_t sparse_multiply(int repetitions) {
  const SparseMatrix matrix = random_sparse_matrix();
  const std::vector<double> x = random_numbers(kSparseSide, 4);
  std::vector<double> y(kSparseSide);
  Barrier barrier;
  in_two_threads([&](std::size_t self) {
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      multiply_sparse_rows(matrix.begins.data(), matrix.columns.data(), matrix.values.data(), x.data(), y.data(),
                           slice_of(kSparseSide, self));
      barrier.wait();
    }
  });
  Digest digest;
  digest.add_all(y);
  return digest.value();
}

}  // namespace deadheat::bench
