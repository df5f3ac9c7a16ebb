// Rules given as two graphs: sizes, numbers, dtypes, and what differentiation makes of them.
#include "rewrite/graph_rule.h"

#include <gtest/gtest.h>

#include "grad/grad.h"
#include "ir/edit.h"
#include "rewrite/rule_set.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;

// x * c / c2 -> x * (c / c2) is no rule of ours: this one shows what a text can say.
const char* const gelu_text = R"(
graph @search(%m: symint, %n: symint, %x: input f32[m,n] grad, %w: input f32[n,n*2] grad) {
  %y = mm(%x, %w)
  %h = mul(%y; other=0.25)
  %r = relu(%h)
  %v = view(%r; size=[m*2,n])
  return %v
}
graph @replace(%m: symint, %n: symint, %x: input f32[m,n] grad, %w: input f32[n,n*2] grad) {
  %s = mul(%x; other=0.25)
  %y = mm(%s, %w)
  %r = relu(%y)
  %v = view(%r; size=[m*2,n])
  return %v
}
)";

TextRule scaled(bool joint = false) {
  TextRule rule{
      .name = "scaled", .text = gelu_text, .parts = {.numbers = {{"c", 0.25}}, .rounds = true}};
  if (joint) rule.parts.derive = [](const Graph& g) { return make_joint(g, core()); };
  return rule;
}

struct Outcome {
  Graph graph;
  int64_t matches = 0, refused = 0;
};

Outcome apply(const TextRule& rule, Graph g) {
  const RuleSet set = value_or_throw(RuleSet::make(value_or_throw(rules_of(rule, core())), core()));
  const std::vector<RuleCount> counts = value_or_throw(set.apply(g, core()));
  value_or_throw(verify(g));
  Outcome out{std::move(g)};
  for (const RuleCount& c : counts) {
    out.matches += c.matches;
    out.refused += c.refused;
  }
  return out;
}

void expect_same_values(const Graph& a, const Graph& b) {
  const Arrays want = value_or_throw(interpret(a, test::random_inputs(a)));
  const Arrays got = value_or_throw(interpret(b, test::random_inputs(b)));
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) EXPECT_EQ(test::mismatch(got[k], want[k], 1e-12), "");
}

const std::string program =
    "graph @main(%a: input f32[6,4] grad, %b: param f32[4,8] grad) {\n"
    "  %p = mm(%a, %b)\n  %q = mul(%p; other=3.0)\n  %r = relu(%q)\n"
    "  %v = view(%r; size=[12,4])\n  %y = exp(%v)\n  return %y\n}\n";

TEST(GraphRule, sizes_and_numbers_are_those_of_the_match) {
  const Outcome o = apply(scaled(), parsed(program));
  EXPECT_EQ(o.matches, 1);
  EXPECT_NE(print(o.graph).find("= mul(%a; other=3.0)"), std::string::npos) << print(o.graph);
  expect_same_values(parsed(program), o.graph);
}

TEST(GraphRule, sizes_that_disagree_are_refused) {
  const Outcome o =
      apply(scaled(), parsed("graph @main(%a: input f32[6,4], %b: param f32[4,8]) {\n"
                             "  %p = mm(%a, %b)\n  %q = mul(%p; other=3.0)\n  %r = relu(%q)\n"
                             "  %v = view(%r; size=[6,8])\n  return %v\n}\n"));
  EXPECT_EQ(o.matches, 0);
  EXPECT_EQ(o.refused, 1);
}

TEST(GraphRule, a_joint_graph_is_rewritten_by_the_derived_form) {
  Graph joint = value_or_throw(make_joint(parsed(program), core()));
  const Outcome forward = apply(scaled(), joint);
  EXPECT_EQ(forward.matches, 0);  // the backward reads what is inside
  const Outcome both = apply(scaled(true), joint);
  EXPECT_EQ(both.matches, 1);
  expect_same_values(joint, both.graph);
}

TEST(GraphRule, constants_that_follow_from_a_number_are_compared) {
  // d/dx of c * x is c: a backward with another constant is no derivative of this forward.
  Graph joint = value_or_throw(make_joint(parsed(program), core()));
  std::string text = print(joint);
  const size_t second = text.find("other=3.0", text.find("other=3.0") + 1);
  ASSERT_NE(second, std::string::npos) << text;
  text.replace(second, 9, "other=5.0");
  const Outcome o = apply(scaled(true), parsed(text));
  EXPECT_EQ(o.matches, 0);
}

TEST(GraphRule, one_rule_for_each_dtype) {
  TextRule rule = scaled();
  rule.dtypes = {DType::f32, DType::bf16};
  std::string half = program;
  for (size_t at; (at = half.find("f32")) != std::string::npos;) half.replace(at, 3, "bf16");
  EXPECT_EQ(apply(rule, parsed(half)).matches, 1);
  EXPECT_EQ(apply(scaled(), parsed(half)).matches, 0);
}

TEST(GraphRule, symbolic_programs_match_by_their_expressions) {
  const Outcome o = apply(
      scaled(), parsed("graph @main(%s0: symint, %a: input f32[s0*3,4], %b: param f32[4,8]) {\n"
                       "  %p = mm(%a, %b)\n  %q = mul(%p; other=3.0)\n  %r = relu(%q)\n"
                       "  %v = view(%r; size=[s0*6,4])\n  return %v\n}\n"));
  EXPECT_EQ(o.matches, 1);
}

TEST(GraphRule, texts_that_are_no_rule_are_refused_with_the_rules_name) {
  const auto broken = [](const std::string& text) {
    const Result<std::vector<Rule>> r = rules_of({.name = "r", .text = text}, core());
    return r.ok() ? "no error" : r.failure().message;
  };
  const std::string x = "(%x: input f32[2]) {\n  %y = exp(%x)\n  return %y\n}\n";
  EXPECT_EQ(broken("graph @replace" + x), "rule r: its text holds no @search and then @replace");
  EXPECT_EQ(broken("graph @search" + x +
                   "graph @replace(%x: input f32[2]) {\n  %y = exp(%x)\n  return %y, %x\n}\n"),
            "rule r: search has 1 results, replace 2");
  EXPECT_EQ(broken("graph @search" + x + "graph @replace(%z: input f32[2]) {\n  return %z\n}\n"),
            "rule r: replace: search has no placeholder %z: f32[2]");
  EXPECT_EQ(broken("graph @search(%x: input f32[2]) {\n  return %x\n}\ngraph @replace" + x),
            "rule r: search: no call makes result 0");
}

}  // namespace
}  // namespace cleave
