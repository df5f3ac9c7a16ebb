// Pairs of i16 whose products are summed in i32; included after vec_avx512.h, and after add_pairs
// of the instruction set: z + x.first * y.first + x.second * y.second for each of sixteen sums.
struct Int16Pair {
  int16_t first, second;  // values p and p + 1 of k, p even
};

template <>
struct Vec<Int16Pair> {
  static constexpr int64_t lanes = 16;
#if defined(__x86_64__)
  using type = __m512i;
  static type zero() { return _mm512_setzero_si512(); }
  static type broadcast(Int16Pair x) { return _mm512_set1_epi32(std::bit_cast<int>(x)); }
  static type load(const void* from) { return _mm512_loadu_si512(from); }
  static void store(uint32_t* to, type v) { _mm512_storeu_si512(to, v); }
  static type add(type x, type y) { return _mm512_add_epi32(x, y); }
  static type multiply_add(type x, type y, type z) { return add_pairs(x, y, z); }
  static void add_to(type (&sums)[2], const int32_t* added) {
    sums[0] = add(sums[0], load(added));
    sums[1] = add(sums[1], load(added + lanes));
  }
  static void store_rounded(int32_t* to, const type (&sums)[2]) {
    _mm512_storeu_si512(to, sums[0]);
    _mm512_storeu_si512(to + lanes, sums[1]);
  }
#endif
};
