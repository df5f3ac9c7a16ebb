// Convolutions and pooling: torch.nn.functional's (PyTorch 2.13), row-major, channels first.
//
//   Tensor y = max_pool2d(relu(conv2d(x, w, b, {.stride = 2, .padding = {1, 1}})), 2);
//
// Each is one node, plus one or two views if the input has no batch dim. Errors (user), at the
// caller's line: the operator's rule that is violated.
#pragma once
#include "cleave/function.h"

namespace cleave {

// One number for all spatial dims, or one for each: 3, {3, 5}.
class Spatial {
 public:
  Spatial(int64_t all) : sizes_{all} {}
  Spatial(std::initializer_list<int64_t> each) : sizes_(each) {}
  // The values for `dims` dims. Error (user), at the line if one is given: another number of them.
  CLEAVE_API Sizes of(size_t dims, const char* what, Location at = {}) const;

 private:
  Sizes sizes_;
};

struct ConvOptions {
  Spatial stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
};
// input [N,C,L] or [C,L], weight [out,C/groups,k], bias [out] or none
CLEAVE_API Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                         const ConvOptions& options = {}, Location at = Location::current());
// input [N,C,H,W] or [C,H,W], weight [out,C/groups,kh,kw]
CLEAVE_API Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                         const ConvOptions& options = {}, Location at = Location::current());

struct ConvTransposeOptions {
  Spatial stride = 1, padding = 0, output_padding = 0;
  int64_t groups = 1;
  Spatial dilation = 1;
};
// input [N,C,H,W] or [C,H,W], weight [C,out/groups,kh,kw]
CLEAVE_API Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                                   const Tensor& bias = {},
                                   const ConvTransposeOptions& options = {},
                                   Location at = Location::current());

// The default stride is the kernel's size. Input [N,C,H,W] or [C,H,W].
struct MaxPoolOptions {
  std::optional<Spatial> stride = std::nullopt;
  Spatial padding = 0, dilation = 1;
  bool ceil_mode = false;
};
CLEAVE_API Tensor max_pool2d(const Tensor& input, const Spatial& kernel_size,
                             const MaxPoolOptions& options = {}, Location at = Location::current());

struct AvgPoolOptions {
  std::optional<Spatial> stride = std::nullopt;
  Spatial padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<int64_t> divisor_override = std::nullopt;
};
CLEAVE_API Tensor avg_pool2d(const Tensor& input, const Spatial& kernel_size,
                             const AvgPoolOptions& options = {}, Location at = Location::current());
CLEAVE_API Tensor adaptive_avg_pool2d(const Tensor& input, const Spatial& output_size,
                                      Location at = Location::current());

}  // namespace cleave
