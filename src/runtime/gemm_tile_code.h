// A tile of sums in registers, for gemm_block_code.h, which includes this.

// Where the next panel's source lies: four lines are brought into the second-level cache for each
// line of k that a tile sums, so that packing finds them there.
struct Ahead {
  const char* at = nullptr;
  int64_t second = 0, third = 0;  // bytes to the other lines; the fourth is behind both
  int64_t next = 0;               // to the next four

  void step() {
    __builtin_prefetch(at, 0, 2);
    __builtin_prefetch(at + second, 0, 2);
    __builtin_prefetch(at + third, 0, 2);
    __builtin_prefetch(at + second + third, 0, 2);
    at += next;
  }
};

// Where a tile's sums go: to c, after what c holds is added (after the first steps of k), and after
// the last ones `added`, where there is one. Rows are row elements apart.
template <class T>
struct TileEnd {
  T* c = nullptr;
  int64_t c_row = 0;
  bool add_c = false;
  const T* added = nullptr;
  int64_t added_row = 0;
};

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

// end(i, 0..nr) = sum over p of a(i, p) * b[p * b_row][0, nr), i in [0, rows). What it reads next
// is asked for early: C, the next lines of the packed A, the next panel's source.
template <class T, int rows, bool turned>
void tile(int64_t k, const T* a, const T* b, int64_t b_row, const TileEnd<T>& end, Ahead ahead) {
  using V = Vec<T>;
  constexpr int64_t mr = mr_of<T>, line = line_of<T>;
  typename V::type sums[rows][2];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) sums[i][0] = sums[i][1] = V::zero();
  const T* soon = end.c;  // the rows of C one after the other, lest they block other reads
  const T* const last = end.c + (rows - 1) * end.c_row;
  while (k > 0) {
    int64_t steps = k < line ? k : line;
    const T* from = a;
    const T* next = a += mr * line;
    k -= steps;
    ahead.step();
    __builtin_prefetch(soon, 1);
    __builtin_prefetch(soon + V::lanes, 1);
    if (soon != last) soon += end.c_row;
    do {  // never skipped: clang 19 keeps the sums in memory where a loop may be
      __builtin_prefetch(next);
      add_products<T, rows, turned ? 1 : line>(from, b, sums);
      b += b_row;
      from += turned ? mr : 1;
      next += line;
    } while (--steps > 0);
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    T* row = end.c + i * end.c_row;
    if (end.add_c) {
      sums[i][0] = V::add(V::load(row), sums[i][0]);
      sums[i][1] = V::add(V::load(row + V::lanes), sums[i][1]);
    }
    if (end.added != nullptr) {
      const T* added = end.added + i * end.added_row;
      sums[i][0] = V::add(V::load(added), sums[i][0]);
      sums[i][1] = V::add(V::load(added + V::lanes), sums[i][1]);
    }
    V::store(row, sums[i][0]);
    V::store(row + V::lanes, sums[i][1]);
  }
}

template <class T>
using Tile = void (*)(int64_t, const T*, const T*, int64_t, const TileEnd<T>&, Ahead);

template <class T, bool turned, int... i>
constexpr std::array<Tile<T>, sizeof...(i)> tiles_of(std::integer_sequence<int, i...>) {
  return {tile<T, i + 1, turned>...};
}
template <class T, bool turned>
inline constexpr auto tiles = tiles_of<T, turned>(std::make_integer_sequence<int, mr_of<T>>());
