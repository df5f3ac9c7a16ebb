// Operators of ATen that cleave doesn't have under their name, as calls of those that it has.
//
// torch.export.export leaves composite operators (linear, cross_entropy_loss, lstm, ...) in its
// graphs; run_decompositions() takes them apart. Each rule stands in the file of its kind and gives
// the node's results in order.
#pragma once
#include <span>
#include <string_view>

#include "import/exported/call.h"

namespace cleave::exported {

using Rule = Values (*)(Call&);
struct RuleRow {
  std::string_view name;  // without namespace: "linear", "max.other" for one overload alone
  Rule rule;
};

// The rule, its operands of f16 and bf16 in f32 and its results rounded once.
template <auto rule>
Values in_f32(Call& c) {
  c.compute_in_f32();
  return rule(c);
}

// The rule of an overload, or of all of an operator; null if there is none.
Rule find_rule(std::string_view name, std::string_view overload);

std::span<const RuleRow> activation_rules();
std::span<const RuleRow> bag_rules();
std::span<const RuleRow> constructor_rules();
std::span<const RuleRow> distance_rules();
std::span<const RuleRow> einsum_rules();
std::span<const RuleRow> factor_rules();
std::span<const RuleRow> index_rules();
std::span<const RuleRow> layer_rules();
std::span<const RuleRow> loss_rules();
std::span<const RuleRow> margin_rules();
std::span<const RuleRow> matrix_rules();
std::span<const RuleRow> order_rules();
std::span<const RuleRow> pointwise_rules();
std::span<const RuleRow> pool_rules();
std::span<const RuleRow> product_rules();
std::span<const RuleRow> quantize_rules();
std::span<const RuleRow> random_rules();
std::span<const RuleRow> real_fourier_rules();
std::span<const RuleRow> recurrent_rules();
std::span<const RuleRow> reduction_rules();
std::span<const RuleRow> resize_rules();
std::span<const RuleRow> sampling_rules();
std::span<const RuleRow> scan_rules();
std::span<const RuleRow> search_rules();
std::span<const RuleRow> shape_rules();
std::span<const RuleRow> solve_rules();
std::span<const RuleRow> special_rules();
std::span<const RuleRow> table_rules();
std::span<const RuleRow> tensor_product_rules();
std::span<const RuleRow> unpool_rules();
std::span<const RuleRow> weight_norm_rules();
std::span<const RuleRow> window_rules();

// What several rules are made of.
ValueId floating_self(Call& c);  // integers and booleans in f32, as PyTorch converts them
ValueId matmul(Call& c, ValueId a, ValueId b);
ValueId linear(Call& c, ValueId input, ValueId weight, ValueId bias);
ValueId inverse_of(Call& c, ValueId x);  // the run of one that is singular fails
ValueId softmax(Call& c, ValueId x, int64_t dim, const std::string& op);
ValueId log_sigmoid(Call& c, ValueId x);
ValueId log_of_sum(Call& c, ValueId a, ValueId b);  // log(exp(a) + exp(b))
ValueId reduced(Call& c, ValueId losses);  // by the argument reduction: 0 none, 1 mean, 2 sum

// The argument self along the argument dim. A tensor of no dims is a line of one element.
struct Line {
  ValueId x;
  int64_t dim = 0;
  bool is_scalar = false;
};
Line line_of(Call& c);
Values without_line(Call& c, Values ys, const Line& line);

}  // namespace cleave::exported
