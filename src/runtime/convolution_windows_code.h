// Packs windows in vectors, as many columns as lanes at a time. With a stride of one, a vector is
// assembled from masked loads, one for each run of adjacent elements; with a stride of two from
// every other element of two loads; else it is gathered. Masked elements aren't read.
//
// Included inside a namespace that has the vectors: `Lanes`, and `transpose` of a square of them. S
// is the type in memory.
//
//   Mask mask_of(first, count)        lanes [first, first + count)
//   Mask in_range(mask, x, size)      those of the mask where 0 <= x < size
//   bool is_full(mask)                all lanes
//   Floats load(x, mask, from)        consecutive elements; x in the other lanes
//   load_every_other(x, mask, from)   elements 0, 2, 4, ..
constexpr int64_t lanes = Lanes::count;

// As many columns as lanes: their elements under a tap of offset 0, whether or not these are in the
// image. Lane i of a run is at offset + i * stride; runs that are adjacent in memory are merged.
struct Columns {
  Lanes::Ints depth, row, column;  // position * stride, by lane
  int runs = 0;
  Lanes::Mask masks[lanes];
  int64_t offsets[lanes];
  Lanes::Ints index;  // relative to `base`, for gathering
  int64_t base = 0;
};

// Sets `out` to the next `count` columns, at most as many as lanes, and moves `at` past them.
void set_columns(const WindowSource& w, WindowPosition& at, int64_t count, Columns& out) {
  const int64_t stride = w.stride[2];
  const Lanes::Ints lane_strides = Lanes::multiples(stride);
  out.depth = out.row = out.column = out.index = Lanes::broadcast(0);
  out.runs = 0;
  for (int64_t lane = 0; lane < count;) {
    const int64_t left = w.positions[2] - at.column;
    const int64_t n = count - lane < left ? count - lane : left;
    const Lanes::Mask mask = Lanes::mask_of(lane, n);
    const int64_t depth = at.depth * w.stride[0], row = at.row * w.stride[1];
    const int64_t column = (at.column - lane) * stride;
    const int64_t offset =
        at.image * w.image_stride + (depth * w.size[1] + row) * w.size[2] + column;
    if (lane == 0) out.base = offset;
    const auto set = [&](Lanes::Ints& to, Lanes::Ints from) { to = Lanes::choose(mask, from, to); };
    set(out.depth, Lanes::broadcast(depth));
    set(out.row, Lanes::broadcast(row));
    set(out.column, Lanes::add(lane_strides, Lanes::broadcast(column)));
    set(out.index, Lanes::add(lane_strides, Lanes::broadcast(offset - out.base)));
    if (out.runs > 0 && out.offsets[out.runs - 1] == offset) {
      Lanes::Mask& last = out.masks[out.runs - 1];
      last = Lanes::either(last, mask);
    } else {
      out.masks[out.runs] = mask;
      out.offsets[out.runs++] = offset;
    }
    lane += n;
    at.column += n;
    if (at.column == w.positions[2]) next_row(w, at);
  }
}

// The columns whose elements under a tap are within the image.
Lanes::Mask within(const WindowSource& w, const Columns& c, const Sizes3& tap, Lanes::Mask all) {
  const auto inside = [&](Lanes::Mask so_far, Lanes::Ints at, size_t d) {
    return Lanes::in_range(so_far, Lanes::add(at, Lanes::broadcast(tap[d])), w.size[d]);
  };
  Lanes::Mask mask = inside(all, c.column, 2);
  mask = inside(mask, c.row, 1);
  return w.size[0] == 1 && w.positions[0] == 1 && tap[0] == 0 ? mask : inside(mask, c.depth, 0);
}

int64_t offset_of(const WindowSource& w, const Sizes3& tap) {
  return (tap[0] * w.size[1] + tap[1]) * w.size[2] + tap[2];
}

// How a vector is assembled: from 0 to 3 loads, or one of these. whole: from one without a mask.
constexpr int any_loads = -1, gathered = -2, every_other = -3, whole = -4;

int form_of(const WindowSource& w, const Columns& c) {
  if (c.runs == 0) return 0;  // beyond the last column; its offsets aren't set
  if (w.stride[2] == 2 && c.runs <= 3) return every_other;
  if (w.stride[2] != 1) return gathered;
  return c.runs <= 3 ? c.runs : any_loads;
}

// `channel` is a channel of the first image, moved by the tap.
template <int form, class S>
Lanes::Floats load_columns(const S* channel, const Columns& c, Lanes::Mask within) {
  Lanes::Floats x = Lanes::zero();
  if constexpr (form == whole) {
    x = Lanes::load(channel + c.offsets[0]);
  } else if constexpr (form == gathered) {
    x = Lanes::gather(within, c.index, channel + c.base);
  } else if constexpr (form == every_other) {
    for (int i = 0; i < c.runs; ++i)
      x = Lanes::load_every_other(x, Lanes::every_other(Lanes::both(c.masks[i], within)),
                                  channel + c.offsets[i]);
  } else {
    const int count = form == any_loads ? c.runs : form;
#pragma GCC unroll 4
    for (int i = 0; i < count; ++i)
      x = Lanes::load(x, Lanes::both(c.masks[i], within), channel + c.offsets[i]);
  }
  return x;
}

// The rows of a panel that belong to one tap, for consecutive channels.
template <class S>
struct TapRows {
  const S* channel;
  int64_t plane;
  float* to;
  int64_t apart, count;
};

template <int form, class S>
void fill_rows(const TapRows<S>& rows, const Columns& c, Lanes::Mask within) {
  const S* channel = rows.channel;
  float* to = rows.to;
  for (int64_t i = 0; i < rows.count; ++i, channel += rows.plane, to += rows.apart)
    Lanes::store(to, load_columns<form>(channel, c, within));
}

template <int runs, class S>
void fill_every_other(const TapRows<S>& rows, const Columns& c, Lanes::Mask within) {
  Lanes::EveryOther from[runs];
  for (int i = 0; i < runs; ++i) from[i] = Lanes::every_other(Lanes::both(c.masks[i], within));
  const S* channel = rows.channel;
  float* to = rows.to;
  for (int64_t k = 0; k < rows.count; ++k, channel += rows.plane, to += rows.apart) {
    Lanes::Floats x = Lanes::zero();
#pragma GCC unroll 4
    for (int i = 0; i < runs; ++i) x = Lanes::load_every_other(x, from[i], channel + c.offsets[i]);
    Lanes::store(to, x);
  }
}

template <class S>
void fill_tap(const TapRows<S>& rows, const Columns& c, int form, Lanes::Mask within) {
  switch (form) {
    case 0: return fill_rows<0>(rows, c, within);
    case 1:
      if (Lanes::is_full(Lanes::both(c.masks[0], within))) return fill_rows<whole>(rows, c, within);
      return fill_rows<1>(rows, c, within);
    case 2: return fill_rows<2>(rows, c, within);
    case 3: return fill_rows<3>(rows, c, within);
    case gathered: return fill_rows<gathered>(rows, c, within);
    case every_other:
      if (c.runs == 1) return fill_every_other<1>(rows, c, within);
      if (c.runs == 2) return fill_every_other<2>(rows, c, within);
      return fill_every_other<3>(rows, c, within);
    default: return fill_rows<any_loads>(rows, c, within);
  }
}

template <class S>
void pack_windows(const void* self, int64_t first_k, int64_t count_k, int64_t first_column,
                  int64_t columns, void* panel) {
  const auto& w = *static_cast<const WindowSource*>(self);
  if (count_k == 0) return;  // there may be no taps
  const int64_t plane = product_of(w.size), taps = w.tap_count;
  const int64_t first_channel = first_k / taps, first_tap = first_k % taps;
  WindowPosition at = position_of(w, first_column);
  Columns c;
  for (int64_t j = 0; j < w.nr; j += lanes) {
    const int64_t left = columns - j, count = left < 0 ? 0 : left < lanes ? left : lanes;
    set_columns(w, at, count, c);
    const int form = form_of(w, c);
    const int64_t rows = count_k < taps ? count_k : taps;
    for (int64_t first = 0; first < rows; ++first) {
      const bool next = first_tap + first >= taps;
      const Sizes3& tap = w.taps[first_tap + first - (next ? taps : 0)];
      fill_tap<S>(
          {static_cast<const S*>(w.images) + (first_channel + next) * plane + offset_of(w, tap),
           plane, static_cast<float*>(panel) + first * w.nr + j, taps * w.nr,
           (count_k - first + taps - 1) / taps},
          c, form, within(w, c, tap, Lanes::mask_of(0, count)));
    }
  }
}

// The columns of a transposed panel: the address of a channel, moved by the tap, and the tap.
constexpr int64_t max_columns = 64;
template <class S>
struct TransposedColumns {
  const S* channel[max_columns];
  int64_t tap[max_columns];  // among those of the panel
};

// A square of positions and columns at a time.
template <int form, class S>
void transpose_columns(const WindowSource& w, const TransposedColumns<S>& t, int64_t columns,
                       const Columns& positions, const Lanes::Mask* within, int64_t count,
                       float* to) {
  for (int64_t j = 0; j < w.nr; j += lanes) {
    Lanes::Floats x[lanes];
    const int64_t left = columns - j;
#pragma GCC unroll 16
    for (int64_t i = 0; i < lanes; ++i)
      x[i] = i < left ? load_columns<form>(t.channel[j + i], positions, within[t.tap[j + i]])
                      : Lanes::zero();
    transpose(x);
    if (count == lanes) {
#pragma GCC unroll 16
      for (int64_t i = 0; i < lanes; ++i) Lanes::store(to + i * w.nr + j, x[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) Lanes::store(to + i * w.nr + j, x[i]);
    }
  }
}

template <class S>
void pack_transposed(const void* self, int64_t first_k, int64_t count_k, int64_t first_column,
                     int64_t columns, void* panel) {
  const auto& w = *static_cast<const WindowSource*>(self);
  const int64_t plane = product_of(w.size), taps = w.tap_count;
  const int64_t kinds = columns < taps ? columns : taps;
  TransposedColumns<S> t;
  int64_t channel = first_column / taps, tap = first_column % taps;
  const int64_t first_tap = tap;
  for (int64_t j = 0; j < columns; ++j) {
    t.channel[j] = static_cast<const S*>(w.images) + channel * plane + offset_of(w, w.taps[tap]);
    t.tap[j] = j < kinds ? j : t.tap[j - kinds];
    if (++tap == taps) {
      tap = 0;
      ++channel;
    }
  }
  WindowPosition at = position_of(w, w.first_k + first_k);
  Columns c;
  Lanes::Mask inside[max_columns];
  for (int64_t p = 0; p < count_k; p += lanes) {
    const int64_t count = count_k - p < lanes ? count_k - p : lanes;
    set_columns(w, at, count, c);
    bool is_whole = c.runs == 1;
    for (int64_t j = 0, x = first_tap; j < kinds; ++j) {
      inside[j] = within(w, c, w.taps[x], Lanes::mask_of(0, count));
      is_whole = is_whole && Lanes::is_full(inside[j]);
      if (++x == taps) x = 0;
    }
    float* to = static_cast<float*>(panel) + p * w.nr;
    const int form = form_of(w, c);
    switch (form == 1 && is_whole ? whole : form) {
      case whole: transpose_columns<whole>(w, t, columns, c, inside, count, to); break;
      case 1: transpose_columns<1>(w, t, columns, c, inside, count, to); break;
      case gathered: transpose_columns<gathered>(w, t, columns, c, inside, count, to); break;
      case every_other: transpose_columns<every_other>(w, t, columns, c, inside, count, to); break;
      default: transpose_columns<any_loads>(w, t, columns, c, inside, count, to); break;
    }
  }
}
