// Passes over collectives on random graphs: buckets keep their limits and are as full as possible,
// collectives that depend on each other aren't merged, and all ranks get the same values as before.
// tests: collective.cpp
#include <gtest/gtest.h>

#include <random>

#include "cleave/options.h"
#include "ir/edit.h"
#include "pass/passes.h"
#include "pass/pipeline.h"
#include "test/random_inputs.h"
#include "test/sample/over_ranks.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;

constexpr int64_t mebi = int64_t{1} << 20;

int64_t run(const Pass& pass, Graph& g) {
  const int64_t matches = value_or_throw(run_pass(pass, g, core(), {})).matches;
  value_or_throw(verify(g));
  return matches;
}

struct Sent {
  int64_t bytes = 0;
  size_t members = 1;
};

// The all-reduces in their order.
std::vector<Sent> sent_by(const Graph& g) {
  std::vector<Sent> out;
  for (const NodeId n : g.order()) {
    if (g.node(n).op->name != "all_reduce") continue;
    const Type& t = g.type(g.node(n).out(0));
    Sent& s = out.emplace_back(Sent{t.numel().value() * size_of(t.dtype)});
    const NodeId def = g.value(g.node(n).inputs[0]).def;
    if (g.node(def).op->name == "cat") s.members = g.node(def).inputs.size();
  }
  return out;
}

// So many gradients, each made in its turn, one after the other.
std::string gradients(const std::vector<int64_t>& sizes) {
  std::string head, calls, results;
  for (size_t k = 0; k < sizes.size(); ++k) {
    head += fmt::format("{}%x{}: input f32[{}]", k == 0 ? "" : ", ", k, sizes[k]);
    calls += fmt::format(
        "  %g{0} = sin(%x{0})\n"
        "  %c{0} = all_reduce(%g{0}; reduce_op=\"sum\", group_name=\"dp\")\n"
        "  %r{0} = wait_tensor(%c{0})\n",
        k);
    results += fmt::format("{}%r{}", k == 0 ? "" : ", ", k);
  }
  return "graph @main(" + head + ") {\n" + calls + "  return " + results + "\n}\n";
}

TEST(Buckets, are_as_full_as_their_bounds_let_them) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 rng(seed);
    std::vector<int64_t> sizes(2 + rng() % 40);
    int64_t bytes = 0;
    for (int64_t& n : sizes) {
      n = 1 + static_cast<int64_t>(rng() % (rng() % 8 == 0 ? 9000000 : 900000));
      bytes += 4 * n;
    }
    Graph g = parsed(gradients(sizes));
    run(bucket_all_reduce(), g);
    const std::vector<Sent> sent = sent_by(g);
    size_t members = 0;
    for (size_t k = 0; k < sent.size(); ++k) {
      const int64_t most = k == 0 ? mebi : 25 * mebi;
      EXPECT_TRUE(sent[k].members == 1 || sent[k].bytes <= most) << seed;
      if (k + 1 < sent.size()) { EXPECT_GT(sent[k].bytes + sent[k + 1].bytes, most) << seed; }
      members += sent[k].members;
      bytes -= sent[k].bytes;
    }
    EXPECT_EQ(members, sizes.size()) << seed;
    EXPECT_EQ(bytes, 0) << seed;
    EXPECT_EQ(run(bucket_all_reduce(), g), 0) << seed;
  }
}

TEST(Buckets, are_as_large_as_settings_say) {
  const auto sent = [](const std::string& pass) {
    Graph g = parsed(gradients(std::vector<int64_t>(10, 4)));  // of 16 bytes each
    run(value_or_throw(find_pass(pass)), g);
    std::vector<size_t> members;
    for (const Sent& s : sent_by(g)) members.push_back(s.members);
    return members;
  };
  EXPECT_EQ(sent("bucket_all_reduce:first_bucket_bytes:32:bucket_bytes:64"),
            (std::vector<size_t>{2, 4, 4}));
  EXPECT_EQ(sent("bucket_all_reduce:bucket_bytes:64"), (std::vector<size_t>{10}));
}

const char* const coalescing = "bucket_all_reduce:coalesce:1";

TEST(Buckets, are_one_call_without_copies_where_coalesced) {
  Graph g = parsed(gradients({3, 4, 5}));
  EXPECT_EQ(run(value_or_throw(find_pass(coalescing)), g), 1);
  std::map<std::string, int> calls;
  for (const NodeId n : g.order()) ++calls[g.node(n).op->name];
  EXPECT_EQ(calls, (std::map<std::string, int>{
                       {"sin", 3}, {"all_reduce_coalesced", 1}, {"wait_tensor", 3}}));
}

// Values that are reduced, summed and reduced again, in any order.
std::string random_text(uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<std::string> names = {"x0", "x1", "x2"};
  std::string calls, results;
  const size_t steps = 4 + rng() % 24;
  for (size_t k = 0; k < steps; ++k) {
    const std::string a = names[rng() % names.size()], b = names[rng() % names.size()];
    const std::string y = fmt::format("y{}", k);
    switch (rng() % 4) {
      case 0: calls += fmt::format("  %{} = sin(%{})\n", y, a); break;
      case 1: calls += fmt::format("  %{} = mul(%{}, %{})\n", y, a, b); break;
      default:
        calls += fmt::format(
            "  %c{0} = all_reduce(%{1}; reduce_op=\"{2}\", group_name=\"dp\")\n"
            "  %{3} = wait_tensor(%c{0})\n",
            k, a, rng() % 4 == 0 ? "max" : "sum", y);
    }
    names.push_back(y);
    if (rng() % 2 == 0 || k + 1 == steps) results += (results.empty() ? "%" : ", %") + y;
  }
  return "graph @main(%x0: input f64[2,2], %x1: input f64[2,2], %x2: input f64[2,2]) {\n" + calls +
         "  return " + results + "\n}\n";
}

Arrays computed(const Graph& g) {
  Arrays inputs;
  const std::map<std::string, Array> by_name = test::random_inputs(g);
  for (const Placeholder& p : g.placeholders()) inputs.push_back(by_name.at(g.name(p.value)));
  return value_or_throw(test::run_over_ranks(g, inputs, 3));
}

TEST(CollectivePasses, keep_what_ranks_compute) {
  int64_t matches = 0;
  for (uint64_t seed = 0; seed < 800; ++seed) {
    const Pass bucket = seed < 400 ? bucket_all_reduce() : value_or_throw(find_pass(coalescing));
    Graph g = parsed(random_text(seed));
    eliminate_dead_code(g);  // a reader that nothing reads is none
    const Arrays want = computed(g);
    matches += run(bucket, g);
    EXPECT_EQ(run(bucket, g), 0) << seed;
    run(schedule_collectives(), g);
    EXPECT_EQ(run(schedule_collectives(), g), 0) << seed;
    const Arrays got = computed(g);
    ASSERT_EQ(got.size(), want.size());
    for (size_t k = 0; k < want.size(); ++k)
      EXPECT_EQ(test::mismatch(got[k], want[k], 1e-12), "") << "seed " << seed << "\n" << print(g);
  }
  EXPECT_GE(matches, 400);
}

TEST(CollectivePasses, move_so_many_calls_and_no_more) {
  const auto fused = [](int calls) {
    std::string text =
        "graph @main(%a: input f32[2,3], %b0: param f32[3,5]) {\n"
        "  %c = all_gather_into_tensor(%a; group_size=2, group_name=\"tp\")\n"
        "  %w = wait_tensor(%c)\n";
    for (int k = 0; k < calls; ++k) text += fmt::format("  %b{} = sin(%b{})\n", k + 1, k);
    Graph g = parsed(text + fmt::format("  %y = mm(%w, %b{})\n  return %y\n}}\n", calls));
    return run(fuse_all_gather_mm(), g);
  };
  EXPECT_EQ(fused(200), 1);
  EXPECT_EQ(fused(300), 0);
}

TEST(CollectivePasses, take_time_in_proportion) {
  Graph g = parsed(gradients(std::vector<int64_t>(20000, 50)));
  run(bucket_all_reduce(), g);
  EXPECT_EQ(sent_by(g).size(), 2u);  // 4 MB: one bucket of 1 MiB, one of the rest
  run(schedule_collectives(), g);
}

}  // namespace
}  // namespace cleave
