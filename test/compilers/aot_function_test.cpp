// Forward and backward as two programs.
// tests: aot_function.cpp aot_halves.cpp aot_traced.cpp aot_graph.cpp partitioner.cpp
#include <gtest/gtest.h>

#include "cleave/cleave.h"
#include "test/compilers/ramp.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;
using test::ramp;

const std::vector<InputSpec> specs{{"x", DType::f32, {4, 3}}, {"w", DType::f32, {3, 2}}};

Tensor layer(const Tensor& x, const Tensor& w) { return tanh(matmul(x, w)); }

// What a program of one piece gives for the same: y, and the gradient of sum(y dy) by w.
HostTensors whole(const HostTensor& x, const HostTensor& w, const HostTensor& dy) {
  CompiledFunction f = compile(
      [](const Tensor& a, const Tensor& b, const Tensor& c) {
        const Tensor y = layer(a, b);
        return Tensors{y, grad(y, {b}, {.cotangent = c})[0]};
      },
      {specs[0], specs[1], {"dy", DType::f32, dy.shape()}});
  return f.run({x, w, dy});
}

std::vector<Partitioner> partitioners() {
  return {Partitioner::standard(),
          Partitioner::pytorch(),
          Partitioner::pytorch(0),
          Partitioner::exact(),
          Partitioner::exact(MemoryBudget::percent(100)),
          Partitioner::own([](const TracedGraph&) { return std::vector<std::string>(); })};
}

TEST(AotFunction, forward_and_backward_are_the_whole_for_every_partition_and_compiler) {
  const HostTensor x = ramp({4, 3}), w = ramp({3, 2}, -0.25), dy = ramp({4, 2}, 1);
  const HostTensors want = whole(x, w, dy);
  for (const Partitioner& partition : partitioners())
    for (const GraphCompiler& compiler :
         {native(), script(), simple_script(), debug_nop(), nop()}) {
      AotFunction f = aot_function(
          layer, specs, {.wants_grad = {"w"}, .forward = compiler, .partition = partition});
      for (int run = 0; run < 2; ++run) {
        const HostTensors y = f.forward({x, w});
        const AotGradients dw = f.backward({dy});
        ASSERT_EQ(y.size(), 1U);
        ASSERT_EQ(dw.inputs.size(), 1U);
        EXPECT_TRUE(dw.parameters.empty());
        for (int64_t k = 0; k < y[0].numel(); ++k)
          EXPECT_NEAR(y[0].number(k), want[0].number(k), 1e-6);
        for (int64_t k = 0; k < want[1].numel(); ++k)
          EXPECT_NEAR(dw.inputs[0].number(k), want[1].number(k), 1e-5);
      }
    }
}

TEST(AotFunction, compiled_halves_have_the_bits_of_the_whole) {
  const HostTensor x = ramp({4, 3}), w = ramp({3, 2}, -0.25), dy = ramp({4, 2}, 1);
  const HostTensors want = whole(x, w, dy);
  for (const Partitioner& partition : partitioners()) {
    AotFunction f = aot_function(layer, specs, {.wants_grad = {"w"}, .partition = partition});
    EXPECT_TRUE(f.forward({x, w})[0].same_bits(want[0]));
    EXPECT_TRUE(f.backward({dy}).inputs[0].same_bits(want[1]));
  }
}

TEST(AotFunction, the_partition_decides_what_the_forward_keeps) {
  const auto kept = [](const Partitioner& partition) {
    const AotFunction f = aot_function(layer, specs, {.wants_grad = {"w"}, .partition = partition});
    std::vector<std::string> names;
    for (const GraphValue& v : f.forward_graph().results()) names.push_back(v.name);
    return names;
  };
  const auto own = [](std::vector<std::string> names) {
    return Partitioner::own([names](const TracedGraph&) { return names; });
  };
  const std::string y = kept(Partitioner::standard())[0];
  EXPECT_EQ(kept(own({y})), (std::vector<std::string>{y, "x", y}));
  EXPECT_EQ(kept(own({})), (std::vector<std::string>{y, "x", "w"}));
  const auto refused = [&](const std::string& name) {
    const std::string text = message([&] { kept(own({name})); });
    return text.substr(text.find("partition: "));
  };
  EXPECT_EQ(refused("nothing"), "partition: @main has no value %nothing");
  EXPECT_EQ(refused("tangent.0"),
            "partition: %tangent.0 depends on a tangent: the forward can't keep it");
}

TEST(AotFunction, each_graph_goes_to_its_compiler_once) {
  std::vector<std::string> asked;
  const auto named = [&](const std::string& name) {
    return [&asked, name](const TracedGraph& g, const HostTensors& examples) {
      EXPECT_EQ(examples.size(), g.inputs().size());
      asked.push_back(name);
      return native()(g, examples);
    };
  };
  const HostTensor x = ramp({4, 3}), w = ramp({3, 2});
  AotOptions options{.wants_grad = {"w"},
                     .forward = named("forward"),
                     .backward = named("backward"),
                     .inference = named("inference")};
  AotFunction f = aot_function(layer, specs, options);
  f.forward({x, w});
  f.forward({x, w});
  EXPECT_EQ(asked, (std::vector<std::string>{"forward"}));
  f.backward({ramp({4, 2})});
  EXPECT_EQ(asked, (std::vector<std::string>{"forward", "backward"}));
  options.wants_grad.clear();
  AotFunction g = aot_function(layer, specs, options);
  g.forward({x, w});
  EXPECT_EQ(asked.back(), "inference");
}

struct Net {
  Generator rng{7};
  nn::Sequential model{nn::Linear(8, 16, rng), nn::BatchNorm1d(16), nn::ReLU(), nn::Dropout(0.5),
                       nn::Linear(16, 1, rng)};
};

TEST(AotModule, gives_gradients_of_parameters_and_writes_buffers) {
  Net net, other;
  const HostTensor x = net.rng.normal({32, 8});
  const auto loss = [](const nn::Sequential& m) {
    return [m](const Tensor& in) { return square(m(in)).mean(); };
  };
  AotFunction f = aot_module(net.model, loss(net.model), {{"x", DType::f32, {32, 8}}},
                             {.partition = Partitioner::pytorch()});
  AotFunction g =
      aot_module(other.model, loss(other.model), {{"x", DType::f32, {32, 8}}}, {.forward = nop()});
  double before = 0;
  for (int run = 0; run < 3; ++run) {
    const double a = f.forward({x})[0].item(), b = g.forward({x})[0].item();
    EXPECT_NEAR(a, b, 1e-5);
    EXPECT_NE(a, before);  // other dropped elements in each run
    before = a;
    const AotGradients da = f.backward(), db = g.backward();
    ASSERT_EQ(da.parameters.size(), 6U);
    for (size_t k = 0; k < da.parameters.size(); ++k) {
      EXPECT_EQ(da.parameters[k].first, db.parameters[k].first);
      for (int64_t e = 0; e < da.parameters[k].second.numel(); ++e)
        EXPECT_NEAR(da.parameters[k].second.number(e), db.parameters[k].second.number(e), 1e-5);
    }
  }
  const Store ours = net.model.store(), theirs = other.model.store();
  EXPECT_EQ(ours.at("1.num_batches_tracked").value().item(), 3);
  for (int64_t e = 0; e < 16; ++e)
    EXPECT_NEAR(ours.at("1.running_mean").value().number(e),
                theirs.at("1.running_mean").value().number(e), 1e-6);
}

TEST(AotModule, a_frozen_parameter_has_no_gradient) {
  Net net;
  net.model.parameter("0.weight").set_requires_grad(false);
  AotFunction f = aot_module(net.model, [&](const Tensor& x) { return net.model(x).sum(); },
                             {{"x", DType::f32, {4, 8}}});
  f.forward({ramp({4, 8})});
  for (const auto& [name, gradient] : f.backward().parameters) EXPECT_NE(name, "0.weight");
}

TEST(AotFunction, an_input_that_is_updated_is_written_by_the_forward) {
  AotFunction f = aot_function(
      [](const Tensor& x, const Tensor& total) {
        assign(total, total + x);
        return x * total;
      },
      {{"x", DType::f32, {2}}, {.name = "total", .shape = {2}, .is_updated = true}},
      {.wants_grad = {"x"}});
  HostTensor x = HostTensor::from<float>({1, 2}), total = HostTensor::from<float>({10, 20});
  EXPECT_EQ(f.forward({x, total})[0].to_vector<float>(), (std::vector<float>{10, 40}));
  EXPECT_EQ(total.to_vector<float>(), (std::vector<float>{11, 22}));
  EXPECT_EQ(f.backward({HostTensor::from<float>({1, 1})}).inputs[0].to_vector<float>(),
            (std::vector<float>{10, 20}));
}

TEST(AotFunction, sizes_may_vary) {
  AotFunction f = aot_function(layer, {{"x", DType::f32, {dyn("B", 1, 8), 3}}, specs[1]},
                               {.wants_grad = {"x"}});
  const HostTensor w = ramp({3, 2});
  for (const int64_t rows : {4, 8, 1, 4}) {
    EXPECT_EQ(f.forward({ramp({rows, 3}), w})[0].shape(), (std::vector<int64_t>{rows, 2}));
    EXPECT_EQ(f.backward({ramp({rows, 2})}).inputs[0].shape(), (std::vector<int64_t>{rows, 3}));
  }
  EXPECT_NE(message([&] { f.forward({ramp({9, 3}), w}); }), "");
}

TEST(AotFunction, a_graph_has_halves_for_all_sizes) {
  const TracedGraph g = TracedGraph::parse(R"(
graph @main(%s: symint range (1, 64), %x: input f32[s,3], %w: param f32[3,2] grad,
            %n: buffer f32[]) {
  %y = mm(%x, %w)
  %h = tanh(%y)
  %next = add(%n; other=1.0)
  return %h, %next -> %n
})");
  const HostTensor w = ramp({3, 2}, -0.25);
  HostTensor n = HostTensor::scalar(0);
  for (const Partitioner& partition :
       {Partitioner::standard(), Partitioner::pytorch(), Partitioner::exact()}) {
    AotFunction f = aot_function(g, {.partition = partition});
    for (const int64_t rows : {4, 2, 4}) {
      const HostTensor x = ramp({rows, 3}), dy = ramp({rows, 2}, 1);
      const double before = n.item();
      const HostTensors y = f.forward({x, w, n});
      EXPECT_EQ(n.item(), before + 1);
      const HostTensors dw = f.backward({dy}).inputs;
      if (rows != 4) continue;
      const HostTensors want = whole(x, w, dy);
      EXPECT_TRUE(y[0].same_bits(want[0]));
      EXPECT_TRUE(dw[0].same_bits(want[1]));
    }
  }
  EXPECT_EQ(message([&] { aot_function(g).forward({ramp({4, 3}), w}); }),
            "aot_function: got 2 inputs, expected 3");
  EXPECT_EQ(message([&] { aot_function(g).forward({ramp({4, 3}), w, std::as_const(n)}); }),
            "aot_function: input 2 `n` is updated, and given a const tensor");
}

TEST(AotFunction, what_is_asked_wrongly_is_one_clear_error) {
  const HostTensor x = ramp({4, 3}), w = ramp({3, 2});
  const auto first_line = [](const std::string& text) {
    const std::string line = text.substr(0, text.find('\n'));
    const size_t at = line.find("aot_function:");
    return at == std::string::npos ? line : line.substr(at);
  };
  EXPECT_EQ(first_line(message([&] { aot_function(layer, specs, {.wants_grad = {"v"}}); })),
            "aot_function: wants_grad: there is no input `v`");
  EXPECT_EQ(first_line(message([&] { aot_function(layer, specs, {.wants_grad = {"w", "w"}}); })),
            "aot_function: wants_grad: `w` is named twice");
  EXPECT_EQ(first_line(message([&] { aot_function(layer, specs, {.forward = {}}); })),
            "aot_function: the forward has no compiler");
  AotFunction f = aot_function(layer, specs, {.wants_grad = {"w"}});
  EXPECT_EQ(message([&] { f.backward({x}); }),
            "aot_function: backward needs a forward before it, and takes what that kept");
  f.forward({x, w});
  EXPECT_EQ(message([&] { f.backward({x}); }),
            "aot_function: cotangent 0: got f32[4,3], expected f32[4,2]");
  EXPECT_EQ(message([&] { f.backward(); }),
            "aot_function: backward got 0 cotangents, expected 1: one for each floating result");
  f.backward({ramp({4, 2})});
  EXPECT_EQ(message([&] { f.backward({ramp({4, 2})}); }),
            "aot_function: backward needs a forward before it, and takes what that kept");
  AotFunction none = aot_function(layer, specs);
  none.forward({x, w});
  EXPECT_NE(message([&] { none.backward({ramp({4, 2})}); }).find("nothing wants a gradient"),
            std::string::npos);
  EXPECT_EQ(message([&] { AotFunction().forward({x}); }),
            "AotFunction: it is empty; aot_function() makes one");
}

TEST(AotFunction, a_compiler_that_returns_nonsense_is_named) {
  const HostTensor x = ramp({4, 3}), w = ramp({3, 2});
  const auto said = [&](const GraphCallable& callable) {
    AotFunction f =
        aot_function(layer, specs,
                     {.forward = [&](const TracedGraph&, const HostTensors&) { return callable; }});
    return message([&] { f.forward({x, w}); });
  };
  EXPECT_EQ(said({}), "aot_function: the compiler returned no callable for @main");
  EXPECT_EQ(said([](HostTensors&&) { return HostTensors(); }),
            "aot_function: the compiler's callable for @main returned 0 tensors, expected 1");
  EXPECT_EQ(said([](HostTensors&&) { return HostTensors{HostTensor::scalar(1)}; }),
            "aot_function: the compiler's callable for @main: result 0: f32[], expected f32[4,2]");
  EXPECT_THROW(said([](HostTensors&&) -> HostTensors { throw std::runtime_error("mine"); }),
               std::runtime_error);
}

TEST(AotModule, a_parameter_that_is_written_between_the_halves_is_an_error) {
  Net net;
  AotFunction f = aot_module(net.model, [&](const Tensor& x) { return net.model(x).sum(); },
                             {{"x", DType::f32, {4, 8}}});
  f.forward({ramp({4, 8})});
  Variable w = net.model.parameter("4.weight");
  w.set(net.rng.normal(w.shape()));
  EXPECT_EQ(message([&] { f.backward(); }),
            "aot_function: a parameter was written between forward and backward");
}

}  // namespace
}  // namespace cleave
