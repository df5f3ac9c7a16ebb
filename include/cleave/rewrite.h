// Rewrite rules of the host program: what a program holds, and what is computed instead.
//
//   Options options;
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
// The text is that of graphs (doc/ir.md). Placeholders stand for any values of their rank and
// dtype, a symint for one size wherever it stands. Every call and attribute has to be as it stands
// there; what is inside has no other reader. The replacement has the same types, which is checked;
// that it computes the same is the program's word. `cleave opt G.clv --rule FILE` shows what a rule
// does.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "cleave/dtype.h"

namespace cleave {

// When a rule runs: on the forward graph; on forward and backward in one, before cleave's own joint
// passes; before and after its own passes of what is lowered.
enum class RulePoint : uint8_t { pre_grad, joint, before_post_grad, after_post_grad };

struct RewriteRule {
  std::string name;
  std::string text;  // the graphs @search and @replace
  RulePoint point = RulePoint::pre_grad;
  // Numbers of the text that stand for any number, by name: {{"scale", 0.25}}.
  std::vector<std::pair<std::string, double>> numbers = {};
  // f32 in the text stands for each of these.
  std::vector<DType> dtypes = {DType::f32};
  // Of a rule for joint graphs: also what differentiating both graphs gives, by the placeholders
  // that are marked grad.
  bool derive_backward = false;
};

}  // namespace cleave
