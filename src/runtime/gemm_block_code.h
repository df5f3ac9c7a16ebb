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
//         tile: rows x nr sums in registers, and C_in where it is just added
//         finish: alpha, beta, rounding, after the last step

// The most steps of k between two packings.
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

#include "runtime/gemm_pack_code.h"
#include "runtime/gemm_tile_code.h"

// S is the type in memory, T that of the sums.
template <class S, class T>
class Block {
 public:
  explicit Block(const GemmBlock& block);
  void run();
  static int64_t scratch_bytes(int64_t m, int64_t n, int64_t k);

 private:
  static constexpr int64_t mr = mr_of<T>, nr = nr_of<T>;
  // How many steps of k are summed in registers: even parts, of whole lines.
  static int64_t steps_of(int64_t k) {
    const int64_t parts = (k + kc_of<T> - 1) / kc_of<T>;
    return parts <= 1 ? k : rounded((k + parts - 1) / parts, line_of<T>);
  }
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

  int64_t steps_behind(int64_t first) const {
    return block_.k - first < steps_ ? block_.k - first : steps_;
  }
  void step(int64_t first, int64_t k);
  void pack_a(int64_t first, int64_t k);
  Ahead ahead_of(int64_t first, int64_t k, int64_t j, int64_t index) const;
  void one_tile(int64_t i, int64_t j, int64_t first, int64_t k, const T* b, int64_t b_row);
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
  int64_t padded_n_, group_, steps_;
  bool turned_, plain_;
  bool adds_;  // C_in is added to the sums in registers
  T alpha_, beta_;
};

template <class S, class T>
int64_t Block<S, T>::scratch_bytes(int64_t m, int64_t n, int64_t k) {
  int64_t elements = packed_a_elements(m, k) + packed_b_elements(k);
  if (!sums_in_c && k > kc_of<T>) elements += m * rounded(n, nr);
  return rounded(elements * static_cast<int64_t>(sizeof(T)), 64);
}

template <class S, class T>
Block<S, T>::Block(const GemmBlock& block)
    : block_(block), a_(static_cast<const S*>(block.a)), b_(static_cast<const S*>(block.b)),
      c_in_(static_cast<const S*>(block.c_in)), c_(static_cast<S*>(block.c)),
      packed_a_(static_cast<T*>(block.scratch)),
      packed_b_(packed_a_ + packed_a_elements(block.m, block.k)),
      sums_(packed_b_ + packed_b_elements(block.k)), padded_n_(rounded(block.n, nr)),
      group_(group_rows<T>(block.m)), steps_(steps_of(block.k)), turned_(block.a_col != 1),
      plain_(block.c_in == nullptr && block.alpha == 1),
      adds_(sums_in_c && block.c_in != nullptr && block.c_in_col == 1 && block.alpha == 1 &&
            block.beta == 1),
      alpha_(factor<T>(block.alpha)), beta_(factor<T>(block.beta)) {}

template <class S, class T>
void Block<S, T>::run() {
  int64_t first = 0;
  do {  // once for k = 0 too
    step(first, steps_behind(first));
    first += steps_;
  } while (first < block_.k);
}

template <class S, class T>
void Block<S, T>::step(int64_t first, int64_t k) {
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
    for (int64_t i = 0; i < block_.m; i += group_) one_tile(i, j, first, k, b, b_row);
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

// What is packed next, as far as tile `index` of the panel from column j on brings it: a part of
// the panel behind, or of the first one of the next steps.
template <class S, class T>
Ahead Block<S, T>::ahead_of(int64_t first, int64_t k, int64_t j, int64_t index) const {
  if (block_.panels.pack != nullptr) return {};
  const int64_t lines = (k + line_of<T> - 1) / line_of<T>;
  if ((j += nr) >= block_.n) {
    first += k;
    k = steps_behind(first);
    j = 0;
  }
  if (k <= 0) return {};
  constexpr auto bytes = static_cast<int64_t>(sizeof(S));
  const char* at = reinterpret_cast<const char*>(b_ + first * block_.b_row + j * block_.b_col);
  const int64_t row = block_.b_row * bytes, column = block_.b_col * bytes;
  if (block_.b_col == 1) {  // two rows at a time
    if (2 * lines * index >= k) return {.at = at};
    return {at + 2 * lines * index * row, 64, row, 2 * row};
  }
  if (block_.n - j < 4 * index + 4) return {.at = at};  // four columns for each tile
  return {at + 4 * index * column, column, 2 * column, 64};
}

template <class S, class T>
void Block<S, T>::one_tile(int64_t i, int64_t j, int64_t first, int64_t k, const T* b,
                           int64_t b_row) {
  const bool add = first > 0, last = first + k == block_.k;
  const int64_t rows = block_.m - i < group_ ? block_.m - i : group_;
  const int64_t columns = block_.n - j < nr ? block_.n - j : nr;
  const Tile<T> sum = (turned_ ? tiles<T, true> : tiles<T, false>)[static_cast<size_t>(rows - 1)];
  const T* a = packed_a_ + i / group_ * group_elements<T>(k);
  const Ahead ahead = ahead_of(first, k, j, i / group_);
  if constexpr (sums_in_c) {
    if (columns == nr) {
      TileEnd<T> end{c_ + i * block_.c_row + j, block_.c_row, add, nullptr, 0};
      if (last && adds_) {
        end.added = c_in_ + i * block_.c_in_row + j;
        end.added_row = block_.c_in_row;
      }
      sum(k, a, b, b_row, end, ahead);
      if (last && !plain_ && !adds_) finish(end.c, block_.c_row, i, j, rows, columns);
      return;
    }
  }
  if (!sums_in_c && (add || !last)) {
    T* sums = sums_ + i * padded_n_ + j;
    sum(k, a, b, b_row, {sums, padded_n_, add, nullptr, 0}, ahead);
    if (last) finish(sums, padded_n_, i, j, rows, columns);
    return;
  }
  // A panel wider than C, or sums of another type: by way of a tile of their own.
  alignas(64) T edge[mr * nr];
  if constexpr (sums_in_c) {
    T* c = c_ + i * block_.c_row + j;
    if (add)
      for (int64_t r = 0; r < rows; ++r) copy_run(c + r * block_.c_row, columns, edge + r * nr);
    sum(k, a, b, b_row, {edge, nr, add, nullptr, 0}, ahead);
    if (!last)
      for (int64_t r = 0; r < rows; ++r) copy_run(edge + r * nr, columns, c + r * block_.c_row);
  } else {
    sum(k, a, b, b_row, {edge, nr, false, nullptr, 0}, ahead);
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
