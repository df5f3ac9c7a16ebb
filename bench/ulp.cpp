// The largest errors of the elementary functions of kernels over all 2^32 inputs, in units in the
// last place of the result, against libm in float64: the numbers of the table in
// src/emit/elementary_functions.h.
//
//   bench_ulp exp        one function over all inputs: minutes
//   bench_ulp exp 97     every 97th input
//
// An exact result beyond the largest float, or NaN, must be that; below the least normal number the
// unit is the least subnormal one.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "emit/c_source.h"
#include "runtime/compiler.h"

namespace cleave {
namespace {

struct Subject {
  const char* name;
  double (*exact)(double);
};

const Subject subjects[] = {
    {"exp", [](double x) { return std::exp(x); }},
    {"exp2", [](double x) { return std::exp2(x); }},
    {"expm1", [](double x) { return std::expm1(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"log2", [](double x) { return std::log2(x); }},
    {"log1p", [](double x) { return std::log1p(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"tan", [](double x) { return std::tan(x); }},
    {"asin", [](double x) { return std::asin(x); }},
    {"acos", [](double x) { return std::acos(x); }},
    {"atan", [](double x) { return std::atan(x); }},
    {"sinh", [](double x) { return std::sinh(x); }},
    {"cosh", [](double x) { return std::cosh(x); }},
    {"asinh", [](double x) { return std::asinh(x); }},
    {"acosh", [](double x) { return std::acosh(x); }},
    {"atanh", [](double x) { return std::atanh(x); }},
    {"log10", [](double x) { return std::log10(x); }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
};

struct Worst {
  double ulp = 0;
  float at = 0, got = 0;
};

double error_in_ulp(float got, double want) {
  const auto near = static_cast<float>(want);
  if (std::isnan(want)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isnan(got)) return INFINITY;
  if (std::isinf(near) || std::isinf(got))
    return near == got ? 0 : std::fabs(want) > 3.4028235e38 && got >= 3.4028234e38f ? 1 : INFINITY;
  const float size = std::fabs(near);
  const double ulp = std::max<double>(std::nextafter(size, INFINITY) - size, 0x1p-149);
  return std::fabs(got - want) / ulp;
}

constexpr int64_t block = 1 << 16;

int run(const Subject& s, int64_t stride) {
  auto compiler = value_or_throw(runtime::make_compiler(CompilerChoice::automatic, Target::here()));
  const std::string kernel = fmt::format(
      "void all(const float *x, float *y, int64_t n) {{\n"
      "  for (int64_t i = 0; i < n; i += 16) put_f32x16(y + i, {}_f32x16(get_f32x16(x + "
      "i)));\n}}\n",
      s.name);
  auto code = value_or_throw(compiler->compile(emit::c_prelude_for(kernel) + kernel, "ulp"));
  const auto f = reinterpret_cast<void (*)(const float*, float*, int64_t)>(code->symbol("all"));
  const int64_t count = ((int64_t{1} << 32) + stride - 1) / stride;
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Worst> worst(threads);
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      std::vector<float> x(block), y(block);
      for (int64_t begin = t * block; begin < count; begin += block * threads) {
        for (int64_t i = 0; i < block; ++i)
          x[static_cast<size_t>(i)] =
              std::bit_cast<float>(static_cast<uint32_t>(std::min(begin + i, count - 1) * stride));
        f(x.data(), y.data(), block);
        for (size_t i = 0; i < x.size(); ++i) {
          const double ulp = error_in_ulp(y[i], s.exact(static_cast<double>(x[i])));
          if (ulp > worst[t].ulp) worst[t] = {ulp, x[i], y[i]};
        }
      }
    });
  for (std::thread& t : pool) t.join();
  const Worst& w = *std::max_element(worst.begin(), worst.end(),
                                     [](const Worst& a, const Worst& b) { return a.ulp < b.ulp; });
  fmt::print("{}: {:.4f} ulp at {:a}: {:.9g}, exactly {:.17g}; {} inputs\n", s.name, w.ulp, w.at,
             w.got, s.exact(static_cast<double>(w.at)), count);
  return w.ulp <= 2 ? 0 : 1;
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) {
  const int64_t stride = argc > 2 ? std::max(1, std::atoi(argv[2])) : 1;
  for (const cleave::Subject& s : cleave::subjects)
    if (argc > 1 && std::strcmp(argv[1], s.name) == 0) return cleave::run(s, stride);
  fmt::print("usage: bench_ulp FUNCTION [STRIDE]\n");
  return 1;
}
