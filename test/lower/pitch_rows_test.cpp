#include "lower/pitch_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "test/lower/lowered.h"
#include "test/sample/both_engines.h"

namespace cleave {
namespace {

using test::core;
using test::decomposed;

const LowerChoices rows_of_16 = {.row_bytes = 16};
const std::string header =
    "graph @g(%x: input bf16[6,40], %w: input bf16[40,150], %u: input bf16[150,24]) {\n";

using Names = std::vector<std::string>;

// Of values with gaps behind their rows.
Names pitched(const std::string& body) {
  const std::string text = header + body + "}\n";
  const test::Inputs in = {{"x", test::scattered(DType::bf16, {6, 40}, 1)},
                           {"w", test::scattered(DType::bf16, {40, 150}, 2)},
                           {"u", test::scattered(DType::bf16, {150, 24}, 3)}};
  const test::CompiledRun usual = test::by_compiled(text, in);
  const test::CompiledRun run = test::by_choices(text, in, rows_of_16);
  EXPECT_TRUE(run.status.ok()) << text;
  for (size_t k = 0; k < usual.results.size(); ++k)
    EXPECT_EQ(run.results[k].f, usual.results[k].f) << text;
  const Graph g = decomposed(text);
  Places places;
  pitch_rows(g, 16, places);
  Names out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    if (const auto place = places.find(g.node(n).out(0).v); place != places.end()) {
      const Layout& at = place->second.layout;
      EXPECT_EQ(at.strides[at.strides.size() - 2], 152);
      out.push_back(g.name(g.node(n).out(0)));
    }
  return out;
}

TEST(PitchRows, what_products_write_and_read) {
  EXPECT_EQ(pitched("  %y = mm(%x, %w)\n  %z = relu(%y)\n  %o = mm(%z, %u)\n  return %o\n"),
            (Names{"y", "z"}));
}

TEST(PitchRows, views_of_rows_allow_it) {
  EXPECT_EQ(pitched("  %y = mm(%x, %w)\n  %v = view(%y; size=[2,3,150])\n  %z = exp(%v)\n"
                    "  %f = view(%z; size=[6,150])\n  %o = mm(%f, %u)\n  return %o\n"),
            (Names{"y", "z"}));
}

TEST(PitchRows, views_across_rows_do_not) {
  EXPECT_EQ(pitched("  %y = mm(%x, %w)\n  %v = view(%y; size=[900])\n  %z = exp(%v)\n"
                    "  return %z\n"),
            Names{});
}

TEST(PitchRows, results_of_the_graph_have_no_gaps) {
  EXPECT_EQ(pitched("  %y = mm(%x, %w)\n  return %y\n"), Names{});
  EXPECT_EQ(pitched("  %y = mm(%x, %w)\n  %v = view(%y; size=[2,3,150])\n"
                    "  %o = mm(%y, %u)\n  return %v, %o\n"),
            Names{});
}

TEST(PitchRows, what_no_product_touches_has_none) {
  EXPECT_EQ(pitched("  %a = exp(%w)\n  %b = sum(%a; dim=[0], keepdim=false)\n  return %b\n"),
            Names{});
}

// Of a batch of products with rows of n: how far apart the rows are; 0: they have no gaps.
int64_t row_of(DType t, int64_t n) {
  const std::string text = fmt::format(
      "graph @g(%x: input {0}[3,5,7], %w: input {0}[3,7,{1}], %u: input {0}[3,{1},4]) {{\n"
      "  %y = bmm(%x, %w)\n  %z = relu(%y)\n  %o = bmm(%z, %u)\n  return %o\n}}\n",
      name_of(t), n);
  const test::Inputs in = {{"x", test::scattered(t, {3, 5, 7}, 1)},
                           {"w", test::scattered(t, {3, 7, n}, 2)},
                           {"u", test::scattered(t, {3, n, 4}, 3)}};
  for (const int threads : {1, 5})
    EXPECT_EQ(
        test::by_choices(text, in, rows_of_16, CompilerChoice::automatic, threads).results.at(0).f,
        test::by_compiled(text, in).results.at(0).f)
        << text;
  const Graph g = decomposed(text);
  Places places;
  pitch_rows(g, 16, places);
  const auto place = places.find(g.find("y").v);
  if (place == places.end()) return 0;
  EXPECT_EQ(place->second.layout.strides[0], 5 * place->second.layout.strides[1]);
  return place->second.layout.strides[1];
}

TEST(PitchRows, of_all_types_and_lengths) {
  EXPECT_EQ(row_of(DType::bf16, 127), 0);  // too short: gaps would be a large part
  EXPECT_EQ(row_of(DType::bf16, 128), 0);  // a multiple
  EXPECT_EQ(row_of(DType::bf16, 129), 136);
  EXPECT_EQ(row_of(DType::f16, 135), 136);
  EXPECT_EQ(row_of(DType::f32, 63), 0);
  EXPECT_EQ(row_of(DType::f32, 65), 68);
  EXPECT_EQ(row_of(DType::f64, 33), 34);
}

TEST(PitchRows, nothing_where_the_target_asks_for_nothing) {
  const Graph g = decomposed(header +
                             "  %y = mm(%x, %w)\n  %z = relu(%y)\n"
                             "  %o = mm(%z, %u)\n  return %o\n}\n");
  Places places;
  pitch_rows(g, 1, places);
  EXPECT_TRUE(places.empty());
}

}  // namespace
}  // namespace cleave
