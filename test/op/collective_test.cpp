// Collectives have no lowering yet: a program that holds one is refused by its name and file.
#include <gtest/gtest.h>

#include "test/random_inputs.h"
#include "test/sample/run_program.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;

std::string refusal(const std::string& call) {
  const Graph g =
      parsed("graph @main(%x: input f32[2,2]) {\n  %y = " + call + "\n  return %y\n}\n");
  const auto program = CompiledProgram::compile(g, core(), {});
  if (program.ok()) return "it compiles";
  EXPECT_EQ(program.failure().kind, ErrorKind::unsupported);
  return program.failure().message;
}

TEST(Collectives, are_refused_with_name_and_file) {
  EXPECT_EQ(refusal("all_reduce(%x; reduce_op=\"sum\", group_name=\"dp\")"),
            "lower: %y: all_reduce has no lowering: no transport between ranks is built in "
            "(src/op/collective_reduce.cpp)");
  EXPECT_EQ(refusal("wait_tensor(%x)"),
            "lower: %y: wait_tensor has no lowering: no transport between ranks is built in "
            "(src/op/collective_gather.cpp)");
}

TEST(Collectives, bear_the_trait_and_no_other_that_would_move_them) {
  for (const auto& op : core().all()) {
    if (!op->ranks && op->name != "wait_tensor") continue;
    EXPECT_TRUE(has(op->traits, Trait::collective)) << op->name;
    EXPECT_FALSE(has(op->traits, Trait::recomputable | Trait::fusible | Trait::effect)) << op->name;
  }
}

}  // namespace
}  // namespace cleave
