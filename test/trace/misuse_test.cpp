// Calls that mean nothing are refused at their line, in plain words.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "cleave/control_flow.h"
#include "cleave/nn_norm.h"
#include "cleave/nn_spatial.h"
#include "cleave/op.h"
#include "cleave/optim.h"
#include "cleave/recompute.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::after_line;
using test::message;
using test::traced;

// The error of a function of x: f32[2,3], without the test's file and line.
std::string refused(const TracedFunction& f) {
  std::string text = message([&] { traced({{"x", DType::f32, {2, 3}}}, f); });
  int line = 0;
  return after_line(text.substr(std::min(text.size(), text.rfind("misuse_test.cpp:"))),
                    "misuse_test.cpp", &line);
}

TEST(Misuse, an_undefined_operand_is_no_number) {
  const Tensor none;
  const Variable nothing;
  EXPECT_EQ(refused([&](const Tensor& x) { return x * nothing; }),
            "mul: an operand is an empty Tensor, expected a value");
  EXPECT_EQ(refused([&](const Tensor& x) { return x / none; }),
            "div: an operand is an empty Tensor, expected a value");
  EXPECT_EQ(refused([&](const Tensor& x) { return none - x; }),
            "sub: an operand is an empty Tensor, expected a value");
  EXPECT_EQ(refused([&](const Tensor& x) { return -none + x; }),
            "neg: self is an empty Tensor, expected a value");
}

TEST(Misuse, an_undefined_variable) {
  const std::string text =
      "Variable: it is undefined; Store::find gives such a one for a name that isn't there, "
      "Store::at an error";
  EXPECT_EQ(message([] { Store().find("typo").shape(); }), text);
  EXPECT_EQ(message([] { Variable().name(); }), text);
  EXPECT_EQ(message([] { Variable().set(HostTensor()); }), text);
  EXPECT_EQ(message([] { Variable().bind(HostTensor(), Contents::of_memory); }), text);
  EXPECT_EQ(message([] { Variable().set_requires_grad(true); }), text);
}

TEST(Misuse, handles_that_were_moved_from_are_still_the_same) {
  Generator rng(1);
  nn::Linear first(2, 3, rng);
  const nn::Linear second = std::move(first);
  EXPECT_EQ(first.parameter("weight"), second.parameter("weight"));
  Store store = second.store();
  const Store other = std::move(store);
  EXPECT_EQ(store.entries().size(), 2u);
}

TEST(Misuse, a_module_that_a_list_does_not_have) {
  Generator rng(1);
  nn::ModuleList<nn::Linear> list;
  list.push_back(nn::Linear(2, 3, rng));
  EXPECT_EQ(message([&] { list[9].parameter("weight"); }),
            "nn::ModuleList: module 9 is outside [0, 1)");
}

TEST(Misuse, attributes_of_any_kind_in_a_call) {
  const Graph g = traced({{"x", DType::f32, {2, 3}}}, [](const Tensor& x) {
    return call("gelu", {call("permute", {x}, {{"dims", {1, 0}}})[0]},
                {{"approximate", "tanh"}})[0];
  });
  EXPECT_EQ(test::bare(g),
            "graph @main(%x: input f32[2,3]) {\n"
            "  %permute = permute(%x; dims=[1,0])\n"
            "  %gelu = gelu(%permute; approximate=\"tanh\")\n"
            "  return %gelu\n}\n");
}

TEST(Misuse, one_hot_of_what_is_no_class) {
  EXPECT_EQ(refused([](const Tensor& x) { return one_hot(x, 3); }),
            "one_hot: self is f32[2,3], expected an integer dtype");
  const std::vector<InputSpec> specs = {{"i", DType::i64, {2}}};
  const Graph g = traced(specs, [](const Tensor& i) { return one_hot(i, 3); });
  const auto run = [&](double index) {
    return test::run(g, {{"i", test::filled({2}, {1, index}, DType::i64)}});
  };
  EXPECT_EQ(run(2)[0].i, (std::vector<int64_t>{0, 1, 0, 0, 0, 1}));
  for (const char* index : {"3", "-1"})
    EXPECT_TRUE(message([&] {
                  run(std::atof(index));
                }).starts_with(fmt::format("one_hot: index {} is out of range [0, 3)", index)));
}

TEST(Misuse, statistics_of_one_value) {
  const nn::BatchNorm1d norm(4);
  const std::string text = message([&] {
    traced(
        {{"x", DType::f32, {1, 4}}}, [&](const Tensor& x) { return norm(x); },
        trace::Mode::training, &norm);
  });
  EXPECT_TRUE(text.ends_with(
      "nn::BatchNorm1d: f32[1,4] has one value in each channel, whose variance is 0 and average "
      "the value itself; a training step takes at least two"))
      << text;
  traced(
      {{"x", DType::f32, {1, 4}}}, [&](const Tensor& x) { return norm(x); },
      trace::Mode::evaluation, &norm);
}

// Errors name the innermost module: a layer of cleave, or the one whose parameter is an operand.
struct ScaledLinear : nn::Module {
  nn::Linear fc;
  Variable scale;
  explicit ScaledLinear(Generator& rng, int64_t in)
      : fc(add_module("fc", nn::Linear(in, 4, rng))),
        scale(add_parameter("scale", HostTensor(DType::f32, {4}))) {}
  Tensor operator()(const Tensor& x) const { return fc(x) * scale; }
};

TEST(Misuse, the_path_of_a_module) {
  Generator rng(1);
  nn::Module model;
  auto layers = model.add_module("layers", nn::ModuleList<ScaledLinear>());
  for (const int64_t in : {3, 4, 5}) layers.push_back(ScaledLinear(rng, in));
  nn::Sequential head(nn::Flatten(7), [](const Tensor& x) { return x.view({5}); });
  model.add_module("head", head);
  const nn::MultiheadAttention attention =
      model.add_module("attention", nn::MultiheadAttention(4, 2, rng));
  const auto path = [&](const TracedFunction& f) {
    const std::string text =
        message([&] { traced({{"x", DType::f32, {2, 3}}}, f, trace::Mode::evaluation, &model); });
    const size_t at = text.find("\n  in module ");
    return at == std::string::npos ? "none: " + text : text.substr(at + 13);
  };
  EXPECT_EQ(path([&](const Tensor& x) { return layers[2](layers[1](layers[0](x))); }),
            "`layers.2.fc`");
  EXPECT_EQ(path([&](const Tensor& x) { return x * layers[1].scale; }), "`layers.1`");
  EXPECT_EQ(path([&](const Tensor& x) { return head(x); }), "`head.0`");
  EXPECT_EQ(path([&](const Tensor& x) { return attention(x, x, x); }), "`attention`");
  EXPECT_TRUE(path([&](const Tensor& x) { return x + zeros({4}); }).starts_with("none: "));
}

// The memory of a callback: a type that it isn't, an operand that there isn't.
TEST(Misuse, memory_of_a_callback) {
  const OpMemory::Types types{{{DType::f32, {2}}}, {{DType::f32, {2}}}};
  float x[2] = {1, 2}, y[2] = {};
  void* in[] = {x};
  void* out[] = {y};
  const OpMemory memory(types, in, out);
  EXPECT_EQ(memory.operand<float>(0).size(), 2u);
  EXPECT_EQ(message([&] { memory.result<double>(0); }),
            "result 0 is f32, and was asked for as f64");
  EXPECT_EQ(message([&] { memory.operand<float>(1); }), "operand 1 is outside [0, 1)");
  EXPECT_EQ(message([&] { memory.result_type(-1); }), "result -1 is outside [0, 1)");
}

TEST(Misuse, a_tensor_that_was_moved_from) {
  HostTensor x(DType::i64, {}), y(DType::f64, {4, 3});
  const HostTensor gone = std::move(x);
  EXPECT_EQ(x.type_text(), "f32[0]");
  EXPECT_EQ(HostTensor(x).type_text(), "f32[0]");
  x = gone;
  EXPECT_EQ(x.type_text(), "i64[]");
  x = std::move(y);
  EXPECT_EQ(y.type_text(), "f32[0]");
  EXPECT_EQ(x.type_text(), "f64[4,3]");
  y = HostTensor(y);
  EXPECT_EQ(y.to(DType::f64).numel(), 0);
}

TEST(Misuse, an_undefined_variable_in_a_store) {
  EXPECT_EQ(message([] { Store().add("w", Variable()); }), "store: add: w is an empty Variable");
}

TEST(Misuse, names_that_a_graph_cannot_have) {
  const std::string rest = " is empty, too long, or holds more than A-Za-z0-9_.-/";
  EXPECT_EQ(message([] {
              traced({{"x", DType::f32, {2}}},
                     [](const Tensor& x) { return (x * 2.0).named("a b"); });
            }),
            "the name `a b`" + rest);
  EXPECT_TRUE(message([] {
                traced({{"", DType::f32, {2}}}, [](const Tensor& x) { return x; });
              }).ends_with("the name ``" + rest));
  const Variable odd("50%", HostTensor(DType::f32, {2}));
  EXPECT_NE(message([&] {
              traced({{"x", DType::f32, {2}}}, [&](const Tensor& x) { return x + odd; });
            }).find("the name `50%`" + rest),
            std::string::npos);
}

TEST(Misuse, functions_that_were_never_set) {
  const std::function<Tensor(const Tensor&)> none;
  const std::function<Tensor()> no_branch;
  using Pointer = Tensor (*)(const Tensor&);
  EXPECT_FALSE(TracedFunction(none));
  EXPECT_FALSE(TracedFunction(Pointer(nullptr)));
  EXPECT_EQ(refused([&](const Tensor& x) { return checkpoint(none, {x}); }),
            "checkpoint: there is no function");
  const std::string text =
      refused([&](const Tensor& x) { return cond(x.sum() > 0, [&] { return x; }, no_branch); });
  EXPECT_TRUE(text.ends_with("there is no function")) << text;
}

// A constructor has no line of its own.
TEST(Misuse, a_kernel_of_three_sizes) {
  Generator rng(1);
  EXPECT_EQ(message([&] { nn::Conv2d(3, 4, {3, 3, 3}, rng); }),
            "nn::Conv2d: kernel_size has 3 numbers, expected 1 or 2");
  EXPECT_EQ(message([&] { nn::ConvTranspose2d(3, 4, {3, 3, 3}, rng); }),
            "nn::ConvTranspose2d: kernel_size has 3 numbers, expected 1 or 2");
}

// What an operator's own rules do wrong is the user's error.
TEST(Misuse, rules_of_an_operator) {
  const auto refused_by = [](const std::function<std::vector<TensorType>(const OpCall&)>& infer) {
    Operators ops;
    ops.add({.name = "odd",
             .signature = "(Tensor x, *, float by=2.0) -> Tensor",
             .infer = infer,
             .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
             .kernel = [](const OpCall&) { return ""; }});
    try {
      compile([](const Tensor& x) { return call("odd", {x})[0]; }, {{"x", DType::f32, {2}}},
              {.ops = ops});
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::user);
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(refused_by([](const OpCall&) {
              return std::vector<TensorType>();
            }).find("odd: infer: 0 types for 1 results"),
            std::string::npos);
  EXPECT_NE(refused_by([](const OpCall& op) {
              op.float_attr("times");
              return std::vector{op.operand(0)};
            }).find("odd: it has no attribute times: (Tensor x, *, float by=2.0) -> Tensor"),
            std::string::npos);
  EXPECT_NE(refused_by([](const OpCall& op) {
              op.string_attr("by");
              return std::vector{op.operand(0)};
            }).find("odd: attribute by is 2.0, no string"),
            std::string::npos);
}

TEST(Misuse, complex_numbers) {
  for (const bool in_branch : {false, true}) {
    const std::string text = message([&] {
      compile(
          [&](const Tensor& x) {
            if (!in_branch) return x.to(DType::c64);
            const auto f = [](const Tensor& v) { return v.to(DType::c64).to(DType::f32); };
            return cond(sum(x) > 0, f, f, {x})[0];
          },
          {{"x", DType::f32, {2}}}, {.compiler = CompilerChoice::none});
    });
    EXPECT_NE(text.find("complex numbers have no kernels"), std::string::npos) << text;
  }
}

// A Tensor of a trace that an exception ended adds nothing to it.
TEST(Misuse, a_trace_that_threw) {
  Tensor kept;
  struct Thrown {};
  const auto f = [&](const Tensor& x) {
    kept = x * 2.0;
    if (kept.defined()) throw Thrown();
    return x;
  };
  EXPECT_THROW(compile(f, {{"x", DType::f32, {2}}}), Thrown);
  EXPECT_NE(message([&] { kept + 1.0; }).find("is used after its trace is over"),
            std::string::npos);
  EXPECT_NE(message([&] { kept.dtype(); }).find("is used after its trace is over"),
            std::string::npos);
}

// Numbers at the ends of their type.
TEST(Misuse, limits_of_numbers) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min(),
                    most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(optim::cosine(0, 1, least, 100, 0.5), 0.5 + 0.25 * (1 + std::cos(std::numbers::pi)));
  EXPECT_EQ(optim::linear(most - 1, 1, 0, most), 0);
  EXPECT_EQ(optim::constant(most - 1, 1, most), 1);
  Generator rng(1);
  EXPECT_EQ(message([&] { nn::Linear(most, 2, rng); }),
            "nn::Linear: size 9223372036854775807 is beyond 2^47");
  constexpr int64_t long_side = int64_t{1} << 47;
  EXPECT_NE(
      message([&] { nn::Conv2d(2, 2, {long_side, long_side}, rng); }).find("more than 2^60 bytes"),
      std::string::npos);
  EXPECT_EQ(refused([&](const Tensor& x) { return triu(x, least); }),
            refused([](const Tensor& x) { return triu(x, -5); }));
  traced({{"x", DType::f32, {2, 3}}}, [](const Tensor& x) { return x.chunk(most, 1).at(2); });
  EXPECT_EQ(message([&] { Generator(1).integers({2}, least, 5); }),
            "Generator: integers: the range [-9223372036854775808, 5) is wider than 2^63");
}

}  // namespace
}  // namespace cleave
