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
  if (may_be_empty(c, Shape(c.shape(0).begin() + 1, c.shape(0).end())) ||
      may_be_empty(c, c.shape(1)) || c.shape(0)[0] == Dim(0))
    return c.refused("an operand may be empty");
  const ConvolutionAttrs at = convolution_attrs(c.op(), c.shape(0).size() - 2);
  Attributes attributes = {integers("strides", at.stride), integers("pads", twice(at.padding)),
                           integers("dilations", at.dilation), integer("group", at.groups)};
  if (at.transposed) attributes.push_back(integers("output_padding", at.output_padding));
  Vs operands = {x, c.carried(1)};
  if (c.has(2)) operands.push_back(c.carried(2));
  c.give(0, c.node(at.transposed ? "ConvTranspose" : "Conv", operands, std::move(attributes)));
  return {};
}

Status col2im(Call& c) {
  const Windows w = windows_of(c.op());
  V x = c.carried(0);
  if (c.rank(0) == 2) x = c.unsqueeze(x, {0});
  const V y = c.node("Col2Im",
                     {x, c.sizes().list(c.op().dims_attr("output_size")), c.model().list(w.kernel)},
                     {integers("dilations", w.dilation), integers("pads", twice(w.padding)),
                      integers("strides", w.stride)});
  c.give(0, c.rank(0) == 2 ? c.squeeze(y, {0}) : y);
  return {};
}

constexpr RuleEntry rules[] = {{"convolution", convolution}, {"col2im", col2im}};

}  // namespace

std::span<const RuleEntry> convolution_rules() { return rules; }

}  // namespace cleave::to_onnx
