// Where values are made before any thunk writes them.
#include "lower/value_storages.h"

#include <gtest/gtest.h>

#include "test/lower/lowered.h"

namespace cleave {
namespace {

TEST(ValueStorages, parts_share_the_storage_of_their_whole) {
  const Graph g = test::decomposed(
      "graph @g(%a: input f32[8,8]) {\n  %x = sin(%a)\n  %y = exp(%a)\n  %z = cat([%x, %y])\n"
      "  %t = cos(%z)\n  return %t, %z\n}\n");
  const ValueId x = g.find("x"), y = g.find("y"), z = g.find("z"), t = g.find("t");
  LoweredProgram program;
  ValueStorages values(g, program);
  EXPECT_FALSE(values.begun(z));
  const MemRef first = values.make(x), second = values.make(y), own = values.make(t);
  EXPECT_EQ(first.storage, second.storage);
  EXPECT_EQ(second.layout.offset, 64);
  EXPECT_NE(own.storage, first.storage);
  ASSERT_TRUE(values.begun(z));
  EXPECT_EQ(values.begun(z)->storage, first.storage);
  EXPECT_EQ(values.begun(z)->layout, loop::Layout::contiguous({16, 8}));
  ASSERT_EQ(program.storages.size(), 2u);
  EXPECT_EQ(program.storages[first.storage].name, "z");
  EXPECT_EQ(program.storages[first.storage].bytes, 16 * 8 * 4);
  EXPECT_EQ(program.storages[first.storage].parts.size(), 2u);
}

TEST(ValueStorages, what_nobody_has_made_is_a_bug) {
  const Graph g =
      test::decomposed("graph @g(%a: input f32[8]) {\n  %x = sin(%a)\n  return %x\n}\n");
  LoweredProgram program;
  const ValueStorages values(g, program);
  EXPECT_FALSE(values.is_made(g.find("x")));
  EXPECT_ANY_THROW(values.at(g.find("x")));
}

TEST(ValueStorages, what_is_read_or_returned_is_wanted) {
  const Graph g = test::parsed(
      "graph @g(%a: input f32[8,4]) {\n  %x, %i = max(%a; dim=1)\n  %y = sin(%x)\n"
      "  return %y\n}\n");
  LoweredProgram program;
  const ValueStorages values(g, program);
  EXPECT_TRUE(values.is_wanted(g.find("x")));
  EXPECT_FALSE(values.is_wanted(g.find("i")));
  EXPECT_TRUE(values.is_wanted(g.find("y")));
  EXPECT_TRUE(values.is_returned(g.find("y")));
}

}  // namespace
}  // namespace cleave
