// transposed_copy.h with AVX-512: blocks of 16 x 16, masked at the edges.
#include "runtime/transposed_copy.h"

#if defined(__x86_64__)
#include "runtime/avx512_begin.h"

namespace cleave::runtime {
namespace {

#include "runtime/transpose_avx512.h"

constexpr int64_t lanes = 16;

__mmask16 first_lanes(int64_t count) {
  return count >= lanes ? __mmask16{0xffff} : static_cast<__mmask16>((1u << count) - 1u);
}

void copy(const TransposedCopy& t) {
  for (int64_t c = 0; c < t.columns; c += lanes)
    for (int64_t r = 0; r < t.rows; r += lanes) {
      const int64_t rows = t.rows - r, columns = t.columns - c;
      const __mmask16 read = first_lanes(columns), written = first_lanes(rows);
      const float* from = t.from + r * t.from_row + c;
      __m512 x[lanes];
#pragma GCC unroll 16
      for (int64_t i = 0; i < lanes; ++i)
        x[i] = i < rows ? _mm512_maskz_loadu_ps(read, from + i * t.from_row) : _mm512_setzero_ps();
      transpose(x);
      const int64_t at = c * t.to_row + r;
      if (t.added != nullptr) {
#pragma GCC unroll 16
        for (int64_t i = 0; i < lanes; ++i)
          if (i < columns)
            x[i] = _mm512_add_ps(x[i], _mm512_maskz_loadu_ps(written, t.added + at + i * t.to_row));
      }
      if (t.relu) {  // NaN and -0 stay
#pragma GCC unroll 16
        for (int64_t i = 0; i < lanes; ++i) x[i] = _mm512_max_ps(_mm512_setzero_ps(), x[i]);
      }
#pragma GCC unroll 16
      for (int64_t i = 0; i < lanes; ++i)
        if (i < columns) _mm512_mask_storeu_ps(t.to + at + i * t.to_row, written, x[i]);
    }
}

}  // namespace

constinit const CopyTransposed copy_transposed_avx512 = copy;

}  // namespace cleave::runtime

#include "runtime/target_end.h"
#else
namespace cleave::runtime {
constinit const CopyTransposed copy_transposed_avx512 = nullptr;
}  // namespace cleave::runtime
#endif
