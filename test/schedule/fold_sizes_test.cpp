// Reductions in a chain over a middle dim whose extent is no multiple of its parts, beside columns
// that run in lanes.
// tests: group_lanes.cpp
#include <gtest/gtest.h>

#include "schedule/fold_form.h"
#include "test/random_inputs.h"
#include "test/sample/check_graph.h"

namespace cleave::random {
namespace {

using test::core;
using test::parsed;

void expect_right(const std::string& type, const std::string& body) {
  const std::string text = fmt::format("graph @main(%x: input {}) {{\n{}}}\n", type, body);
  RandomGraph r{parsed(text), {}};
  for (const auto& [name, a] : test::random_inputs(r.g)) r.inputs.push_back(a);
  const Result<Verdict> v = check_graph(r, core(), CompilerChoice::none);
  ASSERT_TRUE(v.ok()) << text << v.failure().message;
  EXPECT_EQ(v->difference, "") << text;
}

TEST(FoldSizes, a_fold_that_reads_another_of_the_same_lanes) {
  for (const int64_t folded : {63, 64, 65, 81, 100, 127, 129, 150, 255, 2049, 2100})
    for (const int64_t kept : {15, 16, 65}) {
      const std::string type = fmt::format("f32[3,{},{}]", folded, kept);
      expect_right(type, "  %v = var(%x; dim=[1])\n  return %v\n");
      expect_right(type, "  %s = _softmax(%x; dim=1, half_to_float=false)\n  return %s\n");
    }
}

TEST(FoldSizes, of_two_dims_within_a_row) {
  for (const int64_t folded : {33, 65, 100, 150})
    expect_right(fmt::format("f32[2,{},3,17]", folded),
                 "  %v = var(%x; dim=[1,2])\n"
                 "  %l = _log_softmax(%x; dim=1, half_to_float=false)\n  return %v, %l\n");
}

TEST(FoldSizes, several_folds_of_one_operand) {
  for (const int64_t rows : {32, 33, 65, 129})
    for (const int64_t columns : {65, 127, 129})
      expect_right(fmt::format("f32[{},65,{}]", rows, columns),
                   "  %a = sum(%x)\n  %b = mean(%x; dim=[0,2])\n  %c = amax(%x; dim=[1])\n"
                   "  return %a, %b, %c\n");
}

TEST(FoldSizes, several_folds_of_columns_in_parts) {
  for (const int64_t rows : {31, 700, 2100})
    for (const int64_t columns : {17, 64, 129})
      expect_right(fmt::format("f32[{},{}]", rows, columns),
                   "  %q = mul(%x, %x)\n  %a = sum(%x; dim=[0])\n  %b = amax(%x; dim=[0])\n"
                   "  %c = mean(%q; dim=[0])\n  return %a, %b, %c\n");
}

TEST(FoldSizes, without_results_or_elements) {
  for (const char* type : {"f32[0,8,32]", "f32[4,0,32]", "f32[4,8,0]", "f32[0,0,32]"})
    for (const char* dims : {"0", "1", "2", "0,1", "0,2", "1,2"})
      expect_right(type, fmt::format("  %a = sin(%x)\n  %s = sum(%a; dim=[{0}])\n"
                                     "  %b = sum(%x; dim=[0])\n"
                                     "  %d = sum(%a; dim=[1])\n  return %a, %s, %b, %d\n",
                                     dims));
  for (const FoldParts& cut : {FoldParts{}, FoldParts{.shares_parts = true}})
    EXPECT_EQ(FoldForm::of({0, 8, 32}, {1}, cut).results, 0);
}

TEST(FoldSizes, parts_of_columns) {
  const FoldParts cut{.max_parts = 4096, .part_rows = 16, .partial_sums = 1 << 22};
  const auto parts = [&](int64_t rows, int64_t columns) {
    return FoldForm::of({rows, columns}, {0}, cut).parts;
  };
  EXPECT_EQ(parts(401408, 64), 4096);
  EXPECT_EQ(parts(6272, 2048), 392);  // of 16 rows
  EXPECT_EQ(parts(128, 2048), 8);
  EXPECT_EQ(parts(401408, 2048), 2048);
  EXPECT_EQ(parts(401408, 3000), 1398);
  EXPECT_EQ(parts(6272, 1 << 20), 4);
}

TEST(FoldSizes, parts_of_columns_that_several_images_share) {
  FoldParts cut{.max_parts = 1024, .part_rows = 16, .row_threads = 32};
  const auto parts = [&](int64_t images) {
    return FoldForm::of({images, 4096, 32, 4}, {1}, cut).parts;
  };
  EXPECT_EQ(parts(16), 256);
  cut.shares_parts = true;
  EXPECT_EQ(parts(1), 256);
  EXPECT_EQ(parts(2), 256);
  EXPECT_EQ(parts(16), 64);
  EXPECT_EQ(parts(256), 4);
  EXPECT_EQ(parts(2048), 1);
  EXPECT_EQ(FoldForm::of({4096, 128}, {0}, cut).parts, 256);
}

// Of each part of which 32 threads have as many blocks of 16 rows.
TEST(FoldSizes, parts_whose_rows_are_shared_evenly) {
  const FoldParts cut{.max_parts = 1024, .part_rows = 16, .row_threads = 32};
  const auto step = [&](int64_t rows) {
    const FoldForm form = FoldForm::of({rows, 64}, {0}, cut);
    EXPECT_GE(form.parts * form.step, rows);
    EXPECT_LT((form.parts - 1) * form.step, rows);
    return form.step;
  };
  EXPECT_EQ(step(16384), 16);
  EXPECT_EQ(step(25088), 32);    // not 25
  EXPECT_EQ(step(100352), 128);  // not 98
  EXPECT_EQ(step(401408), 512);  // not 392
  EXPECT_EQ(step(1605632), 2048);
  EXPECT_EQ(step(6272), 16);
  EXPECT_EQ(step(31), 31);  // one part
}

}  // namespace
}  // namespace cleave::random
