// Operands that don't lie row-major: permuted, sliced, expanded and diagonal views, read by views,
// reductions and line kernels. The oracle knows no layouts; both engines must agree.
#include <gtest/gtest.h>

#include "test/op/both_engines.h"

namespace cleave::test {
namespace {

// Results of `calls` of %v, which the statements `view` make of %x: f32[4,5,70].
Arrays of_view(const std::string& view, const std::vector<std::string>& calls) {
  std::string text = "graph @main(%x: input f32[4,5,70]) {\n  " + view + "\n", names;
  for (size_t k = 0; k < calls.size(); ++k) {
    text += fmt::format("  %y{} = {}\n", k, calls[k]);
    names += fmt::format("{}%y{}", k ? ", " : "", k);
  }
  return by_both(text + "  return " + names + "\n}\n",
                 {{"x", scattered(DType::f32, {4, 5, 70}, 7)}}, 2e-5);
}

class StridedLayout : public testing::TestWithParam<const char*> {};

TEST_P(StridedLayout, reductions) {
  of_view(GetParam(),
          {"sum(%v; dim=[0])", "sum(%v; dim=[1])", "sum(%v; dim=[-1])", "mean(%v; dim=[0,2])",
           "sum(%v)", "amax(%v; dim=[1])", "amin(%v; dim=[0])", "prod(%v; dim=1)",
           "any(%v; dim=[2])", "argmax(%v; dim=1)", "argmin(%v)", "var(%v; dim=[0])",
           "var(%v; dim=[1,2])", "logsumexp(%v; dim=[1])", "linalg_vector_norm(%v; dim=[2])",
           "cumsum(%v; dim=0)", "cumsum(%v; dim=2)"});
}

TEST_P(StridedLayout, line_kernels) {
  of_view(
      GetParam(),
      {"_softmax(%v; dim=0, half_to_float=false)", "_softmax(%v; dim=1, half_to_float=false)",
       "_softmax(%v; dim=2, half_to_float=false)", "_log_softmax(%v; dim=1, half_to_float=false)",
       "_softmax_backward_data(%v, %v; dim=1, input_dtype=f32)",
       "_log_softmax_backward_data(%v, %v; dim=2, input_dtype=f32)"});
}

TEST_P(StridedLayout, views_and_copies) {
  of_view(GetParam(), {"view(%v; size=[-1])", "view(%v; size=[2,-1])", "unsqueeze(%v; dim=1)",
                       "permute(%v; dims=[2,0,1])", "expand(%v; size=[2,-1,-1,-1])",
                       "select(%v; dim=1, index=-1)", "slice(%v; dim=2, start=1, step=2)",
                       "diagonal(%v; dim1=2, dim2=0)", "as_strided(%v; size=[3,2], stride=[5,1])",
                       "unfold(%v; dimension=1, size=2, step=2)", "cat([%v, %v]; dim=1)",
                       "constant_pad_nd(%v; pad=[1,-1,0,2])", "flip(%v; dims=[0,2])",
                       "repeat(%v; repeats=[1,2,1])"});
}

INSTANTIATE_TEST_SUITE_P(
    , StridedLayout,
    testing::Values("%v = permute(%x; dims=[2,1,0])", "%v = permute(%x; dims=[1,0,2])",
                    "%v = slice(%x; dim=2, start=3, step=3)",
                    "%v = slice(%x; dim=1, start=1, end=3)",
                    "%u = slice(%x; dim=1, end=1)\n  %v = expand(%u; size=[-1,5,-1])"));

TEST(PermutedInput, layer_norm) {
  by_both(
      "graph @main(%x: input f32[5,3,70], %d: input f32[70,3,5], %w: input f32[3,5]) {\n"
      "  %v = permute(%x; dims=[2,1,0])\n"
      "  %y, %m, %r = native_layer_norm(%v, %w, %w; normalized_shape=[3,5], eps=1e-05)\n"
      "  %dx, %dw, %db = native_layer_norm_backward(%d, %v, %m, %r, %w, %w; "
      "normalized_shape=[3,5], output_mask=[true,true,true])\n"
      "  return %y, %m, %r, %dx, %dw, %db\n}\n",
      {{"x", scattered(DType::f32, {5, 3, 70}, 1)},
       {"d", scattered(DType::f32, {70, 3, 5}, 2)},
       {"w", scattered(DType::f32, {3, 5}, 3)}},
      1e-5);
}

}  // namespace
}  // namespace cleave::test
