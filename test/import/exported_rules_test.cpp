// Rules of operators where PyTorch's results or gradients are easily missed: at the edges of
// ranges, of infinities, of sizes 0 and 1.
// tests: activation_rules.cpp constructor_rules.cpp einsum_rules.cpp loss_rules.cpp
// tests: pointwise_rules.cpp pool_rules.cpp product_rules.cpp reduction_rules.cpp shape_rules.cpp
#include <cmath>

#include "test/import/reading.h"

namespace cleave::exported {
namespace {

// An operator of a vector, a parameter where it is floating.
Answer of_vector(const std::string& op, const Numbers& x, std::vector<NamedArgument> more = {},
                 DType t = DType::f64, std::vector<int64_t> sizes = {-1},
                 std::optional<DType> result = {}) {
  Reading r;
  const auto count = static_cast<int64_t>(x.size());
  if (is_floating(t))
    r.param("x", {count}, t);
  else
    r.input("x", {count}, t);
  if (sizes == std::vector<int64_t>{-1}) sizes = {count};
  more.insert(more.begin(), {"self", tensor("x")});
  r.node("y", sizes, op, std::move(more), result.value_or(t));
  return answer(r, "y", {{"x", x}});
}

// An operator of self and another vector, which is an input.
Answer of_two(const std::string& op, const std::string& other, const Numbers& x, const Numbers& y,
              std::vector<NamedArgument> more = {}, DType t = DType::f64) {
  Reading r;
  const auto count = static_cast<int64_t>(x.size());
  r.param("x", {count}, t);
  r.input("o", {count}, t);
  more.insert(more.begin(), {{"self", tensor("x")}, {other, tensor("o")}});
  r.node("y", {count}, op, std::move(more), t);
  return answer(r, "y", {{"x", x}, {"o", y}});
}

const NamedArgument no_reduction = {"reduction", number(0)};

TEST(ExportedRules, LogSigmoidIsSmoothAtZero) {
  const Answer a = of_vector("log_sigmoid.default", {0, -100, 50, NAN});
  expect_near(a.value, {-std::log(2), -100, 0, NAN});
  expect_near({a.gradient[0], a.gradient[1], a.gradient[2]}, {0.5, 1, 0});
  const Answer b = of_two("binary_cross_entropy_with_logits.default", "target", {0, 0}, {0.25, 1},
                          {no_reduction});
  expect_near(b.value, {std::log(2), std::log(2)});
  expect_near(b.gradient, {0.25, -0.5});
}

TEST(ExportedRules, BinaryCrossEntropyHasALineAtItsEdges) {
  const Answer a = of_two("binary_cross_entropy.default", "target", {0, 1, 0, 1, 0.25},
                          {0, 1, 1, 0.5, 0.5}, {no_reduction});
  expect_near(a.value, {0, 0, 100, 50, -0.5 * std::log(0.25) - 0.5 * std::log(0.75)});
  expect_near(a.gradient, {0, 0, -1e12, 0.5e12, -0.25 / 0.1875});
}

TEST(ExportedRules, DeviationOfEqualValuesHasNoGradient) {
  const Answer a = of_vector("std.default", {3, 3, 3}, {}, DType::f64, {});
  expect_near(a.value, {0});
  expect_near(a.gradient, {0, 0, 0});
  expect_near(of_vector("std.default", {1, 3}, {}, DType::f64, {}).gradient,
              {-std::sqrt(0.5), std::sqrt(0.5)});
  expect_near(of_vector("std.default", {400, -400}, {}, DType::f16, {}).value, {400 * std::sqrt(2)},
              1e-3);
}

TEST(ExportedRules, HypotNeitherOverflowsNorVanishes) {
  const Answer a =
      of_two("hypot.default", "other", {3, 300, 3e-4, 0}, {4, 400, 4e-4, 0}, {}, DType::f16);
  expect_near(a.value, {5, 500, 5e-4, 0}, 1e-3);
  const Answer b = of_two("hypot.default", "other", {3e200, 3e-200, inf, inf, NAN, -6},
                          {4e200, 4e-200, NAN, 1, 1, 8});
  EXPECT_NEAR(b.value[0] / 5e200, 1, 1e-12);
  EXPECT_NEAR(b.value[1] / 5e-200, 1, 1e-12);
  expect_near({b.value.begin() + 2, b.value.end()}, {inf, inf, NAN, 10});
  EXPECT_NEAR(b.gradient[0], 0.6, 1e-12);
  EXPECT_NEAR(b.gradient[5], -0.6, 1e-12);
}

TEST(ExportedRules, InfinitiesAndNaN) {
  expect_near(of_two("logaddexp.default", "other", {-inf, inf, 1, -inf}, {-inf, inf, 1, 2}).value,
              {-inf, inf, 1 + std::log(2), 2});
  expect_near(of_vector("softshrink.default", {NAN, inf, -inf, 0.5, -0.25, -2}).value,
              {NAN, inf, -inf, 0, 0, -1.5});
}

TEST(ExportedRules, IntegersAreConvertedWhereTheResultIsFloating) {
  const Answer a =
      of_vector("logit.default", {0, 1, 2}, {}, DType::u8, {-1}, std::optional(DType::f32));
  expect_near(a.value, {-inf, inf, NAN});
  expect_near(of_vector("logit.default", {0, 1}, {}, DType::boolean, {-1}, DType::f32).value,
              {-inf, inf});
  expect_near(of_vector("exp2.default", {0, 1, -3}, {}, DType::i64, {-1}, DType::f32).value,
              {1, 2, 0.125});
}

TEST(ExportedRules, AProductWithoutSelfReadsNoNaN) {
  Reading r;
  r.input("s", {2});
  r.input("m", {2, 2});
  r.input("v", {2});
  r.node("y", {2}, "addmv.default",
         {{"self", tensor("s")},
          {"mat", tensor("m")},
          {"vec", tensor("v")},
          {"beta", number(0)},
          {"alpha", number(2)}});
  expect_near(answer(r, "y", {{"s", {NAN, NAN}}, {"m", {1, 2, 3, 4}}}).value, {6, 14});
}

TEST(ExportedRules, LinspaceOfOneStepIsItsStart) {
  for (const int64_t steps : {1, 3}) {
    Reading r;
    r.node("y", {steps}, "linspace.default",
           {{"start", real(2)}, {"end", real(5)}, {"steps", number(steps)}});
    expect_near(answer(r, "y", {}).value, steps == 1 ? Numbers{2} : Numbers{2, 3.5, 5});
  }
}

TEST(ExportedRules, MeshgridsOfBothOrders) {
  for (const auto& [order, size, first, second] :
       {std::tuple("xy", std::vector<int64_t>{3, 2}, Numbers{1, 2, 1, 2, 1, 2},
                   Numbers{3, 3, 4, 4, 5, 5}),
        std::tuple("ij", std::vector<int64_t>{2, 3}, Numbers{1, 1, 1, 2, 2, 2},
                   Numbers{3, 4, 5, 3, 4, 5})})
    for (const bool is_first : {true, false}) {
      Reading r;
      r.input("a", {2});
      r.input("b", {3});
      r.node_of_list({"x", "y"}, size, "meshgrid.indexing",
                     {{"tensors", list({tensor("a"), tensor("b")})},
                      {"indexing", of_kind(Kind::text, order)}});
      expect_near(answer(r, is_first ? "x" : "y", {{"a", {1, 2}}, {"b", {3, 4, 5}}}).value,
                  is_first ? first : second);
    }
}

TEST(ExportedRules, AnEmptyDimHasAsManyChunks) {
  Reading r;
  r.input("x", {0, 2});
  r.node_of_list({"a", "b", "c"}, {0, 2}, "chunk.default",
                 {{"self", tensor("x")}, {"chunks", number(3)}});
  EXPECT_EQ(answer(r, "c", {}).failure, "");
}

TEST(ExportedRules, AdaptiveMaxPoolToOneValueHasAPlace) {
  for (const bool is_place : {false, true}) {
    Reading r;
    r.param("x", {1, 2, 2, 2});
    r.source.tensors["y"] = meta_of({1, 2, 1, 1});
    r.source.tensors["i"] = meta_of({1, 2, 1, 1}, DType::i64);
    r.source.nodes.push_back({"torch.ops.aten.adaptive_max_pool2d.default",
                              {{"self", tensor("x")}, {"output_size", numbers({1, 1})}},
                              {tensor("y"), tensor("i")},
                              {},
                              0});
    if (is_place) r.graph.placeholder(0).wants_grad = false;
    const Answer a = answer(r, is_place ? "i" : "y", {{"x", {1, 7, 7, 2, 3, 3, 3, 9}}});
    EXPECT_EQ(a.failure, "");
    expect_near(a.value, is_place ? Numbers{1, 3} : Numbers{7, 9});
    if (!is_place) expect_near(a.gradient, {0, 1, 0, 0, 0, 0, 0, 1});
  }
}

TEST(ExportedRules, EinsumRepeatsDimsOfSizeOne) {
  Reading r;
  r.input("a", {2, 1});
  r.input("b", {2, 2});
  r.node("y", {2, 2}, "einsum.default",
         {{"equation", of_kind(Kind::text, "ij,jk->ik")},
          {"tensors", list({tensor("a"), tensor("b")})}});
  expect_near(answer(r, "y", {{"a", {1, 10}}, {"b", {1, 2, 3, 4}}}).value, {4, 6, 40, 60});
  Reading batch;
  batch.input("a", {1, 2});
  batch.input("b", {2, 2});
  batch.node("y", {2}, "einsum.default",
             {{"equation", of_kind(Kind::text, "bi,bi->b")},
              {"tensors", list({tensor("a"), tensor("b")})}});
  expect_near(answer(batch, "y", {{"a", {1, 10}}, {"b", {1, 2, 3, 4}}}).value, {21, 43});
}

// A label that one operand has several times is its diagonal.
TEST(ExportedRules, EinsumOfRepeatedLabels) {
  const auto of_x = [](const char* equation, std::vector<int64_t> shape) {
    Reading r;
    r.param("x", {2, 2, 2});
    r.node("y", std::move(shape), "einsum.default",
           {{"equation", of_kind(Kind::text, equation)}, {"tensors", list({tensor("x")})}});
    return answer(r, "y", {{"x", {1, 2, 3, 4, 5, 6, 7, 8}}});
  };
  expect_near(of_x("bii->bi", {2, 2}).value, {1, 4, 5, 8});
  expect_near(of_x("...ii->i...", {2, 2}).value, {1, 5, 4, 8});
  expect_near(of_x("bii", {2}).value, {5, 13});
  expect_near(of_x("bib->ib", {2, 2}).value, {1, 6, 3, 8});
  expect_near(of_x("iii->", {}).value, {9});
  expect_near(of_x("iii->i", {2}).gradient, {1, 0, 0, 0, 0, 0, 0, 1});
  Reading two;
  two.input("a", {2, 2});
  two.input("b", {2, 2, 2});
  two.node("y", {2, 2}, "einsum.default",
           {{"equation", of_kind(Kind::text, "bi,bii->bi")},
            {"tensors", list({tensor("a"), tensor("b")})}});
  const Answer a = answer(two, "y", {{"a", {1, 2, 3, 4}}, {"b", {1, 2, 3, 4, 5, 6, 7, 8}}});
  expect_near(a.value, {1, 8, 15, 32});
}

TEST(ExportedRules, PreluOfANumber) {
  Reading r;
  r.input("x", {});
  r.input("w", {1});
  r.node("y", {}, "prelu.default", {{"self", tensor("x")}, {"weight", tensor("w")}});
  expect_near(answer(r, "y", {{"x", {-4}}, {"w", {0.25}}}).value, {-1});
}

}  // namespace
}  // namespace cleave::exported
