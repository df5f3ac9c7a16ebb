// Convolutions, and what undoes windows.
#include <algorithm>

#include "import/onnx/rules.h"
#include "import/onnx/windows.h"

namespace cleave::onnx {

// x[n, c, ...] w[m, c/g, ...], of floats.
Result<V> convolved(Call& c, V x, V w, V bias) {
  const Shape weight = c.shape(w);
  Ints kernel;
  for (size_t d = 2; d < weight.size(); ++d) {
    if (!weight[d].is_const()) return unsupported("a kernel whose sizes aren't numbers");
    kernel.push_back(weight[d].value());
  }
  CLEAVE_TRY(const Windows windows, windows_of(c, kernel, c.shape(x)));
  if (windows.dims() > 3) return unsupported("{} spatial dims", windows.dims());
  if (!windows.symmetric()) x = with_borders(c, x, windows, 0.0);
  const Ints none(windows.dims(), 0);
  return c.op("convolution", {x, w, bias},
              {{"stride", windows.stride},
               {"padding", windows.symmetric() ? windows.before : none},
               {"dilation", windows.dilation},
               {"transposed", false},
               {"output_padding", none},
               {"groups", c.integer("group", 1)}});
}

namespace {

Status conv(Call& c) {
  CLEAVE_TRY(const V y, convolved(c, c.in(0), c.in(1), c.in(2)));
  c.give(0, y, c.element(0));
  return {};
}

// Rows of x are spread by the stride; what lies in the pads is cut off. output_shape gives the
// pads.
Status conv_transpose(Call& c) {
  const Shape s = c.shape(0), weight = c.shape(1);
  Ints kernel;
  for (size_t d = 2; d < weight.size(); ++d) {
    if (!weight[d].is_const()) return unsupported("a kernel whose sizes aren't numbers");
    kernel.push_back(weight[d].value());
  }
  const size_t count = kernel.size();
  if (count < 1 || count > 3 || s.size() != count + 2) return unsupported("{} spatial dims", count);
  const std::string automatic = c.text("auto_pad", "NOTSET");
  Ints stride = c.list("strides", Ints(count, 1)), dilation = c.list("dilations", Ints(count, 1));
  Ints extra = c.list("output_padding", Ints(count, 0)), pads = c.list("pads", Ints(2 * count, 0));
  const Ints wanted = c.list("output_shape");
  if (stride.size() != count || dilation.size() != count || extra.size() != count ||
      pads.size() != 2 * count || (!wanted.empty() && wanted.size() < count))
    return user_error("lists of another length than {} spatial dims", count);
  if (!wanted.empty() || automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (size_t d = 0; d < count; ++d) {
      if (!s[d + 2].is_const()) return unsupported("sizes that aren't numbers");
      const int64_t full =
          stride[d] * (s[d + 2].value() - 1) + extra[d] + (kernel[d] - 1) * dilation[d] + 1;
      const int64_t to =
          !wanted.empty() ? wanted[wanted.size() - count + d] : s[d + 2].value() * stride[d];
      const int64_t total = std::max(int64_t{0}, full - to);
      if (to > full) extra[d] += to - full;
      pads[d] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      pads[d + count] = total - pads[d];
    }
  }
  // Uneven pads: all of it without pads, with extra rows behind; then cut, and the bias added.
  Ints padding(count, 0), behind(count, 0);
  bool even = true;
  for (size_t d = 0; d < count; ++d)
    even = even && pads[d] == pads[d + count] && extra[d] < std::max(stride[d], dilation[d]);
  V x = c.in(0);
  if (even) {
    padding.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(count));
    behind = extra;
  }
  V y = c.op("convolution", {x, c.in(1), even ? c.in(2) : V::none()},
             {{"stride", stride},
              {"padding", padding},
              {"dilation", dilation},
              {"transposed", true},
              {"output_padding", behind},
              {"groups", c.integer("group", 1)}});
  if (!even && c.status().ok()) {
    Ints edges;
    for (size_t d = count; d-- > 0;) {
      edges.push_back(-pads[d]);
      edges.push_back(extra[d] - pads[d + count]);
    }
    y = c.op("constant_pad_nd", {y}, {{"pad", edges}});
    if (c.has(2)) {
      Shape line(count + 1, Dim(1));
      line[0] = c.shape(y)[1];
      y = c.add(y, c.view(c.in(2), line));
    }
  }
  c.give(0, y, c.element(0));
  return {};
}

Status col2im(Call& c) {
  CLEAVE_TRY(const Ints image, c.ints(1, "image_shape"));
  CLEAVE_TRY(const Ints block, c.ints(2, "block_shape"));
  if (image.size() != 2 || block.size() != 2)
    return unsupported("{} spatial dims, expected 2", image.size());
  const Ints pads = c.list("pads", {0, 0, 0, 0});
  if (pads.size() != 4) return user_error("pads has {} numbers, expected 4", pads.size());
  Ints padded = image;
  const bool even = pads[0] == pads[2] && pads[1] == pads[3];
  if (!even)
    for (size_t d = 0; d < 2; ++d) padded[d] += pads[d] + pads[d + 2];
  V y = c.op("col2im", {c.in(0)},
             {{"output_size", padded},
              {"kernel_size", block},
              {"dilation", c.list("dilations", {1, 1})},
              {"padding", even ? Ints{pads[0], pads[1]} : Ints{0, 0}},
              {"stride", c.list("strides", {1, 1})}});
  if (!even)
    for (int64_t d = 0; d < 2; ++d) {
      const size_t at = static_cast<size_t>(d);
      y = c.slice(y, d + 2, pads[at], pads[at] + image[at]);
    }
  c.give(0, y, c.element(0));
  return {};
}

// Each channel by itself, over the past and the present; the last k - 1 of both are the next past.
Status causal_conv(Call& c) {
  const Shape s = c.shape(0), weight = c.shape(1);
  if (s.size() != 3 || weight.size() != 3 || !weight[2].is_const() || !s[1].is_const())
    return unsupported("expected [n, c, length] and [c, 1, k], of known sizes");
  const int64_t k = weight[2].value();
  V past = c.has(3) ? c.in(3) : c.full({s[0], s[1], k - 1}, 0, c.dtype(0));
  const V x = k == 1 ? c.in(0) : c.cat({past, c.in(0)}, 2);
  V y = c.op("convolution", {x, c.in(1), c.in(2)},
             {{"stride", Ints{1}},
              {"padding", Ints{0}},
              {"dilation", Ints{1}},
              {"transposed", false},
              {"output_padding", Ints{0}},
              {"groups", s[1].value()}});
  const std::string activation = c.text("activation", "none");
  if (activation == "silu" || activation == "swish") y = c.op("silu", {y});
  c.give(0, y, c.element(0));
  c.give(1, c.slice(x, 2, s[2], s[2] + Dim(k - 1)), c.element(0));
  return {};
}

constexpr RuleEntry entries[] = {{"Conv", conv},
                                 {"ConvTranspose", conv_transpose},
                                 {"Col2Im", col2im},
                                 {"CausalConvWithState", causal_conv}};

}  // namespace

std::span<const RuleEntry> convolution_rules() { return entries; }

}  // namespace cleave::onnx
