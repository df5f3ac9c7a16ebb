// The default partition: arity, what is saved and why, checkpoint tags, and that the halves, run
// one after the other, compute what the joint graph computes.
// tests: split_joint.cpp tags.cpp
#include <gtest/gtest.h>

#include "cut/default_partition.h"
#include "cut/pytorch_partition.h"
#include "remat/exact_partition.h"
#include "test/cut/halves.h"

namespace cleave {
namespace {

using test::core;
using test::count;
using test::expect_halves;
using test::joint_of;
using test::parsed;
using test::saved_names;

Partition partition(const std::string& text, const std::map<std::string, int64_t>& symbols = {}) {
  const Graph joint = joint_of(text);
  Partition p = value_or_throw(default_partition(joint));
  expect_halves(joint, p, symbols);
  return p;
}

TEST(DefaultPartition, T1_layer_norm) {
  const Partition p = partition(
      "graph @main(%x: input f32[3,10] grad, %w: param f32[10] grad, %b: param f32[10] grad) {\n"
      "  %y, %mean, %rstd = native_layer_norm(%x, %w, %b; normalized_shape=[10], eps=1e-05)\n"
      "  return %y\n}\n");
  // The bias is needed if the backward operator has it as an operand.
  const bool bias = p.saved.size() == 5;
  EXPECT_EQ(p.forward_arity, bias ? (Arity{3, 6}) : (Arity{3, 5}));
  EXPECT_EQ(p.backward_arity, bias ? (Arity{6, 3}) : (Arity{5, 3}));
  EXPECT_EQ(p.saved_activation_bytes, 2 * 3 * 4);  // mean and rstd; x, w and b are placeholders
}

TEST(DefaultPartition, T2_sizes_instead_of_the_tensor) {
  const Partition p = partition(
      "graph @main(%s0: symint hint(10), %s1: symint hint(10), %x: input f32[s0,s1] grad) {\n"
      "  %y = sum(%x; dim=[1])\n  return %y\n}\n",
      {{"s0", 3}, {"s1", 4}});
  EXPECT_EQ(p.forward_arity, (Arity{1, 3}));
  EXPECT_EQ(p.backward_arity, (Arity{3, 1}));
  EXPECT_EQ(saved_names(p), (std::vector<std::string>{"s0", "s1"}));
  EXPECT_EQ(p.saved_bytes, 16);
  EXPECT_EQ(p.saved_activation_bytes, 0);
}

TEST(DefaultPartition, T3_all_saved_are_sizes) {
  const Partition p = partition(
      "graph @main(%a0: symint, %b0: symint, %c0: symint, %a: input f32[a0] grad,\n"
      "            %b: input f32[b0,a0] grad, %c: input f32[c0,a0] grad) {\n"
      "  %e = expand(%a; size=[b0+c0,a0])\n"
      "  %y = cat([%e, %b, %c])\n  return %y\n}\n",
      {{"a0", 10}, {"b0", 3}, {"c0", 2}});
  EXPECT_EQ(p.forward_arity, (Arity{3, 4}));
  EXPECT_EQ(p.backward_arity, (Arity{4, 3}));
}

TEST(DefaultPartition, static_sizes_need_nothing) {
  const Partition p = partition(
      "graph @main(%x: input f32[3,4] grad) {\n  %y = sum(%x; dim=[1])\n  return %y\n}\n");
  EXPECT_EQ(p.forward_arity, (Arity{1, 1}));
  EXPECT_EQ(p.backward_arity, (Arity{1, 1}));
}

TEST(DefaultPartition, chain_saves_each_link) {
  const Partition p = partition(
      "graph @main(%x: input f32[3] grad) {\n"
      "  %a = cos(%x)\n  %b = cos(%a)\n  %c = cos(%b)\n  return %c\n}\n");
  EXPECT_EQ(p.forward_arity, (Arity{1, 4}));
  EXPECT_EQ(p.backward_arity, (Arity{4, 1}));
  EXPECT_EQ(saved_names(p), (std::vector<std::string>{"x", "a", "b"}));
  EXPECT_TRUE(p.saved[0].placeholder);
  EXPECT_FALSE(p.saved[1].placeholder);
  EXPECT_EQ(p.saved_bytes, 36);
  EXPECT_EQ(p.saved_activation_bytes, 24);
  EXPECT_TRUE(p.recomputed.empty());
}

TEST(DefaultPartition, sums_of_four) {
  const Partition p = partition(
      "graph @main(%a: input f32[3] grad, %b: input f32[3] grad, %c: input f32[3] grad,\n"
      "            %d: input f32[3] grad) {\n"
      "  %e = add(%a, %b)\n  %f = add(%e, %c)\n  %g = add(%f, %d)\n"
      "  %h = cos(%g)\n  %y = cos(%h)\n  return %y\n}\n");
  EXPECT_EQ(p.forward_arity, (Arity{4, 3}));
  EXPECT_EQ(p.backward_arity, (Arity{3, 4}));
}

const char* const checkpointed =
    "graph @main(%x: input f32[4,4] grad, %y: input f32[4,4] grad) {\n"
    "  %s = sin(%x)\n"
    "  %m = mm(%s, %y) !recompute(must_recompute, ac=1)\n"
    "  %z = sigmoid(%m) !recompute(must_recompute, ac=1)\n"
    "  return %z\n}\n";

TEST(DefaultPartition, tagged_calls_are_recomputed) {
  const Partition p = partition(checkpointed);
  EXPECT_EQ(count(p.forward, "mm"), 1);
  EXPECT_EQ(count(p.backward, "mm"), 3);  // one again, two gradients
  EXPECT_EQ(saved_names(p), (std::vector<std::string>{"x", "y", "s"}));
  ASSERT_FALSE(p.recomputed.empty());
  int64_t flops = 0;
  for (const RecomputedValue& r : p.recomputed) flops += r.flops;
  EXPECT_EQ(p.recompute_flops, flops);
  EXPECT_GE(p.recompute_flops, 2 * 4 * 4 * 4);
}

TEST(DefaultPartition, recomputed_calls_stand_before_their_first_reader) {
  const Partition p = partition(
      "graph @main(%x: input f32[4] grad) {\n"
      "  %a = sin(%x) !recompute(must_recompute, ac=1)\n"
      "  %b = exp(%a) !recompute(must_recompute, ac=1)\n"
      "  %y = cos(%b)\n"
      "  %z = cos(%y)\n"
      "  return %z\n}\n");
  EXPECT_EQ(saved_names(p), (std::vector<std::string>{"x", "y"}));
  const std::vector<NodeId> order = p.backward.order();
  ASSERT_GT(order.size(), 3u);
  EXPECT_NE(p.backward.name(p.backward.node(order[0]).out(0)), "a") << print(p.backward);
}

TEST(DefaultPartition, border_of_two_regions_is_saved) {
  const Partition p = partition(
      "graph @main(%x: input f32[4] grad) {\n"
      "  %a = sin(%x) !recompute(must_recompute, ac=1)\n"
      "  %b = sin(%a) !recompute(must_recompute, ac=1)\n"
      "  %c = sin(%b) !recompute(must_recompute, ac=2)\n"
      "  %d = sin(%c) !recompute(must_recompute, ac=2)\n"
      "  return %d\n}\n");
  EXPECT_EQ(saved_names(p), (std::vector<std::string>{"x", "b"}));
  EXPECT_NE(p.saved[1].why.find("the border of a checkpointed region"), std::string::npos);
}

TEST(DefaultPartition, must_save_inside_a_region) {
  const Partition p = partition(
      "graph @main(%x: input f32[4] grad) {\n"
      "  %a = sin(%x) !recompute(must_recompute, ac=1)\n"
      "  %b = sin(%a) !recompute(must_save, ac=1)\n"
      "  %c = sin(%b) !recompute(must_recompute, ac=1)\n"
      "  return %c\n}\n");
  EXPECT_EQ(saved_names(p), (std::vector<std::string>{"x", "b"}));
  EXPECT_NE(p.saved[1].why.find("tagged must_save"), std::string::npos) << p.saved[1].why;
}

TEST(DefaultPartition, updates_and_old_values) {
  const Partition p = partition(
      "graph @main(%x: input f32[3] grad, %m: buffer f32[3]) {\n"
      "  %y = mul(%x, %m)\n  %n = add(%m, %x)\n  return %y, %n -> %m\n}\n");
  EXPECT_EQ(p.forward_arity, (Arity{2, 3}));
  EXPECT_EQ(saved_names(p), (std::vector<std::string>{"m"}));
}

TEST(DefaultPartition, views_share_their_storage) {
  const Partition p = partition(
      "graph @main(%x: input f32[2,3] grad, %w: input f32[3] grad) {\n"
      "  %a = sin(%x)\n"
      "  %v = view(%a; size=[6])\n"
      "  %p = permute(%a; dims=[1,0])\n"
      "  %xv = view(%x; size=[6])\n"
      "  %c = mul(%v, %xv)\n"
      "  %d = cos(%p)\n"
      "  return %c, %d\n}\n");
  // Saved are x, cos(x), and views of a and x: one storage of 24 bytes isn't a placeholder's.
  EXPECT_EQ(p.saved_activation_bytes, 24);
  EXPECT_GT(p.saved_bytes, 48);
}

TEST(DefaultPartition, gradients_that_are_constant_or_the_tangent) {
  const Partition p =
      partition("graph @main(%x: input f32[3] grad, %w: input f32[2] grad) {\n  return %x\n}\n");
  EXPECT_EQ(p.forward_arity, (Arity{2, 1}));
  EXPECT_EQ(p.backward_arity, (Arity{1, 2}));
}

TEST(DefaultPartition, a_gradient_that_is_a_forward_value) {
  const Graph joint = parsed(
      "graph @main(%x: input f32[3] grad, %t: tangent f32[3]) {\n"
      "  %a = sin(%x)\n  %y = cos(%a)\n  return %y, %a -> grad %x\n}\n");
  const Partition p = value_or_throw(default_partition(joint));
  expect_halves(joint, p);
  EXPECT_EQ(saved_names(p), (std::vector<std::string>{"a"}));
  EXPECT_EQ(p.saved[0].why, "read by a gradient that is returned");
}

TEST(DefaultPartition, calls_between_forward_calls_are_the_forwards) {
  // Only the gradient needs %k: before %z it is computed in the forward and saved, after it in the
  // backward.
  const char* const head =
      "graph @main(%x: input f32[3] grad, %t: tangent f32[3]) {\n  %y = sin(%x)\n";
  const std::string k = "  %k = cos(%x)\n", z = "  %z = neg(%y)\n";
  const std::string tail = "  %g = mul(%t, %k)\n  %h = neg(%g)\n  return %z, %h -> grad %x\n}\n";
  const Graph before = parsed(head + k + z + tail), after = parsed(head + z + k + tail);
  const Partition early = value_or_throw(default_partition(before));
  const Partition late = value_or_throw(default_partition(after));
  expect_halves(before, early);
  expect_halves(after, late);
  EXPECT_EQ(saved_names(early), (std::vector<std::string>{"k"}));
  EXPECT_EQ(saved_names(late), (std::vector<std::string>{"x"}));
  EXPECT_TRUE(late.recomputed.empty());
}

TEST(DefaultPartition, errors) {
  auto error = [](const std::string& text) {
    auto p = default_partition(parsed(text));
    return p.ok() ? "no error" : p.failure().message;
  };
  EXPECT_EQ(error("graph @main(%x: input f32[3] grad, %t: tangent f32[3]) {\n"
                  "  %y = mul(%x, %t)\n  return %y, %t -> grad %x\n}\n")
                .find("@main: a result or update needs the tangent %t: only gradients may"),
            0u);
}

// Nothing is saved, and the backward is empty.
TEST(DefaultPartition, a_graph_without_gradients_is_all_forward) {
  for (const char* tangent : {"", ", %t: tangent f32[3]"}) {
    Graph joint = parsed(fmt::format(
        "graph @main(%x: input f32[3]{}) {{\n  %y = sin(%x)\n  %z = cos(%y)\n  return %z\n}}\n",
        tangent));
    const auto view = value_or_throw(JointView::make(joint));
    const ExactCut exact = value_or_throw(ExactCut::make(value_or_throw(CutGraph::make(view, {}))));
    EXPECT_EQ(exact.points().size(), 1u);
    for (const Partition& p :
         {value_or_throw(default_partition(joint)), value_or_throw(exact.partition_at(0)),
          value_or_throw(pytorch_partition(joint, {})),
          value_or_throw(pytorch_partition(joint, {.budget = 0.5}))}) {
      EXPECT_EQ(saved_names(p), std::vector<std::string>());
      EXPECT_EQ(p.forward.node_count(), 2u);
      EXPECT_EQ(p.backward.node_count(), 0u);
      EXPECT_EQ(p.backward_arity.outputs, 0);
      expect_halves(joint, p);
    }
  }
}

TEST(DefaultPartition, tagged_collectives_run_once) {
  const Partition p = partition(
      "graph @main(%x: input f32[4] grad) {\n"
      "  %a = sin(%x) !recompute(must_recompute, ac=1)\n"
      "  %c = all_reduce(%a; reduce_op=\"sum\", group_name=\"tp\") !recompute(must_recompute, "
      "ac=1)\n"
      "  %w = wait_tensor(%c) !recompute(must_recompute, ac=1)\n"
      "  %y = sin(%w) !recompute(must_recompute, ac=1)\n  return %y\n}\n");
  EXPECT_EQ(saved_names(p), (std::vector<std::string>{"x", "w"}));
  EXPECT_EQ(count(p.forward, "all_reduce"), 1);
  EXPECT_EQ(count(p.backward, "all_reduce"), 1);  // the gradient's
}

}  // namespace
}  // namespace cleave
