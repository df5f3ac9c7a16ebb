// Any graph as a picture.
// tests: graph_drawing.cpp layered_drawing.cpp
#include "inspect/graph_drawing.h"

#include <gtest/gtest.h>

#include "inspect/svg.h"
#include "ir/text.h"
#include "op/registry.h"
#include "test/sample/random_graph.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

Graph drawn_graph() {
  return value_or_throw(parse(R"(
graph @main(%x: input f32[32,64], %w: param f32[64,64], %unread: input f32[3]) {
  %a = mm(%x, %w)   # model.cpp:7
  %v, %i = max(%a; dim=1)
  %b = tanh(%v)
  return %b, %i
})",
                              "g.clv", test::core()))
      .main;
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

TEST(GraphDrawing, has_a_box_for_each_call_and_each_placeholder_that_is_read) {
  const std::string svg = graph_svg(drawn_graph());
  EXPECT_EQ(occurrences(svg, "<rect "), 6U);  // one is the paper
  EXPECT_EQ(occurrences(svg, "<path "), 4U);
  for (const char* text :
       {"%a<", "mm<", "f32[32,64]<", "model.cpp:7<", "param<", "@main: 3 calls<"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  EXPECT_EQ(svg.find("unread"), std::string::npos);
  const std::string plain = graph_svg(drawn_graph(), {.types = false, .sources = false});
  EXPECT_EQ(plain.find("f32["), std::string::npos);
  EXPECT_EQ(plain.find("model.cpp"), std::string::npos);
}

TEST(GraphDrawing, is_a_text_for_graphviz) {
  EXPECT_EQ(graph_dot(drawn_graph(), {.types = false}), R"(digraph "main" {
  node [shape=box, fontsize=10];
  "x" [label="%x\ninput"];
  "w" [label="%w\nparam"];
  "a" [label="%a\nmm\nmodel.cpp:7"];
  "x" -> "a";
  "w" -> "a";
  "v" [label="%v\nmax"];
  "a" -> "v";
  "b" [label="%b\ntanh", peripheries=2];
  "v" -> "b";
}
)");
}

TEST(GraphDrawing, marks_the_calls_that_another_graph_does_not_have) {
  const Graph before = drawn_graph();
  const Graph after = value_or_throw(parse(R"(
graph @main(%x: input f32[32,64], %w: param f32[64,64], %unread: input f32[3]) {
  %a = mm(%x, %w)   # model.cpp:7
  %v, %i = max(%a; dim=0)
  %n = neg(%v)
  %b = tanh(%n)
  return %b, %i
})",
                                           "g.clv", test::core()))
                          .main;
  EXPECT_EQ(changed_calls(before, before), std::set<std::string>());
  EXPECT_EQ(changed_calls(before, after), (std::set<std::string>{"v", "b"}));
  const std::set<std::string> changed = changed_calls(after, before);
  EXPECT_EQ(changed, (std::set<std::string>{"v", "n", "b"}));
  const std::string svg =
      graph_svg(after, {.results = false, .marked = changed, .mark = "#123456"});
  EXPECT_EQ(occurrences(svg, "fill=\"#123456\""), 3U);
  EXPECT_EQ(occurrences(svg, "#d3f9d8"), 0U);
  EXPECT_EQ(occurrences(graph_dot(after, {.marked = changed}), "style=filled"), 3U);
  EXPECT_NE(graph_svg(after, {.title = "after <it>"}).find(">after &lt;it&gt;<"),
            std::string::npos);
}

// The boxes of one row don't overlap, nor those of another.
TEST(GraphDrawing, boxes_never_overlap) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Graph g = value_or_throw(random::random_graph(test::core(), seed, {})).g;
    const std::string svg = graph_svg(g);
    std::vector<Box> boxes;
    for (size_t at = 0; (at = svg.find("<rect x=\"", at)) != std::string::npos; ++at) {
      Box b;
      ASSERT_EQ(
          std::sscanf(svg.c_str() + at, "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"",
                      &b.x, &b.y, &b.width, &b.height),
          4);
      boxes.push_back(b);
    }
    EXPECT_GE(boxes.size(), g.node_count());
    for (size_t i = 0; i < boxes.size(); ++i)
      for (size_t j = 0; j < i; ++j) EXPECT_FALSE(boxes[i].overlaps(boxes[j])) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cleave
