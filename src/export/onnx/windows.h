// Windows of a pooling, gathered: for what MaxPool and AveragePool leave open.
#pragma once
#include "export/onnx/rules.h"
#include "op/pool.h"

namespace cleave::to_onnx {

// Kernel, strides and pads, as MaxPool and AveragePool take them.
Attributes attributes_of(const PoolWindows& w);

// Spatial sizes of the image, and counts of windows.
struct Extents {
  Ints size, count;
};
// Failure (unsupported): a size isn't a number.
Result<Extents> extents_of(Call& c, size_t rank);

V integers_of(Call& c, const Ints& values, Ints shape);

struct Gathered {
  V elements;     // [*lead, *count, taps], `outside` where a window leaves the image
  V inside;       // bool[*count, taps]
  Ints position;  // by window and tap, row-major in the image; -1 outside
  int64_t taps = 1;
};
// Of x[*lead, *size]. Failure (unsupported): too many windows.
Result<Gathered> gathered(Call& c, V x, const PoolWindows& w, const Extents& e, double outside);

}  // namespace cleave::to_onnx
