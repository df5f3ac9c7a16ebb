// Helpers for tests of products: the kernels that this processor can run, their scratch, and
// layouts of operands.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/gemm_block.h"
#include "test/targets.h"

namespace cleave::runtime::test {

inline std::vector<GemmBlockKernel> kernels_for(DType dtype) {
  std::vector<GemmBlockKernel> kernels;
  for (const Target& target : cleave::test::targets_here())
    if (!target.is_native) kernels.push_back(gemm_block_kernel(dtype, target.set));
  return kernels;
}

struct FreeBytes {
  void operator()(void* p) const { std::free(p); }
};
using Scratch = std::unique_ptr<std::byte, FreeBytes>;

// Aligned, and full of NaN.
inline Scratch make_scratch(int64_t bytes) {
  Scratch scratch(static_cast<std::byte*>(
      std::aligned_alloc(64, static_cast<size_t>((bytes + 127) / 64 * 64))));
  std::memset(scratch.get(), 0xff, static_cast<size_t>(bytes));
  return scratch;
}

// A source of panels that reads the same matrix as the product with strides.
struct MatrixPanels {
  const float* b;
  int64_t b_row, k, n, nr;

  static void pack(const void* self, int64_t first_k, int64_t count_k, int64_t first_column,
                   int64_t columns, void* to) {
    const MatrixPanels& m = *static_cast<const MatrixPanels*>(self);
    ASSERT_TRUE(first_k >= 0 && count_k > 0 && first_k + count_k <= m.k);
    ASSERT_TRUE(first_column >= 0 && 0 < columns && columns <= m.nr &&
                first_column + columns <= m.n);
    float* out = static_cast<float*>(to);
    for (int64_t p = 0; p < count_k; ++p)
      for (int64_t j = 0; j < m.nr; ++j)
        *out++ = j < columns ? m.b[(first_k + p) * m.b_row + first_column + j] : 0;
  }
};

enum class Layout { rows, columns, strided };
constexpr Layout layouts[] = {Layout::rows, Layout::columns, Layout::strided};

// Of a matrix, in elements, with gaps.
struct Strides {
  int64_t row = 0, column = 0;
};
inline Strides strides_of(Layout layout, int64_t rows, int64_t columns) {
  switch (layout) {
    case Layout::rows: return {columns + 1, 1};
    case Layout::columns: return {1, rows + 1};
    case Layout::strided: return {3 * columns, 3};
  }
  return {};
}

// Calls expect({m, n, k, layout of A, layout of B}) for all pairs of layouts and several k; m and n
// are no multiples of a tile.
template <class Case, class Expect>
void for_each_layout(const Expect& expect) {
  for (const Layout a : layouts)
    for (const Layout b : layouts)
      for (const int64_t k : {1, 2, 7, 64, 67}) expect(Case{29, 75, k, a, b});
}

}  // namespace cleave::runtime::test
