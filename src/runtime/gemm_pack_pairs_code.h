// Packing for sums of pairs; included after gemm_pair_panels_code.h.
//
//   lines        as for other types, since pairs of a row are adjacent anyway
//   transposed   element (i, p) of a group at (p / 2 * mr + i) * 2 + p % 2

template <>
struct Packed<Bf16> {
  using Sum = float;
  using Unit = Bf16Pair;
  static constexpr int64_t depth = 2;
};

template <>
struct Packing<Bf16> : PairPanels {
  static constexpr int64_t mr = mr_of<Bf16>, at_once = 16;
  static constexpr auto group_mask = static_cast<__mmask16>((1u << mr) - 1);

  template <class S>
  static void transposed(const S* a, int64_t a_row, int64_t a_col, int64_t rows, int64_t,
                         int64_t begin, int64_t end, Bf16* to) {
    for (int64_t p = begin; p < end; p += 2) {
      auto* const units = reinterpret_cast<Bf16Pair*>(to + p * mr);
      const S* first = a + p * a_col;
      const S* second = p + 1 < end ? first + a_col : nullptr;
      if (a_row == 1)
        pairs(first, second, static_cast<__mmask16>((1u << rows) - 1), group_mask, units);
      else
        for (int64_t r = 0; r < rows; ++r)
          units[r] = {bf16_at(first, r * a_row), bf16_at(second, r * a_row)};
    }
  }

  static void source_of_rows(const PanelSource& from, int64_t first_k, int64_t k, int64_t row,
                             int64_t rows, Bf16* to) {
    source(from, first_k, k, row, rows, to);
  }

  static void close_lines(int64_t m, int64_t k, Bf16* to) {
    constexpr int64_t line = line_of<Bf16>;
    const int64_t group = group_rows<Bf16>(m), groups = (m + group - 1) / group;
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t i = 0; i < mr; ++i)
        to[g * group_elements<Bf16>(k) + (k / line * mr + i) * line + k % line] = {};
  }
};
