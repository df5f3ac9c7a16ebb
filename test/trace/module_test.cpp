// Modules: state names as PyTorch's, initial values, sharing, modes.
// tests: layer.cpp layer_norm.cpp layer_recurrent.cpp layer_spatial.cpp layer_transformer.cpp
#include <gtest/gtest.h>

#include <cmath>

#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::bare;
using test::message;
using test::traced;

std::vector<std::string> state(const nn::Module& m) {
  const Store store = m.store();
  std::vector<std::string> out;
  for (const auto& [name, v] : store.entries()) out.push_back(name + " " + v.value().type_text());
  return out;
}

struct Block : nn::Module {
  nn::LayerNorm ln_1;
  nn::MultiheadAttention attn;
  nn::Sequential mlp;
  explicit Block(Generator& rng)
      : ln_1(add_module("ln_1", nn::LayerNorm({8}))),
        attn(add_module("attn", nn::MultiheadAttention(8, 2, rng))),
        mlp(add_module(
            "mlp", nn::Sequential(nn::Linear(8, 32, rng), nn::GELU("tanh"),
                                  nn::Linear(32, 8, rng, {.bias = false}), nn::Dropout(0.1)))) {}
  Tensor operator()(const Tensor& x) const {
    const Tensor h = ln_1(x);
    return x + mlp(x + attn(h, h, h, {.is_causal = true}));
  }
};

struct Net : nn::Module {
  nn::Embedding wte;
  nn::ModuleList<Block> h;
  nn::Linear head;
  explicit Net(Generator& rng)
      : wte(add_module("wte", nn::Embedding(11, 8, rng))),
        h(add_module("h", nn::ModuleList<Block>())), head(8, 11, rng, {.bias = false}) {
    for (int i = 0; i < 2; ++i) h.push_back(Block(rng));
    head.share("weight", wte.parameter("weight"));
    add_module("head", head);
    add_buffer("mask", HostTensor(DType::boolean, {3, 3}));
    add_buffer("scratch", HostTensor(DType::f32, {1}), false);
  }
  Tensor operator()(const Tensor& i) const {
    Tensor x = wte(i);
    for (const Block& b : h) x = b(x);
    return head(x);
  }
};

TEST(Module, state_names_are_pytorchs) {
  Generator rng(1);
  const Net net(rng);
  EXPECT_EQ(state(net), (std::vector<std::string>{"mask bool[3,3]",
                                                  "wte.weight f32[11,8]",
                                                  "h.0.ln_1.weight f32[8]",
                                                  "h.0.ln_1.bias f32[8]",
                                                  "h.0.attn.in_proj_weight f32[24,8]",
                                                  "h.0.attn.in_proj_bias f32[24]",
                                                  "h.0.attn.out_proj.weight f32[8,8]",
                                                  "h.0.attn.out_proj.bias f32[8]",
                                                  "h.0.mlp.0.weight f32[32,8]",
                                                  "h.0.mlp.0.bias f32[32]",
                                                  "h.0.mlp.2.weight f32[8,32]",
                                                  "h.1.ln_1.weight f32[8]",
                                                  "h.1.ln_1.bias f32[8]",
                                                  "h.1.attn.in_proj_weight f32[24,8]",
                                                  "h.1.attn.in_proj_bias f32[24]",
                                                  "h.1.attn.out_proj.weight f32[8,8]",
                                                  "h.1.attn.out_proj.bias f32[8]",
                                                  "h.1.mlp.0.weight f32[32,8]",
                                                  "h.1.mlp.0.bias f32[32]",
                                                  "h.1.mlp.2.weight f32[8,32]",
                                                  "head.weight f32[11,8]"}));
  // A tied weight is one parameter.
  EXPECT_EQ(net.named_parameters().size(), 19u);
  EXPECT_TRUE(net.parameter("head.weight") == net.parameter("wte.weight"));
  int64_t bytes = 0;
  for (const auto& [name, v] : net.named_parameters()) bytes += v.value().bytes();
  EXPECT_EQ(net.store().bytes(), bytes + 9);
  EXPECT_EQ(net.parameter_count() * 4, bytes);
}

// All placeholders of the graph and the one node with a tied weight on either side.
TEST(Module, parameters_are_placeholders_of_their_names) {
  Generator rng(1);
  nn::Linear a(2, 2, rng, {.bias = false}), b(2, 2, rng, {.bias = false});
  b.share("weight", a.parameter("weight"));
  nn::Sequential net(a, nn::ReLU(), b);
  const Graph g = traced(
      {{"x", DType::f32, {1, 2}}}, [&](const Tensor& x) { return net(x); }, trace::Mode::training,
      &net);
  EXPECT_EQ(bare(g),
            "graph @main(%0.weight: param f32[2,2], %x: input f32[1,2]) {\n"
            "  %permute = permute(%0.weight; dims=[1,0])\n"
            "  %mm = mm(%x, %permute)\n"
            "  %relu = relu(%mm)\n"
            "  %permute_1 = permute(%0.weight; dims=[1,0])\n"
            "  %mm_1 = mm(%relu, %permute_1)\n"
            "  return %mm_1\n}\n");
}

void expect_uniform(const Variable& v, double bound) {
  double low = 1e9, high = -1e9;
  for (float x : v.value().span<float>())
    low = std::min<double>(low, x), high = std::max<double>(high, x);
  EXPECT_GE(low, -bound);
  EXPECT_LE(high, bound);
  EXPECT_LT(low, -0.9 * bound);
  EXPECT_GT(high, 0.9 * bound);
}

TEST(Module, default_initial_values) {
  Generator rng(3);
  const nn::Linear linear(64, 128, rng);
  expect_uniform(linear.parameter("weight"), 1 / 8.0);
  expect_uniform(linear.parameter("bias"), 1 / 8.0);
  const nn::MultiheadAttention attention(64, 4, rng);
  expect_uniform(attention.parameter("in_proj_weight"), std::sqrt(6.0 / 256));
  for (float x : attention.parameter("in_proj_bias").value().span<float>()) EXPECT_EQ(x, 0);
  expect_uniform(attention.parameter("out_proj.weight"), 1 / 8.0);
  for (float x : attention.parameter("out_proj.bias").value().span<float>()) EXPECT_EQ(x, 0);
  const nn::Embedding embedding(100, 50, rng, {.padding_idx = 7});
  double square = 0;
  const HostTensor& w = embedding.parameter("weight").value();
  for (float x : w.span<float>()) square += double(x) * x / 4950;
  EXPECT_NEAR(square, 1, 0.1);
  for (int64_t k = 0; k < 50; ++k) EXPECT_EQ(w.at<float>({7, k}), 0);
  const nn::LayerNorm norm({5});
  for (float x : norm.parameter("weight").value().span<float>()) EXPECT_EQ(x, 1);
  for (float x : norm.parameter("bias").value().span<float>()) EXPECT_EQ(x, 0);
}

TEST(Module, the_same_seed_gives_the_same_values) {
  Generator a(5), b(5), c(6);
  const Net x(a), y(b), z(c);
  const Store sx = x.store(), sy = y.store();
  for (size_t k = 0; k < sx.entries().size(); ++k)
    EXPECT_TRUE(sx.entries()[k].second.value().same_bits(sy.entries()[k].second.value()));
  EXPECT_FALSE(x.parameter("wte.weight").value().same_bits(z.parameter("wte.weight").value()));
}

TEST(Module, modes_reach_all_children) {
  Generator rng(1);
  Net net(rng);
  EXPECT_TRUE(net.h[1].is_training());
  const auto dropouts = [&] {
    const Graph g = traced(
        {{"i", DType::i64, {2, 3}}}, [&](const Tensor& i) { return net(i); }, trace::Mode::training,
        &net);
    int count = 0;
    for (const NodeId n : g.order()) count += g.node(n).op->name == "native_dropout";
    return count;
  };
  EXPECT_EQ(dropouts(), 2);
  net.eval();
  EXPECT_FALSE(net.h[1].mlp.is_training());
  EXPECT_EQ(dropouts(), 0);
  net.train();
  EXPECT_EQ(dropouts(), 2);
}

TEST(Module, a_copy_is_the_same_module) {
  Generator rng(1);
  const nn::Linear a(2, 3, rng);
  const nn::Linear b = a;
  EXPECT_TRUE(a.parameter("weight") == b.parameter("weight"));
}

TEST(Module, errors) {
  Generator rng(1);
  nn::Module m;
  m.add_parameter("w", HostTensor(DType::f32, {2}));
  EXPECT_EQ(message([&] { m.add_parameter("w", HostTensor()); }),
            "Module: name: `w` is taken already");
  EXPECT_EQ(message([&] { m.add_buffer("a.b", HostTensor()); }),
            "Module: name: `a.b`: expected letters, digits, _ and -");
  EXPECT_EQ(message([&] { m.add_module("self", m); }),
            "Module: add_module: `self` holds this module itself");
  EXPECT_EQ(message([&] { m.parameter("v"); }),
            "Module: there is no parameter v; the nearest name is w");
  EXPECT_EQ(message([&] { m.share("w", Variable("x", HostTensor(DType::f32, {3}))); }),
            "Module: share: `w` is f32[2], got f32[3]");
  EXPECT_EQ(message([&] { m.share("v", Variable("x", HostTensor(DType::f32, {3}))); }),
            "Module: share: there is no parameter `v` here");
  EXPECT_EQ(message([&] { nn::Linear(0, 1, rng); }), "nn::Linear: size 0 is less than 1");
  EXPECT_EQ(message([&] { nn::MultiheadAttention(8, 3, rng); }),
            "nn::MultiheadAttention: embed_dim 8 is not divisible by num_heads 3");
  EXPECT_EQ(message([&] { nn::Embedding(4, 1, rng, {.padding_idx = 4}); }),
            "nn::Embedding: padding_idx 4 is outside [-4, 4)");
  Store store = m.store();
  EXPECT_EQ(message([&] { store.add("w", Variable("w", HostTensor())); }),
            "store: w is there already, and is another tensor: f32[2]");
  Variable w = m.parameter("w");
  EXPECT_EQ(message([&] { w.bind(HostTensor(DType::f32, {3}), Contents::of_memory); }),
            "w: bind: got memory of f32[3], expected f32[2]");
  EXPECT_EQ(message([&] { Variable("i", HostTensor(DType::i64, {1})).set_requires_grad(true); }),
            "i: requires_grad: i64[1] is not floating");
}

TEST(Variable, moves_to_memory_of_the_caller) {
  Variable v("v", HostTensor::from<float>({1, 2}));
  float a[] = {5, 6}, b[] = {7, 8};
  v.bind(HostTensor::borrow(DType::f32, {2}, a), Contents::of_variable);
  EXPECT_EQ(a[0], 1);
  v.set(HostTensor::from<float>({3, 4}));
  EXPECT_EQ(a[1], 4);
  v.bind(HostTensor::borrow(DType::f32, {2}, b), Contents::of_memory);
  EXPECT_EQ(v.value().number(1), 8);
  EXPECT_EQ(v.data<float>(), b);
}

// in_proj of query, key and value apart gives what it gives together, and each mask leaves out what
// it says: against the layer's formula by the oracle.
TEST(MultiheadAttention, masks_and_cross_attention) {
  Generator rng(4);
  const nn::MultiheadAttention attention(4, 2, rng, {.dtype = DType::f64});
  attention.parameter("in_proj_bias");
  const HostTensor x = rng.normal({2, 3, 4}).to(DType::f64);
  const HostTensor blocked =
      HostTensor::from<int64_t>({0, 1, 1, 0, 0, 1, 0, 0, 0}, {3, 3}).to(DType::boolean);
  const HostTensor padding =
      HostTensor::from<int64_t>({0, 0, 0, 0, 0, 1}, {2, 3}).to(DType::boolean);
  const Graph g = traced({{"x", DType::f64, {2, 3, 4}}}, [&](const Tensor& in) {
    const Tensor copy = in * 1.0;
    const Tensor mask = constant(blocked), pad = constant(padding);
    return Tensors{attention(in, in, in),
                   attention(in, copy, copy),
                   attention(in, in, in, {.is_causal = true}),
                   attention(in, in, in, {.attn_mask = mask}),
                   attention(in, in, in, {.key_padding_mask = pad}),
                   attention(in, in.slice(1, 0, 2), in.slice(1, 0, 2)),
                   attention(in, in, in, {.key_padding_mask = pad, .is_causal = true}),
                   attention(in, in, in, {.key_padding_mask = pad, .attn_mask = mask})};
  });
  std::map<std::string, Array> inputs{{"x", test::array_of(x)}};
  for (const Placeholder& p : g.placeholders()) {
    const std::string name = g.name(p.value);
    if (name == "x") continue;
    if (name == "constant")
      inputs[name] = test::array_of(blocked);
    else if (name.starts_with("constant"))
      inputs[name] = test::array_of(padding);
    else
      inputs[name] = test::array_of(attention
                                        .parameter(name == "weight" ? "out_proj.weight"
                                                   : name == "bias" ? "out_proj.bias"
                                                                    : name)
                                        .value());
  }
  const Arrays out = test::run(g, inputs);
  EXPECT_EQ(test::mismatch(out[1], out[0], 1e-12), "");
  EXPECT_EQ(test::mismatch(out[3], out[2], 1e-12), "");  // the mask is the causal one
  EXPECT_NE(test::mismatch(out[2], out[0], 1e-3), "");
  EXPECT_EQ(test::mismatch(out[7], out[6], 1e-12), "");
  // Leaving out the last key by padding is attending to the first two alone; in batch 0 none is.
  for (int64_t k = 0; k < 12; ++k) {
    EXPECT_NEAR(out[4].f[k], out[0].f[k], 1e-12);
    EXPECT_NEAR(out[4].f[12 + k], out[5].f[12 + k], 1e-12);
  }
  // By hand: batch 0, position 0, causal: attends to itself alone, so y = out_proj(value(x0)).
  const HostTensor w = attention.parameter("in_proj_weight").value();
  const HostTensor o = attention.parameter("out_proj.weight").value();
  for (int64_t c = 0; c < 4; ++c) {
    double want = 0;
    for (int64_t m = 0; m < 4; ++m) {
      double value = 0;
      for (int64_t d = 0; d < 4; ++d) value += w.at<double>({8 + m, d}) * x.at<double>({0, 0, d});
      want += o.at<double>({c, m}) * value;
    }
    EXPECT_NEAR(out[2].f[c], want, 1e-12);
  }
}

}  // namespace
}  // namespace cleave
