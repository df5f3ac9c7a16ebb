// The elementary functions of the kernels' prelude against float64, in units in the last place.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "emit/c_source.h"
#include "runtime/compiler.h"

namespace cleave {
namespace {

using Function = void (*)(const float*, float*, int64_t);

class Elementary : public testing::TestWithParam<runtime::CompilerKind> {
 protected:
  void SetUp() override {
    auto compiler = runtime::make_compiler(GetParam());
    if (!compiler.ok()) GTEST_SKIP() << compiler.failure().message;
    std::string text = emit::c_prelude();
    for (const char* f :
         {"exp_f32", "log_f32", "tanh_f32", "erf_f32", "sigmoid_f32", "round_bf16", "round_f16"})
      text += fmt::format(
          "void all_{0}(const float *restrict x, float *restrict y, int64_t n) {{\n"
          "  for (int64_t i = 0; i < n; ++i) y[i] = {0}(x[i]);\n}}\n",
          f);
    auto code = (*compiler)->compile(text, "elementary");
    ASSERT_TRUE(code.ok()) << code.failure().message;
    code_ = *code;
  }

  std::vector<float> apply(const char* name, const std::vector<float>& x) {
    auto f = reinterpret_cast<Function>(code_->symbol(std::string("all_") + name));
    std::vector<float> y(x.size());
    f(x.data(), y.data(), static_cast<int64_t>(x.size()));
    return y;
  }

  // Largest error in ulp of the float result over inputs of all magnitudes in [lo, hi].
  template <class F>
  double worst_ulp(const char* name, float lo, float hi, F exact) {
    std::mt19937 bits(7);
    std::vector<float> x;
    for (int i = 0; i < 400000; ++i) {
      float v = i % 2 ? std::bit_cast<float>(static_cast<uint32_t>(bits()))
                      : lo + (hi - lo) * static_cast<float>(bits()) * 0x1p-32f;
      if (v >= lo && v <= hi) x.push_back(v);
    }
    const std::vector<float> y = apply(name, x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = exact(static_cast<double>(x[i]));
      const float near = static_cast<float>(want);
      const double ulp =
          std::max<double>(std::nextafter(std::fabs(near), INFINITY) - std::fabs(near), 0x1p-149);
      worst = std::max(worst, std::fabs(y[i] - want) / ulp);
    }
    return worst;
  }

  std::shared_ptr<runtime::LoadedCode> code_;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST_P(Elementary, ErrorsAreFewUlp) {
  EXPECT_LE(worst_ulp("exp_f32", -87.0f, 88.7f, [](double x) { return std::exp(x); }), 2.0);
  EXPECT_LE(worst_ulp("log_f32", 1.2e-38f, 3e38f, [](double x) { return std::log(x); }), 2.0);
  EXPECT_LE(worst_ulp("tanh_f32", -20.0f, 20.0f, [](double x) { return std::tanh(x); }), 3.0);
  EXPECT_LE(worst_ulp("erf_f32", -6.0f, 6.0f, [](double x) { return std::erf(x); }), 3.0);
  EXPECT_LE(worst_ulp("sigmoid_f32", -80.0f, 80.0f, sigmoid), 4.0);
}

TEST_P(Elementary, SpecialValuesAreThoseOfIeee) {
  const float inf = INFINITY, nan = NAN;
  const std::vector<float> x = {inf, -inf, nan, 0.0f, -0.0f, 1e30f, -1e30f};
  auto expect = [&](const char* name, const std::vector<float>& want) {
    const std::vector<float> got = apply(name, x);
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_TRUE(std::isnan(want[i]) ? std::isnan(got[i]) : got[i] == want[i])
          << name << "(" << x[i] << ") = " << got[i];
  };
  expect("exp_f32", {inf, 0, nan, 1, 1, inf, 0});
  expect("log_f32", {inf, nan, nan, -inf, -inf, std::log(1e30f), nan});
  expect("tanh_f32", {1, -1, nan, 0, 0, 1, -1});
  expect("erf_f32", {1, -1, nan, 0, 0, 1, -1});
  expect("sigmoid_f32", {1, 0, nan, 0.5f, 0.5f, 1, 0});
}

TEST_P(Elementary, HalvesRoundToNearestEven) {
  EXPECT_EQ(apply("round_bf16", {1.00390625f, 1.01171875f, 3.4e38f, 1e-40f}),
            (std::vector<float>{1.0f, 1.015625f, INFINITY, std::bit_cast<float>(0x00010000u)}));
  EXPECT_EQ(apply("round_f16",
                  {1.00048828125f, 1.00146484375f, 65519.0f, 65520.0f, 2.9802322e-8f, 5.0e-8f}),
            (std::vector<float>{1.0f, 1.001953125f, 65504.0f, INFINITY, 0.0f, 5.9604645e-8f}));
  EXPECT_TRUE(std::isnan(apply("round_bf16", {NAN})[0]));
  EXPECT_TRUE(std::isnan(apply("round_f16", {NAN})[0]));
}

INSTANTIATE_TEST_SUITE_P(Compilers, Elementary,
                         testing::Values(runtime::CompilerKind::clang, runtime::CompilerKind::cc),
                         [](const auto& info) {
                           return info.param == runtime::CompilerKind::clang ? "clang" : "cc";
                         });

}  // namespace
}  // namespace cleave
