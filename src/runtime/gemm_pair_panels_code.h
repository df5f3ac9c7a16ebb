// Panels of B in pairs of k, for bf16; included after gemm_block_code.h: values p and p + 1 of k, p
// even, are one unit; an odd k is padded with zeros.
//
//   panel        element (p, j) at            (p / 2 * nr + j) * 2 + p % 2

template <>
struct SumsOf<Bf16Pair> {
  using type = float;
  using rounded = Bf16;
};

template <>
struct Convert<float, Bf16> {
  static void run(const float* from, int64_t count, Bf16* to) {
    int64_t i = 0;
    for (; i + 32 <= count; i += 32) {
      const auto low = _mm512_loadu_ps(from + i), high = _mm512_loadu_ps(from + i + 16);
      _mm512_storeu_si512(to + i, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    }
    for (; i < count; i += 16) {
      const auto which = static_cast<__mmask16>(count - i < 16 ? (1u << (count - i)) - 1 : 0xffffu);
      _mm256_mask_storeu_epi16(to + i, which, Vec<Bf16Pair>::load_bf16(from + i, which));
    }
  }
};

struct PairPanels {
  using V = Vec<Bf16Pair>;
  static constexpr int64_t nr = nr_of<Bf16Pair>;

  // Up to 16 units from two rows of numbers, the second of which may be null (zeros): `which` are
  // read, `written` are stored.
  template <class S>
  static void pairs(const S* first, const S* second, __mmask16 which, __mmask16 written,
                    Bf16Pair* to) {
    V::store_pairs(to, written, V::load_bf16(first, which),
                   second == nullptr ? _mm256_setzero_si256() : V::load_bf16(second, which));
  }

  template <class S>
  static Bf16 bf16_at(const S* from, int64_t at) {
    return from == nullptr ? Bf16() : Bf16(static_cast<float>(from[at]));
  }

  template <class S>
  static void panel(const S* b, int64_t b_row, int64_t b_col, int64_t columns, int64_t k,
                    Bf16* to) {
    auto* const out = reinterpret_cast<Bf16Pair*>(to);
    if (b_col == 1) return panel_of_rows(b, b_row, columns, k, out);
    if (b_row == 1) return panel_of_columns(b, b_col, columns, k, out);
    for (int64_t p = 0; p < k; p += 2) {
      const S* first = b + p * b_row;
      one_by_one(first, p + 1 < k ? first + b_row : nullptr, b_col, columns, out + p / 2 * nr);
    }
  }

  // The source writes f32, which is converted.
  static void source(const PanelSource& from, int64_t first_k, int64_t k, int64_t column,
                     int64_t columns, Bf16* to) {
    constexpr int64_t few = 128;  // a source looks up where its columns are each time
    alignas(64) float part[few * nr];
    for (int64_t p = 0; p < k; p += few) {
      const int64_t count = k - p < few ? k - p : few;
      from.pack(from.self, first_k + p, count, from.first_column + column, columns, part);
      panel_of_rows(part, nr, nr, count, reinterpret_cast<Bf16Pair*>(to + p * nr));
    }
  }

 private:
  template <class S>
  static void one_by_one(const S* first, const S* second, int64_t column, int64_t columns,
                         Bf16Pair* to) {
    for (int64_t j = 0; j < columns; ++j)
      to[j] = {bf16_at(first, j * column), bf16_at(second, j * column)};
    for (int64_t j = columns; j < nr; ++j) to[j] = {};
  }

  template <class S>
  static void panel_of_rows(const S* b, int64_t b_row, int64_t columns, int64_t k, Bf16Pair* out) {
    const auto all = static_cast<uint32_t>((uint64_t{1} << columns) - 1);
    const auto low = static_cast<__mmask16>(all), high = static_cast<__mmask16>(all >> 16);
    for (int64_t p = 0; p < k; p += 2, out += nr) {
      const S* first = b + p * b_row;
      const S* second = p + 1 < k ? first + b_row : nullptr;
      pairs(first, second, low, 0xffff, out);
      pairs(first + 16, second == nullptr ? nullptr : second + 16, high, 0xffff, out + 16);
    }
  }

  // A pair of a column has the size of an f32, so pairs are transposed like f32.
  template <class S>
  static void panel_of_columns(const S* b, int64_t b_col, int64_t columns, int64_t k,
                               Bf16Pair* out) {
    int64_t done = 0;  // pairs
    if constexpr (std::is_same_v<S, Bf16>)
      if (columns == nr && b_col % 2 == 0) done = transpose(b, b_col, k / 2, out);
    constexpr int64_t few = 64;
    alignas(64) Bf16 part[nr * few] = {};
    while (2 * done + 8 <= k) {
      const int64_t count = k - 2 * done < few ? k - 2 * done : few;
      for (int64_t j = 0; j < columns; ++j)
        copy_run(b + j * b_col + 2 * done, count, part + j * few);
      done += transpose(part, few, count / 2, out + done * nr);
    }
    for (; 2 * done < k; ++done) {
      const S* first = b + 2 * done;
      one_by_one(first, 2 * done + 1 < k ? first + 1 : nullptr, b_col, columns, out + done * nr);
    }
  }
  static int64_t transpose(const Bf16* b, int64_t b_col, int64_t pairs, Bf16Pair* out) {
    return Vec<float>::transpose_columns(reinterpret_cast<const float*>(b), b_col / 2, pairs,
                                         reinterpret_cast<float*>(out));
  }
};
