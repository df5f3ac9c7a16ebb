// Shared by convolution and its backward. A convolution maps a large side to a small one by a
// weight; a transposed one maps the small side to the large one by the same weight.
//
//   large f[n, cl, *size] --- weight f[cs, cl/groups, *kernel] --- small f[n, cs, *windows]
//
//   small[n,s,o..] = sum over l of group, k of large[n, l, o*stride - padding + k*dilation ..]
//                                              * weight[s, l, k..]
//
//   (C1) input and weight have rank 3, 4 or 5, the same
//   (C2) input is floating; weight and bias have its dtype
//   (C3) stride, padding, dilation, output_padding have one entry for each spatial dim, or one for
//        all; stride and dilation >= 1, padding and output_padding >= 0
//   (C4) groups >= 1 divides the channels of both sides, which are those of the weight
//   (C5) bias has one entry for each channel of the result
//   (C6) the kernel fits into the padded input; the result of a transposed one isn't empty
//   (C7) transposed: output_padding is less than stride or dilation; else it is ignored
//   (C8) operands are on one device
#pragma once
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/sample_sets.h"

namespace cleave {

struct ConvolutionAttrs {
  std::vector<int64_t> stride, padding, dilation, output_padding;  // by spatial dim
  bool transposed = false;
  int64_t groups = 1;
  size_t rank() const { return stride.size(); }
};

constexpr const char* convolution_attr_names[] = {"stride",     "padding",        "dilation",
                                                  "transposed", "output_padding", "groups"};

// Returns the attributes of a checked call with this number of spatial dims.
ConvolutionAttrs convolution_attrs(const OpView& op, size_t spatial);

// Returns the result shape for operands at these positions, or of these types; checks C1 to C4, C6
// and C7.
Result<Shape> convolution_shape(const OpView& op, int input, int weight);
Result<Shape> convolution_shape(const OpView& op, const Type& input, const Type& weight);

// Multiply-adds of any one of the products: result, gradient of input, gradient of weight.
int64_t convolution_multiplies(const OpView& op, const Type& input, const Type& weight,
                               const Type& output);

// Calls f(element of input, of weight, of output) for every product of a convolution, by loops.
void for_each_convolution_term(const OpView& op, const std::vector<int64_t>& input,
                               const std::vector<int64_t>& weight,
                               const std::vector<int64_t>& output,
                               const std::function<void(int64_t, int64_t, int64_t)>& f);

// The three products, as matrix products over columns of windows (im2col). A batch is split into
// parts whose columns take at most `column_bytes`.
//
//   to_small    W[cs, cl k] @ columns(large)[cl k, o]             for each image
//   to_large    col2im(W^T[cl k, cs] @ small[cs, o])              for each image
//   to_weight   small[cs, n o] @ columns(large)^T[n o, cl k]
//
// Sums are in f32 or better and rounded once; sizes are static.
class ConvolutionProducts {
 public:
  // `large` and `small` are shapes; because of output_padding, the small side of a transposed
  // convolution may have fewer windows than fit.
  ConvolutionProducts(Builder& b, ConvolutionAttrs attrs, std::vector<int64_t> large,
                      std::vector<int64_t> weight, std::vector<int64_t> small);

  ValueId to_small(ValueId large, ValueId weight, ValueId bias);
  ValueId to_large(ValueId small, ValueId weight, ValueId bias);
  ValueId to_weight(ValueId large, ValueId small);

  static constexpr int64_t column_bytes = int64_t{1} << 25;

 private:
  struct Part {
    int64_t begin, count;  // images
  };
  std::vector<Part> parts(DType t) const;
  ValueId images(ValueId x, Part part);                              // a part of a batch
  ValueId columns(ValueId large, int64_t count);                     // [n, cl k, o]
  ValueId grouped_weight(ValueId weight, int64_t count, bool flip);  // [n g, cs/g, cl k]
  ValueId padded_small(ValueId small);                               // with as many windows as fit
  ValueId cropped_small(ValueId small);                              // and back
  ValueId part_to_weight(ValueId large, ValueId small, int64_t count);  // [g, cs/g, cl/g k]

  Builder& b_;
  const ConvolutionAttrs at_;
  const std::vector<int64_t> large_, weight_, small_;
  std::vector<int64_t> kernel_, windows_;
  int64_t groups_, cl_, cs_, taps_, positions_;  // prod(kernel), prod(windows)
  bool pointwise_;                               // columns are the image itself
};

// Returns the library product that implements the call, or nullopt if the call is decomposed.
// Requires static, positive sizes, and a backward with one result, of input or weight.
std::optional<loop::LibraryForm> convolution_form(const OpView& op);
std::optional<loop::LibraryForm> convolution_pointwise_form(const OpView& op);
std::optional<loop::LibraryForm> convolution_backward_form(const OpView& op);

// Those of convolution_channels_last and its backward (convolution_channels_last.cpp).
std::optional<loop::LibraryForm> convolution_channels_last_form(const OpView& op);
std::optional<loop::LibraryForm> convolution_channels_last_backward_form(const OpView& op);

// [n, *size, c] as [n, c, *size], and back; weights alike. Fewer than three dims stay.
Shape channels_first(const Shape& shape);
Shape channels_last(const Shape& shape);
Type channels_first(const Type& t);  // without strides

SampleAttrs convolution_call(std::vector<int64_t> stride, std::vector<int64_t> padding,
                             std::vector<int64_t> dilation, int64_t groups = 1);
SampleAttrs transposed_call(std::vector<int64_t> stride, std::vector<int64_t> padding,
                            std::vector<int64_t> dilation, std::vector<int64_t> output_padding,
                            int64_t groups = 1);

// Operands and attributes of legal calls: input, weight, and the channels of the result.
struct ConvolutionSample {
  SampleTensor input, weight;
  std::vector<int64_t> output;
  SampleAttrs attrs;
};
std::vector<ConvolutionSample> convolution_samples();

}  // namespace cleave
