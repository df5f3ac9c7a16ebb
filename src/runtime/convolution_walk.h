// Iterates over the columns of a WindowSource.
#pragma once
#include "runtime/convolution_windows.h"

namespace cleave::runtime {

struct WindowPosition {
  int64_t image, depth, row, column;
};

inline WindowPosition position_of(const WindowSource& w, int64_t index) {
  const int64_t column = index % w.positions[2], rows = index / w.positions[2];
  const int64_t row = rows % w.positions[1], depths = rows / w.positions[1];
  return {depths / w.positions[0], depths % w.positions[0], row, column};
}

inline void next_row(const WindowSource& w, WindowPosition& at) {
  at.column = 0;
  if (++at.row < w.positions[1]) return;
  at.row = 0;
  if (++at.depth < w.positions[0]) return;
  at.depth = 0;
  ++at.image;
}

// Calls f(lane, count, offset) for each stretch of `count` columns whose windows lie within the
// image under a tap: the first of them is lane `lane` of `lanes` from `at` on, its element stands
// at `offset` from the images' begin, the next ones stride[2] apart.
template <class F>
void for_each_run(const WindowSource& w, WindowPosition at, int64_t lanes, const Sizes3& tap,
                  const F& f) {
  const int64_t stride = w.stride[2];
  for (int64_t lane = 0; lane < lanes;) {
    const int64_t left = w.positions[2] - at.column;
    const int64_t count = lanes - lane < left ? lanes - lane : left;
    const int64_t depth = at.depth * w.stride[0] + tap[0], row = at.row * w.stride[1] + tap[1];
    if (depth >= 0 && depth < w.size[0] && row >= 0 && row < w.size[1]) {
      const int64_t column = at.column * stride + tap[2];
      int64_t first = 0, end = count;
      if (column < 0) first = stride == 1 ? -column : (stride - 1 - column) / stride;
      const int64_t room = w.size[2] - column;
      if (room < (count - 1) * stride + 1) end = room <= 0 ? 0 : (room + stride - 1) / stride;
      if (first < end)
        f(lane + first, end - first,
          at.image * w.image_stride + (depth * w.size[1] + row) * w.size[2] + column +
              first * stride);
    }
    lane += count;
    next_row(w, at);
  }
}

}  // namespace cleave::runtime
