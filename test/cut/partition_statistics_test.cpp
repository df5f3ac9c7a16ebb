// How often each operator runs where, which rules decided, and how mode pytorch came to its answer.
#include "cut/partition_statistics.h"

#include "cut/default_partition.h"
#include "cut/pytorch_partition.h"
#include "test/cut/halves.h"

namespace cleave {
namespace {

using test::joint_of;

// Six products with a cosine behind each.
std::string chain_text() {
  std::string out = "graph @main(%a0: input f32[64,64] grad, %w: input f32[64,64]) {\n";
  for (int k = 1; k <= 6; ++k)
    out += fmt::format("  %p{0} = mm(%a{1}, %w)\n  %a{0} = cos(%p{0})\n", k, k - 1);
  return out + "  %s = sum(%a6; dim=[])\n  return %s\n}\n";
}

Graph simplified(const std::string& text) {
  Graph joint = joint_of(text);
  simplify_as_pytorch(joint);
  return joint;
}

const OperatorCount& of(const std::vector<OperatorCount>& all, const std::string& op) {
  return *std::ranges::find(all, op, &OperatorCount::op);
}

TEST(PartitionStatistics, counts_the_calls_of_each_operator) {
  const Graph joint = simplified(chain_text());
  const Partition whole = value_or_throw(default_partition(joint));
  const std::vector<OperatorCount> plain = count_operators(joint, whole);
  EXPECT_EQ(of(plain, "mm").forward, 6);
  EXPECT_EQ(of(plain, "mm").backward, 6);
  EXPECT_EQ(of(plain, "mm").recomputed, 0);
  EXPECT_EQ(of(plain, "cos").forward, 6);
  EXPECT_EQ(of(plain, "sin").backward, 6);

  const Partition inputs_alone = value_or_throw(pytorch_partition(joint, {.budget = 0}));
  const std::vector<OperatorCount> again = count_operators(joint, inputs_alone);
  EXPECT_EQ(of(again, "mm").recomputed, 6);
  EXPECT_EQ(of(again, "mm").backward, 6 + 6);
  EXPECT_EQ(of(again, "cos").recomputed, 5);  // the last one is read by nothing there
  int64_t twice = 0, calls = 0;
  for (const OperatorCount& c : again) {
    twice += c.recomputed;
    calls += c.forward + c.backward;
  }
  EXPECT_EQ(twice, std::ssize(inputs_alone.run_twice));
  EXPECT_EQ(calls, static_cast<int64_t>(inputs_alone.forward.node_count() +
                                        inputs_alone.backward.node_count()));
  EXPECT_TRUE(std::ranges::is_sorted(
      again, std::greater(), [](const OperatorCount& c) { return c.forward + c.backward; }));
}

TEST(PartitionStatistics, counts_values_and_bytes_by_the_rule_that_decided) {
  EXPECT_EQ(rule_of("read by %y; in the minimum cut"), "in the minimum cut");
  EXPECT_EQ(rule_of("read by %y"), "the backward reads it");
  const Graph joint = simplified(chain_text());
  const Partition cut = value_or_throw(pytorch_partition(joint, {.budget = 0.5}));
  int64_t saved = 0, saved_bytes = 0, recomputed = 0;
  for (const ReasonCount& r : count_reasons(cut)) {
    saved += r.saved;
    saved_bytes += r.saved_bytes;
    recomputed += r.recomputed;
  }
  EXPECT_EQ(saved, std::ssize(cut.saved));
  EXPECT_EQ(saved_bytes, cut.saved_bytes);
  EXPECT_EQ(recomputed, std::ssize(cut.recomputed));
  const auto rows = count_reasons(cut);
  const auto inputs = std::ranges::find(rows, "a placeholder, in memory anyway", &ReasonCount::why);
  ASSERT_NE(inputs, rows.end());
  EXPECT_EQ(inputs->saved, 1);  // %w
  EXPECT_EQ(inputs->saved_bytes, 64 * 64 * 4);
}

TEST(PytorchAccount, says_which_cut_answered_and_by_which_bans) {
  const Graph joint = simplified(chain_text());
  PytorchAccount account;
  value_or_throw(pytorch_partition(joint, {.budget = 1}, &account));
  EXPECT_EQ(account.step, PytorchAccount::Step::first);
  EXPECT_EQ(account.range_bytes, 0);  // no budget counts
  EXPECT_TRUE(account.items.empty());
  const auto products = std::ranges::find_if(
      account.bans, [](const auto& b) { return b.first.starts_with("not_in_allowlist"); });
  ASSERT_NE(products, account.bans.end());
  EXPECT_EQ(products->second, 6);
  value_or_throw(pytorch_partition(joint, {.budget = 0}, &account));
  EXPECT_EQ(account.step, PytorchAccount::Step::inputs_alone);
}

TEST(PytorchAccount, lists_what_the_knapsack_kept) {
  const Graph joint = simplified(chain_text());
  PytorchAccount account;
  const Partition cut = value_or_throw(pytorch_partition(joint, {.budget = 0.5}, &account));
  ASSERT_EQ(account.step, PytorchAccount::Step::knapsack);
  EXPECT_EQ(account.range_bytes, 5 * 64 * 64 * 4);  // %a0 isn't saved, but counts as an input
  EXPECT_EQ(account.capacity_bytes, account.range_bytes / 2);
  ASSERT_EQ(account.items.size(), 6U);  // the products
  int64_t kept = 0, bytes = 0;
  for (const PytorchAccount::Item& i : account.items) {
    EXPECT_EQ(i.bytes, 64 * 64 * 4);
    EXPECT_EQ(i.runtime, 2 * 64 * 64 * 64);
    EXPECT_TRUE(joint.find(i.name).valid());
    kept += i.kept;
    bytes += i.kept ? i.bytes : 0;
    // What is kept is saved, itself or further on; what isn't, runs again.
    const bool again = std::ranges::count(cut.recomputed, i.name, &RecomputedValue::name) > 0;
    EXPECT_TRUE(i.kept != again) << i.name;
  }
  EXPECT_EQ(kept, 2);
  EXPECT_LE(bytes, account.capacity_bytes);
}

TEST(PytorchConflict, there_is_none_where_a_cut_is_found) {
  EXPECT_FALSE(value_or_throw(pytorch_conflict(simplified(chain_text()), {})).has_value());
}

}  // namespace
}  // namespace cleave
