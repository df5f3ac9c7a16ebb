// Graphs as modules: their state, what a training step makes of them, and what is refused.
// tests: compilers/graph_module.cpp compilers/state_tree.cpp trace/record_graph.cpp
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

HostTensor filled(std::vector<int64_t> shape, double from, double step) {
  HostTensor t(DType::f32, std::move(shape));
  for (int64_t k = 0; k < t.numel(); ++k) t.set_number(k, from + step * static_cast<double>(k % 7));
  return t;
}

constexpr const char* net_text = R"(
graph @net(%s0: symint, %x: input f32[s0,3], %fc.weight: param f32[2,3] grad,
           %fc.bias: param f32[2], %seen: buffer i64[], %scale: const f32[]) {
  %t = permute(%fc.weight; dims=[1,0])
  %y = addmm(%fc.bias, %x, %t)
  %z = mul(%y, %scale)
  %one = full(; size=[], fill_value=1, dtype=i64)
  %next = add(%seen, %one)
  return %z, %next -> %seen
}
)";

NamedTensors net_weights() {
  return {{"fc.weight", filled({2, 3}, -0.5, 0.25)},
          {"fc.bias", filled({2}, 0.5, 1)},
          {"seen", HostTensor::scalar(4, DType::i64)},
          {"scale", HostTensor::scalar(2)}};
}

GraphModule net() { return GraphModule(TracedGraph::parse(net_text), net_weights()); }

TEST(GraphModule, its_state_has_the_names_and_roles_of_the_graph) {
  const GraphModule m = net();
  std::vector<std::string> names;
  const Store store = m.store();
  for (const auto& [name, v] : store.entries()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"seen", "fc.weight", "fc.bias"}));
  EXPECT_TRUE(m.parameter("fc.weight").requires_grad());
  EXPECT_FALSE(m.parameter("fc.bias").requires_grad());
  ASSERT_EQ(m.named_buffers().size(), 1u);
  EXPECT_EQ(m.inputs({{"s0", 5}})[0].shape.largest(), (std::vector<int64_t>{5, 3}));
}

TEST(GraphModule, another_graph_has_the_same_parameters) {
  const GraphModule m = net();
  const TracedGraph halved = TracedGraph::parse(R"(
graph @halved(%x: input f32[2,3], %fc.weight: param f32[2,3] grad, %half: const f32[]) {
  %t = permute(%fc.weight; dims=[1,0])
  %y = mm(%x, %t)
  %z = mul(%y, %half)
  return %z
})");
  const GraphModule other = m.with_graph(halved, {{"half", HostTensor::scalar(0.5)}});
  EXPECT_TRUE(other.parameter("fc.weight") == m.parameter("fc.weight"));
  const optim::SGD sgd({.lr = 0.01, .momentum = 0.9});
  TrainStep first =
      train_step(m, [&](const Tensor& x) { return m(x).sum(); }, sgd, {{"x", DType::f32, {4, 3}}});
  first.run({filled({4, 3}, -1, 0.5)});
  TrainStep second = train_step(
      other, [&](const Tensor& x) { return other(x).sum(); }, sgd, {{"x", DType::f32, {2, 3}}}, {},
      first.store());
  const float before = m.parameter("fc.weight").value().to_vector<float>()[0];
  second.run({filled({2, 3}, -1, 0.5)});
  EXPECT_NE(m.parameter("fc.weight").value().to_vector<float>()[0], before);
  EXPECT_EQ(first.steps(), 2);
  const auto refused = [&](const char* text) {
    return message([&] { m.with_graph(TracedGraph::parse(text)); });
  };
  EXPECT_NE(refused("graph @g(%w: param f32[2]) {\n  return %w\n}").find("the module has no w"),
            std::string::npos);
  EXPECT_NE(refused("graph @g(%fc.bias: param f32[3]) {\n  return %fc.bias\n}")
                .find("fc.bias is f32[2], the graph has f32[3]"),
            std::string::npos);
  EXPECT_NE(refused("graph @g(%half: const f32[]) {\n  return %half\n}").find("lack half"),
            std::string::npos);
}

TEST(GraphModule, its_calls_keep_their_lines) {
  const GraphModule m(TracedGraph::parse(R"(graph @f(%x: input f32[2], %w: param f32[2] grad) {
  %y = mul(%x, %w)  # "model.py":3
  %z = sum(%y)
  return %z
})"),
                      {{"w", filled({2}, 0, 1)}});
  const std::string text =
      train_step(m, [&](const Tensor& x) { return m(x); }, optim::SGD({}), {{"x", DType::f32, {2}}})
          .graph_text();
  EXPECT_NE(text.find("mul(%x, %w) : f32[2]  # model.py:3"), std::string::npos) << text;
  EXPECT_NE(text.find("graph_module_test.cpp:"), std::string::npos) << text;
}

// The same function, written by hand.
struct Native : nn::Module {
  Variable weight, bias, seen;
  Native()
      : weight(add_parameter("weight", net_weights().at("fc.weight"))),
        bias(add_parameter("bias", net_weights().at("fc.bias"))),
        seen(add_buffer("seen", net_weights().at("seen"))) {
    bias.set_requires_grad(false);
  }
  Tensor operator()(const Tensor& x) const {
    assign(seen, Tensor(seen) + 1);
    return linear(x, weight, bias) * 2.0;
  }
};

TEST(GraphModule, a_training_step_is_that_of_the_function) {
  const GraphModule model = net();
  const Native native;
  const std::vector<InputSpec> specs = {{"x", DType::f32, {4, 3}}, {"y", DType::f32, {4, 2}}};
  const optim::SGD sgd({.lr = 0.01, .momentum = 0.9});
  TrainStep ours = train_step(
      model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); }, sgd, specs);
  TrainStep theirs = train_step(
      native, [&](const Tensor& x, const Tensor& y) { return mse_loss(native(x), y); }, sgd, specs);
  const HostTensor x = filled({4, 3}, -1, 0.5), y = filled({4, 2}, 0, 0.25);
  double last = 0;
  for (int k = 0; k < 4; ++k) {
    const double loss = ours.run({x, y}).loss;
    EXPECT_EQ(loss, theirs.run({x, y}).loss);
    if (k > 0) { EXPECT_LT(loss, last); }
    last = loss;
  }
  EXPECT_TRUE(model.parameter("fc.weight").value().same_bits(native.weight.value()));
  EXPECT_TRUE(model.parameter("fc.bias").value().same_bits(net_weights().at("fc.bias")));
  EXPECT_EQ(model.named_buffers()[0].second.value().item(), 8);
}

TEST(GraphModule, a_program_takes_it_twice_with_other_sizes_and_among_other_calls) {
  const GraphModule model = net();
  CompiledFunction f =
      compile(model,
              [&](const Tensor& a, const Tensor& b) {
                return Tensors{model(relu(a)).sum(), model(b).sum(), model(ones({1, 3})).sum()};
              },
              {{"a", DType::f32, {4, 3}}, {"b", DType::f32, {2, 3}}});
  const HostTensor a = filled({4, 3}, -1, 0.5), b = filled({2, 3}, 0, 1);
  const HostTensors got = f.run({a, b});
  const auto want = [](const HostTensor& x, bool clamps) {
    const HostTensor w = net_weights().at("fc.weight"), bias = net_weights().at("fc.bias");
    double sum = 0;
    for (int64_t i = 0; i < x.shape()[0]; ++i)
      for (int64_t j = 0; j < 2; ++j) {
        double y = bias.number(j);
        for (int64_t k = 0; k < 3; ++k)
          y += std::max(x.number(i * 3 + k), clamps ? 0.0 : -1e9) * w.number(j * 3 + k);
        sum += 2 * y;
      }
    return sum;
  };
  EXPECT_NEAR(got[0].item(), want(a, true), 1e-4);
  EXPECT_NEAR(got[1].item(), want(b, false), 1e-4);
  EXPECT_NEAR(got[2].item(), want(filled({1, 3}, 1, 0), false), 1e-4);
}

constexpr const char* noise_text = R"(
graph @twice(%x: input f32[64,8], %rng: rng_state i64[2]) {
  %y, %kept = native_dropout(%x, %rng; p=0.5, train=true, stream=0)
  %z, %kept2 = native_dropout(%x, %rng; p=0.5, train=true, stream=1)
  %a = rand(%rng; size=[64,8], dtype=f32, stream=0)
  %next = rng_next(%rng)
  return %y, %z, %a, %next -> %rng
}
)";

// Streams of the graph are new ones of the program: its calls, and another call of the graph, draw
// other numbers, and the streams that were equal stay so.
TEST(GraphModule, random_numbers_are_the_programs) {
  const GraphModule model(TracedGraph::parse(noise_text), {});
  Generator rng(1);
  const nn::Linear layer(8, 1, rng);
  std::vector<Tensor> seen;
  TrainStep step =
      train_step(layer,
                 [&](const Tensor& x) {
                   const Tensors first = model({x}), second = model({x});
                   const Tensor own = dropout(x, 0.5);
                   return Tensors{layer(x).mean(), first[0], first[1], first[2], second[0], own};
                 },
                 optim::SGD({.lr = 0.1}), {{"x", DType::f32, {64, 8}}});
  const HostTensor x = filled({64, 8}, 1, 0);
  step.run({x});
  const auto out = [&](size_t k) { return step.output(k); };
  for (const auto& [a, b] : {std::pair(0, 1), {0, 3}, {0, 4}, {1, 4}, {3, 4}})
    EXPECT_FALSE(out(a).same_bits(out(b))) << a << b;
  const HostTensor y = out(0), uniform = out(2);
  for (int64_t k = 0; k < y.numel(); ++k)
    ASSERT_EQ(y.number(k), uniform.number(k) >= 0.5 ? 2 : 0) << k;
  step.run({x});
  EXPECT_FALSE(out(0).same_bits(y));
}

constexpr const char* branch_text = R"(
graph @cond.then(%s0: symint, %x: input f32[s0], %w: input f32[]) {
  %y = mul(%x, %w)
  %z = mul(%y, %s0)
  return %z
}
graph @cond.otherwise(%s0: symint, %x: input f32[s0], %w: input f32[]) {
  %y = add(%x, %w)
  return %y
}
graph @branch(%s0: symint, %x: input f32[s0], %w: param f32[] grad) {
  %s = sum(%x)
  %zero = full(; size=[], fill_value=0, dtype=f32)
  %p = gt(%s, %zero)
  %y = cond(%p, [%x, %w]; then=@cond.then, otherwise=@cond.otherwise)
  return %y
}
)";

TEST(GraphModule, branches_have_names_of_their_own_and_no_symints) {
  const GraphModule model(TracedGraph::parse(branch_text), {{"w", HostTensor::scalar(3)}});
  CompiledFunction f = compile(model,
                               [&](const Tensor& x) {
                                 const Tensor y = model(x);
                                 return cond(
                                     y.sum() > 10, [&](const Tensor& t) { return model(t); },
                                     [&](const Tensor& t) { return t; }, {y});
                               },
                               {{"x", DType::f32, {4}}});
  EXPECT_EQ(f.run({filled({4}, 1, 0)})[0].number(0), 144);  // 1 * 3 * 4, then 12 * 3 * 4
  EXPECT_EQ(f.run({filled({4}, -1, 0)})[0].number(0), 2);   // -1 + 3
  TracedGraph::parse(f.graph_text());                       // no name stands for two graphs
}

// Each call's checkpoint is a region of its own, beside those of the program.
TEST(GraphModule, regions_of_checkpoints_are_new_ones) {
  const GraphModule model(TracedGraph::parse(R"(
    graph @main(%x: input f32[8], %w: param f32[8] grad) {
      %y = mul(%x, %w) !recompute(must_recompute, ac=1)
      %z = exp(%y) !recompute(must_recompute, ac=1)
      return %z
    })"),
                          {{"w", filled({8}, 1, 0)}});
  TrainStep step = train_step(model,
                              [&](const Tensor& x) {
                                const Tensors own =
                                    checkpoint([](const Tensor& t) { return sin(t); }, {x});
                                return (model(model(own[0]))).mean();
                              },
                              optim::SGD({.lr = 0.1}), {{"x", DType::f32, {8}}});
  const std::string text = step.graph_text();
  for (const char* region : {"ac=1)", "ac=2)", "ac=3)"})
    EXPECT_NE(text.find(region), std::string::npos) << region << "\n" << text;
  EXPECT_EQ(text.find("ac=4)"), std::string::npos) << text;
}

TEST(GraphModule, names_that_no_module_has_are_replaced) {
  const GraphModule model(TracedGraph::parse(R"(
    graph @main(%x: input f32[2], %a: param f32[2] grad, %a.b: param f32[2] grad,
                %/layer/c: param f32[2] grad, %_layer_c: param f32[2] grad) {
      %y = add(%x, %a)
      %z = add(%y, %a.b)
      %u = mul(%z, %/layer/c)
      %v = add(%u, %_layer_c)
      return %v
    })"),
                          {{"a", filled({2}, 1, 0)},
                           {"a.b", filled({2}, 2, 0)},
                           {"/layer/c", filled({2}, 3, 0)},
                           {"_layer_c", filled({2}, 4, 0)}});
  std::vector<std::string> names;
  for (const auto& [name, v] : model.named_parameters()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "a_b", "_layer_c", "_layer_c_"}));
  CompiledFunction f =
      compile(model, [&](const Tensor& x) { return model(x); }, {{"x", DType::f32, {2}}});
  EXPECT_EQ(f.run({filled({2}, 1, 0)})[0].number(1), 16);
}

TEST(GraphModule, a_clone_has_parameters_of_its_own) {
  const GraphModule model = net(), copy = nn::clone(model);
  copy.parameter("fc.weight").set(filled({2, 3}, 0, 0));
  CompiledFunction f =
      compile(copy, [&](const Tensor& x) { return copy(x); }, {{"x", DType::f32, {1, 3}}});
  EXPECT_EQ(f.run({filled({1, 3}, 1, 1)})[0].number(0), 1);
  EXPECT_EQ(model.parameter("fc.weight").value().number(0), -0.5);
}

TEST(GraphModule, tied_weights_are_one_parameter) {
  const std::string models = CLEAVE_SOURCE_DIR "/test/import/exported/";
  const GraphModule model = GraphModule::load(models + "tiny.pt2");
  EXPECT_EQ(model.store().at("a.weight"), model.store().at("b.weight"));
  EXPECT_EQ(model.inputs().size(), 2u);
}

std::string error_of(const nn::Module& model, const std::function<Tensor(const Tensor&)>& f,
                     int64_t rows = 2, DType dtype = DType::f32) {
  const std::string text = message(
      [&] { compile(model, [&](const Tensor& x) { return f(x); }, {{"x", dtype, {rows, 3}}}); });
  return text.substr(text.find(": ") + 2);  // without the line
}

TEST(GraphModule, what_does_not_fit_is_refused_at_its_line) {
  const GraphModule model = net();
  EXPECT_EQ(error_of(model, [&](const Tensor& x) { return model({x, x})[0]; }),
            "GraphModule: 2 inputs, @net has 1");
  EXPECT_EQ(error_of(model, [&](const Tensor&) { return model(Tensors{})[0]; }),
            "GraphModule: 0 inputs, @net has 1");
  EXPECT_EQ(error_of(
                model, [&](const Tensor& x) { return model(x); }, 2, DType::f64),
            "GraphModule: %x is f64[2,3], @net has f32[s0,3]");
  EXPECT_EQ(error_of(model, [&](const Tensor& x) { return model(x.transpose(0, 1)); }),
            "%x: dim 1 is 2, expected 3");
  const GraphModule noise(TracedGraph::parse(noise_text), {});
  EXPECT_EQ(error_of(
                noise, [&](const Tensor& x) { return noise({x.expand({64, 3})})[0]; }, 1),
            "%x: dim 1 is 3, expected 8");
}

TEST(GraphModule, states_that_do_not_fit_are_refused) {
  NamedTensors weights = net_weights();
  weights.erase("fc.bias");
  EXPECT_EQ(message([&] { GraphModule(TracedGraph::parse(net_text), weights); }),
            "GraphModule: the weights lack fc.bias of @net");
  weights = net_weights();
  weights.at("fc.bias") = filled({3}, 0, 0);
  EXPECT_EQ(message([&] { GraphModule(TracedGraph::parse(net_text), weights); }),
            "GraphModule: fc.bias is f32[3], the graph has f32[2]");
  EXPECT_EQ(message([&] { net().inputs(); }), "symint s0 has no value");
  EXPECT_EQ(message([&] { net().inputs({{"s0", 2}, {"s1", 2}}); }),
            "GraphModule: @net has no symint s1");
  EXPECT_EQ(message([&] { GraphModule::load("model.bin"); }),
            "model.bin: the file's kind is .bin, expected .pt2, .onnx or .clv");
  EXPECT_EQ(message([&] { GraphModule::load("/none/model.clv"); }),
            "/none/model.clv: can't read it: No such file or directory");
}

TEST(GraphModule, a_text_brings_the_weights_beside_it) {
  const std::string folder = testing::TempDir() + "cleave_graph_module";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/net.clv") << "clv 1\n" << net_text;
  save_tensors(folder + "/net.safetensors", net_weights());
  const GraphModule model = GraphModule::load(folder + "/net.clv");
  EXPECT_TRUE(model.parameter("fc.weight").value().same_bits(net_weights().at("fc.weight")));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cleave
