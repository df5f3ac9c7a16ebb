// Modules, activations and losses against the numbers of PyTorch that test/peer/modules.py wrote:
// results, the gradient of the input and of each parameter, buffers after a training step. In f64.
#include "test/train/module_numbers.inc"

#include <gtest/gtest.h>

#include <cmath>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using Forward = std::function<Tensor(const Tensor&)>;

struct Case {
  const char* name;
  Sizes x;
  // Adds its modules to the root.
  std::function<Forward(nn::Module& root, Generator& rng)> make;
};

constexpr DType f64 = DType::f64;

// The formula of modules.py.
HostTensor fill(const std::string& name, std::vector<int64_t> shape) {
  int64_t n = 0;
  for (const char c : name) n += static_cast<unsigned char>(c);
  n %= 101;
  HostTensor t(f64, std::move(shape));
  for (int64_t k = 0; k < t.numel(); ++k)
    t.set_number(k,
                 std::sin(0.7 * static_cast<double>(k) + 1.3 * static_cast<double>(n) + 0.5) / 2);
  return t;
}

template <class M>
std::function<Forward(nn::Module&, Generator&)> of(std::function<M(Generator&)> make) {
  return [make](nn::Module& root, Generator& rng) -> Forward {
    const M m = root.add_module("m", make(rng));
    return [m](const Tensor& x) { return m(x); };
  };
}

template <class M, class F>
std::function<Forward(nn::Module&, Generator&)> of(std::function<M(Generator&)> make, F call) {
  return [make, call](nn::Module& root, Generator& rng) -> Forward {
    const M m = root.add_module("m", make(rng));
    return [m, call](const Tensor& x) { return call(m, x); };
  };
}

Case f(const char* name, Sizes x, Forward function) {
  return {name, std::move(x), [function](nn::Module&, Generator&) { return function; }};
}

Tensor numbers(const std::vector<double>& v, Sizes shape) {
  return constant(HostTensor::from<double>(v, std::move(shape)));
}
Tensor labels(const std::vector<int64_t>& v, Sizes shape) {
  return constant(HostTensor::from<int64_t>(v, std::move(shape)));
}

Tensor all_of(const nn::LSTM::Result& r) {
  return cat({r.output.flatten(), r.h_n.flatten(), r.c_n.flatten()});
}
Tensor all_of(const nn::GRU::Result& r) { return cat({r.output.flatten(), r.h_n.flatten()}); }

const std::vector<double> points = {-30, -4, -3, -0.5, -0.25, 0, 0.25, 0.5, 1, 3, 6, 30};

std::vector<Case> dense_cases() {
  using nn::BatchNorm1d, nn::BatchNorm2d, nn::LSTM, nn::GRU;
  using Encoder = nn::TransformerEncoderLayer;
  std::vector<Case> c;
  c.push_back({"rms_norm", {2, 3, 4}, of<nn::RMSNorm>([](Generator&) {
                 return nn::RMSNorm({4}, {.dtype = f64});
               })});
  c.push_back({"rms_norm_2d_eps", {2, 3, 4}, of<nn::RMSNorm>([](Generator&) {
                 return nn::RMSNorm({3, 4}, {.eps = 1e-2, .dtype = f64});
               })});
  c.push_back({"lstm",
               {3, 2, 2},
               of<LSTM>([](Generator& g) { return LSTM(2, 3, g, {.dtype = f64}); },
                        [](const LSTM& m, const Tensor& x) { return all_of(m(x)); })});
  const nn::RecurrentOptions both{
      .num_layers = 2, .batch_first = true, .bidirectional = true, .dtype = f64};
  c.push_back({"lstm_2_layers_both_ways",
               {2, 3, 2},
               of<LSTM>([=](Generator& g) { return LSTM(2, 3, g, both); },
                        [](const LSTM& m, const Tensor& x) {
                          return all_of(m(
                              x, {constant(fill("h", {4, 2, 3})), constant(fill("s", {4, 2, 3}))}));
                        })});
  c.push_back({"lstm_unbatched",
               {3, 2},
               of<LSTM>([](Generator& g) { return LSTM(2, 3, g, {.bias = false, .dtype = f64}); },
                        [](const LSTM& m, const Tensor& x) { return all_of(m(x)); })});
  c.push_back({"gru",
               {3, 2, 2},
               of<GRU>([](Generator& g) { return GRU(2, 3, g, {.dtype = f64}); },
                       [](const GRU& m, const Tensor& x) { return all_of(m(x)); })});
  c.push_back({"gru_2_layers_both_ways",
               {2, 3, 2},
               of<GRU>([=](Generator& g) { return GRU(2, 3, g, both); },
                       [](const GRU& m, const Tensor& x) {
                         return all_of(m(x, constant(fill("h", {4, 2, 3}))));
                       })});
  c.push_back({"gru_unbatched",
               {3, 2},
               of<GRU>([](Generator& g) { return GRU(2, 3, g, {.bias = false, .dtype = f64}); },
                       [](const GRU& m, const Tensor& x) { return all_of(m(x)); })});
  c.push_back({"encoder", {2, 3, 4}, of<Encoder>([](Generator& g) {
                 return Encoder(4, 2, g, {.dim_feedforward = 5, .dropout = 0, .dtype = f64});
               })});
  c.push_back({"encoder_norm_first",
               {2, 3, 4},
               of<Encoder>(
                   [](Generator& g) {
                     return Encoder(4, 2, g,
                                    {.dim_feedforward = 5,
                                     .dropout = 0,
                                     .activation = Encoder::Activation::gelu,
                                     .norm_first = true,
                                     .dtype = f64});
                   },
                   [](const Encoder& m, const Tensor& x) { return m(x, {.is_causal = true}); })});
  c.push_back(
      {"prelu", {2, 3, 2}, of<nn::PReLU>([](Generator&) { return nn::PReLU(3, 0.25, f64); })});
  c.push_back(
      {"prelu_one", {12}, of<nn::PReLU>([](Generator&) { return nn::PReLU(1, 0.25, f64); })});
  c.push_back(f("glu", {2, 4}, [](const Tensor& x) { return glu(x); }));
  return c;
}

template <class M>
std::function<Forward(nn::Module&, Generator&)> of(M (*make)(Generator&)) {
  return of<M>(std::function<M(Generator&)>(make));
}

std::vector<Case> norm_cases() {
  using nn::BatchNorm1d, nn::BatchNorm2d;
  using G = Generator&;
  return {
      {"group_norm", {2, 4, 3}, of(+[](G) { return nn::GroupNorm(2, 4, {.dtype = f64}); })},
      {"batch_norm1d", {4, 3}, of(+[](G) { return BatchNorm1d(3, {.dtype = f64}); })},
      {"batch_norm1d_3d", {2, 3, 4}, of(+[](G) {
         return BatchNorm1d(3, {.eps = 1e-3, .momentum = 0.3, .dtype = f64});
       })},
      {"batch_norm1d_average", {4, 3}, of(+[](G) {
         return BatchNorm1d(3, {.momentum = std::nullopt, .dtype = f64});
       })},
      {"batch_norm1d_untracked", {4, 3}, of(+[](G) {
         return BatchNorm1d(3, {.affine = false, .track_running_stats = false, .dtype = f64});
       })},
      {"batch_norm2d", {2, 2, 2, 3}, of(+[](G) { return BatchNorm2d(2, {.dtype = f64}); })},
      {"batch_norm2d_eval", {2, 2, 2, 3}, of(+[](G) { return BatchNorm2d(2, {.dtype = f64}); })},
  };
}

std::vector<Case> convolution_cases() {
  using G = Generator&;
  return {
      {"conv1d", {2, 4, 7}, of(+[](G g) {
         return nn::Conv1d(4, 2, 3, g, {.stride = 2, .padding = 1, .groups = 2, .dtype = f64});
       })},
      {"conv2d", {1, 2, 5, 4}, of(+[](G g) {
         return nn::Conv2d(2, 3, {3, 2}, g, {.stride = {2, 1}, .padding = {1, 0}, .dtype = f64});
       })},
      {"conv2d_dilated", {2, 5, 5}, of(+[](G g) {
         return nn::Conv2d(2, 2, 2, g, {.dilation = 2, .bias = false, .dtype = f64});
       })},
      {"conv_transpose2d", {1, 2, 3, 3}, of(+[](G g) {
         return nn::ConvTranspose2d(2, 3, 3, g,
                                    {.stride = 2, .padding = 1, .output_padding = 1, .dtype = f64});
       })},
  };
}

std::vector<Case> pool_cases() {
  using G = Generator&;
  return {
      {"max_pool2d", {1, 2, 5, 5}, of(+[](G) { return nn::MaxPool2d(2); })},
      {"max_pool2d_padded", {2, 5, 6}, of(+[](G) {
         return nn::MaxPool2d(3, {.stride = Spatial(2), .padding = 1, .ceil_mode = true});
       })},
      {"avg_pool2d", {1, 2, 5, 5}, of(+[](G) {
         return nn::AvgPool2d(
             {3, 2}, {.stride = Spatial(2), .padding = {1, 0}, .count_include_pad = false});
       })},
      {"adaptive_avg_pool2d", {1, 2, 5, 7}, of(+[](G) { return nn::AdaptiveAvgPool2d({2, 3}); })},
  };
}

std::vector<Case> loss_cases() {
  const Tensor y = labels({2, 0, -100, 1}, {4}), y2 = labels({2, 0, -100, 1}, {2, 2});
  const Tensor w3 = numbers({0.5, 2, 1.25}, {3});
  const Tensor soft = softmax(constant(fill("p", {4, 3})), 1);
  const Tensor bits = numbers({1, 0, 0.25, 0, 1, 1}, {2, 3});
  const Tensor other = numbers({0.5, -0.25, 0, 0.125, 2, -3}, {2, 3});
  const Tensor zero_target = numbers({0.5, 0, 0.5, 0, 1, 0}, {2, 3});
  constexpr Reduction none = Reduction::none, sum = Reduction::sum, mean = Reduction::mean;
  const auto bce = [](const Tensor& x, const Tensor& t, const BceWithLogitsOptions& o = {}) {
    return binary_cross_entropy_with_logits(x, t, o);
  };
  return {
      f("cross_entropy", {4, 3}, [=](const Tensor& x) { return cross_entropy(x, y); }),
      f("cross_entropy_all", {4, 3},
        [=](const Tensor& x) {
          return cross_entropy(x, labels({2, 0, 1, 1}, {4}),
                               {.ignore_index = 1, .label_smoothing = 0.2, .weight = w3});
        }),
      f("cross_entropy_none", {4, 3},
        [=](const Tensor& x) {
          return cross_entropy(x, y, {.reduction = none, .label_smoothing = 0.1, .weight = w3});
        }),
      f("cross_entropy_sum_2d", {2, 3, 2},
        [=](const Tensor& x) { return cross_entropy(x, y2, {.reduction = sum, .weight = w3}); }),
      f("cross_entropy_one", {3},
        [=](const Tensor& x) { return cross_entropy(x, labels({1}, {})); }),
      f("cross_entropy_soft", {4, 3},
        [=](const Tensor& x) {
          return cross_entropy(x, soft, {.label_smoothing = 0.1, .weight = w3});
        }),
      f("cross_entropy_soft_none", {4, 3},
        [=](const Tensor& x) { return cross_entropy(x, soft, {.reduction = none}); }),
      f("nll", {4, 3}, [=](const Tensor& x) { return nll_loss(x, y, {.weight = w3}); }),
      f("nll_none", {2, 3, 2},
        [=](const Tensor& x) { return nll_loss(x, y2, {.reduction = none}); }),
      f("bce", {2, 3}, [=](const Tensor& x) { return bce(x * 100, bits); }),
      f("bce_zero", {2, 3}, [=](const Tensor& x) { return bce(x * 0, bits); }),
      f("bce_weights", {2, 3},
        [=](const Tensor& x) {
          return bce(x, bits, {.reduction = none, .weight = w3, .pos_weight = w3});
        }),
      f("mse", {2, 3}, [=](const Tensor& x) { return mse_loss(x, other); }),
      f("l1", {2, 3}, [=](const Tensor& x) { return l1_loss(x, other); }),
      f("smooth_l1", {2, 3}, [=](const Tensor& x) { return smooth_l1_loss(x, other); }),
      f("smooth_l1_beta", {2, 3},
        [=](const Tensor& x) { return smooth_l1_loss(x, other, none, 0.5); }),
      f("smooth_l1_zero", {2, 3},
        [=](const Tensor& x) { return smooth_l1_loss(x, other, sum, 0); }),
      f("huber", {2, 3}, [=](const Tensor& x) { return huber_loss(x, other, none, 0.5); }),
      f("kl_div", {2, 3},
        [=](const Tensor& x) { return kl_div(x, zero_target, {.reduction = mean}); }),
      f("kl_div_batchmean", {2, 3},
        [=](const Tensor& x) {
          return kl_div(x, other, {.reduction = Reduction::batchmean, .log_target = true});
        }),
  };
}

std::vector<Case> activation_cases() {
  using T = const Tensor&;
  const Sizes n{12};
  return {
      f("relu6", n, [](T x) { return relu6(x); }),
      f("selu", n, [](T x) { return selu(x); }),
      f("celu", n, [](T x) { return celu(x, 1.5); }),
      f("elu", n, [](T x) { return elu(x, 0.5); }),
      f("hardsigmoid", n, [](T x) { return hardsigmoid(x); }),
      f("hardswish", n, [](T x) { return hardswish(x); }),
      f("mish", n, [](T x) { return mish(x); }),
      f("logsigmoid", n, [](T x) { return logsigmoid(x); }),
      f("softplus", n, [](T x) { return softplus(x); }),
      f("softsign", n, [](T x) { return softsign(x); }),
      f("tanhshrink", n, [](T x) { return tanhshrink(x); }),
      f("softshrink", n, [](T x) { return softshrink(x); }),
      f("hardshrink", n, [](T x) { return hardshrink(x); }),
      f("threshold", n, [](T x) { return threshold(x, 0.25, -7); }),
      f("leaky_relu", n, [](T x) { return leaky_relu(x); }),
      f("hardtanh", n, [](T x) { return hardtanh(x, -0.5, 3); }),
  };
}

// PyTorch's own hardsigmoid has its sixth in f32.
constexpr double tolerance = 1e-8;

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k)
    EXPECT_NEAR(got[k], want[k], tolerance * std::max(1.0, std::fabs(want[k]))) << "element " << k;
}

double dot(const HostTensor& a, const HostTensor& b) {
  double sum = 0;
  for (int64_t k = 0; k < a.numel(); ++k) sum += a.number(k) * b.number(k);
  return sum;
}

void set_values(const nn::Module& root) {
  for (auto [name, v] : root.named_parameters())
    if (name != "x") v.set(fill(name, v.shape()));
  for (auto [name, v] : root.named_buffers()) {
    HostTensor value = is_floating(v.dtype()) ? fill(name, v.shape()) : HostTensor(v.dtype(), {});
    for (int64_t k = 0; k < value.numel(); ++k)
      value.set_number(k, is_floating(v.dtype()) ? std::fabs(value.number(k)) + 0.1 : 3);
    v.set(value);
  }
}

void expect_numbers(const Case& c, const HostTensor& x, bool training = true) {
  SCOPED_TRACE(c.name);
  const auto& want = test::module_numbers.at(c.name);
  Generator rng(1);
  nn::Module root;
  const Variable input = root.add_parameter("x", x);
  const Forward forward = c.make(root, rng);
  root.train(training);
  set_values(root);
  TrainStep step = train_step(root,
                              [&](const Tensor&) {
                                const Tensor y = forward(input);
                                return Tensors{sum(y * constant(fill("c", y.sizes()))), y};
                              },
                              optim::SGD({.lr = 1}), {{"unused", f64, {}}});
  step.run({HostTensor(f64, {})});
  expect_near(step.output(0).to_vector<double>(), want.at("y"));
  size_t checked = 1;
  for (const auto& [name, v] : root.named_parameters()) {
    SCOPED_TRACE(name);
    const HostTensor before = name == "x" ? x : fill(name, v.shape());
    HostTensor grad(f64, v.shape());
    for (int64_t k = 0; k < grad.numel(); ++k)
      grad.set_number(k, before.number(k) - v.value().number(k));
    if (name == "x")
      expect_near(grad.to_vector<double>(), want.at(name));
    else
      expect_near({dot(grad, fill("d", v.shape()))}, want.at(name));
    ++checked;
  }
  for (const auto& [name, v] : root.named_buffers()) {
    SCOPED_TRACE(name);
    expect_near({dot(v.value(), fill("d", v.shape()))}, want.at(name));
    ++checked;
  }
  EXPECT_EQ(checked, want.size());
}

TEST(ModuleNumbers, dense_and_recurrent) {
  for (const Case& c : dense_cases()) expect_numbers(c, fill("x", c.x));
}

// Skips where the operator that the modules are made of is not there.
void expect_all(const std::vector<Case>& cases, const char* op) {
  if (test::core().find(op) == nullptr) GTEST_SKIP() << "there is no operator " << op;
  for (const Case& c : cases)
    expect_numbers(c, fill("x", c.x), !std::string(c.name).ends_with("_eval"));
}

TEST(ModuleNumbers, norms) { expect_all(norm_cases(), "_native_batch_norm_legit_functional"); }
TEST(ModuleNumbers, convolutions) { expect_all(convolution_cases(), "convolution"); }
TEST(ModuleNumbers, pools) { expect_all(pool_cases(), "max_pool2d_with_indices"); }

TEST(ModuleNumbers, losses) {
  for (const Case& c : loss_cases()) expect_numbers(c, fill("x", c.x));
}

TEST(ModuleNumbers, activations) {
  for (const Case& c : activation_cases())
    expect_numbers(c, HostTensor::from<double>(points, {12}));
}

// 4,096 losses of 20 are beyond f16 together, and so is a count of 70,000.
TEST(Losses, means_of_f16_are_in_range_where_their_sums_are_not) {
  for (const int64_t rows : {4096, 70000})
    for (const bool strict : {false, true}) {
      HostTensor x(DType::f16, {rows, 2}), target(DType::i64, {rows});
      for (int64_t k = 0; k < rows; ++k) x.set_number(2 * k + 1, 20);
      CompiledFunction f = compile(
          [](const Tensor& a, const Tensor& t) {
            return Tensors{cross_entropy(a, t), nll_loss(log_softmax(a, 1), t)};
          },
          {{"x", DType::f16, {rows, 2}}, {"target", DType::i64, {rows}}}, {.strict = strict});
      f.run({x, target});
      EXPECT_NEAR(f.output(0).number(0), 20, 0.02) << rows << strict;
      EXPECT_NEAR(f.output(1).number(0), 20, 0.02) << rows << strict;
    }
}

// The log probabilities of 6,000 classes, -20 each, are beyond f16 together.
TEST(Losses, smoothing_over_many_classes_is_in_range) {
  HostTensor x(DType::f16, {2, 6000}), target(DType::i64, {2});
  for (int64_t k = 0; k < 2; ++k) x.set_number(6000 * k, 20);
  CompiledFunction f =
      compile([](const Tensor& a,
                 const Tensor& t) { return cross_entropy(a, t, {.label_smoothing = 0.1}); },
              {{"x", DType::f16, {2, 6000}}, {"target", DType::i64, {2}}}, {.strict = true});
  f.run({x, target});
  EXPECT_NEAR(f.output(0).number(0), 2, 0.01);
}

}  // namespace
}  // namespace cleave
