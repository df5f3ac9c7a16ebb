// Convolutions and pooling, as calls of ATen's operators.
#include "cleave/spatial.h"
#include "trace/record.h"

namespace cleave {

using trace::record1;
using trace::require_defined;

Sizes Spatial::of(size_t dims, const char* what, Location at) const {
  if (sizes_.size() == 1) return Sizes(dims, sizes_[0]);
  if (sizes_.size() != dims)
    trace::refuse(at, "{} has {} numbers, expected 1 or {}", what, sizes_.size(), dims);
  return sizes_;
}

namespace {

struct Convolution {
  const char* name;
  size_t dims;
};

Tensor convolved(const Convolution& c, const Tensor& input, const Tensor& weight,
                 const Tensor& bias, NamedAttrs attrs, Location at) {
  require_defined(c.name, "input", input, at);
  require_defined(c.name, "weight", weight, at);
  const auto rank = static_cast<int64_t>(c.dims) + 2;
  if (weight.dim() != rank || (input.dim() != rank && input.dim() != rank - 1))
    trace::refuse(at, "{}: input {} and weight {}: expected {} or {} dims and {}", c.name,
                  input.type_text(), weight.type_text(), rank, rank - 1, rank);
  const bool batched = input.dim() == rank;
  const Tensor y = record1("convolution", {batched ? input : unsqueeze(input, 0, at), weight, bias},
                           std::move(attrs), at);
  return batched ? y : squeeze(y, 0, at);
}

Tensor conv(const Convolution& c, const Tensor& input, const Tensor& weight, const Tensor& bias,
            const ConvOptions& o, Location at) {
  return convolved(c, input, weight, bias,
                   {{"stride", o.stride.of(c.dims, "stride", at)},
                    {"padding", o.padding.of(c.dims, "padding", at)},
                    {"dilation", o.dilation.of(c.dims, "dilation", at)},
                    {"transposed", false},
                    {"output_padding", Sizes(c.dims, 0)},
                    {"groups", o.groups}},
                   at);
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias,
              const ConvOptions& options, Location at) {
  return conv({"conv1d", 1}, input, weight, bias, options, at);
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
              const ConvOptions& options, Location at) {
  return conv({"conv2d", 2}, input, weight, bias, options, at);
}

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& o, Location at) {
  return convolved({"conv_transpose2d", 2}, input, weight, bias,
                   {{"stride", o.stride.of(2, "stride", at)},
                    {"padding", o.padding.of(2, "padding", at)},
                    {"dilation", o.dilation.of(2, "dilation", at)},
                    {"transposed", true},
                    {"output_padding", o.output_padding.of(2, "output_padding", at)},
                    {"groups", o.groups}},
                   at);
}

Tensor max_pool2d(const Tensor& input, const Spatial& kernel_size, const MaxPoolOptions& o,
                  Location at) {
  require_defined("max_pool2d", "input", input, at);
  return record1("max_pool2d_with_indices", {input},
                 {{"kernel_size", kernel_size.of(2, "kernel_size", at)},
                  {"stride", o.stride.value_or(kernel_size).of(2, "stride", at)},
                  {"padding", o.padding.of(2, "padding", at)},
                  {"dilation", o.dilation.of(2, "dilation", at)},
                  {"ceil_mode", o.ceil_mode}},
                 at);
}

Tensor avg_pool2d(const Tensor& input, const Spatial& kernel_size, const AvgPoolOptions& o,
                  Location at) {
  require_defined("avg_pool2d", "input", input, at);
  NamedAttrs attrs{{"kernel_size", kernel_size.of(2, "kernel_size", at)},
                   {"stride", o.stride.value_or(kernel_size).of(2, "stride", at)},
                   {"padding", o.padding.of(2, "padding", at)},
                   {"ceil_mode", o.ceil_mode},
                   {"count_include_pad", o.count_include_pad}};
  if (o.divisor_override) attrs.emplace_back("divisor_override", *o.divisor_override);
  return record1("avg_pool2d", {input}, std::move(attrs), at);
}

Tensor adaptive_avg_pool2d(const Tensor& input, const Spatial& output_size, Location at) {
  require_defined("adaptive_avg_pool2d", "input", input, at);
  return record1("_adaptive_avg_pool2d", {input},
                 {{"output_size", output_size.of(2, "output_size", at)}}, at);
}

}  // namespace cleave
