#include "import/exported/short_time_fourier.h"

#include <algorithm>

#include "import/exported/complex_number.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Ints = std::vector<int64_t>;

constexpr int64_t longest_window = int64_t{1} << 24;

struct Windows {
  int64_t n = 1, hop = 1;
  V window;  // [n]
};

Windows windows_of(Call& c, DType t) {
  Windows w;
  w.n = c.integer("n_fft", 1);
  w.hop = c.integer("hop_length", w.n / 4);
  const int64_t length = c.integer("win_length", w.n);
  if (w.n < 1 || w.n > longest_window || w.hop < 1 || length < 1 || length > w.n) {
    c.fail("windows of {} in {}, {} apart", length, w.n, w.hop);
    return w;
  }
  if (c.is_complex("window")) c.fail("a complex window");
  w.window = c.has_tensor("window")
                 ? c.to(c.tensor("window"), t)
                 : c.op("full", {}, {{"size", Ints{length}}, {"fill_value", 1.0}, {"dtype", t}});
  if (c.rank(w.window) != 1 || c.static_size(w.window, 0) != length)
    c.fail("a window {} in the place of {} elements", c.type(w.window).text(), length);
  const int64_t before = (w.n - length) / 2;
  if (c.ok() && length < w.n)
    w.window = c.op("constant_pad_nd", {w.window}, {{"pad", Ints{before, w.n - length - before}}});
  return w;
}

V transposed(Call& c, V parts) { return c.op("transpose", {parts}, {{"dim0", 1}, {"dim1", 2}}); }

V squeezed(Call& c, V x) { return c.op("squeeze", {x}, {{"dim", Ints{0}}}); }

// [b,f,n] -> [b,l], the sum of windows where they lie.
V added_up(Call& c, V windows, int64_t n, int64_t hop, const Dim& length) {
  const V columns = c.permute(windows, {0, 2, 1});
  const V y = c.op("col2im", {columns},
                   {{"output_size", Shape{Dim(1), length}},
                    {"kernel_size", Ints{1, n}},
                    {"dilation", Ints{1, 1}},
                    {"padding", Ints{0, 0}},
                    {"stride", Ints{1, hop}}});
  return c.view(y, {c.size(windows, 0), length});
}

// Half of a window before and after it, where the call centres them.
V centred(Call& c, V x, int64_t n) {
  const std::string mode = c.text("pad_mode", "constant");
  const NamedAttrs by{{mode == "constant" ? "pad" : "padding", Ints{n / 2, n / 2}}};
  if (mode == "constant") return c.op("constant_pad_nd", {x}, by);
  if (mode == "reflect") return c.op("reflection_pad1d", {x}, by);
  if (mode == "replicate") return c.op("replication_pad1d", {x}, by);
  return c.fail("the padding mode {}", mode);
}

}  // namespace

Values short_time_transform(Call& c) {
  const bool is_complex = c.is_complex("self");
  V x = c.tensor("self");
  const DType t = c.type(x).dtype;
  if (c.ok() && !is_floating(t)) return {c.fail("stft of {}", c.type(x).text())};
  if (c.flag("align_to_window", false)) return {c.fail("stft with align_to_window")};
  const Windows w = windows_of(c, t);
  const bool is_single = c.rank(x) == (is_complex ? 2 : 1);
  if (is_single) x = c.op("unsqueeze", {x}, {{"dim", 0}});
  if (c.flag("center", false)) {
    if (is_complex) return {c.fail("stft of complex tensors with center")};
    x = centred(c, x, w.n);
  }
  const int64_t normalization = c.flag("normalized", false) ? 1 : 0;
  V y = c.op("unfold", {x}, {{"dimension", 1}, {"size", w.n}, {"step", w.hop}});
  const auto turned = [&](const char* op, V v, NamedAttrs attrs) {
    attrs.emplace_back("dim", Ints{2});
    attrs.emplace_back("normalization", normalization);
    return c.op(op, {v}, std::move(attrs));
  };
  if (is_complex) {  // [b,f,2,n]
    y = c.op("transpose", {c.op("mul", {y, w.window})}, {{"dim0", 2}, {"dim1", 3}});
    y = turned("fft_c2c", y, {});
  } else {
    y = c.op("mul", {y, w.window});
    y = turned("fft_r2c", y, {{"onesided", c.flag("onesided", true)}});
  }
  if (is_complex && c.flag("onesided", false)) return {c.fail("a half of complex windows")};
  y = transposed(c, y);
  return {is_single ? squeezed(c, y) : y};
}

Values short_time_inverse(Call& c) {
  V x = parts_of(c, "self");
  const DType t = parts_dtype(c);
  const Windows w = windows_of(c, t);
  if (c.flag("return_complex", false)) return {c.fail("istft to complex tensors")};
  const bool is_single = c.rank(x) == 3;
  if (is_single) x = c.op("unsqueeze", {x}, {{"dim", 0}});
  if (c.rank(x) != 4) return {c.fail("istft of rank {}", c.rank(x) - 1)};
  const int64_t normalization = c.flag("normalized", false) ? 1 : 2;
  const Dim count = c.size(x, 2);
  V y = c.op("fft_c2r", {transposed(c, x)},
             {{"dim", Ints{2}}, {"normalization", normalization}, {"last_dim_size", w.n}});
  const Dim whole = Dim(w.n) + Dim(w.hop) * (count - Dim(1));
  y = added_up(c, c.op("mul", {y, w.window}), w.n, w.hop, whole);
  const V square = c.op("expand", {c.op("mul", {w.window, w.window})},
                        {{"size", Shape{Dim(1), count, Dim(w.n)}}});
  const V weight = added_up(c, square, w.n, w.hop, whole);
  const bool is_centred = c.flag("center", true);
  const Dim start = is_centred ? w.n / 2 : 0;
  const Shape length = c.has("length") ? c.sizes("length") : Shape{};
  const Dim end = !length.empty() ? start + length[0] : is_centred ? whole - Dim(w.n / 2) : whole;
  const Dim last = !length.empty() && whole.is_const() && end.is_const()
                       ? Dim(std::min(whole.value(), end.value()))
                       : end;
  const auto cut = [&](V v) {
    return c.op("slice", {v}, {{"dim", 1}, {"start", start}, {"end", last}});
  };
  y = c.op("div", {cut(y), cut(weight)});
  if (!(last == end))
    y = c.op("constant_pad_nd", {y}, {{"pad", std::vector<Dim>{Dim(0), end - last}}});
  return {is_single ? squeezed(c, y) : y};
}

}  // namespace cleave::exported
