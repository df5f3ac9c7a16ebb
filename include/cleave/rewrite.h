// Custom rewrite rules: a pattern to find in a program, and its replacement.
//
//   CompileOptions options;
//   options.rules.push_back({.name = "quick_gelu",
//                            .text = R"(
//     graph @search(%n: symint, %x: input f32[n]) {
//       %a = mul(%x; other=1.702)
//       %s = sigmoid(%a)
//       %y = mul(%x, %s)
//       return %y
//     }
//     graph @replace(%n: symint, %x: input f32[n]) {
//       %y = gelu(%x)
//       return %y
//     })"});
//
// The text is that of graphs (doc/ir.md). Placeholders match any values of their rank and dtype; a
// symint matches one size, the same wherever it occurs. Every call and attribute must match
// exactly; values inside the match have no users outside it. The replacement has the same types,
// which is checked; that it computes the same values is not checked. `cleave opt G.clv --rule FILE`
// shows what a rule does.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "cleave/dtype.h"

namespace cleave {

// When a rule runs: on the forward graph; on the joint forward and backward graph, before cleave's
// own joint passes; before and after its own passes on the lowered graph.
enum class RulePoint : uint8_t { pre_grad, joint, before_post_grad, after_post_grad };

struct RewriteRule {
  std::string name;
  std::string text;  // the graphs @search and @replace
  RulePoint point = RulePoint::pre_grad;
  // Numbers of the text that match any number, by name: {{"scale", 0.25}}.
  std::vector<std::pair<std::string, double>> numbers = {};
  // f32 in the text is replaced by each of these.
  std::vector<DType> dtypes = {DType::f32};
  // For rules on joint graphs: also derives a rule by differentiating both graphs, with respect to
  // the placeholders that are marked grad.
  bool derive_backward = false;
};

}  // namespace cleave
