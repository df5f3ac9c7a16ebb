// Branches, loops, and names in them.
// tests: control_rules.cpp model_builder.cpp unread.cpp attributes.cpp
#include <set>

#include "test/export/exported.h"

namespace cleave::to_onnx {
namespace {

constexpr const char* program = R"(
graph @up(%a: input f32[2], %w: input f32[2]) {
  %r = mul(%a, %w)
  return %r
}
graph @same(%a: input f32[2], %w: input f32[2]) {
  return %a
}
graph @below(%n: input i64[], %a: input f32[2], %w: input f32[2]) {
  %f = lt(%n; other=3)
  return %f
}
graph @next(%n: input i64[], %a: input f32[2], %w: input f32[2]) {
  %m = add(%n; other=1)
  %r = sub(%a, %w)
  return %m, %r
}
graph @main(%p: input bool[], %n: input i64[], %x: input f32[2], %w: param f32[2]) {
  %y = cond(%p, [%x, %w]; then=@up, otherwise=@same) : f32[2]
  %k, %z = while_loop([%n, %y, %w]; condition=@below, body=@next) : i64[], f32[2]
  return %z, %k
})";

Array number(DType t, double v, std::vector<int64_t> shape = {}) {
  Array a(t, std::move(shape));
  for (int64_t k = 0; k < a.numel(); ++k) a.set(k, v);
  return a;
}

void add_outputs(const onnx::GraphProto& g, std::multiset<std::string>& names) {
  for (const onnx::ValueInfo& v : g.inputs) names.insert(v.name);
  for (const onnx::NodeProto& n : g.nodes) {
    names.insert(n.outputs.begin(), n.outputs.end());
    for (const onnx::Attribute& a : n.attributes)
      if (a.graph) add_outputs(*a.graph, names);
  }
}

TEST(ExportedControl, RunsAsTheGraph) {
  const Graph g = graph_of(program);
  const ExportedModel m = value_or_throw(export_onnx(g, registry()));
  for (const double p : {0.0, 1.0})
    for (const double n : {0.0, 2.0, 5.0}) {
      const std::map<std::string, Array> in = {{"p", number(DType::boolean, p)},
                                               {"n", number(DType::i64, n)},
                                               {"x", number(DType::f32, 4, {2})},
                                               {"w", number(DType::f32, 3, {2})}};
      const Result<Arrays> want = interpret(g, in), got = results_of(m.model, in);
      ASSERT_TRUE(want.ok()) << want.failure().message;
      ASSERT_TRUE(got.ok()) << got.failure().message;
      EXPECT_EQ((*got)[0].f, (*want)[0].f);
      EXPECT_EQ((*got)[1].i, (*want)[1].i);
    }
}

TEST(ExportedControl, EachNameIsMadeOnce) {
  const ExportedModel m = value_or_throw(export_onnx(graph_of(program), registry()));
  std::multiset<std::string> names;
  add_outputs(*m.model.graph, names);
  for (const std::string& name : names) EXPECT_EQ(names.count(name), 1u) << name;
}

TEST(ExportedControl, WhatABranchReadsStays) {
  const ExportedModel m = value_or_throw(export_onnx(graph_of(R"(
graph @a(%x: input f32[2]) {
  %r = exp(%x)
  return %r
}
graph @b(%x: input f32[2]) {
  %r = sin(%x)
  return %r
}
graph @main(%p: input bool[], %x: input f32[2]) {
  %t = tanh(%x)
  %u = cos(%x)
  %y = cond(%p, [%t]; then=@a, otherwise=@b)
  return %y
})"),
                                                     registry()));
  EXPECT_EQ(ops_of(m.model), (std::vector<std::string>{"Tanh", "If"}));
}

TEST(ExportedControl, DeadCallsOfBranchesAreNotLookedAt) {
  EXPECT_EQ(refusal_of(R"(
graph @a(%r: input i64[2]) {
  %n = rand(%r; size=[2], stream=1)
  %y = full(; size=[2], fill_value=2.0)
  return %y
}
graph @b(%r: input i64[2]) {
  %y = full(; size=[2], fill_value=1.0)
  return %y
}
graph @main(%p: input bool[], %r: input i64[2]) {
  %y = cond(%p, [%r]; then=@a, otherwise=@b)
  return %y
})"),
            "");
}

TEST(ExportedControl, CallsOfBranchesAreRefusedByName) {
  EXPECT_EQ(refusal_of(R"(
graph @a(%r: input i64[2]) {
  %y = rand(%r; size=[2], stream=1)
  return %y
}
graph @b(%r: input i64[2]) {
  %y = full(; size=[2], fill_value=1.0)
  return %y
}
graph @main(%p: input bool[], %r: rng_state i64[2]) {
  %y = cond(%p, [%r]; then=@a, otherwise=@b)
  return %y
})"),
            "1 kinds of calls can't be written as ONNX\n  1 x rand: draws random numbers");
}

}  // namespace
}  // namespace cleave::to_onnx
