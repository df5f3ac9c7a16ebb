// Vec<T>, by the compiler's vectors. Included by vec_*.h after they define vector_bytes; they
// specialize it for some types and define mr_of<T> and has_code: false where the instruction set is
// one of another architecture. There a kernel has its sizes, which programs are planned by.
//
//   Vec<T>    a vector of `lanes` numbers of T
//   mr_of<T>  rows of a tile of sums, so that it fits the registers with two vectors of columns
//
//   transpose_columns(b, b_col, k, to)
//             writes 2 * lanes columns of B, b_col apart and dense along k, as rows:
//             to[p * 2 * lanes + j]. Returns how many p < k it has written; the rest is left to the
//             caller

template <class T>
struct Vec {
  static constexpr int64_t lanes = vector_bytes / sizeof(T);
  typedef T type __attribute__((vector_size(vector_bytes)));

  static type zero() { return type{}; }
  static type broadcast(T x) { return x - type{}; }
  static type load(const T* from) {
    type v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(T* to, type v) { std::memcpy(to, &v, sizeof v); }
  static type add(type x, type y) { return x + y; }
  static type multiply_add(type x, type y, type z) { return z + x * y; }
  static type not_negative(type x) { return zero() > x ? zero() : x; }  // NaN and -0 stay
  static int64_t transpose_columns(const T*, int64_t, int64_t, T*) { return 0; }
};
