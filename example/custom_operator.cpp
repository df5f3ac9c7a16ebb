// Operators of the host program: `snake`, x + sin(ax)^2 / a, with a kernel in C, and `clip_rows`,
// which scales each row to a largest norm, as a callback in C++. Both are trained through.
#include <cleave/cleave.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

using namespace cleave;

Operator snake() {
  return {
      .name = "snake",
      .signature = "(Tensor x, float a=1.0) -> Tensor y",
      .summary = "x + sin(a x)^2 / a",
      .infer =
          [](const OpCall& op) {
            if (op.operand(0).dtype != DType::f32) op.refuse("C1", "x is not f32");
            if (op.float_attr("a") == 0) op.refuse("C2", "a is 0");
            return std::vector{op.operand(0)};
          },
      .reference =
          [](const OpCall& op, const HostTensors& in, HostTensors& out) {
            const double a = op.float_attr("a");
            for (int64_t i = 0; i < in[0].numel(); ++i) {
              const double x = in[0].data<double>()[i], s = std::sin(a * x);
              out[0].data<double>()[i] = x + s * s / a;
            }
          },
      // dy/dx = 1 + 2 sin(ax) cos(ax) = 1 + sin(2ax)
      .grad =
          [](const OpGradCall& op) {
            const Tensor& x = op.operand_value(0);
            return Tensors{op.cotangent(0) * (1.0 + sin(x * (2 * op.float_attr("a"))))};
          },
      .kernel =
          [](const OpCall& op) {
            return "  const float a = " + std::to_string(op.float_attr("a")) + "f;\n" +
                   "  for (long i = 0; i < " + std::to_string(op.operand(0).numel()) +
                   "; ++i) {\n" +
                   "    const float s = __builtin_sinf(a * x[i]);\n"
                   "    y[i] = x[i] + s * s / a;\n  }";
          },
  };
}

Operator clip_rows() {
  return {
      .name = "clip_rows",
      .signature = "(Tensor x, *, float limit) -> (Tensor y, Tensor factor)",
      .summary = "rows scaled to a norm of at most `limit`, and by how much",
      .infer =
          [](const OpCall& op) {
            const TensorType x = op.operand(0);
            if (x.dtype != DType::f32 || x.shape.size() != 2) op.refuse("C1", "x is not f32[n,m]");
            return std::vector{x, TensorType{x.dtype, {x.shape[0], 1}}};
          },
      .reference =
          [](const OpCall& op, const HostTensors& in, HostTensors& out) {
            const int64_t rows = in[0].shape()[0], width = in[0].shape()[1];
            for (int64_t r = 0; r < rows; ++r) {
              double squares = 0;
              for (int64_t c = 0; c < width; ++c) squares += std::pow(in[0].at<double>({r, c}), 2);
              const double factor = std::min(1.0, op.float_attr("limit") / std::sqrt(squares));
              out[1].at<double>({r, 0}) = factor;
              for (int64_t c = 0; c < width; ++c)
                out[0].at<double>({r, c}) = factor * in[0].at<double>({r, c});
            }
          },
      // The factor counts as a constant.
      .grad = [](const OpGradCall& op) { return Tensors{op.cotangent(0) * op.result_value(1)}; },
      .callback =
          [](const OpCall& op) {
            const double limit = op.float_attr("limit");
            return [limit](const OpMemory& m) {
              const auto x = m.operand<float>(0);
              const auto y = m.result<float>(0), factor = m.result<float>(1);
              const size_t width = x.size() / factor.size();
              for (size_t r = 0; r < factor.size(); ++r) {
                double squares = 0;
                for (size_t c = 0; c < width; ++c)
                  squares += double(x[r * width + c]) * x[r * width + c];
                factor[r] = static_cast<float>(std::min(1.0, limit / std::sqrt(squares)));
                for (size_t c = 0; c < width; ++c) y[r * width + c] = x[r * width + c] * factor[r];
              }
            };
          },
  };
}

int main() {
  Operators ops;
  ops.add(snake());
  ops.add(clip_rows());

  // Are the kernels what the references say, and the gradients what differences say? For clip_rows
  // these agree only where nothing is clipped, since the factor counts as a constant.
  Generator rng(3);
  for (const OperatorReport& report :
       {check_operator(ops, "snake", {rng.normal({3, 5})}, {{"a", 1.5}}),
        check_operator(ops, "clip_rows", {rng.normal({3, 5})}, {{"limit", 100.0}})}) {
    std::fputs(report.text().c_str(), stderr);
    if (!report.ok()) return 1;
  }

  nn::Linear in(2, 32, rng), out(32, 1, rng);
  nn::Module model;
  model.add_module("in", in);
  model.add_module("out", out);
  const auto f = [&](const Tensor& x) {
    const Tensor h = call("snake", {in(x)}, {{"a", 1.5}})[0];
    return out(call("clip_rows", {h}, {{"limit", 4.0}})[0]);
  };
  TrainStep step = train_step(
      model, [&](const Tensor& x, const Tensor& y) { return mse_loss(f(x), y); },
      optim::Adam({.lr = 1e-2}), {{"x", DType::f32, {128, 2}}, {"y", DType::f32, {128, 1}}},
      {.compile = {.ops = ops}});
  double first = 0, last = 0;
  for (int i = 0; i < 300; ++i) {
    HostTensor x = rng.uniform({128, 2}, -1, 1), y(DType::f32, {128, 1});
    for (int64_t k = 0; k < 128; ++k)
      y.at<float>({k, 0}) = std::sin(4 * x.at<float>({k, 0})) + x.at<float>({k, 1});
    last = step.run({x, y}).loss;
    if (i == 0) first = last;
    if (i % 100 == 0) std::printf("step %3d  loss %.5f\n", i, last);
  }
  std::printf("loss %.4f -> %.4f\n", first, last);
  return last < first / 5 ? 0 : 1;
}
