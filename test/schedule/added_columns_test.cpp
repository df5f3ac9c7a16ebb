// Parts of columns that are added up in narrow blocks, as on a GPU: the same bits as in wide ones.
// tests: part_sums.cpp lane_block.cpp
#include <gtest/gtest.h>

#include "compile/stages.h"
#include "test/sample/both_engines.h"
#include "test/sample/check_threads.h"

namespace cleave::test {
namespace {

const std::string text =
    "graph @main(%x: input f32[600,R], %g: input f32[600,R]) {\n"
    "  %a = mul(%x, %g)\n  %s = sum(%a; dim=[0], keepdim=false)\n"
    "  %m = amax(%x; dim=[0], keepdim=false)\n  return %s, %m\n}\n";

TEST(AddedColumns, in_blocks_of_any_width) {
  for (const int64_t columns : {16, 60, 70, 128, 200}) {
    std::string at = text;
    for (size_t k; (k = at.find('R')) != at.npos;) at.replace(k, 1, std::to_string(columns));
    const Inputs in = {{"x", scattered(DType::f32, {600, columns}, 1)},
                       {"g", scattered(DType::f32, {600, columns}, 2)}};
    const LowerChoices wide{.cut = {.max_parts = 9, .part_rows = 16}};
    LowerChoices narrow = wide;
    narrow.loops.added_columns = 8;
    const Arrays want = by_choices(at, in, wide).results, got = by_choices(at, in, narrow).results;
    ASSERT_EQ(got.size(), 2u);
    for (size_t k = 0; k < 2; ++k) EXPECT_EQ(got[k].f, want[k].f) << columns;
    StageOptions options;
    options.compiler = CompilerChoice::none;
    const auto kernels = value_or_throw(scheduled_kernels(
        parsed(at), core(), options, backend_with_choices(narrow, CompilerChoice::none)));
    EXPECT_EQ(random::check_threads(kernels, 3).wrong, "") << columns;
    ASSERT_FALSE(kernels.empty());
    const std::string loops = loop::print(kernels[0]);
    EXPECT_NE(loops.find(columns % 8 == 0 ? " in 8 lanes" : ", 8) lanes"), std::string::npos)
        << loops;
  }
}

}  // namespace
}  // namespace cleave::test
