// Sizes that vary, as nodes.
#include <algorithm>

#include "test/export/exported.h"

namespace cleave::to_onnx {
namespace {

Array counted(std::vector<int64_t> shape) {
  Array a(DType::f32, std::move(shape));
  for (size_t k = 0; k < a.f.size(); ++k) a.f[k] = static_cast<double>(k);
  return a;
}

// The results for these inputs are those of the graph.
void expect_same(const std::string& text, const std::map<std::string, Array>& inputs) {
  const Graph g = graph_of(text);
  const Result<ExportedModel> m = export_onnx(g, registry());
  ASSERT_TRUE(m.ok()) << m.failure().message;
  const Result<Arrays> want = interpret(g, inputs), got = results_of(m->model, inputs);
  ASSERT_TRUE(want.ok()) << want.failure().message;
  ASSERT_TRUE(got.ok()) << got.failure().message;
  for (size_t k = 0; k < want->size(); ++k) {
    EXPECT_EQ((*got)[k].shape, (*want)[k].shape) << k;
    EXPECT_EQ((*got)[k].f, (*want)[k].f) << k;
    EXPECT_EQ((*got)[k].i, (*want)[k].i) << k;
  }
}

TEST(ExportedSizes, OfReshapesAndParts) {
  const char* text = R"(
graph @main(%b: symint range(1,64), %t: symint range(2,64), %x: input f32[b,t,4]) {
  %v = view(%x; size=[b*t,2,2])
  %s = slice(%x; dim=1, start=1, end=t)
  %c = cat([%s, %x]; dim=1)
  %n = sym_numel(%x)
  %e = full(; size=[t,b], fill_value=2.5)
  %a = arange(; end=t)
  %u = view(%x; size=[b,t*4])
  %k = view(%x; size=[b,t,2,2])
  return %v, %c, %n, %e, %a, %u, %k
})";
  expect_same(text, {{"x", counted({3, 5, 4})}});
  expect_same(text, {{"x", counted({1, 2, 4})}});
}

TEST(ExportedSizes, AreToldFromLinearDims) {
  expect_same(R"(
graph @main(%n: symint range(1,64), %x: input f32[n*2+1]) {
  %y = slice(%x; dim=0, start=0, end=n)
  %m = mul(%y, %n)
  return %m
})",
              {{"x", counted({7})}});
}

TEST(ExportedSizes, ComputeQuotientsMinimaAndRemainders) {
  const char* text = R"(
graph @main(%n: symint range(5,64), %m: symint range(1,64), %x: input f32[n], %y: input f32[m]) {
  %a = arange(; end=floordiv(n+5,2)+10)
  %b = arange(; end=mod(n,3)+min(n,m))
  %c = arange(; end=max(n,m)*2)
  return %a, %b, %c
})";
  expect_same(text, {{"x", counted({5})}, {"y", counted({7})}});
  expect_same(text, {{"x", counted({8})}, {"y", counted({2})}});
}

// Div truncates, floordiv doesn't.
TEST(ExportedSizes, RoundDownWhereTheyMayBeBelow0) {
  const auto written = [](const char* range) {
    const ExportedModel m = value_or_throw(export_onnx(graph_of(fmt::format(R"(
graph @main(%n: symint range({},64), %x: input f32[n]) {{
  %a = arange(; end=floordiv(n-5,2)+10)
  return %a
}})",
                                                                            range)),
                                                       registry()));
    return std::ranges::count(ops_of(m.model), "Mod");
  };
  EXPECT_EQ(written("1"), 1);
  EXPECT_EQ(written("5"), 0);
}

TEST(ExportedSizes, AreWrittenOnce) {
  const ExportedModel m = value_or_throw(export_onnx(graph_of(R"(
graph @main(%b: symint range(1,64), %t: symint range(1,64), %x: input f32[b,t,4],
            %y: input f32[b*t,4]) {
  %u = view(%y; size=[b,t,4])
  %s = add(%u, %x)
  %v = exp(%y)
  %w = view(%v; size=[b,t,4])
  %p = add(%s, %w)
  %k = view(%p; size=[b,t,2,2])
  return %k
})"),
                                                     registry()));
  EXPECT_EQ(ops_of(m.model), (std::vector<std::string>{"Shape", "Gather", "Gather", "Unsqueeze",
                                                       "Unsqueeze", "Concat", "Reshape", "Add",
                                                       "Exp", "Reshape", "Add", "Reshape"}));
  const auto& last = m.model.graph->nodes.back();
  const auto copied =
      std::ranges::find(m.model.graph->initializers, last.inputs[1], &onnx::TensorProto::name);
  EXPECT_NE(copied, m.model.graph->initializers.end());
}

TEST(ExportedSizes, ThatNoInputTellsAreRefused) {
  EXPECT_EQ(refusal_of(R"(
graph @main(%n: symint, %x: input f32[floordiv(n,2)]) {
  %y = exp(%x)
  return %y
})"),
            "the size %n can't be told from the shape of an input");
}

}  // namespace
}  // namespace cleave::to_onnx
