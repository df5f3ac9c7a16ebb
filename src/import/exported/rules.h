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

// The rule of an overload, or of all of an operator; null if there is none.
Rule find_rule(std::string_view name, std::string_view overload);

std::span<const RuleRow> activation_rules();
std::span<const RuleRow> constructor_rules();
std::span<const RuleRow> einsum_rules();
std::span<const RuleRow> index_rules();
std::span<const RuleRow> layer_rules();
std::span<const RuleRow> loss_rules();
std::span<const RuleRow> pointwise_rules();
std::span<const RuleRow> pool_rules();
std::span<const RuleRow> product_rules();
std::span<const RuleRow> random_rules();
std::span<const RuleRow> recurrent_rules();
std::span<const RuleRow> reduction_rules();
std::span<const RuleRow> shape_rules();

// What several rules are made of.
ValueId matmul(Call& c, ValueId a, ValueId b);
ValueId linear(Call& c, ValueId input, ValueId weight, ValueId bias);
ValueId softmax(Call& c, ValueId x, int64_t dim, const std::string& op);
ValueId log_sigmoid(Call& c, ValueId x);

}  // namespace cleave::exported
