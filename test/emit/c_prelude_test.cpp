// The elementary functions of the kernels' prelude against float64, in units in the last place.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <map>

#include "emit/c_source.h"
#include "runtime/compiler.h"
#include "test/targets.h"

namespace cleave {
namespace {

using Function = void (*)(const float*, float*, int64_t);

struct Way {
  CompilerChoice compiler;
  Target target;
};
// clang, and cc also where it has lanes in parts of one register, as those are short.
std::vector<Way> ways() {
  std::vector<Way> out = {{CompilerChoice::clang, Target::here()}};
  for (const Target& target : test::targets_here())
    if (target.set < InstructionSet::avx512 || target == Target::here())
      out.push_back({CompilerChoice::cc, target});
  return out;
}
std::string name_of(const Way& way) {
  return way.compiler == CompilerChoice::clang ? "clang" : "cc_" + test::name_of(way.target);
}

class Elementary : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    auto compiler = runtime::make_compiler(GetParam().compiler, GetParam().target);
    if (!compiler.ok()) GTEST_SKIP() << compiler.failure().message;
    static std::map<std::string, std::shared_ptr<runtime::LoadedCode>> compiled;
    std::shared_ptr<runtime::LoadedCode>& code = compiled[name_of(GetParam())];
    if (!code) {
      auto made = (*compiler)->compile(text(), "elementary");
      ASSERT_TRUE(made.ok()) << made.failure().message;
      code = *made;
    }
    code_ = code;
  }

  static std::string text() {
    std::string kernels;
    for (const char* f :
         {"exp_f32",   "exp2_f32",  "expm1_f32",   "log_f32",    "log2_f32", "log1p_f32",
          "tanh_f32",  "erf_f32",   "sigmoid_f32", "sin_f32",    "cos_f32",  "tan_f32",
          "asin_f32",  "acos_f32",  "atan_f32",    "sinh_f32",   "cosh_f32", "asinh_f32",
          "acosh_f32", "atanh_f32", "log10_f32",   "round_bf16", "round_f16"})
      kernels += fmt::format(
          "void all_{0}(const float *restrict x, float *restrict y, int64_t n) {{\n"
          "  for (int64_t i = 0; i < n; ++i) y[i] = {0}(x[i]);\n}}\n"
          "void lanes_{0}(const float *restrict x, float *restrict y, int64_t n) {{\n"
          "  for (int64_t i = 0; i < n; i += 16)\n"
          "    put_f32x16_first(y + i, {0}x16(get_f32x16_first(x + i, n - i)), n - i);\n}}\n"
          "void columns_{0}(const float *restrict x, float *restrict y, int64_t n) {{\n"
          "  for (int64_t i = 0; i < n; i += 64)\n"
          "    put_f32x64_first(y + i, {0}x64(get_f32x64_first(x + i, n - i)), n - i);\n}}\n",
          f);
    for (const char* f : {"exp_f64", "log_f64", "log1p_f64", "sigmoid_f64"})
      kernels += fmt::format(
          "void all_{0}(const double *restrict x, double *restrict y, int64_t n) {{\n"
          "  for (int64_t i = 0; i < n; ++i) y[i] = {0}(x[i]);\n}}\n"
          "void lanes_{0}(const double *restrict x, double *restrict y, int64_t n) {{\n"
          "  for (int64_t i = 0; i < n; i += 16)\n"
          "    put_f64x16(y + i, {0}x16(get_f64x16(x + i)));\n}}\n"
          "void columns_{0}(const double *restrict x, double *restrict y, int64_t n) {{\n"
          "  for (int64_t i = 0; i < n; i += 64)\n"
          "    put_f64x64(y + i, {0}x64(get_f64x64(x + i)));\n}}\n",
          f);
    for (const char* of : {"i32", "i64"})
      for (const char* f : {"shl", "shr"})
        kernels += fmt::format(
            "void {0}_of_{1}(const {2} *restrict a, const {2} *restrict n, {2} *restrict one,"
            " {2} *restrict lanes) {{\n  for (int64_t i = 0; i < 16; ++i)"
            " one[i] = {0}_{1}(a[i], n[i]);\n"
            "  put_{1}x16(lanes, {0}_{1}x16(get_{1}x16(a), get_{1}x16(n)));\n}}\n",
            f, of, of == std::string("i32") ? "int32_t" : "int64_t");
    for (const char* f : {"atan2_f32", "fmod_f32", "pow_f32"})
      kernels += fmt::format(
          "void all_{0}(const float *restrict a, const float *restrict b, float *restrict y,"
          " int64_t n) {{\n  for (int64_t i = 0; i < n; ++i) y[i] = {0}(a[i], b[i]);\n}}\n"
          "void lanes_{0}(const float *restrict a, const float *restrict b, float *restrict y,"
          " int64_t n) {{\n  for (int64_t i = 0; i < n; i += 16)\n"
          "    put_f32x16(y + i, {0}x16(get_f32x16(a + i), get_f32x16(b + i)));\n}}\n"
          "void columns_{0}(const float *restrict a, const float *restrict b, float *restrict y,"
          " int64_t n) {{\n  for (int64_t i = 0; i < n; i += 64)\n"
          "    put_f32x64(y + i, {0}x64(get_f32x64(a + i), get_f32x64(b + i)));\n}}\n",
          f);
    for (const char* of : {"f32", "i32"})
      kernels += fmt::format(
          "void near_{0}(const {1} *x, const int64_t *i, const int32_t *on, int64_t left, {1} *y)"
          " {{\n  const i64x16 at = get_i64x16(i);\n"
          "  put_{0}x16(y, near_{0}x16(x, at));\n"
          "  put_{0}x16(y + 16, near_{0}x16_first(x, at, left));\n"
          "  put_{0}x16(y + 32, near_{0}x16_where(x, at, get_i32x16(on)));\n"
          "  put_{0}x16(y + 48, strided_{0}x16(x + 40, -1));\n"
          "  put_{0}x16(y + 64, strided_{0}x16_first(x + 40, -1, left));\n}}\n",
          of, of == std::string("f32") ? "float" : "int32_t");
    return emit::c_prelude_for(kernels) + kernels;
  }

  std::vector<float> apply(const std::string& name, const std::vector<float>& x) {
    auto f = reinterpret_cast<Function>(code_->symbol(name));
    std::vector<float> y(x.size());
    f(x.data(), y.data(), static_cast<int64_t>(x.size()));
    return y;
  }

  // Of two operands, of a multiple of 64 elements.
  std::vector<float> apply(const std::string& name, const std::vector<float>& a,
                           const std::vector<float>& b) {
    auto f = reinterpret_cast<void (*)(const float*, const float*, float*, int64_t)>(
        code_->symbol(name));
    std::vector<float> y(a.size());
    f(a.data(), b.data(), y.data(), static_cast<int64_t>(y.size()));
    return y;
  }

  // The error in ulp of the worst result over every 4099th of all inputs. Lanes have the bits of
  // single elements.
  double worst_ulp(const std::string& name, double (*exact)(double)) {
    std::vector<float> x;
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4099)
      x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    const std::vector<float> y = apply("all_" + name, x);
    EXPECT_TRUE(same(y, apply("lanes_" + name, x))) << name;
    EXPECT_TRUE(same(y, apply("columns_" + name, x))) << name;
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = exact(static_cast<double>(x[i]));
      const auto near = static_cast<float>(want);
      if (std::isnan(want) || std::isinf(near)) {
        EXPECT_TRUE(std::isnan(want) ? std::isnan(y[i]) : y[i] == near || std::fabs(y[i]) > 3.4e38f)
            << name << "(" << x[i] << ") = " << y[i];
        continue;
      }
      const double ulp =
          std::max<double>(std::nextafter(std::fabs(near), INFINITY) - std::fabs(near), 0x1p-149);
      worst = std::max(worst, std::isnan(y[i]) ? INFINITY : std::fabs(y[i] - want) / ulp);
    }
    return worst;
  }
  // The same bits, but for which NaN it is.
  static bool same(const std::vector<float>& a, const std::vector<float>& b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (!(std::isnan(a[i]) && std::isnan(b[i])) &&
          std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]))
        return false;
    return a.size() == b.size();
  }

  std::shared_ptr<runtime::LoadedCode> code_;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// No name is defined twice, and none before what it uses.
TEST(Prelude, AllOfItCompiles) {
  for (const Way& way : ways())
    if (auto compiler = runtime::make_compiler(way.compiler, way.target); compiler.ok()) {
      const auto code =
          (*compiler)->compile(emit::c_prelude() + "int one(void) { return 1; }\n", "all");
      EXPECT_TRUE(code.ok()) << code.failure().message;
    }
}

TEST_P(Elementary, ErrorsAreAtMostTwoUlp) {
  EXPECT_LE(worst_ulp("exp_f32", [](double x) { return std::exp(x); }), 1.1);
  EXPECT_LE(worst_ulp("exp2_f32", [](double x) { return std::exp2(x); }), 1.1);
  EXPECT_LE(worst_ulp("expm1_f32", [](double x) { return std::expm1(x); }), 1.5);
  EXPECT_LE(worst_ulp("log_f32", [](double x) { return std::log(x); }), 1.0);
  EXPECT_LE(worst_ulp("log2_f32", [](double x) { return std::log2(x); }), 1.5);
  EXPECT_LE(worst_ulp("log1p_f32", [](double x) { return std::log1p(x); }), 1.0);
  EXPECT_LE(worst_ulp("tanh_f32", [](double x) { return std::tanh(x); }), 1.5);
  EXPECT_LE(worst_ulp("erf_f32", [](double x) { return std::erf(x); }), 1.2);
  EXPECT_LE(worst_ulp("sigmoid_f32", sigmoid), 2.0);
  EXPECT_LE(worst_ulp("sin_f32", [](double x) { return std::sin(x); }), 1.7);
  EXPECT_LE(worst_ulp("cos_f32", [](double x) { return std::cos(x); }), 1.7);
  EXPECT_LE(worst_ulp("tan_f32", [](double x) { return std::tan(x); }), 0.6);
  EXPECT_LE(worst_ulp("asin_f32", [](double x) { return std::asin(x); }), 0.51);
  EXPECT_LE(worst_ulp("acos_f32", [](double x) { return std::acos(x); }), 0.51);
  EXPECT_LE(worst_ulp("atan_f32", [](double x) { return std::atan(x); }), 0.51);
  EXPECT_LE(worst_ulp("sinh_f32", [](double x) { return std::sinh(x); }), 0.51);
  EXPECT_LE(worst_ulp("cosh_f32", [](double x) { return std::cosh(x); }), 0.51);
  EXPECT_LE(worst_ulp("asinh_f32", [](double x) { return std::asinh(x); }), 0.51);
  EXPECT_LE(worst_ulp("acosh_f32", [](double x) { return std::acosh(x); }), 0.51);
  EXPECT_LE(worst_ulp("atanh_f32", [](double x) { return std::atanh(x); }), 0.51);
  EXPECT_LE(worst_ulp("log10_f32", [](double x) { return std::log10(x); }), 0.51);
}

// Each special value with each other one, and numbers of all sizes; fmod is exact.
TEST_P(Elementary, OfTwoOperands) {
  std::vector<float> one = {INFINITY, -INFINITY, NAN,    0.0f,  -0.0f,    1e30f,   -1e30f,
                            1.0f,     -1.0f,     1e-40f, -3.0f, 16777216, 3.4e38f, 1e-45f};
  uint32_t bits = 1;
  for (int k = 0; k < 300; ++k) {
    bits = bits * 1664525u + 1013904223u;
    one.push_back(std::bit_cast<float>(bits));
    one.push_back(static_cast<float>(static_cast<int32_t>(bits >> 8) % 2001 - 1000) / 8);
  }
  std::vector<float> a, b;
  for (const float x : one)
    for (const float y : one) a.push_back(x), b.push_back(y);
  while (a.size() % 64 != 0) a.push_back(1), b.push_back(1);
  for (const std::string name : {"atan2_f32", "fmod_f32", "pow_f32"}) {
    const std::vector<float> y = apply("all_" + name, a, b);
    EXPECT_TRUE(same(y, apply("lanes_" + name, a, b))) << name;
    EXPECT_TRUE(same(y, apply("columns_" + name, a, b))) << name;
    int wrong = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const double x = a[i], z = b[i];
      const double want = name == "fmod_f32"  ? std::fmod(x, z)
                          : name == "pow_f32" ? std::pow(x, z)
                                              : std::atan2(x, z);
      const auto near = static_cast<float>(want);
      const double ulp = std::nextafter(std::fabs(near), INFINITY) - std::fabs(near);
      if (std::isinf(near) && std::isinf(y[i]) && std::signbit(near) == std::signbit(y[i]))
        continue;
      const bool is_right =
          std::isnan(want) ? std::isnan(y[i])
                           : std::signbit(y[i]) == std::signbit(near) &&
                                 std::fabs(y[i] - want) <= (name == "fmod_f32" ? 0 : 0.51 * ulp);
      wrong += !is_right;
      if (!is_right && wrong < 5)
        ADD_FAILURE() << name << "(" << x << ", " << z << ") = " << y[i] << ", not " << want;
    }
    EXPECT_EQ(wrong, 0) << name;
  }
}

TEST_P(Elementary, SpecialValuesAreThoseOfIeee) {
  const float inf = INFINITY, nan = NAN;
  const std::vector<float> x = {inf, -inf, nan, 0.0f, -0.0f, 1e30f, -1e30f};
  auto expect = [&](const char* name, const std::vector<float>& want) {
    const std::vector<float> got = apply(std::string("all_") + name, x);
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_TRUE(std::isnan(want[i])
                      ? std::isnan(got[i])
                      : got[i] == want[i] && std::signbit(got[i]) == std::signbit(want[i]))
          << name << "(" << x[i] << ") = " << got[i];
  };
  expect("exp_f32", {inf, 0, nan, 1, 1, inf, 0});
  expect("exp2_f32", {inf, 0, nan, 1, 1, inf, 0});
  expect("expm1_f32", {inf, -1, nan, 0, -0.0f, inf, -1});
  expect("log_f32", {inf, nan, nan, -inf, -inf, std::log(1e30f), nan});
  expect("log1p_f32", {inf, nan, nan, 0, -0.0f, std::log(1e30f), nan});
  expect("tanh_f32", {1, -1, nan, 0, -0.0f, 1, -1});
  expect("erf_f32", {1, -1, nan, 0, -0.0f, 1, -1});
  expect("sigmoid_f32", {1, 0, nan, 0.5f, 0.5f, 1, 0});
  expect("sin_f32", {nan, nan, nan, 0, -0.0f, std::sin(1e30f), std::sin(-1e30f)});
  expect("cos_f32", {nan, nan, nan, 1, 1, std::cos(1e30f), std::cos(-1e30f)});
  const auto of_large = [](double (*f)(double)) {
    return static_cast<float>(f(static_cast<double>(1e30f)));
  };
  const float turn = std::asin(1.0f), large = of_large(std::asinh);
  expect("tan_f32", {nan, nan, nan, 0, -0.0f, std::tan(1e30f), std::tan(-1e30f)});
  expect("asin_f32", {nan, nan, nan, 0, -0.0f, nan, nan});
  expect("acos_f32", {nan, nan, nan, turn, turn, nan, nan});
  expect("atan_f32", {turn, -turn, nan, 0, -0.0f, turn, -turn});
  expect("sinh_f32", {inf, -inf, nan, 0, -0.0f, inf, -inf});
  expect("cosh_f32", {inf, inf, nan, 1, 1, inf, inf});
  expect("asinh_f32", {inf, -inf, nan, 0, -0.0f, large, -large});
  expect("acosh_f32", {inf, nan, nan, nan, nan, of_large(std::acosh), nan});
  expect("atanh_f32", {nan, nan, nan, 0, -0.0f, nan, nan});
  expect("log10_f32", {inf, nan, nan, -inf, -inf, of_large(std::log10), nan});
}

template <class T>
void expect_equal_shifts(runtime::LoadedCode& code, const std::string& of) {
  const std::vector<T> a = {1,
                            -1,
                            5,
                            -5,
                            std::numeric_limits<T>::min(),
                            std::numeric_limits<T>::max(),
                            77,
                            -77,
                            1,
                            -1,
                            3,
                            -3,
                            9,
                            -9,
                            0,
                            1},
                       n = {0,
                            1,
                            31,
                            32,
                            33,
                            63,
                            64,
                            65,
                            -1,
                            -1,
                            62,
                            63,
                            8 * sizeof(T),
                            8 * sizeof(T),
                            5,
                            std::numeric_limits<T>::min()};
  for (const std::string f : {"shl_of_", "shr_of_"}) {
    std::vector<T> one(16), lanes(16);
    reinterpret_cast<void (*)(const T*, const T*, T*, T*)>(code.symbol(f + of))(
        a.data(), n.data(), one.data(), lanes.data());
    EXPECT_EQ(one, lanes) << f << of;
  }
}

// Elements of a window, beyond it, in any order; all of them, the first ones, and those of a mask.
template <class T>
void expect_near(runtime::LoadedCode& code, const std::string& name) {
  std::vector<T> x(200);
  for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<T>(k + 1);
  const auto f = reinterpret_cast<void (*)(const T*, const int64_t*, const int32_t*, int64_t, T*)>(
      code.symbol(name));
  for (const auto& [step, by, from] :  // of 16 lanes: from + lane * step / by
       {std::array{1, 1, 7}, std::array{1, 2, 9}, std::array{1, 4, 0}, std::array{0, 1, 33},
        std::array{2, 1, 3}, std::array{-1, 1, 90}, std::array{11, 1, 5}, std::array{16, 15, 4}})
    for (int left = 1; left <= 16; ++left) {
      std::vector<int64_t> at(16);
      std::vector<int32_t> on(16);
      for (int l = 0; l < 16; ++l) {
        at[static_cast<size_t>(l)] = from + l * step / by;
        on[static_cast<size_t>(l)] = (l * 7 + left) % 5 < 2 || left == 16 ? -1 : 0;
      }
      std::vector<T> y(80);
      f(x.data(), at.data(), on.data(), left, y.data());
      for (size_t l = 0; l < 16; ++l) {
        const T want = static_cast<T>(at[l] + 1), back = static_cast<T>(41 - l);
        EXPECT_EQ(y[l], want) << name << " step " << step << "/" << by << " lane " << l;
        EXPECT_EQ(y[32 + l], on[l] ? want : T{0}) << name << " step " << step << " lane " << l;
        EXPECT_EQ(y[48 + l], back);
        if (l >= static_cast<size_t>(left)) continue;
        EXPECT_EQ(y[16 + l], want) << name << " step " << step << " first " << left;
        EXPECT_EQ(y[64 + l], back);
      }
    }
}

TEST_P(Elementary, ElementsNearEachOther) {
  expect_near<float>(*code_, "near_f32");
  expect_near<int32_t>(*code_, "near_i32");
}

// By less than 0 and by more than the width, too.
TEST_P(Elementary, ShiftsOfLanesAreThoseOfOne) {
  expect_equal_shifts<int32_t>(*code_, "i32");
  expect_equal_shifts<int64_t>(*code_, "i64");
}

// Against long doubles: numbers of all sizes, those near 0 and 1, and the special ones.
TEST_P(Elementary, OfDoubles) {
  std::vector<double> x = {INFINITY, -INFINITY, NAN,    0.0,     -0.0,   1.0,    -1.0,   710.0,
                           -745.0,   -746.0,    709.78, 5e-324,  1e-310, 1e308,  -1e308, 0x1p-54,
                           -0x1p-54, 1e-17,     -0.5,   -0.9999, -2.0,   1e-300, 1e300,  0.5};
  uint64_t bits = 1;
  for (int k = 0; k < 40000; ++k) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    const double part = static_cast<double>(bits >> 11) * 0x1p-53;
    x.push_back(std::bit_cast<double>(bits));
    for (const double y : {part * 1500 - 750, part * 4 - 1, 1 + part * 1e-3, part * 2e-8 - 1e-8})
      x.push_back(y);
  }
  while (x.size() % 64 != 0) x.push_back(1);
  const struct {
    const char* name;
    long double (*exact)(long double);
    double most;
  } all[] = {
      {"exp_f64", [](long double v) { return std::exp(v); }, 1.0},
      {"log_f64", [](long double v) { return std::log(v); }, 1.0},
      {"log1p_f64", [](long double v) { return std::log1p(v); }, 1.6},
      {"sigmoid_f64", [](long double v) { return 1 / (1 + std::exp(-v)); }, 2.0},
  };
  for (const auto& [name, exact, most] : all) {
    const auto apply = [&](const std::string& way) {
      auto f =
          reinterpret_cast<void (*)(const double*, double*, int64_t)>(code_->symbol(way + name));
      std::vector<double> y(x.size());
      f(x.data(), y.data(), static_cast<int64_t>(x.size()));
      return y;
    };
    const std::vector<double> y = apply("all_"), lanes = apply("lanes_"), wide = apply("columns_");
    double worst = 0, at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const auto equal = [&](double a) {
        return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(y[i]) ||
               (std::isnan(a) && std::isnan(y[i]));
      };
      ASSERT_TRUE(equal(lanes[i]) && equal(wide[i])) << name << " " << x[i];
      const long double want = exact(x[i]);
      const auto near = static_cast<double>(want);
      if (std::isnan(near) || std::isinf(near)) {
        EXPECT_TRUE(std::isnan(near) ? std::isnan(y[i]) : y[i] == near)
            << name << "(" << x[i] << ") = " << y[i];
        continue;
      }
      const double size = std::fabs(near);
      const double ulp = std::max(std::nextafter(size, INFINITY) - size, 0x1p-1074);
      const auto error = static_cast<double>(std::fabs(y[i] - want)) / ulp;
      if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error, at = x[i];
    }
    EXPECT_LE(worst, most) << name << " at " << at;
  }
}

TEST_P(Elementary, HalvesRoundToNearestEven) {
  EXPECT_EQ(apply("all_round_bf16", {1.00390625f, 1.01171875f, 3.4e38f, 1e-40f}),
            (std::vector<float>{1.0f, 1.015625f, INFINITY, std::bit_cast<float>(0x00010000u)}));
  EXPECT_EQ(apply("all_round_f16",
                  {1.00048828125f, 1.00146484375f, 65519.0f, 65520.0f, 2.9802322e-8f, 5.0e-8f}),
            (std::vector<float>{1.0f, 1.001953125f, 65504.0f, INFINITY, 0.0f, 5.9604645e-8f}));
  EXPECT_TRUE(std::isnan(apply("all_round_bf16", {NAN})[0]));
  EXPECT_TRUE(std::isnan(apply("all_round_f16", {NAN})[0]));
}

INSTANTIATE_TEST_SUITE_P(Compilers, Elementary, testing::ValuesIn(ways()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace cleave
