// Cheap recomputation: which calls run again, from which values, and that nothing else changes.
#include "remat/cheap_remat.h"

#include <gtest/gtest.h>

#include "exec/executable.h"
#include "test/cut/halves.h"

namespace cleave {
namespace {

using test::core;
using test::count;
using test::joint_of;

// The MLP of a block, `layers` times: its gelu can be recomputed from what its gradient reads.
std::string layers_text(int layers, const char* tag = "") {
  std::string text = "graph @main(%x0: input f32[256,64] grad";
  for (int k = 0; k < layers; ++k)
    text += fmt::format(", %a{0}: param f32[64,256] grad, %b{0}: param f32[256,64] grad", k);
  text += ") {\n";
  for (int k = 0; k < layers; ++k)
    text += fmt::format(
        "  %h{0} = mm(%x{0}, %a{0})\n  %g{0} = gelu(%h{0}; approximate=\"tanh\"){2}\n"
        "  %x{1} = mm(%g{0}, %b{0})\n",
        k, k + 1, tag);
  return text + fmt::format("  %loss = sum(%x{}; dim=[0,1])\n  return %loss\n}}\n", layers);
}

constexpr CheapRematLimits anything = {
    .max_time = 1, .min_gain = 0, .min_bytes = 1, .far_calls = 2};

// The peak in the graph's own order.
int64_t peak_of(const Graph& g) {
  StageOptions options;
  options.compiler = CompilerChoice::none;
  options.is_cut = true;
  return value_or_throw(CompiledProgram::compile(g, core(), options))->report().planned_peak_bytes;
}

// Checks that the bits are the same; returns what was done.
CheapRemat cheaply_recomputed(Graph& g, const CheapRematLimits& limits) {
  const auto inputs = test::random_inputs(g);
  const Arrays want = value_or_throw(interpret(g, inputs));
  const CheapRemat kept = value_or_throw(cheap_remat(g, {}, limits));
  const Status ok = verify(g);
  EXPECT_TRUE(ok.ok()) << ok.failure().message << print(g);
  const Arrays got = value_or_throw(interpret(g, inputs));
  for (size_t k = 0; k < want.size(); ++k) EXPECT_EQ(test::mismatch(got[k], want[k], 0), "") << k;
  return kept;
}

TEST(KeepLess, frees_what_is_cheap_to_compute) {
  Graph g = joint_of(layers_text(6));
  const int64_t before = peak_of(g);
  const CheapRemat kept = cheaply_recomputed(g, {.max_time = 0.5, .far_calls = 8});
  EXPECT_GE(kept.calls, 4);  // those of the first layers
  EXPECT_EQ(count(g, "gelu"), 6 + kept.calls);
  EXPECT_EQ(count(g, "mm"), count(joint_of(layers_text(6)), "mm"));
  EXPECT_GT(kept.freed_bytes, 3 * 256 * 256 * 4);
  EXPECT_LT(peak_of(g), before - 2 * 256 * 256 * 4);
}

// An image that two products read in another order than it lies in is turned once; a row beside it
// doesn't count, of sizes that vary neither.
TEST(KeepLess, turns_nothing_again) {
  const auto calls_of = [](const std::string& call, const std::string& rows = "256") {
    std::string text = rows == "256" ? "graph @main(" : "graph @main(%s0: symint hint(256), ";
    text += "%x: input f32[" + rows +
            ",256], %w: param f32[256,256], %a: param f32[256,2048], "
            "%b: param f32[2048,256], %u: param f32[256,1]) {\n"
            "  %r = permute(%u; dims=[1,0])\n";
    if (rows == "256") text += "  %p = permute(%x; dims=[1,0])\n  %v = view(%p; size=[256,256])\n";
    text += "  %t = " + call + "\n  %y0 = mm(%t, %w)\n";
    for (int k = 1; k < 6; ++k) text += fmt::format("  %y{} = mm(%y{}, %w)\n", k, k - 1);
    text += "  %most = mm(%y5, %a)\n  %y6 = mm(%most, %b)\n";  // %t is in memory there
    for (int k = 7; k < 12; ++k) text += fmt::format("  %y{} = mm(%y{}, %w)\n", k, k - 1);
    text += "  %turned = permute(%t; dims=[1,0])\n  %z = mm(%turned, %y11)\n  return %z\n}\n";
    Graph g = value_or_throw(parse(text, "t", core())).main;
    return value_or_throw(cheap_remat(g, {}, anything)).calls;
  };
  EXPECT_EQ(calls_of("neg(%x)"), 1);
  EXPECT_EQ(calls_of("neg(%p)"), 0);
  EXPECT_EQ(calls_of("neg(%v)"), 0);
  EXPECT_EQ(calls_of("add(%x, %r)"), 1);
  EXPECT_EQ(calls_of("add(%x, %r)", "s0"), 1);
}

TEST(KeepLess, takes_no_more_time_than_it_may) {
  Graph g = joint_of(layers_text(6));
  int64_t whole = 0;
  for (const NodeId n : g.order()) whole += call_ns(g, n, {});
  const CheapRemat kept = cheaply_recomputed(g, {.max_time = 0.05, .min_gain = 0, .far_calls = 8});
  EXPECT_GT(kept.calls, 0);
  EXPECT_LT(kept.calls, 4);
  EXPECT_LE(kept.recompute_ns, whole / 20);
}

// Calls that will be fused take as long as their results take to write, not what they take alone.
TEST(KeepLess, of_calls_that_are_fused_counts_what_they_write) {
  std::string text = layers_text(6);
  std::string chain = "  %t0 = add(%x6, %x6)\n";
  for (int k = 1; k < 60; ++k) chain += fmt::format("  %t{} = add(%t{}, %x6)\n", k, k - 1);
  text.insert(text.find("  %loss"), chain);
  Graph g = joint_of(text);
  int64_t alone = 0;
  for (const NodeId n : g.order()) alone += call_ns(g, n, {});
  Graph all = g;
  const CheapRemat possible = value_or_throw(cheap_remat(all, {}, anything));
  const double share =
      0.9 * static_cast<double>(possible.recompute_ns) / static_cast<double>(alone);
  const CheapRemat kept = cheaply_recomputed(g, {.max_time = share, .min_gain = 0, .far_calls = 2});
  EXPECT_GT(kept.calls, 0);
  EXPECT_LT(kept.recompute_ns, possible.recompute_ns * 3 / 4);
}

TEST(KeepLess, leaves_alone_what_gains_little) {
  const CheapRematLimits loose{.max_time = 0.5, .far_calls = 8};
  Graph changed = joint_of(layers_text(6));
  ASSERT_GT(cheaply_recomputed(changed, loose).calls, 0);
  std::vector<CheapRematLimits> all(4, loose);
  all[0].min_gain = 0.9;
  all[1].min_bytes = 1 << 20;
  all[2].far_calls = 1000;
  all[3].max_time = 0;
  for (const CheapRematLimits& limits : all) {
    Graph g = joint_of(layers_text(6));
    const std::string text = print(g);
    EXPECT_EQ(cheaply_recomputed(g, limits).calls, 0);
    EXPECT_EQ(print(g), text);
  }
}

TEST(KeepLess, obeys_tags) {
  Graph g = joint_of(layers_text(4, " !recompute(must_save)"));
  EXPECT_EQ(cheaply_recomputed(g, anything).calls, 0);
}

// From a value in memory, through one that isn't.
TEST(KeepLess, computes_chains) {
  std::string text =
      "graph @main(%x: input f32[64,64] grad, %w: param f32[64,64] grad) {\n"
      "  %a = tanh(%x)\n  %b = neg(%a)\n  %c = exp(%b)\n  %p = mm(%c, %w)\n";
  for (int k = 0; k < 8; ++k)
    text += fmt::format("  %p{} = mm(%p{}, %w)\n", k + 1, k == 0 ? "" : std::to_string(k));
  Graph g = joint_of(text + "  %loss = sum(%p8; dim=[0,1])\n  return %loss\n}\n");
  const CheapRemat kept = cheaply_recomputed(g, anything);
  EXPECT_GE(kept.calls, 2);
  EXPECT_EQ(count(g, "neg"), count(joint_of(text + "  %loss = sum(%p8; dim=[0,1])\n"
                                                   "  return %loss\n}\n"),
                                   "neg") +
                                 1)
      << print(g);
}

// Products, random indices that may fail, and results are kept.
TEST(KeepLess, never_repeats_what_is_dear_or_may_fail) {
  Graph g = joint_of(
      "graph @main(%i: input i64[64], %t: param f32[10,64] grad, %w: param f32[64,64] grad) {\n"
      "  %e = embedding(%t, %i)\n  %a = mm(%e, %w)\n  %b = mm(%a, %w)\n  %c = mm(%b, %w)\n"
      "  %d = mm(%c, %w)\n  %loss = sum(%d; dim=[0,1])\n  return %loss, %e\n}\n");
  EXPECT_EQ(cheaply_recomputed(g, anything).calls, 0) << print(g);
}

// At most six calls run again, however long the chain.
TEST(KeepLess, goes_back_a_few_calls) {
  const auto chain = [](int calls) {
    std::string text =
        "graph @main(%x: input f32[64,64], %w: param f32[64,64] grad) {\n  %n0 = exp(%x)\n";
    for (int k = 0; k < calls; ++k) text += fmt::format("  %n{} = neg(%n{})\n", k + 1, k);
    text += fmt::format("  %p0 = mm(%n{}, %w)\n", calls);
    for (int k = 0; k < 8; ++k) text += fmt::format("  %p{} = mm(%p{}, %w)\n", k + 1, k);
    return joint_of(text + "  %loss = sum(%p8; dim=[0,1])\n  return %loss\n}\n");
  };
  Graph few = chain(5), many = chain(6), endless = chain(100000);
  EXPECT_EQ(cheaply_recomputed(few, anything).calls, 6);
  EXPECT_EQ(cheaply_recomputed(many, anything).calls, 0);
  EXPECT_EQ(value_or_throw(cheap_remat(endless, {}, anything)).calls, 0);
}

// A result is in memory to the end.
TEST(KeepLess, leaves_results_alone) {
  std::string text =
      "graph @main(%x: input f32[64,64] grad, %w: param f32[64,64] grad) {\n"
      "  %a = tanh(%x)\n  %p0 = mm(%a, %w)\n";
  for (int k = 0; k < 8; ++k) text += fmt::format("  %p{} = mm(%p{}, %w)\n", k + 1, k);
  text += "  %loss = sum(%p8; dim=[0,1])\n  return %loss";
  Graph inner = joint_of(text + "\n}\n"), returned = joint_of(text + ", %a\n}\n");
  EXPECT_GT(cheaply_recomputed(inner, anything).calls, 0);
  EXPECT_EQ(cheaply_recomputed(returned, anything).calls, 0);
}

}  // namespace
}  // namespace cleave
