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
//
// What a text can't say is a function: a condition on what matched, and a replacement that is
// written with the functions of Tensors, in place of @replace.
//
//   options.rules.push_back({.name = "narrow_softmax",
//                            .text = R"(
//     graph @search(%m: symint, %n: symint, %x: input f32[m,n]) {
//       %y = _softmax(%x; dim=1, half_to_float=false)
//       return %y
//     })",
//                            .version = "1",
//                            .when = [](const RuleMatch& m) { return m.size("n") <= 32; },
//                            .make = [](const RuleMatch& m) {
//                              const Tensor e = exp(m["x"] - m["x"].amax(1, true));
//                              return Tensors{e / e.sum(1, true)};
//                            }});
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cleave/op.h"

namespace cleave {

// When a rule runs: on the forward graph; on the joint forward and backward graph, before cleave's
// own joint passes; before and after its own passes on the lowered graph.
enum class RulePoint : uint8_t { pre_grad, joint, before_post_grad, after_post_grad };

// What a rule matched, by the names of @search. Valid during the call that it is given to.
class CLEAVE_API RuleMatch {
 public:
  // The type of a placeholder's value or of a call's result. Error (unsupported): symbolic sizes.
  TensorType type(const std::string& name) const;
  std::string type_text(const std::string& name) const;  // "f32[s0,4]", symbolic or not
  // The call that makes this result: its attributes and the types of its operands.
  OpCall call(const std::string& name) const;
  // Its source line, "model.cpp:12"; empty if it isn't known.
  std::string source(const std::string& name) const;
  // What a symint of @search stands for. Error (unsupported): it is symbolic.
  int64_t size(const std::string& symint) const;
  // What one of RewriteRule::numbers stands for.
  double number(const std::string& name) const;
  // For `make`: the value, of a placeholder or of a call that is matched. In `when` an error.
  Tensor operator[](const std::string& name) const;

  struct State;
  explicit RuleMatch(const State& state) : state_(&state) {}

 private:
  const State* state_;
};

struct RewriteRule {
  std::string name;
  std::string text;  // the graphs @search and, without `make`, @replace
  RulePoint point = RulePoint::pre_grad;
  // Numbers of the text that match any number, by name: {{"scale", 0.25}}.
  std::vector<std::pair<std::string, double>> numbers = {};
  // f32 in the text is replaced by each of these.
  std::vector<DType> dtypes = {DType::f32};
  // For rules on joint graphs: also derives a rule by differentiating both graphs, with respect to
  // the placeholders that are marked grad. Not with `make`.
  bool derive_backward = false;
  // Attributes that match any value, whatever the text gives them, as "result.attribute":
  // {"y.dim"}. The types of that call's results, and of what is computed from them, match as well.
  std::vector<std::string> any = {};
  // Of the functions below all that a cache on disk knows, as FunctionPass::version.
  std::string version = {};
  // Asked once all else matches; false leaves the match as it is. Called often, on the thread that
  // compiles. What it throws ends the compile with an error that names the rule.
  std::function<bool(const RuleMatch&)> when = {};
  // Returns what replaces the results of @search, in their order, of the same types.
  std::function<Tensors(const RuleMatch&)> make = {};
};

}  // namespace cleave
