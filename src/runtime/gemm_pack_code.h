// Packs A in groups of rows and B in panels; included by gemm_block_code.h.

// f32 in memory that is rounded to S before it is used, as a cast does.
template <class S>
struct Rounded {
  float value;
  explicit operator float() const { return static_cast<float>(S(value)); }
};

// Converts numbers; specialized where an instruction set has a faster way.
template <class S, class T>
struct Convert {
  static void run(const S* from, int64_t count, T* to) {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
  }
};

template <class S, class T>
void copy_run(const S* from, int64_t count, T* to) {
  if constexpr (std::is_same_v<S, T>) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else {
    Convert<S, T>::run(from, count, to);
  }
}

template <int64_t count, class S, class T>
void copy_fixed(const S* from, T* to) {
  if constexpr (std::is_same_v<S, T>)
    std::memcpy(to, from, count * sizeof(T));
  else
    Convert<S, T>::run(from, count, to);
}

template <int64_t count, class T>
void repeat(T x, T* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = x;
}

// Elements of a cache line.
template <class T>
inline constexpr int64_t line_of = 64 / sizeof(T);

template <class T>
int64_t group_elements(int64_t k) {
  return mr_of<T> * rounded(k, line_of<T>);
}

// How many rows a group has, at most mr: groups of equal size, since a small one is slow.
template <class T>
int64_t group_rows(int64_t m) {
  const int64_t groups = (m + mr_of<T> - 1) / mr_of<T>;
  return groups == 0 ? mr_of<T> : (m + groups - 1) / groups;
}

// Groups of rows as lines: element (i, p) of a group at (p / line * mr + i) * line + p % line. The
// hardware prefetcher starts again with each row, so the row after the next is prefetched here.
template <class S, class T>
void pack_lines(const S* a, int64_t a_row, int64_t m, int64_t k, T* to) {
  constexpr int64_t mr = mr_of<T>, line = line_of<T>;
  if (k == 0) return;
  const int64_t group = group_rows<T>(m);
  for (int64_t first = 0; first < m; first += group, to += group_elements<T>(k)) {
    const int64_t rows = m - first < group ? m - first : group;
    for (int64_t i = 0; i < rows; ++i) {
      const S* row = a + (first + i) * a_row;
      int64_t p = 0;
      for (; p + line <= k; p += line) {
        __builtin_prefetch(row + 2 * a_row + p);
        copy_fixed<line>(row + p, to + p * mr + i * line);
      }
      copy_run(row + p, k - p, to + p * mr + i * line);
    }
  }
}

// Copies a few numbers as two blocks of fixed size, which may overlap.
template <class S, class T>
void copy_short(const S* from, int64_t count, T* to) {
  if (count > 16) {
    copy_run(from, count, to);
  } else if (count >= 8) {
    copy_fixed<8>(from, to);
    copy_fixed<8>(from + count - 8, to + count - 8);
  } else if (count >= 4) {
    copy_fixed<4>(from, to);
    copy_fixed<4>(from + count - 4, to + count - 4);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
  }
}

// Groups of rows as lines, from rows in runs (GemmBlock::a_run); `first` is the first k.
template <class S, class T>
void pack_runs(const GemmBlock& block, int64_t first, int64_t k, T* to) {
  constexpr int64_t mr = mr_of<T>, line = line_of<T>;
  const int64_t group = group_rows<T>(block.m), run = block.a_run;
  const int64_t begin = (block.a_first + first) % run;
  const S* rows = static_cast<const S*>(block.a) + (block.a_first + first) / run * block.a_next;
  for (int64_t i = 0; i < block.m; ++i) {
    T* packed = to + i / group * group_elements<T>(k) + i % group * line;
    const S* from = rows + i * block.a_row;
    int64_t x = begin;
    for (int64_t p = 0; p < k;) {
      const int64_t left = run - x, room = line - p % line;
      int64_t count = k - p < left ? k - p : left;
      count = count < room ? count : room;
      T* at = packed + p / line * mr * line + p % line;
      if (count == line)
        copy_fixed<line>(from + x, at);
      else
        copy_short(from + x, count, at);
      p += count;
      x += count;
      if (x == run) {
        x = 0;
        from += block.a_next;
      }
    }
  }
}

// The parts of packing that depend on how values of k are interleaved: here each has its own row.
template <class T>
struct Packing {
  static constexpr int64_t at_once = 16;  // values of k that pack_transposed packs of all groups
  // Packs k in [begin, end), begin even, of a group of `rows` rows; A has `left` rows from there
  // on.
  template <class S>
  static void transposed(const S* a, int64_t a_row, int64_t a_col, int64_t rows, int64_t left,
                         int64_t begin, int64_t end, T* to);
  template <class S>
  static void panel(const S* b, int64_t b_row, int64_t b_col, int64_t columns, int64_t k, T* to);
  // Packs a panel by calling its source (gemm_block.h), from `column` on.
  static void source(const PanelSource& from, int64_t first_k, int64_t k, int64_t column,
                     int64_t columns, T* to) {
    from.pack(from.self, first_k, k, from.first_column + column, columns, to);
  }
  // Pads groups of rows as lines with zeros after the last k.
  static void close_lines(int64_t, int64_t, T*) {}
};

// Groups of rows, transposed: element (i, p) of a group at p * mr + i.
template <class T>
template <class S>
void Packing<T>::transposed(const S* a, int64_t a_row, int64_t a_col, int64_t rows, int64_t left,
                            int64_t begin, int64_t end, T* to) {
  constexpr int64_t mr = mr_of<T>;
  if (a_row == 1 && left >= mr) {  // copies mr rows; those beyond the group's are never read
    for (int64_t p = begin; p < end; ++p) copy_fixed<mr>(a + p * a_col, to + p * mr);
  } else if (a_row == 0) {
    for (int64_t p = begin; p < end; ++p) repeat<mr>(static_cast<T>(a[p * a_col]), to + p * mr);
  } else {
    for (int64_t p = begin; p < end; ++p)
      for (int64_t i = 0; i < rows; ++i) to[p * mr + i] = static_cast<T>(a[p * a_col + i * a_row]);
  }
}

// A few values of k at a time for all groups, since neighbouring groups share cache lines of A.
template <class S, class T>
void pack_transposed(const S* a, int64_t a_row, int64_t a_col, int64_t m, int64_t k, T* to) {
  constexpr int64_t few = Packing<T>::at_once;
  const int64_t group = group_rows<T>(m), apart = group_elements<T>(k);
  for (int64_t begin = 0; begin < k; begin += few) {
    const int64_t end = k - begin < few ? k : begin + few;
    T* out = to;
    for (int64_t first = 0; first < m; first += group, out += apart)
      Packing<T>::transposed(a + first * a_row, a_row, a_col, m - first < group ? m - first : group,
                             m - first, begin, end, out);
  }
}

// transpose_columns for another type in memory: a few values of k at a time are converted first.
template <class S, class T>
int64_t transpose_converted(const S* b, int64_t b_col, int64_t k, T* to) {
  constexpr int64_t nr = nr_of<T>, few = 64;
  alignas(64) T part[nr * few];
  int64_t done = 0;
  for (; done + few <= k; done += few) {
    for (int64_t j = 0; j < nr; ++j) copy_fixed<few>(b + done + j * b_col, part + j * few);
    if (Vec<T>::transpose_columns(part, few, few, to + done * nr) < few) break;
  }
  return done;
}

// One panel: columns [0, columns) of B, padded with zeros, for one k after another.
template <class T>
template <class S>
void Packing<T>::panel(const S* b, int64_t b_row, int64_t b_col, int64_t columns, int64_t k,
                       T* to) {
  constexpr int64_t nr = nr_of<T>;
  if (k == 0) return;
  if (columns == nr && b_col == 1) {
    for (int64_t p = 0; p < k; ++p) copy_fixed<nr>(b + p * b_row, to + p * nr);
    return;
  }
  if (columns == nr && b_col == 0) {
    for (int64_t p = 0; p < k; ++p) repeat<nr>(static_cast<T>(b[p * b_row]), to + p * nr);
    return;
  }
  int64_t done = 0;
  if (columns == nr && b_row == 1) {
    if constexpr (std::is_same_v<S, T>)
      done = Vec<T>::transpose_columns(b, b_col, k, to);
    else
      done = transpose_converted(b, b_col, k, to);
  }
  for (int64_t p = done; p < k; ++p) {
    for (int64_t j = 0; j < columns; ++j) to[p * nr + j] = static_cast<T>(b[p * b_row + j * b_col]);
    for (int64_t j = columns; j < nr; ++j) to[p * nr + j] = T{0};
  }
}
