// Convolutions, and images put together from columns.
#include <algorithm>

#include "export/onnx/rules.h"
#include "op/convolution.h"
#include "op/im2col.h"

namespace cleave::to_onnx {
namespace {

Ints twice(const Ints& list) {
  Ints out = list;
  out.insert(out.end(), list.begin(), list.end());
  return out;
}

// onnxruntime has kernels for f32 alone; in f64 it is decomposed into products.
Status convolution(Call& c) {
  const V x = c.carried(0);
  if (x.dtype == DType::f64) return c.refused("f64");
  if (is_empty(c.shape(0)) || is_empty(c.shape(1))) return c.refused("an operand is empty");
  const ConvolutionAttrs at = convolution_attrs(c.op(), c.shape(0).size() - 2);
  for (size_t d = 0; at.transposed && d < at.stride.size(); ++d)
    if (at.output_padding[d] >= at.stride[d]) return c.refused("output_padding beyond the stride");
  Attributes attributes = {integers("strides", at.stride), integers("pads", twice(at.padding)),
                           integers("dilations", at.dilation), integer("group", at.groups)};
  if (at.transposed) attributes.push_back(integers("output_padding", at.output_padding));
  Vs operands = {x, c.carried(1)};
  if (c.has(2)) operands.push_back(c.carried(2));
  c.give(0, c.node(at.transposed ? "ConvTranspose" : "Conv", operands, std::move(attributes)));
  return {};
}

// Elements of columns are added up at their positions in the image; those of the padding go to one
// place behind it, which is cut off. Col2Im is for f32 and two dims in onnxruntime.
Status col2im(Call& c) {
  const Windows w = windows_of(c.op());
  const Shape out = c.op().dims_attr("output_size"), &columns = c.shape(0);
  for (const Dim& d : out)
    if (!d.is_const()) return c.refused("sizes that aren't numbers");
  Ints size;
  for (const Dim& d : out) size.push_back(d.value());
  Ints all = w.counts(size);
  all.insert(all.end(), w.kernel.begin(), w.kernel.end());
  CLEAVE_CHECK(c.check_count(all));
  const int64_t taps = w.kernel_size(), places = numel_of(size);
  const Ints counts = w.counts(size);
  Ints at, tap(w.rank(), 0);
  do {
    Ints window(w.rank(), 0);
    do {
      int64_t p = 0;
      for (size_t d = 0; d < w.rank() && p < places; ++d) {
        const int64_t k = window[d] * w.stride[d] - w.padding[d] + tap[d] * w.dilation[d];
        p = k < 0 || k >= size[d] ? places : p * size[d] + k;
      }
      at.push_back(p);
    } while (next_index(window, counts));
  } while (next_index(tap, w.kernel));
  const bool batch = c.rank(0) == 3;
  const Dim n = batch ? columns[0] : Dim(1);
  const Dim channels = Dim::floordiv(columns[columns.size() - 2], Dim(taps));
  const V x = c.reshape(c.carried(0), {n, channels, Dim(static_cast<int64_t>(at.size()))});
  const V zeros = c.full(c.number(0, x.dtype), {Dim(places + 1), n, channels});
  const V index = c.unsqueeze(c.model().list(at), {1});
  V y = c.node("ScatterND", {zeros, index, c.transpose(x, {2, 0, 1})}, {text("reduction", "add")});
  y = c.slice(y, 0, Dim(0), Dim(places));
  c.give(0, c.reshape(c.transpose(y, {1, 2, 0}), c.result(0).shape));
  return {};
}

constexpr RuleEntry rules[] = {{"convolution", convolution}, {"col2im", col2im}};

}  // namespace

std::span<const RuleEntry> convolution_rules() { return rules; }

}  // namespace cleave::to_onnx
