// Pooling and resizing.
#include <algorithm>
#include <utility>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

constexpr int64_t most_windows = 1 << 16;

V self_of(Call& c) { return c.tensor(c.find("self") ? "self" : "input"); }

// The arguments that the file gives, each with so many numbers; `lead` stands before them.
NamedAttrs numbers(Call& c, std::initializer_list<const char*> names,
                   std::optional<int64_t> lead = {}) {
  NamedAttrs attrs;
  for (const char* name : names) {
    if (!c.has(name)) continue;
    std::vector<int64_t> v = c.integers(name);
    if (lead && !v.empty()) v.insert(v.begin(), *lead);
    if (!v.empty()) attrs.emplace_back(name, v);
  }
  return attrs;
}

template <int64_t dims>
Values max_pool(Call& c) {
  NamedAttrs attrs = numbers(c, {"kernel_size", "stride", "padding", "dilation"});
  if (c.flag("ceil_mode", false)) attrs.emplace_back("ceil_mode", true);
  return c.ops(fmt::format("max_pool{}d_with_indices", dims), {self_of(c)}, std::move(attrs));
}

template <int64_t dims>
Values max_pool_values(Call& c) {
  const Values y = max_pool<dims>(c);
  return {y.empty() ? V() : y[0]};
}

// As pooling over rows of height 1.
Values max_pool1d(Call& c) {
  const V x = c.op("unsqueeze", {self_of(c)}, {{"dim", -2}});
  NamedAttrs attrs;
  for (const auto& [name, lead] : {std::pair{"kernel_size", 1}, std::pair{"stride", 1},
                                   std::pair{"padding", 0}, std::pair{"dilation", 1}})
    for (auto& a : numbers(c, {name}, lead)) attrs.push_back(std::move(a));
  if (c.flag("ceil_mode", false)) attrs.emplace_back("ceil_mode", true);
  const Values y = c.ops("max_pool2d_with_indices", {x}, std::move(attrs));
  Values out;
  for (const V v : y) out.push_back(c.op("squeeze", {v}, {{"dim", std::vector<int64_t>{-2}}}));
  if (c.node().target.find("with_indices") == std::string::npos) out.resize(1);
  return out;
}

template <int64_t dims>
Values adaptive_average(Call& c) {
  V x = self_of(c);
  std::vector<int64_t> size;
  for (const Dim& d : c.sizes("output_size")) size.push_back(d.is_const() ? d.value() : 1);
  if (dims > 1)
    return {c.op(fmt::format("_adaptive_avg_pool{}d", dims), {x}, {{"output_size", size}})};
  size.insert(size.begin(), 1);
  x = c.op("unsqueeze", {x}, {{"dim", -2}});
  const V y = c.op("_adaptive_avg_pool2d", {x}, {{"output_size", size}});
  return {c.op("squeeze", {y}, {{"dim", std::vector<int64_t>{-2}}})};
}

// Window o of a dim goes from floor(o in / out) to the end of the last element that it touches.
// Windows of less than `width` elements have their last one several times: [out * width].
V windows_of(Call& c, int64_t in, int64_t out, int64_t width) {
  const auto number = [](int64_t n) { return CallOperand(AttrValue(n)); };
  const auto divided = [&](V x, int64_t by) {
    return c.op("div", {x, number(by)}, {{"rounding_mode", "floor"}});
  };
  const V o = c.op("unsqueeze", {c.op("arange", {}, {{"end", out}})}, {{"dim", 1}});
  const V scaled = c.op("mul", {o, number(in)});
  const V first = divided(scaled, out);
  const V last = divided(c.op("add", {scaled, number(in - 1)}), out);
  const V k = c.op("arange", {}, {{"end", width}});
  return c.view(c.op("minimum", {c.op("add", {first, k}), last}), {Dim(out * width)});
}

// To one value a channel: the largest one and its place in the plane.
template <int64_t dims>
Values largest(Call& c) {
  const V x = self_of(c);
  Shape flat = c.type(x).shape, size = flat;
  if (std::ssize(flat) < dims) return {c.fail("adaptive_max_pool of rank {}", flat.size())};
  flat.resize(flat.size() - static_cast<size_t>(dims));
  Dim all = 1;
  for (size_t d = flat.size(); d < size.size(); ++d) all = all * std::exchange(size[d], Dim(1));
  flat.push_back(all);
  Values both = c.ops("max", {c.view(x, flat)}, {{"dim", -1}, {"keepdim", true}});
  for (V& v : both) v = c.view(v, size);
  return both;
}

// The largest elements of windows, and their places, counted through the image.
template <int64_t dims>
Values adaptive_max(Call& c) {
  V x = self_of(c);
  const std::vector<int64_t> size = c.integers("output_size");
  if (size == std::vector<int64_t>(dims, 1)) return largest<dims>(c);
  const int64_t lead = c.rank(x) - dims;
  if (static_cast<int64_t>(size.size()) != dims || lead < 0)
    return {c.fail("adaptive_max_pool of {}", c.type(x).text())};
  Shape apart(c.type(x).shape.begin(), c.type(x).shape.begin() + lead), result = apart, places;
  std::vector<int64_t> order, within;
  V place = c.op("full", {}, {{"size", Shape{}}, {"fill_value", 0}, {"dtype", DType::i64}});
  Dim elements = 1;
  for (int64_t d = 0; d < lead; ++d) order.push_back(d);
  for (int64_t d = 0; d < dims; ++d) {
    const int64_t in = c.static_size(x, lead + d), out = size[static_cast<size_t>(d)];
    if (in < 1 || out < 1 || std::max(in, out) > most_windows)
      return {c.fail("{} elements in {} windows", in, out)};
    int64_t width = 1;
    for (int64_t o = 0; o < out; ++o)
      width = std::max(width, ((o + 1) * in + out - 1) / out - o * in / out);
    const V at = windows_of(c, in, out, width);
    x = c.op("index_select", {x, at}, {{"dim", lead + d}});
    Shape alone(static_cast<size_t>(2 * dims), Dim(1));
    alone[static_cast<size_t>(2 * d)] = out;
    alone[static_cast<size_t>(2 * d + 1)] = width;
    place = c.op("add", {c.op("mul", {place, CallOperand(AttrValue(in))}), c.view(at, alone)});
    apart.insert(apart.end(), {Dim(out), Dim(width)});
    result.emplace_back(out);
    order.push_back(lead + 2 * d);
    within.push_back(lead + 2 * d + 1);
    elements = elements * Dim(width);
  }
  order.insert(order.end(), within.begin(), within.end());
  Shape flat = result;
  flat.push_back(elements);
  x = c.view(c.permute(c.view(x, apart), order), flat);
  place = c.view(c.permute(c.op("expand", {place}, {{"size", apart}}), order), flat);
  const Values most = c.ops("max", {x}, {{"dim", -1}, {"keepdim", true}});
  if (!c.ok()) return {};
  const std::vector<int64_t> last{-1};
  place = c.op("gather", {place, most[1]}, {{"dim", -1}});
  return {c.op("squeeze", {most[0]}, {{"dim", last}}), c.op("squeeze", {place}, {{"dim", last}})};
}

Values nearest1d(Call& c) {
  const V x = c.op("unsqueeze", {self_of(c)}, {{"dim", -2}});
  NamedAttrs attrs;
  if (c.has("output_size")) {
    Shape size = c.sizes("output_size");
    size.insert(size.begin(), Dim(1));
    attrs.emplace_back("output_size", size);
  }
  if (c.has("scale_factors")) {
    AttrList factors{AttrValue(1.0)};
    const AttrValue given = c.value("scale_factors");
    if (const AttrList* list = given.get<AttrList>())
      factors.insert(factors.end(), list->begin(), list->end());
    attrs.emplace_back("scale_factors", std::move(factors));
  }
  const V y = c.op("upsample_nearest2d", {x}, std::move(attrs));
  return {c.op("squeeze", {y}, {{"dim", std::vector<int64_t>{-2}}})};
}

Values upsampled(Call& c, const char* op) {
  NamedAttrs attrs;
  for (const char* name : {"output_size", "align_corners", "scale_factors", "scales_h", "scales_w"})
    if (c.has(name)) attrs.emplace_back(name, c.value(name));
  return {c.op(op, {self_of(c)}, std::move(attrs))};
}

}  // namespace

std::span<const RuleRow> pool_rules() {
  static constexpr RuleRow rows[] = {
      {"max_pool1d", max_pool1d},
      {"max_pool1d_with_indices", max_pool1d},
      {"max_pool2d", max_pool_values<2>},
      {"max_pool3d", max_pool_values<3>},
      {"max_pool2d_with_indices", max_pool<2>},
      {"max_pool3d_with_indices", max_pool<3>},
      {"adaptive_avg_pool1d", adaptive_average<1>},
      {"adaptive_avg_pool2d", adaptive_average<2>},
      {"adaptive_avg_pool3d", adaptive_average<3>},
      {"adaptive_max_pool1d", adaptive_max<1>},
      {"adaptive_max_pool2d", adaptive_max<2>},
      {"adaptive_max_pool3d", adaptive_max<3>},
      {"upsample_nearest1d", nearest1d},
      {"upsample_nearest2d", [](Call& c) { return upsampled(c, "upsample_nearest2d"); }},
      {"upsample_bilinear2d", [](Call& c) { return upsampled(c, "upsample_bilinear2d"); }},
  };
  return rows;
}

}  // namespace cleave::exported
