// Products by the tiles of AMX (gemm_amx_code.h draws them) of operands that lie in scratch as
// lines and pairs (attention_amx_scratch.h), and how they are packed.

constexpr int64_t step = 32;  // values of k that an instruction sums

using PairVec = Vec<Bf16Pair>;

// a(i, p) = at[i * row + p]
struct Lines {
  const Bf16* at;
  int64_t row;
};
// b(p, j) = at[p / 2 * row + 2 * j + p % 2]
struct Pairs {
  const Bf16* at;
  int64_t row;
};

// --- Products ------------------------------------------------------------------------------------

// 32 x 32 sums over 32 * steps values of k.
__attribute__((noinline)) void sum_square(int64_t steps, const Lines& a, const Pairs& b, float* c,
                                          int64_t c_row, bool add) {
  constexpr auto size = static_cast<int64_t>(sizeof(Bf16));
  const int64_t a_bytes = a.row * size, b_bytes = b.row * size;
  const int64_t c_bytes = c_row * static_cast<int64_t>(sizeof(float));
  float* const low = c + 16 * c_row;
  if (add) {
    _tile_loadd(0, c, c_bytes);
    _tile_loadd(1, c + 16, c_bytes);
    _tile_loadd(2, low, c_bytes);
    _tile_loadd(3, low + 16, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const Bf16 *lines = a.at, *pairs = b.at;
  for (; steps > 0; --steps, lines += step, pairs += step / 2 * b.row) {
    _tile_loadd(6, pairs, b_bytes);
    _tile_loadd(4, lines, a_bytes);
    _tile_loadd(7, pairs + 2 * 16, b_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, lines + 16 * a.row, a_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, c_bytes);
  _tile_stored(1, c + 16, c_bytes);
  _tile_stored(2, low, c_bytes);
  _tile_stored(3, low + 16, c_bytes);
}

// c (+)= a b, all sizes multiples of 32.
inline void sum_by_tiles(int64_t rows, int64_t columns, int64_t k, const Lines& a, const Pairs& b,
                         float* c, int64_t c_row, bool add) {
  memory_is_read();
  for (int64_t j = 0; j < columns; j += 32)
    for (int64_t i = 0; i < rows; i += 32)
      sum_square(k / step, {a.at + i * a.row, a.row}, {b.at + 2 * j, b.row}, c + i * c_row + j,
                 c_row, add);
}

// Whether scores must be scaled before they are masked and compared; else that is part of exp's
// argument.
inline bool scales_first(const AttentionSpec& spec) {
  const bool adds = spec.mask && *spec.mask != DType::boolean;
  return adds || !(spec.scale > 0);
}

// Rows of a panel, times factor.
inline void scale_rows(float* rows, int64_t count, float factor) {
  const Float by = broadcast(factor);
  for (int64_t x = 0; x < count * panel; x += lanes)
    Floats::store(rows + x, Floats::load(rows + x) * by);
}

// --- Packing -------------------------------------------------------------------------------------

inline void clear_numbers(Bf16* at, int64_t count) {
  std::memset(static_cast<void*>(at), 0, static_cast<size_t>(count) * sizeof(Bf16));
}

// `count` rows of `width` numbers as lines of `row`, and lines of zeros up to `all`.
__attribute__((noinline)) inline void copy_lines(const Bf16* from, const HeadStrides& at,
                                                 int64_t count, int64_t all, int64_t width,
                                                 Bf16* to, int64_t row) {
  constexpr int64_t soon = 8;  // rows: they are too far apart for the processor's own prefetches
  for (int64_t i = 0; i < count; ++i, from += at.row, to += row) {
    if (at.column != 1) {
      for (int64_t e = 0; e < width; ++e) to[e] = from[e * at.column];
      clear_numbers(to + width, row - width);
      continue;
    }
    for (int64_t e = 0; e < row; e += 32) {
      const int64_t left = width - e;
      const __mmask32 which = left >= 32 ? 0xffffffffu : (1u << left) - 1;
      __builtin_prefetch(from + soon * at.row + e);
      _mm512_storeu_si512(to + e, _mm512_maskz_loadu_epi16(which, from + e));
    }
  }
  clear_numbers(to, (all - count) * row);
}

inline __m256i sixteen(const Bf16* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// Lines as columns: to(e, p) = from(p, e), p < k, e < width.
__attribute__((noinline)) inline void turn_lines(const Lines& from, int64_t k, int64_t width,
                                                 Bf16* to, int64_t row) {
  for (int64_t p = 0; p < k; p += 32)
    for (int64_t e = 0; e < width; e += 16) {
      __m512 x[16];
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        const Bf16* pair = from.at + (p + 2 * i) * from.row + e;
        x[i] = _mm512_castsi512_ps(PairVec::interleaved(sixteen(pair), sixteen(pair + from.row)));
      }
      transpose(x);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) _mm512_storeu_ps(to + (e + i) * row + p, x[i]);
    }
}

// Lines as the values of k: to(p, e) = from(p, e), in pairs; dense.
__attribute__((noinline)) inline void pair_lines(const Lines& from, int64_t k, int64_t width,
                                                 Bf16* to) {
  for (int64_t p = 0; p < k; p += 2)
    for (int64_t e = 0; e < width; e += 16, to += 32) {
      const Bf16* pair = from.at + p * from.row + e;
      _mm512_storeu_si512(to, PairVec::interleaved(sixteen(pair), sixteen(pair + from.row)));
    }
}

// A panel of 32 lines as columns: to(p, j) = from(j, p), in pairs, which are turned like f32;
// dense.
inline void turn_panel(const Lines& from, int64_t width, Bf16* to) {
  Floats::transpose_columns(reinterpret_cast<const float*>(from.at), from.row / 2, width / 2,
                            reinterpret_cast<float*>(to));
}

// Rounds two rows of sixteen numbers: the first is the lower half.
inline __m512i round_rows(Float first, Float second) {
  return (__m512i)_mm512_cvtne2ps_pbh(second, first);
}
// The rows that round_rows made, as pairs.
inline __m512i pairs_of(__m512i rows) {
  alignas(64) static constexpr uint16_t order[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                     21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                     11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_permutexvar_epi16(_mm512_load_si512(order), rows);
}

// --- Results -------------------------------------------------------------------------------------

// Up to sixteen numbers, `column` apart.
inline void store_numbers(Float x, int64_t count, int64_t column, Bf16* to) {
  const auto y = (__m256i)_mm512_cvtneps_pbh(x);
  if (column == 1) {
    const auto which = static_cast<__mmask16>((1u << min_of(count, 16)) - 1);
    _mm256_mask_storeu_epi16(to, which, y);
    return;
  }
  alignas(32) Bf16 numbers[16];
  _mm256_store_si256(reinterpret_cast<__m256i*>(numbers), y);
  for (int64_t e = 0; e < min_of(count, 16); ++e) to[e * column] = numbers[e];
}

// A panel of sums, [rounded width, 32], as up to 32 rows of a result; `load(e, q)` gives those of
// sixteen rows from q on.
template <class Load>
void store_turned(int64_t rows, int64_t width, const HeadStrides& at, Bf16* to, const Load& load) {
  for (int64_t q = 0; q < rows; q += 16)
    for (int64_t e = 0; e < width; e += 16) {
      __m512 x[16];
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) x[i] = load(e + i, q);
      transpose(x);
      for (int64_t i = 0; i < min_of(16, rows - q); ++i)
        store_numbers(x[i], width - e, at.column, to + (q + i) * at.row + e * at.column);
    }
}
