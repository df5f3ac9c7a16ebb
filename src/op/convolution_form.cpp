// Decides which calls of convolution and its backward the library covers.
#include "op/convolution.h"

namespace cleave {
namespace {

using loop::LibraryAccess;
using At = ConvolutionOperand;
using Ints = std::vector<int64_t>;

// The entries from `first` on, right-aligned in three; absent ones are `missing`.
Sizes3 last_three(const Ints& list, size_t first, int64_t missing) {
  Sizes3 out = {missing, missing, missing};
  const size_t count = list.size() - first;
  for (size_t d = 0; d < count; ++d) out[3 - count + d] = list[first + d];
  return out;
}

// Returns nothing unless the types are static and no dim has size 0.
std::optional<ConvolutionSpec> sizes_of(const OpView& op, const Type& input, const Type& weight,
                                        const Type& output) {
  for (const Type* t : {&input, &weight, &output})
    if (!t->is_static() || t->numel().value() == 0) return std::nullopt;
  const ConvolutionAttrs at = convolution_attrs(op, static_cast<size_t>(input.rank()) - 2);
  const Ints large = static_shape(at.transposed ? output : input);
  const Ints small = static_shape(at.transposed ? input : output);
  return ConvolutionSpec{.images = large[0],
                         .large_channels = large[1],
                         .small_channels = small[1],
                         .groups = at.groups,
                         .large = last_three(large, 2, 1),
                         .small = last_three(small, 2, 1),
                         .kernel = last_three(static_shape(weight), 2, 1),
                         .stride = last_three(at.stride, 0, 1),
                         .padding = last_three(at.padding, 0, 0),
                         .dilation = last_three(at.dilation, 0, 1)};
}

// Operands lie without gaps wherever they begin: images of a batch may be a part of a larger one.
loop::LibraryForm form_of(const OpView& op, ConvolutionSpec spec, int image, int other,
                          int result) {
  spec.dtype = op.out_type(result).dtype;
  loop::LibraryForm form;
  for (const auto& [position, index] : {std::pair{size_t{At::image}, image}, {At::other, other}})
    form.operands.push_back({.position = position, .index = index, .takes = loop::is_without_gaps});
  form.operands.push_back({.position = At::out,
                           .access = LibraryAccess::write,
                           .index = result,
                           .takes = loop::is_without_gaps});
  form.spec = [spec](const loop::LibraryLayouts&) { return spec; };
  return form;
}

void add_before_result(loop::LibraryForm& form, loop::LibraryOperand operand) {
  form.operands.insert(form.operands.end() - 1, std::move(operand));
}

loop::LibraryForm forward_form(const OpView& op, ConvolutionSpec spec) {
  spec.product =
      op.bool_attr("transposed") ? ConvolutionProduct::to_large : ConvolutionProduct::to_small;
  spec.has_bias = op.has(2);
  loop::LibraryForm form = form_of(op, spec, 0, 1, 0);
  if (spec.has_bias)
    add_before_result(form, {.position = At::bias, .index = 2, .takes = loop::is_without_gaps});
  return form;
}

}  // namespace

std::optional<loop::LibraryForm> convolution_form(const OpView& op) {
  const auto spec = sizes_of(op, op.in_type(0), op.in_type(1), op.out_type(0));
  if (!spec) return std::nullopt;
  return forward_form(op, *spec);
}

std::optional<loop::LibraryForm> convolution_pointwise_form(const OpView& op) {
  const Shape packed_size = op.dims_attr("packed_size");
  const Type weight = packed_size.empty() ? op.in_type(1) : Type(op.in_type(0).dtype, packed_size);
  auto spec = sizes_of(op, op.in_type(0), weight, op.out_type(0));
  if (!spec) return std::nullopt;
  spec->weight_packed = !packed_size.empty();
  spec->has_bias = op.has(2);
  spec->has_added = op.has(3);
  spec->relu = op.bool_attr("relu");
  loop::LibraryForm form = form_of(op, *spec, 0, 1, 0);
  if (spec->has_bias)
    add_before_result(form, {.position = At::bias, .index = 2, .takes = loop::is_without_gaps});
  if (spec->has_added)
    add_before_result(form, {.position = At::added, .index = 3, .takes = loop::is_without_gaps});
  return form;
}

namespace {

constexpr int dout = 0, input = 1, weight = 2;  // operands of a backward

// Of one result, the gradient of input or of weight.
loop::LibraryForm backward_form(const OpView& op, ConvolutionSpec spec) {
  const bool by_input = !op.out_type(0).is_none, transposed = op.bool_attr("transposed");
  loop::LibraryForm form;
  if (by_input) {
    spec.product = transposed ? ConvolutionProduct::to_small : ConvolutionProduct::to_large;
    form = form_of(op, spec, dout, weight, 0);
  } else {
    spec.product = ConvolutionProduct::to_weight;
    form = form_of(op, spec, transposed ? dout : input, transposed ? input : dout, 1);
  }
  add_before_result(
      form,
      {.position = At::sizes, .access = LibraryAccess::sizes, .index = by_input ? input : weight});
  return form;
}

}  // namespace

std::optional<loop::LibraryForm> convolution_backward_form(const OpView& op) {
  if (op.out_type(0).is_none == op.out_type(1).is_none || !op.out_type(2).is_none)
    return std::nullopt;
  auto spec = sizes_of(op, op.in_type(input), op.in_type(weight), op.in_type(dout));
  if (!spec) return std::nullopt;
  return backward_form(op, *spec);
}

std::optional<loop::LibraryForm> convolution_channels_last_form(const OpView& op) {
  auto spec = sizes_of(op, channels_first(op.in_type(0)), channels_first(op.in_type(1)),
                       channels_first(op.out_type(0)));
  if (!spec) return std::nullopt;
  spec->channels_last = true;
  return forward_form(op, *spec);
}

std::optional<loop::LibraryForm> convolution_channels_last_backward_form(const OpView& op) {
  if (op.out_type(0).is_none == op.out_type(1).is_none) return std::nullopt;
  auto spec = sizes_of(op, channels_first(op.in_type(input)), channels_first(op.in_type(weight)),
                       channels_first(op.in_type(dout)));
  if (!spec) return std::nullopt;
  spec->channels_last = true;
  return backward_form(op, *spec);
}

}  // namespace cleave
