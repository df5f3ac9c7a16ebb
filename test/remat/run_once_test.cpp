// Collectives and calls with an effect on random graphs, in every mode: each is in exactly one
// half, whatever the budget, the bans and the tags.
#include <gtest/gtest.h>

#include "cut/default_partition.h"
#include "cut/pytorch_partition.h"
#include "ir/edit.h"
#include "ir/subgraph.h"
#include "plan/split_mix.h"
#include "remat/exact_partition.h"
#include "test/cut/halves.h"

namespace cleave {
namespace {

using test::expect_halves;
using test::joint_of;

// A few calls on values of 4 numbers, a third of them collectives or opaque, a third tagged.
std::string random_text(uint64_t seed) {
  plan::SplitMix random(seed);
  std::string text = "graph @main(%v0: input f32[4] grad, %v1: param f32[4] grad) {\n";
  uint32_t values = 2;
  const auto any = [&] { return fmt::format("%v{}", random.below(values)); };
  const auto tag = [&]() -> std::string {
    if (random.below(3) != 0) return "";
    constexpr const char* policies[] = {"must_save", "prefer_save", "prefer_recompute",
                                        "must_recompute", "must_recompute"};
    return fmt::format(" !recompute({}, ac={})", policies[random.below(5)], 1 + random.below(2));
  };
  const auto add = [&](const std::string& call) {
    text += fmt::format("  %v{} = {}{}\n", values++, call, tag());
  };
  for (uint32_t calls = 4 + random.below(8); calls > 0; --calls) switch (random.below(6)) {
      case 0: {
        add(fmt::format("all_reduce({}; reduce_op=\"sum\", group_name=\"tp\")", any()));
        add(fmt::format("wait_tensor(%v{})", values - 1));
        break;
      }
      case 1: add(fmt::format("opaque({})", any())); break;
      case 2: add(fmt::format("view({}; size=[4])", any())); break;
      case 3: add(fmt::format("mul({}, {})", any(), any())); break;
      default: add(fmt::format("sin(%v{})", values - 1)); break;
    }
  return text + fmt::format("  return {}, %v{}\n}}\n", any(), values - 1);
}

std::map<std::string, int64_t> count_of_once(std::initializer_list<const Graph*> graphs) {
  std::map<std::string, int64_t> count;
  for (const Graph* g : graphs)
    for (const NodeId n : g->order())
      if (runs_once(traits_of(g->node(n)))) ++count[g->node(n).op->name];
  return count;
}

void expect_once(const Graph& joint, const Partition& cut, const std::string& what) {
  EXPECT_EQ(count_of_once({&cut.forward, &cut.backward}), count_of_once({&joint})) << what;
  for (const NodeId n : cut.run_twice)
    EXPECT_FALSE(runs_once(traits_of(joint.node(n)))) << what << ": " << print_node(joint, n);
  expect_halves(joint, cut);
}

// Calls that nothing needs are in neither half; an effect is always needed.
Graph random_joint(uint64_t seed) {
  Graph joint = joint_of(random_text(seed));
  eliminate_dead_code(joint);
  return joint;
}

TEST(RunOnce, in_mode_pytorch) {
  int cuts = 0, refused = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Graph joint = random_joint(seed);
    simplify_as_pytorch(joint);
    for (const double budget : {1.0, 0.6, 0.3, 0.0})
      for (const bool aggressive : {false, true}) {
        PytorchOptions options{.budget = budget, .aggressive = aggressive};
        options.bans.not_in_allowlist = seed % 3 != 0;
        options.bans.materialized_backward = seed % 2 != 0;
        const Result<Partition> cut = pytorch_partition(joint, options);
        if (!cut.ok()) {
          ASSERT_EQ(cut.failure().kind, ErrorKind::user) << cut.failure().message;
          ++refused;
          continue;
        }
        ++cuts;
        expect_once(joint, *cut, fmt::format("seed {}, budget {}, {}", seed, budget, aggressive));
      }
  }
  EXPECT_GT(cuts, 20 * refused);
}

TEST(RunOnce, in_mode_exact_and_default) {
  int cuts = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Graph joint = random_joint(seed);
    expect_once(joint, value_or_throw(default_partition(joint)), fmt::format("default {}", seed));
    simplify_joint(joint);
    const JointView view = value_or_throw(JointView::make(joint));
    Result<CutGraph> graph = CutGraph::make(view, {});
    if (!graph.ok()) continue;  // tags contradict each other
    const ExactCut exact = value_or_throw(ExactCut::make(*std::move(graph)));
    for (size_t k = 0; k < exact.points().size(); ++k, ++cuts)
      expect_once(joint, value_or_throw(exact.partition_at(k)),
                  fmt::format("exact, seed {}, point {}", seed, k));
  }
  EXPECT_GT(cuts, 200);
}

// A call with an effect whose result nothing reads is in the half that has its operands.
TEST(RunOnce, effects_that_nothing_reads) {
  const Graph joint = test::parsed(
      "graph @main(%x: input f32[4] grad, %t: tangent f32[4]) {\n  %y = sin(%x)\n"
      "  %o = opaque(%x)\n  %c = cos(%x)\n  %g = mul(%t, %c)\n  %p = opaque(%g)\n"
      "  return %y, %g -> grad %x\n}\n");
  const Partition cut = value_or_throw(default_partition(joint));
  EXPECT_EQ(test::count(cut.forward, "opaque"), 1);
  EXPECT_EQ(test::count(cut.backward, "opaque"), 1);
  expect_halves(joint, cut);
  expect_halves(joint, value_or_throw(pytorch_partition(joint, {})));
}

}  // namespace
}  // namespace cleave
