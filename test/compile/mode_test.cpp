// The same bits in every mode and at every budget, also in mixed precision: rules that change the
// rounding must get the same graph in all of them.
// tests: pytorch_program.cpp
#include <gtest/gtest.h>

#include "compile/stages.h"
#include "grad/grad.h"
#include "pass/autocast.h"
#include "test/random_inputs.h"
#include "test/sample/check_budgets.h"

namespace cleave {
namespace {

using test::core;

// Casts of casts, sums of products, a dropout: rules of the stage joint change their rounding.
constexpr const char* block =
    "graph @main(%x: input f32[24,16] grad, %w: param f32[16,32] grad, %b: param f32[32] grad, "
    "%v: param f32[32,16] grad, %g: param f32[16] grad, %rng: rng_state i64[2]) {\n"
    "  %h = addmm(%b, %x, %w)\n"
    "  %a = gelu(%h)\n"
    "  %d, %m = native_dropout(%a, %rng; p=0.25, train=true, stream=1)\n"
    "  %p = mm(%d, %v)\n"
    "  %s = add(%p, %x)\n"
    "  %n, %mean, %rstd = native_layer_norm(%s, %g; normalized_shape=[16], eps=1e-05)\n"
    "  %q = mm(%n, %w)\n"
    "  %t = mul(%q, %h)\n"
    "  %l = sum(%t; dim=[0,1])\n"
    "  return %l, %n\n}\n";

void cast_to(Graph& g, DType to) {
  const Status cast = autocast(g, core(), to);
  ASSERT_TRUE(cast.ok()) << cast.failure().message;
}

random::RandomGraph cast_block(DType to) {
  random::RandomGraph r;
  r.g = test::parsed(block);
  const auto inputs = test::random_inputs(r.g);
  for (const Placeholder& p : r.g.placeholders()) r.inputs.push_back(inputs.at(r.g.name(p.value)));
  cast_to(r.g, to);
  return value_or_throw(random::with_gradients(r, core(), 1));
}

void expect_same_bits(const random::RandomGraph& r, int64_t& pytorch) {
  const Result<random::BudgetVerdict> v = random::check_budgets(r, core(), {0, .5, 1});
  if (!v.ok() && v.failure().kind == ErrorKind::unsupported) return;
  ASSERT_TRUE(v.ok()) << v.failure().message << print(r.g);
  EXPECT_EQ(v->violation, "") << print(r.g);
  pytorch += v->pytorch;
}

TEST(Modes, give_a_block_under_autocast_the_same_bits) {
  int64_t pytorch = 0;
  for (const DType to : {DType::bf16, DType::f16}) expect_same_bits(cast_block(to), pytorch);
  EXPECT_EQ(pytorch, 8);
}

TEST(Modes, give_random_graphs_under_autocast_the_same_bits) {
  int64_t pytorch = 0;
  for (uint64_t seed = 4000; seed < 4030; ++seed) {
    random::RandomGraph r = value_or_throw(random::random_graph(core(), seed, {}));
    cast_to(r.g, seed % 2 == 0 ? DType::bf16 : DType::f16);
    expect_same_bits(value_or_throw(random::with_gradients(r, core(), seed)), pytorch);
  }
  EXPECT_GT(pytorch, 60);
}

// A weight that is cast to a narrower type and back becomes the weight itself, also when the graph
// is cut.
TEST(Modes, fold_conversions_before_the_cut) {
  Graph cut = value_or_throw(
      make_joint(test::parsed("graph @main(%x: input f32[4] grad) {\n"
                              "  %d = _to_copy(%x; dtype=bf16)\n  %u = _to_copy(%d; dtype=f32)\n"
                              "  %y = sin(%u)\n  return %y\n}\n"),
                 core()));
  StageOptions options;
  options.partition = PytorchOptions{};
  value_or_throw(run_stages(Stage::verify, Stage::partition, cut, core(), options));
  for (const NodeId n : cut.order()) EXPECT_NE(cut.node(n).op->name, "_to_copy") << print(cut);
}

}  // namespace
}  // namespace cleave
