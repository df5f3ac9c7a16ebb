#include "inspect/loss_chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cleave {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(LossChart, ManyPointsBecomeMeansOfNeighbours) {
  std::vector<LossCurves::Point> points;
  for (int64_t k = 0; k < 1000; ++k) points.emplace_back(k, k % 2 ? 3.0 : 1.0);
  points.emplace_back(1000, std::numeric_limits<double>::quiet_NaN());
  const auto few = thinned(points, 100);
  ASSERT_EQ(few.size(), 100u);
  for (const auto& [step, loss] : few) EXPECT_EQ(loss, 2);
  EXPECT_EQ(few[0].first, 4);
  EXPECT_EQ(few[99].first, 994);
  EXPECT_EQ(thinned(points, 1000).size(), 1000u);
  EXPECT_EQ(thinned({}, 3).size(), 0u);
}

TEST(LossChart, DrawsBothCurvesAndFractionsOnTheAxis) {
  LossCurves curves{.title = "loss of gpt2"};
  for (int64_t k = 0; k <= 20; ++k)
    curves.train.emplace_back(k, 1.2 - 0.03 * static_cast<double>(k));
  curves.held_out = {{9, 1.0}, {20, 0.7}};
  const std::string svg = loss_chart(curves);
  EXPECT_EQ(count(svg, "<polyline"), 2u);
  EXPECT_EQ(count(svg, "<circle"), 3u);  // one of the legend
  for (const char* part :
       {"loss of gpt2", ">training<", ">held out<", ">step<", ">0.6<", ">1.2<", ">20<"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(LossChart, OneLossOrNoneIsAPictureToo) {
  for (const LossCurves& curves :
       {LossCurves{}, LossCurves{.train = {{7, 2.5}}}, LossCurves{.held_out = {{7, 2.5}}}}) {
    const std::string svg = loss_chart(curves);
    EXPECT_NE(svg.find("</svg>"), std::string::npos);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
  }
}

}  // namespace
}  // namespace cleave
