// The part of direct_block.h that keeps a channel a lane; included by direct_code.h.

// --- Transposing ---------------------------------------------------------------------------------

// Rows become columns: each round interleaves the rows of both halves.
template <class T>
inline void transpose(typename Vec<T>::type (&x)[lanes_of<T>]) {
  constexpr int64_t n = lanes_of<T>;
  constexpr auto all = std::make_index_sequence<static_cast<size_t>(n)>();
  typename Vec<T>::type y[n];
#pragma GCC unroll 4
  for (int64_t round = 1; round < n; round *= 2) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < n / 2; ++i) {
      y[2 * i] = in_turns<0>(x[i], x[i + n / 2], all);
      y[2 * i + 1] = in_turns<1>(x[i], x[i + n / 2], all);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < n; ++i) x[i] = y[i];
  }
}

template <class S, class T>
inline typename Vec<T>::type load_wide(const S* from) {
  if constexpr (std::is_same_v<S, T>) {
    return Vec<T>::load(from);
  } else {
    T wide[lanes_of<T>];
    for (int64_t i = 0; i < lanes_of<T>; ++i) wide[i] = static_cast<T>(from[i]);
    return Vec<T>::load(wide);
  }
}

template <class S>
void lanes_in(const LaneCopy& c) {
  using T = SumOf<S>;
  constexpr int64_t n = lanes_of<T>;
  const S* const image = static_cast<const S*>(c.image);
  int64_t row = 0, column = 0;
  T* to = static_cast<T*>(c.at);
  const auto next = [&] {
    to += n;
    if (++column < c.row) return;
    column = 0;
    to = static_cast<T*>(c.at) + ++row * c.at_row;
  };
  int64_t p = 0;
  for (; p + n <= c.positions; p += n) {
    typename Vec<T>::type x[n];
    for (int64_t i = 0; i < n; ++i)
      x[i] = i < c.channels ? load_wide<S, T>(image + i * c.plane + p) : Vec<T>::zero();
    transpose<T>(x);
    for (int64_t i = 0; i < n; ++i) {
      Vec<T>::store(to, x[i]);
      next();
    }
  }
  for (; p < c.positions; ++p) {
    for (int64_t i = 0; i < n; ++i)
      to[i] = i < c.channels ? static_cast<T>(image[i * c.plane + p]) : T{0};
    next();
  }
}

template <class S>
void lanes_out(const LaneCopy& c) {
  using T = SumOf<S>;
  constexpr int64_t n = lanes_of<T>;
  const T* const from = static_cast<const T*>(c.at);
  S* const image = static_cast<S*>(c.image);
  const S* const added = static_cast<const S*>(c.added);
  const bool has_end = added != nullptr || c.relu;
  int64_t p = 0;
  if constexpr (std::is_same_v<S, T>)
    for (; p + n <= c.positions; p += n) {
      typename Vec<T>::type x[n];
      for (int64_t i = 0; i < n; ++i) x[i] = Vec<T>::load(from + (p + i) * n);
      transpose<T>(x);
      for (int64_t i = 0; i < n; ++i) {
        if (i >= c.channels) break;
        if constexpr (std::is_same_v<S, float>)
          if (has_end) {
            if (added != nullptr) x[i] = Vec<T>::add(x[i], Vec<T>::load(added + i * c.plane + p));
            if (c.relu) x[i] = Vec<T>::not_negative(x[i]);
          }
        Vec<T>::store(image + i * c.plane + p, x[i]);
      }
    }
  for (; p < c.positions; ++p)
    for (int64_t i = 0; i < c.channels; ++i)
      image[i * c.plane + p] = end_of(from[p * n + i], added, i * c.plane + p, c.relu);
}

// --- Sums ----------------------------------------------------------------------------------------

template <class T, int U>
inline void lane_tile(const LaneSums& c, int64_t p) {
  using V = Vec<T>;
  typename V::type sum[U];
  const auto bias = V::load(static_cast<const T*>(c.bias));
#pragma GCC unroll 8
  for (int u = 0; u < U; ++u) sum[u] = bias;
  const T* const in = static_cast<const T*>(c.in) + p * c.in_step;
  for (int64_t t = 0; t < c.taps; ++t) {
    const auto weight = V::load(static_cast<const T*>(c.weight) + t * V::lanes);
    const T* const from = in + c.offset[t];
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u)
      sum[u] = V::multiply_add(V::load(from + u * c.in_step), weight, sum[u]);
  }
  T* const to = static_cast<T*>(c.to) + p * c.to_step;
#pragma GCC unroll 8
  for (int u = 0; u < U; ++u) V::store(to + u * c.to_step, sum[u]);
}

template <class T, int U>
inline void lane_rest(const LaneSums& c, int64_t p) {
  if constexpr (U > 0) {
    if (c.count - p >= U) return lane_tile<T, U>(c, p);
    lane_rest<T, U - 1>(c, p);
  }
}

template <class T>
void lane_sums(const LaneSums& c) {
  constexpr int most = 8;
  int64_t p = 0;
  // The last two tiles share what is left: a tile of few has to wait for each of its sums.
  for (; c.count - p >= 2 * most || c.count - p == most; p += most) lane_tile<T, most>(c, p);
  if (c.count - p > most) {
    const int64_t half = (c.count - p + 1) / 2;
    LaneSums first = c;
    first.count = p + half;
    lane_rest<T, most>(first, p);
    p += half;
  }
  lane_rest<T, most>(c, p);
}

template <class T, int C>
inline void lane_dot(const LaneDots& c, int64_t first) {
  using V = Vec<T>;
  typename V::type sum[C];
  T* const sums = static_cast<T*>(c.sums) + first * V::lanes;
#pragma GCC unroll 16
  for (int i = 0; i < C; ++i) sum[i] = V::load(sums + i * V::lanes);
  for (int64_t row = 0; row < c.rows; ++row) {
    const T* in = static_cast<const T*>(c.in) + row * c.in_row;
    const T* small = static_cast<const T*>(c.small) + row * c.small_row;
    for (int64_t p = 0; p < c.count; ++p, in += c.in_step, small += V::lanes) {
      const auto x = V::load(small);
#pragma GCC unroll 16
      for (int i = 0; i < C; ++i)
        sum[i] = V::multiply_add(V::load(in + c.offset[first + i]), x, sum[i]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < C; ++i) V::store(sums + i * V::lanes, sum[i]);
}

template <class T>
void lane_dots(const LaneDots& c) {
  for_parts_of_taps(c.taps, [&]<int C>(int64_t first) { lane_dot<T, C>(c, first); });
}

template <class T>
void lane_flush(void* sums, int64_t count, double* totals) {
  T* const x = static_cast<T*>(sums);
  for (int64_t i = 0; i < count; ++i) {
    totals[i] += static_cast<double>(x[i]);
    x[i] = 0;
  }
}
