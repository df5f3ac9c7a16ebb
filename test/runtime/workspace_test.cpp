// The scratch of calls counts in the planned peak: for a small call, which runs on one thread, it
// is about the size of its operands and results, for every target.
#include <gtest/gtest.h>

#include "runtime/attention.h"
#include "runtime/convolution.h"
#include "runtime/gemm.h"
#include "runtime/gemm_block.h"
#include "runtime/lane_count.h"
#include "test/targets.h"

namespace cleave::runtime {
namespace {

using cleave::test::targets_here;

// Scratch has at least a tile of packed numbers, however small the operands are.
void expect_bounded(int64_t scratch, int64_t floats, int64_t tile, const char* what) {
  EXPECT_LE(scratch, floats * 4 + tile) << what;
}
int64_t product_tile(const Target& target) {
  const GemmBlockKernel kernel = gemm_block_kernel(DType::f32, target.set);
  return kernel.scratch_bytes(kernel.mr, kernel.nr, kernel.max_kc);
}

TEST(Workspace, lanes_by_work) {
  EXPECT_EQ(lanes_for(0, 0), 0);
  EXPECT_EQ(lanes_for(0, 5), 1);
  EXPECT_EQ(lanes_for(6 * waking_cycles, 5), 2);
  EXPECT_EQ(lanes_for(1e12, 5), 5);
  EXPECT_EQ(lanes_for(1e12, 100), max_lanes);
}

TEST(Workspace, of_small_products) {
  for (const Target& target : targets_here())
    for (const int64_t batch : {1, 16})
      for (const int64_t m : {1, 4, 16, 64})
        for (const int64_t n : {1, 8, 33, 64})
          for (const int64_t k : {1, 16, 64}) {
            SCOPED_TRACE(fmt::format("{}: {} of [{}, {}, {}]", target.text(), batch, m, n, k));
            const auto gemm = value_or_throw(Gemm::make(
                {.batch = batch, .m = m, .n = n, .k = k, .a_row = k, .b_row = n}, target));
            expect_bounded(gemm->scratch_bytes(), batch * (m * k + k * n + m * n), 16 << 10,
                           "product");
          }
}

TEST(Workspace, of_small_attentions) {
  // Weights and their gradients, of 32 keys and 64 queries, beside packed queries and keys.
  constexpr int64_t score_tile = 2 * 32 * 64 * 4 * 2;
  for (const Target& target : targets_here())
    for (const int64_t heads : {1, 2, 16, 64})
      for (const int64_t rows : {4, 16, 32})
        for (const int64_t width : {4, 16}) {
          SCOPED_TRACE(fmt::format("{}: {} of [{}, {}]", target.text(), heads, rows, width));
          const HeadStrides at{heads * rows * width, rows * width, width, 1};
          AttentionBackwardSpec s{.dout = at, .dquery = at, .dkey = at, .dvalue = at};
          s.forward = {.heads = heads,
                       .rows = rows,
                       .columns = rows,
                       .width = width,
                       .value_width = width,
                       .query = at,
                       .key = at,
                       .value = at,
                       .out = at,
                       .sum_rows = rows};
          const int64_t floats = heads * rows * width;
          expect_bounded(value_or_throw(Attention::make(s.forward, target))->scratch_bytes(),
                         8 * floats, score_tile, "forward");
          expect_bounded(value_or_throw(AttentionGradient::make(s, target))->scratch_bytes(),
                         16 * floats, score_tile, "backward");
        }
}

TEST(Workspace, of_small_convolutions) {
  for (const Target& target : targets_here())
    for (const ConvolutionProduct product :
         {ConvolutionProduct::to_small, ConvolutionProduct::to_large,
          ConvolutionProduct::to_weight})
      for (const int64_t images : {1, 4})
        for (const int64_t channels : {1, 4})
          for (const int64_t size : {6, 12}) {
            SCOPED_TRACE(fmt::format("{}: product {} of [{}, {}, {}]", target.text(),
                                     static_cast<int>(product), images, channels, size));
            const ConvolutionSpec s{.product = product,
                                    .images = images,
                                    .large_channels = channels,
                                    .small_channels = 2 * channels,
                                    .large = {1, size, size},
                                    .small = {1, size, size},
                                    .kernel = {1, 3, 3},
                                    .padding = {0, 1, 1}};
            const int64_t floats = 3 * images * channels * size * size + 18 * channels * channels;
            expect_bounded(value_or_throw(Convolution::make(s, target))->scratch_bytes(),
                           2 * floats, product_tile(target), "convolution");
          }
}

}  // namespace
}  // namespace cleave::runtime
