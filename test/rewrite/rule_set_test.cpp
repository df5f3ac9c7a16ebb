// The engine: what patterns match, what becomes of the graph, what is refused.
// tests: match.cpp matcher.cpp pattern.cpp replace.cpp
// tests: compiled_rule.cpp node_order.cpp
#include "rewrite/rule_set.h"

#include <gtest/gtest.h>

#include "ir/edit.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;

// The graph after the rules, as text, or the error.
std::string rewritten(std::vector<Rule> rules, const std::string& text,
                      std::vector<RuleCount>* counts = nullptr) {
  Graph g = parsed(text);
  const Result<RuleSet> set = RuleSet::make(std::move(rules), core());
  if (!set.ok()) return set.failure().message;
  const Result<std::vector<RuleCount>> c = set->apply(g, core());
  if (!c.ok()) return c.failure().message;
  if (counts) *counts = *c;
  value_or_throw(verify(g));
  return print(g);
}

std::string same(const std::string& text) { return print(parsed(text)); }

std::string body(const std::string& head, const std::string& lines) {
  return "graph @main(" + head + ") {\n" + lines + "}\n";
}

const std::string x = "%x: input f32[4,6]";

Rule drop_double_neg() {
  return {.name = "double_neg",
          .search = {call("neg", {call("neg", {any("x")})})},
          .build = [](Builder&, const Match& m) -> Values { return {m["x"]}; }};
}

TEST(RuleSet, replaces_the_last_call_and_drops_what_nothing_reads) {
  std::vector<RuleCount> counts;
  EXPECT_EQ(
      rewritten({drop_double_neg()},
                body(x, "  %a = neg(%x)\n  %b = neg(%a)\n  %c = exp(%b)\n  return %c\n"), &counts),
      same(body(x, "  %c = exp(%x)\n  return %c\n")));
  EXPECT_EQ(counts[0].matches, 1);
  EXPECT_EQ(counts[0].nodes, 2);
}

TEST(RuleSet, goes_on_until_nothing_fits) {
  std::string chain;
  for (int k = 1; k <= 9; ++k)
    chain += fmt::format("  %v{} = neg(%{})\n", k, k == 1 ? "x" : fmt::format("v{}", k - 1));
  EXPECT_EQ(rewritten({drop_double_neg()}, body(x, chain + "  %e = exp(%v9)\n  return %e\n")),
            same(body(x, "  %v1 = neg(%x)\n  %e = exp(%v1)\n  return %e\n")));
}

TEST(RuleSet, a_call_that_something_else_reads_stays) {
  std::vector<RuleCount> counts;
  for (const char* also : {"  return %b, %a\n", "  %c = exp(%a)\n  return %b, %c\n"}) {
    const std::string text = body(x, std::string("  %a = neg(%x)\n  %b = neg(%a)\n") + also);
    EXPECT_EQ(rewritten({drop_double_neg()}, text, &counts), same(text));
    EXPECT_EQ(counts[0].matches, 0);
    EXPECT_EQ(counts[0].refused, 1);
  }
}

TEST(RuleSet, a_shared_call_stays_for_its_other_readers) {
  Rule rule = drop_double_neg();
  rule.search = {call("neg", {call("neg", {any("x")}).shared()})};
  EXPECT_EQ(rewritten({rule}, body(x,
                                   "  %a = neg(%x)\n  %b = neg(%a)\n  %c = exp(%a)\n"
                                   "  %d = exp(%b)\n  return %d, %c\n")),
            same(body(x, "  %a = neg(%x)\n  %c = exp(%a)\n  %d = exp(%x)\n  return %d, %c\n")));
}

TEST(RuleSet, the_new_value_takes_name_source_and_tag) {
  const Rule rule = {.name = "square",
                     .search = {call("mul", {any("x"), any("x")})},
                     .build = [](Builder& b, const Match& m) -> Values {
                       return {b.neg(b.neg(b.pow(m["x"], 2)))};
                     }};
  EXPECT_EQ(rewritten({rule}, body(x,
                                   "  %y = mul(%x, %x) !recompute(must_save, ac=3)  # m.cpp:7\n"
                                   "  return %y\n")),
            same(body(x,
                      "  %pow = pow(%x; exponent=2) !recompute(must_save, ac=3)  # m.cpp:7\n"
                      "  %neg = neg(%pow) !recompute(must_save, ac=3)  # m.cpp:7\n"
                      "  %y = neg(%neg) !recompute(must_save, ac=3)  # m.cpp:7\n"
                      "  return %y\n")));
}

TEST(RuleSet, calls_of_other_tags_are_not_one_match) {
  const std::string text = body(
      x, "  %a = neg(%x) !recompute(must_save)\n  %b = neg(%a)\n  %c = exp(%b)\n  return %c\n");
  EXPECT_EQ(rewritten({drop_double_neg()}, text), same(text));
}

TEST(RuleSet, a_name_that_stands_twice_is_one_value) {
  const Rule rule = {
      .name = "same",
      .search = {call("sub", {any("x"), any("x")})},
      .build = [](Builder& b, const Match& m) -> Values { return {b.full_like(m["x"], 0.0)}; }};
  const std::string other = body(x + ", %z: input f32[4,6]", "  %y = sub(%x, %z)\n  return %y\n");
  EXPECT_EQ(rewritten({rule}, other), same(other));
  EXPECT_NE(rewritten({rule}, body(x, "  %y = sub(%x, %x)\n  return %y\n")).find("full"),
            std::string::npos);
}

TEST(RuleSet, commuting_operands_are_tried_both_ways_at_every_depth) {
  const Pattern product = call("mul", {any("a"), number(2.0)});
  const Rule rule = {.name = "fma",
                     .search = {call("add", {call("exp", {any("a")}), any("b")}).commutes()},
                     .build = [](Builder& b, const Match& m) -> Values {
                       return {b.sub(m["b"], b.neg(b.exp(m["a"])))};
                     }};
  const std::string head = "%x: input f32[4], %z: input f32[4]";
  for (const char* order : {"%e, %z", "%z, %e"})
    EXPECT_EQ(rewritten({rule}, body(head, fmt::format("  %e = exp(%x)\n  %y = add({})\n"
                                                       "  return %y\n",
                                                       order))),
              same(body(head,
                        "  %exp = exp(%x)\n  %neg = neg(%exp)\n  %y = sub(%z, %neg)\n"
                        "  return %y\n")));
  // The first order fits until the inner names disagree: the second one has to be tried.
  const Rule deep = {
      .name = "deep",
      .search = {call("sub", {call("add", {any("p"), any("q")}).commutes(), any("p")})},
      .build = [](Builder&, const Match& m) -> Values { return {m["q"]}; }};
  EXPECT_EQ(rewritten({deep}, body(head,
                                   "  %s = add(%z, %x)\n  %y = sub(%s, %x)\n"
                                   "  %o = exp(%y)\n  return %o\n")),
            same(body(head, "  %o = exp(%z)\n  return %o\n")));
}

TEST(RuleSet, attributes_are_equal_bound_or_anything_and_else_the_default) {
  const auto rule = [](AttrTests attrs) {
    return Rule{.name = "softmax",
                .search = {call("_softmax", {any("x")}, std::move(attrs))},
                .build = [](Builder& b, const Match& m) -> Values { return {b.exp(m["x"])}; }};
  };
  const std::string text =
      body(x, "  %y = _softmax(%x; dim=1, half_to_float=false)\n  return %y\n");
  const std::string done = same(body(x, "  %y = exp(%x)\n  return %y\n"));
  EXPECT_EQ(rewritten({rule({{"dim", 1}, {"half_to_float", false}})}, text), done);
  EXPECT_EQ(rewritten({rule({{"dim", bind("d")}, {"half_to_float", anything()}})}, text), done);
  EXPECT_EQ(rewritten({rule({{"dim", 0}, {"half_to_float", anything()}})}, text), same(text));
  EXPECT_EQ(rewritten({rule({{"half_to_float", anything()}})}, text), same(text));
}

TEST(RuleSet, numbers_lists_and_absent_operands) {
  const Rule scale = {.name = "scale",
                      .search = {call("mul", {any("x"), number("c")})},
                      .when = [](const Match& m) { return m.scalar("c") == 1; },
                      .build = [](Builder&, const Match& m) -> Values { return {m["x"]}; }};
  EXPECT_EQ(rewritten({scale}, body(x,
                                    "  %a = mul(%x; other=1)\n  %b = mul(%a; other=1.0)\n"
                                    "  %c = mul(%b; other=2.0)\n  return %c\n")),
            same(body(x, "  %c = mul(%x; other=2.0)\n  return %c\n")));
  const Rule norm = {
      .name = "norm",
      .search = {call("native_layer_norm", {any("x"), any("w"), absent()},
                      {{"normalized_shape", anything()}, {"eps", bind("eps")}})},
      .build = [](Builder& b, const Match& m) -> Values { return {b.mul(m["x"], m["w"])}; }};
  const std::string head = x + ", %w: param f32[6]";
  EXPECT_EQ(rewritten({norm}, body(head,
                                   "  %y, %m, %r = native_layer_norm(%x, %w; "
                                   "normalized_shape=[6], eps=1e-05)\n  return %y\n")),
            same(body(head, "  %y = mul(%x, %w)\n  return %y\n")));
  const Rule cat = {
      .name = "cat",
      .search = {call("cat", {each(call("exp", {any("item")}))}, {{"dim", bind("dim")}})},
      .build = [](Builder& b, const Match& m) -> Values {
        return {b.exp(b.cat(m.all("item"), m.integer("dim")))};
      }};
  EXPECT_EQ(rewritten({cat}, body(x,
                                  "  %a = exp(%x)\n  %n = neg(%x)\n  %b = exp(%n)\n"
                                  "  %y = cat([%a, %b]; dim=1)\n  return %y\n")),
            same(body(x,
                      "  %n = neg(%x)\n  %cat = cat([%x, %n]; dim=1)\n  %y = exp(%cat)\n"
                      "  return %y\n")));
}

TEST(RuleSet, results_of_one_call_by_their_index) {
  const Pattern split =
      call("split_with_sizes", {any("x")}, {{"split_sizes", bind("sizes")}, {"dim", bind("dim")}});
  const Rule rule = {
      .name = "split_cat",
      .search = {call("cat", {each(result_of(split).named("part"))}, {{"dim", bind("dim")}})},
      .when =
          [](const Match& m) {
            for (size_t k = 0; k < m.all("part").size(); ++k)
              if (m.graph().value(m.all("part")[k]).index != k) return false;
            return m.all("part").size() == m.integers("sizes").size();
          },
      .build = [](Builder&, const Match& m) -> Values { return {m["x"]}; }};
  std::vector<RuleCount> counts;
  EXPECT_EQ(rewritten({rule},
                      body(x,
                           "  %a, %b = split_with_sizes(%x; split_sizes=[2,4], dim=1)\n"
                           "  %c = cat([%a, %b]; dim=1)\n  %y = exp(%c)\n  return %y\n"),
                      &counts),
            same(body(x, "  %y = exp(%x)\n  return %y\n")));
  EXPECT_EQ(counts[0].nodes, 4);  // two calls, two results
  for (const char* other :
       {"  %a, %b = split_with_sizes(%x; split_sizes=[2,4], dim=1)\n  %c = cat([%b, %a]; dim=1)\n"
        "  return %c\n",
        "  %a, %b = split_with_sizes(%x; split_sizes=[2,2], dim=0)\n  %c = cat([%a, %b]; dim=1)\n"
        "  return %c\n"})
    EXPECT_EQ(rewritten({rule}, body(x, other)), same(body(x, other)));
}

TEST(RuleSet, several_results_each_in_its_place) {
  // Two products of one operand become one; the second is read before the first is made.
  const Pattern a = any("a");
  const Rule rule = {
      .name = "join",
      .search = {call("mm", {any("a").named("a"), any("p")}), call("mm", {any("a"), any("q")})},
      .when = [](const Match& m) { return m["p"] != m["q"]; },
      .build = [](Builder& b, const Match& m) -> Values {
        const ValueId both = b.mm(m["a"], b.cat({m["p"], m["q"]}, 1));
        const Dim n = b.type(m["p"]).shape[1];
        return {b.slice(both, 1, 0, n), b.slice(both, 1, n, n + b.type(m["q"]).shape[1])};
      }};
  const std::string head = "%x: input f32[2,3], %p: input f32[3,4], %q: input f32[3,5]";
  std::vector<RuleCount> counts;
  const std::string out = rewritten({rule},
                                    body(head,
                                         "  %u = mm(%x, %p)\n  %e = exp(%u)\n  %v = mm(%x, %q)\n"
                                         "  %f = exp(%v)\n  return %e, %f\n"),
                                    &counts);
  EXPECT_EQ(counts[0].matches, 1) << out;
  EXPECT_NE(out.find("%cat = cat([%q, %p]; dim=1)"), std::string::npos) << out;
  EXPECT_LT(out.find("slice("), out.find("exp(")) << out;
  // The second operand depends on the first product: no order would do.
  const std::string chained =
      body(head,
           "  %u = mm(%x, %p)\n  %s = sum(%u)\n  %w = mul(%q, %s)\n  %v = mm(%x, %w)\n"
           "  return %u, %v\n");
  EXPECT_EQ(rewritten({rule}, chained, &counts), same(chained));
  EXPECT_GE(counts[0].refused, 1);
}

TEST(RuleSet, what_only_the_match_reads_needs_no_value) {
  const Pattern first =
      call("split_with_sizes", {any("x")}, {{"split_sizes", bind("sizes")}, {"dim", bind("dim")}});
  const Rule rule = {
      .name = "merge",
      .search = {results(call("split_with_sizes", {result(first, 1)},
                              {{"split_sizes", bind("inner")}, {"dim", bind("dim")}})),
                 results(first)},
      .build = [](Builder& b, const Match& m) -> Values {
        const Values v =
            b.call("split_with_sizes", {m["x"]}, {{"split_sizes", {1, 2, 3}}, {"dim", 1}});
        return {v[1], v[2], v[0], ValueId{}};
      }};
  const std::string text =
      "  %a, %b = split_with_sizes(%x; split_sizes=[1,5], dim=1)\n"
      "  %c, %d = split_with_sizes(%b; split_sizes=[2,3], dim=1)\n";
  EXPECT_EQ(rewritten({rule}, body(x, text + "  return %a, %c, %d\n")),
            same(body(x,
                      "  %a, %c, %d = split_with_sizes(%x; split_sizes=[1,2,3], dim=1)\n"
                      "  return %a, %c, %d\n")));
  const std::string also = body(x, text + "  return %a, %c, %d, %b\n");
  EXPECT_EQ(rewritten({rule}, also), "rule merge at %c: it builds nothing for %b");
}

TEST(RuleSet, a_result_without_a_gradient_gets_none) {
  const Rule rule = {
      .name = "mean",
      .search = {result(call("native_layer_norm", {any("x"), absent(), absent()},
                             {{"normalized_shape", anything()}, {"eps", anything()}}),
                        1)},
      .build = [](Builder& b, const Match& m) -> Values { return {b.mean(m["x"], {1}, true)}; }};
  const auto text = [](const char* returned) {
    return body(x, std::string("  %y, %m, %r = native_layer_norm(%x; normalized_shape=[6], "
                               "eps=1e-05)\n  %e = exp(%m)\n  return ") +
                       returned + "\n");
  };
  EXPECT_EQ(rewritten({rule}, text("%y")), same(text("%y")));
  EXPECT_EQ(rewritten({rule}, text("%e")), same(text("%e")));
  EXPECT_EQ(rewritten({rule}, text("%y, %m")), same(text("%y, %m")));
}

TEST(RuleSet, alternatives_and_views_between) {
  const Rule rule = {
      .name = "act",
      .search = {call("mul",
                      {any("x"), either({call("sigmoid", {any("x")}), call("tanh", {any("x")})})})},
      .build = [](Builder& b, const Match& m) -> Values { return {b.call1("silu", {m["x"]})}; }};
  for (const char* f : {"sigmoid", "tanh"})
    EXPECT_EQ(rewritten({rule}, body(x, fmt::format("  %s = {}(%x)\n  %y = mul(%x, %s)\n"
                                                    "  return %y\n",
                                                    f))),
              same(body(x, "  %y = silu(%x)\n  return %y\n")));
  const Rule views = {
      .name = "views",
      .search = {call("neg", {call("exp", {any("x")}).named("e").through({"view", "unsqueeze"})})
                     .named("y")},
      .when = [](const Match& m) { return m.graph().node(m.node("y")).inputs[0] != m["e"]; },
      .build = [](Builder& b, const Match& m) -> Values {
        return {b.view(b.neg(b.exp(m["x"])), b.type(m["y"]).shape)};
      }};
  EXPECT_EQ(rewritten({views}, body(x,
                                    "  %e = exp(%x)\n  %v = view(%e; size=[24])\n"
                                    "  %u = unsqueeze(%v; dim=0)\n  %y = neg(%u)\n  return %y\n")),
            same(body(x,
                      "  %exp = exp(%x)\n  %neg = neg(%exp)\n  %y = view(%neg; size=[1,24])\n"
                      "  return %y\n")));
}

TEST(RuleSet, also_inside_subgraphs) {
  const std::string out =
      rewritten({drop_double_neg()},
                "graph @yes(%a: input f32[4]) {\n  %n = neg(%a)\n  %m = neg(%n)\n  %e = exp(%m)\n"
                "  return %e\n}\n"
                "graph @no(%a: input f32[4]) {\n  %e = exp(%a)\n  return %e\n}\n"
                "graph @main(%p: input bool[], %x: input f32[4]) {\n"
                "  %y = cond(%p, [%x]; then=@yes, otherwise=@no)\n  return %y\n}\n");
  EXPECT_EQ(out.find("neg"), std::string::npos) << out;
}

TEST(RuleSet, broken_rules_are_named) {
  const auto broken = [](std::vector<Pattern> search) {
    return rewritten({{.name = "r",
                       .search = std::move(search),
                       .build = [](Builder&, const Match&) -> Values { return {}; }}},
                     body(x, "  return %x\n"));
  };
  EXPECT_EQ(broken({}), "rule r: it searches for nothing");
  EXPECT_EQ(broken({any("x")}), "rule r: what is searched for is no call");
  EXPECT_EQ(broken({call("ad", {any(), any()})}),
            "rule r: there is no operator 'ad', did you mean 'add'?");
  EXPECT_EQ(broken({call("neg", {any(), any()})}), "rule r: neg has 1 operands, not 2");
  EXPECT_EQ(broken({call("sum", {any()}, {{"dims", anything()}})}),
            "rule r: sum has no attribute 'dims'");
  EXPECT_EQ(broken({call("cat", {any()})}), "rule r: cat: operand 0 is a list");
  EXPECT_EQ(broken({call("neg", {any("a")}), call("exp", {any("b")})}),
            "rule r: search 2 shares no call and no named value with those before");
  EXPECT_EQ(broken({call("cat", {each(call("cat", {each(any())}))})}),
            "rule r: each() inside each()");
}

TEST(RuleSet, broken_builds_name_rule_and_node_and_change_nothing) {
  const std::string text = body(x, "  %y = exp(%x)\n  return %y\n");
  const auto built = [&](std::function<Values(Builder&, const Match&)> build) {
    return rewritten(
        {{.name = "r", .search = {call("exp", {any("x")}).named("y")}, .build = std::move(build)}},
        text);
  };
  EXPECT_EQ(built([](Builder&, const Match&) -> Values { return {}; }),
            "rule r at %y: it builds 0 values for 1 results");
  EXPECT_EQ(built([](Builder& b, const Match& m) -> Values { return {b.sum(m["x"], {0})}; }),
            "rule r at %y: it builds f32[6] for %y: f32[4,6]");
  EXPECT_EQ(built([](Builder& b, const Match& m) -> Values {
              return {b.mm(m["x"], m["x"])};
            }).substr(0, 15),
            "rule r at %y: m");
  EXPECT_EQ(built([](Builder& b, const Match& m) -> Values { return {b.neg(m["y"])}; }),
            "rule r at %y: '%neg = neg(%y) : f32[4,6]' reads %y, which it replaces");
  EXPECT_EQ(built([](Builder& b, const Match& m) -> Values { return {b.exp(m["x"])}; }),
            "rule r at %y: it still fits after 20 rewrites for each call: does another rule undo "
            "it?");
}

}  // namespace
}  // namespace cleave
