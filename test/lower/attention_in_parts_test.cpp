// Which calls of attention are products and kernels between them on a GPU, and what they become.
#include "lower/attention_in_parts.h"

#include <gtest/gtest.h>

#include <set>

#include "lower/decompose.h"
#include "test/cut/halves.h"

namespace cleave {
namespace {

using test::core;
using test::count;
using test::joint_of;

constexpr const char* forward = "_scaled_dot_product_flash_attention_for_cpu";
constexpr const char* backward = "_scaled_dot_product_flash_attention_for_cpu_backward";

// The joint graph of a call of two heads, decomposed as for a GPU. The gradient repeats the
// forward, which a later pass merges with the first one.
Graph decomposed(const std::string& type, int64_t rows, int64_t columns, int64_t width,
                 const std::string& mask = "", bool on_gpu = true) {
  const std::string masked = mask.empty() ? "" : ", %m";
  Graph g = joint_of(
      fmt::format("graph @main(%q: input {0}[4,2,{1},{3}] grad, %k: input {0}[4,2,{2},{3}] grad, "
                  "%v: input {0}[4,2,{2},{3}] grad{4}) {{\n"
                  "  %y = scaled_dot_product_attention(%q, %k, %v{5})\n"
                  "  %s = sum(%y; dim=[0,1,2,3])\n  return %s\n}}\n",
                  type, rows, columns, width, mask.empty() ? "" : ", %m: input " + mask, masked));
  const Status done = decompose_for_lowering(g, core(), on_gpu);
  EXPECT_TRUE(done.ok()) << done.failure().message;
  return g;
}

TEST(AttentionInParts, what_one_kernel_takes_stays) {
  const Graph g = decomposed("bf16", 128, 128, 64);
  EXPECT_EQ(count(g, forward), 2);
  EXPECT_EQ(count(g, backward), 1);
  EXPECT_EQ(count(g, "bmm"), 0);
}

TEST(AttentionInParts, any_number_of_keys_is_one_kernel) {
  const Graph g = decomposed("bf16", 128, 197, 64);
  EXPECT_EQ(count(g, forward), 2);
  EXPECT_EQ(count(g, backward), 1);
  EXPECT_EQ(count(g, "bmm"), 0);
}

TEST(AttentionInParts, masks_of_bools_and_halves_are_of_one_kernel) {
  for (const char* mask : {"bool[128,197]", "bf16[4,1,1,197]"}) {
    const Graph g = decomposed("bf16", 128, 197, 64, mask);
    EXPECT_EQ(count(g, forward), 2);
    EXPECT_EQ(count(g, backward), 1);
    EXPECT_EQ(count(g, "bmm"), 0);
  }
}

TEST(AttentionInParts, weights_are_rounded_to_halves_for_the_products_that_read_them) {
  const Graph g = decomposed("bf16", 128, 197, 64, "f32[128,197]");
  EXPECT_EQ(count(g, backward), 0);
  // Of three forwards, one for each result that is used, and the gradient's five.
  int64_t halves = 0, all = 0;
  for (const NodeId n : g.order())
    if (g.node(n).op->name == "bmm") {
      ++all;
      halves += g.type(g.node(n).out(0)).dtype == DType::bf16;
    }
  EXPECT_EQ(all, 9);
  EXPECT_EQ(halves, 5);
}

// Of halves eight are a vector; those that are added are closed, and their gradients left out.
TEST(AttentionInParts, rows_of_scores_are_whole_vectors) {
  const auto columns_of = [](const Graph& g) {
    std::set<std::string> out;
    for (const NodeId n : g.order())
      if (g.node(n).op->name == "bmm") out.insert(g.type(g.node(n).out(0)).shape.back().text());
    return out;
  };
  using Set = std::set<std::string>;
  EXPECT_EQ(columns_of(decomposed("bf16", 128, 197, 64, "f32[128,197]")), (Set{"200", "64"}));
  EXPECT_EQ(columns_of(decomposed("f32", 128, 197, 64)), (Set{"200", "64"}));
  EXPECT_EQ(columns_of(decomposed("f32", 128, 196, 64)), (Set{"196", "64"}));
  EXPECT_EQ(columns_of(decomposed("bf16", 128, 196, 64, "f32[128,196]")), (Set{"200", "64"}));
}

TEST(AttentionInParts, longer_rows_have_the_results_of_the_call) {
  for (const char* mask : {"", "bool[96,99]", "f32[96,99]", "bool[4,1,1,99]", "f32[96,1]"})
    for (const char* type : {"f32", "bf16"}) {
      if (*mask != 'f' && *type == 'b') continue;  // one kernel
      const Graph parts = decomposed(type, 96, 99, 16, mask),
                  whole = decomposed(type, 96, 99, 16, mask, false);
      ASSERT_EQ(count(parts, backward), 0);
      EXPECT_GE(count(parts, "constant_pad_nd"), 2) << mask;
      const auto inputs = test::random_inputs(parts);
      const Arrays got = value_or_throw(interpret(parts, inputs)),
                   want = value_or_throw(interpret(whole, inputs));
      for (size_t k = 0; k < want.size(); ++k)
        EXPECT_EQ(test::mismatch(got[k], want[k], *type == 'f' ? 1e-6 : 2e-2), "")
            << type << mask << k;
    }
}

// A mask that has a gradient: one for each key, or one for a row.
TEST(AttentionInParts, longer_rows_have_the_gradient_of_a_mask) {
  for (const char* mask : {"4,2,96,99", "1,1,96,99", "4,2,96,1", "1,2,1,1"}) {
    const Graph joint = joint_of(
        fmt::format("graph @main(%q: input f32[4,2,96,16] grad, %k: input f32[4,2,99,16] grad, "
                    "%v: input f32[4,2,99,16] grad, %m: input f32[{}] grad) {{\n"
                    "  %y = scaled_dot_product_attention(%q, %k, %v, %m)\n"
                    "  %s = sum(%y; dim=[0,1,2,3])\n  return %s\n}}\n",
                    mask));
    Graph parts = joint;
    const Status done = decompose_for_lowering(parts, core(), true);
    ASSERT_TRUE(done.ok()) << mask << done.failure().message;
    EXPECT_EQ(count(parts, "_scaled_dot_product_efficient_attention_backward"), 0);
    const auto inputs = test::random_inputs(joint);
    const Arrays got = value_or_throw(interpret(parts, inputs)),
                 want = value_or_throw(interpret(joint, inputs));
    for (size_t k = 0; k < want.size(); ++k)
      EXPECT_EQ(test::mismatch(got[k], want[k], 1e-5), "") << mask << " " << k;
  }
}

// As graphs of PyTorch call it: the bias isn't expanded before.
TEST(AttentionInParts, longer_rows_have_the_gradient_of_a_bias_as_it_is) {
  for (const char* bias : {"4,2,96,99", "4,2,96,1", "1,1,96,99"})
    for (const char* wanted : {"true", "false"}) {
      const Graph call = test::parsed(fmt::format(
          "graph @main(%g: input f32[4,2,96,16], %q: input f32[4,2,96,16], %k: input "
          "f32[4,2,99,16], %v: input f32[4,2,99,16], %b: input f32[{}], %o: input f32[4,2,96,16], "
          "%l: input f32[4,2,96], %seed: input i64[], %at: input i64[]) {{\n"
          "  %dq, %dk, %dv, %db = _scaled_dot_product_efficient_attention_backward(%g, %q, %k, %v, "
          "%b, %o, %l, %seed, %at; dropout_p=0.0, grad_input_mask=[true,true,true,{}])\n"
          "  return %dq, %dk, %dv{}\n}}\n",
          bias, wanted, *wanted == 't' ? ", %db" : ""));
      Graph parts = call;
      const Status done = decompose_for_lowering(parts, core(), true);
      ASSERT_TRUE(done.ok()) << bias << done.failure().message;
      const auto inputs = test::random_inputs(call);
      const Arrays got = value_or_throw(interpret(parts, inputs)),
                   want = value_or_throw(interpret(call, inputs));
      for (size_t k = 0; k < want.size(); ++k)
        EXPECT_EQ(test::mismatch(got[k], want[k], 1e-5), "") << bias << wanted << k;
    }
}

TEST(AttentionInParts, types_widths_and_masks_that_cudnn_does_not_take) {
  for (const Graph& g :
       {decomposed("f32", 128, 128, 64), decomposed("bf16", 128, 128, 60),
        decomposed("bf16", 128, 128, 264), decomposed("bf16", 128, 128, 64, "f32[128,128]")}) {
    EXPECT_EQ(count(g, forward), 0) << print(g);
    EXPECT_EQ(count(g, backward), 0);
    EXPECT_EQ(count(g, "bmm"), 9);
  }
}

TEST(AttentionInParts, few_scores_and_very_many_are_one_kernel) {
  for (const Graph& g : {decomposed("f32", 60, 60, 64), decomposed("f32", 16384, 8192, 8)}) {
    EXPECT_EQ(count(g, forward), 2);
    EXPECT_EQ(count(g, backward), 1);
  }
}

// Where the scores of all of a batch are too many, some of its items are computed at a time.
TEST(AttentionInParts, many_scores_are_those_of_some_items_at_a_time) {
  const Graph g = decomposed("bf16", 8192, 2048, 64, "f32[4,1,8192,2048]");  // 128 MiB an item
  EXPECT_EQ(count(g, forward), 0);
  EXPECT_EQ(count(g, backward), 0);
  EXPECT_EQ(count(g, "bmm"), 2 * 9);
  EXPECT_EQ(count(g, "cat"), 2 + 1 + 3);  // results, the sums that the gradient reads, gradients
}

// Masks of a batch, of heads that are as many, of all.
TEST(AttentionInParts, slices_of_the_batch_have_the_bits_of_the_call) {
  for (const auto& [mask, items] :
       {std::pair{"5,1,6,7", 2}, {"5,6,7", 1}, {"5,6,7", 2}, {"6,7", 3}, {"1,5,6,7", 1}}) {
    const Graph whole = joint_of(
        fmt::format("graph @main(%q: input f32[5,5,6,8] grad, %k: input f32[5,5,7,8] grad, "
                    "%v: input f32[5,5,7,4] grad, %m: input f32[{}]) {{\n"
                    "  %y, %sums = _scaled_dot_product_flash_attention_for_cpu(%q, %k, %v, %m)\n"
                    "  %z = sum(%y; dim=[0,1,2,3])\n  return %z\n}}\n",
                    mask));
    Graph g = whole;
    const AttentionPartsLimits limits{.least_scores = 1, .most_bytes = items * 5 * 6 * 7 * 4};
    int calls = 0;
    for (NodeId n = g.last_node(); n.valid();) {
      const NodeId before = g.prev_node(n);
      if (attention_slice(g.view(n), limits) > 0) {
        Builder b(g, core());
        b.insert_before(n);
        EXPECT_EQ(attention_slice(g.view(n), limits), items);
        const Values slices = sliced_attention(b, g.view(n), items);
        ASSERT_TRUE(b.status().ok()) << b.status().failure().message;
        for (uint32_t k = 0; k < g.node(n).output_count; ++k)
          g.replace_uses(g.node(n).out(k), slices[k]);
        g.erase(n);
        ++calls;
      }
      n = before;
    }
    EXPECT_GE(calls, 2);
    EXPECT_EQ(count(g, forward) + count(g, backward), (5 + items - 1) / items * calls);
    const auto inputs = test::random_inputs(whole);
    const Arrays got = value_or_throw(interpret(g, inputs)),
                 want = value_or_throw(interpret(whole, inputs));
    for (size_t k = 0; k < want.size(); ++k)
      EXPECT_EQ(test::mismatch(got[k], want[k], 0), "") << mask << " " << k;
  }
}

TEST(AttentionInParts, on_a_processor_all_are_one_kernel) {
  const Graph g = decomposed("f32", 128, 197, 64, "", false);
  EXPECT_EQ(count(g, forward), 2);
  EXPECT_EQ(count(g, backward), 1);
}

TEST(AttentionInParts, has_the_results_of_the_call) {
  for (const char* type : {"f32", "bf16"}) {
    const std::string mask = *type == 'f' ? "" : "f32[96,96]";
    const Graph parts = decomposed(type, 96, 96, 16, mask),
                whole = decomposed(type, 96, 96, 16, mask, false);
    ASSERT_EQ(count(parts, backward), 0);
    const auto inputs = test::random_inputs(parts);
    const Arrays got = value_or_throw(interpret(parts, inputs)),
                 want = value_or_throw(interpret(whole, inputs));
    for (size_t k = 0; k < want.size(); ++k)
      EXPECT_EQ(test::mismatch(got[k], want[k], *type == 'f' ? 1e-6 : 2e-2), "") << type << k;
  }
}

}  // namespace
}  // namespace cleave
