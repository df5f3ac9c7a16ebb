// Copies in another order, conversions, padding.
#include <algorithm>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

V self_of(Call& c) { return c.tensor(c.find("self") ? "self" : "input"); }

// What shares no memory with self, as PyTorch copies.
V copied(Call& c, V y) { return y == self_of(c) ? c.op("clone", {y}) : y; }

Values roll(Call& c) {
  V x = self_of(c);
  const Shape shape = c.type(x).shape;
  const std::vector<int64_t> shifts = c.integers("shifts"), dims = c.integers("dims");
  const bool flat = dims.empty();
  if (flat) x = c.view(x, {c.type(x).numel()});
  for (size_t k = 0; k < shifts.size(); ++k) {
    const int64_t dim = flat ? 0 : k < dims.size() ? dims[k] : c.wrapped(INT64_MAX, 1);
    const int64_t n = c.static_size(x, dim);
    const int64_t by = n == 0 ? 0 : ((shifts[k] % n) + n) % n;
    if (by == 0) continue;
    const V tail = c.op("slice", {x}, {{"dim", dim}, {"start", n - by}, {"end", n}});
    const V head = c.op("slice", {x}, {{"dim", dim}, {"start", 0}, {"end", n - by}});
    x = c.op("cat", {CallOperand(Values{tail, head})}, {{"dim", dim}});
  }
  return {copied(c, flat ? c.view(x, shape) : x)};
}

// Each element so many times, side by side.
Values repeat_interleave(Call& c) {
  V x = self_of(c);
  const int64_t times = c.integer("repeats", 1);
  if (!c.has("dim")) x = c.view(x, {c.type(x).numel()});
  const int64_t dim = c.has("dim") ? c.wrapped(c.integer("dim", 0), c.rank(x)) : 0;
  Shape shape = c.type(x).shape, wide = shape;
  if (shape.empty() || !c.ok()) return {c.fail("repeat_interleave of a tensor of rank 0")};
  wide.insert(wide.begin() + dim + 1, Dim(times));
  shape[static_cast<size_t>(dim)] = shape[static_cast<size_t>(dim)] * Dim(times);
  x = c.op("expand", {c.op("unsqueeze", {x}, {{"dim", dim + 1}})}, {{"size", wide}});
  return {c.view(x, shape)};
}

Values tile(Call& c) {
  Shape times = c.sizes("dims");
  const auto rank = static_cast<size_t>(c.rank(self_of(c)));
  if (times.size() < rank) times.insert(times.begin(), rank - times.size(), Dim(1));
  return {c.op("repeat", {self_of(c)}, {{"repeats", times}})};
}

// Elements of a dim again, of any dtype: the border's, or back and forth.
V padded_by_places(Call& c, V x, int64_t dim, int64_t before, int64_t after, bool reflects) {
  const auto number = [](int64_t n) { return CallOperand(AttrValue(n)); };
  const int64_t n = c.static_size(x, dim);
  V at = c.op("sub", {c.op("arange", {}, {{"end", before + n + after}}), number(before)});
  if (reflects)
    at = c.op("rsub",
              {c.op("abs", {c.op("rsub", {c.op("abs", {at}), number(n - 1)})}), number(n - 1)});
  at = c.op("clamp", {at, 0, number(n - 1)});
  return c.op("index_select", {x, at}, {{"dim", dim}});
}

// The part of a dim that negative padding leaves.
V cropped(Call& c, V x, int64_t dim, Dim& before, Dim& after) {
  const bool front = before.is_const() && before.value() < 0;
  const bool back = after.is_const() && after.value() < 0;
  if (!front && !back) return x;
  const Dim start = front ? Dim(0) - before : Dim(0);
  const Dim end = back ? c.size(x, dim) + after : c.size(x, dim);
  if (front) before = 0;
  if (back) after = 0;
  return c.op("slice", {x}, {{"dim", dim}, {"start", start}, {"end", end}});
}

// Padding by a mode's name, over the last dims.
Values pad(Call& c) {
  const std::string mode = c.text("mode", "constant");
  const Shape sizes = c.sizes("pad");
  if (mode == "constant") {
    NamedAttrs attrs{{"pad", sizes}};
    if (c.has("value")) attrs.emplace_back("value", c.value("value"));
    return {c.op("constant_pad_nd", {self_of(c)}, std::move(attrs))};
  }
  const size_t dims = sizes.size() / 2;
  if (dims < 1 || dims > 3) return {c.fail("{} padding of {} dims", mode, dims)};
  if ((mode == "reflect" || mode == "replicate") && !is_floating(c.type(self_of(c)).dtype)) {
    const std::vector<int64_t> by = c.integers("pad");
    V x = self_of(c);
    for (size_t k = 0; k < dims; ++k) {
      const int64_t dim = -static_cast<int64_t>(k) - 1;
      x = padded_by_places(c, x, dim, by[2 * k], by[2 * k + 1], mode == "reflect");
    }
    return {x};
  }
  if (mode == "reflect" || mode == "replicate")
    return {c.op(fmt::format("{}ion_pad{}d", mode == "reflect" ? "reflect" : "replicat", dims),
                 {self_of(c)}, {{"padding", sizes}})};
  if (mode != "circular") return {c.fail("the padding mode {}", mode)};
  V x = self_of(c);
  for (size_t k = 0; k < dims; ++k) {
    const int64_t dim = -static_cast<int64_t>(k) - 1;
    Dim before = sizes[2 * k], after = sizes[2 * k + 1];
    x = cropped(c, x, dim, before, after);
    const Dim n = c.size(x, dim);
    Values parts;
    if (!(before == Dim(0)))
      parts.push_back(c.op("slice", {x}, {{"dim", dim}, {"start", n - before}, {"end", n}}));
    parts.push_back(x);
    if (!(after == Dim(0)))
      parts.push_back(c.op("slice", {x}, {{"dim", dim}, {"start", 0}, {"end", after}}));
    if (parts.size() > 1) x = c.op("cat", {CallOperand(parts)}, {{"dim", dim}});
  }
  return {copied(c, x)};
}

// [*, C r^2, H, W] to [*, C, H r, W r], and back.
Values pixel_shuffle(Call& c, bool back) {
  const V x = self_of(c);
  const int64_t r = c.integer(back ? "downscale_factor" : "upscale_factor", 1), rank = c.rank(x);
  if (rank < 3 || r < 1) return {c.fail("a pixel shuffle by {} of rank {}", r, rank)};
  const Shape shape = c.type(x).shape;
  const Dim &channels = shape[rank - 3], &height = shape[rank - 2], &width = shape[rank - 1], f = r;
  Shape lead(shape.begin(), shape.end() - 3), apart = lead, size = lead;
  std::vector<int64_t> dims;
  const int64_t n = rank - 3;
  for (int64_t d = 0; d < n; ++d) dims.push_back(d);
  if (back) {
    const Dim h = Dim::floordiv(height, f), w = Dim::floordiv(width, f);
    apart.insert(apart.end(), {channels, h, f, w, f});
    for (const int64_t d : {0, 2, 4, 1, 3}) dims.push_back(n + d);
    size.insert(size.end(), {channels * f * f, h, w});
  } else {
    const Dim inner = Dim::floordiv(channels, f * f);
    apart.insert(apart.end(), {inner, f, f, height, width});
    for (const int64_t d : {0, 3, 1, 4, 2}) dims.push_back(n + d);
    size.insert(size.end(), {inner, height * f, width * f});
  }
  return {c.view(c.permute(c.view(x, apart), dims), size)};
}

Values channel_shuffle(Call& c) {
  const V x = self_of(c);
  const Dim groups = c.integer("groups", 1);
  const Shape shape = c.type(x).shape;
  if (shape.size() < 3 || groups.value() < 1)
    return {c.fail("channel_shuffle of rank {}", shape.size())};
  Shape apart = shape;
  apart[1] = groups;
  apart.insert(apart.begin() + 2, Dim::floordiv(shape[1], groups));
  return {c.view(c.op("transpose", {c.view(x, apart)}, {{"dim0", 1}, {"dim1", 2}}), shape)};
}

// Tensors side by side, those of low rank with more dims first.
Values joined(Call& c, int64_t dim, int64_t least_rank) {
  Values parts;
  for (V x : c.tensors("tensors")) {
    while (c.ok() && c.rank(x) < least_rank)
      x = c.op("unsqueeze", {x}, {{"dim", c.rank(x) > 0 && c.rank(x) == dim ? dim : 0}});
    parts.push_back(x);
  }
  if (parts.empty()) return {c.fail("no tensors")};
  if (dim == 1 && least_rank == 1 && c.rank(parts[0]) == 1) dim = 0;
  return {c.op("cat", {CallOperand(parts)}, {{"dim", dim}})};
}

Values broadcast_tensors(Call& c) {
  const Values xs = c.tensors("tensors");
  Shape shape;
  for (const V x : xs) {
    const Shape& s = c.type(x).shape;
    if (s.size() > shape.size()) shape.insert(shape.begin(), s.size() - shape.size(), Dim(1));
    for (size_t k = 0; k < s.size(); ++k)
      if (Dim& d = shape[shape.size() - s.size() + k]; d == Dim(1)) d = s[k];
  }
  c.share_arguments();
  Values out;
  for (const V x : xs) out.push_back(c.op("expand", {x}, {{"size", shape}}));
  return out;
}

Values meshgrid(Call& c) {
  Values xs = c.tensors("tensors");
  const bool swapped = c.text("indexing", "ij") == "xy" && xs.size() > 1;
  if (swapped) std::swap(xs[0], xs[1]);
  Shape shape;
  for (const V x : xs) shape.push_back(c.type(x).numel());
  c.share_arguments();
  Values out;
  for (size_t k = 0; k < xs.size(); ++k) {
    Shape alone(xs.size(), Dim(1));
    alone[k] = shape[k];
    out.push_back(c.op("expand", {c.view(xs[k], alone)}, {{"size", shape}}));
  }
  if (swapped) std::swap(out[0], out[1]);
  return out;
}

// The halves of dims change places: the first element becomes that in the middle, or the other way.
Values halves_swapped(Call& c, bool back) {
  V x = self_of(c);
  std::vector<int64_t> dims = c.integers("dim");
  if (!c.has("dim"))
    for (int64_t d = 0; d < c.rank(x); ++d) dims.push_back(d);
  for (const int64_t dim : dims) {
    const Dim n = c.size(x, dim);
    const Dim middle = back ? Dim::floordiv(n, Dim(2)) : n - Dim::floordiv(n, Dim(2));
    const V tail = c.op("slice", {x}, {{"dim", dim}, {"start", middle}, {"end", n}});
    const V head = c.op("slice", {x}, {{"dim", dim}, {"start", 0}, {"end", middle}});
    x = c.op("cat", {CallOperand(Values{tail, head})}, {{"dim", dim}});
  }
  return {copied(c, x)};
}

Values flipped(Call& c, int64_t dim) {
  return {c.op("flip", {self_of(c)}, {{"dims", std::vector<int64_t>{dim}}})};
}

}  // namespace

std::span<const RuleRow> shape_rules() {
  static constexpr RuleRow rows[] = {
      {"type_as",
       [](Call& c) -> Values { return {c.to(self_of(c), c.type(c.tensor("other")).dtype)}; }},
      {"_cast_Float", [](Call& c) -> Values { return {c.to(self_of(c), DType::f32)}; }},
      {"roll", roll},
      {"repeat_interleave.self_int", repeat_interleave},
      {"tile", tile},
      {"pad", pad},
      {"pixel_shuffle", [](Call& c) { return pixel_shuffle(c, false); }},
      {"pixel_unshuffle", [](Call& c) { return pixel_shuffle(c, true); }},
      {"channel_shuffle", channel_shuffle},
      {"native_channel_shuffle", channel_shuffle},
      {"concat", [](Call& c) { return joined(c, c.integer("dim", 0), 0); }},
      {"concatenate", [](Call& c) { return joined(c, c.integer("dim", 0), 0); }},
      {"dstack", [](Call& c) { return joined(c, 2, 3); }},
      {"hstack", [](Call& c) { return joined(c, 1, 1); }},
      {"vstack", [](Call& c) { return joined(c, 0, 2); }},
      {"column_stack", [](Call& c) { return joined(c, 1, 2); }},
      {"broadcast_tensors", broadcast_tensors},
      {"meshgrid", meshgrid},
      {"fliplr", [](Call& c) { return flipped(c, 1); }},
      {"flipud", [](Call& c) { return flipped(c, 0); }},
      {"fft_fftshift", [](Call& c) { return halves_swapped(c, false); }},
      {"fft_ifftshift", [](Call& c) { return halves_swapped(c, true); }},
  };
  return rows;
}

}  // namespace cleave::exported
