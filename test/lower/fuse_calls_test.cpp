// What fusion knows of each call before calls are grouped.
// tests: fuse_joins.cpp
#include "lower/fuse_calls.h"

#include <gtest/gtest.h>

#include "test/lower/lowered.h"

namespace cleave {
namespace {

using Kind = FuseCall::Kind;

struct Described {
  explicit Described(const std::string& text)
      : graph(test::decomposed(text)), calls(describe_calls(graph, FuseCosts::of({}))) {}

  const FuseCall& operator[](const char* name) const {
    return calls[graph.value(graph.find(name)).def];
  }
  std::vector<std::string> names(const std::vector<ValueId>& values) const {
    std::vector<std::string> out;
    for (const ValueId v : values) out.push_back(graph.name(v));
    return out;
  }

  Graph graph;
  FuseCalls calls;
};

using Names = std::vector<std::string>;

TEST(FuseCalls, kinds) {
  const Described d(
      "graph @g(%x: input f32[64,32], %w: input f32[32,32]) {\n"
      "  %c = neg(%x)\n  %t = permute(%c; dims=[1,0])\n  %y = sin(%x)\n"
      "  %s = sum(%y; dim=[1])\n  %u = mul(%y, %x)\n  %r = sin(%t)\n"
      "  %p = mm(%u, %w)\n  %h = sin(%p)\n  %k = exp(%h)\n  return %s, %p, %k, %r\n}\n");
  EXPECT_EQ(d["c"].kind, Kind::cheap);
  EXPECT_EQ(d["t"].kind, Kind::view);
  EXPECT_EQ(d["y"].kind, Kind::elementwise);  // two read it, and it is dear
  EXPECT_EQ(d["s"].kind, Kind::fold);
  EXPECT_EQ(d["u"].kind, Kind::elementwise);  // a product reads it from memory
  EXPECT_EQ(d["p"].kind, Kind::other);
  EXPECT_EQ(d["h"].kind, Kind::waiting);
  EXPECT_EQ(d["k"].kind, Kind::elementwise);
}

TEST(FuseCalls, reads_go_through_views_and_cheap_calls) {
  const Described d(
      "graph @g(%x: input f32[32,32], %b: input f32[32,32]) {\n"
      "  %c = neg(%x)\n  %t = permute(%c; dims=[1,0])\n  %y = add(%t, %b)\n"
      "  %s = sum(%y; dim=[1])\n  return %y, %s\n}\n");
  EXPECT_EQ(d.names(d["y"].materialized_reads), (Names{"x", "b"}));
  EXPECT_EQ(d.names(d["y"].reordered_reads), Names{"x"});
  EXPECT_EQ(d["y"].through, 3u);
  EXPECT_EQ(d.names(d["s"].materialized_reads), Names{"y"});
  EXPECT_EQ(d["s"].elements, 32 * 32);
}

TEST(FuseCalls, positions_and_the_kernels_before) {
  const Described d(
      "graph @g(%x: input f32[16,16]) {\n"
      "  %a = sin(%x)\n  %p = mm(%a, %a)\n  %q = mm(%p, %a)\n  %b = sin(%q)\n  return %b\n}\n");
  EXPECT_EQ(d["a"].position, 0);
  EXPECT_EQ(d["b"].position, 3);
  EXPECT_EQ(d["a"].kernels_before, 0);
  EXPECT_EQ(d["b"].kernels_before, 2);
}

// A product is written where the join wants it; what only the join reads is computed there.
TEST(FuseCalls, a_join_of_what_kernels_write_stays_apart) {
  const std::string head = "graph @g(%x: input f32[256,256]) {\n  %a = sin(%x)\n";
  const Described apart(head + "  %p = mm(%x, %x)\n  %z = cat([%p, %a])\n  return %z\n}\n");
  EXPECT_EQ(apart["z"].kind, Kind::other);
  const Described fused(head + "  %z = cat([%x, %a])\n  return %z\n}\n");
  EXPECT_EQ(fused["z"].kind, Kind::elementwise);
}

}  // namespace
}  // namespace cleave
