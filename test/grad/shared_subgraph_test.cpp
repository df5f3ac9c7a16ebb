// Gradients of conds that share subgraphs: one derivative for each graph and set of operands,
// whatever the number of paths through the program.
#include <gtest/gtest.h>

#include "grad/grad.h"
#include "test/random_inputs.h"
#include "test/sample/branch_graph.h"
#include "test/sample/check_graph.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;

// Both branches of each level call the level below.
std::string chain(int levels) {
  std::string text =
      "graph @l0(%a: input f64[3], %w: input f64[3]) {\n"
      "  %r = mul(%a, %w)\n  return %r\n}\n";
  for (int k = 1; k <= levels; ++k)
    text += fmt::format(
        "graph @{}(%a: input f64[3]{}, %w: input f64[3]{}) {{\n"
        "  %s = sum(%a)\n  %p = gt(%s; other={}.0)\n"
        "  %c = cond(%p, [%a, %w]; then=@l{}, otherwise=@l{})\n"
        "  %t = tanh(%c)\n  %r = add(%t, %w)\n  return %r\n}}\n",
        k == levels ? "main" : fmt::format("l{}", k), k == levels ? " grad" : "",
        k == levels ? " grad" : "", k % 3 - 1, k - 1, k - 1);
  return text;
}

// Two graphs a level, each of which calls both of the level below.
std::string mesh(int levels) {
  std::string text;
  for (const char* name : {"a0", "b0"})
    text += fmt::format(
        "graph @{}(%a: input f64[3], %w: input f64[3]) {{\n  %r = {}\n  return %r\n}}\n", name,
        name[0] == 'a' ? "mul(%a, %w)" : "sin(%a)");
  for (int k = 1; k <= levels; ++k)
    for (const char* name : {"a", "b"}) {
      if (k == levels && name[0] == 'b') continue;
      const bool first = name[0] == 'a';
      text += fmt::format(
          "graph @{}(%a: input f64[3]{}, %w: input f64[3]{}) {{\n"
          "  %s = sum(%w)\n  %p = gt(%s; other=0.0)\n"
          "  %c = cond(%p, [%a, %w]; then=@{}{}, otherwise=@{}{})\n"
          "  %r = {}(%c)\n  return %r\n}}\n",
          k == levels ? "main" : fmt::format("{}{}", name, k), k == levels ? " grad" : "",
          k == levels ? " grad" : "", first ? 'a' : 'b', k - 1, first ? 'b' : 'a', k - 1,
          first ? "sin" : "tanh");
    }
  return text;
}

std::string joint_text(const std::string& text) {
  const Graph joint = value_or_throw(make_joint(parsed(text), core()));
  const Status ok = verify(joint);
  EXPECT_TRUE(ok.ok()) << ok.failure().message;
  const std::string out = print(joint);
  EXPECT_EQ(print(parsed(out)), out);
  return out;
}

TEST(SharedSubgraphs, have_one_derivative_each) {
  for (const auto& write : {chain, mesh}) {
    const size_t ten = joint_text(write(10)).size(), twenty = joint_text(write(20)).size(),
                 forty = joint_text(write(40)).size();
    EXPECT_LT(forty - twenty, 2 * (twenty - ten) + (twenty - ten) / 2);
    EXPECT_LT(forty, 100000U);
  }
}

TEST(SharedSubgraphs, of_calls_side_by_side_have_one_derivative) {
  std::string text =
      "graph @up(%a: input f64[3]) {\n  %r = sin(%a)\n  return %r\n}\n"
      "graph @down(%a: input f64[3]) {\n  %r = cos(%a)\n  return %r\n}\n"
      "graph @main(%p: input bool[], %x0: input f64[3] grad) {\n";
  for (int k = 0; k < 20; ++k)
    text += fmt::format("  %x{} = cond(%p, [%x{}]; then=@up, otherwise=@down)\n", k + 1, k);
  const std::string joint = joint_text(text + "  return %x20\n}\n");
  size_t graphs = 0;
  for (size_t at = 0; (at = joint.find("graph @", at)) != std::string::npos; ++at) ++graphs;
  EXPECT_EQ(graphs, 5U) << joint;  // two, their derivatives, main
}

// Gradients against central differences of the forward.
void expect_gradients(const random::RandomGraph& r, uint64_t seed) {
  const random::RandomGraph joint = value_or_throw(random::with_gradients(r, core(), seed));
  ASSERT_TRUE(verify(joint.g).ok()) << verify(joint.g).failure().message << print(joint.g);
  const auto run = [](const Graph& g, const Arrays& inputs) {
    std::vector<const Array*> in;
    for (size_t k = 0; k < g.placeholders().size(); ++k) in.push_back(&inputs[k]);
    return value_or_throw(interpret(g, in));
  };
  const Arrays got = run(joint.g, joint.inputs);
  Arrays moved = joint.inputs;
  const auto loss = [&] {
    const Arrays y = run(r.g, moved);
    double sum = 0;
    for (size_t k = 0, t = r.inputs.size(); k < y.size(); ++k) {
      const ValueId tangent = joint.g.find(fmt::format("tangent.{}", k));
      if (!tangent.valid()) continue;
      for (size_t e = 0; e < y[k].f.size(); ++e) sum += y[k].f[e] * moved[t].f[e];
      ++t;
    }
    return sum;
  };
  constexpr double h = 0x1p-12;
  for (size_t k = 0; k < got.size(); ++k) {
    const Return& ret = joint.g.returns()[k];
    if (ret.kind != ReturnKind::grad) continue;
    std::vector<double>& x = moved[joint.g.value(ret.target).index].f;
    for (size_t e = 0; e < x.size(); ++e) {
      const double whole = x[e];
      const auto at = [&](double d) {
        x[e] = whole + d;
        const double sum = loss();
        x[e] = whole;
        return sum;
      };
      const double want = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
      EXPECT_NEAR(got[k].f[e], want, 1e-6 * std::max(1.0, std::fabs(want)))
          << "seed " << seed << ", return " << k;
    }
  }
}

TEST(SharedSubgraphs, random_chains_have_the_gradients_of_differences) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const int levels = 1 + static_cast<int>(seed % 4);
    expect_gradients(random::branch_graph(core(), seed, {.levels = levels, .loops = false}), seed);
  }
}

TEST(SharedSubgraphs, long_random_chains_have_small_derivatives) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const std::string text = random::branch_graph_text(seed, {.levels = 40, .max_conds = 2});
    EXPECT_LT(joint_text(text).size(), 30 * text.size()) << seed;
  }
}

TEST(SharedSubgraphs, random_chains_are_compiled_as_the_oracle_says) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const random::RandomGraph r = random::branch_graph(
        core(), seed, {.levels = 1 + static_cast<int>(seed % 3), .dtype = DType::f32});
    const random::RandomGraph joint = value_or_throw(random::with_gradients(r, core(), seed));
    const Result<random::Verdict> v = random::check_graph(joint, core(), CompilerChoice::none);
    ASSERT_TRUE(v.ok()) << v.failure().message;
    EXPECT_EQ(v->difference, "") << print(joint.g);
  }
}

// Dead calls in nested branches are removed everywhere, or there would be a second graph of the
// same name with the derivative.
TEST(SharedSubgraphs, with_dead_calls_stay_one) {
  joint_text(
      "graph @in(%a: input f64[3]) {\n  %dead = exp(%a)\n  %r = sin(%a)\n  return %r\n}\n"
      "graph @out(%p: input bool[], %a: input f64[3]) {\n"
      "  %b = cond(%p, [%a]; then=@in, otherwise=@in)\n  %r = mul(%b, %b)\n  return %r\n}\n"
      "graph @main(%p: input bool[], %x: input f64[3] grad) {\n"
      "  %y = cond(%p, [%p, %x]; then=@out, otherwise=@out)\n"
      "  %z = cond(%p, [%y]; then=@in, otherwise=@in)\n  return %z\n}\n");
}

}  // namespace
}  // namespace cleave
