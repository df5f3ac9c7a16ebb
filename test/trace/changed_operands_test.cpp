// Operators of the host program that change an operand: functional in the graph, in place where
// nothing else reads what the operand was.
#include <gtest/gtest.h>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

// y = the old state, then state += x, from its end if `turned`
Operator accumulate(bool in_c, bool turned = false) {
  Operator op{
      .name = "accumulate",
      .signature = "(Tensor(a!) state, Tensor x) -> Tensor y",
      .infer = [](const OpCall& call) { return std::vector{call.operand(1)}; },
      .reference =
          [turned](const OpCall&, const HostTensors& in, HostTensors& out) {
            const int64_t count = in[0].numel();
            for (int64_t i = 0; i < count; ++i) {
              out[0].data<double>()[i] = out[1].data<double>()[i];
              out[1].data<double>()[i] += in[1].data<double>()[turned ? count - 1 - i : i];
            }
          },
      .grad =
          [](const OpGradCall& call) {
            return Tensors{call.cotangent(0) + call.cotangent(1), call.cotangent(1)};
          },
  };
  if (in_c)
    op.kernel = [turned](const OpCall&) {
      return fmt::format(
          "  for (long i = 0; i < state_size[0]; ++i) {{\n    y[i] = state[i];\n"
          "    state[i] += x[{}];\n  }}",
          turned ? "x_size[0] - 1 - i" : "i");
    };
  else
    op.callback = [turned](const OpCall&) {
      return [turned](const OpMemory& m) {
        const size_t count = m.operand<float>(1).size();
        for (size_t i = 0; i < count; ++i) {
          m.result<float>(0)[i] = m.result<float>(1)[i];
          m.result<float>(1)[i] += m.operand<float>(1)[turned ? count - 1 - i : i];
        }
      };
    };
  return op;
}

Operators with(const Operator& op) {
  Operators ops;
  ops.add(op);
  return ops;
}

constexpr int64_t n = 1000;
const std::vector<InputSpec> two = {{"s", DType::f32, {n}}, {"x", DType::f32, {n}}};

HostTensor filled(double v) {
  HostTensor t(DType::f32, {n});
  for (int64_t i = 0; i < n; ++i) t.set_number(i, v);
  return t;
}

class ChangedOperand : public testing::TestWithParam<bool> {
 protected:
  Operators ops = with(accumulate(GetParam()));
  int64_t kernels(const TracedFunction& f) const {
    return compile(f, two, {.ops = ops}).report().kernels;
  }
};

TEST_P(ChangedOperand, is_a_result_and_stays_what_it_was) {
  CompiledFunction f = compile(
      [](const Tensor& s, const Tensor& x) {
        const Tensors r = call("accumulate", {s, x});
        return Tensors{r[0], r[1], s * 2.0};
      },
      two, {.ops = ops});
  const HostTensor s = filled(3), x = filled(4);
  for (int run = 0; run < 2; ++run) {
    const HostTensors out = f.run({s, x});
    EXPECT_EQ(out[0].number(n - 1), 3);
    EXPECT_EQ(out[1].number(n - 1), 7);
    EXPECT_EQ(out[2].number(n - 1), 6);
    EXPECT_EQ(s.number(n - 1), 3);
  }
}

TEST_P(ChangedOperand, is_copied_where_it_is_read_later_alone) {
  const auto once = [](const Tensor& s, const Tensor& x) {
    return call("accumulate", {exp(s), x});
  };
  const auto again = [](const Tensor& s, const Tensor& x) {
    const Tensor e = exp(s);
    Tensors r = call("accumulate", {e, x});
    r.push_back(r[0] * e);
    return r;
  };
  const auto twice = [](const Tensor& s, const Tensor& x) {
    const Tensor e = exp(s);
    const Tensors first = call("accumulate", {e, x});
    return call("accumulate", {first[1], e});
  };
  EXPECT_EQ(kernels(once), 2);   // exp, accumulate
  EXPECT_EQ(kernels(again), 4);  // exp, a copy, accumulate, mul
  EXPECT_EQ(kernels(twice), 4);  // exp, a copy, accumulate, accumulate in place
  const HostTensors out = compile(again, two, {.ops = ops}).run({filled(0), filled(4)});
  EXPECT_EQ(out[0].number(5), 1);
  EXPECT_EQ(out[1].number(5), 5);
  EXPECT_EQ(out[2].number(5), 1);
  EXPECT_EQ(compile(twice, two, {.ops = ops}).run({filled(0), filled(4)})[1].number(5), 6);
}

struct State : nn::Module {
  State() : state(add_buffer("state", filled(0))) {}
  Variable state;
};

TEST_P(ChangedOperand, a_variable_that_is_assigned_changes_where_it_lies) {
  const State model;
  CompiledFunction f = compile(model,
                               [&](const Tensor& x) {
                                 const Tensors r = call("accumulate", {Tensor(model.state), x});
                                 assign(model.state, r[1]);
                                 return r[0];
                               },
                               {{"x", DType::f32, {n}}}, {.ops = ops});
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(f.run({filled(2)})[0].number(n - 1), 2 * run);
    EXPECT_EQ(model.state.value().number(n - 1), 2 * run + 2);
  }
  // A callback may fail half-way, so it changes a copy.
  EXPECT_EQ(f.report().kernels, GetParam() ? 1 : 3);
}

TEST_P(ChangedOperand, is_copied_where_the_variable_is_read_behind_it) {
  const State model;
  CompiledFunction f = compile(model,
                               [&](const Tensor& x) {
                                 const Tensor before = model.state;
                                 const Tensors r = call("accumulate", {before, x});
                                 assign(model.state, r[1]);
                                 return r[1] - before;
                               },
                               {{"x", DType::f32, {n}}}, {.ops = ops});
  for (int run = 0; run < 3; ++run) EXPECT_EQ(f.run({filled(2)})[0].number(n - 1), 2);
  EXPECT_EQ(model.state.value().number(0), 6);
}

// The other operand stays what it was, also where both are the same memory. The call has Variables
// alone, whose operators are those of the program.
TEST_P(ChangedOperand, is_apart_from_an_operand_that_is_the_same_value) {
  const Operators turned = with(accumulate(GetParam(), true));
  State model;
  HostTensor state = filled(1);
  state.set_number(0, 5);
  model.state.set(state);
  CompiledFunction f = compile(model,
                               [&](const Tensor& x) {
                                 const Tensor before = model.state;
                                 const Tensors r = call("accumulate", {before, before});
                                 assign(model.state, r[1]);
                                 const Tensor e = x * 3.0;
                                 return Tensors{r[0], call("accumulate", {e, e})[1]};
                               },
                               {{"x", DType::f32, {n}}}, {.ops = turned});
  const HostTensors out = f.run({state});
  EXPECT_EQ(out[0].number(0), 5);
  for (const int64_t i : {int64_t{0}, n - 1}) {
    EXPECT_EQ(out[1].number(i), 18);
    EXPECT_EQ(model.state.value().number(i), 6);
  }
  EXPECT_EQ(model.state.value().number(1), 2);
}

TEST_P(ChangedOperand, may_lie_with_strides) {
  CompiledFunction f = compile(
      [](const Tensor& s, const Tensor& x) {
        const Tensor even = slice(s, 0, 0, n, 2), odd = slice(s, 0, 1, n, 2);
        const Tensors r = call("accumulate", {even, slice(x, 0, 0, n / 2)});
        return Tensors{r[0], r[1], even + odd};
      },
      two, {.ops = ops});
  HostTensor s = filled(3);
  for (int64_t i = 0; i < n; i += 2) s.set_number(i, static_cast<double>(i));
  const HostTensors out = f.run({s, filled(4)});
  EXPECT_EQ(out[0].number(7), 14);
  EXPECT_EQ(out[1].number(7), 18);
  EXPECT_EQ(out[2].number(7), 17);
  EXPECT_EQ(s.number(14), 14);
}

TEST_P(ChangedOperand, of_one_branch_alone) {
  const State model;
  CompiledFunction f = compile(
      model,
      [&](const Tensor& x, const Tensor& takes) {
        const Tensors r = cond(
            takes, [](const Tensors& v) { return call("accumulate", {v[0], v[1]}); },
            [](const Tensors& v) { return Tensors{v[1], v[0] - 1.0}; }, {Tensor(model.state), x});
        assign(model.state, r[1]);
        return r[0];
      },
      {{"x", DType::f32, {n}}, {"takes", DType::boolean, {}}}, {.ops = ops});
  double state = 0;
  for (int run = 0; run < 4; ++run) {
    HostTensor takes(DType::boolean, {});
    takes.set_number(0, run % 2);
    const HostTensors out = f.run({filled(5), takes});
    EXPECT_EQ(out[0].number(n - 1), run % 2 ? state : 5);
    state = run % 2 ? state + 5 : state - 1;
    EXPECT_EQ(model.state.value().number(n - 1), state);
  }
}

TEST_P(ChangedOperand, kernels_and_gradients_are_those_of_the_reference) {
  Generator rng(1);
  const OperatorReport report =
      check_operator(ops, "accumulate", {rng.normal({7}), rng.normal({7})}, {});
  EXPECT_TRUE(report.ok()) << report.text();
}

INSTANTIATE_TEST_SUITE_P(Ways, ChangedOperand, testing::Bool(),
                         [](const auto& info) { return info.param ? "kernel" : "callback"; });

std::string refusal(const std::string& signature) {
  Operator op = accumulate(true);
  op.signature = signature;
  return message([&] { with(op); });
}

TEST(ChangedOperands, marks) {
  const std::string at = "Operators: add: accumulate: ";
  EXPECT_EQ(refusal("(Tensor(a) state, Tensor x) -> Tensor y"),
            at + "`Tensor(a)`: expected Tensor, or Tensor(a!) where it is changed");
  EXPECT_EQ(refusal("(Tensor(a!)? state, Tensor x) -> Tensor y"),
            at + "`Tensor(a!)`: expected a name behind it: what is changed is one Tensor, which "
                 "each call gives");
  EXPECT_EQ(refusal("(Tensor state, Tensor x) -> Tensor(a!)"),
            at + "a result is marked as changed: mark the argument, which becomes a result");
  EXPECT_EQ(refusal("(Tensor state, Tensor x) -> ()"),
            at + "it has no result, and changes no operand");
  Operator op = accumulate(false);
  op.signature = "(Tensor state, Tensor x) -> Tensor state";
  EXPECT_EQ(message([&] { with(op); }),
            at + "a result has the name of operand `state`, which is for operands that are "
                 "changed: Tensor(a!) state");
}

TEST(ChangedOperands, without_another_result) {
  Operators ops;
  ops.add({.name = "double_it",
           .signature = "(Tensor(a!) x) -> ()",
           .infer = [](const OpCall&) { return std::vector<TensorType>{}; },
           .reference = [](const OpCall&, const HostTensors&,
                           HostTensors& out) { out[0].data<double>()[0] *= 2; },
           .kernel = [](const OpCall&) { return std::string("  x[0] *= 2;"); }});
  CompiledFunction f = compile([](const Tensor& x) { return call("double_it", {x})[0]; },
                               {{"x", DType::f32, {2}}}, {.ops = ops});
  HostTensor x(DType::f32, {2});
  x.set_number(0, 3), x.set_number(1, 4);
  const HostTensor y = f.run({x})[0];
  EXPECT_EQ(y.number(0), 6);
  EXPECT_EQ(y.number(1), 4);
  EXPECT_EQ(x.number(0), 3);
}

}  // namespace
}  // namespace cleave
