// Rows whose elements are read near each other, in another order: backwards, shifted, mirrored,
// repeated, resized. Vectors of them are permuted where they lie in a window, and loaded one by one
// where they don't; positions of many rows are computed once.
#include <gtest/gtest.h>

#include "test/sample/both_engines.h"

namespace cleave::test {
namespace {

void expect_equal(DType dtype, const std::vector<int64_t>& shape,
                  const std::vector<std::string>& calls) {
  std::string text =
      fmt::format("graph @main(%x: input {}[{}]) {{\n", name_of(dtype), fmt::join(shape, ","));
  std::string names;
  for (size_t k = 0; k < calls.size(); ++k) {
    text += fmt::format("  %y{} = {}\n", k, calls[k]);
    names += fmt::format("{}%y{}", k ? ", " : "", k);
  }
  by_both(text + "  return " + names + "\n}\n", {{"x", scattered(dtype, shape, 5)}},
          dtype == DType::bf16 ? 1e-2 : 2e-5);
}

TEST(NearElements, rows_of_every_size_in_other_orders) {
  for (int64_t n : {1, 7, 8, 15, 16, 17, 18, 31, 32, 33, 40, 65})
    for (DType dtype : {DType::f32, DType::i32, DType::f64, DType::bf16})
      expect_equal(dtype, {5, n},
                   {"flip(%x; dims=[1])", "flip(%x; dims=[0,1])", "slice(%x; dim=1, step=3)",
                    "repeat(%x; repeats=[1,3])", "constant_pad_nd(%x; pad=[5,-1])"});
}

TEST(NearElements, one_long_row_backwards) {
  for (int64_t n : {1000, 40001})
    for (DType dtype : {DType::f32, DType::i32, DType::bf16})
      expect_equal(dtype, {n}, {"flip(%x; dims=[0])"});
}

TEST(NearElements, resized_rows) {
  for (int64_t n : {1, 5, 16, 33}) {
    std::vector<std::string> calls;
    for (int64_t to : {1, 7, 16, 31, 70})
      for (const char* corners : {"true", "false"})
        for (int dim : {0, 1})
          for (const char* suffix : {"", "_backward"})
            calls.push_back(fmt::format("resize_linear{}(%x; dim={}, size={}, align_corners={})",
                                        suffix, dim, to, corners));
    expect_equal(DType::f32, {3, n}, calls);
  }
}

// With rows enough that they share their positions (schedule/column_tables.h), also where the last
// group has fewer of them.
TEST(NearElements, many_resized_rows) {
  for (int64_t rows : {1024, 1031})
    for (DType dtype : {DType::f32, DType::bf16}) {
      std::vector<std::string> calls;
      for (int64_t to : {11, 40, 67})
        for (const char* suffix : {"", "_backward"})
          calls.push_back(
              fmt::format("resize_linear{}(%x; dim=1, size={}, align_corners=false)", suffix, to));
      expect_equal(dtype, {rows, 20}, calls);
    }
}

TEST(NearElements, images) {
  for (const char* calls :
       {"upsample_nearest2d(%x; output_size=[10,34])", "upsample_nearest2d(%x; output_size=[3,40])",
        "upsample_bilinear2d(%x; output_size=[10,34], align_corners=false)",
        "upsample_bilinear2d(%x; output_size=[5,34], align_corners=true)",
        "upsample_bilinear2d(%x; output_size=[4,17], align_corners=false)",
        "reflection_pad2d(%x; padding=[3,4,1,2])", "replication_pad2d(%x; padding=[3,4,1,2])"})
    expect_equal(DType::f32, {2, 3, 5, 17}, {calls});
}

}  // namespace
}  // namespace cleave::test
