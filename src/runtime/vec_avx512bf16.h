// Pairs of bf16 for the instruction that sums their products (VDPBF16PS of AVX512_BF16); included
// after vec_avx512.h. For each of sixteen f32 sums: sum + first * first + second * second, rounded
// to nearest even after each of the two additions; operands and results below 2^-126 count as 0.
struct Bf16Pair {
  Bf16 first, second;  // values p and p + 1 of k, p even
};

template <>
struct Vec<Bf16Pair> {
  static constexpr int64_t lanes = 16;
  using type = __m512;
  static type zero() { return _mm512_setzero_ps(); }
  static type broadcast(Bf16Pair x) {
    return _mm512_castsi512_ps(_mm512_set1_epi32(std::bit_cast<int>(x)));
  }
  static type load(const Bf16Pair* from) { return _mm512_loadu_ps(from); }
  static type load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, type v) { _mm512_storeu_ps(to, v); }
  static type add(type x, type y) { return _mm512_add_ps(x, y); }
  static type multiply_add(type x, type y, type z) {
    return _mm512_dpbf16_ps(z, (__m512bh)x, (__m512bh)y);
  }

  static __m512 wide(const Bf16* from) {
    const __m512i x =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
  }
  // Adds to a row of a tile.
  static void add_to(type (&sums)[2], const Bf16* added) {
    sums[0] = add(sums[0], wide(added));
    sums[1] = add(sums[1], wide(added + 16));
  }
  static void store_rounded(Bf16* to, const type (&sums)[2]) {
    _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh(sums[1], sums[0]));
  }

  // Sixteen numbers each of `first` and `second`.
  static __m512i interleaved(__m256i first, __m256i second) {
    const __m512i low = _mm512_cvtepu16_epi32(first), high = _mm512_cvtepu16_epi32(second);
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
  }
  static void store_pairs(Bf16Pair* to, __mmask16 which, __m256i first, __m256i second) {
    _mm512_mask_storeu_epi32(to, which, interleaved(first, second));
  }
  static __m256i load_bf16(const Bf16* from, __mmask16 which) {
    return _mm256_maskz_loadu_epi16(which, from);
  }
  static __m256i load_bf16(const float* from, __mmask16 which) {
    return (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(which, from));
  }
  static __m256i load_bf16(const int8_t* from, __mmask16 which) {
    return bf16_of_ints(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(which, from)));
  }
  static __m256i load_bf16(const uint8_t* from, __mmask16 which) {
    return bf16_of_ints(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(which, from)));
  }
  static __m256i bf16_of_ints(__m512i numbers) {
    return (__m256i)_mm512_cvtneps_pbh(_mm512_cvtepi32_ps(numbers));
  }
};
