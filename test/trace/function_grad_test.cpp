// grad: first and second derivatives inside a trace, against formulas.
#include <gtest/gtest.h>

#include <cmath>

#include "cleave/control_flow.h"
#include "cleave/grad.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::array_of;
using test::filled;
using test::message;
using test::run;
using test::traced;

const std::vector<InputSpec> one_x{{"x", DType::f64, {3}}};
const std::vector<double> x_values{0.5, -2, 3};

// f of x = x_values, by the oracle.
Array of_x(const TracedFunction& f) {
  return run(traced(one_x, f), {{"x", filled({3}, x_values)}}).at(0);
}

void expect_each(const Array& got, double (*want)(double)) {
  ASSERT_EQ(got.shape, std::vector<int64_t>{3});
  for (size_t k = 0; k < x_values.size(); ++k)
    EXPECT_NEAR(got.number(static_cast<int64_t>(k)), want(x_values[k]), 1e-12) << k;
}

TEST(Grad, of_a_sum_and_again) {
  const auto cubes = [](const Tensor& x) { return (x * x * x).sum(); };
  expect_each(of_x([&](const Tensor& x) { return grad(cubes(x), {x})[0]; }),
              [](double x) { return 3 * x * x; });
  expect_each(of_x([&](const Tensor& x) { return grad(grad(cubes(x), {x})[0].sum(), {x})[0]; }),
              [](double x) { return 6 * x; });
  expect_each(of_x([&](const Tensor& x) {
                Tensor y = cubes(x);
                for (int k = 0; k < 3; ++k) y = grad(y, {x})[0].sum();
                return y + 0 * x;
              }),
              [](double) { return 18.0; });
}

TEST(Grad, with_a_cotangent_of_many_elements) {
  expect_each(of_x([](const Tensor& x) { return grad(sin(x), {x}, {.cotangent = 2 * x})[0]; }),
              [](double x) { return 2 * x * std::cos(x); });
}

TEST(Grad, by_values_that_are_no_inputs) {
  expect_each(of_x([](const Tensor& x) {
                const Tensor h = exp(x);
                return grad((h * h).sum(), {h})[0];
              }),
              [](double x) { return 2 * std::exp(x); });
}

// Two of wrt, one computed from the other: each as if it were asked for alone.
TEST(Grad, by_a_value_and_what_it_is_made_of) {
  const auto both = [](const Tensor& x) {
    const Tensor h = x * x;
    const Tensors d = grad((h * h).sum(), {h, x});
    return Tensors{d[0], d[1]};
  };
  const Arrays got = run(traced(one_x, both), {{"x", filled({3}, x_values)}});
  expect_each(got[0], [](double x) { return 2 * x * x; });
  expect_each(got[1], [](double x) { return 4 * x * x * x; });
}

// Values of Variables alone belong to no program until one uses them.
TEST(Grad, by_variables_outside_and_inside_of_a_program) {
  HostTensor w(DType::f64, {3});
  for (int k = 0; k < 3; ++k) w.set_number(k, k + 1);
  const Variable v("w", w);
  const auto penalty = [&](const Tensor& x) { return grad((v * v * v).sum(), {v})[0] + 0 * x; };
  const auto product = [&](const Tensor& x) { return grad((v * v * x).sum(), {v})[0]; };
  const auto through = [&](const Tensor& x) {
    const Tensor twice = v * 2;  // of no program
    return grad((twice * twice * x).sum(), {twice})[0];
  };
  const std::map<std::string, Array> in{{"x", filled({3}, x_values)}, {"w", array_of(w)}};
  for (int k = 0; k < 3; ++k) {
    const double p = k + 1, x = x_values[static_cast<size_t>(k)];
    EXPECT_EQ(run(traced(one_x, penalty), in)[0].number(k), 3 * p * p);
    EXPECT_EQ(run(traced(one_x, product), in)[0].number(k), 2 * p * x);
    EXPECT_EQ(run(traced(one_x, through), in)[0].number(k), 4 * p * x);
  }
}

TEST(Grad, in_a_branch_and_through_one) {
  const auto inside = [](const Tensor& x) {
    return cond(
        gt(x.sum(), 0), [](const Tensor& a) { return grad((a * a).sum(), {a})[0]; },
        [](const Tensor& a) { return a; }, {x})[0];
  };
  expect_each(of_x(inside), [](double x) { return 2 * x; });
  const auto through = [](const Tensor& x) {
    const Tensor y = cond(
        gt(x.sum(), 0), [](const Tensor& a) { return a * a * a; },
        [](const Tensor& a) { return a; }, {x})[0];
    return grad(grad(y.sum(), {x})[0].sum(), {x})[0];
  };
  expect_each(of_x(through), [](double x) { return 6 * x; });
}

TEST(Grad, of_what_is_not_used) {
  const auto f = [](bool zeros) {
    return [zeros](const Tensor& x) {
      const Tensor h = x * 2;
      return grad((x * x).sum(), {h}, {.allow_unused = zeros})[0];
    };
  };
  expect_each(of_x(f(true)), [](double) { return 0.0; });
  EXPECT_NE(
      message([&] { of_x(f(false)); }).find("grad: y doesn't depend on %mul, number 0 of wrt"),
      std::string::npos)
      << message([&] { of_x(f(false)); });
  EXPECT_NE(message([&] {
              of_x([](const Tensor& x) { return grad(detach(x).sum(), {x})[0]; });
            }).find("grad: y doesn't depend on %x"),
            std::string::npos);
}

TEST(Grad, says_what_is_wrong) {
  const auto says = [](const TracedFunction& f, const std::string& what) {
    const std::string got = message([&] { of_x(f); });
    EXPECT_NE(got.find(what), std::string::npos) << got;
    EXPECT_NE(got.find("function_grad_test.cpp:"), std::string::npos) << got;
  };
  says([](const Tensor& x) { return grad(x * 2, {x})[0]; },
       "grad: y is f64[3], expected a floating Tensor of one element: take its sum()");
  says([](const Tensor& x) { return grad(gt(x, 0).sum(), {x})[0]; },
       "grad: y is i64[], expected floats");
  says([](const Tensor& x) { return grad(x.sum(), {x, Tensor()})[0]; },
       "grad: one of wrt is an empty Tensor");
  says([](const Tensor& x) { return grad(Tensor(), {x})[0]; }, "grad: y is an empty Tensor");
  says([](const Tensor& x) { return grad(x.sum(), {x, to(x, DType::i64)})[0]; },
       "only floating values have a gradient");
  says([](const Tensor& x) { return grad(x * 2, {x}, {.cotangent = x.sum()})[0]; },
       "the cotangent %sum is f64[], expected the type of %mul: f64[3]");
  says(
      [](const Tensor& x) {
        const Tensor y = (x * x).sum();
        return cond(
            gt(y, 0), [&](const Tensor& a) { return grad(y, {a})[0]; },
            [](const Tensor& a) { return a; }, {x})[0];
      },
      "grad: y belongs to test, outside of a branch of cond");
}

}  // namespace
}  // namespace cleave
