// A tile of sums in registers; included by gemm_block_code.h.

// The type of a tile's sums of products of units, and the type that it can round them to.
template <class U>
struct SumsOf {
  using type = U;
  using rounded = U;
};

// The addresses of the next panel's source: for each line of k that a tile sums, four of its cache
// lines are prefetched into the second-level cache, before they are packed.
struct Prefetch {
  const char* at = nullptr;
  int64_t second = 0, third = 0;  // bytes to the other lines; the fourth is after both
  int64_t next = 0;               // to the next four

  void next_lines() {
    __builtin_prefetch(at, 0, 2);
    __builtin_prefetch(at + second, 0, 2);
    __builtin_prefetch(at + third, 0, 2);
    __builtin_prefetch(at + second + third, 0, 2);
    at += next;
  }
};

// Where a tile's sums, of type T, are written: to c, after adding the old c (add_c, for all parts
// of k but the first), and for the last part `by_row`, one number for each row, and `added`, if
// they aren't null; then negative numbers become 0, if relu. If `rounded` isn't null, which not
// every Vec supports, sums are written there instead of c, and `added` has that type too.
template <class T, class S = T>
struct TileEnd {
  T* c = nullptr;
  int64_t c_row = 0;
  bool add_c = false;
  const T* by_row = nullptr;
  int64_t by_row_apart = 0;
  const S* added = nullptr;
  int64_t added_row = 0;
  bool relu = false;
  S* rounded = nullptr;
  int64_t rounded_row = 0;
};
template <class U>
using TileEndOf = TileEnd<typename SumsOf<U>::type, typename SumsOf<U>::rounded>;

// sums[i] += a[i * a_apart] * b[0, nr), i in [0, rows).
template <class U, int rows, int a_apart>
inline void add_products(const U* a, const U* b, typename Vec<U>::type (&sums)[rows][2]) {
  using V = Vec<U>;
  const auto b0 = V::load(b), b1 = V::load(b + V::lanes);
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    const auto x = V::broadcast(a[i * a_apart]);
    sums[i][0] = V::multiply_add(x, b0, sums[i][0]);
    sums[i][1] = V::multiply_add(x, b1, sums[i][1]);
  }
}

// Ends row i of a tile.
template <class U>
inline void end_tile_row(typename Vec<U>::type (&sums)[2], int i, const TileEndOf<U>& end) {
  using V = Vec<U>;
  using T = typename SumsOf<U>::type;
  using S = typename SumsOf<U>::rounded;
  T* row = end.c == nullptr ? nullptr : end.c + i * end.c_row;  // null: rounded alone
  if (end.add_c) {
    sums[0] = V::add(V::load(row), sums[0]);
    sums[1] = V::add(V::load(row + V::lanes), sums[1]);
  }
  if constexpr (!std::is_same_v<S, T>) {
    if (end.rounded != nullptr) {
      if (end.added != nullptr) V::add_to(sums, end.added + i * end.added_row);
      V::store_rounded(end.rounded + i * end.rounded_row, sums);
      return;
    }
  } else {
    if (end.by_row != nullptr)
      for (auto& x : sums) x = V::add(x, V::broadcast(end.by_row[i * end.by_row_apart]));
    if (end.added != nullptr) {
      const T* added = end.added + i * end.added_row;
      sums[0] = V::add(V::load(added), sums[0]);
      sums[1] = V::add(V::load(added + V::lanes), sums[1]);
    }
    if constexpr (std::is_same_v<T, float>)
      if (end.relu)
        for (auto& x : sums) x = V::not_negative(x);
  }
  V::store(row, sums[0]);
  V::store(row + V::lanes, sums[1]);
}

// end(i, 0..nr) = sum over p of a(i, p) * b[p * b_row][0, nr), i in [0, rows). Each line of k of
// the packed A is a_line after the one before; a transposed one has a_line / line numbers for each
// k. Prefetches C, the next lines of the packed A, and the next panel's source.
template <class U, int rows, bool transposed>
void tile(int64_t k, const U* a, int64_t a_line, const U* b, int64_t b_row, const TileEndOf<U>& end,
          Prefetch prefetch) {
  using V = Vec<U>;
  using T = typename SumsOf<U>::type;
  using S = typename SumsOf<U>::rounded;
  constexpr int64_t line = line_of<U>;
  const int64_t step = transposed ? a_line / line : 1;
  typename V::type sums[rows][2];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) sums[i][0] = sums[i][1] = V::zero();
  // A few rows of C and of what is added for each line of k, so that these prefetches don't block
  // other reads.
  const bool rounds = !std::is_same_v<S, T> && end.rounded != nullptr;
  const auto* soon =
      reinterpret_cast<const char*>(rounds ? static_cast<const void*>(end.rounded) : end.c);
  const int64_t apart = rounds ? end.rounded_row * static_cast<int64_t>(sizeof(S))
                               : end.c_row * static_cast<int64_t>(sizeof(T));
  const int64_t lines = k > line ? (k + line - 1) / line : 1, at_once = (rows + lines - 1) / lines;
  const char* const behind = soon + rows * apart;
  const char* soon_added = end.added_row == 0 ? nullptr : reinterpret_cast<const char*>(end.added);
  while (k > 0) {
    int64_t steps = k < line ? k : line;
    const U* from = a;
    const U* next = a += a_line;
    k -= steps;
    prefetch.next_lines();
    for (int64_t i = 0; i < at_once && soon != behind; ++i, soon += apart) {
      __builtin_prefetch(soon, 1);
      __builtin_prefetch(soon + 64, 1);
      if (soon_added == nullptr) continue;
      __builtin_prefetch(soon_added);
      __builtin_prefetch(soon_added + 64);
      soon_added += end.added_row * static_cast<int64_t>(sizeof(S));
    }
    do {  // never skipped: clang 19 keeps the sums in memory where a loop may be
      __builtin_prefetch(transposed ? from + a_line : next);
      add_products<U, rows, transposed ? 1 : line>(from, b, sums);
      b += b_row;
      from += step;
      next += line;
    } while (--steps > 0);
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) end_tile_row<U>(sums[i], i, end);
}

template <class U>
using Tile = void (*)(int64_t, const U*, int64_t, const U*, int64_t, const TileEndOf<U>&, Prefetch);

template <class U, bool transposed, int... i>
constexpr std::array<Tile<U>, sizeof...(i)> tiles_of(std::integer_sequence<int, i...>) {
  return {tile<U, i + 1, transposed>...};
}
template <class U, bool transposed>
inline constexpr auto tiles = tiles_of<U, transposed>(std::make_integer_sequence<int, mr_of<U>>());
