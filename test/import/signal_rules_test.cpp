// Rules of quantization, windows, unpooling, weights as lengths and directions, triangular systems
// and factorizations, on the oracle: values, and gradients where these aren't the derivative's.
// tests: quantize_rules.cpp window_rules.cpp unpool_rules.cpp weight_norm_rules.cpp solve_rules.cpp
// tests: factor_rules.cpp
#include "test/import/reading.h"

namespace cleave::exported {
namespace {

struct Tensors {
  Reading reading;
  std::map<std::string, Numbers> values;
  std::vector<NamedArgument> arguments;

  Tensors& param(const std::string& name, std::vector<int64_t> sizes, Numbers x,
                 DType t = DType::f32) {
    reading.param(name, std::move(sizes), t);
    return given(name, std::move(x));
  }
  Tensors& input(const std::string& name, std::vector<int64_t> sizes, Numbers x,
                 DType t = DType::f32) {
    reading.input(name, std::move(sizes), t);
    return given(name, std::move(x));
  }
  Tensors& given(const std::string& name, Numbers x) {
    values[name] = std::move(x);
    arguments.push_back({name, tensor(name)});
    return *this;
  }
  Answer of(const std::string& op, std::vector<int64_t> sizes, std::vector<NamedArgument> more,
            DType t = DType::f32) {
    more.insert(more.begin(), arguments.begin(), arguments.end());
    reading.node("y", std::move(sizes), op, std::move(more), t);
    return answer(reading, "y", values);
  }
};

void expect_answer(const Answer& got, const Numbers& value, const Numbers& gradient = {}) {
  EXPECT_EQ(got.failure, "");
  expect_near(got.value, value, 1e-6);
  if (!gradient.empty()) expect_near(got.gradient, gradient, 1e-6);
}

TEST(SignalRules, QuantizedNumbersHaveTheGradientOfThoseWithin) {
  const std::vector<NamedArgument> range{{"quant_min", number(0)}, {"quant_max", number(3)}};
  std::vector<NamedArgument> how = range;
  how.push_back({"scale", real(0.5)});
  how.push_back({"zero_point", number(1)});
  const Numbers x{-1, 0.26, 0.9, 5}, y{-0.5, 0.5, 1, 1}, dx{0, 1, 1, 0};
  expect_answer(
      Tensors().param("self", {4}, x).of("fake_quantize_per_tensor_affine.default", {4}, how), y,
      dx);
  for (const double on : {1, 0})
    expect_answer(
        Tensors()
            .param("self", {4}, x)
            .input("scale", {1}, {0.5})
            .input("zero_point", {1}, {1}, DType::i32)
            .input("fake_quant_enabled", {1}, {on}, DType::i64)
            .of("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default", {4}, range),
        on == 1 ? y : x, on == 1 ? dx : Numbers{1, 1, 1, 1});
  std::vector<NamedArgument> along = range;
  along.push_back({"axis", number(1)});
  expect_answer(Tensors()
                    .param("self", {2, 2}, {1, 1, -3, 0.3})
                    .input("scale", {2}, {0.5, 0.25})
                    .input("zero_point", {2}, {0, 1}, DType::i32)
                    .of("fake_quantize_per_channel_affine.default", {2, 2}, along),
                {1, 0.5, 0, 0.25}, {1, 0, 0, 1});
  // a fractional zero_point is added before numbers are rounded: 0.3 + 0.25 is 1
  expect_answer(Tensors()
                    .param("self", {2}, {0.3, 1.6})
                    .input("scale", {1}, {1})
                    .input("zero_point", {1}, {0.25})
                    .of("fake_quantize_per_channel_affine.default", {2},
                        {{"quant_min", number(0)}, {"quant_max", number(3)}, {"axis", number(0)}}),
                {0.75, 1.75}, {1, 1});
}

TEST(SignalRules, Windows) {
  const auto window = [](const std::string& op, int64_t n, std::vector<NamedArgument> more) {
    more.insert(more.begin(), {"window_length", number(n)});
    return Tensors().of(op, {n}, more);
  };
  const NamedArgument whole{"periodic", flag(false)};
  expect_answer(window("hann_window.default", 4, {}), {0, 0.5, 1, 0.5});
  expect_answer(window("hamming_window.periodic", 3, {whole}), {0.08, 1, 0.08});
  expect_answer(window("hamming_window.periodic_alpha_beta", 2,
                       {whole, {"alpha", real(3)}, {"beta", real(2)}}),
                {1, 1});
  expect_answer(window("blackman_window.periodic", 5, {whole}), {0, 0.34, 1, 0.34, 0});
  expect_answer(window("bartlett_window.default", 4, {}), {0, 0.5, 1, 0.5});
  expect_answer(window("kaiser_window.periodic", 3, {whole}), {5.2773410e-5, 1, 5.2773410e-5});
  expect_answer(window("kaiser_window.default", 1, {}), {1});
  EXPECT_NE(window("hann_window.default", -1, {}).failure, "");
}

TEST(SignalRules, UnpooledElementsLieAtTheirIndices) {
  expect_answer(Tensors()
                    .param("self", {1, 1, 2}, {5, 7})
                    .input("indices", {1, 1, 2}, {3, 0}, DType::i64)
                    .of("max_unpool2d.default", {1, 2, 2}, {{"output_size", numbers({2, 2})}}),
                {7, 0, 0, 5}, {1, 1});
  EXPECT_NE(Tensors()
                .param("self", {1, 2}, {5, 7})
                .input("indices", {1, 2}, {3, 0}, DType::i64)
                .of("max_unpool3d.default", {1, 2, 2}, {{"output_size", numbers({1, 2, 2})}})
                .failure,
            "");
}

TEST(SignalRules, WeightsAsLengthsAndDirections) {
  const Numbers v{3, 4, 0, 2};
  expect_answer(Tensors()
                    .param("v", {2, 2}, v)
                    .input("g", {2, 1}, {10, 1})
                    .of("_weight_norm.default", {2, 2}, {{"dim", number(0)}}),
                {6, 8, 0, 1}, {0.32, -0.24, 0.5, 0});
  expect_answer(Tensors()
                    .input("v", {2, 2}, {3, 4, 0, 12})
                    .input("g", {}, {26})
                    .of("_weight_norm.default", {2, 2}, {{"dim", number(-1)}}),
                {6, 8, 0, 24});
  expect_answer(Tensors()
                    .input("grad_w", {2, 2}, {1, 1, 1, 1})
                    .input("saved_v", {2, 2}, v)
                    .input("saved_g", {2, 1}, {10, 1})
                    .input("saved_norms", {2, 1}, {5, 2})
                    .of("_weight_norm_interface_backward.default", {2, 2}, {{"dim", number(0)}}),
                {0.32, -0.24, 0.5, 0});
}

TEST(SignalRules, PlacesOfAffineMaps) {
  for (const bool aligned : {false, true}) {
    const double a = aligned ? 1 : 0.5;
    expect_answer(Tensors()
                      .param("theta", {1, 2, 3}, {2, 0, 0, 0, 1, 3})
                      .of("affine_grid_generator.default", {1, 2, 2, 2},
                          {{"size", numbers({1, 5, 2, 2})}, {"align_corners", flag(aligned)}}),
                  {-2 * a, 3 - a, 2 * a, 3 - a, -2 * a, 3 + a, 2 * a, 3 + a}, {0, 0, 4, 0, 0, 4});
  }
  expect_answer(Tensors()
                    .input("theta", {1, 3, 4}, {1, 0, 0, 7, 0, 1, 0, 8, 0, 0, 1, 9})
                    .of("affine_grid_generator.default", {1, 1, 1, 2, 3},
                        {{"size", numbers({1, 1, 1, 1, 2})}, {"align_corners", flag(true)}}),
                {6, 8, 9, 8, 8, 9});
}

TEST(SignalRules, ResultsInMemoryThatIsGiven) {
  const auto product = [](std::vector<int64_t> out) {
    return Tensors()
        .param("self", {2}, {1, 2})
        .input("other", {2}, {3, 4})
        .input("out", out, {0, 0})
        .of("mul.out", {2}, {});
  };
  expect_answer(product({2}), {3, 8});
  EXPECT_NE(product({2, 1}).failure.find("isn't of the size of its argument out: f32[2,1]"),
            std::string::npos);
}

// An operator of x and the number of the tensor n, which is its argument `name`; the gradient of n
// or x.
Answer of_item(const std::string& op, const std::string& name, bool of_n = false) {
  Tensors t;
  if (of_n)
    t.param("n", {1}, {3}).input("x", {2}, {1, 2});
  else
    t.input("n", {1}, {3}).param("x", {2}, {1, 2});
  t.arguments = {{"self", tensor("x")}, {name, of_kind(Kind::symbol, "item")}};
  Node item{"torch.ops.aten.item.default", {{"self", tensor("n")}}, {}, {}, 0};
  item.outputs.push_back(of_kind(Kind::symbol, "item"));
  t.reading.source.nodes.push_back(std::move(item));
  return t.of(op, {2}, {});
}

TEST(SignalRules, NumbersOfTensorsAreOperands) {
  expect_answer(of_item("mul.Tensor", "other"), {3, 6}, {3, 3});
  expect_answer(of_item("mul.Tensor", "other", true), {3, 6}, {0});
  const Answer slope = of_item("leaky_relu.default", "negative_slope");
  EXPECT_NE(slope.failure.find("the value of item() as an attribute; keep the tensor"),
            std::string::npos)
      << slope.failure;
}

// x[:] is one, and what decompositions make of detach().
TEST(SignalRules, AnAliasHasAGradientUnlessItWasADetach) {
  for (const bool was_detach : {false, true}) {
    Reading r;
    r.param("x", {2});
    r.node("held", {2}, "alias.default", {{"self", tensor("x")}});
    r.source.nodes.back().was_detach = was_detach;
    r.node("y", {2}, "mul.Tensor", {{"self", tensor("x")}, {"other", tensor("held")}});
    expect_answer(answer(r, "y", {{"x", {3, 5}}}), {9, 25},
                  was_detach ? Numbers{3, 5} : Numbers{6, 10});
  }
}

TEST(SignalRules, TriangularSystems) {
  const Numbers a{2, 1, 0, 4};
  for (const bool turned : {false, true})
    expect_answer(Tensors()
                      .input("self", {2, 1}, {4, 8})
                      .input("A", {2, 2}, a)
                      .of("triangular_solve.default", {2, 1}, {{"transpose", flag(turned)}}),
                  turned ? Numbers{2, 1.5} : Numbers{1, 2});
  for (const bool upper : {false, true})
    expect_answer(Tensors()
                      .input("self", {2, 1}, {6, 4})
                      .input("input2", {2, 2}, upper ? Numbers{2, 1, 0, 1} : Numbers{2, 0, 1, 1})
                      .of("cholesky_solve.default", {2, 1}, {{"upper", flag(upper)}}),
                  {1, 1});
  expect_answer(
      Tensors().input("self", {2, 2}, {2, 0, 1, 1}).of("cholesky_inverse.default", {2, 2}, {}),
      {0.5, -0.5, -0.5, 1});
}

Answer of_matrix(const std::string& op, const std::string& name, Numbers x,
                 std::vector<int64_t> sizes, std::vector<NamedArgument> more = {}) {
  return Tensors().param(name, {2, 2}, std::move(x)).of(op, std::move(sizes), std::move(more));
}

// Numbers of PyTorch 2.13.
TEST(SignalRules, Factorizations) {
  const Numbers positive{4, 2, 2, 5}, swapped{0, 2, 4, 1}, dp{0.1875, 0.125, 0.125, 0.25};
  expect_answer(of_matrix("linalg_cholesky.default", "self", positive, {2, 2}), {2, 0, 1, 2}, dp);
  expect_answer(of_matrix("cholesky.default", "self", positive, {2, 2}, {{"upper", flag(true)}}),
                {2, 1, 0, 2}, dp);
  const Numbers inverse{-0.125, 0.25, 0.5, 0}, di{-0.046875, -0.1875, -0.03125, -0.125};
  expect_answer(of_matrix("linalg_inv.default", "A", swapped, {2, 2}), inverse, di);
  expect_answer(of_matrix("inverse.default", "self", swapped, {2, 2}), inverse, di);
  for (const std::string name : {"linalg_det.default", "det.default"})
    expect_answer(of_matrix(name, name[0] == 'd' ? "self" : "A", swapped, {}), {-8},
                  {1, -4, -2, 0});
  expect_answer(of_matrix("logdet.default", "self", positive, {}), {std::log(16)},
                {0.3125, -0.125, -0.125, 0.25});
  EXPECT_TRUE(std::isnan(of_matrix("logdet.default", "self", swapped, {}).value.at(0)));
}

TEST(SignalRules, SystemsOfAnyMatrix) {
  const auto solved = [](Numbers b, std::vector<int64_t> sizes, bool left) {
    return Tensors()
        .param("A", {2, 2}, {0, 2, 4, 1})
        .input("B", sizes, std::move(b))
        .of("linalg_solve.default", sizes, {{"left", flag(left)}});
  };
  expect_answer(solved({2, 3}, {2}, true), {0.5, 1}, {-0.1875, -0.375, -0.125, -0.25});
  expect_answer(solved({4, 5}, {1, 2}, false), {2, 1}, {-0.25, -1, -0.125, -0.5});
  expect_answer(Tensors()
                    .input("self", {2, 1}, {2, 3})
                    .input("LU_data", {2, 2}, {4, 1, 0, 2})
                    .input("LU_pivots", {2}, {2, 2}, DType::i32)
                    .of("lu_solve.default", {2, 1}, {}),
                {0.5, 1});
}

// The first line of what a run says of a matrix that can't be factored.
std::string failure_of(const std::string& op, const std::string& name) {
  Tensors t;
  t.input(name, {2, 2}, {1, 2, 2, 4});
  t.reading.node("y", {2, 2}, op, t.arguments);
  if (const Status s = t.reading.reader.read(t.reading.source); !s.ok()) return s.failure().message;
  t.reading.graph.add_return({value_or_bug(t.reading.reader.value("y"))});
  const std::map<std::string, Array> given{
      {name, array_of(Type(DType::f32, {2, 2}), &t.values.at(name))}};
  const Result<Arrays> out = interpret(t.reading.graph, given);
  return out.ok() ? "" : out.failure().message.substr(0, out.failure().message.find('\n'));
}

TEST(SignalRules, MatricesThatCantBeFactoredEndTheRun) {
  EXPECT_EQ(failure_of("linalg_cholesky.default", "self"),
            "linalg.cholesky: The factorization could not be completed because the input is not "
            "positive-definite");
  EXPECT_EQ(failure_of("linalg_inv.default", "A"),
            "linalg.inv: The inversion could not be completed because the input matrix is "
            "singular");
}

}  // namespace
}  // namespace cleave::exported
