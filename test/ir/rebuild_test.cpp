// A graph made again, with other sizes.
#include "ir/rebuild.h"

#include <gtest/gtest.h>

#include "test/random_inputs.h"
#include "test/sample/random_graph.h"

namespace cleave {
namespace {

using test::core, test::parsed;

struct Wider : Rebuilding {
  Dim size(const Dim& d) override { return d == Dim(4) ? Dim(6) : d; }
  Dim number(const ArgDef& of, const Dim& d) override { return of.name == "size" ? size(d) : d; }
};

TEST(Rebuild, infers_types_anew) {
  const Graph g = parsed(
      "graph @main(%x: input f32[4,2], %b: buffer f32[4]) {\n"
      "  %v = view(%x; size=[2,4]) !recompute(must_save)\n  %s = sum(%x; dim=[1])  # model.cpp:7\n"
      "  return %v, %s -> %b\n}\n");
  Wider wider;
  EXPECT_EQ(print(value_or_throw(rebuilt(g, wider))),
            print(parsed("graph @main(%x: input f32[6,2], %b: buffer f32[6]) {\n"
                         "  %v = view(%x; size=[2,6]) !recompute(must_save)\n"
                         "  %s = sum(%x; dim=[1])  # model.cpp:7\n  return %v, %s -> %b\n}\n")));
}

TEST(Rebuild, a_shared_subgraph_stays_shared) {
  const Graph g = parsed(
      "graph @sub(%a: input f32[4]) {\n  %s = sin(%a)\n  return %s\n}\n"
      "graph @main(%x: input f32[4]) {\n  %y = call([%x]; graph=@sub)\n"
      "  %z = call([%y]; graph=@sub)\n  return %z\n}\n");
  Wider wider;
  const Graph out = value_or_throw(rebuilt(g, wider));
  const auto sub = [&](NodeId n) { return *out.node(n).attrs.given()[0].second.get<GraphRef>(); };
  EXPECT_EQ(sub(out.first_node()), sub(out.last_node()));
  EXPECT_EQ(sub(out.first_node())->type(sub(out.first_node())->find("s")).text(), "f32[6]");
}

TEST(Rebuild, what_a_rule_refuses_is_named) {
  struct Odd : Rebuilding {
    Dim size(const Dim& d) override { return d == Dim(4) ? Dim(5) : d; }
  } odd;
  const Result<Graph> out =
      rebuilt(parsed("graph @main(%x: input f32[4,2]) {\n  %v = view(%x; size=[8])\n"
                     "  return %v\n}\n"),
              odd);
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.failure().message.find("%v = view(%x; size=[8])"), std::string::npos)
      << out.failure().message;
}

TEST(Rebuild, without_changes_it_is_the_graph) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Graph g = value_or_throw(random::random_graph(core(), seed, {})).g;
    Rebuilding same;
    EXPECT_EQ(difference(value_or_throw(rebuilt(g, same)), g), "") << seed;
  }
}

}  // namespace
}  // namespace cleave
