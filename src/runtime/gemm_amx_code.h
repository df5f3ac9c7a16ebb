// Packing and tiles for AMX; included after gemm_pair_panels_code.h by gemm_block_amx.cpp.
//
// The processor has eight tile registers of 16 rows x 64 bytes; TDPBF16PS adds to one, 16 x 16 f32,
// the product of 16 rows of A, each 32 values of k, and 16 pairs of k of B, each 16 columns:
//
//            registers 6, 7: B, 32 columns of a panel        a step: 32 values of k,
//   4, 5:    0, 1                                            4 KB read, 32 K multiply-adds in 64
//   A, 32    2, 3                                            cycles
//   rows     sums
//
// With TDPBSSD it is 64 values of k of i8, quads of B, and sums in i32.
//
// So the rows of A are packed as lines in every layout, and k is padded with zeros to whole steps.
// Rows behind the last of A are summed too and not written; what is packed there doesn't matter.

constexpr int64_t step_k = 32;

template <>
inline constexpr int mr_of<Bf16> = 32;
template <>
inline constexpr int mr_of<Bf16Pair> = 32;

// A group that isn't whole takes as long as one of 16 or 32 rows.
template <>
inline int64_t group_rows<Bf16>(int64_t) {
  return mr_of<Bf16>;
}

template <>
struct Packed<Bf16> {
  using Sum = float;
  using Unit = Bf16Pair;
  static constexpr int64_t depth = step_k;
};

template <>
struct Packing<Bf16> {
  static constexpr int64_t mr = mr_of<Bf16>, nr = nr_of<Bf16Pair>, at_once = step_k;

  // To lines, like pack_lines: 32 values of k of up to 32 rows.
  template <class S>
  static void transposed(const S* a, int64_t a_row, int64_t a_col, int64_t rows, int64_t,
                         int64_t begin, int64_t end, Bf16* to) {
    auto* const out = reinterpret_cast<Bf16Pair*>(to + begin * mr);
    for (int64_t i = 0; i < rows; i += 16) {
      const int64_t count = smaller(16, rows - i);
      if (a_row == 1)
        turn(a + i, a_col, count, begin, end, out + i * 16);
      else
        gather(a + i * a_row, a_row, a_col, count, begin, end, out + i * 16);
    }
  }

  template <class S>
  static void panel(const S* b, int64_t b_row, int64_t b_col, int64_t columns, int64_t k,
                    Bf16* to) {
    PairPanels::panel(b, b_row, b_col, columns, k, to);
    close_panel(k, to);
  }
  static void source(const PanelSource& from, int64_t first_k, int64_t k, int64_t column,
                     int64_t columns, Bf16* to) {
    PairPanels::source(from, first_k, k, column, columns, to);
    close_panel(k, to);
  }

  static void close_lines(int64_t m, int64_t k, Bf16* to) {
    const int64_t done = k % step_k;
    for (int64_t i = 0; i < m; ++i) {
      Bf16* line = to + i / mr * group_elements<Bf16>(k) + (k / step_k * mr + i % mr) * step_k;
      std::memset(static_cast<void*>(line + done), 0,
                  static_cast<size_t>(step_k - done) * sizeof(Bf16));
    }
  }

 private:
  using V = Vec<Bf16Pair>;

  static void close_panel(int64_t k, Bf16* to) {
    const int64_t done = rounded(k, 2), whole = rounded(k, step_k);
    std::memset(static_cast<void*>(to + done * nr), 0,
                static_cast<size_t>((whole - done) * nr) * sizeof(Bf16));
  }

  // Sixteen lines from columns of up to 16 numbers, apart for each k.
  template <class S>
  static void turn(const S* a, int64_t apart, int64_t rows, int64_t begin, int64_t end,
                   Bf16Pair* to) {
    const auto which = static_cast<__mmask16>((1u << rows) - 1);
    __m512 pairs[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const int64_t p = begin + 2 * i;
      const __m256i first = p < end ? V::load_bf16(a + p * apart, which) : _mm256_setzero_si256();
      const __m256i second =
          p + 1 < end ? V::load_bf16(a + (p + 1) * apart, which) : _mm256_setzero_si256();
      pairs[i] = _mm512_castsi512_ps(V::interleaved(first, second));
    }
    transpose(pairs);
    for (int64_t i = 0; i < rows; ++i) _mm512_storeu_ps(to + i * 16, pairs[i]);
  }

  template <class S>
  static void gather(const S* a, int64_t a_row, int64_t a_col, int64_t rows, int64_t begin,
                     int64_t end, Bf16Pair* to) {
    const auto number = [&](int64_t i, int64_t p) {
      return p < end ? Bf16(static_cast<float>(a[i * a_row + p * a_col])) : Bf16();
    };
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t x = 0; x < 16; ++x)
        to[i * 16 + x] = {number(i, begin + 2 * x), number(i, begin + 2 * x + 1)};
  }
};

// Adds the products of registers 4 and 5 with 6 and 7 to the sums of the rows of 4, or of 5.
template <class U>
struct TileProducts;
template <>
struct TileProducts<Bf16Pair> {
  static void add_upper() {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
  }
  static void add_lower() {
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
};

// The sums of a tile of 16 or 32 rows, in `sums`, rows of 32.
template <class U, bool is_whole>
__attribute__((noinline)) void multiply(int64_t steps, const U* a, int64_t a_line, const U* b,
                                        int64_t b_row, typename SumsOf<U>::type* sums,
                                        Prefetch prefetch) {
  constexpr int64_t lines = 16, line_bytes = 64;
  const int64_t row_bytes = b_row * static_cast<int64_t>(sizeof(U));
  memory_is_read();
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (is_whole) {
    _tile_zero(2);
    _tile_zero(3);
  }
  for (; steps > 0; --steps, a += a_line, b += lines * b_row) {
    prefetch.next_lines();
    _tile_loadd(6, b, row_bytes);
    _tile_loadd(4, a, line_bytes);
    _tile_loadd(7, b + lines, row_bytes);
    TileProducts<U>::add_upper();
    if constexpr (is_whole) {
      _tile_loadd(5, a + lines * lines, line_bytes);
      TileProducts<U>::add_lower();
    }
  }
  constexpr int64_t apart = 32 * sizeof(sums[0]);
  _tile_stored(0, sums, apart);
  _tile_stored(1, sums + 16, apart);
  if constexpr (is_whole) {
    _tile_stored(2, sums + 16 * 32, apart);
    _tile_stored(3, sums + 16 * 32 + 16, apart);
  }
}

// One function for all numbers of rows: it is a small part of a tile's time.
template <class U>
__attribute__((noinline)) void end_tile(const typename SumsOf<U>::type* sums, int rows,
                                        const TileEndOf<U>& end) {
  using V = Vec<U>;
  for (int i = 0; i < rows; ++i) {
    typename V::type row[2] = {V::load(sums + i * 32), V::load(sums + i * 32 + V::lanes)};
    end_tile_row<U>(row, i, end);
  }
}

template <class U, int rows>
void amx_tile(int64_t steps, const U* a, int64_t a_line, const U* b, int64_t b_row,
              const TileEndOf<U>& end, Prefetch prefetch) {
  alignas(64) typename SumsOf<U>::type sums[32 * 32];
  multiply<U, (rows > 16)>(steps, a, a_line, b, b_row, sums, prefetch);
  end_tile<U>(sums, rows, end);
}

template <class U, int... i>
constexpr std::array<Tile<U>, sizeof...(i)> amx_tiles(std::integer_sequence<int, i...>) {
  return {amx_tile<U, i + 1>...};
}
template <bool transposed>
inline constexpr auto tiles<Bf16Pair, transposed> =
    amx_tiles<Bf16Pair>(std::make_integer_sequence<int, mr_of<Bf16Pair>>());
