// The choice for a budget against the points of the exact frontier, which are planned here.
// tests: whole_candidates.cpp cut/repeat_calls.cpp compile/stage_planner.cpp
#include <gtest/gtest.h>

#include <limits>

#include "compile/stage_planner.h"
#include "cut/join_forward_backward.h"
#include "remat/budget_family.h"
#include "remat/exact_partition.h"
#include "test/cut/halves.h"
#include "test/prepared.h"
#include "test/sample/random_graph.h"
#include "test/sample/run_program.h"

namespace cleave {
namespace {

struct Compared {
  int points = 0;
  int won = 0;                // points that the choice is cheaper than, or smaller
  int lost_by_sequences = 0;  // points that the sequences alone would lose to
};

// The least recomputation time of the sequences whose peak is within `room`.
int64_t min_recompute_ns(BudgetFamily& family, int64_t room) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t k = 0; k < family.members().size(); ++k)
    if (!family.members()[k].candidate && value_or_throw(family.peak_within(k, room)) <= room)
      least = std::min(least, family.members()[k].recompute_ns);
  return least;
}

// Planned for a target that may be another than this machine's: nothing runs.
Compared compare(const Graph& joint, InstructionSet set) {
  Compared out;
  StageOptions options;
  options.target = {set};
  const auto planner = std::make_shared<StagePlanner>(test::core(), options);
  const Result<ExactCut> exact = ExactCut::of(joint, planner->rates());
  if (!exact.ok()) return out;
  BudgetFamily family = value_or_throw(BudgetFamily::make(joint, planner));
  value_or_throw(family.complete());
  for (size_t k = 0; k < exact->points().size(); ++k) {
    const Partition cut = value_or_throw(exact->partition_at(k));
    Graph alone = value_or_throw(join_forward_backward(joint, cut));
    value_or_throw(planner->fuse(alone));
    const ProgramBytes bytes =
        value_or_throw(planner->bytes(alone, [](const ProgramBytes&) { return true; }));
    const Result<BudgetFamily::Choice> chosen = family.choose(bytes.peak());
    EXPECT_TRUE(chosen.ok()) << "point " << k << ": " << chosen.failure().message;
    if (!chosen.ok()) continue;
    const FamilyMember& m = family.members()[chosen->member];
    const int64_t alone_ns = exact->points()[k].cost_ns;
    EXPECT_LE(m.recompute_ns, alone_ns) << "point " << k;
    EXPECT_LE(*m.peak, bytes.peak()) << "point " << k;
    ++out.points;
    out.won += m.recompute_ns < alone_ns || *m.peak < bytes.peak();
    out.lost_by_sequences += min_recompute_ns(family, bytes.peak()) > alone_ns;
  }
  return out;
}

TEST(Remat, never_loses_to_the_exact_frontier_alone) {
  // As many graphs as it takes to see the sequences lose often: what a seed draws changes with the
  // operators.
  Compared all;
  for (uint64_t seed = 0; seed < 60 || (seed < 400 && all.lost_by_sequences <= 20); ++seed) {
    const random::RandomGraph r = value_or_throw(random::with_gradients(
        value_or_throw(random::random_graph(test::core(), seed, {})), test::core(), seed));
    Graph joint = r.g;
    if (!joint.is_joint() || !test::prepare_unfused(joint).ok()) continue;
    if (joint.node_count() > 200) continue;  // of larger graphs another frontier is searched
    SCOPED_TRACE(fmt::format("seed {}, {} calls", seed, joint.node_count()));
    const Compared c = compare(joint, static_cast<InstructionSet>(seed % 4));
    all.points += c.points, all.won += c.won, all.lost_by_sequences += c.lost_by_sequences;
  }
  EXPECT_GT(all.points, 100);
  EXPECT_GT(all.won, all.points / 2);
  EXPECT_GT(all.lost_by_sequences, 20);
}

const char* const two_blocks =
    "graph @four(%x: input f32[512,256], %w1: param f32[256,512] grad,\n"
    "            %v1: param f32[512,256] grad, %w2: param f32[256,512] grad,\n"
    "            %v2: param f32[512,256] grad) {\n"
    "  %h1 = mm(%x, %w1)\n  %g1 = gelu(%h1)\n  %y1 = mm(%g1, %v1)\n  %x1 = add(%x, %y1)\n"
    "  %h2 = mm(%x1, %w2)\n  %g2 = gelu(%h2)\n  %y2 = mm(%g2, %v2)\n  %x2 = add(%x1, %y2)\n"
    "  %loss = mean(%x2)\n  return %loss\n}\n";

// Two blocks x + gelu(x w) v: halves whose gelus run again beat every sequence that is found, with
// the workspaces of AVX-512.
TEST(Remat, two_blocks_need_the_frontier) {
  Graph joint = test::joint_of(two_blocks);
  value_or_throw(test::prepare_unfused(joint));
  const Compared c = compare(joint, InstructionSet::avx512);
  EXPECT_GT(c.points, 4);
  EXPECT_GT(c.lost_by_sequences, 0);
}

// Sequences and points are priced by the given rates.
TEST(Remat, rates_are_the_callers) {
  Graph joint = test::joint_of(two_blocks);
  value_or_throw(test::prepare_unfused(joint));
  const MachineRates slow{.product_gflops = 9,
                          .pointwise_gflops = 2,
                          .memory_gigabytes = 1.2,
                          .cache_gigabytes = 16.4,
                          .call_ns = 4000};
  const auto prices = [&](const MachineRates& rates) {
    StageOptions options;
    options.target.rates = rates;
    BudgetFamily family = value_or_throw(
        BudgetFamily::make(joint, std::make_shared<StagePlanner>(test::core(), options)));
    value_or_throw(family.complete());
    std::pair<int64_t, int64_t> most;  // of sequences, of candidates
    for (const FamilyMember& m : family.members())
      (m.candidate ? most.second : most.first) =
          std::max(m.candidate ? most.second : most.first, m.recompute_ns);
    return most;
  };
  const auto usual = prices({}), dear = prices(slow);
  EXPECT_GT(usual.first, 0);
  EXPECT_GT(usual.second, 0);
  EXPECT_GT(dear.first, 9 * usual.first);
  EXPECT_GT(dear.second, 9 * usual.second);
}

// A whole step without tangents: its points copy calls of the forward, and give what it gives.
TEST(Remat, a_training_step_has_points_of_its_frontier) {
  Graph step = test::parsed(
      "graph @step(%x: input f32[128,32], %w: param f32[32,64]) {\n"
      "  %h = mm(%x, %w)\n  %s = sin(%h)\n  %c = cos(%s)\n  %loss = mean(%c)\n"
      "  %d = sin(%s)\n  %e = cos(%h)\n  %g = mul(%d, %e)\n  %t = t(%x)\n"
      "  %dw = mm(%t, %g)\n  %new = sub(%w, %dw)\n"
      "  return %loss, %new -> %w\n}\n");
  value_or_throw(test::prepare_unfused(step, {.passes_off = {"all"}}));
  const std::vector<WholeCandidate> all = value_or_throw(whole_candidates(step, 1, {}));
  ASSERT_GT(all.size(), 1u);
  StageOptions options;
  options.is_cut = true;
  options.passes_off = {"all"};
  options.compiler = CompilerChoice::none;
  const std::map<std::string, Array> given = test::random_inputs(step);
  const Arrays inputs{given.at("x"), given.at("w")};
  const Arrays want = value_or_throw(law::run_graph(step, test::core(), inputs, options, 1));
  int with_copies = 0;
  for (const WholeCandidate& candidate : all) {
    const Graph g = value_or_throw(candidate.make());
    EXPECT_TRUE(verify(g).ok());
    const Arrays got = value_or_throw(law::run_graph(g, test::core(), inputs, options, 1));
    ASSERT_EQ(got.size(), want.size());
    for (size_t k = 0; k < want.size(); ++k) EXPECT_EQ(got[k].f, want[k].f);
    with_copies += g.node_count() > step.node_count();
    EXPECT_EQ(g.node_count() > step.node_count(), candidate.recompute_ns > 0);
  }
  EXPECT_GT(with_copies, 0);
}

}  // namespace
}  // namespace cleave
