#include "import/onnx/rules.h"

#include <algorithm>
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

}  // namespace cleave::onnx
