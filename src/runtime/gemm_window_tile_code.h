// A tile whose rows are read where they lie (WindowRows); included by gemm_block_code.h.

template <class U>
inline constexpr int window_group =
    (mr_of<U> + GemmSizes::window_groups - 1) / static_cast<int>(GemmSizes::window_groups);

// end(i, 0..nr) = sum over p of a(i, p) * b[p * b_row][0, nr), i in [0, rows), k > 0. Prefetches A,
// C and the next panel's source; the table goes on for as far as A is prefetched.
template <class U, int rows>
void window_tile(int64_t k, const U* a, const WindowTile& at, const int32_t* table, const U* b,
                 int64_t b_row, const TileEndOf<U>& end, Prefetch prefetch) {
  using V = Vec<U>;
  constexpr int group = window_group<U>, groups = (rows + group - 1) / group;
  const U* from[groups];
#pragma GCC unroll 6
  for (int q = 0; q < groups; ++q) from[q] = a + at.at[q];
  typename V::type sums[rows][2];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) sums[i][0] = sums[i][1] = V::zero();
  constexpr int64_t line = line_of<U>;
  const int64_t lines = (k + line - 1) / line, at_once = (rows + lines - 1) / lines;
  auto* soon = end.c;
  const auto* const behind = soon + rows * end.c_row;
  while (k > 0) {
    int64_t steps = k < line ? k : line;
    k -= steps;
    prefetch.next_lines();
    for (int64_t i = 0; i < at_once && soon != behind; ++i, soon += end.c_row) {
      __builtin_prefetch(soon, 1);
      __builtin_prefetch(soon + V::lanes, 1);
    }
    do {  // never skipped, as in `tile`
      const int64_t x = *table, soon_x = table[WindowRows::ahead];
      ++table;
#pragma GCC unroll 3
      for (int q = 0; q < (rows > 6 ? groups : 1); q += 2) __builtin_prefetch(from[q] + soon_x);
      const auto b0 = V::load(b), b1 = V::load(b + V::lanes);
      b += b_row;
#pragma GCC unroll 16
      for (int i = 0; i < rows; ++i) {
        const auto y = V::broadcast(from[i / group][x + i % group]);
        sums[i][0] = V::multiply_add(y, b0, sums[i][0]);
        sums[i][1] = V::multiply_add(y, b1, sums[i][1]);
      }
    } while (--steps > 0);
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) end_tile_row<U>(sums[i], i, end);
}

template <class U>
using WindowTileSums = void (*)(int64_t, const U*, const WindowTile&, const int32_t*, const U*,
                                int64_t, const TileEndOf<U>&, Prefetch);

template <class U, int... i>
constexpr std::array<WindowTileSums<U>, sizeof...(i)> window_tiles_of(
    std::integer_sequence<int, i...>) {
  return {window_tile<U, i + 1>...};
}
template <class U>
inline constexpr auto window_tiles =
    window_tiles_of<U>(std::make_integer_sequence<int, mr_of<U>>());
