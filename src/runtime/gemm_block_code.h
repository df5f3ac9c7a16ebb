// The code of gemm_block.h, compiled once for each instruction set: gemm_block_*.cpp include this
// file behind their own `Vec<T>` (a vector of T), `mr_of<T>` (rows of a tile) and `kc_bytes`, in a
// namespace of their own.
//
//   for each kc steps of k
//     pack A: groups of mr rows                            stays in the second-level cache
//       lines    a cache line of each row in turn          where a_col == 1
//       turned   k after k                                 else
//     for each nr columns
//       pack B: one panel, k after k, padded with zeros    stays in the first-level cache
//       for each mr rows
//         tile: rows x nr sums in registers
//         finish: alpha, beta, c_in, rounding, after the last step

// Steps of k between two packings.
template <class T>
inline constexpr int64_t kc_of = kc_bytes / sizeof(T);
template <class T>
inline constexpr int64_t nr_of = 2 * Vec<T>::lanes;

// What sums are kept in: integers without a sign, so that they wrap around.
template <class S>
struct SumOf {
  using type = S;
};
template <>
struct SumOf<Bf16> {
  using type = float;
};
template <>
struct SumOf<F16> {
  using type = float;
};
template <>
struct SumOf<int8_t> {
  using type = uint32_t;
};
template <>
struct SumOf<uint8_t> {
  using type = uint32_t;
};
template <>
struct SumOf<int16_t> {
  using type = uint32_t;
};
template <>
struct SumOf<int32_t> {
  using type = uint32_t;
};
template <>
struct SumOf<int64_t> {
  using type = uint64_t;
};

template <class T>
T factor(double value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value);
  else
    return static_cast<T>(static_cast<int64_t>(value));
}

inline int64_t rounded(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// --- Packing -------------------------------------------------------------------------------------

template <class S, class T>
void copy_run(const S* from, int64_t count, T* to) {
  if constexpr (std::is_same_v<S, T>) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
  }
}

template <int64_t count, class S, class T>
void copy_fixed(const S* from, T* to) {
  if constexpr (std::is_same_v<S, T>) {
    std::memcpy(to, from, count * sizeof(T));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
  }
}

// Elements of a cache line.
template <class T>
inline constexpr int64_t line_of = 64 / sizeof(T);

template <class T>
int64_t group_elements(int64_t k) {
  return mr_of<T> * rounded(k, line_of<T>);
}

// How many rows a group has, at most mr: even groups, since the sums of a small one are slow.
template <class T>
int64_t group_rows(int64_t m) {
  const int64_t groups = (m + mr_of<T> - 1) / mr_of<T>;
  return groups == 0 ? mr_of<T> : (m + groups - 1) / groups;
}

// Groups of rows as lines: element (i, p) of a group at (p / line * mr + i) * line + p % line.
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
      for (; p + line <= k; p += line) copy_fixed<line>(row + p, to + p * mr + i * line);
      copy_run(row + p, k - p, to + p * mr + i * line);
    }
  }
}

// A few numbers: by two pieces that may overlap.
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

// Groups of rows as lines, of rows that lie in runs: gemm_block.h. `first` is where steps begin.
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

// Groups of rows, turned: element (i, p) of a group at p * mr + i.
template <class S, class T>
void pack_turned(const S* a, int64_t a_row, int64_t a_col, int64_t m, int64_t k, T* to) {
  constexpr int64_t mr = mr_of<T>;
  if (k == 0) return;
  const int64_t group = group_rows<T>(m);
  for (int64_t first = 0; first < m; first += group, to += group_elements<T>(k)) {
    const int64_t rows = m - first < group ? m - first : group;
    const S* from = a + first * a_row;
    if (a_row == 1 && first + mr <= m) {  // what is too much of a group's mr rows is never read
      for (int64_t p = 0; p < k; ++p) copy_fixed<mr>(from + p * a_col, to + p * mr);
    } else {
      for (int64_t p = 0; p < k; ++p)
        for (int64_t i = 0; i < rows; ++i)
          to[p * mr + i] = static_cast<T>(from[p * a_col + i * a_row]);
    }
  }
}

// One panel: columns [0, columns) of B, k after k.
template <class S, class T>
void pack_panel(const S* b, int64_t b_row, int64_t b_col, int64_t columns, int64_t k, T* to) {
  constexpr int64_t nr = nr_of<T>;
  if (k == 0) return;
  if (columns == nr && b_col == 1) {
    for (int64_t p = 0; p < k; ++p) copy_fixed<nr>(b + p * b_row, to + p * nr);
    return;
  }
  int64_t done = 0;
  if constexpr (std::is_same_v<S, T>)
    if (columns == nr && b_row == 1) done = Vec<T>::turn_columns(b, b_col, k, to);
  for (int64_t p = done; p < k; ++p) {
    for (int64_t j = 0; j < columns; ++j) to[p * nr + j] = static_cast<T>(b[p * b_row + j * b_col]);
    for (int64_t j = columns; j < nr; ++j) to[p * nr + j] = T{0};
  }
}

// --- Sums ----------------------------------------------------------------------------------------

// sums[i] += a[i * a_apart] * b[0, nr), i in [0, rows).
template <class T, int rows, int a_apart>
inline void add_products(const T* a, const T* b, typename Vec<T>::type (&sums)[rows][2]) {
  using V = Vec<T>;
  const auto b0 = V::load(b), b1 = V::load(b + V::lanes);
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    const auto x = V::all(a[i * a_apart]);
    sums[i][0] = V::multiply_add(x, b0, sums[i][0]);
    sums[i][1] = V::multiply_add(x, b1, sums[i][1]);
  }
}

// c[i][0, nr) (+)= sum over p of a(i, p) * b[p * b_row][0, nr), i in [0, rows).
template <class T, int rows, bool turned>
void tile(int64_t k, const T* a, const T* b, int64_t b_row, T* c, int64_t c_row, bool add) {
  using V = Vec<T>;
  constexpr int64_t mr = mr_of<T>, line = line_of<T>;
  typename V::type sums[rows][2];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) sums[i][0] = sums[i][1] = V::zero();
  if constexpr (turned) {
    for (int64_t p = 0; p < k; ++p, b += b_row) add_products<T, rows, 1>(a + p * mr, b, sums);
  } else {
    for (int64_t p = 0; p < k; p += line, a += mr * line) {
      const int64_t steps = k - p < line ? k - p : line;
      for (int64_t q = 0; q < steps; ++q, b += b_row) add_products<T, rows, line>(a + q, b, sums);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    T* row = c + i * c_row;
    if (add) {
      sums[i][0] = V::add(V::load(row), sums[i][0]);
      sums[i][1] = V::add(V::load(row + V::lanes), sums[i][1]);
    }
    V::store(row, sums[i][0]);
    V::store(row + V::lanes, sums[i][1]);
  }
}

template <class T>
using Tile = void (*)(int64_t, const T*, const T*, int64_t, T*, int64_t, bool);

template <class T, bool turned, int... i>
constexpr std::array<Tile<T>, sizeof...(i)> tiles_of(std::integer_sequence<int, i...>) {
  return {tile<T, i + 1, turned>...};
}
template <class T, bool turned>
inline constexpr auto tiles = tiles_of<T, turned>(std::make_integer_sequence<int, mr_of<T>>());

// --- The block -----------------------------------------------------------------------------------

// S is the type in memory, T that of the sums.
template <class S, class T>
class Block {
 public:
  explicit Block(const GemmBlock& block);
  void run();
  static int64_t scratch_bytes(int64_t m, int64_t n, int64_t k);

 private:
  static constexpr int64_t mr = mr_of<T>, nr = nr_of<T>, kc = kc_of<T>;
  static int64_t steps_of(int64_t k) { return k < kc ? k : kc; }
  static int64_t packed_a_elements(int64_t m, int64_t k) {
    return (m + mr - 1) / mr * group_elements<T>(steps_of(k));
  }
  static int64_t packed_b_elements(int64_t k) { return rounded(nr * steps_of(k), 16); }
  // Where the sums lie from one step of k to the next: in C itself, or in scratch.
  static constexpr bool sums_in_c = std::is_same_v<S, T>;

  // With too few rows to pay for packing B is read as it lies.
  bool as_it_lies(int64_t columns) const {
    return std::is_same_v<S, T> && block_.b_col == 1 && columns == nr && block_.m <= 4 * mr;
  }

  void step(int64_t first, int64_t k);
  void pack_a(int64_t first, int64_t k);
  void one_tile(int64_t i, int64_t j, int64_t k, const T* b, int64_t b_row, bool add, bool last);
  void finish(const T* sums, int64_t sums_row, int64_t i, int64_t j, int64_t rows, int64_t columns);
  T value(T sum, int64_t i, int64_t j) const;

  const GemmBlock& block_;
  const S* a_;
  const S* b_;
  const S* c_in_;
  S* c_;
  T* packed_a_;
  T* packed_b_;
  T* sums_;  // rows of padded_n_
  int64_t padded_n_, group_;
  bool turned_, plain_;
  T alpha_, beta_;
};

template <class S, class T>
int64_t Block<S, T>::scratch_bytes(int64_t m, int64_t n, int64_t k) {
  int64_t elements = packed_a_elements(m, k) + packed_b_elements(k);
  if (!sums_in_c && k > kc) elements += m * rounded(n, nr);
  return rounded(elements * static_cast<int64_t>(sizeof(T)), 64);
}

template <class S, class T>
Block<S, T>::Block(const GemmBlock& block)
    : block_(block), a_(static_cast<const S*>(block.a)), b_(static_cast<const S*>(block.b)),
      c_in_(static_cast<const S*>(block.c_in)), c_(static_cast<S*>(block.c)),
      packed_a_(static_cast<T*>(block.scratch)),
      packed_b_(packed_a_ + packed_a_elements(block.m, block.k)),
      sums_(packed_b_ + packed_b_elements(block.k)), padded_n_(rounded(block.n, nr)),
      group_(group_rows<T>(block.m)), turned_(block.a_col != 1),
      plain_(block.c_in == nullptr && block.alpha == 1), alpha_(factor<T>(block.alpha)),
      beta_(factor<T>(block.beta)) {}

template <class S, class T>
void Block<S, T>::run() {
  int64_t first = 0;
  do {  // once for k = 0 too
    step(first, steps_of(block_.k - first));
    first += kc;
  } while (first < block_.k);
}

template <class S, class T>
void Block<S, T>::step(int64_t first, int64_t k) {
  const bool add = first > 0, last = first + k == block_.k;
  pack_a(first, k);
  for (int64_t j = 0; j < block_.n; j += nr) {
    const int64_t columns = block_.n - j < nr ? block_.n - j : nr;
    const T* b = packed_b_;
    int64_t b_row = nr;
    if (block_.panels.pack != nullptr) {
      const PanelSource& from = block_.panels;
      from.pack(from.self, first, k, from.first_column + j, columns, packed_b_);
    } else if (const S* from = b_ + first * block_.b_row + j * block_.b_col; as_it_lies(columns)) {
      if constexpr (std::is_same_v<S, T>) b = from;
      b_row = block_.b_row;
    } else {
      pack_panel(from, block_.b_row, block_.b_col, columns, k, packed_b_);
    }
    for (int64_t i = 0; i < block_.m; i += group_) one_tile(i, j, k, b, b_row, add, last);
  }
}

template <class S, class T>
void Block<S, T>::pack_a(int64_t first, int64_t k) {
  const S* a = a_ + first * block_.a_col;
  if (block_.a_run > 0)
    pack_runs<S>(block_, first, k, packed_a_);
  else if (turned_)
    pack_turned(a, block_.a_row, block_.a_col, block_.m, k, packed_a_);
  else
    pack_lines(a, block_.a_row, block_.m, k, packed_a_);
}

template <class S, class T>
void Block<S, T>::one_tile(int64_t i, int64_t j, int64_t k, const T* b, int64_t b_row, bool add,
                           bool last) {
  const int64_t rows = block_.m - i < group_ ? block_.m - i : group_;
  const int64_t columns = block_.n - j < nr ? block_.n - j : nr;
  const Tile<T> sum = (turned_ ? tiles<T, true> : tiles<T, false>)[static_cast<size_t>(rows - 1)];
  const T* a = packed_a_ + i / group_ * group_elements<T>(k);
  if constexpr (sums_in_c) {
    if (columns == nr) {
      T* c = c_ + i * block_.c_row + j;
      sum(k, a, b, b_row, c, block_.c_row, add);
      if (last && !plain_) finish(c, block_.c_row, i, j, rows, columns);
      return;
    }
  }
  if (!sums_in_c && (add || !last)) {
    T* sums = sums_ + i * padded_n_ + j;
    sum(k, a, b, b_row, sums, padded_n_, add);
    if (last) finish(sums, padded_n_, i, j, rows, columns);
    return;
  }
  // A panel wider than C, or sums of another type: by way of a tile of their own.
  alignas(64) T edge[mr * nr];
  if constexpr (sums_in_c) {
    T* c = c_ + i * block_.c_row + j;
    if (add)
      for (int64_t r = 0; r < rows; ++r) copy_run(c + r * block_.c_row, columns, edge + r * nr);
    sum(k, a, b, b_row, edge, nr, add);
    if (!last)
      for (int64_t r = 0; r < rows; ++r) copy_run(edge + r * nr, columns, c + r * block_.c_row);
  } else {
    sum(k, a, b, b_row, edge, nr, false);
  }
  if (last) finish(edge, nr, i, j, rows, columns);
}

template <class S, class T>
T Block<S, T>::value(T sum, int64_t i, int64_t j) const {
  const T scaled = alpha_ * sum;
  if (c_in_ == nullptr) return scaled;
  return scaled + beta_ * static_cast<T>(c_in_[i * block_.c_in_row + j * block_.c_in_col]);
}

template <class S, class T>
void Block<S, T>::finish(const T* sums, int64_t sums_row, int64_t i, int64_t j, int64_t rows,
                         int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* from = sums + r * sums_row;
    S* to = c_ + (i + r) * block_.c_row + j;
    if (plain_) {
      copy_run(from, columns, to);
    } else if (c_in_ != nullptr && block_.c_in_col == 1) {
      const S* added = c_in_ + (i + r) * block_.c_in_row + j;
      for (int64_t x = 0; x < columns; ++x)
        to[x] = static_cast<S>(alpha_ * from[x] + beta_ * static_cast<T>(added[x]));
    } else {
      for (int64_t x = 0; x < columns; ++x) to[x] = static_cast<S>(value(from[x], i + r, j + x));
    }
  }
}

template <class S>
GemmBlockKernel kernel_of() {
  using B = Block<S, typename SumOf<S>::type>;
  return {.run = [](const GemmBlock& block) { B(block).run(); },
          .scratch_bytes = B::scratch_bytes,
          .mr = mr_of<typename SumOf<S>::type>,
          .nr = nr_of<typename SumOf<S>::type>};
}

inline GemmBlockKernel kernel_for(DType dtype) {
  switch (dtype) {
    case DType::f64: return kernel_of<double>();
    case DType::f32: return kernel_of<float>();
    case DType::bf16: return kernel_of<Bf16>();
    case DType::f16: return kernel_of<F16>();
    case DType::i64: return kernel_of<int64_t>();
    case DType::i32: return kernel_of<int32_t>();
    case DType::i16: return kernel_of<int16_t>();
    case DType::i8: return kernel_of<int8_t>();
    case DType::u8: return kernel_of<uint8_t>();
    case DType::boolean:
    case DType::c64: break;
  }
  return {};
}
