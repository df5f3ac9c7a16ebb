// Dims that are iterated over as one.
#include "lower/collapse.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(Collapse, DenseOperandsBecomeOneDim) {
  StridedDims d{{2, 16, 64}, {{1024, 64, 1}, {1024, 64, 1}}};
  collapse(d);
  EXPECT_EQ(d.shape, (std::vector<int64_t>{2048}));
  EXPECT_EQ(d.strides, (std::vector<std::vector<int64_t>>{{1}, {1}}));
}

TEST(Collapse, BroadcastDimsStayApartFromOthers) {
  StridedDims d{{2, 16, 64}, {{1024, 64, 1}, {0, 64, 1}}};
  collapse(d);
  EXPECT_EQ(d.shape, (std::vector<int64_t>{2, 1024}));
  EXPECT_EQ(d.strides[1], (std::vector<int64_t>{0, 1}));
}

TEST(Collapse, DimsOfOneGo) {
  StridedDims d{{1, 5, 1}, {{7, 1, 99}}};
  collapse(d);
  EXPECT_EQ(d.shape, (std::vector<int64_t>{5}));
  StridedDims all{{1, 1}, {{1, 1}}};
  collapse(all);
  EXPECT_TRUE(all.shape.empty());
}

TEST(Collapse, PermutedDimsStay) {
  StridedDims d{{4, 3}, {{1, 4}}};
  collapse(d);
  EXPECT_EQ(d.shape, (std::vector<int64_t>{4, 3}));
}

}  // namespace
}  // namespace cleave
