#include "simt/split_parts.h"

#include "loop/parse.h"
#include "test/simt/mapped.h"

namespace cleave::simt {
namespace {

// Two updates with a rate in common.
const std::string updates =
    "kernel %a(%x: f32[N] read, %y: f32[N] read, %r: f32[1] read, %a: f32[N] write, %b: f32[N] "
    "write, %c: f32[N] write) work N {\n  for p in N parallel {\n"
    "    let s = %r[0]*2.0\n    let t = %x[p]*s\n    %a[p] = t + 1.0\n    %b[p] = %y[p]*s\n"
    "    %c[p] = t*t\n  }\n}\n";

std::vector<loop::For> parts_of(const loop::Kernel& k, const BufferPairs& shared = {}) {
  return split_parts(std::get<loop::For>(k.body[0].node), k.buffers, shared);
}

std::vector<loop::For> parts_of(const std::string& text, const BufferPairs& shared = {}) {
  return parts_of(test::loops(text), shared);
}

std::vector<size_t> sizes_of(const std::vector<loop::For>& parts) {
  std::vector<size_t> out;
  for (const loop::For& part : parts) out.push_back(part.body.size());
  return out;
}
using Sizes = std::vector<size_t>;

TEST(SplitParts, of_results_without_memory_in_common) {
  const std::string text = test::with(updates, {{"N", 40}});
  EXPECT_EQ(sizes_of(parts_of(text)), (Sizes{4, 2}));  // s, t, a, c; s, b
}

TEST(SplitParts, stay_one_where_they_meet) {
  const std::string text = test::with(updates, {{"N", 40}});
  EXPECT_EQ(sizes_of(parts_of(text, {{1, 3}})), Sizes{5});  // a may lie where y does
  EXPECT_EQ(sizes_of(parts_of(text, {{2, 4}})), Sizes{5});  // b where the rate does
  EXPECT_EQ(sizes_of(parts_of(text, {{0, 3}})), (Sizes{4, 2}));
  // One element, which others may read, isn't worth it.
  EXPECT_EQ(sizes_of(parts_of(test::with(updates, {{"N", 1}}))), Sizes{5});
}

TEST(SplitParts, rows_keep_what_is_theirs) {
  const std::string text =
      "kernel %a(%x: f32[600] read, %y: f32[600] read, %r: f32[6] read, %a: f32[600] write, %b: "
      "f32[600] write) work 600 scheduled {\n"
      "  for p in 600 parallel rows 100 shared 2 by 16 tail {\n"
      "    let q = truncdiv(p, 100)\n    let s = %r[q]\n    %a[p] = %x[p]*s\n    %b[p] = "
      "%y[p]*2.0\n  }\n}\n";
  const auto parts = parts_of(value_or_throw(loop::parse_kernel(text, "t")));
  ASSERT_EQ(sizes_of(parts), (Sizes{3, 1}));
  EXPECT_EQ(parts[0].rows.shared, 2u);
  EXPECT_TRUE(parts[0].rows.length.defined());
  EXPECT_EQ(parts[1].rows.shared, 0u);
  EXPECT_FALSE(parts[1].rows.length.defined());
}

// Blocks of one launch, each of one part.
TEST(SplitParts, share_a_launch) {
  for (const int64_t n : {40, 300, 131072, 2100000}) {
    const std::string text = test::with(updates, {{"N", n}});
    const auto launches = [&](const std::optional<BufferPairs>& shared) {
      return map_threads(test::loops(text), {}, shared).phases;
    };
    const auto apart = launches(BufferPairs()), unknown = launches(std::nullopt);
    ASSERT_EQ(apart.size(), 1u);
    ASSERT_EQ(unknown.size(), 1u);
    EXPECT_GT(apart[0].blocks, unknown[0].blocks) << n;
  }
  expect_right(updates, {2, 40, 129, 1000, 40000, 131072, 131077});
}

}  // namespace
}  // namespace cleave::simt
