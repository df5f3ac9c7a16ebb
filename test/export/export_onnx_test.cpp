#include <algorithm>

#include "test/export/exported.h"

namespace cleave::to_onnx {
namespace {

using Names = std::vector<std::string>;

Names names_of(const std::vector<onnx::ValueInfo>& values) {
  Names out;
  for (const onnx::ValueInfo& v : values) out.push_back(v.name);
  return out;
}

constexpr const char* linear = R"(
graph @main(%s0: symint, %w: param f32[3,2] grad, %x: input f32[s0,3], %r: rng_state i64[2]) {
  %h = mm(%x, %w)
  %y = relu(%h)
  return %y
})";

ExportedModel exported(const std::string& text, const ExportOptions& options = {}) {
  return value_or_throw(export_onnx(graph_of(text), registry(), options));
}

Array floats(std::vector<double> values, std::vector<int64_t> shape) {
  Array a(DType::f32, std::move(shape));
  a.f = std::move(values);
  return a;
}

TEST(ExportOnnx, PlaceholdersAreInputsUnlessWeightsAreGiven) {
  const ExportedModel plain = exported(linear);
  EXPECT_EQ(names_of(plain.model.graph->inputs), (Names{"w", "x"}));
  EXPECT_EQ(names_of(plain.model.graph->outputs), (Names{"y"}));
  EXPECT_EQ(ops_of(plain.model), (Names{"MatMul", "Relu"}));
  EXPECT_EQ(plain.model.graph->inputs[1].type.shape->at(0).param, "s0");
  EXPECT_EQ(plain.model.graph->outputs[0].type.shape->at(0).param, "s0");
  EXPECT_EQ(plain.model.ir_version, 10);
  EXPECT_EQ(plain.model.opsets.at(""), 21);

  const std::map<std::string, HostTensor> weights = {
      {"w", HostTensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2})}};
  const ExportedModel m = exported(linear, {.weights = &weights, .opset = 18});
  EXPECT_EQ(names_of(m.model.graph->inputs), (Names{"x"}));
  ASSERT_EQ(m.model.graph->initializers.size(), 1u);
  EXPECT_EQ(m.model.graph->initializers[0].name, "w");
  EXPECT_EQ(m.model.graph->initializers[0].raw.data(),
            static_cast<const std::byte*>(weights.at("w").data()));
  EXPECT_EQ(m.model.ir_version, 8);
  const Result<Arrays> y = results_of(m.model, {{"x", floats({1, 0, -1, 0, 1, 0}, {2, 3})}});
  ASSERT_TRUE(y.ok()) << y.failure().message;
  EXPECT_EQ((*y)[0].f, (std::vector<double>{0, 0, 3, 4}));
}

TEST(ExportOnnx, WeightsOfOtherNamesAndTypesAreErrors) {
  std::map<std::string, HostTensor> weights = {{"v", HostTensor(DType::f32, {2})}};
  EXPECT_EQ(refusal_of(linear, {.weights = &weights}),
            "the weight v belongs to no placeholder of the graph");
  weights = {{"w", HostTensor(DType::f32, {2, 2})}};
  EXPECT_EQ(refusal_of(linear, {.weights = &weights}),
            "the weight w is f32[2,2], expected f32[3,2]");
  weights = {{"x", HostTensor(DType::f32, {5, 3})}};
  EXPECT_EQ(refusal_of(linear, {.weights = &weights}), "");
  EXPECT_EQ(refusal_of(linear, {.opset = 17}), "the operator set is 17, expected 18 to 23");
}

TEST(ExportOnnx, AllThatCantBeWrittenIsNamedAtOnce) {
  EXPECT_EQ(refusal_of(R"(
graph @main(%x: input f32[2], %m: buffer f32[2], %w: param f32[2] grad, %r: rng_state i64[2]) {
  %a = rand(%r; size=[2], stream=1)
  %b = rand(%r; size=[2], stream=2)
  %c = all_reduce(%x; reduce_op="sum", group_name="0")
  %y = add(%a, %b)
  return %y, %c, %x -> %m, %w -> grad %w
})"),
            "4 kinds of calls can't be written as ONNX\n"
            "  2 x rand: draws random numbers\n"
            "  1 x all_reduce: meets the other ranks of a group\n"
            "  1 x grad of %w: only forward graphs can be written\n"
            "  1 x update of %m: a model of ONNX has no state");
}

TEST(ExportOnnx, DeadCallsAreNotLookedAt) {
  const ExportedModel m = exported(R"(
graph @main(%x: input f32[2], %r: rng_state i64[2]) {
  %a = rand(%r; size=[2], stream=1)
  %y = exp(%x)
  return %y
})");
  EXPECT_EQ(ops_of(m.model), (Names{"Exp"}));
  EXPECT_EQ(names_of(m.model.graph->inputs), (Names{"x"}));
}

TEST(ExportOnnx, ResultsThatAreInputsOrGivenTwiceGetNodes) {
  const ExportedModel m = exported(R"(
graph @main(%x: input f32[2]) {
  %y = exp(%x)
  return %y, %x, %y
})");
  EXPECT_EQ(ops_of(m.model), (Names{"Exp", "Identity", "Identity"}));
  const Names outputs = names_of(m.model.graph->outputs);
  EXPECT_EQ(outputs[0], "y");
  EXPECT_NE(outputs[1], "x");
  EXPECT_NE(outputs[2], "y");
  const Result<Arrays> r = results_of(m.model, {{"x", floats({0, 0}, {2})}});
  ASSERT_TRUE(r.ok()) << r.failure().message;
  EXPECT_EQ((*r)[1].f, (std::vector<double>{0, 0}));
  EXPECT_EQ((*r)[2].f, (std::vector<double>{1, 1}));
}

TEST(ExportOnnx, NumbersOf16BitsAreRoundedByEachCall) {
  const ExportedModel m = exported(R"(
graph @main(%x: input bf16[2]) {
  %y = add(%x; other=0.00390625)
  %z = sub(%y; other=1)
  return %z
})");
  Array x(DType::bf16, {2});
  x.f = {1, 2};
  const Result<Arrays> r = results_of(m.model, {{"x", x}});
  ASSERT_TRUE(r.ok()) << r.failure().message;
  EXPECT_EQ((*r)[0].f, (std::vector<double>{0, 1}));
}

TEST(ExportOnnx, EqualConversionsAndConstantsAreOne) {
  const ExportedModel m = exported(R"(
graph @main(%x: input f16[2]) {
  %y = mul(%x; other=3)
  %z = sub(%x; other=3)
  return %y, %z
})");
  EXPECT_EQ(std::ranges::count(ops_of(m.model), "Cast"), 3);
  EXPECT_EQ(m.model.graph->initializers.size(), 1u);
}

// What reads the model back knows what becomes of NaN, where onnxruntime doesn't: these nodes are
// for others.
TEST(ExportOnnx, NanIsSpelledOutWhereOnnxLeavesItOpen) {
  for (const char* call :
       {"amax(%x; dim=[1])", "argmax(%x; dim=1)", "max_pool2d_with_indices", "sort(%x; dim=1)"}) {
    const std::string pool = "max_pool2d_with_indices(%x; kernel_size=[2,2])";
    const bool pools = call == std::string("max_pool2d_with_indices");
    const bool pairs = pools || call == std::string("sort(%x; dim=1)");
    const ExportedModel m =
        exported(fmt::format("graph @main(%x: input f32[2,4,4]) {{\n  %y{} = {}\n  return %y\n}}\n",
                             pairs ? ", %i" : "", pools ? pool : call));
    EXPECT_GT(std::ranges::count(ops_of(m.model), "IsNaN"), 0) << call;
  }
}

// Texts of a few bytes that stand for much.
TEST(ExportOnnx, LargeTablesAndCallsWithoutEndAreRefused) {
  EXPECT_EQ(refusal_of(R"(
graph @main(%x: input f32[1,1,1000000,1000000]) {
  %y, %i = max_pool2d_with_indices(%x; kernel_size=[2])
  return %y, %i
})"),
            "1 kinds of calls can't be written as ONNX\n"
            "  1 x max_pool2d_with_indices: a table of 250000000000 entries, expected at most "
            "16777216");
  std::string text = "graph @g0(%x: input f32[]) {\n  %y = exp(%x)\n  return %y\n}\n";
  for (int k = 1; k < 40; ++k)
    text += fmt::format(
        "graph @g{0}(%x: input f32[]) {{\n  %a = call([%x]; graph=@g{1})\n"
        "  %b = call([%a]; graph=@g{1})\n  return %b\n}}\n",
        k, k - 1);
  EXPECT_EQ(refusal_of(text),
            "more than 65536 graphs would be written, each as often as it is called");
}

TEST(ExportOnnx, DecomposedCallsKeepTheirNames) {
  const ExportedModel m = exported(R"(
graph @main(%b: input f32[3], %x: input f32[2,4], %w: input f32[4,3]) {
  %y = addmm(%b, %x, %w)
  return %y
})");
  EXPECT_EQ(ops_of(m.model), (Names{"MatMul", "Add"}));
  EXPECT_EQ(names_of(m.model.graph->outputs), (Names{"y"}));
}

}  // namespace
}  // namespace cleave::to_onnx
