// Mistakes with dtypes.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(two_dtypes, "A product of two dtypes",
        "program.cpp:1: mm: C2: mat2 is f64[2,8], expected the dtype of self: f32\n"
        "  in mm(%x: f32[4,2], %w: f64[2,8])") {
  compile([](const Tensor& x, const Tensor& w) { return matmul(x, w); },
          {{"x", f32, {4, 2}}, {"w", DType::f64, {2, 8}}});
}

MISTAKE(tokens_as_floats, "Tokens as floats",
        "program.cpp:3: embedding: C2: indices is f32[8], expected i64 or i32\n"
        "  in embedding(%weight: f32[10,4], %tokens: f32[8])") {
  Generator rng(1);
  nn::Embedding table(10, 4, rng);
  compile(table, [&](const Tensor& t) { return table(t); }, {{"tokens", f32, {8}}});
}

MISTAKE(classes_as_floats, "Classes as floats",
        "program.cpp:1: cross_entropy: input f32[4,10] and target f32[4]: expected "
        "[N,C,*] and i64[N,*], or probabilities of input's shape") {
  compile([](const Tensor& x, const Tensor& y) { return cross_entropy(x, y); },
          {{"logits", f32, {4, 10}}, {"y", f32, {4}}});
}

MISTAKE(mask_of_numbers, "A mask of numbers",
        "program.cpp:1: where: C4: condition is f32[4,3], expected a bool dtype\n"
        "  in where(%mask: f32[4,3], 0.0, %x: f32[4,3])") {
  compile([](const Tensor& x, const Tensor& mask) { return x.masked_fill(mask, 0.0); },
          {{"x", f32, {4, 3}}, {"mask", f32, {4, 3}}});
}

MISTAKE(mean_of_integers, "A mean of integers",
        "program.cpp:1: mean: C3: the dtype of self is i64, expected a floating dtype\n"
        "  in mean(%x: i64[4])") {
  compile([](const Tensor& x) { return mean(x); }, {{"x", i64, {4}}});
}

MISTAKE(elements_as_another_type, "Elements read as another type",
        "HostTensor: dtype: f64 elements of f32[4,2] were asked for") {
  HostTensor x(f32, {4, 2});
  x.data<double>()[0] = 1;
}

MISTAKE(mixed_precision, "Mixed precision of integers",
        "program.cpp:1: compile: autocast: i8: expected bf16 or f16") {
  compile([](const Tensor& x) { return matmul(x, x); }, {{"x", f32, {4, 4}}},
          {.autocast = DType::i8});
}

MISTAKE(gradient_of_integers, "A gradient of integers",
        "count: requires_grad: i64[4] is not floating") {
  nn::Module model;
  model.add_parameter("count", HostTensor(i64, {4})).set_requires_grad(true);
}

}  // namespace
}  // namespace cleave::mistake
