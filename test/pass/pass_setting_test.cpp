// Settings of passes: how they are given, and the groups that batch passes form by them.
// tests: pass_setting.cpp
#include "pass/pass_setting.h"

#include <gtest/gtest.h>

#include "pass/pipeline.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::core;

// tanh of `count` inputs, each read by a mul of its own; then the first `joined` are added up.
std::string activations(int count, int joined = 0) {
  std::string inputs, calls, results;
  for (int k = 0; k < count; ++k) {
    inputs += fmt::format("{}%x{}: input f32[2]", k == 0 ? "" : ", ", k);
    calls += fmt::format("  %y{} = tanh(%x{})\n  %z{} = mul(%y{}; other={}.5)\n", k, k, k, k, k);
    results += fmt::format("{}%z{}", k == 0 ? "" : ", ", k);
  }
  for (int k = 1; k < joined; ++k)
    calls +=
        fmt::format("  %s{} = add(%{}, %y{})\n", k, k == 1 ? "y0" : fmt::format("s{}", k - 1), k);
  if (joined > 1) results += fmt::format(", %s{}", joined - 1);
  return fmt::format("graph @main({}) {{\n{}  return {}\n}}\n", inputs, calls, results);
}

// Matches and calls of the pass that the text names.
CompilePass report_of(const std::string& pass, const std::string& text) {
  Graph g = test::parsed(text);
  const Pass p = value_or_throw(find_pass(pass));
  return value_or_throw(run_pass(p, g, core(), {}));
}

std::string error_of(const std::string& text) {
  const Result<Pass> p = find_pass(text);
  if (p.ok()) return "";
  EXPECT_EQ(p.failure().kind, ErrorKind::user);
  return p.failure().message;
}

TEST(PassSetting, sizes_of_groups) {
  EXPECT_EQ(report_of("batch_activation", activations(4)).matches, 0);
  EXPECT_EQ(report_of("batch_activation", activations(5)).matches, 1);
  EXPECT_EQ(report_of("batch_activation:min_fuse_set_size:4", activations(4)).matches, 1);
  const CompilePass two =
      report_of("batch_activation:max_fuse_set_size:3:min_fuse_set_size:3", activations(7));
  EXPECT_EQ(two.matches, 2);
  EXPECT_EQ(two.nodes, 6);
  // The two groups are two calls of one shape.
  EXPECT_EQ(
      report_of("batch_activation:max_fuse_set_size:3:min_fuse_set_size:2", activations(7)).matches,
      3);
  const CompilePass rest =
      report_of("batch_activation:max_fuse_set_size:4:min_fuse_set_size:2", activations(7));
  EXPECT_EQ(rest.matches, 2);
  EXPECT_EQ(rest.nodes, 7);
}

// The reader of the sum sees y_k at a depth of count - k.
TEST(PassSetting, search_depth_is_from_one_reader) {
  const std::string text = activations(8, 6);
  const auto nodes = [&](int depth) {
    return report_of(
               fmt::format("batch_activation:min_fuse_set_size:2:max_fuse_search_depth:{}", depth),
               text)
        .nodes;
  };
  EXPECT_EQ(nodes(0), 8);
  EXPECT_EQ(nodes(1), 2);  // s1 reads two; each other add reads one and a sum
  EXPECT_EQ(nodes(2), 6);  // s2 sees y2, and y0 and y1 below s1; so on
}

TEST(PassSetting, users_and_parents) {
  const std::string text =
      "graph @main(%a: input f32[4,2], %b: input f32[4,2]) {\n"
      "  %p = select(%a; dim=0, index=0)\n  %q = select(%a; dim=0, index=1)\n"
      "  %r = select(%b; dim=0, index=0)\n  %s = select(%b; dim=0, index=1)\n"
      "  %1 = tanh(%p)\n  %2 = tanh(%q)\n  %3 = tanh(%r)\n  %4 = tanh(%s)\n"
      "  %5 = exp(%1)\n  %6 = sin(%2)\n  %7 = exp(%3)\n  %8 = sin(%4)\n"
      "  return %5, %6, %7, %8\n}\n";
  const std::string pairs = "batch_activation:min_fuse_set_size:2";
  EXPECT_EQ(report_of(pairs, text).matches, 1);
  // Those that exp reads, those that sin reads, and both groups, which unbind reads.
  EXPECT_EQ(report_of(pairs + ":fuse_nodes_with_same_users:1", text).matches, 3);
  EXPECT_EQ(report_of(pairs + ":fuse_nodes_with_same_parent:1", text).matches, 2);
  EXPECT_EQ(report_of(pairs + ":fuse_nodes_with_same_users:1:fuse_nodes_with_same_parent:1", text)
                .matches,
            0);
}

TEST(PassSetting, wrong_ones_are_refused) {
  EXPECT_EQ(error_of("batch_activation:size:3"),
            "pass batch_activation has no setting 'size'; it has min_fuse_set_size, "
            "max_fuse_set_size, max_fuse_search_depth, fuse_nodes_with_same_users, "
            "fuse_nodes_with_same_parent");
  EXPECT_EQ(error_of("fold_view:size:3"), "pass fold_view has no setting 'size'; it has none");
  for (const std::string number : {"1", "", "x", "3x", "99999999999999999999"})
    EXPECT_EQ(
        error_of("batch_activation:min_fuse_set_size:" + number),
        fmt::format("pass batch_activation: min_fuse_set_size is '{}', expected an integer of "
                    "at least 2",
                    number));
  Graph g = test::parsed(activations(2));
  const auto of = run_stage(PassStage::pre_grad, g, core(),
                            {.passes_off = {"batch_activation:min_fuse_set_size:2"}});
  ASSERT_FALSE(of.ok());
  EXPECT_EQ(of.failure().message,
            "passes_off: batch_activation:min_fuse_set_size:2: expected a pass without settings");
}

TEST(PassSetting, passes_on_takes_them) {
  for (const auto& [text, matches] :
       {std::pair("batch_activation", 0), {"batch_activation:min_fuse_set_size:2", 1}}) {
    Graph g = test::parsed(activations(3));
    int64_t got = -1;
    for (const CompilePass& p :
         value_or_throw(run_stage(PassStage::pre_grad, g, core(), {.passes_on = {text}})))
      if (p.name == "batch_activation") got = p.matches;
    EXPECT_EQ(got, matches) << text;
  }
}

// Forward and backward products of a joint graph that has a tangent form groups of their own: the
// forward can still be cut off.
TEST(PassSetting, results_and_gradients_form_no_group) {
  std::string inputs = "%t: tangent f32[4,4]", forward, sums, backward, grads;
  for (int k = 0; k < 3; ++k) {
    inputs += fmt::format(", %x{}: input f32[4,4] grad", k);
    forward += fmt::format("  %y{} = tanh(%x{})\n", k, k);
    backward += fmt::format("  %d{} = tanh(%t)\n  %g{} = mul(%d{}, %x{})\n", k, k, k, k);
    grads += fmt::format(", %g{} -> grad %x{}", k, k);
  }
  const std::string text = fmt::format(
      "graph @joint({}) {{\n{}  %a = add(%y0, %y1)\n  %b = add(%a, %y2)\n{}  return %b{}\n}}\n",
      inputs, forward, backward, grads);
  EXPECT_EQ(report_of("batch_pointwise_post_grad:min_fuse_set_size:4", text).matches, 0);
  EXPECT_EQ(report_of("batch_pointwise_post_grad:min_fuse_set_size:3", text).matches, 3);
}

}  // namespace
}  // namespace cleave
