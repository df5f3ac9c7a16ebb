// Thousands of cuts of a join, and of their gradients: no pass gives up.
#include <gtest/gtest.h>

#include "pass/pipeline.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::core;

constexpr int many = 12000;

// "%x0, %x1, ..."
std::string numbered(const char* name, int count) {
  std::string out;
  for (int k = 0; k < count; ++k) out += fmt::format("{}%{}{}", k == 0 ? "" : ", ", name, k);
  return out;
}

std::string text_of(const std::string& placeholders, const std::string& calls,
                    const std::string& results) {
  return fmt::format("graph @g({}) {{\n{}  return {}\n}}\n", placeholders, calls, results);
}

std::string placeholders(const char* type) {
  std::string out;
  for (int k = 0; k < many; ++k)
    out += fmt::format("{}%x{}: input {}", k == 0 ? "" : ", ", k, type);
  return out;
}

struct Merged {
  Graph graph;
  int64_t matches;
};

Merged rewritten_by(const char* pass, const std::string& text) {
  Graph g = test::parsed(text);
  const CompilePass report =
      value_or_throw(run_pass(value_or_throw(find_pass(pass)), g, core(), {}));
  return {std::move(g), report.matches};
}

TEST(ManyPieces, slices_of_a_cat_are_its_items) {
  std::string calls = fmt::format("  %c = cat([{}]; dim=0)\n", numbered("x", many));
  for (int k = 0; k < many; ++k)
    calls +=
        fmt::format("  %s{} = slice(%c; dim=0, start={}, end={})\n", k, 3 * k + k % 2, 3 * k + 3);
  const Merged d =
      rewritten_by("cancel_joins", text_of(placeholders("f32[3]"), calls, numbered("s", many)));
  EXPECT_EQ(d.matches, many);
  EXPECT_EQ(d.graph.node_count(), many / 2u);  // every second one is a whole item
}

TEST(ManyPieces, selects_of_a_stack_are_its_items) {
  std::string calls = fmt::format("  %c = stack([{}]; dim=0)\n", numbered("x", many));
  for (int k = 0; k < many; ++k)
    calls += fmt::format("  %s{} = select(%c; dim=0, index={})\n", k, many - 1 - k);
  const Merged d =
      rewritten_by("cancel_joins", text_of(placeholders("f32[3]"), calls, numbered("s", many)));
  EXPECT_EQ(d.matches, many);
  ASSERT_EQ(d.graph.node_count(), 0u);
  for (int k = 0; k < many; ++k)
    EXPECT_EQ(d.graph.returns()[k].value, d.graph.placeholders()[many - 1 - k].value);
}

TEST(ManyPieces, slices_that_are_joined_are_their_whole) {
  std::string calls;
  for (int k = 0; k < many; ++k)
    calls += fmt::format("  %s{} = slice(%x; dim=0, start={}, end={})\n", k, 2 * k, 2 * k + 2);
  calls += fmt::format("  %c = cat([{}]; dim=0)\n  %y = sin(%c)\n", numbered("s", many));
  const Merged d = rewritten_by("merge_pieces",
                                text_of(fmt::format("%x: input f32[{}]", 2 * many), calls, "%y"));
  EXPECT_EQ(d.matches, 1);
  EXPECT_EQ(d.graph.node_count(), 1u);
}

// The sum of the gradients of slices, and another one onto it.
TEST(ManyPieces, a_sum_of_pads_is_a_cat) {
  std::string calls;
  for (int k = 0; k < many; ++k)
    calls += fmt::format("  %p{} = constant_pad_nd(%x{}; pad=[{},{}])\n", k, k, 3 * k,
                         3 * (many - 1 - k));
  for (int k = 1; k < many; ++k)
    calls += fmt::format("  %a{} = add(%{}{}, %p{})\n", k, k == 1 ? "p" : "a", k - 1, k);
  calls += fmt::format("  %y = add(%a{}, %z)\n", many - 1);
  const Merged d = rewritten_by(
      "join_pads",
      text_of(placeholders("f32[3]") + fmt::format(", %z: input f32[{}]", 3 * many), calls, "%y"));
  EXPECT_EQ(d.matches, 1);
  EXPECT_EQ(d.graph.node_count(), 2u);
}

}  // namespace
}  // namespace cleave
