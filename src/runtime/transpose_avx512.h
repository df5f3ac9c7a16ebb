// Transposes sixteen vectors in place. Included inside a namespace behind avx512_begin.h.
inline void transpose(__m512 (&x)[16]) {
  __m512 y[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_shuffle_ps(y[i], y[i + 2], 0x44);
    x[i + 1] = _mm512_shuffle_ps(y[i], y[i + 2], 0xee);
    x[i + 2] = _mm512_shuffle_ps(y[i + 1], y[i + 3], 0x44);
    x[i + 3] = _mm512_shuffle_ps(y[i + 1], y[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    y[i] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0x88);
    y[i + 4] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0xdd);
    y[i + 8] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0x88);
    y[i + 12] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0xdd);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    x[i] = _mm512_shuffle_f32x4(y[i], y[i + 8], 0x88);
    x[i + 8] = _mm512_shuffle_f32x4(y[i], y[i + 8], 0xdd);
    x[i + 4] = _mm512_shuffle_f32x4(y[i + 4], y[i + 12], 0x88);
    x[i + 12] = _mm512_shuffle_f32x4(y[i + 4], y[i + 12], 0xdd);
  }
}
