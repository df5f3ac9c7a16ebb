// Mistakes with dtypes.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(two_dtypes, "A product of two dtypes",
        R"(@)") {
  compile([](const Tensor& x, const Tensor& w) { return matmul(x, w); },
          {{"x", f32, {4, 2}}, {"w", DType::f64, {2, 8}}});
}

MISTAKE(tokens_as_floats, "Tokens as floats",
        R"(@)") {
  Generator rng(1);
  nn::Embedding table(10, 4, rng);
  compile(table, [&](const Tensor& t) { return table(t); }, {{"tokens", f32, {8}}});
}

MISTAKE(classes_as_floats, "Classes as floats",
        R"(@)") {
  compile([](const Tensor& x, const Tensor& y) { return cross_entropy(x, y); },
          {{"logits", f32, {4, 10}}, {"y", f32, {4}}});
}

MISTAKE(mask_of_numbers, "A mask of numbers",
        R"(@)") {
  compile([](const Tensor& x, const Tensor& mask) { return x.masked_fill(mask, 0.0); },
          {{"x", f32, {4, 3}}, {"mask", f32, {4, 3}}});
}

MISTAKE(mean_of_integers, "A mean of integers",
        R"(@)") {
  compile([](const Tensor& x) { return mean(x); }, {{"x", i64, {4}}});
}

MISTAKE(elements_as_another_type, "Elements read as another type",
        R"(@)") {
  HostTensor x(f32, {4, 2});
  x.data<double>()[0] = 1;
}

MISTAKE(mixed_precision, "Mixed precision of integers",
        R"(@)") {
  compile([](const Tensor& x) { return matmul(x, x); }, {{"x", f32, {4, 4}}},
          {.autocast = DType::i8});
}

MISTAKE(gradient_of_integers, "A gradient of integers",
        R"(@)") {
  nn::Module model;
  model.add_parameter("count", HostTensor(i64, {4})).set_requires_grad(true);
}

}  // namespace
}  // namespace cleave::mistake
