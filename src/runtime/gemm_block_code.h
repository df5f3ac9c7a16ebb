// The code of gemm_block.h, compiled once for each instruction set: gemm_block_*.cpp include this
// file after their own `Vec<T>` (a vector of T), `mr_of<T>` (rows of a tile) and `kc_bytes`, in a
// namespace of their own.
//
//   for each part of k, of kc values
//     pack A: groups of mr rows                            stays in the second-level cache
//       lines        a cache line of each row in turn      if a_col == 1
//       transposed   for each k all rows                   else
//     for each nr columns
//       pack B: one panel, for each k all columns          stays in the first-level cache
//       for each mr rows
//         tile: rows x nr sums in registers; adds C_in if alpha = beta = 1
//         finish: alpha, beta, rounding, after the last part

// The most values of k between two packings: how many of one part fit the caches. In f32 half as
// many and the same for all instruction sets: the rounding errors of a part grow with its length.
template <class T>
inline constexpr int64_t kc_of = kc_bytes / sizeof(T);
template <>
inline constexpr int64_t kc_of<float> = 192;
// How many such parts of k are summed before the sums are added to f64 totals.
template <class T>
inline constexpr int64_t span_parts = std::is_same_v<T, float> ? 128 : 64;
template <class T>
inline constexpr int64_t nr_of = 2 * Vec<T>::lanes;

// The type of sums, which numbers are also packed as unless they are summed in pairs. Unsigned for
// integers, so that they wrap around.
template <class S>
using SumOf =
    std::conditional_t<std::is_floating_point_v<S>, S,
                       std::conditional_t<!std::is_integral_v<S>, float,
                                          std::conditional_t<sizeof(S) == 8, uint64_t, uint32_t>>>;

// How packed numbers of type P are summed: an iteration of a tile reads one Unit of each row and
// column, which is `depth` values of k.
template <class P>
struct Packed {
  using Sum = P;
  using Unit = P;
  static constexpr int64_t depth = 1;
};

template <class T>
T factor(double value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value);
  else
    return static_cast<T>(static_cast<int64_t>(value));
}

inline int64_t rounded(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

#include "runtime/gemm_pack_code.h"
#include "runtime/gemm_tile_code.h"
#include "runtime/gemm_window_tile_code.h"

// S is the type in memory, P the packed type.
template <class S, class P>
class Block {
 public:
  explicit Block(const GemmBlock& block);
  void run();

  static constexpr GemmSizes sizes = {
      .mr = mr_of<P>,
      .nr = nr_of<typename Packed<P>::Unit>,
      .max_kc = kc_of<P>,
      .span = span_parts<P> * kc_of<P>,
      .depth = Packed<P>::depth,
      .packed_size = sizeof(P),
      .sum_size = sizeof(typename Packed<P>::Sum),
      .sums_in_c = std::is_same_v<S, typename Packed<P>::Sum>,
      .sums_are_floats = std::is_floating_point_v<typename Packed<P>::Sum>};

 private:
  using T = typename Packed<P>::Sum;
  using U = typename Packed<P>::Unit;
  static constexpr int64_t depth = Packed<P>::depth;
  static constexpr int64_t mr = mr_of<P>, nr = nr_of<U>;
  static constexpr bool scales_sums = std::is_floating_point_v<S> && std::is_integral_v<T>;
  // How f32 in memory is read for a product in a 16-bit type.
  using Wide = std::conditional_t<std::is_same_v<S, P>, float, Rounded<S>>;
  // Calls f with a null pointer to the type in memory (gemm_reads_as).
  template <class F>
  static void with_stored(std::optional<DType> stored, const F& f);

  static constexpr bool sums_in_c = sizes.sums_in_c;

  // With few rows, packing B costs more than it saves: B is read in place.
  bool reads_b_in_place(int64_t columns) const {
    return std::is_same_v<S, U> && !block_.b_stored && block_.b_col == 1 && columns == nr &&
           block_.m <= 4 * mr && block_.k > 0;
  }

  // Packed columns from the block's column j on, for k from `first` on.
  const S* packed_at(int64_t first, int64_t j) const {
    const int64_t column = block_.b_first + j;
    if (block_.k == 0) return b_;  // there may be no memory
    return b_ + (column / gemm_panel * block_.k + first) * gemm_panel + column % gemm_panel;
  }

  static constexpr int64_t few_rows = 8 * mr;
  bool has_end() const { return block_.added != nullptr || block_.relu; }
  // Rows of A in the scratch.
  int64_t a_rows() const {
    if (block_.windows.table != nullptr) return 0;
    return block_.a_panels.pack == nullptr ? block_.m : rounded(block_.m, nr);
  }
  // The rows of the tiles that begin at row i: groups of nearly equal size, of a panel if there are
  // panels.
  int64_t tile_rows(int64_t i) const {
    if (block_.a_panels.pack == nullptr) return smaller(group_, block_.m - i);
    const int64_t in_panel = i % nr, panel = smaller(nr, block_.m - i + in_panel);
    return smaller(group_rows<P>(panel), panel - in_panel);
  }

  int64_t part_from(int64_t first) const { return block_.k - first < kc_ ? block_.k - first : kc_; }
  void add_part(int64_t first, int64_t k);
  void end_span(int64_t after);
  void finish_totals();
  void add_window_part(int64_t first, int64_t k);
  void pack_a(int64_t first, int64_t k);
  template <class X>
  void pack_a_of(int64_t first, int64_t k);
  void pack_b(int64_t first, int64_t k, int64_t j, int64_t columns);
  int64_t b_bytes() const {  // of an element
    return block_.b_stored ? size_of(*block_.b_stored) : static_cast<int64_t>(sizeof(S));
  }
  Prefetch prefetch_of(int64_t first, int64_t k, int64_t j, int64_t index) const;
  void pack_a_panels(int64_t first, int64_t k);
  void add_tile(int64_t i, int64_t rows, int64_t j, int64_t first, int64_t k, const U* b,
                int64_t b_row, const Prefetch& prefetch);
  void end_row(T* row, int64_t i, int64_t j, int64_t columns) const;
  void write_scaled(const T* sums, int64_t i, int64_t j, int64_t columns, S* to);
  void finish(const T* sums, int64_t sums_row, int64_t i, int64_t j, int64_t rows, int64_t columns);
  T value(T sum, int64_t i, int64_t j) const;

  const GemmBlock& block_;
  const S* b_;
  const S* c_in_;
  S* c_;
  P* packed_a_;
  P* packed_b_;
  T* sums_;         // rows of padded_n_
  double* totals_;  // of spans, rows of padded_n_
  int64_t padded_n_, group_, kc_;
  int64_t span_, span_first_ = 0;
  bool transposed_, plain_;
  bool adds_;  // C_in is added without factors, in registers if its type can be loaded there
  bool ends_;  // what is added, one number a row or a matrix, is added in registers, in f32
  T alpha_, beta_;
};

template <class S, class P>
Block<S, P>::Block(const GemmBlock& block)
    : block_(block), b_(static_cast<const S*>(block.b)), c_in_(static_cast<const S*>(block.c_in)),
      c_(static_cast<S*>(block.c)), packed_a_(static_cast<P*>(block.scratch)),
      packed_b_(packed_a_ + sizes.packed_a_elements(a_rows(), block.k)),
      sums_(reinterpret_cast<T*>(packed_b_ + sizes.packed_b_elements(block.k))),
      totals_(reinterpret_cast<double*>(static_cast<char*>(block.scratch) +
                                        sizes.packed_bytes(a_rows(), block.k) +
                                        sizes.sums_bytes(a_rows(), block.n, block.k))),
      padded_n_(rounded(block.n, nr)), group_(group_rows<P>(block.m)), kc_(sizes.kc_for(block.k)),
      span_(sizes.span_of(block.k)),
      transposed_(block.a_panels.pack != nullptr || block.a_col != 1),
      plain_(block.c_in == nullptr && block.alpha == 1 && !scales_sums && !has_end()),
      adds_(block.c_in != nullptr && block.c_in_col == 1 && block.alpha == 1 && block.beta == 1 &&
            !has_end()),
      ends_(std::is_same_v<S, float> && std::is_same_v<T, float> && !adds_ && block.alpha == 1 &&
            block.beta == 1 && (block.c_in == nullptr || block.c_in_col == 0)),
      alpha_(scales_sums ? T{1} : factor<T>(block.alpha)), beta_(factor<T>(block.beta)) {}

template <class S, class P>
void Block<S, P>::run() {
  int64_t first = 0;
  do {  // once if k = 0
    add_part(first, part_from(first));
    first += kc_;
    if (span_ > 0) end_span(first);
  } while (first < block_.k);
  if (span_ > 0) finish_totals();
}

// If a span ends at `after`, adds its sums to the totals.
template <class S, class P>
void Block<S, P>::end_span(int64_t after) {
  if (after < block_.k && after - span_first_ < span_) return;
  for (int64_t i = 0; i < block_.m; ++i) {
    double* to = totals_ + i * padded_n_;
    if constexpr (sums_in_c) {
      const T* from = c_ + i * block_.c_row;
      for (int64_t j = 0; j < block_.n; ++j)
        to[j] = (span_first_ > 0 ? to[j] : 0) + static_cast<double>(from[j]);
    } else {
      const T* from = sums_ + i * padded_n_;
      for (int64_t j = 0; j < block_.n; ++j)
        to[j] = (span_first_ > 0 ? to[j] : 0) + static_cast<double>(from[j]);
    }
  }
  span_first_ = after;
}

template <class S, class P>
void Block<S, P>::finish_totals() {
  alignas(64) T row[nr];
  for (int64_t i = 0; i < block_.m; ++i)
    for (int64_t j = 0; j < block_.n; j += nr) {
      const int64_t columns = block_.n - j < nr ? block_.n - j : nr;
      const double* from = totals_ + i * padded_n_ + j;
      for (int64_t x = 0; x < columns; ++x) row[x] = static_cast<T>(from[x]);
      finish(row, nr, i, j, 1, columns);
    }
}

// The same for rows that lie in images.
template <class S, class P>
void Block<S, P>::add_window_part(int64_t first, int64_t k) {
  if constexpr (std::is_same_v<S, float> && std::is_same_v<U, float>) {
    const bool add = first > span_first_, last = span_ == 0 && first + k == block_.k;
    const S* const a = static_cast<const S*>(block_.a);
    for (int64_t j = 0; j < block_.n; j += nr) {
      // Part of a wider panel is in every other line: copied, it fills all sets of the cache.
      const U* b = reinterpret_cast<const U*>(packed_b_);
      const bool in_place = block_.b_packed && (nr == gemm_panel || block_.m < few_rows);
      if (in_place)
        b = packed_at(first, j);
      else if (block_.b_packed)
        for (int64_t p = 0; p < k; ++p)
          copy_fixed<nr>(packed_at(first, j) + p * gemm_panel, packed_b_ + p * nr);
      else
        pack_b(first, k, j, smaller(nr, block_.n - j));
      const WindowTile* at = block_.windows.tiles;
      int64_t index = 0;
      for (int64_t i = 0; i < block_.m; i += at->rows, ++at) {
        TileEndOf<U> end{.c = c_ + i * block_.c_row + j, .c_row = block_.c_row, .add_c = add};
        if (last) end.added = c_in_ == nullptr ? nullptr : c_in_ + j;
        window_tiles<U>[static_cast<size_t>(at->rows - 1)](k, a, *at, block_.windows.table + first,
                                                           b, in_place ? gemm_panel : nr, end,
                                                           prefetch_of(first, k, j, index++));
      }
    }
  }
}

template <class S, class P>
void Block<S, P>::add_part(int64_t first, int64_t k) {
  if (block_.windows.table != nullptr) return add_window_part(first, k);
  pack_a(first, k);
  for (int64_t j = 0; j < block_.n; j += nr) {
    const int64_t columns = block_.n - j < nr ? block_.n - j : nr;
    const U* b = reinterpret_cast<const U*>(packed_b_);
    int64_t b_row = nr;
    if (block_.b_packed) {
      if constexpr (std::is_same_v<S, U>) b = packed_at(first, j);
      b_row = gemm_panel;
    } else if (block_.panels.pack == nullptr && reads_b_in_place(columns)) {
      if constexpr (std::is_same_v<S, U>) b = b_ + first * block_.b_row + j * block_.b_col;
      b_row = block_.b_row;
    } else {
      pack_b(first, k, j, columns);
    }
    int64_t index = 0;
    for (int64_t i = 0, rows; i < block_.m; i += rows) {
      rows = tile_rows(i);
      add_tile(i, rows, j, first, k, b, b_row, prefetch_of(first, k, j, index++));
    }
  }
}

template <class S, class P>
void Block<S, P>::pack_b(int64_t first, int64_t k, int64_t j, int64_t columns) {
  if (block_.panels.pack != nullptr) {
    Packing<P>::source(block_.panels, first, k, j, columns, packed_b_);
    return;
  }
  if (k == 0) return;  // B may be null
  const int64_t at = first * block_.b_row + j * block_.b_col;
  with_stored(block_.b_stored, [&](auto* none) {
    Packing<P>::panel(static_cast<decltype(none)>(block_.b) + at, block_.b_row, block_.b_col,
                      columns, k, packed_b_);
  });
}

template <class S, class P>
template <class F>
void Block<S, P>::with_stored(std::optional<DType> stored, const F& f) {
  constexpr bool is_16_bit = std::is_same_v<S, Bf16> || std::is_same_v<S, F16>;
  constexpr bool is_float = std::is_same_v<S, float> && !scales_sums;
  if constexpr (is_16_bit || is_float || scales_sums || std::is_same_v<S, int32_t>) {
    if (stored == DType::i8) return f(static_cast<const int8_t*>(nullptr));
    if (stored == DType::u8) return f(static_cast<const uint8_t*>(nullptr));
  }
  if constexpr (is_16_bit)
    if (stored == DType::f32) return f(static_cast<const Wide*>(nullptr));
  if constexpr (is_float) {
    if (stored == DType::bf16) return f(static_cast<const Bf16*>(nullptr));
    if (stored == DType::f16) return f(static_cast<const F16*>(nullptr));
  }
  if constexpr (!scales_sums) f(static_cast<const S*>(nullptr));
}

template <class S, class P>
void Block<S, P>::pack_a_panels(int64_t first, int64_t k) {
  const PanelSource& from = block_.a_panels;
  for (int64_t i = 0; i < block_.m; i += nr)
    Packing<P>::source(from, first, k, i, smaller(nr, block_.m - i),
                       packed_a_ + i * rounded(k, line_of<P>));
}

template <class S, class P>
void Block<S, P>::pack_a(int64_t first, int64_t k) {
  if (block_.a_panels.pack != nullptr) return pack_a_panels(first, k);
  with_stored(block_.a_stored, [&]<class X>(const X*) { pack_a_of<X>(first, k); });
}

template <class S, class P>
template <class X>
void Block<S, P>::pack_a_of(int64_t first, int64_t k) {
  const X* a = static_cast<const X*>(block_.a) + first * block_.a_col;
  if (block_.a_run > 0)
    pack_runs<X>(block_, first, k, packed_a_);
  else if (transposed_)
    pack_transposed(a, block_.a_row, block_.a_col, block_.m, k, packed_a_);
  else
    pack_lines(a, block_.a_row, block_.m, k, packed_a_);
  if (!transposed_ && k % depth != 0) Packing<P>::close_lines(block_.m, k, packed_a_);
}

// The memory that tile `index` of the panel at column j prefetches: its share of the next panel, or
// of the first panel of the next part of k.
template <class S, class P>
Prefetch Block<S, P>::prefetch_of(int64_t first, int64_t k, int64_t j, int64_t index) const {
  if (block_.panels.pack != nullptr) return {};
  const int64_t lines = (k + line_of<P> - 1) / line_of<P>;
  if ((j += nr) >= block_.n) {
    first += k;
    k = part_from(first);
    j = 0;
  }
  if (k <= 0) return {};
  if (block_.b_packed) {  // whole panels are adjacent lines
    const int64_t share = 256 * lines * index;
    const char* at = reinterpret_cast<const char*>(packed_at(first, j));
    if (share >= k * gemm_panel * static_cast<int64_t>(sizeof(S))) return {.at = at};
    return {at + share, 64, 128, 256};
  }
  const int64_t bytes = b_bytes(), row = block_.b_row * bytes, column = block_.b_col * bytes;
  const char* at = static_cast<const char*>(block_.b) + first * row + j * column;
  if (block_.b_col == 1) {
    const int64_t rows = nr * bytes > 64 ? 2 : 4;  // at a time
    if (rows * lines * index >= k) return {.at = at};
    at += rows * lines * index * row;
    if (rows == 2) return {at, 64, row, 2 * row};
    return {at, row, 2 * row, 4 * row};
  }
  // Four columns for each tile; two for f32 that is packed in a 16-bit type, whose columns have
  // twice the bytes.
  const int64_t columns = bytes > static_cast<int64_t>(sizeof(P)) ? 2 : 4;
  if (block_.n - j < columns * (index + 1)) return {.at = at};
  at += columns * index * column;
  if (columns == 2) return {at, 64, column, 128};
  return {at, column, 2 * column, 64};
}

template <class S, class P>
void Block<S, P>::add_tile(int64_t i, int64_t rows, int64_t j, int64_t first, int64_t k, const U* b,
                           int64_t b_row, const Prefetch& prefetch) {
  const bool add = first > span_first_, last = span_ == 0 && first + k == block_.k;
  const int64_t columns = block_.n - j < nr ? block_.n - j : nr;
  const Tile<U> tile =
      (transposed_ ? tiles<U, true> : tiles<U, false>)[static_cast<size_t>(rows - 1)];
  const U* a = reinterpret_cast<const U*>(packed_a_ + i / group_ * group_elements<P>(k));
  int64_t a_line = mr * line_of<U>;
  if (block_.a_panels.pack != nullptr) {
    const P* panel = packed_a_ + i / nr * nr * rounded(k, line_of<P>);
    a = reinterpret_cast<const U*>(panel) + i % nr;
    a_line = nr * line_of<U>;
  }
  const int64_t units = (k + depth - 1) / depth;
  if constexpr (sums_in_c) {
    if (columns == nr) {
      TileEndOf<U> end{.c = c_ + i * block_.c_row + j, .c_row = block_.c_row, .add_c = add};
      if (last && adds_) {
        end.added = c_in_ + i * block_.c_in_row + j;
        end.added_row = block_.c_in_row;
      } else if (last && ends_ && !plain_) {
        if (c_in_ != nullptr) end.by_row = c_in_ + i * block_.c_in_row;
        end.by_row_apart = block_.c_in_row;
        if (block_.added != nullptr)
          end.added = static_cast<const T*>(block_.added) + i * block_.added_row + j;
        end.added_row = block_.added_row;
        end.relu = block_.relu;
      }
      tile(units, a, a_line, b, b_row, end, prefetch);
      if (last && !plain_ && !adds_ && !ends_) finish(end.c, block_.c_row, i, j, rows, columns);
      return;
    }
  }
  // Without any k there is no scratch.
  T* const sums = k > 0 ? sums_ + i * padded_n_ + j : nullptr;
  TileEndOf<U> to{.c = sums, .c_row = padded_n_, .add_c = add};
  if constexpr (std::is_same_v<S, typename SumsOf<U>::rounded> && !sums_in_c) {
    if (last && columns == nr && (plain_ || adds_)) {
      to.rounded = c_ + i * block_.c_row + j;
      to.rounded_row = block_.c_row;
      if (adds_) {
        to.added = c_in_ + i * block_.c_in_row + j;
        to.added_row = block_.c_in_row;
      }
      return tile(units, a, a_line, b, b_row, to, prefetch);
    }
  }
  if (!sums_in_c && (add || !last)) {
    tile(units, a, a_line, b, b_row, to, prefetch);
    if (last) finish(to.c, padded_n_, i, j, rows, columns);
    return;
  }
  // The panel is wider than the rest of C, or sums have another type than C: through a local tile.
  alignas(64) T edge[mr * nr];
  if constexpr (sums_in_c) {
    T* c = c_ + i * block_.c_row + j;
    if (add)
      for (int64_t r = 0; r < rows; ++r) copy_run(c + r * block_.c_row, columns, edge + r * nr);
    tile(units, a, a_line, b, b_row, {.c = edge, .c_row = nr, .add_c = add}, prefetch);
    if (!last)
      for (int64_t r = 0; r < rows; ++r) copy_run(edge + r * nr, columns, c + r * block_.c_row);
  } else {
    tile(units, a, a_line, b, b_row, {.c = edge, .c_row = nr}, prefetch);
  }
  if (last) finish(edge, nr, i, j, rows, columns);
}

template <class S, class P>
typename Block<S, P>::T Block<S, P>::value(T sum, int64_t i, int64_t j) const {
  const T scaled = alpha_ * sum;
  if (c_in_ == nullptr) return scaled;
  return scaled + beta_ * static_cast<T>(c_in_[i * block_.c_in_row + j * block_.c_in_col]);
}

// Writes a row of a tile as described at gemm_scaled_kernel. Loops have nr iterations, so that they
// are vectorized; results beyond `columns` aren't written.
template <class S, class P>
void Block<S, P>::write_scaled(const T* sums, int64_t i, int64_t j, int64_t columns, S* to) {
  alignas(64) float row[nr], other[nr] = {};
  const auto load = [&](const float* from, int64_t apart) {
    if (apart == 0)
      for (int64_t x = 0; x < nr; ++x) other[x] = *from;
    else if (apart == 1 && columns == nr)
      std::memcpy(other, from, sizeof other);
    else
      for (int64_t x = 0; x < columns; ++x) other[x] = from[x * apart];
  };
  const auto alpha = static_cast<float>(block_.alpha);
  for (int64_t x = 0; x < nr; ++x)
    row[x] = static_cast<float>(static_cast<int32_t>(sums[x])) * alpha;
  for (const GemmScale& scale : block_.scales) {
    if (scale.at == nullptr) continue;
    load(scale.at + i * scale.row + j * scale.col, scale.col);
    for (int64_t x = 0; x < nr; ++x) row[x] *= other[x];
  }
  if (c_in_ != nullptr) {
    load(c_in_ + i * block_.c_in_row + j * block_.c_in_col, block_.c_in_col);
    for (int64_t x = 0; x < nr; ++x) row[x] += other[x];
  }
  if (columns == nr)
    std::memcpy(to, row, sizeof row);
  else
    std::memcpy(to, row, static_cast<size_t>(columns) * sizeof(float));
}

template <class S, class P>
void Block<S, P>::finish(const T* sums, int64_t sums_row, int64_t i, int64_t j, int64_t rows,
                         int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* from = sums + r * sums_row;
    S* to = c_ + (i + r) * block_.c_row + j;
    if constexpr (scales_sums) {
      write_scaled(from, i + r, j, columns, to);
      continue;
    }
    if (plain_) {
      copy_run(from, columns, to);
      continue;
    }
    alignas(64) T row[nr];
    if (columns == nr && c_in_ != nullptr && block_.c_in_col == 0) {  // nr times: vectorized
      const T added = beta_ * static_cast<T>(c_in_[(i + r) * block_.c_in_row]);
      for (int64_t x = 0; x < nr; ++x) row[x] = alpha_ * from[x] + added;
    } else if (c_in_ != nullptr && block_.c_in_col == 1) {
      const S* added = c_in_ + (i + r) * block_.c_in_row + j;
      for (int64_t x = 0; x < columns; ++x)
        row[x] = alpha_ * from[x] + beta_ * static_cast<T>(added[x]);
    } else {
      for (int64_t x = 0; x < columns; ++x) row[x] = value(from[x], i + r, j + x);
    }
    if constexpr (std::is_same_v<S, float> && std::is_same_v<T, float>)
      if (has_end()) end_row(row, i + r, j, columns);
    copy_run(row, columns, to);
  }
}

template <class S, class P>
void Block<S, P>::end_row(T* row, int64_t i, int64_t j, int64_t columns) const {
  if (block_.added != nullptr) {
    const T* added = static_cast<const T*>(block_.added) + i * block_.added_row + j;
    for (int64_t x = 0; x < columns; ++x) row[x] += added[x];
  }
  if (block_.relu)  // NaN and -0 stay
    for (int64_t x = 0; x < columns; ++x) row[x] = T{0} > row[x] ? T{0} : row[x];
}

// P: the type that S is packed as.
template <class S, class P = SumOf<S>>
consteval GemmBlockKernel kernel_of() {
  using B = Block<S, P>;
  if constexpr (has_code)
    return {B::sizes, [](const GemmBlock& block) { B(block).run(); }};
  else
    return {B::sizes, [](const GemmBlock&) { std::abort(); }};
}
