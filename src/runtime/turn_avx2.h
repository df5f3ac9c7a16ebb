// Transposes 8 x 8 blocks of f32 in registers: columns of B that lie one after the other become a
// panel of `nr` columns, k after k. Included by gemm_block_avx2.cpp and gemm_block_avx512.cpp.

// to[p * nr + j] = from[j * column + p], j and p in [0, 8).
inline void turn_8x8(const float* from, int64_t column, float* to, int64_t nr) {
  __m256 r[8], s[8];
  for (int j = 0; j < 8; ++j) r[j] = _mm256_loadu_ps(from + j * column);
  for (int j = 0; j < 8; j += 2) {
    s[j] = _mm256_unpacklo_ps(r[j], r[j + 1]);      // 0a 0b 1a 1b | 4a 4b 5a 5b
    s[j + 1] = _mm256_unpackhi_ps(r[j], r[j + 1]);  // 2a 2b 3a 3b | 6a 6b 7a 7b
  }
  for (int j = 0; j < 8; j += 4) {
    r[j] = _mm256_shuffle_ps(s[j], s[j + 2], 0x44);          // 0a 0b 0c 0d | 4a 4b 4c 4d
    r[j + 1] = _mm256_shuffle_ps(s[j], s[j + 2], 0xee);      // 1 | 5
    r[j + 2] = _mm256_shuffle_ps(s[j + 1], s[j + 3], 0x44);  // 2 | 6
    r[j + 3] = _mm256_shuffle_ps(s[j + 1], s[j + 3], 0xee);  // 3 | 7
  }
  for (int p = 0; p < 4; ++p) {
    _mm256_storeu_ps(to + p * nr, _mm256_permute2f128_ps(r[p], r[p + 4], 0x20));
    _mm256_storeu_ps(to + (p + 4) * nr, _mm256_permute2f128_ps(r[p], r[p + 4], 0x31));
  }
}

// How many steps of k were turned: the greatest multiple of 8.
template <int64_t nr>
int64_t turn_f32(const float* b, int64_t b_col, int64_t k, float* to) {
  const int64_t whole = k / 8 * 8;
  for (int64_t p = 0; p < whole; p += 8)
    for (int64_t j = 0; j < nr; j += 8) turn_8x8(b + j * b_col + p, b_col, to + p * nr + j, nr);
  return whole;
}
