#include "import/onnx/rules.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace cleave::onnx {
namespace {

using Table = std::unordered_map<std::string, Rule>;

Table all_rules() {
  Table table;
  for (const auto family :
       {arithmetic_rules(), activation_rules(), compare_rules(),     cast_rules(),
        reduce_rules(),     shape_rules(),      constructor_rules(), index_rules(),
        scatter_rules(),    product_rules(),    convolution_rules(), pool_rules(),
        resize_rules(),     norm_rules(),       control_rules(),     quantise_rules(),
        recurrent_rules(),  loss_rules(),       random_rules(),      signal_rules(),
        attention_rules(),  sample_rules(),     sequence_rules(),    optimizer_rules()})
    for (const RuleEntry& entry : family) table.emplace(entry.op, entry.rule);
  return table;
}

}  // namespace

Rule find_rule(const std::string& domain, const std::string& op) {
  static const Table table = all_rules();
  const auto found = table.find(domain.empty() ? op : domain + "." + op);
  return found == table.end() ? nullptr : found->second;
}

// ---- what rules of several families use

Ints all_axes(int64_t rank) {
  Ints out;
  for (int64_t d = 0; d < rank; ++d) out.push_back(d);
  return out;
}

Ints other_axes(int64_t rank, const Ints& axes) {
  Ints out;
  for (int64_t d = 0; d < rank; ++d)
    if (std::ranges::find(axes, d) == axes.end()) out.push_back(d);
  return out;
}

Dim product_of(const Shape& s, size_t begin, size_t end) {
  Dim out = 1;
  for (size_t d = begin; d < end && d < s.size(); ++d) out = out * s[d];
  return out;
}

V softmax(Call& c, V x, int64_t axis) {
  return c.op("_softmax", {x}, {{"dim", axis}, {"half_to_float", false}});
}

V taken(Call& c, V x, int64_t axis, const Ints& index) {
  return c.op("index_select", {x, c.tensor("index", index)}, {{"dim", axis}});
}

std::vector<double> doubles_of(const Array& a) {
  std::vector<double> out;
  for (int64_t k = 0; k < a.numel(); ++k) out.push_back(a.number(k));
  return out;
}

V from_start(Call& c, V index, const Dim& n) {
  index = c.convert(index, DType::i64);
  return c.where(c.op("lt", {index, 0}), c.add(index, AttrValue(n)), index);
}

std::optional<Range> range_of(Element e) {
  if (is_float(e) || e == Element::boolean) return std::nullopt;
  const int bits = static_cast<int>(bits_of(e));
  if (bits == 0 || bits > 32) return std::nullopt;
  if (is_unsigned(e)) return Range{0, std::ldexp(1.0, bits) - 1};
  return Range{-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
}

AttrValue nearest_in(Element e, double x) {
  if (is_float(e)) return x;
  if (e == Element::boolean) return x > 0;
  x = std::isnan(x) ? 0 : std::rint(x);
  if (const auto range = range_of(e))
    return static_cast<int64_t>(std::clamp(x, range->low, range->high));
  if (e == Element::u64) {  // the same bits
    if (x >= 0x1p64) return int64_t{-1};
    return x > 0 ? static_cast<int64_t>(static_cast<uint64_t>(x)) : int64_t{0};
  }
  if (x >= 0x1p63) return INT64_MAX;
  return x < -0x1p63 ? INT64_MIN : static_cast<int64_t>(x);
}

V clamped(Call& c, V x, Element to) {
  const Element from = element_of(c.type(x).dtype);
  const auto range = range_of(to);
  return c.cast(range ? c.op("clamp", {x, range->low, range->high}) : x, from, to);
}

}  // namespace cleave::onnx
