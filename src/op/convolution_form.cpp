// Decides which calls of convolution and its backward the runtime covers.
#include "op/convolution.h"

namespace cleave {
namespace {

using loop::ConvolutionForm;
using Ints = std::vector<int64_t>;

// The entries from `first` on, right-aligned in three; absent ones are `missing`.
ConvolutionForm::Sizes last_three(const Ints& list, size_t first, int64_t missing) {
  ConvolutionForm::Sizes out = {missing, missing, missing};
  const size_t count = list.size() - first;
  for (size_t d = 0; d < count; ++d) out[3 - count + d] = list[first + d];
  return out;
}

// Returns nothing unless the types are static and no dim has size 0.
std::optional<ConvolutionForm> form_of(const OpView& op, const Type& input, const Type& weight,
                                       const Type& output) {
  for (const Type* t : {&input, &weight, &output})
    if (!t->is_static() || t->numel().value() == 0) return std::nullopt;
  const ConvolutionAttrs at = convolution_attrs(op, static_cast<size_t>(input.rank()) - 2);
  const Ints large = static_shape(at.transposed ? output : input);
  const Ints small = static_shape(at.transposed ? input : output);
  ConvolutionForm f;
  f.images = large[0];
  f.large_channels = large[1];
  f.small_channels = small[1];
  f.groups = at.groups;
  f.large = last_three(large, 2, 1);
  f.small = last_three(small, 2, 1);
  f.kernel = last_three(static_shape(weight), 2, 1);
  f.stride = last_three(at.stride, 0, 1);
  f.padding = last_three(at.padding, 0, 0);
  f.dilation = last_three(at.dilation, 0, 1);
  return f;
}

}  // namespace

std::optional<ConvolutionForm> convolution_form(const OpView& op) {
  auto f = form_of(op, op.in_type(0), op.in_type(1), op.out_type(0));
  if (!f) return f;
  f->product = op.bool_attr("transposed") ? ConvolutionForm::Product::to_large
                                          : ConvolutionForm::Product::to_small;
  if (op.has(2)) f->bias = 2;
  return f;
}

std::optional<ConvolutionForm> convolution_backward_form(const OpView& op) {
  constexpr int dout = 0, input = 1, weight = 2;
  const bool by_input = !op.out_type(0).is_none, by_weight = !op.out_type(1).is_none;
  if (by_input == by_weight || !op.out_type(2).is_none) return std::nullopt;
  auto f = form_of(op, op.in_type(input), op.in_type(weight), op.in_type(dout));
  if (!f) return f;
  const bool transposed = op.bool_attr("transposed");
  if (by_input) {
    f->product =
        transposed ? ConvolutionForm::Product::to_small : ConvolutionForm::Product::to_large;
    f->image = dout;
    f->other = weight;
    return f;
  }
  f->product = ConvolutionForm::Product::to_weight;
  f->image = transposed ? dout : input;
  f->other = transposed ? input : dout;
  f->result = 1;
  return f;
}

}  // namespace cleave
