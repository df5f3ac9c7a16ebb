// Measuring a single call.
#include "exec/measure_call.h"

#include <gtest/gtest.h>

#include "test/random_inputs.h"

namespace cleave {
namespace {

Result<int64_t> measured(const std::string& call, const std::string& heads) {
  const Graph g = test::parsed("graph @main(" + heads + ") {\n  " + call + "\n  return %y\n}\n");
  CallTimer timer(test::core());
  return timer.measure(g, g.first_node());
}

TEST(MeasureCall, operators_of_every_kind) {
  const std::pair<const char*, const char*> cases[] = {
      {"%y = mm(%a, %a)", "%a: input f32[8,8]"},
      {"%y = log(%a)", "%a: input f16[100]"},
      {"%y = cat([%a, %b, %a]; dim=0)", "%a: input f32[3,4], %b: input f32[5,4]"},
      {"%y = embedding(%w, %i)", "%w: param f32[10,4], %i: input i64[3]"},
      {"%y = where(%c, %a, %a)", "%c: input bool[4], %a: input bf16[4]"},
      {"%y, %m, %r = native_layer_norm(%a, none, none; normalized_shape=[6], eps=1e-5)",
       "%a: input f32[4,6]"},
      {"%y = rand(%s; size=[16], stream=3)", "%s: rng_state i64[2]"},
      {"%y = sum(%a; dim=[0])", "%n: symint, %a: input f32[n,3]"},
  };
  for (const auto& [call, heads] : cases) {
    const Result<int64_t> ns = measured(call, heads);
    ASSERT_TRUE(ns.ok()) << call << ": " << ns.failure().message;
    EXPECT_GT(*ns, 0) << call;
  }
}

TEST(MeasureCall, views_take_nothing) {
  EXPECT_EQ(value_or_throw(measured("%y = permute(%a; dims=[1,0])", "%a: input f32[8,8]")), 0);
}

TEST(MeasureCall, a_thousand_times_the_flops_take_longer) {
  EXPECT_GT(value_or_throw(measured("%y = mm(%a, %a)", "%a: input f32[320,320]")),
            value_or_throw(measured("%y = mm(%a, %a)", "%a: input f32[32,32]")));
}

}  // namespace
}  // namespace cleave
