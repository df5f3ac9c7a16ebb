// Inference, the terms of the reference, and the sample calls of convolution.h.
#include "op/convolution.h"

namespace cleave {

using Ints = std::vector<int64_t>;

ConvolutionAttrs convolution_attrs(const OpView& op, size_t spatial) {
  ConvolutionAttrs at{op.ints_attr("stride"),     op.ints_attr("padding"),
                      op.ints_attr("dilation"),   op.ints_attr("output_padding"),
                      op.bool_attr("transposed"), op.int_attr("groups")};
  for (Ints* list : {&at.stride, &at.padding, &at.dilation, &at.output_padding})
    if (list->size() == 1) list->resize(spatial, list->front());
  return at;
}

namespace {

constexpr int64_t most = int64_t{1} << 31;  // of an attribute; sizes are below 2^47

Status check_list(const OpView& op, const char* name, size_t spatial, int64_t least) {
  const Ints list = op.ints_attr(name);
  if (list.size() != 1 && list.size() != spatial)
    return op.broken("C3", "{} has {} entries, expected {} or 1", name, list.size(), spatial);
  for (int64_t v : list)
    if (v < least || v > most)
      return op.broken("C3", "{} has {}, expected at least {}", name, v, least);
  return {};
}

Status check_operands(const OpView& op, const Type& x, const Type& w) {
  if (x.rank() < 3 || x.rank() > 5)
    return op.broken("C1", "input is {}, expected rank 3, 4 or 5", x.text());
  if (w.rank() != x.rank())
    return op.broken("C1", "weight is {}, expected the rank of input: {}", w.text(), x.text());
  if (!is_floating(x.dtype))
    return op.broken("C2", "input is {}, expected a floating dtype", x.text());
  if (w.dtype != x.dtype)
    return op.broken("C2", "weight is {}, expected the dtype of input: {}", w.text(),
                     name_of(x.dtype));
  return {};
}

Status check_channels(const OpView& op, const Type& x, const Type& w, const ConvolutionAttrs& at) {
  if (at.groups < 1 || at.groups > most)
    return op.broken("C4", "groups is {}, expected at least 1", at.groups);
  const Dim& first = w.shape[0];
  CLEAVE_CHECK(check_equal(op, "C4", "dim 0 of weight and a multiple of groups", first,
                           Dim::floordiv(first, at.groups) * Dim(at.groups)));
  if (at.transposed)
    return check_equal(op, "C4", "channels of input and dim 0 of weight", x.shape[1], first);
  return check_equal(op, "C4", "channels of input and dim 1 of weight, times groups", x.shape[1],
                     w.shape[1] * Dim(at.groups));
}

}  // namespace

Result<Shape> convolution_shape(const OpView& op, int input, int weight) {
  return convolution_shape(op, op.in_type(input), op.in_type(weight));
}

Result<Shape> convolution_shape(const OpView& op, const Type& x, const Type& w) {
  CLEAVE_CHECK(check_operands(op, x, w));
  const size_t spatial = x.shape.size() - 2;
  CLEAVE_CHECK(check_list(op, "stride", spatial, 1));
  CLEAVE_CHECK(check_list(op, "padding", spatial, 0));
  CLEAVE_CHECK(check_list(op, "dilation", spatial, 1));
  CLEAVE_CHECK(check_list(op, "output_padding", spatial, 0));
  const ConvolutionAttrs at = convolution_attrs(op, spatial);
  CLEAVE_CHECK(check_channels(op, x, w, at));
  Shape shape = {x.shape[0], at.transposed ? w.shape[1] * Dim(at.groups) : w.shape[0]};
  for (size_t d = 0; d < spatial; ++d) {
    const Dim &size = x.shape[d + 2], reach = (w.shape[d + 2] - Dim(1)) * Dim(at.dilation[d]);
    if (op.env().range_of(w.shape[d + 2]).hi < 1)
      return op.broken("C6", "dim {} of weight is 0, expected at least 1", d + 2);
    if (!at.transposed) {
      const Dim room = size + Dim(2 * at.padding[d] - 1) - reach;
      if (op.env().range_of(room).hi < 0)
        return op.broken("C6", "dim {} of input padded is {}, expected at least {}, the kernel's",
                         d + 2, (size + Dim(2 * at.padding[d])).text(), (reach + Dim(1)).text());
      shape.push_back(Dim::floordiv(room, at.stride[d]) + Dim(1));
      continue;
    }
    if (at.output_padding[d] >= std::max(at.stride[d], at.dilation[d]))
      return op.broken("C7", "output_padding {} with stride {} and dilation {}, expected less",
                       at.output_padding[d], at.stride[d], at.dilation[d]);
    shape.push_back((size - Dim(1)) * Dim(at.stride[d]) + reach +
                    Dim(at.output_padding[d] + 1 - 2 * at.padding[d]));
    if (op.env().range_of(shape.back()).hi < 1)
      return op.broken("C6", "dim {} of the result is {}, expected at least 1", d + 2,
                       shape.back().text());
  }
  return shape;
}

int64_t convolution_multiplies(const OpView& op, const Type& input, const Type& weight,
                               const Type& output) {
  // Each weight is multiplied with each position of the small side, in one channel.
  const Type& small = op.bool_attr("transposed") ? input : output;
  const int64_t channels = std::max<int64_t>(op.env().hint_of(weight.shape[0]), 1);
  return numel_hint(op, small) / channels * numel_hint(op, weight);
}

void for_each_convolution_term(const OpView& op, const Ints& input, const Ints& weight,
                               const Ints& output,
                               const std::function<void(int64_t, int64_t, int64_t)>& f) {
  const bool transposed = op.bool_attr("transposed");
  const Ints &large = transposed ? output : input, &small = transposed ? input : output;
  const int64_t groups = op.int_attr("groups");
  const size_t spatial = input.size() - 2;
  const auto entry = [&](const char* name, size_t d) {
    const Ints list = op.ints_attr(name);
    return list.size() == 1 ? list[0] : list[d];
  };
  Ints stride, padding, dilation;
  for (size_t d = 0; d < spatial; ++d) {
    stride.push_back(entry("stride", d));
    padding.push_back(entry("padding", d));
    dilation.push_back(entry("dilation", d));
  }
  if (numel_of(small) == 0 || numel_of(weight) == 0) return;
  const Ints taps(weight.begin() + 1, weight.end());
  const int64_t small_group = weight[0] / groups;
  Ints at(small.size(), 0);
  int64_t s = 0;
  do {
    Ints tap(taps.size(), 0);
    int64_t w = at[1] * numel_of(taps);
    do {
      int64_t l = at[0] * large[1] + at[1] / small_group * weight[1] + tap[0];
      bool inside = true;
      for (size_t d = 0; d < spatial && inside; ++d) {
        const int64_t i = at[d + 2] * stride[d] - padding[d] + tap[d + 1] * dilation[d];
        inside = i >= 0 && i < large[d + 2];
        l = l * large[d + 2] + i;
      }
      if (inside) f(transposed ? s : l, w, transposed ? l : s);
      ++w;
    } while (next_index(tap, taps));
    ++s;
  } while (next_index(at, small));
}

SampleAttrs convolution_call(Ints stride, Ints padding, Ints dilation, int64_t groups) {
  return {{"stride", stride},    {"padding", padding},        {"dilation", dilation},
          {"transposed", false}, {"output_padding", Ints{0}}, {"groups", groups}};
}

SampleAttrs transposed_call(Ints stride, Ints padding, Ints dilation, Ints output_padding,
                            int64_t groups) {
  return {{"stride", stride},
          {"padding", padding},
          {"dilation", dilation},
          {"transposed", true},
          {"output_padding", output_padding},
          {"groups", groups}};
}

std::vector<ConvolutionSample> convolution_samples() {
  std::vector<ConvolutionSample> out;
  DType t = DType::f32;
  const auto add = [&](Ints x, Ints w, Ints y, SampleAttrs attrs) {
    out.push_back({any_of(t, std::move(x)), any_of(t, std::move(w)), std::move(y), attrs});
  };
  const auto plain = convolution_call;
  const auto back = transposed_call;
  for (DType each : floating_dtypes) {
    t = each;
    add({2, 3, 4, 5}, {2, 3, 3, 2}, {2, 2, 4, 2}, plain({1, 2}, {1, 0}, {1}, 1));
    add({2, 2, 3, 3}, {2, 3, 2, 3}, {2, 3, 6, 3}, back({2, 1}, {0, 1}, {1, 1}, {0, 0}, 1));
    add({1, 4, 4}, {4, 2, 3}, {1, 4, 4}, plain({1}, {1}, {1}, 2));
  }
  t = DType::f32;
  // The smallest ones, for second derivatives.
  add({1, 1, 3}, {1, 1, 2}, {1, 1, 2}, plain({1}, {0}, {1}, 1));
  add({1, 1, 2}, {1, 1, 2}, {1, 1, 3}, back({1}, {0}, {1}, {0}, 1));
  // Kernels of 1, with and without columns.
  add({2, 3, 2, 3}, {4, 3, 1, 1}, {2, 4, 2, 3}, plain({1, 1}, {0, 0}, {1, 1}, 1));
  add({1, 3, 4, 3}, {2, 3, 1, 1}, {1, 2, 2, 2}, plain({2}, {0}, {1}, 1));
  add({1, 2, 2, 2}, {3, 2, 1, 1}, {1, 3, 4, 4}, plain({1}, {1}, {1}, 1));
  add({1, 2, 2, 3}, {2, 3, 1, 1}, {1, 3, 2, 3}, back({1}, {0}, {1}, {0}, 1));
  add({2, 4, 3}, {4, 2, 1}, {2, 4, 3}, plain({1}, {0}, {1}, 2));
  // Dilation, a stride with a remainder, wide padding.
  add({1, 2, 7, 6}, {2, 2, 3, 2}, {1, 2, 3, 3}, plain({2, 1}, {1, 0}, {2, 3}, 1));
  add({1, 1, 6}, {2, 1, 2}, {1, 2, 2}, plain({3}, {0}, {1}, 1));
  add({1, 1, 3}, {1, 1, 3}, {1, 1, 7}, plain({1}, {3}, {1}, 1));
  // A stride along a dim with one position.
  add({1, 3, 4, 1}, {1, 3, 3, 1}, {1, 1, 4, 1}, plain({1, 2}, {1, 0}, {1}, 1));
  add({2, 1, 1, 3}, {2, 1, 1, 2}, {2, 2, 1, 2}, plain({3, 1}, {0, 0}, {1}, 1));
  // Groups and depthwise.
  add({2, 4, 3, 3}, {6, 2, 2, 2}, {2, 6, 2, 2}, plain({1}, {0}, {1}, 2));
  add({2, 3, 4, 4}, {3, 1, 3, 3}, {2, 3, 4, 4}, plain({1}, {1}, {1}, 3));
  add({1, 2, 4, 4}, {4, 1, 3, 3}, {1, 4, 2, 2}, plain({2}, {1}, {1}, 2));
  add({2, 4, 2, 3}, {4, 1, 2, 2}, {2, 2, 3, 4}, back({1}, {0}, {1}, {0}, 2));
  add({2, 9, 4, 5}, {9, 1, 3, 3}, {2, 9, 4, 5}, plain({1}, {1}, {1}, 9));
  add({1, 8, 5, 4}, {8, 1, 3, 2}, {1, 8, 3, 2}, plain({2}, {1, 0}, {1}, 8));
  add({1, 8, 2, 3}, {8, 1, 2, 2}, {1, 8, 4, 6}, back({2}, {0}, {1}, {0}, 8));
  // Output padding, below the stride and beyond it.
  add({1, 2, 2, 3}, {2, 2, 3, 3}, {1, 2, 4, 6}, back({2}, {1}, {1}, {1, 1}, 1));
  add({1, 1, 3}, {1, 2, 2}, {1, 2, 8}, back({2}, {0}, {3}, {0}, 1));
  add({1, 1, 3}, {1, 2, 2}, {1, 2, 8}, back({1}, {0}, {3}, {2}, 1));
  add({2, 1, 2}, {1, 1, 3}, {2, 1, 4}, back({3}, {2}, {1}, {2}, 1));
  // Three spatial dims.
  add({1, 2, 3, 3, 2}, {2, 2, 2, 2, 1}, {1, 2, 2, 2, 2}, plain({1}, {0}, {1}, 1));
  add({2, 2, 3, 2, 2}, {2, 1, 2, 1, 2}, {2, 2, 2, 2, 3}, plain({2, 1, 1}, {1, 0, 1}, {2, 1, 1}, 2));
  add({1, 1, 2, 2, 2}, {1, 2, 2, 1, 2}, {1, 2, 3, 2, 4}, back({1, 1, 2}, {0}, {1}, {0}, 1));
  // Empty batches, no channels.
  add({0, 2, 4, 4}, {3, 2, 3, 3}, {0, 3, 4, 4}, plain({1}, {1}, {1}, 1));
  add({0, 2, 4}, {2, 3, 3}, {0, 3, 4}, back({1}, {1}, {1}, {0}, 1));
  add({1, 0, 3}, {2, 0, 2}, {1, 2, 2}, plain({1}, {0}, {1}, 1));
  return out;
}

}  // namespace cleave
