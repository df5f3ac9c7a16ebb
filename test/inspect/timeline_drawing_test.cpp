// A timeline as a picture: rows by thread and depth, names where they fit, and the window.
#include "inspect/timeline_drawing.h"

#include <gtest/gtest.h>

#include "inspect/svg.h"
#include "test/inspect/times_in.h"

namespace cleave {
namespace {

using test::times_in;

std::vector<Timeline::Span> two_threads() {
  return {{"build", "stage", 0, 0, 0, 5000},
          {"run", "run", 0, 0, 10'000, 20'000},
          {"%h", "kernel", 0, 0, 10'500, 15'000},
          {"%h", "pieces", 0, 3, 10'600, 14'000},
          {"%a.long.name.that.hardly.fits.into.any.bar", "product", 0, 0, 15'000, 15'900},
          {"%h", "pieces", 1, 5, 10'700, 14'900}};
}

TEST(TimelineDrawing, has_a_bar_for_each_span_of_the_window) {
  const std::string svg = timeline_drawing("a run", two_threads(), 10'000, 20'000);
  // The bars, the paper, and the colours of kernel, pieces, product and run.
  EXPECT_EQ(times_in(svg, "<rect "), 5U + 1U + 4U);
  for (const char* text : {">a run<", ">thread 0<", ">thread 1<", ">%h<", ">3 pieces<",
                           ">5 pieces<", ">0 ns<", ">10 us<"})
    EXPECT_EQ(times_in(svg, text), 1U) << text;
  EXPECT_EQ(times_in(svg, ">run<"), 2U);  // its bar, its colour
  EXPECT_EQ(times_in(svg, "build"), 0U);
  EXPECT_EQ(times_in(svg, ">%a.long.n..<"), 1U);  // shortened
  EXPECT_EQ(times_in(svg, "any.bar"), 0U);
  EXPECT_EQ(timeline_drawing("none", two_threads(), 30'000, 40'000), "");
  EXPECT_EQ(timeline_drawing("none", {}, 0, 10), "");
}

TEST(TimelineDrawing, rows_are_by_depth_and_bars_of_one_row_do_not_overlap) {
  const std::string svg = timeline_drawing("a run", two_threads(), 10'000, 20'000);
  std::vector<Box> bars;
  for (size_t at = 0; (at = svg.find("<rect x=\"", at)) != std::string::npos; ++at) {
    Box b;
    ASSERT_EQ(
        std::sscanf(svg.c_str() + at, "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"",
                    &b.x, &b.y, &b.width, &b.height),
        4);
    if (b.y > 40) bars.push_back(b);  // the others are of the legend
  }
  ASSERT_EQ(bars.size(), 5U);
  for (size_t i = 0; i < bars.size(); ++i)
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(bars[i].overlaps(bars[j])) << i << " " << j;
  EXPECT_LT(bars[0].y, bars[1].y);
  EXPECT_LT(bars[1].y, bars[2].y);
  EXPECT_EQ(bars[1].y, bars[3].y);  // both are steps of the run
  EXPECT_NEAR(bars[1].width / bars[0].width, 0.45, 0.001);
}

TEST(TimelineDrawing, parts_are_the_compilation_and_the_last_run) {
  std::vector<Timeline::Span> spans = two_threads();
  spans.insert(spans.begin() + 1, {"run", "run", 0, 0, 6000, 9000});
  const std::vector<TimelinePart> parts = parts_of(spans);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].end_ns, 5000);
  EXPECT_EQ(parts[1].begin_ns, 10'000);
  EXPECT_EQ(parts[1].end_ns, 20'000);
  EXPECT_TRUE(parts_of({}).empty());
  spans.push_back({"step 0", "step", 0, 0, 5500, 9500});
  EXPECT_EQ(parts_of(spans)[1].title, "The last step");
  EXPECT_EQ(parts_of(spans)[1].begin_ns, 5500);
}

}  // namespace
}  // namespace cleave
