// Walks along the columns of a WindowSource.
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
// at `offset` from the images' begin, the next ones step[2] apart.
template <class F>
void for_each_stretch(const WindowSource& w, WindowPosition at, int64_t lanes, const Sizes3& tap,
                      const F& f) {
  const int64_t step = w.step[2];
  for (int64_t lane = 0; lane < lanes;) {
    const int64_t left = w.positions[2] - at.column;
    const int64_t count = lanes - lane < left ? lanes - lane : left;
    const int64_t depth = at.depth * w.step[0] + tap[0], row = at.row * w.step[1] + tap[1];
    if (depth >= 0 && depth < w.size[0] && row >= 0 && row < w.size[1]) {
      const int64_t column = at.column * step + tap[2];
      int64_t first = 0, end = count;
      if (column < 0) first = step == 1 ? -column : (step - 1 - column) / step;
      const int64_t room = w.size[2] - column;
      if (room < (count - 1) * step + 1) end = room <= 0 ? 0 : (room + step - 1) / step;
      if (first < end)
        f(lane + first, end - first,
          at.image * w.image_stride + (depth * w.size[1] + row) * w.size[2] + column +
              first * step);
    }
    lane += count;
    next_row(w, at);
  }
}

}  // namespace cleave::runtime
