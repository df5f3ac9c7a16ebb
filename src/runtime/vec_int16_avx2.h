// Pairs of i16 for the instruction that sums their products in i32; included after vec_avx2.h.
struct Int16Pair {
  int16_t first, second;  // values p and p + 1 of k, p even
};

template <>
struct Vec<Int16Pair> {
  static constexpr int64_t lanes = 8;
#if defined(__x86_64__)
  using type = __m256i;
  static type zero() { return _mm256_setzero_si256(); }
  static type broadcast(Int16Pair x) { return _mm256_set1_epi32(std::bit_cast<int>(x)); }
  static type load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  static void store(uint32_t* to, type v) { write(to, v); }
  static type add(type x, type y) { return _mm256_add_epi32(x, y); }
  static type multiply_add(type x, type y, type z) { return add(z, _mm256_madd_epi16(x, y)); }
  static void add_to(type (&sums)[2], const int32_t* added) {
    sums[0] = add(sums[0], load(added));
    sums[1] = add(sums[1], load(added + lanes));
  }
  static void store_rounded(int32_t* to, const type (&sums)[2]) {
    write(to, sums[0]);
    write(to + lanes, sums[1]);
  }

 private:
  static void write(void* to, type v) { _mm256_storeu_si256(static_cast<__m256i*>(to), v); }
#endif
};
