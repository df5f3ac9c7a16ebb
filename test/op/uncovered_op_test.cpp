// The table of operators that are refused by name holds none that has an entry.
// tests: ir/uncovered_op.cpp
#include "ir/uncovered_op.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "op/registry.h"

namespace cleave {
namespace {

TEST(UncoveredOp, HasNoEntry) {
  const auto ops = core_ops();
  ASSERT_TRUE(ops.ok());
  for (const UncoveredOp& op : uncovered_ops()) {
    EXPECT_EQ(ops->find(op.name), nullptr) << op.name;
    EXPECT_EQ(find_uncovered(op.name), &op);
    EXPECT_FALSE(op.reason.empty()) << op.name;
  }
  EXPECT_EQ(find_uncovered("exp"), nullptr);
}

TEST(UncoveredOp, IsRefusedWithItsReason) {
  const auto ops = core_ops();
  ASSERT_TRUE(ops.ok());
  const auto graph =
      parse("graph @main(%x: input f32[2]) {\n  %y = nonzero(%x)\n  return %y\n}\n", "g.clv", *ops);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.failure().kind, ErrorKind::unsupported);
  EXPECT_NE(graph.failure().message.find("P13: the operator 'nonzero' is not covered: the size of "
                                         "its result depends on values"),
            std::string::npos)
      << graph.failure().message;
}

TEST(UncoveredOp, IsSorted) {
  const auto table = uncovered_ops();
  EXPECT_TRUE(std::is_sorted(table.begin(), table.end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
}

}  // namespace
}  // namespace cleave
