// What is recorded: nodes, source lines, values from outside of the program; errors and their
// lines.
// tests: record.cpp
#include <gtest/gtest.h>

#include <sstream>

#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::after_line;
using test::bare;
using test::message;
using test::traced;

const std::vector<InputSpec> two_matrices = {{"a", DType::f32, {2, 3}}, {"b", DType::f32, {3, 4}}};

TEST(Record, nodes_with_their_lines) {
  const int line = __LINE__;
  const Graph g = traced(two_matrices, [](const Tensor& a, const Tensor& b) {
    const Tensor y = mm(a, b);
    const Tensor z = y * 2.0 + 1;
    return relu(z);
  });
  EXPECT_EQ(print(g),
            fmt::format("graph @main(%a: input f32[2,3], %b: input f32[3,4]) {{\n"
                        "  %mm = mm(%a, %b) : f32[2,4]  # recording_test.cpp:{}\n"
                        "  %mul = mul(%mm; other=2.0) : f32[2,4]  # recording_test.cpp:{}\n"
                        "  %add = add(%mul; other=1) : f32[2,4]  # recording_test.cpp:{}\n"
                        "  %relu = relu(%add) : f32[2,4]  # recording_test.cpp:{}\n"
                        "  return %relu\n}}\n",
                        line + 2, line + 3, line + 3, line + 4));
}

TEST(Record, names) {
  const Graph g = traced(two_matrices, [](const Tensor& a, const Tensor&) {
    const Tensor y = exp(a).named("hidden");
    return exp(y).named("hidden");
  });
  EXPECT_EQ(bare(g),
            "graph @main(%a: input f32[2,3], %b: input f32[3,4]) {\n"
            "  %hidden = exp(%a)\n"
            "  %hidden_1 = exp(%hidden)\n"
            "  return %hidden_1\n}\n");
}

TEST(Record, numbers_on_either_side) {
  const Graph g = traced({{"x", DType::f32, {2}}}, [](const Tensor& x) {
    return Tensors{1 - x, x - 1, 2.0 / x, -x, x < 0, 3 >= x, x == 1, x != 2.5, pow(2.0, x)};
  });
  EXPECT_EQ(bare(g),
            "graph @main(%x: input f32[2]) {\n"
            "  %sub = sub(%x; self=1)\n"
            "  %sub_1 = sub(%x; other=1)\n"
            "  %div = div(%x; self=2.0)\n"
            "  %neg = neg(%x)\n"
            "  %lt = lt(%x; other=0)\n"
            "  %le = le(%x; other=3)\n"
            "  %eq = eq(%x; other=1)\n"
            "  %ne = ne(%x; other=2.5)\n"
            "  %pow = pow(%x; self=2.0)\n"
            "  return %sub, %sub_1, %div, %neg, %lt, %le, %eq, %ne, %pow\n}\n");
}

// A mask that is made before the program, used twice: copied once, with what it needs alone.
TEST(Record, values_outside_of_programs) {
  const Tensor base = arange(0, 3);
  const Tensor unused = base * 2;
  const Tensor row = unsqueeze(base, 0), column = unsqueeze(base, 1);
  const Tensor mask = row <= column;
  const auto f = [&](const Tensor& x) { return Tensors{where(mask, x, 0.0), where(mask, 1.0, x)}; };
  const std::string want =
      "graph @main(%x: input f32[3,3]) {\n"
      "  %arange = arange(end=3)\n"
      "  %unsqueeze = unsqueeze(%arange; dim=0)\n"
      "  %unsqueeze_1 = unsqueeze(%arange; dim=1)\n"
      "  %le = le(%unsqueeze, %unsqueeze_1)\n"
      "  %where = where(%le, %x; other=0.0)\n"
      "  %where_1 = where(%le, %x; self=1.0)\n"
      "  return %where, %where_1\n}\n";
  std::string got = bare(traced({{"x", DType::f32, {3, 3}}}, f));
  EXPECT_EQ(got, want);
  // And again in another program.
  EXPECT_EQ(bare(traced({{"x", DType::f32, {3, 3}}}, f)), want);
}

TEST(Record, variables_and_constants) {
  const Variable scale("scale", HostTensor(DType::f32, {3}));
  const HostTensor table = HostTensor::from<float>({1, 2, 3});
  const Graph g = traced({{"x", DType::f32, {3}}}, [&](const Tensor& x) {
    return (x + scale) * constant(table) * square(scale);
  });
  EXPECT_EQ(bare(g),
            "graph @main(%x: input f32[3], %scale: param f32[3], %constant: const f32[3]) {\n"
            "  %add = add(%x, %scale)\n"
            "  %mul = mul(%add, %constant)\n"
            "  %pow = pow(%scale; exponent=2)\n"
            "  %mul_1 = mul(%mul, %pow)\n"
            "  return %mul_1\n}\n");
}

TEST(Record, assignments) {
  const Variable count("count", HostTensor(DType::f32, {2}), VariableKind::buffer);
  const Graph g = traced({{"x", DType::f32, {2}}}, [&](const Tensor& x) {
    assign(count, x + 7);
    assign(count, x + count);
    return x * count;
  });
  EXPECT_EQ(bare(g),
            "graph @main(%x: input f32[2], %count: buffer f32[2]) {\n"
            "  %add_1 = add(%x, %count)\n"
            "  %mul = mul(%x, %count)\n"
            "  return %mul, %add_1 -> %count\n}\n");
}

TEST(Record, a_constant_is_not_assigned_to) {
  const Variable c("c", HostTensor(DType::f32, {2}), VariableKind::constant);
  int line = 0;
  const std::string text = message([&] {
    traced({{"x", DType::f32, {2}}}, [&](const Tensor& x) {
      assign(c, x);
      return x * c;
    });
  });
  EXPECT_EQ(after_line(text, __FILE__, &line),
            "assign: %c is a constant, which no program changes; make it a buffer");
}

TEST(Record, random_states_have_one_type) {
  const Variable v("odd", HostTensor(DType::i64, {4}), VariableKind::random);
  EXPECT_EQ(
      message([&] { traced({{"x", DType::i64, {4}}}, [&](const Tensor& x) { return x + v; }); }),
      "test: %odd holds the state of random numbers: got i64[4], expected i64[2]");
}

// A value made only of Variables belongs to the program that is being traced, even if the Variable
// that it is assigned to is never read.
TEST(Record, assignments_of_values_that_no_input_reaches) {
  const Variable a("a", HostTensor(DType::f32, {2}), VariableKind::buffer);
  const Variable b("b", HostTensor(DType::f32, {2}), VariableKind::buffer);
  const Graph g = traced({{"x", DType::f32, {2}}}, [&](const Tensor& x) {
    assign(b, Tensor(a) * 2);
    return x;
  });
  EXPECT_EQ(bare(g),
            "graph @main(%x: input f32[2], %b: buffer f32[2], %a: buffer f32[2]) {\n"
            "  %mul = mul(%a; other=2)\n"
            "  return %x, %mul -> %b\n}\n");
  int line = 0;
  EXPECT_EQ(after_line(message([&] { assign(b, Tensor(a) * 2); }), __FILE__, &line),
            "assign: no function is being traced; Variable::set() sets %b at once");
}

TEST(Record, dropout_has_a_stream_of_its_own) {
  const auto f = [](const Tensor& x) { return dropout(dropout(x, 0.1), 0.2); };
  const Graph g = traced({{"x", DType::f32, {8}}}, f, trace::Mode::training);
  EXPECT_EQ(
      bare(g),
      "graph @main(%x: input f32[8], %rng: rng_state i64[2]) {\n"
      "  %native_dropout_0, %native_dropout_1 = native_dropout(%x, %rng; p=0.1, train=true, "
      "stream=0)\n"
      "  %native_dropout_0_1, %native_dropout_1_1 = native_dropout(%native_dropout_0, %rng; p=0.2, "
      "train=true, stream=1)\n"
      "  return %native_dropout_0_1\n}\n");
  EXPECT_EQ(bare(traced({{"x", DType::f32, {8}}}, f)),
            "graph @main(%x: input f32[8]) {\n  return %x\n}\n");
}

// ---- errors

class RecordError : public testing::Test {
 protected:
  // The error of f on a 2x3 and a 3x4 matrix less its line, which goes to `line`.
  std::string error_of(const TracedFunction& f) {
    return after_line(message([&] { traced(two_matrices, f); }), __FILE__, &line);
  }
  int line = 0;
  int wanted = 0;  // where the call stands
  std::string text;
};

TEST_F(RecordError, of_a_rule_at_the_line_of_the_call) {
  text = error_of([&](const Tensor& a, const Tensor&) {
    wanted = __LINE__ + 1;
    return mm(a, a);
  });
  EXPECT_EQ(line, wanted);
  EXPECT_NE(text.find("mm: C"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  in mm(%a: f32[2,3], %a: f32[2,3])"), std::string::npos) << text;
}

TEST_F(RecordError, of_an_operator_at_its_line) {
  text = error_of([&](const Tensor& a, const Tensor& b) {
    wanted = __LINE__ + 1;
    return a + b;
  });
  EXPECT_EQ(line, wanted);
  EXPECT_NE(text.find("\n  in add(%a: f32[2,3], %b: f32[3,4])"), std::string::npos) << text;
}

TEST_F(RecordError, of_composed_functions_at_the_users_line) {
  text = error_of([&](const Tensor& a, const Tensor&) {
    wanted = __LINE__ + 1;
    return matmul(a, a);
  });
  EXPECT_EQ(text, "matmul: the inner dims differ, 3 and 2: f32[2,3] and f32[2,3]");
  EXPECT_EQ(line, wanted);
  text = error_of([&](const Tensor& a, const Tensor& b) {
    wanted = __LINE__ + 1;
    return linear(a, b);
  });
  EXPECT_EQ(text, "linear: input f32[2,3] and weight f32[3,4]: expected [*, in] and [out, in]");
  EXPECT_EQ(line, wanted);
  text = error_of([&](const Tensor& a, const Tensor&) {
    wanted = __LINE__ + 1;
    return a.transpose(0, 2);
  });
  EXPECT_EQ(text, "transpose: dim 2 is outside [-2, 2)");
  EXPECT_EQ(line, wanted);
  text = error_of([&](const Tensor& a, const Tensor& b) {
    wanted = __LINE__ + 1;
    return mse_loss(a, b);
  });
  EXPECT_EQ(text, "mse_loss: input f32[2,3] and target f32[3,4] differ in shape");
  EXPECT_EQ(line, wanted);
  text = error_of([&](const Tensor& a, const Tensor&) {
    wanted = __LINE__ + 1;
    return cross_entropy(a, a.select(1, 0));
  });
  EXPECT_EQ(text,
            "cross_entropy: input f32[2,3] and target f32[2]: expected [N,C,*] and i64[N,*], or "
            "probabilities of input's shape");
  EXPECT_EQ(line, wanted);
  text = error_of([&](const Tensor& a, const Tensor&) {
    wanted = __LINE__ + 1;
    return dropout(a, 1.5);
  });
  EXPECT_EQ(text, "dropout: p is 1.5, expected 0 <= p <= 1");
  EXPECT_EQ(line, wanted);
  text = error_of([&](const Tensor&, const Tensor&) {
    wanted = __LINE__ + 1;
    return exp(Tensor());
  });
  EXPECT_EQ(text, "exp: self is an empty Tensor, expected a value");
  EXPECT_EQ(line, wanted);
}

TEST_F(RecordError, of_calls_by_name) {
  text = error_of([&](const Tensor& a, const Tensor&) {
    wanted = __LINE__ + 1;
    return call("embeding", {a});
  });
  EXPECT_EQ(
      text,
      "call: there is no operator embeding; the nearest name is embedding; one of your own is "
      "given with CompileOptions::ops");
  EXPECT_EQ(line, wanted);
  text = error_of([&](const Tensor& a, const Tensor&) {
    wanted = __LINE__ + 1;
    return call("exp", {a}, {{"dim", 1}});
  });
  EXPECT_EQ(text, "call: exp has no attribute dim: (Tensor self) -> Tensor");
  EXPECT_EQ(line, wanted);
  text = error_of([&](const Tensor& a, const Tensor& b) {
    wanted = __LINE__ + 1;
    return call("exp", {a, b});
  });
  EXPECT_EQ(text, "call: exp takes 1 operand, got 2");
  EXPECT_EQ(line, wanted);
}

TEST_F(RecordError, programs_do_not_mix) {
  Tensor kept;
  traced(two_matrices, [&](const Tensor& outer, const Tensor&) {
    kept = outer;
    text = error_of([&](const Tensor& inner, const Tensor&) {
      wanted = __LINE__ + 1;
      return inner + outer;
    });
    return outer;
  });
  EXPECT_EQ(text,
            "add: operands of two programs, test and test; give one as an input of the other");
  EXPECT_EQ(line, wanted);
  const std::string late = message([&] { exp(kept); });
  wanted = __LINE__ - 1;
  EXPECT_EQ(after_line(late, __FILE__, &line),
            "exp: a tensor of test is used after its trace is over; only what it returns is kept");
  EXPECT_EQ(line, wanted);
  EXPECT_EQ(message([&] { kept.sizes(); }), "a tensor of test is used after its trace is over");
}

TEST_F(RecordError, a_variable_that_the_model_does_not_hold) {
  Generator rng(1);
  nn::Linear inside(3, 3, rng), outside(3, 3, rng, {.bias = false});
  const auto f = [&](const Tensor& x) {
    wanted = __LINE__ + 1;
    return outside(inside(x));
  };
  const std::string all =
      message([&] { traced({{"x", DType::f32, {2, 3}}}, f, trace::Mode::training, &inside); });
  EXPECT_EQ(
      after_line(all, __FILE__, &line),
      "test: parameter `weight`, f32[3,3], is used, but the model given to test doesn't hold "
      "it; register it in its module (Module::add_module, add_parameter, add_buffer), or give "
      "the module that holds it in TrainOptions::frozen");
  EXPECT_EQ(line, wanted);
}

TEST_F(RecordError, inputs) {
  EXPECT_NE(message([] {
              traced({{"x", DType::f32, {1}}, {"x", DType::f32, {1}}},
                     [](const Tensor& a, const Tensor&) { return a; });
            }).find("two inputs have the name `x`"),
            std::string::npos);
  EXPECT_NE(message([] {
              traced({{"x", DType::f32, {1}}}, [](const Tensor& a, const Tensor&) { return a; });
            }).find("the function takes 2 Tensors, the specs name 1 inputs"),
            std::string::npos);
}

TEST(Record, members_and_changes_in_place) {
  const Graph g = traced(two_matrices, [](auto a, auto b) {  // a generic lambda takes what is given
    Tensor y = a[1].relu();
    y += 1;
    y *= b.matmul(b[0])[-1];
    return y;
  });
  EXPECT_EQ(bare(g),
            "graph @main(%a: input f32[2,3], %b: input f32[3,4]) {\n"
            "  %select = select(%a; dim=0, index=1)\n"
            "  %relu = relu(%select)\n"
            "  %add = add(%relu; other=1)\n"
            "  %select_1 = select(%b; dim=0, index=0)\n"
            "  %unsqueeze = unsqueeze(%select_1; dim=1)\n"
            "  %mm = mm(%b, %unsqueeze)\n"
            "  %squeeze = squeeze(%mm; dim=[-1])\n"
            "  %select_2 = select(%squeeze; dim=0, index=-1)\n"
            "  %mul = mul(%add, %select_2)\n"
            "  return %mul\n}\n");
}

TEST(Record, a_tensor_says_what_it_is) {
  std::string text;
  traced(two_matrices, [&](const Tensor& a, const Tensor& b) {
    const Tensor y = mm(a, b).named("hidden");
    text = (std::ostringstream() << y << "; " << a << "; " << Tensor()).str();
    return y;
  });
  EXPECT_EQ(text, fmt::format("%hidden: f32[2,4], recording_test.cpp:{}; %a: f32[2,3]; an empty "
                              "Tensor",
                              __LINE__ - 6));
}

TEST(Record, functions_in_a_sequence) {
  Generator rng(1);
  const nn::Sequential model(
      nn::Linear(3, 2, rng), [](const Tensor& x) { return x * 2.0; }, nn::Linear(2, 1, rng));
  EXPECT_EQ(model.named_parameters()[2].first, "2.weight");
  const Graph g = traced(
      {{"x", DType::f32, {5, 3}}}, [&](const Tensor& x) { return model(x); },
      trace::Mode::evaluation, &model);
  EXPECT_EQ(g.type(g.returns()[0].value).text(), "f32[5,1]");
}

}  // namespace
}  // namespace cleave
