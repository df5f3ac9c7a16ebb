// Operators of the host program: C text and callbacks, against their own reference rule.
#include <gtest/gtest.h>

#include <cmath>

#include "grad/grad.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

// y = a x^3 and s = sum of a row, in C text.
Operator cube() {
  return {
      .name = "cube",
      .signature = "(Tensor x, Tensor? shift=None, *, float a=1.0) -> (Tensor y, Tensor)",
      .infer =
          [](const OpCall& op) {
            const TensorType x = op.operand(0);
            if (x.shape.size() != 2) op.refuse("C1", "x has not 2 dims");
            return std::vector{x, TensorType{x.dtype, {x.shape[0]}}};
          },
      .reference =
          [](const OpCall& op, const HostTensors& in, HostTensors& out) {
            const auto x = in[0].span<double>();
            const size_t width = x.size() / out[1].span<double>().size();
            for (size_t i = 0; i < x.size(); ++i) {
              const double shift = op.has(1) ? in[1].data<double>()[i] : 0;
              out[0].data<double>()[i] = op.float_attr("a") * x[i] * x[i] * x[i] + shift;
              out[1].data<double>()[i / width] += x[i];
            }
          },
      .grad =
          [](const OpGradCall& op) {
            const Tensor& x = op.operand_value(0);
            Tensor dx = zeros_like(x);
            if (op.cotangent(0).defined())
              dx = dx + op.cotangent(0) * x * x * (3 * op.float_attr("a"));
            if (op.cotangent(1).defined()) dx = dx + op.cotangent(1).unsqueeze(1);
            return Tensors{dx, op.has(1) ? op.cotangent(0) : Tensor()};
          },
      .kernel =
          [](const OpCall& op) {
            const int64_t rows = op.operand(0).shape[0], width = op.operand(0).shape[1];
            return fmt::format(
                "  for (long r = 0; r < {}; ++r) {{\n    float sum = 0;\n"
                "    for (long i = r * {}; i < (r + 1) * {}; ++i) {{\n"
                "      y[i] = {}f * x[i] * x[i] * x[i]{};\n      sum += x[i];\n    }}\n"
                "    result1[r] = sum;\n  }}",
                rows, width, width, std::to_string(op.float_attr("a")),
                op.has(1) ? " + shift[i]" : "");
          },
  };
}

Operator shifted(int* runs) {
  return {
      .name = "shifted",
      .signature = "(Tensor x, int by=1) -> Tensor",
      .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
      .reference =
          [](const OpCall& op, const HostTensors& in, HostTensors& out) {
            for (int64_t i = 0; i < in[0].numel(); ++i)
              out[0].data<int64_t>()[i] = in[0].data<int64_t>()[i] + op.int_attr("by");
          },
      .callback =
          [runs](const OpCall& op) {
            const int64_t by = op.int_attr("by");
            return [runs, by](const OpMemory& m) {
              ++*runs;
              for (size_t i = 0; i < m.operand<int64_t>(0).size(); ++i)
                m.result<int64_t>(0)[i] = m.operand<int64_t>(0)[i] + by;
            };
          },
  };
}

// f as a graph with these operators, by the oracle.
Arrays by_oracle(const Operators& ops, const std::vector<InputSpec>& specs, const TracedFunction& f,
                 const std::vector<HostTensor>& inputs) {
  const auto r = trace::Recording::program(ops.registry(), trace::Mode::evaluation, "test", true);
  const std::vector<ValueId> values = declare_inputs(*r, specs);
  std::vector<Return> returns;
  for (const Tensor& t : run_traced(f, r, values, Location::current()))
    returns.push_back({r->value_of(t, Location::current())});
  r->graph().set_returns(std::move(returns));
  std::map<std::string, Array> arrays;
  for (size_t k = 0; k < inputs.size(); ++k) arrays[specs[k].name] = test::array_of(inputs[k]);
  return test::run(r->close(), arrays);
}

TEST(CustomOperator, c_text_gives_what_the_reference_gives) {
  Operators ops;
  ops.add(cube());
  const std::vector<InputSpec> specs = {{"x", DType::f32, {3, 4}}, {"s", DType::f32, {3, 4}}};
  const auto f = [](const Tensor& x, const Tensor& s) {
    const Tensors plain = call("cube", {x});
    const Tensors shifted = call("cube", {x.slice(0, 1, 3), s.slice(0, 0, 2)}, {{"a", 2.5}});
    return Tensors{plain[0], plain[1], shifted[0], shifted[1]};
  };
  Generator rng(1);
  const HostTensor x = rng.normal({3, 4}), s = rng.normal({3, 4});
  CompiledFunction program = compile(f, specs, {.ops = ops});
  const std::vector<HostTensor> got = program.run({x, s});
  const Arrays want = by_oracle(ops, specs, f, {x, s});
  for (size_t k = 0; k < want.size(); ++k)
    EXPECT_EQ(test::mismatch(test::array_of(got[k]), want[k], 1e-6), "") << k;
}

// A text that reads its sizes where they are is one text for all of them.
TEST(CustomOperator, c_text_that_reads_sizes_is_compiled_once_for_all) {
  for (const bool reads : {true, false}) {
    Operators ops;
    Operator op = cube();
    const auto with_numbers = op.kernel;
    op.kernel = [=](const OpCall& c) {
      if (!reads) return with_numbers(c);
      return std::string(
          "  for (long r = 0; r < x_size[0]; ++r) {\n    result1[r] = 0;\n"
          "    for (long i = r * y_size[1]; i < (r + 1) * x_size[1]; ++i) {\n"
          "      y[i] = x[i] * x[i] * x[i];\n      result1[r] += x[i];\n    }\n"
          "    if (result1_size[0] != x_size[0]) result1[r] = 99;\n  }");
    };
    ops.add(op);
    CompiledFunction f =
        compile([](const Tensor& x) { return call("cube", {x * 2.0}); },
                {{"x", DType::f32, {dyn("n", 1, 40), dyn("m", 1, 20)}}}, {.ops = ops});
    Generator rng(1);
    const std::string told = "operator cube: its C text is another for these sizes";
    for (const auto& [n, m] : {std::pair(3, 4), {7, 5}, {40, 20}, {1, 1}}) {
      const HostTensor x = rng.normal({n, m});
      const HostTensors got = f.run({x});
      EXPECT_EQ(f.report().recompiled.find(told) != std::string::npos, !reads && n != 40)
          << f.report().recompiled;
      for (int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < m; ++k) {
          const double y = 2.0 * x.at<float>({i, k});
          EXPECT_NEAR(got[0].at<float>({i, k}), y * y * y,
                      1e-5 * std::max(1.0, std::abs(y * y * y)));
          sum += y;
        }
        EXPECT_NEAR(got[1].at<float>({i}), sum, 1e-4);
      }
    }
    EXPECT_EQ(f.report().count("recompiles"), reads ? 0 : 3);
  }
}

TEST(CustomOperator, c_text_has_operands_named_as_sizes) {
  Operators ops;
  ops.add({.name = "scaled",
           .signature = "(Tensor x, Tensor x_size) -> (Tensor sizes)",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference =
               [](const OpCall&, const HostTensors& in, HostTensors& out) {
                 for (int64_t i = 0; i < in[0].numel(); ++i)
                   out[0].data<double>()[i] = in[0].data<double>()[i] * in[1].data<double>()[0];
               },
           .kernel =
               [](const OpCall&) {
                 return "for (long i = 0; i < sizes_size[0]; ++i) sizes[i] = x[i] * x_size[0];";
               }});
  CompiledFunction f =
      compile([](const Tensor& x, const Tensor& s) { return call("scaled", {x, s})[0]; },
              {{"x", DType::f32, {3}}, {"s", DType::f32, {1}}}, {.ops = ops});
  EXPECT_EQ(
      f.run({HostTensor::from<float>({1, 2, 3}), HostTensor::from<float>({5})})[0].data<float>()[2],
      15);
}

// The C text is the host program's: its errors are too, with the line of it.
TEST(CustomOperator, c_text_that_does_not_compile) {
  const auto refused = [](CompilerChoice compiler, const std::string& text) {
    Operators ops;
    Operator op = cube();
    op.kernel = [text](const OpCall&) { return text; };
    ops.add(op);
    try {
      compile([](const Tensor& x) { return call("cube", {x})[0]; }, {{"x", DType::f32, {3, 4}}},
              {.compiler = compiler, .ops = ops});
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::user) << e.what();
      return std::string(e.what());
    }
    return std::string("no error");
  };
  std::vector<CompilerChoice> compilers = {CompilerChoice::cc};
  if (CLEAVE_HAVE_CLANG) compilers.push_back(CompilerChoice::clang);
  for (const CompilerChoice c : compilers) {
    std::string text = refused(c, "for (long i = 0; i < 12; ++i)\n  y[i] = x[i]\nresult1[0] = 1;");
    for (const char* part : {"operator_test.cpp:", ": operator cube: its kernel doesn't compile:\n",
                             "kernel of cube:2:", "expected ", "y[i] = x[i]"})
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    EXPECT_EQ(text.find("unit"), std::string::npos) << text;
    text = refused(c, "y[0] = no_such_function(x[0]);");
    EXPECT_NE(text.find(": operator cube: its kernel doesn't compile:\n"), std::string::npos)
        << text;
    EXPECT_NE(text.find("no_such_function"), std::string::npos) << text;
  }
}

TEST(CustomOperator, a_callback_runs_once_a_run) {
  int runs = 0;
  Operators ops;
  ops.add(shifted(&runs));
  CompiledFunction program =
      compile([](const Tensor& x) { return call("shifted", {x.transpose(0, 1)}, {{"by", 5}})[0]; },
              {{"x", DType::i64, {2, 2}}}, {.ops = ops});
  EXPECT_EQ(runs, 0);
  for (int i = 1; i <= 2; ++i) {
    EXPECT_EQ(
        program.run({HostTensor::from<int64_t>({1, 2, 3, 4}, {2, 2})})[0].to_vector<int64_t>(),
        (std::vector<int64_t>{6, 8, 7, 9}));
    EXPECT_EQ(runs, i);
  }
}

// The program can be run again after an exception of the host's.
TEST(CustomOperator, a_callback_that_throws) {
  int runs = 0;
  Operators ops;
  Operator op = shifted(&runs);
  op.callback = [&runs](const OpCall&) {
    return [&runs](const OpMemory& m) {
      if (runs++ == 0) throw std::runtime_error("not yet");
      m.result<int64_t>(0)[0] = m.operand<int64_t>(0)[0] + 1;
    };
  };
  ops.add(op);
  CompiledFunction program = compile([](const Tensor& x) { return call("shifted", {x})[0]; },
                                     {{"x", DType::i64, {1}}}, {.ops = ops});
  const HostTensor x = HostTensor::from<int64_t>({4}, {1});
  EXPECT_THROW(program.run({x}), std::runtime_error);
  EXPECT_EQ(program.run({x})[0].number(0), 5);
  EXPECT_EQ(runs, 2);
}

// One parameter is updated by SGD, the other one by a callback, which throws: both stay as they
// were.
TEST(CustomOperator, a_callback_that_throws_leaves_every_parameter_as_it_was) {
  bool throws = true;
  Operators ops;
  ops.add({.name = "moved",
           .signature = "(Tensor p, Tensor g) -> Tensor",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
           .callback =
               [&throws](const OpCall&) {
                 return [&throws](const OpMemory& m) {
                   if (throws) throw std::runtime_error("no");
                   for (size_t i = 0; i < m.result<float>(0).size(); ++i)
                     m.result<float>(0)[i] = m.operand<float>(0)[i] - m.operand<float>(1)[i];
                 };
               }});
  struct Moved : optim::Optimizer {
    void record(optim::Update& update) const override {
      for (const auto& p : update.parameters()) update.set(p, call("moved", {p.value, p.grad})[0]);
    }
    double learning_rate() const override { return 1; }
  };
  Generator rng(1);
  const nn::Linear model(3, 2, rng);
  TrainStep step = train_step(
      model, [&](const Tensor& x) { return sum(model(x)); },
      optim::Groups({{optim::named("weight"), optim::SGD({.lr = 1})}, {optim::others(), Moved()}}),
      {{"x", DType::f32, {4, 3}}}, {.compile = {.ops = ops}});
  const HostTensor x = rng.normal({4, 3});
  const HostTensor weight = model.parameter("weight").value(),
                   bias = model.parameter("bias").value();
  EXPECT_THROW(step.run({x}), std::runtime_error);
  EXPECT_TRUE(model.parameter("weight").value().same_bits(weight));
  EXPECT_TRUE(model.parameter("bias").value().same_bits(bias));
  EXPECT_EQ(step.steps(), 0);
  throws = false;
  step.run({x});
  EXPECT_FALSE(model.parameter("weight").value().same_bits(weight));
  EXPECT_NEAR(model.parameter("bias").value().number(0), bias.number(0) - 4, 1e-6);
}

// The gradient rule against finite differences of the reference, in f64.
TEST(CustomOperator, gradient) {
  Operators ops;
  ops.add(cube());
  const auto r = trace::Recording::program(ops.registry(), trace::Mode::training, "test", true);
  const std::vector<ValueId> in =
      declare_inputs(*r, {{"x", DType::f64, {2, 2}}, {"s", DType::f64, {2, 2}}});
  const Tensors y = run_traced(
      [](const Tensor& x, const Tensor& s) {
        const Tensors out = call("cube", {x, s}, {{"a", 2.0}});
        return sum(out[0] * out[0]) + sum(out[1] * exp(out[1]));
      },
      r, in, Location::current());
  Graph& g = r->graph();
  const ValueId loss = r->value_of(y[0], Location::current());
  const ValueId one = r->value_of(ones_like(y[0]), Location::current());
  const Values grads = value_or_throw(add_gradients(g, ops.registry(), {{loss}, {one}, in}));
  g.set_returns({{loss}, {grads[0]}, {grads[1]}});
  const Graph graph = r->close();
  std::map<std::string, Array> at{{"x", test::filled({2, 2}, {0.3, -0.7, 1.1, 0.2})},
                                  {"s", test::filled({2, 2}, {0.5, 0.1, -0.4, 0.8})}};
  const Arrays here = test::run(graph, at);
  const char* names[] = {"x", "s"};
  for (int operand = 0; operand < 2; ++operand)
    for (int64_t k = 0; k < 4; ++k) {
      double& element = at[names[operand]].f[k];
      const double h = 1e-6, start = element;
      element = start + h;
      const double up = test::run(graph, at)[0].f[0];
      element = start - h;
      const double down = test::run(graph, at)[0].f[0];
      element = start;
      EXPECT_NEAR(here[1 + operand].f[k], (up - down) / (2 * h), 1e-6);
    }
}

TEST(CustomOperator, errors) {
  Operators ops;
  const auto add = [&](const Operator& op) { return message([&] { ops.add(op); }); };
  Operator op = cube();
  op.kernel = {};
  EXPECT_EQ(add(op), "Operators: add: cube: expected either kernel or callback");
  op = cube();
  op.infer = {};
  EXPECT_EQ(add(op), "Operators: add: cube: infer is missing");
  op = cube();
  op.signature = "(Tensor[] x) -> Tensor";
  EXPECT_EQ(add(op),
            "Operators: add: cube: lists of tensors are not taken: name each operand and result");
  op = cube();
  op.signature = "(Tenor x) -> Tensor";
  EXPECT_NE(add(op).find("Operators: add: cube: "), std::string::npos);
  for (const char* name : {"", "a b", "a.b", "3d"}) {
    op = cube();
    op.name = name;
    EXPECT_EQ(add(op), std::string("Operators: add: the name `") + name +
                           "`: expected letters, digits and _, and no digit first");
  }
  op = cube();
  op.signature = "(Tensor x, Tensor x) -> Tensor";
  EXPECT_EQ(add(op),
            "Operators: add: cube: signature '(Tensor x, Tensor x) -> Tensor': expected a name "
            "that no other argument has at character 20");
  for (const char* signature : {"(Tensor y) -> (Tensor y)", "(Tensor x) -> (Tensor y, Tensor y)",
                                "(Tensor x) -> (Tensor result1, Tensor)"}) {
    op = cube();
    op.signature = signature;
    EXPECT_NE(add(op).find("cube: two of the kernel's pointers are named `"), std::string::npos)
        << signature;
  }
  op = cube();
  op.name = "exp";
  EXPECT_NE(add(op).find("exp"), std::string::npos);
  EXPECT_EQ(add(cube()), "no error");

  // Rules that refuse, throw, or give the wrong thing.
  const auto text = [&](const Operators& with, const char* name) {
    const std::string all = message([&] {
      compile([&](const Tensor& x) { return call(name, {x})[0]; }, {{"x", DType::f32, {2}}},
              {.ops = with});
    });
    return all.substr(all.find(": ") + 2);
  };
  EXPECT_EQ(text(ops, "cube"), "cube: C1: x has not 2 dims\n  in cube(%x: f32[2])");
  Operators broken;
  op = cube();
  op.infer = [](const OpCall&) -> std::vector<TensorType> { throw std::runtime_error("oh"); };
  broken.add(op);
  EXPECT_EQ(text(broken, "cube"), "cube: infer: oh\n  in cube(%x: f32[2])");
  Operators strange;
  op.infer = [](const OpCall&) -> std::vector<TensorType> { throw 42; };
  strange.add(op);
  EXPECT_EQ(text(strange, "cube"), "cube: infer: throws no std::exception\n  in cube(%x: f32[2])");
  Operators empty;
  op = cube();
  op.infer = [](const OpCall& c) { return std::vector{c.operand(0), c.operand(0)}; };
  op.kernel = {};
  op.callback = [](const OpCall&) { return std::function<void(const OpMemory&)>(); };
  empty.add(op);
  EXPECT_NE(text(empty, "cube").find("cube: callback: it returned an empty function"),
            std::string::npos)
      << text(empty, "cube");
  // Without the operator it is unknown.
  EXPECT_EQ(text({}, "cube").rfind("call: there is no operator cube", 0), 0u);
}

TEST(CustomOperator, a_gradient_rule_that_asks_for_what_is_not_there) {
  const auto refused = [](const std::function<const Tensor&(const OpGradCall&)>& asked) {
    Operators ops;
    Operator op = cube();
    op.grad = [asked](const OpGradCall& c) { return Tensors{asked(c), Tensor()}; };
    ops.add(op);
    nn::Module model;
    const Variable w = model.add_parameter("w", HostTensor(DType::f32, {2, 2}));
    return message([&] {
      train_step(model, [&](const Tensor& x) { return sum(call("cube", {x * w})[0]); },
                 optim::SGD({}), {{"x", DType::f32, {2, 2}}}, {.compile = {.ops = ops}});
    });
  };
  const auto expect = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(refused([](const OpGradCall& c) -> const Tensor& { return c.operand_value(2); }),
         "gradient of cube: operand 2 is outside [0, 2)");
  expect(refused([](const OpGradCall& c) -> const Tensor& { return c.result_value(-1); }),
         "gradient of cube: result -1 is outside [0, 2)");
  expect(refused([](const OpGradCall& c) -> const Tensor& { return c.cotangent(2); }),
         "gradient of cube: cotangent 2 is outside [0, 2)");
}

TEST(CustomOperator, without_a_gradient_is_not_trained_through) {
  Operators ops;
  Operator op = cube();
  op.grad = {};
  ops.add(op);
  nn::Module model;
  const Variable w = model.add_parameter("w", HostTensor(DType::f32, {2, 2}));
  const std::string text = message([&] {
    train_step(model, [&](const Tensor& x) { return sum(call("cube", {x * w})[0]); },
               optim::SGD({.lr = 0.1}), {{"x", DType::f32, {2, 2}}}, {.compile = {.ops = ops}});
  });
  EXPECT_NE(text.find("cube"), std::string::npos) << text;
}

}  // namespace
}  // namespace cleave
