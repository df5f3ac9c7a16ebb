// cond and while_loop of Tensors: what is recorded where, what they compute, and what is refused.
// tests: function_control.cpp
#include <gtest/gtest.h>

#include "cleave/control_flow.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::after_line;
using test::bare;
using test::filled;
using test::message;
using test::traced;

const std::vector<InputSpec> px = {{"p", DType::boolean, {}}, {"x", DType::f32, {2}}};

Array flag(bool value) { return filled({}, {value ? 1.0 : 0.0}, DType::boolean); }

TEST(ControlFlow, what_a_branch_reads_becomes_an_operand) {
  HostTensor two(DType::f32, {2});
  two.at<float>({0}) = two.at<float>({1}) = 2;
  const Variable w("w", two, VariableKind::parameter);
  const Graph g = traced(px, [&](const Tensor& p, const Tensor& x) {
    const Tensor h = sin(x);
    const Tensor y = cond(
        p,
        [&](const Tensor& a) {
          const Tensor scaled = a * w;
          return scaled + exp(h);
        },
        [&](const Tensor& a) { return a - h; }, {x})[0];
    return relu(y);
  });
  EXPECT_EQ(bare(g),
            "graph @cond.then(%x: input f32[2], %w: input f32[2], %sin: input f32[2]) {\n"
            "  %mul = mul(%x, %w)\n"
            "  %exp = exp(%sin)\n"
            "  %add = add(%mul, %exp)\n"
            "  return %add\n}\n\n"
            "graph @cond.otherwise(%x: input f32[2], %w: input f32[2], %sin: input f32[2]) {\n"
            "  %sub = sub(%x, %sin)\n"
            "  return %sub\n}\n\n"
            "graph @main(%p: input bool[], %x: input f32[2], %w: param f32[2]) {\n"
            "  %sin = sin(%x)\n"
            "  %cond = cond(%p, [%x, %w, %sin]; then=@cond.then, otherwise=@cond.otherwise)\n"
            "  %relu = relu(%cond)\n"
            "  return %relu\n}\n");
}

TEST(ControlFlow, nested_branches) {
  const Graph g = traced(px, [](const Tensor& p, const Tensor& x) {
    return cond(
        p,
        [&] { return cond(any(x > 0), [&] { return x * 2.0; }, [&] { return x * 3.0; })[0] + x; },
        [&] { return x; });
  });
  const Array up = filled({2}, {1, -1}, DType::f32), down = filled({2}, {-1, -2}, DType::f32);
  EXPECT_EQ(test::run(g, {{"p", flag(true)}, {"x", up}})[0].f, (std::vector<double>{3, -3}));
  EXPECT_EQ(test::run(g, {{"p", flag(true)}, {"x", down}})[0].f, (std::vector<double>{-4, -8}));
  EXPECT_EQ(test::run(g, {{"p", flag(false)}, {"x", down}})[0].f, down.f);
}

TEST(ControlFlow, a_loop) {
  const Graph g = traced(px, [](const Tensor& p, const Tensor& x) {
    const Tensor step = sum(x);
    return while_loop(
        [&](const Tensor& n, const Tensor& y) {
          const Tensor few = n < 10;
          return logical_and(few, any(y < 20.0));
        },
        [&](const Tensor& n, const Tensor& y) { return Tensors{n + 1, y + step}; },
        {zeros({}, DType::i64), where(p, x, 0.0)});
  });
  const std::string want =
      "graph @while_loop.condition(%full: input i64[], %where: input f32[2], %sum: input f32[]) {\n"
      "  %lt = lt(%full; other=10)\n"
      "  %lt_1 = lt(%where; other=20.0)\n"
      "  %any = any(%lt_1)\n"
      "  %logical_and = logical_and(%lt, %any)\n"
      "  return %logical_and\n}\n";
  EXPECT_EQ(bare(g).substr(0, want.size()), want);
  const Arrays got = test::run(g, {{"p", flag(true)}, {"x", filled({2}, {2, 4}, DType::f32)}});
  EXPECT_EQ(got[0].i[0], 3);
  EXPECT_EQ(got[1].f, (std::vector<double>{20, 22}));
}

TEST(ControlFlow, iterations_drop_other_elements) {
  const Graph g = traced(
      {{"x", DType::f32, {64}}},
      [](const Tensor& x) {
        const Tensors y =
            while_loop([](const Tensor& n, const Tensor&, const Tensor&) { return n < 2; },
                       [&](const Tensor& n, const Tensor&, const Tensor& now) {
                         return Tensors{n + 1, now, dropout(x, 0.5)};
                       },
                       {zeros({}, DType::i64), x, x});
        return Tensors{y[1], y[2], dropout(x, 0.5)};
      },
      trace::Mode::training);
  EXPECT_EQ(print(g).find("%rng.next"), std::string::npos);
  Array ones(DType::f32, {64});
  for (double& v : ones.f) v = 1;
  const Arrays got = test::run(g, {{"x", ones}, {"rng", filled({2}, {1, 0}, DType::i64)}});
  EXPECT_NE(got[0].f, got[1].f);
  EXPECT_NE(got[0].f, got[2].f);
  EXPECT_NE(got[1].f, got[2].f);
}

TEST(ControlFlow, dropout_in_a_branch_reads_the_state) {
  const Graph g = traced(
      px,
      [](const Tensor& p, const Tensor& x) {
        return cond(p, [&] { return dropout(x, 0.5); }, [&] { return dropout(x, 0.25); });
      },
      trace::Mode::training);
  const std::string text = bare(g);
  EXPECT_NE(text.find("stream=0)"), std::string::npos) << text;
  EXPECT_NE(text.find("stream=1)"), std::string::npos) << text;
  EXPECT_NE(text.find("@cond.then(%rng: rng_state i64[2], %x: input f32[2]) {"), std::string::npos)
      << text;
}

// ---- errors

std::string refused(const std::function<Tensors(const Tensor&, const Tensor&)>& f) {
  return message([&] { traced(px, [&](const Tensor& p, const Tensor& x) { return f(p, x); }); });
}

TEST(ControlFlow, errors_stand_at_the_call) {
  int line = 0;
  const int at = __LINE__ + 2;
  const std::string other_types = refused([](const Tensor& p, const Tensor& x) {
    return cond(p, [&] { return x; }, [&] { return sum(x); });
  });
  EXPECT_EQ(after_line(other_types, __FILE__, &line).substr(0, 76),
            "cond: C4: result 0 of then is f32[2], that of otherwise f32[]\n  in cond(%p: ");
  EXPECT_EQ(line, at);
  const auto text = [&](const std::string& error) { return after_line(error, __FILE__, &line); };
  EXPECT_EQ(text(refused([](const Tensor& p, const Tensor& x) {
              return cond(p, [](const Tensor& a) { return a; }, [&] { return x; });
            })),
            "a branch of cond: the function takes 1 Tensors, got 0 operands");
  EXPECT_EQ(text(refused([](const Tensor& p, const Tensor&) {
              return cond(p, [] { return Tensors{}; }, [] { return Tensors{}; });
            })),
            "a branch of cond: the function returns nothing");
  EXPECT_EQ(text(refused([](const Tensor&, const Tensor& x) {
              return while_loop([](const Tensor& y) { return any(y > 0); },
                                [](const Tensor& y) { return Tensors{y, y}; }, {x});
            })),
            "while_loop: the body returns 2 Tensors, expected the next values of 1");
  EXPECT_NE(text(refused([](const Tensor&, const Tensor& x) {
              return while_loop([](const Tensor& y) { return y > 0; },
                                [](const Tensor& y) { return y - 1; }, {x});
            })).find("while_loop: C1: condition returns bool[2]"),
            std::string::npos);
  EXPECT_EQ(text(message([] {
              const Tensor yes = full({}, true, DType::boolean);
              cond(yes, [&] { return yes; }, [&] { return yes; });
            })),
            "a branch of cond: its operands belong to no program yet; give one of the program's "
            "tensors");
}

TEST(ControlFlow, what_a_branch_made_stays_in_it) {
  int line = 0;
  const std::string error = refused([](const Tensor& p, const Tensor& x) {
    Tensor kept;
    cond(p, [&] { return kept = sin(x); }, [&] { return x; });
    return Tensors{kept + x};
  });
  EXPECT_NE(after_line(error, __FILE__, &line).find("a branch of cond"), std::string::npos)
      << error;
}

TEST(ControlFlow, nothing_is_assigned_in_a_branch) {
  HostTensor zero(DType::f32, {2});
  const Variable m("m", zero, VariableKind::buffer);
  int line = 0;
  const std::string by_value = refused([&](const Tensor& p, const Tensor& x) {
    return cond(
        p,
        [&] {
          assign(m, x);
          return x;
        },
        [&] { return x; });
  });
  EXPECT_EQ(after_line(by_value, __FILE__, &line),
            "assign: %m is assigned in a branch of cond; return the value, and assign it after");
  const std::string by_number = refused([&](const Tensor& p, const Tensor& x) {
    const Tensor y = x + m;
    return cond(
        p,
        [&] {
          assign(m, Tensor(m) * 2.0);
          return y;
        },
        [&] { return y; });
  });
  EXPECT_EQ(after_line(by_number, __FILE__, &line),
            "assign: %m is assigned in a branch of cond; return the value, and assign it after");
}

TEST(ControlFlow, an_error_in_a_branch_leaves_the_program_open) {
  const Graph g = traced(px, [](const Tensor& p, const Tensor& x) {
    message([&] { cond(p, [&] { return mm(x, x); }, [&] { return x; }); });
    return sin(x);
  });
  EXPECT_EQ(g.node_count(), 1u);
}

}  // namespace
}  // namespace cleave
