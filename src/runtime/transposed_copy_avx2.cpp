// transposed_copy.h with AVX2: blocks of 8 x 8, and numbers one by one at the edges.
#include "runtime/transposed_copy.h"

#if defined(__x86_64__)
#include "runtime/avx2_begin.h"

namespace cleave::runtime {
namespace {

constexpr int64_t lanes = 8;

void copy_block(const float* from, int64_t from_row, float* to, int64_t to_row) {
  __m256 x[lanes], y[lanes];
#pragma GCC unroll 8
  for (int64_t i = 0; i < lanes; ++i) x[i] = _mm256_loadu_ps(from + i * from_row);
#pragma GCC unroll 4
  for (int64_t i = 0; i < lanes; i += 2) {
    y[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
    y[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
  }
#pragma GCC unroll 2
  for (int64_t i = 0; i < lanes; i += 4) {
    x[i] = _mm256_shuffle_ps(y[i], y[i + 2], 0x44);
    x[i + 1] = _mm256_shuffle_ps(y[i], y[i + 2], 0xee);
    x[i + 2] = _mm256_shuffle_ps(y[i + 1], y[i + 3], 0x44);
    x[i + 3] = _mm256_shuffle_ps(y[i + 1], y[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int64_t i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * to_row, _mm256_permute2f128_ps(x[i], x[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * to_row, _mm256_permute2f128_ps(x[i], x[i + 4], 0x31));
  }
}

void copy(const TransposedCopy& t) {
  for (int64_t c = 0; c < t.columns; c += lanes)
    for (int64_t r = 0; r < t.rows; r += lanes) {
      const int64_t rows = t.rows - r < lanes ? t.rows - r : lanes;
      const int64_t columns = t.columns - c < lanes ? t.columns - c : lanes;
      const float* from = t.from + r * t.from_row + c;
      float* to = t.to + c * t.to_row + r;
      if (rows == lanes && columns == lanes) {
        copy_block(from, t.from_row, to, t.to_row);
        continue;
      }
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = 0; i < rows; ++i) to[j * t.to_row + i] = from[i * t.from_row + j];
    }
}

}  // namespace

constinit const CopyTransposed copy_transposed_avx2 = copy;

}  // namespace cleave::runtime

#include "runtime/target_end.h"
#else
namespace cleave::runtime {
constinit const CopyTransposed copy_transposed_avx2 = nullptr;
}  // namespace cleave::runtime
#endif
