// Products of 8-bit integers: packed as 16 bits in pairs of k, for the instruction that sums the
// products of two pairs in 32 bits (of such numbers that is exact); included after
// gemm_block_code.h and Vec<Int16Pair>. Values p and p + 1 of k, p even, are one unit; an odd k is
// padded with zeros in the panels.
//
//   lines        as for other types, since pairs of a row are adjacent anyway
//   transposed   element (i, p) of a group at (p / 2 * mr + i) * 2 + p % 2
//   panel        element (p, j) at            (p / 2 * nr + j) * 2 + p % 2

template <>
struct SumsOf<Int16Pair> {
  using type = uint32_t;
  using rounded = int32_t;
};

template <>
struct Packed<int16_t> {
  using Sum = uint32_t;
  using Unit = Int16Pair;
  static constexpr int64_t depth = 2;
};

template <>
struct Packing<int16_t> {
  static constexpr int64_t mr = mr_of<int16_t>, nr = nr_of<Int16Pair>, at_once = 16;

  template <class S>
  static void transposed(const S* a, int64_t a_row, int64_t a_col, int64_t rows, int64_t,
                         int64_t begin, int64_t end, int16_t* to) {
    for (int64_t p = begin; p < end; p += 2) {
      const S* first = a + p * a_col;
      const S* second = p + 1 < end ? first + a_col : nullptr;
      if (a_row == 1 && rows == mr && second != nullptr)
        weave<mr>(first, second, to + p * mr);
      else
        one_by_one(first, second, a_row, rows, to + p * mr);
    }
  }

  template <class S>
  static void panel(const S* b, int64_t b_row, int64_t b_col, int64_t columns, int64_t k,
                    int16_t* to) {
    int64_t done = 0;
    if (b_row == 1 && columns == nr) done = transpose(b, b_col, k, to);
    for (int64_t p = done; p < k; p += 2) {
      const S* first = b + p * b_row;
      const S* second = p + 1 < k ? first + b_row : nullptr;
      int16_t* const out = to + p * nr;
      if (b_col == 1 && columns == nr && second != nullptr) {
        weave<nr>(first, second, out);
        continue;
      }
      one_by_one(first, second, b_col, columns, out);
      for (int64_t j = 2 * columns; j < 2 * nr; ++j) out[j] = 0;
    }
  }

  static void source(const PanelSource&, int64_t, int64_t, int64_t, int64_t, int16_t*) {
    std::abort();  // panels that a function writes are of numbers as wide as the sums
  }

  // The zeros of the panels are enough: there is no NaN.
  static void close_lines(int64_t, int64_t, int16_t*) {}

 private:
  template <int64_t count, class S>
  static void weave(const S* first, const S* second, int16_t* to) {
    for (int64_t j = 0; j < count; ++j) {
      to[2 * j] = static_cast<int16_t>(first[j]);
      to[2 * j + 1] = static_cast<int16_t>(second[j]);
    }
  }

  // `second` may be null: zeros.
  template <class S>
  static void one_by_one(const S* first, const S* second, int64_t apart, int64_t count,
                         int16_t* to) {
    for (int64_t j = 0; j < count; ++j) {
      to[2 * j] = static_cast<int16_t>(first[j * apart]);
      to[2 * j + 1] = second == nullptr ? int16_t{0} : static_cast<int16_t>(second[j * apart]);
    }
  }

  // Columns that are dense along k: a pair has the size of an f32. Returns how many k it packed.
  template <class S>
  static int64_t transpose(const S* b, int64_t b_col, int64_t k, int16_t* to) {
    constexpr int64_t few = 64;
    alignas(64) int16_t part[nr * few];
    int64_t done = 0;
    while (k - done >= 8) {
      const int64_t count = k - done < few ? (k - done) / 8 * 8 : few;
      for (int64_t j = 0; j < nr; ++j)
        if (count == few)
          copy_fixed<few>(b + j * b_col + done, part + j * few);
        else
          copy_run(b + j * b_col + done, count, part + j * few);
      Vec<float>::transpose_columns(reinterpret_cast<const float*>(part), few / 2, count / 2,
                                    reinterpret_cast<float*>(to + done * nr));
      done += count;
    }
    return done;
  }
};
