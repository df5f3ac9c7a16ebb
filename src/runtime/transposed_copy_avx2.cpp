// transposed_copy.h with AVX2: blocks of 8 x 8, and numbers one by one at the edges.
#include "runtime/transposed_copy.h"

#if defined(__x86_64__)
#include "runtime/avx2_begin.h"

namespace cleave::runtime {
namespace {

constexpr int64_t lanes = 8;

#include "runtime/transpose_avx2.h"

__m256 end_of(__m256 x, const float* added, bool relu) {
  if (added != nullptr) x = _mm256_add_ps(x, _mm256_loadu_ps(added));
  return relu ? _mm256_max_ps(_mm256_setzero_ps(), x) : x;  // NaN and -0 stay
}

void copy_block(const TransposedCopy& t, const float* from, int64_t at) {
  __m256 x[lanes];
#pragma GCC unroll 8
  for (int64_t i = 0; i < lanes; ++i) x[i] = _mm256_loadu_ps(from + i * t.from_row);
  transpose(x);
#pragma GCC unroll 8
  for (int64_t i = 0; i < lanes; ++i) {
    const int64_t k = at + i * t.to_row;
    _mm256_storeu_ps(t.to + k, end_of(x[i], t.added == nullptr ? nullptr : t.added + k, t.relu));
  }
}

void copy(const TransposedCopy& t) {
  for (int64_t c = 0; c < t.columns; c += lanes)
    for (int64_t r = 0; r < t.rows; r += lanes) {
      const int64_t rows = t.rows - r < lanes ? t.rows - r : lanes;
      const int64_t columns = t.columns - c < lanes ? t.columns - c : lanes;
      const float* from = t.from + r * t.from_row + c;
      const int64_t at = c * t.to_row + r;
      if (rows == lanes && columns == lanes) {
        copy_block(t, from, at);
        continue;
      }
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = 0; i < rows; ++i) {
          float x = from[i * t.from_row + j];
          if (t.added != nullptr) x += t.added[at + j * t.to_row + i];
          t.to[at + j * t.to_row + i] = t.relu && x < 0 ? 0 : x;
        }
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
