// The memory of a program over its steps agrees with its plan, and names what is kept.
#include "inspect/program_memory.h"

#include <numeric>

#include "backend/make_backend.h"
#include "compile/plan_program.h"
#include "compile/stages.h"
#include "test/cut/halves.h"

namespace cleave {
namespace {

const char* const two_products =
    "graph @main(%x: input f32[32,64] grad, %w: param f32[64,64] grad, %v: param f32[64,8] grad) "
    "{\n  %a = mm(%x, %w)\n  %b = tanh(%a)\n  %c = mm(%b, %v)\n  %d = cos(%c)\n"
    "  %s = sum(%d; dim=[])\n  return %s\n}\n";

struct Planned {
  explicit Planned(Graph g, bool fuse = true) : graph(std::move(g)) {
    StageOptions options;
    options.fuse = fuse;
    value_or_throw(run_stages(Stage::verify, Stage::fuse, graph, test::core(), options));
    program = value_or_throw(plan_program(graph, *make_backend(Target::here())));
    memory = program_memory(program, graph);
  }
  Graph graph;
  PlannedProgram program;
  ProgramMemory memory;
};

int64_t sum_of(const MemoryByKind& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

TEST(ProgramMemory, adds_up_to_the_bound_of_the_plan) {
  for (const bool fuse : {true, false}) {
    const Planned p(test::joint_of(two_products), fuse);
    ASSERT_EQ(p.memory.profile.thunks.size(), p.program.lowered.thunks.size());
    int64_t most = 0;
    for (const MemoryByKind& bytes : p.memory.profile.thunks) most = std::max(most, sum_of(bytes));
    EXPECT_EQ(most, p.program.bound.peak());
    EXPECT_EQ(sum_of(p.memory.profile.thunks[p.memory.peak_step]), most);
    EXPECT_EQ(p.memory.profile.planned_peak, p.program.peak_bytes());
    int64_t arena = 0;
    for (const KeptStorage& s : p.memory.at_peak) arena += s.bytes;
    EXPECT_EQ(arena, p.program.bound.arena);
    EXPECT_TRUE(std::ranges::is_sorted(p.memory.at_peak, std::greater(), &KeptStorage::bytes));
  }
}

TEST(ProgramMemory, names_what_the_forward_keeps_and_who_reads_it) {
  const Planned p(test::joint_of(two_products), false);
  const size_t boundary = p.memory.profile.forward_thunks;
  EXPECT_GT(boundary, 2U);
  EXPECT_LT(boundary, p.program.lowered.thunks.size());
  // tanh is written over the product.
  ASSERT_EQ(p.memory.kept.size(), 2U);
  const KeptStorage* tanh = &p.memory.kept[0];
  EXPECT_EQ(tanh->name, "a");
  EXPECT_EQ(tanh->bytes, 32 * 64 * 4);
  EXPECT_EQ(tanh->made_by, "product");
  EXPECT_EQ(tanh->kind, Kept::saved);
  EXPECT_LT(tanh->first, boundary);
  EXPECT_GE(tanh->last, boundary);
  EXPECT_EQ(tanh->reads.size(), 2U);  // the gradients of %v and of %a
}

TEST(ProgramMemory, inference_keeps_nothing) {
  const Planned p(test::parsed(two_products));
  EXPECT_EQ(p.memory.profile.forward_thunks, p.memory.profile.thunks.size());
  EXPECT_TRUE(p.memory.kept.empty());
}

}  // namespace
}  // namespace cleave
