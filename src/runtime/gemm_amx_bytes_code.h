// Packing for AMX_INT8; included after gemm_amx_code.h: four values of k, the first a multiple of
// four, are one unit; k is padded with zeros in the panels to whole steps.
//
//   lines   of 64 values of k, in every layout of A
//   panel   element (p, j) at (p / 4 * nr + j) * 4 + p % 4

struct Int8Quad {
  int8_t at[4];
};

template <>
struct Vec<Int8Quad> {
  static constexpr int64_t lanes = 16;
  using type = __m512i;
  static type load(const void* from) { return _mm512_loadu_si512(from); }
  static void store(uint32_t* to, type v) { _mm512_storeu_si512(to, v); }
  static type add(type x, type y) { return _mm512_add_epi32(x, y); }
  static void add_to(type (&sums)[2], const int32_t* added) {
    sums[0] = add(sums[0], load(added));
    sums[1] = add(sums[1], load(added + lanes));
  }
  static void store_rounded(int32_t* to, const type (&sums)[2]) {
    _mm512_storeu_si512(to, sums[0]);
    _mm512_storeu_si512(to + lanes, sums[1]);
  }
};

template <>
struct SumsOf<Int8Quad> {
  using type = uint32_t;
  using rounded = int32_t;
};

template <>
inline constexpr int mr_of<int8_t> = 32;
template <>
inline constexpr int mr_of<Int8Quad> = 32;

template <>
inline int64_t group_rows<int8_t>(int64_t) {
  return mr_of<int8_t>;
}

template <>
struct Packed<int8_t> {
  using Sum = uint32_t;
  using Unit = Int8Quad;
  static constexpr int64_t depth = 64;
};

template <>
struct Packing<int8_t> {
  static constexpr int64_t mr = mr_of<int8_t>, nr = nr_of<Int8Quad>, at_once = 64;

  template <class S>
  static void transposed(const S* a, int64_t a_row, int64_t a_col, int64_t rows, int64_t,
                         int64_t begin, int64_t end, int8_t* to) {
    int8_t* const out = to + begin * mr;
    for (int64_t i = 0; i < rows; i += 16) {
      const int64_t count = smaller(16, rows - i);
      if (std::is_same_v<S, int8_t> && a_row == 1)
        turn(reinterpret_cast<const int8_t*>(a) + i, a_col, count, begin, end, out + i * 64);
      else
        gather(a + i * a_row, a_row, a_col, count, begin, end, out + i * 64);
    }
  }

  template <class S>
  static void panel(const S* b, int64_t b_row, int64_t b_col, int64_t columns, int64_t k,
                    int8_t* to) {
    int64_t done = 0;
    if constexpr (std::is_same_v<S, int8_t>) {
      if (b_row == 1 && columns == nr) done = transpose_panel(b, b_col, k, to);
      if (b_col == 1) done = weave_rows(b, b_row, columns, k, to);
    }
    for (int64_t p = done; p < k; p += 4)
      for (int64_t j = 0; j < nr; ++j)
        for (int64_t q = 0; q < 4; ++q)
          to[p * nr + j * 4 + q] = j < columns && p + q < k
                                       ? static_cast<int8_t>(b[(p + q) * b_row + j * b_col])
                                       : int8_t{0};
    const int64_t quads = rounded(k, 4), whole = rounded(k, at_once);
    std::memset(to + quads * nr, 0, static_cast<size_t>((whole - quads) * nr));
  }

  static void source(const PanelSource&, int64_t, int64_t, int64_t, int64_t, int8_t*) {
    std::abort();  // panels that a function writes are of numbers as wide as the sums
  }

  // The zeros of the panels are enough: there is no NaN.
  static void close_lines(int64_t, int64_t, int8_t*) {}

 private:
  // The quads of up to sixteen numbers of each of four rows, `apart` elements apart, of which those
  // from `count` on are zeros.
  static __m512i quads(const int8_t* from, int64_t apart, int64_t count, __mmask16 which) {
    const auto row = [&](int64_t q) {
      return q < count ? _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(which, from + q * apart))
                       : _mm512_setzero_si512();
    };
    const __m512i low = _mm512_or_si512(row(0), _mm512_slli_epi32(row(1), 8));
    const __m512i high =
        _mm512_or_si512(_mm512_slli_epi32(row(2), 16), _mm512_slli_epi32(row(3), 24));
    return _mm512_or_si512(low, high);
  }

  static int64_t weave_rows(const int8_t* b, int64_t b_row, int64_t columns, int64_t k,
                            int8_t* to) {
    const auto all = static_cast<uint32_t>((uint64_t{1} << columns) - 1);
    for (int64_t p = 0; p < k; p += 4, b += 4 * b_row, to += 4 * nr) {
      _mm512_storeu_si512(to, quads(b, b_row, k - p, static_cast<__mmask16>(all)));
      _mm512_storeu_si512(to + 64, quads(b + 16, b_row, k - p, static_cast<__mmask16>(all >> 16)));
    }
    return rounded(k, 4);
  }

  // A quad of a column has the size of an f32. Returns how many k it packed.
  static int64_t transpose_panel(const int8_t* b, int64_t b_col, int64_t k, int8_t* to) {
    constexpr int64_t few = 256;
    auto* const out = reinterpret_cast<float*>(to);
    const int64_t whole = k / 16 * 16;
    if (b_col % 4 == 0) {
      Vec<float>::transpose_columns(reinterpret_cast<const float*>(b), b_col / 4, whole / 4, out);
      return whole;
    }
    alignas(64) int8_t part[nr * few];
    for (int64_t done = 0; done < whole; done += few) {
      const int64_t count = smaller(few, whole - done);
      for (int64_t j = 0; j < nr; ++j) copy_run(b + j * b_col + done, count, part + j * few);
      Vec<float>::transpose_columns(reinterpret_cast<const float*>(part), few / 4, count / 4,
                                    out + done / 4 * nr);
    }
    return whole;
  }

  // Sixteen lines from columns of up to 16 numbers, apart for each k.
  static void turn(const int8_t* a, int64_t apart, int64_t rows, int64_t begin, int64_t end,
                   int8_t* to) {
    const auto which = static_cast<__mmask16>((1u << rows) - 1);
    __m512 all[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const int64_t p = begin + 4 * i;
      all[i] = _mm512_castsi512_ps(p < end ? quads(a + p * apart, apart, end - p, which)
                                           : _mm512_setzero_si512());
    }
    transpose(all);
    for (int64_t i = 0; i < rows; ++i) _mm512_storeu_ps(to + i * 64, all[i]);
  }

  template <class S>
  static void gather(const S* a, int64_t a_row, int64_t a_col, int64_t rows, int64_t begin,
                     int64_t end, int8_t* to) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t p = begin; p < begin + at_once; ++p)
        to[i * 64 + p - begin] =
            p < end ? static_cast<int8_t>(a[i * a_row + p * a_col]) : int8_t{0};
  }
};

template <>
struct TileProducts<Int8Quad> {
  static void add_upper() {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
  }
  static void add_lower() {
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
};

template <bool transposed>
inline constexpr auto tiles<Int8Quad, transposed> =
    amx_tiles<Int8Quad>(std::make_integer_sequence<int, mr_of<Int8Quad>>());
