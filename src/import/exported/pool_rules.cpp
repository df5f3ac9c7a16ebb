// Pooling and resizing.
#include <utility>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

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
  const Shape given = c.sizes("output_size");
  for (size_t k = 0; k < given.size(); ++k)
    size.push_back(given[k].is_const() ? given[k].value() : 1);
  if (dims > 1)
    return {c.op(fmt::format("_adaptive_avg_pool{}d", dims), {x}, {{"output_size", size}})};
  size.insert(size.begin(), 1);
  x = c.op("unsqueeze", {x}, {{"dim", -2}});
  const V y = c.op("_adaptive_avg_pool2d", {x}, {{"output_size", size}});
  return {c.op("squeeze", {y}, {{"dim", std::vector<int64_t>{-2}}})};
}

// Only to one value a channel: the largest one and its place in the plane.
template <int64_t dims>
Values adaptive_max(Call& c) {
  const V x = self_of(c);
  if (c.integers("output_size") != std::vector<int64_t>(dims, 1))
    return {c.fail("adaptive_max_pool to more than one value")};
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
