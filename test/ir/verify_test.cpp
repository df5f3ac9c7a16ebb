// The verifier's rules V1 to V14 of doc/ir.md, each by a graph that breaks it and the exact
// message.
#include "test/ir/toy_text.h"

namespace cleave {
namespace {

struct Broken {
  Graph g;
  std::string message;
};

Graph graph_of(const std::string& head, const std::string& body) {
  return read(graph_text(head, body)).main;
}

Graph chain() {
  return graph_of("%x: input f32[2,3]", "  %a = exp(%x)\n  %b = sin(%a)\n  return %b\n");
}

TEST(Verify, a_good_graph_passes) { EXPECT_EQ(broken_rule(chain()), ""); }

TEST(Verify, V1_names) {
  Graph g = chain();
  g.set_name("a b");
  EXPECT_EQ(broken_rule(g), "@a b: V1: the graph's name holds more than A-Za-z0-9_.-/");
  g = chain();
  ASSERT_TRUE(g.rename(g.find("b"), "b c").ok());
  EXPECT_EQ(broken_rule(g),
            "@main: V1: the name %b c is taken or holds more than A-Za-z0-9_.-/\n"
            "  %b c = sin(%a) : f32[2,3]");
  g = Graph("main");
  ASSERT_TRUE(g.add_placeholder(Role::symint, "s.0", {}).ok());
  EXPECT_EQ(broken_rule(g),
            "@main: V1: a symint's name is letters, digits and _, and no literal\n"
            "  %s.0: symint i64[]");
}

TEST(Verify, V2_values_are_defined_before_they_are_used) {
  Graph g = chain();
  ASSERT_TRUE(g.reorder({g.value(g.find("b")).def, g.value(g.find("a")).def}).ok());
  EXPECT_EQ(broken_rule(g),
            "@main: V2: %a is used before it is defined, or was erased\n"
            "  %b = sin(%a) : f32[2,3]");
  g = chain();
  g.set_returns({});
  g.erase(g.value(g.find("b")).def);
  const ValueId a = g.find("a");
  g.erase(g.value(a).def);
  g.add_return({a, ReturnKind::result, {}});
  EXPECT_EQ(broken_rule(g), "@main: V2: %a is not defined, or was erased\n  return %a");
  g = graph_of("%x: input f32[2]", "  %a, %b = masked(%x)\n  return %a\n");
  g.set_returns({{g.find("b"), ReturnKind::result, {}}});
  EXPECT_EQ(broken_rule(g), "@main: V2: an unused result of type none is returned\n  return %b");
}

TEST(Verify, V3_types_are_what_the_operators_infer) {
  Graph g = graph_of("%x: input f32[2,3], %y: input f32[4]",
                     "  %a = exp(%x)\n  %b = sin(%a)\n  return %b\n");
  g.set_input(g.value(g.find("a")).def, 0, g.find("y"));
  EXPECT_EQ(broken_rule(g),
            "@main: V3: %a is recorded as f32[2,3], expected f32[4]\n  %a = exp(%y) : f32[2,3]");
  ASSERT_TRUE(g.refresh_types().ok());
  EXPECT_EQ(broken_rule(g), "");
  g = graph_of("%x: input f32[2,3], %y: input f32[3,2]", "  %a = mm(%x, %y)\n  return %a\n");
  g.set_input(g.value(g.find("a")).def, 1, g.find("x"));
  EXPECT_EQ(broken_rule(g),
            "@main: V3: mm: C2: 3 columns against 2 rows\n  %a = mm(%x, %x) : f32[2,2]");
}

TEST(Verify, V4_operands_fit_the_signature) {
  Graph g = chain();
  g.set_input(g.value(g.find("a")).def, 0, ValueId::none());
  EXPECT_EQ(broken_rule(g),
            "@main: V4: the operand 'self' is none, expected a value\n  %a = exp() : f32[2,3]");
  g = graph_of("%x: input f32[2]", "  %a = add(%x; other=1)\n  return %a\n");
  g.set_input(g.value(g.find("a")).def, 1, g.find("x"));
  EXPECT_EQ(broken_rule(g),
            "@main: V4: the operand 'other' and the number given for it disagree\n"
            "  %a = add(%x, %x; other=1) : f32[2]");
  g = graph_of("%x: input f32[2]", "  %m, %n = masked(%x)\n  %a = exp(%x)\n  return %a\n");
  g.set_input(g.value(g.find("a")).def, 0, g.find("n"));
  EXPECT_EQ(
      broken_rule(g),
      "@main: V4: the operand 'self' is an unused result of type none\n  %a = exp(%n) : f32[2]");
}

TEST(Verify, V5_types_keep_their_limits) {
  Graph g = chain();
  g.set_strides(g.find("a"), std::vector<Dim>{1});
  EXPECT_EQ(broken_rule(g),
            "@main: V5: f32[2,3]{1} has 1 strides for 2 dims\n  %a = exp(%x) : f32[2,3]{1}");
  g.set_strides(g.find("a"), std::vector<Dim>{1, -2});
  EXPECT_EQ(broken_rule(g),
            "@main: V5: stride -2 of f32[2,3]{1,-2} is outside [0, 2^60]\n"
            "  %a = exp(%x) : f32[2,3]{1,-2}");
}

TEST(Verify, V6_symbols_are_declared) {
  const std::string head = "%s0: symint range(2,8) hint(4), %x: input f32[s0]";
  Graph g = graph_of(head, "  return %x\n");
  g.filter_placeholders([](const Placeholder& p) { return p.role != Role::symint; });
  EXPECT_EQ(broken_rule(g),
            "@main: V6: the symbol 's0' of s0 is not declared, expected `%s0: symint`\n"
            "  %x: input f32[s0]");
  g = graph_of(head, "  %a = full(size=[s0*2], fill_value=1)\n  return %a\n");
  g.filter_placeholders([](const Placeholder&) { return false; });
  EXPECT_EQ(broken_rule(g),
            "@main: V6: the symbol 's0' of s0*2 is not declared, expected `%s0: symint`\n"
            "  %a = full(size=[s0*2], fill_value=1) : f32[s0*2]");
  g = graph_of(head, "  return %x\n");
  g.placeholder(0).sym.range.hi = 9;
  EXPECT_EQ(broken_rule(g),
            "@main: V6: the symint is not what the graph's sizes were inferred with\n"
            "  %s0: symint i64[]");
  g = Graph("main");
  ASSERT_TRUE(g.add_placeholder(Role::symint, "s0", {}, false, {{8, 2}, {}}).ok());
  EXPECT_EQ(broken_rule(g),
            "@main: V6: range(8,2), expected 0 <= lo <= hi <= 2^47\n  %s0: symint i64[]");
  g = Graph("main");
  ASSERT_TRUE(g.add_placeholder(Role::symint, "s0", {}, false, {{2, 8}, 1}).ok());
  EXPECT_EQ(broken_rule(g), "@main: V6: hint(1) is outside range(2,8)\n  %s0: symint i64[]");
  g = Graph("main");
  ASSERT_TRUE(g.add_placeholder(Role::symint, "s0", {}).ok());
  const Dim size = Dim::floordiv(8, Dim::symbol("s0"));
  ASSERT_TRUE(g.add_placeholder(Role::input, "x", Type(DType::f32, {size})).ok());
  EXPECT_EQ(broken_rule(g),
            "@main: V6: the divisor s0 of floordiv(8,s0) may be 0, expected at least 1\n"
            "  %x: input f32[floordiv(8,s0)]");
}

TEST(Verify, V7_roles) {
  const std::pair<const char*, const char*> cases[] = {
      {"%r: rng_state f32[2]", "an rng_state is f32[2], expected i64[2]\n  %r: rng_state f32[2]"},
      {"%r: rng_state i64[3]", "an rng_state is i64[3], expected i64[2]\n  %r: rng_state i64[3]"},
      {"%t: tangent i64[2]",
       "a tangent is i64[2], expected a floating dtype\n  %t: tangent i64[2]"},
      {"%i: input i64[2] grad",
       "the gradient of input i64[2] is asked for, expected a floating param, buffer, const, input "
       "or saved\n"
       "  %i: input i64[2]"},
      {"%t: tangent f32[2] grad",
       "the gradient of tangent f32[2] is asked for, expected a floating param, buffer, const, "
       "input or saved\n"
       "  %t: tangent f32[2]"},
  };
  for (const auto& [head, message] : cases)
    EXPECT_EQ(broken_rule(graph_of(head, "  return\n")), std::string("@main: V7: ") + message);
  Graph g = graph_of("%x: input f32[]", "  return\n");
  g.placeholder(0).role = Role::symint;
  EXPECT_EQ(broken_rule(g).substr(0, 9), "@main: V6");
  g = Graph("main");
  ASSERT_TRUE(g.add_placeholder(Role::input, "x", Type::none()).ok());
  EXPECT_EQ(broken_rule(g), "@main: V7: a placeholder of type none\n  %x: input none");
}

TEST(Verify, V8_updates) {
  const std::string head =
      "%w: param f32[2], %c: const f32[2], %b: buffer f32[3], %x: input f32[2]";
  EXPECT_EQ(broken_rule(graph_of(head, "  return %x -> %w, %w -> %x\n")), "");
  EXPECT_EQ(broken_rule(graph_of(head, "  return %x -> %c\n")),
            "@main: V8: a const is updated, expected a param, buffer, input or rng_state\n"
            "  return %x -> %c");
  EXPECT_EQ(broken_rule(graph_of(head, "  return %x -> %b\n")),
            "@main: V8: %x is f32[2], expected f32[3] as %b\n  return %x -> %b");
  Graph g = chain();
  g.set_returns({{g.find("x"), ReturnKind::update, g.find("a")}});
  EXPECT_EQ(broken_rule(g), "@main: V8: %a is no placeholder\n  return %x -> %a");
}

TEST(Verify, V9_gradients) {
  const std::string head = "%w: param f32[2] grad, %x: input f32[2], %y: input f16[2]";
  EXPECT_EQ(broken_rule(graph_of(head, "  return %x -> grad %w\n")), "");
  EXPECT_EQ(broken_rule(graph_of(head, "  return %w -> grad %x\n")),
            "@main: V9: %x is not marked grad\n  return %w -> grad %x");
  EXPECT_EQ(broken_rule(graph_of(head, "  return %y -> grad %w\n")),
            "@main: V9: %y is f16[2], expected f32[2] as %w\n  return %y -> grad %w");
}

TEST(Verify, V10_once_each) {
  const std::string head = "%w: param f32[2] grad, %x: input f32[2]";
  EXPECT_EQ(broken_rule(graph_of(head, "  return %x -> %w, %x -> grad %w\n")), "");
  EXPECT_EQ(broken_rule(graph_of(head, "  return %x -> %w, %w -> %w\n")),
            "@main: V10: %w is updated twice, expected once\n  return %w -> %w");
  EXPECT_EQ(broken_rule(graph_of(head, "  return %x -> grad %w, %x -> grad %w\n")),
            "@main: V10: %w is given a gradient twice, expected once\n  return %x -> grad %w");
}

TEST(Verify, V11_tangents_belong_to_results_in_order) {
  const std::string head =
      "%w: param f32[2] grad, %x: input f32[3], %i: input i64[2], %t1: tangent f32[3], "
      "%t2: tangent f32[2]";
  // the integer and the update have no tangent
  EXPECT_EQ(broken_rule(graph_of(head, "  return %i, %x, %x -> %x, %w, %t2 -> grad %w\n")), "");
  const char* missing =
      "@main: V11: no differentiable result is left for the tangent, expected the results' types "
      "in "
      "their order\n  %t2: tangent f32[2]";
  EXPECT_EQ(broken_rule(graph_of(head, "  return %x, %t2 -> grad %w\n")), missing);
  EXPECT_EQ(broken_rule(graph_of(head, "  return %w, %x, %t2 -> grad %w\n")), missing);
  // a statistic that its operator marks as not differentiable takes one where nothing else does
  const std::string norm = "  %y, %m, %r = native_layer_norm(%w; normalized_shape=[2], eps=1.0)\n";
  const std::string one = "%w: param f32[2] grad, %t: tangent f32[1]",
                    two = one + ", %u: tangent f32[1]";
  EXPECT_EQ(broken_rule(graph_of(one, norm + "  return %m, %w -> grad %w\n")), "");
  EXPECT_EQ(broken_rule(graph_of(two, norm + "  return %m, %r, %w -> grad %w\n")), "");
  EXPECT_EQ(broken_rule(graph_of(two, norm + "  return %m, %w -> grad %w\n")),
            "@main: V11: no differentiable result is left for the tangent, expected the results' "
            "types in their order\n  %t: tangent f32[1]");
  // a backward half returns gradients as results
  EXPECT_EQ(broken_rule(graph_of("%s: saved f32[2], %t: tangent f32[3]", "  return %s\n")), "");
}

TEST(Verify, V12_subgraphs) {
  const std::string text =
      "graph @g(%p: input f32[2]) {\n  %q = exp(%p)\n  return %q\n}\n"
      "graph @main(%c: input bool[], %x: input f32[2]) {\n"
      "  %y = cond(%c, [%x]; then=@g, otherwise=@g)\n  return %y\n}\n";
  Program p = read(text);
  EXPECT_TRUE(verify(p).ok());
  p.main.set_name("g");
  EXPECT_EQ(verify(p).failure().message,
            "@g: V12: two graphs bear this name, expected different names");
  EXPECT_EQ(broken_rule(p.main), "@g: V12: two graphs bear this name, expected different names");

  // rules are checked in subgraphs too
  auto sub = std::make_shared<Graph>(chain());
  sub->set_name("sub");
  sub->set_strides(sub->find("a"), std::vector<Dim>{1});
  Graph g("main");
  NodeSpec spec;
  const ValueId x = *g.add_placeholder(Role::input, "x", Type(DType::f32, {2, 3}));
  spec.op = toys().find("cond");
  spec.inputs = {x, x};
  spec.list_size = 1;
  spec.attrs.set(2, AttrValue(GraphRef(sub)));
  spec.attrs.set(3, AttrValue(GraphRef(sub)));
  ASSERT_TRUE(g.add_node(spec).ok());
  EXPECT_EQ(broken_rule(g),
            "@sub: V5: f32[2,3]{1} has 1 strides for 2 dims\n  %a = exp(%x) : f32[2,3]{1}");

  g = Graph("main");
  spec.inputs = {*g.add_placeholder(Role::input, "x", Type(DType::f32, {2, 3})), x};
  spec.attrs.set(3, AttrValue(GraphRef()));
  ASSERT_TRUE(g.add_node(spec).ok());
  EXPECT_EQ(broken_rule(g), "@main: V12: an attribute of %cond refers to no graph");
}

TEST(Verify, V12_subgraphs_nest_64_levels) {
  GraphRef inner =
      std::make_shared<const Graph>(read("graph @g1(%p: input f32[2]) {\n  return %p\n}\n").main);
  Graph g("g1");
  for (int level = 2; level <= 65; ++level) {
    EXPECT_EQ(broken_rule(*inner), "");
    g = Graph(fmt::format("g{}", level));
    const ValueId x = *g.add_placeholder(Role::input, "x", Type(DType::f32, {2}));
    NodeSpec spec;
    spec.op = toys().find("cond");
    spec.inputs = {x, x};
    spec.list_size = 1;
    spec.attrs.set(2, AttrValue(inner));
    spec.attrs.set(3, AttrValue(inner));
    const NodeId n = *g.add_node(spec);
    g.add_return({g.node(n).out(0), ReturnKind::result, {}});
    inner = std::make_shared<const Graph>(g);
  }
  EXPECT_EQ(broken_rule(*inner), "@g1: V12: more than 64 levels of subgraphs");
}

TEST(Verify, V13_sources) {
  Graph g = chain();
  g.set_loc(g.first_node(), {7, 1});
  EXPECT_EQ(broken_rule(g),
            "@main: V13: the source's file 7 is none of the graph's\n  %a = exp(%x) : f32[2,3]");
  g.set_loc(g.first_node(), {g.file_id("a\"b"), 1});
  EXPECT_EQ(broken_rule(g),
            "@main: V13: the source's file name holds a quote or a control character\n"
            "  %a = exp(%x) : f32[2,3]  # \"a\"b\":1");
}

TEST(Verify, V14_what_is_written_does_not_lie_over_itself) {
  Graph g = chain();
  g.set_strides(g.find("a"), std::vector<Dim>{0, 1});
  EXPECT_EQ(broken_rule(g),
            "@main: V14: %a is written, and elements of f32[2,3]{0,1} lie in one place, expected "
            "strides that keep them apart; what is only read may overlap\n"
            "  %a = exp(%x) : f32[2,3]{0,1}");
  const auto updated = [](const char* type) {
    return broken_rule(read(fmt::format("graph @main(%b: buffer {}) {{\n  %y = exp(%b)\n"
                                        "  return %y -> %b\n}}\n",
                                        type))
                           .main);
  };
  EXPECT_EQ(updated("f32[2,3]{1,2}"), "");
  EXPECT_EQ(updated("f32[2,3]{3,2}"), "");  // 0 2 4 and 3 5 7
  EXPECT_EQ(updated("f32[1,3]{0,1}"), "");
  EXPECT_EQ(updated("f32[0,3]{0,0}"), "");
  EXPECT_EQ(updated("f32[2,3]{2,1}"),
            "@main: V14: %b is written, and elements of f32[2,3]{2,1} lie in one place, expected "
            "strides that keep them apart; what is only read may overlap\n  return %y -> %b");
  // Allowed for a placeholder that is only read, or returned unchanged.
  EXPECT_EQ(broken_rule(read("graph @main(%b: buffer f32[2,3]{0,1}) {\n  %y = exp(%b)\n"
                             "  return %y, %b\n}\n")
                            .main),
            "");
}

// ---- what was edited

std::vector<std::string> edited_since(const Graph& g, int64_t since) {
  std::vector<std::string> names;
  for (const NodeId n : g.order())
    if (g.node(n).edited > since) names.push_back(g.name(g.node(n).first_output));
  return names;
}

TEST(VerifyEdited, each_edit_marks_the_nodes_that_it_concerns) {
  using Names = std::vector<std::string>;
  const Graph made = graph_of("%x: input f32[2,3], %y: input f32[4]",
                              "  %a = exp(%x)\n  %b = sin(%a)\n  %c = exp(%x)\n  return %b\n");
  const int64_t since = made.edits();
  const auto def = [&](const char* name) { return made.value(made.find(name)).def; };
  const auto after = [&](auto edit) {
    Graph g = made;
    edit(g);
    return edited_since(g, since);
  };
  EXPECT_EQ(after([](Graph&) {}), Names{});
  EXPECT_EQ(after([&](Graph& g) { g.set_input(def("b"), 0, g.find("c")); }), Names{"b"});
  EXPECT_EQ(after([&](Graph& g) { g.set_strides(g.find("a"), std::vector<Dim>{1, 2}); }),
            Names{"a"});
  EXPECT_EQ(after([&](Graph& g) { ASSERT_TRUE(g.rename(g.find("c"), "d").ok()); }), Names{"d"});
  EXPECT_EQ(after([&](Graph& g) { g.erase(def("c")); }), Names{});
  EXPECT_EQ(after([&](Graph& g) { ASSERT_TRUE(g.reorder({def("c"), def("a"), def("b")}).ok()); }),
            Names{});
  EXPECT_EQ(
      after([&](Graph& g) { g.filter_placeholders([](const Placeholder&) { return true; }); }),
      (Names{"a", "b", "c"}));
  EXPECT_EQ(after([&](Graph& g) {  // and the readers of a type that changed
              g.set_input(def("a"), 0, g.find("y"));
              ASSERT_TRUE(g.refresh_types().ok());
            }),
            (Names{"a", "b"}));
  EXPECT_EQ(after([&](Graph& g) {
              ASSERT_TRUE(g.add_node({.op = toys().find("exp"), .inputs = {g.find("y")}}).ok());
            }),
            Names{"exp"});
}

TEST(VerifyEdited, looks_at_those_and_at_the_order_of_all) {
  Graph g = graph_of("%x: input f32[2,3], %y: input f32[4]",
                     "  %a = exp(%x)\n  %b = sin(%a)\n  return %b\n");
  const int64_t since = g.edits();
  g.set_input(g.value(g.find("a")).def, 0, g.find("y"));
  EXPECT_EQ(verify_edited(g, since).failure().message, broken_rule(g));
  EXPECT_NE(broken_rule(g), "");
  EXPECT_TRUE(verify_edited(g, g.edits()).ok());
  g = chain();
  ASSERT_TRUE(g.reorder({g.value(g.find("b")).def, g.value(g.find("a")).def}).ok());
  EXPECT_EQ(verify_edited(g, g.edits()).failure().message, broken_rule(g));
}

}  // namespace
}  // namespace cleave
