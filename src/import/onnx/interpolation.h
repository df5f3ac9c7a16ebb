// One axis of Resize: which elements each place of the result is a sum of, and how much of each.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace cleave::onnx {

struct ResizeAxis {
  int64_t from = 0, to = 0;  // sizes
  double scale = 1;
  double roi_start = 0, roi_end = 1;
  std::string mode, transformation, nearest;  // as Resize's attributes
  double cubic_a = -0.75;
  bool exclude_outside = false, antialias = false;
};

struct ResizeWeights {
  std::vector<int64_t> index;   // of mode nearest: the element
  std::vector<double> weights;  // of the others: [to, from], row-major
  std::vector<bool> outside;    // places of tf_crop_and_resize that get the extrapolation value
};

// Source: onnx/reference/ops/op_resize.py, ONNX 1.22 (the definition that its tests are made by).
Result<ResizeWeights> resize_weights(const ResizeAxis& axis);

}  // namespace cleave::onnx
