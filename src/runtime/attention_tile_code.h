// Packing, and tiles of sums in registers:  c[i][0, vecs * lanes) (+)= sum over p of a(i, p) b[p].
//
//   a has one of three forms, so that nothing needs an extra transposition:
//     keys        groups of mr rows, a cache line of each row in turn: K of scores^T, V of dP^T
//     transposed  a(i, p) = a[p * ld + i]     P^T and dS^T as stored; i is a query
//     rows        a(i, p) = a[i * ld + p]     the same; i is a key
//   b is rows of f32

using Floats = Vec<float>;
using Float = Floats::type;
constexpr int64_t lanes = Floats::lanes;
constexpr int mr = mr_of<float>;
constexpr int64_t nr = 2 * lanes;  // queries of a panel
constexpr int64_t line = AttentionSizes::line;
// Queries that the backward processes at a time: the row length of its P^T and dS^T.
constexpr int64_t query_block = nr < 64 ? 64 : nr;
// Keys that are processed at a time: a multiple of every mr. The scores of 192 keys x 32 queries
// are 24 KiB, the keys and values of a head of width 64 are 96 KiB: they fit the first and the
// second-level cache.
constexpr int64_t block_columns = 192;

constexpr AttentionSizes sizes = {lanes, mr, nr, query_block, block_columns};

inline int64_t rounded(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
inline int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }

// --- Packing -------------------------------------------------------------------------------------

// A matrix of f32, its rows padded with zeros to a multiple of lanes.
struct Rows {
  const float* at;
  int64_t row;
};

template <class S>
void copy_row(const S* from, int64_t column, int64_t width, float* to) {
  if (column == 1) {
    for (int64_t e = 0; e < width; ++e) to[e] = static_cast<float>(from[e]);
  } else {
    for (int64_t e = 0; e < width; ++e) to[e] = static_cast<float>(from[e * column]);
  }
}

// The matrix itself if it has that layout; else a copy in `buffer`, with rows of zeros from `count`
// to `all`.
template <class S>
Rows rows_of(const S* from, const HeadStrides& at, int64_t count, int64_t all, int64_t width,
             float* buffer) {
  const int64_t padded = rounded(width, lanes);
  if constexpr (std::is_same_v<S, float>)
    if (count == all && at.column == 1 && at.row == width && padded == width) return {from, width};
  for (int64_t i = 0; i < count; ++i) {
    copy_row(from + i * at.row, at.column, width, buffer + i * padded);
    for (int64_t e = width; e < padded; ++e) buffer[i * padded + e] = 0;
  }
  for (int64_t x = count * padded; x < all * padded; ++x) buffer[x] = 0;
  return {buffer, padded};
}

// Groups of mr rows: element (i, p) of a group at (p / line * mr + i) * line + p % line.
template <class S>
void pack_keys(const S* from, const HeadStrides& at, int64_t count, int64_t width, float* to) {
  for (int64_t first = 0; first < count; first += mr, to += sizes.group_floats(width))
    for (int64_t i = 0; i < min_of(mr, count - first); ++i) {
      const S* row = from + (first + i) * at.row;
      for (int64_t p = 0; p < width; p += line)
        copy_row(row + p * at.column, at.column, min_of(line, width - p), to + p * mr + i * line);
    }
}

// A transposed panel of nr rows of `width` numbers, times scale: to[p * nr + j].
inline void transpose_panel(const Rows& rows, int64_t width, float scale, float* to) {
  int64_t p = Floats::transpose_columns(rows.at, rows.row, width, to);
  for (; p < width; ++p)
    for (int64_t j = 0; j < nr; ++j) to[p * nr + j] = rows.at[j * rows.row + p];
  if (scale == 1) return;
  for (int64_t x = 0; x < width * nr; ++x) to[x] *= scale;
}

// --- Sums ----------------------------------------------------------------------------------------

// a(i, p) = a[p / line * line_stride + i * row + p % line * stride].
struct KeysForm {
  static constexpr int64_t row = 16, stride = 1, line = 16, line_stride = mr * 16;
};
template <int64_t ld>
struct TransposedForm {
  static constexpr int64_t row = 1, stride = ld, line = int64_t{1} << 40, line_stride = 0;
};
template <int64_t ld>
struct RowsForm {
  static constexpr int64_t row = ld, stride = 1, line = int64_t{1} << 40, line_stride = 0;
};

template <class Form, int rows, int vecs>
void sum_tile(int64_t k, const float* a, const float* b, int64_t b_row, float* c, int64_t c_row,
              bool add) {
  Float sums[rows][vecs];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < vecs; ++v) sums[i][v] = Floats::zero();
  for (int64_t p = 0; p < k; p += Form::line, a += Form::line_stride) {
    const int64_t count = k - p < Form::line ? k - p : Form::line;
    const float* x = a;
    for (int64_t q = 0; q < count; ++q, b += b_row, x += Form::stride) {
      Float columns[vecs];
#pragma GCC unroll 2
      for (int v = 0; v < vecs; ++v) columns[v] = Floats::load(b + v * lanes);
#pragma GCC unroll 16
      for (int i = 0; i < rows; ++i) {
        const Float one = Floats::broadcast(x[i * Form::row]);
#pragma GCC unroll 2
        for (int v = 0; v < vecs; ++v)
          sums[i][v] = Floats::multiply_add(one, columns[v], sums[i][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < vecs; ++v) {
      float* to = c + i * c_row + v * lanes;
      Floats::store(to, add ? Floats::add(Floats::load(to), sums[i][v]) : sums[i][v]);
    }
}

using SumTile = void (*)(int64_t, const float*, const float*, int64_t, float*, int64_t, bool);
template <class Form, int vecs, int... i>
constexpr std::array<SumTile, sizeof...(i)> sum_tiles_of(std::integer_sequence<int, i...>) {
  return {sum_tile<Form, i + 1, vecs>...};
}
template <class Form, int vecs>
inline constexpr auto sum_tiles = sum_tiles_of<Form, vecs>(std::make_integer_sequence<int, mr>());

// Rows [0, rows), at most mr, of c; `columns` is a multiple of lanes.
template <class Form>
void sum_rows(int64_t rows, int64_t columns, int64_t k, const float* a, const Rows& b, float* c,
              int64_t c_row, bool add) {
  const auto which = static_cast<size_t>(rows - 1);
  int64_t e = 0;
  for (; e + nr <= columns; e += nr)
    sum_tiles<Form, 2>[which](k, a, b.at + e, b.row, c + e, c_row, add);
  if (e < columns) sum_tiles<Form, 1>[which](k, a, b.at + e, b.row, c + e, c_row, add);
}

// The same for any number of rows.
template <class Form>
void sum_product(int64_t rows, int64_t columns, int64_t k, const float* a, const Rows& b, float* c,
                 int64_t c_row, bool add) {
  for (int64_t i = 0; i < rows; i += mr)
    sum_rows<Form>(min_of(mr, rows - i), columns, k, a + i * Form::row, b, c + i * c_row, c_row,
                   add);
}
