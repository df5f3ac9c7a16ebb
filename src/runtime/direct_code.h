// direct_block.h by vectors: included inside a namespace for which the instruction set has been
// chosen, behind vec_*.h.

// The type in which elements of S are summed.
template <class S>
using SumOf = std::conditional_t<std::is_same_v<S, double>, double, float>;

template <class T>
inline constexpr int64_t lanes_of = Vec<T>::lanes;

// --- Filling planes ------------------------------------------------------------------------------

template <class S, class T>
inline void widen_row(const S* from, int64_t step, int64_t count, T* to) {
  if constexpr (std::is_same_v<S, T>) {
    constexpr int64_t n = lanes_of<T>, half = 16 / sizeof(T);
    if (step == 1 && count >= half) {  // the last vector overlaps the one before
      if (count >= n) {
        for (int64_t i = 0; i + n <= count; i += n) Vec<T>::store(to + i, Vec<T>::load(from + i));
        Vec<T>::store(to + count - n, Vec<T>::load(from + count - n));
        return;
      }
      for (int64_t i = 0; i + half <= count; i += half) std::memcpy(to + i, from + i, 16);
      std::memcpy(to + count - half, from + count - half, 16);
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i * step]);
}

template <class V, size_t... I>
inline V evens(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, 2 * static_cast<int>(I)...);
}
template <class V, size_t... I>
inline V odds(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, 2 * static_cast<int>(I) + 1 ...);
}
// Vector `half` of a and b in turns.
template <int half, class V, size_t... I>
inline V in_turns(V a, V b, std::index_sequence<I...>) {
  constexpr int n = sizeof...(I);
  return __builtin_shufflevector(
      a, b, (static_cast<int>(I) % 2 * n + half * n / 2 + static_cast<int>(I) / 2)...);
}

// Every other number to `even`, those between to `odd`.
template <class T>
inline void part_row(const T* from, int64_t count, T* even, T* odd) {
  constexpr int64_t n = lanes_of<T>;
  constexpr auto all = std::make_index_sequence<static_cast<size_t>(n)>();
  int64_t i = 0;
  for (; 2 * (i + n) <= count; i += n) {
    const auto a = Vec<T>::load(from + 2 * i), b = Vec<T>::load(from + 2 * i + n);
    Vec<T>::store(even + i, evens(a, b, all));
    Vec<T>::store(odd + i, odds(a, b, all));
  }
  for (; i < (count + 1) / 2; ++i) {
    even[i] = from[2 * i];
    if (2 * i + 1 < count) odd[i] = from[2 * i + 1];
  }
}

// Along one dim: positions of a residue are begin, begin + 1, ... of its slot, and begin at `from`
// of the image.
struct SlotRun {
  int64_t begin, from, count;
};

inline SlotRun slot_run(const PlaneLayout& l, int d, int64_t residue) {
  const int64_t first = l.first[d] < 0 ? 0 : l.first[d];
  int64_t end = (l.size[d] - residue + l.stride[d] - 1) / l.stride[d];
  if (end > l.first[d] + l.extent[d]) end = l.first[d] + l.extent[d];
  return {first - l.first[d], first * l.stride[d] + residue, end < first ? 0 : end - first};
}

// The runs of a row, and whether its two slots take turns.
struct FillRow {
  SlotRun run[most_slots];
  int64_t to[most_slots];
  int64_t residues = 0;
  bool parts = false;
};

inline FillRow fill_row_of(const PlaneLayout& l) {
  FillRow out;
  const int64_t numbers = l.slot_numbers();
  for (int64_t r = 0; r < l.stride[2]; ++r) {
    const int64_t slot = l.slot_of[2][r];
    if (slot < 0) continue;
    out.run[slot] = slot_run(l, 2, r);
    out.to[slot] = slot * numbers + out.run[slot].begin;
    ++out.residues;
  }
  out.parts = l.stride[2] == 2 && out.residues == 2 && l.first[2] <= 0 &&
              out.run[0].count + out.run[1].count == l.size[2];
  return out;
}

template <class S, class T>
inline void fill_row(const FillRow& f, int64_t step, int64_t size, const S* from, T* slots) {
  if constexpr (std::is_same_v<S, T>)
    if (f.parts) {
      const int even = f.run[0].from % 2 == 0 ? 0 : 1;
      return part_row(from, size, slots + f.to[even], slots + f.to[1 - even]);
    }
  for (int64_t k = 0; k < f.residues; ++k)
    widen_row(from + f.run[k].from, step, f.run[k].count, slots + f.to[k]);
}

template <class S>
void fill(const PlaneLayout& l, const void* image, int64_t first_row, int64_t end_row,
          void* plane) {
  using T = SumOf<S>;
  const S* from = static_cast<const S*>(image);
  const FillRow f = fill_row_of(l);
  for (int64_t a = 0; a < l.stride[0]; ++a)
    for (int64_t b = 0; b < l.stride[1]; ++b) {
      if (l.slot_of[0][a] < 0 || l.slot_of[1][b] < 0) continue;
      T* const slots = static_cast<T*>(plane) + (l.slot_of[0][a] * l.slots[1] + l.slot_of[1][b]) *
                                                    l.slots[2] * l.slot_numbers();
      const SlotRun depths = slot_run(l, 0, a), rows = slot_run(l, 1, b);
      const int64_t first = first_row > rows.begin ? first_row - rows.begin : 0;
      const int64_t end = end_row < rows.begin + rows.count ? end_row - rows.begin : rows.count;
      for (int64_t i = 0; i < depths.count; ++i)
        for (int64_t j = first; j < end; ++j) {
          const int64_t depth = depths.from + i * l.stride[0], row = rows.from + j * l.stride[1];
          fill_row<S, T>(f, l.stride[2], l.size[2], from + (depth * l.size[1] + row) * l.size[2],
                         slots + ((depths.begin + i) * l.extent[1] + rows.begin + j) * l.extent[2]);
        }
    }
}

template <class S>
void widen(const void* from, int64_t count, int64_t rows, void* to, int64_t to_row) {
  for (int64_t i = 0; i < rows; ++i)
    widen_row(static_cast<const S*>(from) + i * count, 1, count,
              static_cast<SumOf<S>*>(to) + i * to_row);
}

// --- Sums over taps ------------------------------------------------------------------------------

// R results of U vectors of positions, in registers.
template <class T, int R, int U>
inline void sum_tile(const TapSums& c, int64_t r, int64_t p) {
  using V = Vec<T>;
  typename V::type sum[R][U];
  const T* const weight = static_cast<const T*>(c.weight) + r * c.taps;
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
    const auto bias = V::broadcast(static_cast<const T*>(c.bias)[r + i]);
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u) sum[i][u] = bias;
  }
  for (int64_t t = 0; t < c.taps; ++t) {
    const T* const in = static_cast<const T*>(c.in) + p + c.offset[t];
    typename V::type x[U];
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u) x[u] = V::load(in + u * V::lanes);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      const auto w = V::broadcast(weight[i * c.taps + t]);
#pragma GCC unroll 8
      for (int u = 0; u < U; ++u) sum[i][u] = V::multiply_add(x[u], w, sum[i][u]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u)
      V::store(static_cast<T*>(c.to) + (r + i) * c.to_row + p + u * V::lanes, sum[i][u]);
}

template <class T, int R, int U>
inline void sum_rest(const TapSums& c, int64_t r, int64_t p) {
  if constexpr (U > 0) {
    if (p + (U - 1) * lanes_of<T> < c.count) return sum_tile<T, R, U>(c, r, p);
    sum_rest<T, R, U - 1>(c, r, p);
  }
}

template <class T, int R, int U>
inline void sum_results(const TapSums& c, int64_t r) {
  constexpr int64_t n = lanes_of<T>;
  int64_t p = 0;
  for (; p + U * n <= c.count; p += U * n) sum_tile<T, R, U>(c, r, p);
  sum_rest<T, R, U>(c, r, p);
}

template <class T>
void sums(const TapSums& c) {
  int64_t r = 0;
  for (; r + 4 <= c.results; r += 4) sum_results<T, 4, 2>(c, r);
  for (; r + 2 <= c.results; r += 2) sum_results<T, 2, 4>(c, r);
  for (; r < c.results; ++r) sum_results<T, 1, 6>(c, r);
}

// --- Sums over positions -------------------------------------------------------------------------

template <class T>
struct WordOf {
  using Int = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  typedef Int type __attribute__((vector_size(vector_bytes)));
};

template <class T, int C>
inline void dot_taps(const TapDots& c, int64_t first) {
  using V = Vec<T>;
  using Words = typename WordOf<T>::type;
  typename V::type sum[C];
  T* const lanes = static_cast<T*>(c.lanes) + first * V::lanes;
#pragma GCC unroll 16
  for (int i = 0; i < C; ++i) sum[i] = V::load(lanes + i * V::lanes);
  for (int64_t p = 0; p < c.count; p += V::lanes) {
    const auto small = V::load(static_cast<const T*>(c.small) + p);
    Words mask;
    std::memcpy(&mask, static_cast<const T*>(c.mask) + p, sizeof mask);
#pragma GCC unroll 16
    for (int i = 0; i < C; ++i) {
      Words x;
      std::memcpy(&x, static_cast<const T*>(c.in) + p + c.offset[first + i], sizeof x);
      sum[i] = V::multiply_add((typename V::type)(x & mask), small, sum[i]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < C; ++i) V::store(lanes + i * V::lanes, sum[i]);
}

// Calls f<C>(first) for parts of C taps, at most nine, of about one size: their sums stay in
// registers.
template <class F>
inline void for_parts_of_taps(int64_t taps, const F& f) {
  constexpr int64_t most = 9;
  int64_t parts = (taps + most - 1) / most;
  for (int64_t first = 0; first < taps; --parts) {
    const int64_t n = (taps - first + parts - 1) / parts;
    switch (n) {
      case 1: f.template operator()<1>(first); break;
      case 2: f.template operator()<2>(first); break;
      case 3: f.template operator()<3>(first); break;
      case 4: f.template operator()<4>(first); break;
      case 5: f.template operator()<5>(first); break;
      case 6: f.template operator()<6>(first); break;
      case 7: f.template operator()<7>(first); break;
      case 8: f.template operator()<8>(first); break;
      default: f.template operator()<9>(first); break;
    }
    first += n;
  }
}

template <class T>
void dots(const TapDots& c) {
  for_parts_of_taps(c.taps, [&]<int C>(int64_t first) { dot_taps<T, C>(c, first); });
}

template <class T>
void flush(void* lanes, int64_t taps, double* totals) {
  T* x = static_cast<T*>(lanes);
  for (int64_t t = 0; t < taps; ++t, x += lanes_of<T>) {
    double total = 0;
    for (int64_t l = 0; l < lanes_of<T>; ++l) total += static_cast<double>(x[l]);
    totals[t] += total;
    Vec<T>::store(x, Vec<T>::zero());
  }
}

template <class S>
void narrow(const double* totals, int64_t count, void* to) {
  for (int64_t i = 0; i < count; ++i)
    static_cast<S*>(to)[i] = static_cast<S>(static_cast<SumOf<S>>(totals[i]));
}

// --- Writing results -----------------------------------------------------------------------------

template <class S, class T>
inline S end_of(T x, const S* added, int64_t at, bool relu) {
  if constexpr (std::is_same_v<S, float>) {
    if (added != nullptr) x += added[at];
    return relu && 0 > x ? 0 : x;  // NaN and -0 stay
  } else {
    return static_cast<S>(x);
  }
}

// One row of `phases` in turns.
template <class S, class T>
inline void write_turns(const RowWrite& c, const T* from, S* to, const S* added) {
  int64_t i = 0;
  if constexpr (std::is_same_v<S, T>)
    if (c.phases == 2 && c.step == 2 && added == nullptr && !c.relu) {
      constexpr int64_t n = lanes_of<T>;
      constexpr auto all = std::make_index_sequence<static_cast<size_t>(n)>();
      for (; i + n <= c.counts[1]; i += n) {
        const auto a = Vec<T>::load(from + i), b = Vec<T>::load(from + c.from_phase + i);
        Vec<T>::store(to + 2 * i, in_turns<0>(a, b, all));
        Vec<T>::store(to + 2 * i + n, in_turns<1>(a, b, all));
      }
    }
  for (int64_t k = 0; k < c.phases; ++k)
    for (int64_t x = i; x < c.counts[k]; ++x)
      to[x * c.step + k] = end_of(from[k * c.from_phase + x], added, x * c.step + k, c.relu);
}

template <class S, class T>
inline void write_row(const RowWrite& c, const T* from, S* to, const S* added) {
  if constexpr (std::is_same_v<S, T>)
    if (added == nullptr && !c.relu) return widen_row(from, 1, c.counts[0], to);
  for (int64_t i = 0; i < c.counts[0]; ++i) to[i] = end_of(from[i], added, i, c.relu);
}

template <class S>
void write(const RowWrite& c) {
  using T = SumOf<S>;
  for (int64_t row = 0; row < c.rows; ++row) {
    const T* const from = static_cast<const T*>(c.from) + row * c.from_row;
    S* const to = static_cast<S*>(c.to) + row * c.to_row;
    const S* added = static_cast<const S*>(c.added);
    if (added != nullptr) added += row * c.to_row;
    if (c.phases == 1 && c.step == 1)
      write_row(c, from, to, added);
    else
      write_turns(c, from, to, added);
  }
}

#include "runtime/depthwise_code.h"

template <class S>
constexpr DirectKernel kernel() {
  using T = SumOf<S>;
  if constexpr (has_code)
    return {lanes_of<T>,  fill<S>,      sums<T>,      dots<T>,     write<S>,
            widen<S>,     flush<T>,     narrow<S>,    lanes_in<S>, lanes_out<S>,
            lane_sums<T>, lane_dots<T>, lane_flush<T>};
  else
    return {lanes_of<T>,
            [](const PlaneLayout&, const void*, int64_t, int64_t, void*) { std::abort(); }};
}

constexpr DirectKernels all_kernels() {
  return {kernel<float>(), kernel<double>(), kernel<Bf16>(), kernel<F16>()};
}
