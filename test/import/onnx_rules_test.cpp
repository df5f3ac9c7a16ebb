// One small model for each family of ONNX's operators, and for each way in which operator sets
// differ. ONNX's own node suite has all of them (make peer-onnx).
// tests: arithmetic_rules.cpp activation_rules.cpp compare_rules.cpp reduce_rules.cpp narrow.cpp
// tests: shape_rules.cpp index_rules.cpp scatter_rules.cpp product_rules.cpp rules.cpp call.cpp
// tests: convolution_rules.cpp pool_rules.cpp resize_rules.cpp interpolation.cpp norm_rules.cpp
// tests: quantise_rules.cpp recurrent_rules.cpp loss_rules.cpp random_rules.cpp signal_rules.cpp
// tests: attention_rules.cpp sample_rules.cpp sequence_rules.cpp optimizer_rules.cpp windows.cpp
// tests: cast_rules.cpp importer.cpp
#include <cmath>

#include "test/import/onnx_run.h"

namespace cleave {
namespace {

TEST(OnnxRules, ElementByElement) {
  OnnxFile f;
  f.input("x", {3}).initializer("w", floats({2, 4, 8}));
  f.node("Mul", {"x", "w"}, {"a"}).node("Relu", {"a"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({1, -1, 0.5})}}), (Numbers{2, 0, 4}));
}

TEST(OnnxRules, QuotientsOfIntegersAreCutOff) {
  OnnxFile f;
  f.input("x", {3}, onnx::Element::i64).initializer("w", ints({2, 2, 4}));
  f.node("Div", {"x", "w"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(f, {{"x", ints({-7, 7, 9})}}), (Numbers{-3, 3, 2}));
}

TEST(OnnxRules, UnsignedTypesWrapAndCompareAsSuch) {
  OnnxFile sum;
  sum.input("x", {2}, onnx::Element::u16)
      .initializer(onnx_tensor("w", HostTensor::from<int16_t>({1, 1}), onnx::Element::u16));
  sum.node("Add", {"x", "x"}, {"t"}).node("Add", {"t", "w"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(sum, {{"x", HostTensor::from<int32_t>({40000, 3})}}), (Numbers{14465, 7}));

  OnnxFile less;  // 2^64 - 1 in its bits is -1
  less.input("x", {2}, onnx::Element::u64).input("y", {2}, onnx::Element::u64);
  less.node("Less", {"x", "y"}, {"z"}).output("z");
  EXPECT_EQ(numbers_of(less, {{"x", ints({-1, 1})}, {"y", ints({1, -1})}}), (Numbers{0, 1}));

  OnnxFile quotient;
  quotient.input("x", {3}, onnx::Element::u64).input("y", {3}, onnx::Element::u64);
  quotient.node("Div", {"x", "y"}, {"z"}).output("z");
  EXPECT_EQ(numbers_of(quotient, {{"x", ints({-1, -1, 5})}, {"y", ints({2, -2, -3})}}),
            (Numbers{static_cast<double>(INT64_MAX), 1, 0}));
}

TEST(OnnxRules, ClipTakesItsBoundsFromAttributesOrOperands) {
  OnnxFile old;
  old.opset = 7;
  old.input("x", {3}).node("Clip", {"x"}, {"y"}, {onnx_float("min", -1), onnx_float("max", 2)});
  old.output("y");
  EXPECT_EQ(numbers_of(old, {{"x", floats({-3, 1, 5})}}), (Numbers{-1, 1, 2}));
  OnnxFile now;
  now.input("x", {3}).initializer("hi", HostTensor::scalar(2));
  now.node("Clip", {"x", "", "hi"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(now, {{"x", floats({-3, 1, 5})}}), (Numbers{-3, 1, 2}));
}

TEST(OnnxRules, SumsTakeTheirAxesFromAttributesOrOperands) {
  for (const int64_t opset : {7, 13}) {
    OnnxFile f;
    f.opset = opset;
    f.input("x", {2, 3});
    if (opset == 7)
      f.node("ReduceSum", {"x"}, {"y"}, {onnx_ints("axes", {-1}), onnx_int("keepdims", 0)});
    else
      f.initializer("a", ints({1})).node("ReduceSum", {"x", "a"}, {"y"}, {onnx_int("keepdims", 0)});
    f.output("y");
    EXPECT_EQ(numbers_of(f, {{"x", floats({1, 2, 3, 4, 5, 6}, {2, 3})}}), (Numbers{6, 15}))
        << opset;
  }
}

TEST(OnnxRules, ReductionsOverNoAxesStillMapTheirElements) {
  const auto reduced = [](const char* op) {
    OnnxFile f;
    f.opset = 18;
    f.input("x", {2}).node(op, {"x"}, {"y"}, {onnx_int("noop_with_empty_axes", 1)}).output("y");
    return numbers_of(f, {{"x", floats({-4, 2})}});
  };
  EXPECT_EQ(reduced("ReduceSum"), (Numbers{-4, 2}));
  EXPECT_EQ(reduced("ReduceL1"), (Numbers{4, 2}));
  EXPECT_EQ(reduced("ReduceL2"), (Numbers{4, 2}));
  EXPECT_EQ(reduced("ReduceSumSquare"), (Numbers{16, 4}));
  EXPECT_EQ(reduced("ReduceLogSumExp"), (Numbers{-4, 2}));
  EXPECT_NEAR(reduced("ReduceLogSum")[1], std::log(2), 1e-6);
}

TEST(OnnxRules, HardmaxOfNothing) {
  OnnxFile f;
  f.input("x", {2, 0}).node("Hardmax", {"x"}, {"y"}).output("y");
  const OnnxResults r = results_of(f, {{"x", HostTensor(DType::f32, {2, 0})}});
  ASSERT_EQ(r.failure, "");
  EXPECT_EQ(r.tensors[0].shape(), (std::vector<int64_t>{2, 0}));
}

TEST(OnnxRules, SoftmaxBeforeOpset13IsOfAllDimsBehindTheAxis) {
  OnnxFile f;
  f.opset = 11;
  f.input("x", {1, 2, 2}).node("Softmax", {"x"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({0, 0, 0, 0}, {1, 2, 2})}}), (Numbers{.25, .25, .25, .25}));
  f.opset = 13;
  EXPECT_EQ(numbers_of(f, {{"x", floats({0, 0, 0, 0}, {1, 2, 2})}}), (Numbers{.5, .5, .5, .5}));
}

TEST(OnnxRules, SlicesGoBackwards) {
  OnnxFile f;
  f.input("x", {5}).initializer("s", ints({3})).initializer("e", ints({-6}));
  f.initializer("a", ints({0})).initializer("t", ints({-2}));
  f.node("Slice", {"x", "s", "e", "a", "t"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({0, 1, 2, 3, 4})}}), (Numbers{3, 1}));
}

TEST(OnnxRules, ShapesAreComputedAtImport) {
  OnnxFile f;  // x.reshape(x.shape[1], -1)
  f.input("x", {2, 3}).initializer("one", ints({1})).initializer("rest", ints({-1}));
  f.node("Shape", {"x"}, {"s"}).node("Gather", {"s", "one"}, {"d"});
  f.node("Concat", {"d", "rest"}, {"t"}, {onnx_int("axis", 0)});
  f.node("Reshape", {"x", "t"}, {"y"}).output("y");
  const OnnxResults r = results_of(f, {{"x", floats({1, 2, 3, 4, 5, 6}, {2, 3})}});
  ASSERT_EQ(r.failure, "");
  EXPECT_EQ(r.tensors[0].shape(), (std::vector<int64_t>{3, 2}));
}

TEST(OnnxRules, NamedSizesAreSymints) {
  OnnxFile f;  // x.reshape(n * 3) of x[n,3]
  f.input("x", {0, 3}, onnx::Element::f32, {"batch"}).initializer("zero", ints({0}));
  f.initializer("three", ints({3}));
  f.node("Shape", {"x"}, {"s"})
      .node("Gather", {"s", "zero"}, {"d"})
      .node("Mul", {"d", "three"}, {"t"});
  f.node("Reshape", {"x", "t"}, {"y"}).output("y");
  const Result<onnx::ImportedModel> m = imported(f.bytes());
  ASSERT_TRUE(m.ok()) << m.failure().message;
  const Graph& g = m->program.main;
  EXPECT_EQ(g.type(g.returns()[0].value).text(), "f32[batch*3]");
}

TEST(OnnxRules, ASizeCutsATable) {
  OnnxFile f;  // x + table[:x.shape[0]]
  f.input("x", {0}, onnx::Element::f32, {"time"}).initializer("table", floats({10, 20, 30}));
  f.initializer("zero", ints({0})).node("Shape", {"x"}, {"n"});
  f.node("Slice", {"table", "zero", "n"}, {"t"}).node("Add", {"x", "t"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({1, 2})}}), (Numbers{11, 22}));
}

TEST(OnnxRules, IndicesBelowZeroCountFromTheEnd) {
  OnnxFile f;
  f.input("x", {3}).initializer("i", ints({-1, 0})).node("Gather", {"x", "i"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({5, 6, 7})}}), (Numbers{7, 5}));
  OnnxFile e;
  e.input("x", {3}).initializer("i", ints({-1, 1})).node("GatherElements", {"x", "i"}, {"y"});
  e.output("y");
  EXPECT_EQ(numbers_of(e, {{"x", floats({5, 6, 7})}}), (Numbers{7, 6}));
}

TEST(OnnxRules, PadsRepeatReflectAndWrap) {
  const auto padded = [](const char* mode) {
    OnnxFile f;
    f.input("x", {3}).initializer("p", ints({2, 1}));
    f.node("Pad", {"x", "p"}, {"y"}, {onnx_text("mode", mode)}).output("y");
    return numbers_of(f, {{"x", floats({1, 2, 3})}});
  };
  EXPECT_EQ(padded("constant"), (Numbers{0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(padded("reflect"), (Numbers{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(padded("edge"), (Numbers{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(padded("wrap"), (Numbers{2, 3, 1, 2, 3, 1}));
}

TEST(OnnxRules, ScatterWithTheLargest) {
  OnnxFile f;
  f.input("x", {3}).initializer("i", HostTensor::from<int64_t>({2, 0, 2}, {3, 1}));
  f.initializer("u", floats({5, -1, 4}));
  f.node("ScatterND", {"x", "i", "u"}, {"y"}, {onnx_text("reduction", "max")}).output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({0, 1, 2})}}), (Numbers{0, 1, 5}));
}

TEST(OnnxRules, Einsum) {
  OnnxFile f;
  f.input("x", {2, 3}).input("y", {3, 2});
  f.node("Einsum", {"x", "y"}, {"z"}, {onnx_text("equation", "ij,jk->ki")}).output("z");
  EXPECT_EQ(numbers_of(f, {{"x", floats({1, 2, 3, 4, 5, 6}, {2, 3})},
                           {"y", floats({1, 0, 0, 1, 1, 1}, {3, 2})}}),
            (Numbers{4, 10, 5, 11}));
}

TEST(OnnxRules, EinsumRepeatsSizesOfOne) {
  OnnxFile f;
  f.input("x", {2, 2, 2}).input("y", {1, 2});
  f.node("Einsum", {"x", "y"}, {"z"}, {onnx_text("equation", "bij,bj->bi")}).output("z");
  const HostTensor x = floats({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  EXPECT_EQ(numbers_of(f, {{"x", x}, {"y", floats({1, 10}, {1, 2})}}), (Numbers{21, 43, 65, 87}));
  OnnxFile e;  // the ellipses of both, and a sum over a size of one
  e.input("x", {1, 2, 1}).input("y", {2, 2, 1});
  e.node("Einsum", {"x", "y"}, {"z"}, {onnx_text("equation", "...ij,...jk->...ik")}).output("z");
  EXPECT_EQ(
      numbers_of(e, {{"x", floats({1, 10}, {1, 2, 1})}, {"y", floats({1, 2, 3, 4}, {2, 2, 1})}}),
      (Numbers{3, 30, 7, 70}));
}

// Of [1, 2] by [1, 10, 100]: 1, 12, 120, 200 without pads and strides.
Numbers transposed(const std::vector<OnnxMessage>& attributes, bool with_bias = false) {
  OnnxFile f;
  f.input("x", {1, 1, 2}).initializer("w", floats({1, 10, 100}, {1, 1, 3}));
  OnnxNames inputs = {"x", "w"};
  if (with_bias) {
    f.initializer("b", floats({5}));
    inputs.push_back("b");
  }
  f.node("ConvTranspose", inputs, {"y"}, attributes).output("y");
  return numbers_of(f, {{"x", floats({1, 2}, {1, 1, 2})}});
}

TEST(OnnxRules, TheShapeOfATransposedConvolutionGivesItsPads) {
  const OnnxMessage three = onnx_ints("output_shape", {3});
  EXPECT_EQ(transposed({three}), (Numbers{12, 120, 200}));
  EXPECT_EQ(transposed({three, onnx_text("auto_pad", "SAME_LOWER")}), (Numbers{12, 120, 200}));
  EXPECT_EQ(transposed({three, onnx_text("auto_pad", "SAME_UPPER")}), (Numbers{1, 12, 120}));
}

TEST(OnnxRules, ATransposedConvolutionAddsItsBiasToWhatItPads) {
  const auto padded = [](const std::vector<int64_t>& pads) {
    return transposed(
        {onnx_ints("strides", {2}), onnx_ints("output_padding", {1}), onnx_ints("pads", pads)},
        true);
  };
  EXPECT_EQ(padded({0, 0}), (Numbers{6, 15, 107, 25, 205, 5}));
  EXPECT_EQ(padded({0, 1}), (Numbers{6, 15, 107, 25, 205}));
  EXPECT_EQ(padded({1, 0}), (Numbers{15, 107, 25, 205, 5}));
}

TEST(OnnxRules, ConvolutionWithUnevenPads) {
  OnnxFile f;
  f.input("x", {1, 1, 3}).initializer("w", floats({1, 10}, {1, 1, 2}));
  f.node("Conv", {"x", "w"}, {"y"}, {onnx_ints("pads", {1, 0})}).output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({1, 2, 3}, {1, 1, 3})}}), (Numbers{10, 21, 32}));
}

TEST(OnnxRules, PoolsGiveThePlacesOfTheLargest) {
  OnnxFile f;
  f.input("x", {1, 1, 4});
  f.node("MaxPool", {"x"}, {"y", "i"}, {onnx_ints("kernel_shape", {2}), onnx_ints("strides", {2})});
  f.output("i");
  EXPECT_EQ(numbers_of(f, {{"x", floats({1, 5, 9, 2}, {1, 1, 4})}}), (Numbers{1, 2}));
}

TEST(OnnxRules, ResizeOfALine) {
  OnnxFile f;
  f.input("x", {1, 1, 2}).initializer("s", floats({1, 1, 2}));
  f.node("Resize", {"x", "", "s"}, {"y"}, {onnx_text("mode", "linear")}).output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({1, 3}, {1, 1, 2})}}), (Numbers{1, 1.5, 2.5, 3}));
}

TEST(OnnxRules, GridSampleBetweenElements) {
  OnnxFile f;
  f.input("x", {1, 1, 1, 2}).input("g", {1, 1, 1, 2});
  f.node("GridSample", {"x", "g"}, {"y"}, {onnx_int("align_corners", 1)}).output("y");
  EXPECT_EQ(
      numbers_of(f, {{"x", floats({2, 6}, {1, 1, 1, 2})}, {"g", floats({0, 0}, {1, 1, 1, 2})}}),
      (Numbers{4}));
}

TEST(OnnxRules, NormalizationOfBatches) {
  OnnxFile f;
  f.input("x", {2, 1, 1});
  f.initializer("scale", floats({2})).initializer("mean", floats({2}));
  f.initializer("bias", floats({1}));
  f.initializer("var", floats({3}));
  f.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"},
         {onnx_float("epsilon", 1)});
  f.output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({2, 4}, {2, 1, 1})}}), (Numbers{1, 3}));
}

TEST(OnnxRules, QuantisedNumbersAndTheirProducts) {
  OnnxFile q;
  q.input("x", {4})
      .initializer("s", HostTensor::scalar(2))
      .node("QuantizeLinear", {"x", "s"}, {"y"});
  q.output("y");
  EXPECT_EQ(numbers_of(q, {{"x", floats({5, 3, -4, 900})}}), (Numbers{2, 2, 0, 255}));
  OnnxFile p;
  p.input("x", {1, 2}, onnx::Element::u8)
      .initializer("w", HostTensor::from<uint8_t>({200, 3}, {2, 1}));
  p.initializer("z", HostTensor::from<uint8_t>({1}, {}));
  p.node("MatMulInteger", {"x", "w", "z"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(p, {{"x", HostTensor::from<uint8_t>({255, 0}, {1, 2})}}), (Numbers{50797}));
}

TEST(OnnxRules, SmallFloatsRoundAndSaturate) {
  const auto rounded = [](onnx::Element to, int64_t saturate) {
    OnnxFile f;
    f.input("x", {5});
    f.node("Cast", {"x"}, {"y"},
           {onnx_int("to", static_cast<int64_t>(to)), onnx_int("saturate", saturate)});
    f.output("y");
    return numbers_of(f, {{"x", floats({17, 19, 0.001F, 1e6F, -300})}});
  };
  EXPECT_EQ(rounded(onnx::Element::f8e4m3fn, 1), (Numbers{16, 20, 0.001953125, 448, -288}));
  const Numbers wide = rounded(onnx::Element::f8e5m2, 0);
  EXPECT_EQ(wide[0], 16);
  EXPECT_TRUE(std::isinf(wide[3]));
}

TEST(OnnxRules, LstmOfOneStep) {
  // Weights are 0, so that gates are 1/2 but for the one that a bias opens: i, o, f, c. The cell is
  // f c + i tanh(g), and c was 4; its bias is the second one of each gate.
  const auto step = [](size_t open, const char* result) {
    OnnxFile f;
    std::vector<float> bias(8, 0);
    bias[4 + open] = 100;
    f.input("x", {1, 1, 1}).initializer("w", HostTensor(DType::f32, {1, 4, 1}));
    f.initializer("r", HostTensor(DType::f32, {1, 4, 1})).initializer("b", floats(bias, {1, 8}));
    f.initializer("h", HostTensor(DType::f32, {1, 1, 1})).initializer("c", floats({4}, {1, 1, 1}));
    f.node("LSTM", {"x", "w", "r", "b", "", "h", "c"}, {"", "y_h", "y_c"},
           {onnx_int("hidden_size", 1)});
    f.output(result);
    return numbers_of(f, {{"x", floats({3}, {1, 1, 1})}}).at(0);
  };
  EXPECT_EQ(step(0, "y_c"), 2);  // i, of tanh(0)
  EXPECT_EQ(step(2, "y_c"), 4);
  EXPECT_EQ(step(3, "y_c"), 2.5);
  EXPECT_NEAR(step(1, "y_h"), std::tanh(2), 1e-6);
  EXPECT_NEAR(step(0, "y_h"), std::tanh(2) / 2, 1e-6);
}

TEST(OnnxRules, LossIgnoresAClass) {
  OnnxFile f;
  f.input("x", {2, 2}).initializer("t", ints({1, -5}));
  f.node("NegativeLogLikelihoodLoss", {"x", "t"}, {"y"}, {onnx_int("ignore_index", -5)})
      .output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({0, -3, 9, 9}, {2, 2})}}), (Numbers{3}));
}

TEST(OnnxRules, FourierTransform) {
  OnnxFile f;
  f.input("x", {1, 4, 1}).initializer("axis", HostTensor::from<int64_t>({1}, {}));
  f.node("DFT", {"x", "", "axis"}, {"y"}, {onnx_int("onesided", 1)}).output("y");
  const Numbers y = numbers_of(f, {{"x", floats({1, 2, 3, 4}, {1, 4, 1})}});
  const Numbers want = {10, 0, -2, 2, -2, 0};
  ASSERT_EQ(y.size(), want.size());
  for (size_t k = 0; k < y.size(); ++k) EXPECT_NEAR(y[k], want[k], 1e-6);
}

TEST(OnnxRules, AttentionOfOneKeyGivesItsValue) {
  OnnxFile f;
  f.opset = 23;
  f.input("q", {1, 2, 3, 4}).input("k", {1, 1, 1, 4}).input("v", {1, 1, 1, 1});
  f.node("Attention", {"q", "k", "v"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(f, {{"q", HostTensor(DType::f32, {1, 2, 3, 4})},
                           {"k", HostTensor(DType::f32, {1, 1, 1, 4})},
                           {"v", floats({7}, {1, 1, 1, 1})}}),
            (Numbers{7, 7, 7, 7, 7, 7}));
}

TEST(OnnxRules, SequencesAreListsAtImport) {
  OnnxFile f;
  f.input("x", {4}).initializer("n", HostTensor::from<int64_t>({2}, {}));
  f.initializer("last", HostTensor::from<int64_t>({-1}, {}));
  f.node("SplitToSequence", {"x", "n"}, {"s"}).node("SequenceAt", {"s", "last"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({1, 2, 3, 4})}}), (Numbers{3, 4}));
}

TEST(OnnxRules, MomentumStep) {
  OnnxFile f;
  f.input("x", {1}).input("g", {1}).input("v", {1});
  f.initializer("r", HostTensor::scalar(0.5)).initializer("t", HostTensor::from<int64_t>({1}, {}));
  f.node("Momentum", {"r", "t", "x", "g", "v"}, {"y", "w"},
         {onnx_float("alpha", 0.5), onnx_float("beta", 2), onnx_text("mode", "standard")},
         "ai.onnx.preview.training");
  f.output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({10})}, {"g", floats({1})}, {"v", floats({4})}}),
            (Numbers{8}));
}

TEST(OnnxRules, DropoutPassesOutsideOfTraining) {
  OnnxFile f;
  f.input("x", {2}).node("Dropout", {"x"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({1, 2})}}), (Numbers{1, 2}));
  OnnxFile t;
  t.input("x", {2}).initializer("r", HostTensor::scalar(0.5));
  HostTensor on(DType::boolean, {});
  on.set_number(0, 1);
  t.initializer("on", on).node("Dropout", {"x", "r", "on"}, {"y"}).output("y");
  const Result<onnx::ImportedModel> m = imported(t.bytes());
  ASSERT_TRUE(m.ok()) << m.failure().message;
  EXPECT_EQ(m->program.main.returns()[1].kind, ReturnKind::update);  // of the random state
}

TEST(OnnxRules, FunctionsAreInlinedWithTheirAttributes) {
  OnnxFile f;
  f.input("x", {2}).function(
      "Scaled", {"a"}, {"b"},
      {onnx_node("LeakyRelu", {"a"}, {"b"}, {onnx_reference("alpha", "slope", 1)})});
  f.node("Scaled", {"x"}, {"y"}, {onnx_float("slope", 0.25)}, "own").output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({-4, 4})}}), (Numbers{-1, 4}));
}

TEST(OnnxRules, WhatIsNotCoveredIsNamedAllAtOnce) {
  OnnxFile f;
  f.input("x", {2})
      .node("NonZero", {"x"}, {"a"})
      .node("Relu", {"a"}, {"b"})
      .node("NonZero", {"x"}, {"c"});
  f.node("Strange", {"x"}, {"y"}, {}, "own").output("y");
  onnx::ImportReport report;
  const auto m = imported(f.bytes(), {}, &report);
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.failure().kind, ErrorKind::unsupported);
  EXPECT_EQ(m.failure().message,
            "model: 2 kinds of calls aren't covered\n"
            "  2 x NonZero: no rule for it\n"
            "  1 x own.Strange: no rule for it");
  EXPECT_EQ(report.refused.at("NonZero: no rule for it"), 2);
}

TEST(OnnxRules, AShapeThatIsAnInputIsFixed) {
  OnnxFile f;
  f.input("x", {4})
      .input("s", {2}, onnx::Element::i64)
      .node("Reshape", {"x", "s"}, {"y"})
      .output("y");
  onnx::ImportReport report;
  const auto m = imported(f.bytes(), {}, &report);
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(report.wanted, (std::set<std::string>{"s"}));
  const OnnxResults r =
      results_of(f, {{"x", floats({1, 2, 3, 4})}}, {.fixed = {{"s", ints({2, 2})}}});
  ASSERT_EQ(r.failure, "");
  EXPECT_EQ(r.tensors[0].shape(), (std::vector<int64_t>{2, 2}));
}

}  // namespace
}  // namespace cleave
