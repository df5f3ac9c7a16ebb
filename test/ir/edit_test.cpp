// Dead code, common subexpressions, order, copies, extraction.
// tests: edit_copy.cpp edit_sort.cpp
#include "ir/edit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "test/ir/toy_text.h"

namespace cleave {
namespace {

// Applies `edit` to a graph with this body and %x: f32[2,3] and %r: rng_state.
struct Edited {
  int64_t count;
  std::string body;
};

template <class Edit>
Edited edited(const std::string& body, Edit edit) {
  Graph g = read(graph_text("%x: input f32[2,3], %r: rng_state i64[2]", body)).main;
  const int64_t count = edit(g);
  EXPECT_EQ(broken_rule(g), "");
  const std::string text = print(g);
  EXPECT_EQ(difference(read(text).main, g), "");
  const size_t begin = text.find('\n') + 1;
  return {count, text.substr(begin, text.size() - 2 - begin)};
}

// ---- dead code

TEST(DeadCode, keeps_what_returns_and_effects_need) {
  const Edited e = edited(
      "  %a = exp(%x)\n  %dead1 = sin(%a)\n  %b = cos(%a)\n  %c = sin(%b)\n  print_line(%c; "
      "text=\"c\")\n  %dead2 = add(%dead1, %b)\n  %rng = rng_next(%r)\n  return %b, %rng -> %r\n",
      eliminate_dead_code);
  EXPECT_EQ(e.count, 2);
  EXPECT_EQ(e.body,
            "  %a = exp(%x) : f32[2,3]\n  %b = cos(%a) : f32[2,3]\n  %c = sin(%b) : f32[2,3]\n"
            "  print_line(%c; text=\"c\")\n  %rng = rng_next(%r) : i64[2]\n"
            "  return %b, %rng -> %r\n");
}

TEST(DeadCode, a_call_lives_while_one_result_does) {
  const Edited e =
      edited("  %a, %b = split_with_sizes(%x; split_sizes=[1,2], dim=1)\n  return %b\n",
             eliminate_dead_code);
  EXPECT_EQ(e.count, 0);
}

TEST(DeadCode, random_calls_are_dead_like_others) {
  EXPECT_EQ(edited("  %a = rand_like(%x, %r; stream=1)\n  return %x\n", eliminate_dead_code).count,
            1);
}

TEST(DeadCode, does_not_depend_on_the_order) {
  Graph g = read(graph_text("%x: input f32[2]",
                            "  %a = exp(%x)\n  %b = sin(%a)\n  %c = cos(%x)\n  %d = exp(%c)\n"
                            "  return %b\n"))
                .main;
  std::vector<NodeId> order = g.order();
  std::reverse(order.begin(), order.end());
  ASSERT_TRUE(g.reorder(order).ok());
  EXPECT_EQ(eliminate_dead_code(g), 2);
  EXPECT_EQ(g.node_count(), 2u);
  EXPECT_TRUE(g.find("b").valid());
  EXPECT_FALSE(g.find("d").valid());
  EXPECT_EQ(g.use_count(g.find("x")), 1u);
}

// ---- common subexpressions: nodes removed, and none by a second pass

struct Fact {
  const char* what;
  const char* body;
  int64_t removed;
};

const Fact facts[] = {
    {"a=x+1; b=x+a; d=x+x; b+d",
     "  %a = add(%x; other=1)\n  %b = add(%x, %a)\n  %d = add(%x, %x)\n  %e = add(%b, %d)\n"
     "  return %e\n",
     0},
    {"rand_like(x)+rand_like(x)",
     "  %a = rand_like(%x, %r; stream=1)\n  %b = rand_like(%x, %r; stream=1)\n"
     "  %c = add(%a, %b)\n  return %c\n",
     0},
    {"size-1 (int) and size-1.0 (float)",
     "  %a = sub(%x; other=1)\n  %b = sub(%x; other=1.0)\n  %c = add(%a, %b)\n  return %c\n", 0},
    {"sum(x,1)+sum(x,1)+sum(x)+sum(x)",
     "  %a = sum(%x; dim=[1])\n  %b = sum(%x; dim=[1])\n  %c = sum(%x)\n  %d = sum(%x)\n"
     "  %e = add(%a, %b)\n  %f = add(%e, %c)\n  %g = add(%f, %d)\n  return %g\n",
     2},
    {"a=cos x; b=cos x; (a+a)+(b+b)",
     "  %a = cos(%x)\n  %b = cos(%x)\n  %c = add(%a, %a)\n  %d = add(%b, %b)\n  %e = add(%c, %d)\n"
     "  return %e\n",
     2},
    {"a,b=sin(cos x); (a+a)+(b+b)",
     "  %c1 = cos(%x)\n  %a = sin(%c1)\n  %c2 = cos(%x)\n  %b = sin(%c2)\n  %c = add(%a, %a)\n"
     "  %d = add(%b, %b)\n  %e = add(%c, %d)\n  return %e\n",
     3},
    {"sum(x,1); sum(x,1,keepdim=False) twice; sum(x,1)",
     "  %a = sum(%x; dim=[1])\n  %b = sum(%x; dim=[1], keepdim=false)\n"
     "  %c = sum(%x; dim=[1], keepdim=false)\n  %d = sum(%x; dim=[1])\n  return %a, %b, %c, %d\n",
     3},
    {"the same with keepdim=True",
     "  %a = sum(%x; dim=[1])\n  %b = sum(%x; dim=[1], keepdim=true)\n"
     "  %c = sum(%x; dim=[1], keepdim=true)\n  %d = sum(%x; dim=[1])\n  return %a, %b, %c, %d\n",
     2},
    {"cat(x,x)+cat(x,x)",
     "  %a = cat([%x, %x])\n  %b = cat([%x, %x])\n  %c = add(%a, %b)\n  return %c\n", 1},
    {"ones_like(x)+ones_like(x)",
     "  %a = ones_like(%x)\n  %b = ones_like(%x)\n  %c = add(%a, %b)\n  return %c\n", 1},
    {"different tags stay apart",
     "  %a = cos(%x) !recompute(must_save)\n  %b = cos(%x)\n  %c = cos(%x) !recompute(must_save)\n"
     "  return %a, %b, %c\n",
     1},
    {"different fixed strides stay apart",
     "  %a = cos(%x) : f32[2,3]{1,2}\n  %b = cos(%x)\n  return %a, %b\n", 0},
    {"effects stay", "  print_line(%x; text=\"a\")\n  print_line(%x; text=\"a\")\n  return\n", 0},
    {"several results",
     "  %a, %b = split_with_sizes(%x; split_sizes=[1,2], dim=1)\n"
     "  %c, %d = split_with_sizes(%x; split_sizes=[1,2], dim=1)\n  %e = mul(%b, %d)\n"
     "  return %a, %c, %e\n",
     1},
    {"lists of different lengths",
     "  %a = index(%x, [none, none])\n  %b = index(%x, [none])\n  return %a, %b\n", 0},
    {"0.0 and -0.0 differ, nan equals itself",
     "  %a = add(%x; other=0.0)\n  %b = add(%x; other=-0.0)\n  %c = add(%x; other=nan)\n"
     "  %d = add(%x; other=nan)\n  return %a, %b, %c, %d\n",
     1},
};

TEST(CommonSubexpressions, facts) {
  for (const Fact& f : facts) {
    EXPECT_EQ(edited(f.body,
                     [](Graph& g) {
                       const int64_t removed = eliminate_common_subexpressions(g);
                       EXPECT_EQ(eliminate_common_subexpressions(g), 0);
                       return removed;
                     })
                  .count,
              f.removed)
        << f.what;
  }
}

TEST(CommonSubexpressions, the_first_name_survives_and_returns_follow) {
  const Edited e = edited(
      "  %a = cos(%x) # m.py:1\n  %b = cos(%x) # m.py:2\n  %c = sin(%b)\n  %d = sin(%a)\n"
      "  return %b, %d, %d -> %x\n",
      [](Graph& g) { return eliminate_common_subexpressions(g); });
  EXPECT_EQ(e.count, 2);
  EXPECT_EQ(e.body,
            "  %a = cos(%x) : f32[2,3]  # m.py:1\n  %c = sin(%a) : f32[2,3]\n"
            "  return %a, %c, %c -> %x\n");
}

TEST(RepeatedCalls, are_those_of_equal_operands_or_repeated_ones) {
  const Graph g = read(graph_text("%x: input f32[2]",
                                  "  %a = exp(%x) !recompute(must_save, ac=1)\n  %b = sin(%a)\n"
                                  "  %c = exp(%x)\n  %d = sin(%c)\n  %e = sin(%x)\n"
                                  "  %f = add(%a; other=1)\n  %g = add(%c; other=2)\n"
                                  "  %h = add(%d; other=1)\n  %i = add(%b; other=1)\n"
                                  "  return %d, %e, %f, %g, %h, %i\n"))
                      .main;
  const std::vector<bool> repeated = repeated_calls(g);
  std::string names;
  for (const NodeId n : g.order())
    if (repeated[n.v]) names += g.name(g.node(n).first_output);
  EXPECT_EQ(names, "cdi");
}

// ---- order

std::string order_of(const Graph& g) {
  std::string out;
  for (NodeId n : g.order()) out += (out.empty() ? "" : " ") + g.name(g.node(n).first_output);
  return out;
}

Graph six() {
  return read(graph_text("%x: input f32[2]",
                         "  %a = exp(%x)\n  %b = sin(%x)\n  %c = add(%a, %b)\n  %d = cos(%x)\n"
                         "  %e = add(%c, %d)\n  %f = exp(%b)\n  return %e, %f\n"))
      .main;
}

void put(Graph& g, const std::string& names) {
  std::vector<NodeId> order;
  for (char c : names) order.push_back(g.value(g.find(std::string(1, c))).def);
  ASSERT_TRUE(g.reorder(order).ok());
}

TEST(Sort, is_stable) {
  const std::pair<const char*, const char*> cases[] = {
      {"abcdef", "a b c d e f"},  // a sorted graph stays
      {"badfce", "b a d f c e"},
      {"cabdef", "a b c d e f"},  // operands move to just before their user, as they stood
      {"cbadef", "b a c d e f"},
      {"abecdf", "a b c d e f"},
      {"fedcba", "b f d a c e"},  // e needs d c; c needs b a; b is there
  };
  for (const auto& [before, after] : cases) {
    Graph g = six();
    put(g, before);
    ASSERT_TRUE(sort_topologically(g).ok());
    EXPECT_EQ(order_of(g), after) << before;
    EXPECT_EQ(broken_rule(g), "") << before;
  }
}

TEST(Sort, names_a_cycle) {
  Graph g = six();
  g.set_input(g.value(g.find("a")).def, 0, g.find("e"));
  const Status s = sort_topologically(g);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.failure().message,
            "@main: no order puts operands before their users: %a <- %e <- %c <- %a");
  g = six();
  g.set_input(g.value(g.find("f")).def, 0, g.find("f"));
  EXPECT_EQ(sort_topologically(g).failure().message,
            "@main: no order puts operands before their users: %f <- %f");
}

TEST(Sort, a_chain_of_100000_needs_no_stack) {
  Graph g("main");
  ValueId v = *g.add_placeholder(Role::input, "x", Type(DType::f32, {2}));
  for (int i = 0; i < 100000; ++i) {
    NodeSpec spec;
    spec.op = toys().find("exp");
    spec.inputs = {v};
    v = g.node(*g.add_node(std::move(spec))).out(0);
  }
  const std::vector<NodeId> order = g.order();
  ASSERT_TRUE(g.reorder({order.rbegin(), order.rend()}).ok());
  ASSERT_TRUE(sort_topologically(g).ok());
  EXPECT_EQ(g.order(), order);
}

// A random graph: each node adds two earlier values, chosen by the numbers.
Graph random_graph(const std::vector<uint8_t>& choices) {
  Graph g("main");
  std::vector<ValueId> values{*g.add_placeholder(Role::input, "x", Type(DType::f32, {2}))};
  for (size_t i = 0; i + 1 < choices.size(); i += 2) {
    NodeSpec spec;
    spec.op = toys().find("add");
    spec.inputs = {values[choices[i] % values.size()], values[choices[i + 1] % values.size()]};
    values.push_back(g.node(*g.add_node(std::move(spec))).out(0));
  }
  g.add_return({values.back(), ReturnKind::result, {}});
  return g;
}

RC_GTEST_PROP(Sort, any_order_becomes_one_that_verifies, (const std::vector<uint8_t>& choices)) {
  Graph g = random_graph(choices);
  std::vector<NodeId> order = g.order();
  for (size_t i = 0; i + 1 < order.size(); ++i)
    std::swap(order[i], order[i + choices[i] % (order.size() - i)]);
  RC_ASSERT(g.reorder(order).ok());
  RC_ASSERT(sort_topologically(g).ok());
  RC_ASSERT(verify(g).ok());
  const std::vector<NodeId> sorted = g.order();
  RC_ASSERT(sort_topologically(g).ok());
  RC_ASSERT(g.order() == sorted);
}

RC_GTEST_PROP(Edit, print_and_parse_after_edits, (const std::vector<uint8_t>& choices)) {
  Graph g = random_graph(choices);
  eliminate_common_subexpressions(g);
  RC_ASSERT(eliminate_common_subexpressions(g) == 0);
  eliminate_dead_code(g);
  RC_ASSERT(eliminate_dead_code(g) == 0);
  RC_ASSERT(verify(g).ok());
  const auto p = parse(print(g), "t.clv", toys());
  RC_ASSERT(p.ok());
  RC_ASSERT(difference(p->main, g) == "");
}

// ---- copies

TEST(Copy, nodes_bring_their_names_sources_tags_and_strides) {
  const Graph from =
      read(graph_text("%x: input f32[2,3]",
                      "  %a = exp(%x) !recompute(must_save) : f32[2,3]{1,2}  # m.cpp:3\n"
                      "  %b, %c = split_with_sizes(%a; split_sizes=[1,2], dim=1)\n"
                      "  return %b\n"))
          .main;
  Graph to("other");
  to.file_id("z.cpp");
  std::unordered_map<uint32_t, ValueId> map;
  map[from.find("x").v] = *to.add_placeholder(Role::saved, "a", Type(DType::f32, {2, 3}));
  ASSERT_TRUE(copy_nodes(from, from.order(), to, map).ok());
  to.add_return({map.at(from.find("c").v), ReturnKind::result, {}});
  EXPECT_EQ(print(to),
            "graph @other(%a: saved f32[2,3]) {\n"
            "  %a_1 = exp(%a) !recompute(must_save) : f32[2,3]{1,2}  # m.cpp:3\n"
            "  %b, %c = split_with_sizes(%a_1; split_sizes=[1,2], dim=1) : f32[2,1], f32[2,2]\n"
            "  return %c\n}\n");
}

TEST(Copy, names_the_operand_that_is_missing) {
  const Graph from = six();
  Graph to("other");
  std::unordered_map<uint32_t, ValueId> map;
  EXPECT_EQ(copy_nodes(from, {from.value(from.find("c")).def}, to, map).failure().message,
            "@main: %c is copied without its operand %a");
}

TEST(Copy, changed_names_of_one_node_stay_apart) {
  const Graph from = read(graph_text("%x: input f32[2,3]",
                                     "  %a, %a_1 = split_with_sizes(%x; split_sizes=[1,2], dim=1)\n"
                                     "  return %a\n"))
                         .main;
  Graph to("other");
  std::unordered_map<uint32_t, ValueId> map;
  map[from.find("x").v] = *to.add_placeholder(Role::saved, "a", Type(DType::f32, {2, 3}));
  ASSERT_TRUE(copy_nodes(from, from.order(), to, map).ok());
  EXPECT_EQ(broken_rule(to), "");
}

TEST(Extract, takes_what_the_outputs_need) {
  const Graph g =
      read(graph_text(
               "%s0: symint range(2,8), %s1: symint, %w: param f32[s0*2] grad, %x: input f32[s0*2]",
               "  %a = add(%w, %x)\n  %dead = exp(%a)\n  %b = half(%a)\n  %c = sin(%b)\n  return "
               "%c\n"))
          .main;
  const auto piece = extract_subgraph(g, "piece", {g.find("a"), g.find("w")},
                                      {g.find("c"), g.find("w")}, Role::saved);
  ASSERT_TRUE(piece.ok()) << piece.failure().message;
  EXPECT_EQ(
      print(*piece),
      "graph @piece(%s0: symint range(2,8), %a: saved f32[s0*2], %w: param f32[s0*2] grad) {\n"
      "  %b = half(%a) : f32[s0]\n"
      "  %c = sin(%b) : f32[s0]\n"
      "  return %c, %w\n}\n");
  EXPECT_EQ(broken_rule(*piece), "");
}

TEST(Extract, names_what_is_missing) {
  const Graph g = six();
  const auto piece = extract_subgraph(g, "piece", {g.find("a")}, {g.find("c")}, Role::input);
  ASSERT_FALSE(piece.ok());
  EXPECT_EQ(piece.failure().message, "@main: %c needs %x, which is not among the inputs");
}

// ---- types after an edit

TEST(RefreshTypes, only_what_changed_is_inferred_again) {
  Graph g = read(graph_text("%x: input f32[2,3], %y: input f32[4,3], %z: input f32[2,3]",
                            "  %a = exp(%x)\n  %b = sin(%x)\n  %c = sum(%a; dim=[0])\n"
                            "  %d = exp(%c)\n  %e = cos(%b)\n  return %d, %e\n"))
                .main;
  const int64_t made = g.infer_count();
  EXPECT_EQ(made, 5);
  const NodeId a = g.value(g.find("a")).def;
  g.set_input(a, 0, g.find("z"));  // the same type: nothing to do
  ASSERT_TRUE(g.refresh_types().ok());
  EXPECT_EQ(g.infer_count(), made);
  g.set_input(a, 0, g.find("y"));  // a and c; c keeps its type, so d is not reached
  ASSERT_TRUE(g.refresh_types().ok());
  EXPECT_EQ(g.infer_count(), made + 2);
  EXPECT_EQ(g.type(g.find("a")).text(), "f32[4,3]");
  EXPECT_EQ(g.type(g.find("c")).text(), "f32[3]");
  ASSERT_TRUE(g.refresh_types().ok());
  EXPECT_EQ(g.infer_count(), made + 2);
  EXPECT_EQ(broken_rule(g), "");
}

TEST(RefreshTypes, a_failure_leaves_the_rest_stale) {
  Graph g = read(graph_text("%x: input f32[2,3], %y: input f32[4,3], %m: input f32[3,2]",
                            "  %a = exp(%x)\n  %b = add(%a, %x)\n  %c = exp(%b)\n  return %c\n"))
                .main;
  const NodeId a = g.value(g.find("a")).def;
  g.set_input(a, 0, g.find("y"));
  for (int time = 0; time < 2; ++time) {
    const Status s = g.refresh_types();
    ASSERT_FALSE(s.ok());
    EXPECT_EQ(s.failure().message, "add: C1: f32[4,3] and f32[2,3] differ, expected one shape");
  }
  g.set_input(g.value(g.find("b")).def, 1, g.find("y"));
  ASSERT_TRUE(g.refresh_types().ok());
  EXPECT_EQ(g.type(g.find("c")).text(), "f32[4,3]");
}

TEST(RefreshTypes, fixed_strides_stay_with_the_type) {
  Graph g = read(graph_text("%x: input f32[2,3]{1,2}, %z: input f32[2,3], %y: input f32[4,3]",
                            "  %a = exp(%x) : f32[2,3]{1,2}\n  return %a\n"))
                .main;
  const NodeId a = g.value(g.find("a")).def;
  g.set_input(a, 0, g.find("z"));
  ASSERT_TRUE(g.refresh_types().ok());
  EXPECT_EQ(g.type(g.find("a")).text(), "f32[2,3]{1,2}");
  g.set_input(a, 0, g.find("y"));
  ASSERT_TRUE(g.refresh_types().ok());
  EXPECT_EQ(g.type(g.find("a")).text(), "f32[4,3]");
}

// ---- placeholders

TEST(Placeholders, one_that_was_removed_is_none) {
  Graph g =
      read(graph_text("%x: input f32[2,3], %y: input f32[2,3]", "  %a = exp(%y)\n  return %a\n"))
          .main;
  const ValueId x = g.find("x"), y = g.find("y"), a = g.find("a");
  g.filter_placeholders([&](const Placeholder& p) { return p.value == y; });
  EXPECT_EQ(g.placeholder_of(x), nullptr);
  ASSERT_NE(g.placeholder_of(y), nullptr);
  EXPECT_EQ(g.placeholder_of(y)->value, y);
  EXPECT_EQ(g.placeholder_of(a), nullptr);
}

}  // namespace
}  // namespace cleave
