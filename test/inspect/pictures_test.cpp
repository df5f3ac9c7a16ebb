// Charts and drawings: labels don't overlap, the memory profile agrees with the plan, drawings show
// the saved values.
// tests: memory_profile.cpp trade_chart.cpp
// tests: axis.cpp cut_drawing.cpp cut_plots.cpp labels.cpp memory_chart.cpp svg.cpp
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "compile/stage_planner.h"
#include "cut/default_partition.h"
#include "inspect/axis.h"
#include "inspect/cut_drawing.h"
#include "inspect/cut_plots.h"
#include "inspect/labels.h"
#include "inspect/memory_chart.h"
#include "remat/forward_backward_peak.h"
#include "test/cut/halves.h"

namespace cleave {
namespace {

const char* const network =
    "graph @main(%x: input f32[32,64] grad, %w: param f32[64,64] grad, %v: param f32[64,8] grad) "
    "{\n"
    "  %a = mm(%x, %w)\n  %b = tanh(%a)\n  %c = mm(%b, %v)\n  %d = cos(%c)\n"
    "  %s = sum(%d; dim=[])\n  return %s\n}\n";

size_t count_of(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

// The boxes of texts of 12 pixels, from what Labels writes.
std::vector<Box> text_boxes(const std::string& svg) {
  std::vector<Box> boxes;
  for (size_t at = 0; (at = svg.find("<text x=\"", at)) != std::string::npos; ++at) {
    Box b;
    EXPECT_EQ(std::sscanf(svg.c_str() + at, "<text x=\"%lf\" y=\"%lf\"", &b.x, &b.y), 2);
    const size_t begin = svg.find('>', at) + 1;
    b.width = Svg::text_width(svg.substr(begin, svg.find('<', begin) - begin));
    b.height = Svg::text_size;
    b.y -= b.height;
    boxes.push_back(b);
  }
  return boxes;
}

RC_GTEST_PROP(Labels, never_overlap, ()) {
  Svg svg(400, 300);
  Labels labels({0, 0, 400, 300});
  const int points = *rc::gen::inRange(1, 40);
  for (int k = 0; k < points; ++k)
    labels.put(svg, {*rc::gen::inRange(0, 400), *rc::gen::inRange(0, 300)},
               std::string(static_cast<size_t>(*rc::gen::inRange(1, 12)), 'm'), "#222");
  const std::vector<Box> boxes = text_boxes(svg.finish());
  for (size_t i = 0; i < boxes.size(); ++i)
    for (size_t j = 0; j < i; ++j) RC_ASSERT(!boxes[i].overlaps(boxes[j]));
}

TEST(Axis, round_numbers_in_a_unit_that_fits) {
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(time_text(2500), "2.5 us");
  const Axis axis(Unit::bytes, 0, 3.3 * 1024 * 1024, 0, 100);
  EXPECT_EQ(axis.title("saved"), "saved, MiB");
  EXPECT_EQ(axis.high(), 3.5 * 1024 * 1024);
  EXPECT_EQ(axis.at(axis.high()), 100);
}

TEST(Svg, text_is_escaped) {
  Svg svg(10, 10);
  svg.text({0, 0}, "a<b & \"c\"");
  EXPECT_NE(svg.finish().find(">a&lt;b &amp; &quot;c&quot;</text>"), std::string::npos);
}

TEST(MemoryProfile, adds_up_to_the_planned_peak) {
  const Graph joint = test::joint_of(network);
  const Partition cut = value_or_throw(default_partition(joint));
  StagePlanner planner(test::core(), {});
  const ForwardBackwardPeak peak = value_or_throw(forward_backward_peak(joint, cut, planner));
  const MemoryProfile profile = value_or_throw(memory_profile(joint, cut, test::core(), {}));
  EXPECT_EQ(profile.planned_peak, peak.peak());
  const auto sum = [](const MemoryByKind& s) {
    int64_t n = 0;
    for (const int64_t bytes : s) n += bytes;
    return n;
  };
  int64_t forward = 0, backward = 0;
  for (size_t k = 0; k < profile.thunks.size(); ++k)
    (k < profile.forward_thunks ? forward : backward) =
        std::max(k < profile.forward_thunks ? forward : backward, sum(profile.thunks[k]));
  EXPECT_EQ(forward, profile.forward_alive);
  EXPECT_EQ(backward, profile.backward_alive);
  EXPECT_LE(forward, peak.forward);
  EXPECT_LE(backward, peak.backward);
  const MemoryByKind& first = profile.thunks[profile.forward_thunks];
  EXPECT_EQ(first[static_cast<size_t>(Kept::saved)], 32 * 64 * 4 + 32 * 8 * 4);
  EXPECT_EQ(first[static_cast<size_t>(Kept::results)], 64);
  const std::string svg = memory_chart("m", profile, peak.peak() + 1000);
  EXPECT_EQ(count_of(svg, ">budget "), 1u);
  EXPECT_EQ(count_of(svg, ">peak "), 1u);
}

TEST(MemoryChart, long_programs_keep_their_highest_steps) {
  MemoryProfile profile;
  profile.thunks.assign(20000, MemoryByKind{100, 0, 0, 0, 0, 0});
  profile.thunks[12345][static_cast<size_t>(Kept::others)] = 900;
  profile.forward_thunks = 7000;
  profile.planned_peak = 1000;
  const std::string svg = memory_chart("m", profile, std::nullopt);
  EXPECT_LT(svg.size(), 200000u);
  EXPECT_NE(svg.find(">peak 1000 B<"), std::string::npos);  // no gaps: the thunk is there
  EXPECT_NE(svg.find("forward, 7000 steps"), std::string::npos);
  EXPECT_NE(svg.find("backward, 13000 steps"), std::string::npos);
}

TEST(CutDrawing, marks_what_is_saved) {
  const Graph joint = test::joint_of(network);
  const Partition cut = value_or_throw(default_partition(joint));
  const auto svg = cut_drawing("c", cut);
  ASSERT_TRUE(svg.has_value());
  size_t values = 0;
  for (const SavedValue& s : cut.saved) values += !s.placeholder;
  EXPECT_EQ(count_of(*svg, "fill=\"#ffd8a8\""), values + 1);  // and the legend
  EXPECT_EQ(count_of(*svg, ">%"), cut.forward.node_count() + cut.backward.node_count() + 3);
}

TEST(CutDrawing, large_graphs_have_none) {
  std::string body, x = "%x";
  for (int k = 0; k < 210; ++k) {
    body += fmt::format("  %t{} = cos({})\n", k, x);
    x = fmt::format("%t{}", k);
  }
  const Graph joint =
      test::joint_of("graph @main(%x: input f32[2] grad) {\n" + body + "  return " + x + "\n}\n");
  EXPECT_FALSE(cut_drawing("c", value_or_throw(default_partition(joint))).has_value());
}

TEST(TradeLines, the_bound_is_below_all_others) {
  const Graph joint = test::joint_of(network);
  const std::vector<TradeLine> lines = value_or_throw(trade_lines(joint, {}, {}));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_TRUE(lines[0].bound);
  EXPECT_EQ(lines[2].points.size(), 21u);
  for (const Trade& bound : lines[0].points)
    for (size_t k = 1; k < lines.size(); ++k)
      for (const Trade& t : lines[k].points)
        if (t.bytes <= bound.bytes) { EXPECT_GE(t.ns, bound.ns) << lines[k].name; }
  const std::string svg = trade_chart("t", lines);
  for (const TradeLine& l : lines) EXPECT_NE(svg.find(">" + l.name + "<"), std::string::npos);
}

}  // namespace
}  // namespace cleave
