// Functions by spec: which specs share one, and the order of the operands' pointers.
#include "runtime/library.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "run/run_context.h"
#include "test/runtime/gemm_kernels.h"

namespace cleave::runtime {
namespace {

std::vector<float> called(const LibraryFunction& f, std::vector<const void*> in, size_t result,
                          size_t elements) {
  std::vector<float> out(elements, -1);
  void* at[max_library_operands] = {};
  for (size_t k = 0; k < in.size(); ++k) at[k] = const_cast<void*>(in[k]);
  at[result] = out.data();
  f.call(at, test::make_scratch(f.scratch_bytes()).get(), {*make_thread_pool(1)});
  return out;
}

TEST(Library, EqualSpecsShareOneFunction) {
  LibraryCache cache(Target::here());
  const GemmSpec product{.m = 4, .n = 5, .k = 6, .a_row = 6, .b_row = 5};
  GemmSpec other = product;
  other.b_row = 1;
  other.b_col = 6;
  const ConvolutionSpec convolution{.large = {1, 4, 4}, .small = {1, 4, 4}};
  const auto first = value_or_throw(cache.get(product));
  EXPECT_EQ(first, value_or_throw(cache.get(product)));
  EXPECT_NE(first, value_or_throw(cache.get(other)));
  EXPECT_EQ(value_or_throw(cache.get(convolution)), value_or_throw(cache.get(convolution)));
  EXPECT_EQ(cache.size(), 3u);
}

// A spec with a NaN compares as neither less nor greater than others, but must not share a
// function.
TEST(Library, AFactorThatIsNanIsItsOwn) {
  LibraryCache cache(Target::here());
  const std::vector<float> a = {2}, b = {3};
  const auto at = [&](double alpha) {
    const auto f = value_or_throw(cache.get(GemmSpec{.m = 1, .n = 1, .k = 1, .alpha = alpha}));
    return called(*f, {a.data(), b.data()}, GemmOperand::c, 1)[0];
  };
  EXPECT_EQ(at(1), 6);
  EXPECT_TRUE(std::isnan(at(std::nan(""))));
  EXPECT_EQ(at(2), 12);
}

TEST(Library, PointersOfAProduct) {
  const GemmSpec spec{.m = 1, .n = 2, .k = 2, .a_row = 2, .b_row = 2, .has_c_in = true, .beta = 10};
  const auto f = value_or_throw(make_library_function(spec, Target::here()));
  const std::vector<float> a = {1, 2}, b = {1, 2, 3, 4}, c_in = {1, 2};
  EXPECT_EQ(called(*f, {a.data(), b.data(), c_in.data()}, GemmOperand::c, 2),
            (std::vector<float>{17, 30}));
}

TEST(Library, PointersOfAConvolution) {
  const ConvolutionSpec spec{
      .large = {1, 1, 3}, .small = {1, 1, 2}, .kernel = {1, 1, 2}, .has_bias = true};
  const auto f = value_or_throw(make_library_function(spec, Target::here()));
  const std::vector<float> image = {1, 2, 3}, weight = {1, 10}, bias = {100};
  EXPECT_EQ(called(*f, {image.data(), weight.data(), bias.data()}, ConvolutionOperand::out, 2),
            (std::vector<float>{121, 132}));
}

// With one key each row of the result is its value, whose gradient is the sum of the rows'
// gradients.
TEST(Library, PointersOfAnAttention) {
  const HeadStrides lines{2, 2, 1, 1};
  AttentionSpec spec{.rows = 2,
                     .columns = 1,
                     .width = 1,
                     .value_width = 1,
                     .query = lines,
                     .key = lines,
                     .value = lines,
                     .out = lines,
                     .sum_rows = 2};
  const std::vector<float> query = {2, 3}, key = {5}, value = {7}, dout = {1, 10};
  std::vector<float> sums(2);
  std::vector<const void*> at(max_library_operands);
  at[AttentionOperand::query] = query.data();
  at[AttentionOperand::key] = key.data();
  at[AttentionOperand::value] = value.data();
  at[AttentionOperand::logsumexp] = sums.data();
  const auto forward = value_or_throw(make_library_function(spec, Target::here()));
  const std::vector<float> out = called(*forward, at, AttentionOperand::out, 2);
  EXPECT_EQ(out, (std::vector<float>{7, 7}));
  EXPECT_EQ(sums, (std::vector<float>{10, 15}));

  const AttentionBackwardSpec gradients{
      .forward = spec, .dout = lines, .dvalue = lines, .wants_dquery = false, .wants_dkey = false};
  at[AttentionOperand::out] = out.data();
  at[AttentionOperand::dout] = dout.data();
  const auto backward = value_or_throw(make_library_function(gradients, Target::here()));
  EXPECT_EQ(called(*backward, at, AttentionOperand::dvalue, 1), (std::vector<float>{11}));
}

}  // namespace
}  // namespace cleave::runtime
