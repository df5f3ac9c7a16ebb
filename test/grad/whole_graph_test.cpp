// Gradients of whole small networks against central differences.
// tests: add_gradients.cpp
#include <gtest/gtest.h>

#include "grad/grad.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;

// Each gradient of the joint graph against differences of the forward in every element, 1e-6.
void expect_gradients(const std::string& text) {
  const Graph forward = parsed(text);
  auto made = make_joint(forward, core());
  ASSERT_TRUE(made.ok()) << made.failure().message;
  const Graph joint = *made;
  ASSERT_TRUE(verify(joint).ok()) << verify(joint).failure().message;
  auto inputs = test::random_inputs(joint);
  const Arrays got = value_or_throw(interpret(joint, inputs));

  auto loss = [&](const std::map<std::string, Array>& all) {
    std::map<std::string, Array> in = all;
    std::erase_if(in, [](const auto& p) { return p.first.starts_with("tangent."); });
    const Arrays y = value_or_throw(interpret(forward, in));
    double sum = 0;
    for (size_t k = 0; k < y.size(); ++k)
      if (auto t = all.find(fmt::format("tangent.{}", k)); t != all.end())
        for (int64_t e = 0; e < y[k].numel(); ++e) sum += y[k].f[e] * t->second.f[e];
    return sum;
  };
  constexpr double h = 0x1p-12;
  for (size_t r = 0; r < joint.returns().size(); ++r) {
    if (joint.returns()[r].kind != ReturnKind::grad) continue;
    const std::string name = joint.name(joint.returns()[r].target);
    Array want = got[r];
    for (int64_t e = 0; e < want.numel(); ++e) {
      auto at = [&](double d) {
        auto moved = inputs;
        moved[name].f[e] += d;
        return loss(moved);
      };
      want.f[e] = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    }
    EXPECT_EQ(test::mismatch(got[r], want, 1e-6), "") << name;
  }
}

TEST(WholeGraph, mlp) {
  expect_gradients(
      "graph @main(%w1: param f64[5,4] grad, %b1: param f64[5] grad, %w2: param f64[2,5] grad,\n"
      "            %x: input f64[3,4] grad) {\n"
      "  %t1 = permute(%w1; dims=[1,0])\n"
      "  %h = addmm(%b1, %x, %t1)\n"
      "  %a = tanh(%h)\n"
      "  %t2 = permute(%w2; dims=[1,0])\n"
      "  %y = mm(%a, %t2)\n"
      "  %loss = mean(%y; dim=[0,1])\n"
      "  return %loss, %a\n}\n");
}

TEST(WholeGraph, attention) {
  expect_gradients(
      "graph @main(%wq: param f64[4,4] grad, %wk: param f64[4,4] grad, %wv: param f64[4,4] grad,\n"
      "            %x: input f64[3,4] grad) {\n"
      "  %q = mm(%x, %wq)\n"
      "  %k = mm(%x, %wk)\n"
      "  %v = mm(%x, %wv)\n"
      "  %kt = permute(%k; dims=[1,0])\n"
      "  %s = mm(%q, %kt)\n"
      "  %d = div(%s; other=2.0)\n"
      "  %r = arange(end=3)\n"
      "  %i = unsqueeze(%r; dim=0)\n"
      "  %j = unsqueeze(%r; dim=1)\n"
      "  %m = gt(%i, %j)\n"
      "  %hidden = scalar_tensor(s=-inf, dtype=f64)\n"
      "  %w = where(%m, %hidden, %d)\n"
      "  %p = _softmax(%w; dim=-1, half_to_float=false)\n"
      "  %o = mm(%p, %v)\n"
      "  %n, %mean, %rstd = native_layer_norm(%o; normalized_shape=[4], eps=1e-05)\n"
      "  %y = add(%n, %x)\n"
      "  return %y\n}\n");
}

TEST(WholeGraph, cross_entropy_of_embedded_tokens) {
  expect_gradients(
      "graph @main(%table: param f64[4,3] grad, %i: input i64[2,2], %t: input i64[4]) {\n"
      "  %e = embedding(%table, %i)\n"
      "  %x = view(%e; size=[4,3])\n"
      "  %wt = permute(%table; dims=[1,0])\n"
      "  %logits = mm(%x, %wt)\n"
      "  %lp = _log_softmax(%logits; dim=1, half_to_float=false)\n"
      "  %u = unsqueeze(%t; dim=1)\n"
      "  %g = gather(%lp, %u; dim=1)\n"
      "  %s = sum(%g; dim=[])\n"
      "  %loss = neg(%s)\n"
      "  return %loss\n}\n");
}

// Like ATen, which divides the cotangent among the minimal elements and gives 0 to the others.
// Operators whose gradient is that of their parts: one operand is computed from the other, and
// its gradient reaches the other once.
TEST(WholeGraph, parts_of_operands_that_depend_on_each_other) {
  expect_gradients(
      "graph @main(%x: input f64[4,3] grad) {\n"
      "  %y = exp(%x)\n"
      "  %a = _cdist_forward(%x, %y; p=2.0)\n"
      "  %b = _cdist_forward(%y, %x; p=3.0)\n"
      "  return %a, %b\n}\n");
  expect_gradients(
      "graph @main(%x: input f64[1,2,3,2] grad) {\n"
      "  %g = tanh(%x)\n"
      "  %y = grid_sampler_2d(%x, %g; interpolation_mode=0, padding_mode=0, align_corners=false)\n"
      "  return %y\n}\n");
}

TEST(WholeGraph, nan_of_a_minimum_stays_with_the_least) {
  const Graph joint = value_or_throw(make_joint(
      parsed("graph @main(%x: input f64[3] grad) {\n  %m = min(%x)\n  return %m\n}\n"), core()));
  Array x(DType::f64, {3}), cotangent(DType::f64, {});
  x.f = {1, -2, 5};
  cotangent.f = {NAN};
  const Arrays y = value_or_throw(interpret(joint, {{"x", x}, {"tangent.0", cotangent}}));
  EXPECT_EQ(y[1].f[0], 0);
  EXPECT_TRUE(std::isnan(y[1].f[1]));
  EXPECT_EQ(y[1].f[2], 0);
}

// Work and memory are linear in the length; a zero makes the gradient of later elements 0.
TEST(WholeGraph, cumulative_product_of_a_long_line) {
  constexpr int64_t n = 100000, zero = 40000;
  const Graph joint =
      value_or_throw(make_joint(parsed("graph @main(%x: input f64[100000] grad) {\n"
                                       "  %y = cumprod(%x; dim=0)\n  return %y\n}\n"),
                                core()));
  Array ones(DType::f64, {n});
  std::fill(ones.f.begin(), ones.f.end(), 1.0);
  Array x = ones;
  x.f[zero] = 0;
  const Arrays got = value_or_throw(interpret(joint, {{"x", x}, {"tangent.0", ones}}));
  for (int64_t j = 0; j < n; ++j)
    ASSERT_EQ(got[1].f[j], j < zero ? zero - j : j == zero ? n - zero : 0) << j;
}

}  // namespace
}  // namespace cleave
