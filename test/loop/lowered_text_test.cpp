// The kernels of operators' samples and of random training graphs, and these scheduled: print
// writes a kernel completely, and parse reads it back.
#include <gtest/gtest.h>

#include "compile/plan_program.h"
#include "loop/difference.h"
#include "loop/parse.h"
#include "lower/lower_graph.h"
#include "op/entry.h"
#include "schedule/schedule.h"
#include "test/prepared.h"
#include "test/random_inputs.h"
#include "test/sample/random_graph.h"

namespace cleave::loop {
namespace {

using test::core;

// Its text is read back as it is.
void check(const Kernel& k, const std::string& what) {
  const std::string text = print(k);
  const Result<Kernel> again = parse_kernel(text, what);
  ASSERT_TRUE(again.ok()) << again.failure().message << "\n" << text;
  EXPECT_EQ(difference(k, *again), "") << what << "\n" << text;
  EXPECT_EQ(print(*again), text) << what;
  const Status s = verify(*again);
  EXPECT_TRUE(s.ok()) << s.failure().message << "\n" << text;
}

// Lowers the graph; how many kernels were read back. -1: the graph can't be lowered.
int read_back(Graph g, bool fused, const std::string& what) {
  if (const Status s = test::prepare(g, fused); !s.ok()) return -1;
  const Result<LoweredProgram> lowered = lower_graph(g);
  if (!lowered.ok()) return -1;
  std::string file;
  for (const Kernel& k : lowered->kernels) {
    file += print(k) + "\n";
    check(k, what);
    check(schedule::schedule(k), what + ", scheduled");
    if (testing::Test::HasFailure()) return 0;
  }
  const auto all = parse_kernels(file, what);
  EXPECT_TRUE(all.ok()) << all.failure().message;
  EXPECT_EQ(all.ok() ? all->size() : 0, lowered->kernels.size());
  return static_cast<int>(lowered->kernels.size());
}

// All static samples of an entry as calls of one graph.
Graph samples_of(const OpDef& op) {
  Graph g("samples");
  Arrays inputs;
  const Samples samples = op.samples();
  for (size_t k = 0; k < samples.size(); ++k) {
    if (!law::is_static(samples[k])) continue;
    const law::SampleCall call = value_or_throw(
        law::add_sample(g, op, samples[k], k, law::Floats::own, fmt::format("s{}", k), inputs));
    const Node& node = g.node(call.node);
    for (uint32_t r = 0; r < node.output_count; ++r)
      if (!g.type(node.out(r)).is_none) g.add_return({node.out(r), ReturnKind::result, {}});
  }
  return g;
}

TEST(LoweredText, of_every_sample_is_read_back) {
  int kernels = 0, entries = 0;
  for (const auto& op : core().all()) {
    const int apart = read_back(samples_of(*op), /*fused=*/false, op->name);
    const int fused = read_back(samples_of(*op), /*fused=*/true, op->name + ", fused");
    kernels += std::max(apart, 0) + std::max(fused, 0);
    entries += apart > 0;
    if (HasFailure()) break;
  }
  EXPECT_GT(entries, 150);
  EXPECT_GT(kernels, 2000);
}

TEST(LoweredText, of_random_training_graphs_is_read_back) {
  int kernels = 0;
  for (uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    random::RandomGraph r = value_or_throw(random::random_graph(core(), seed, {}));
    value_or_throw(random::cast_some(r, core(), seed));
    r = value_or_throw(random::with_gradients(r, core(), seed));
    kernels += std::max(read_back(std::move(r.g), seed % 4 != 0, fmt::format("seed {}", seed)), 0);
  }
  EXPECT_GT(kernels, 3000);
}

// What fusion makes of it is as deep as an expression gets.
TEST(LoweredText, of_a_long_chain_is_read_back) {
  std::string text = "graph @main(%x: input f32[64], %y: input f32[64]) {\n  %v0 = add(%x, %y)\n";
  for (int i = 1; i < 3000; ++i)
    text += fmt::format("  %v{} = {}(%v{}, %y)\n", i, i % 2 ? "add" : "mul", i - 1);
  Graph g = value_or_throw(parse(text + "  return %v2999\n}\n", "chain", core())).main;
  EXPECT_GT(read_back(std::move(g), /*fused=*/true, "chain"), 0);
}

}  // namespace
}  // namespace cleave::loop
