// Operands that don't lie row-major: permuted, sliced, expanded and diagonal views, read by views,
// reductions and line kernels; placeholders and results with strides of their own. The oracle knows
// no layouts; both engines must agree.
#include <gtest/gtest.h>

#include "exec/executable.h"
#include "interp/array_memory.h"
#include "test/sample/both_engines.h"

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

// ---- strides of placeholders and results

class StridedInput : public testing::TestWithParam<const char*> {};

// Of the row-major form, whatever the strides: as_strided too.
TEST_P(StridedInput, views_see_the_elements_in_row_major_order) {
  Array x(DType::f32, {2, 3, 4});
  for (int64_t k = 0; k < 24; ++k) x.set(k, GetParam()[0] == '{' ? static_cast<double>(k) : 1);
  const Type t =
      parsed(fmt::format("graph @main(%x: input f32[2,3,4]{}) {{\n  return %x\n}}\n", GetParam()))
          .type({0});
  share_memory(x, t);
  const std::string text = fmt::format(
      "graph @main(%x: input f32[2,3,4]{}) {{\n"
      "  %a = as_strided(%x; size=[3,4], stride=[7,1], storage_offset=2)\n"
      "  %b = slice(%x; dim=1, start=1)\n  %c = reshape(%x; shape=[4,6])\n"
      "  %d = permute(%x; dims=[2,0,1])\n  %e = unfold(%x; dimension=2, size=2, step=1)\n"
      "  %f = sum(%x; dim=[1])\n  return %a, %b, %c, %d, %e, %f, %x\n}}\n",
      GetParam());
  const std::string dense =
      std::string(text).replace(text.find(GetParam()), strlen(GetParam()), "");
  const Arrays got = by_both(text, {{"x", x}}, 0), want = by_both(dense, {{"x", x}}, 0);
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ(got[k].f, want[k].f) << "result " << k;
    EXPECT_EQ(got[k].i, want[k].i) << "result " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(, StridedInput,
                         testing::Values("{1,2,6}", "{12,4,1}", "{40,10,2}", "{0,4,1}", "{4,0,1}",
                                         "{1,1,1}", "{1000000,4,1}", "{2,4,12}"));

TEST(StridedPlaceholder, odd_strides_where_they_mean_nothing) {
  by_both(
      "graph @main(%x: input f32[1,3,1]{1152921504606846976,1,0}, %e: input f32[0,3]{7,9}) {\n"
      "  %y = mul(%x; other=2.0) : f32[1,3,1]{0,1,99}\n  %s = sum(%e; dim=[0])\n"
      "  %z = exp(%e) : f32[0,3]{0,0}\n  return %y, %s, %z\n}\n",
      {{"x", scattered(DType::f32, {1, 3, 1}, 1)}, {"e", Array(DType::f32, {0, 3})}}, 1e-6);
}

TEST(StridedResult, lies_by_its_strides) {
  StageOptions options;
  options.compiler = CompilerChoice::none;
  const Graph g = parsed(
      "graph @main(%x: input f32[2,3]) {\n  %y = mul(%x; other=2.0) : f32[2,3]{1,4}\n"
      "  %z = mul(%x; other=3.0)\n  return %y, %z, %y\n}\n");
  const auto program = value_or_throw(CompiledProgram::compile(g, core(), options));
  const auto run = value_or_throw(Instance::make(program, nullptr));
  std::vector<float> x = {0, 1, 2, 3, 4, 5};
  value_or_throw(run->bind(0, std::span(x)));
  value_or_throw(run->run());
  const auto* y = static_cast<const float*>(run->result(0));
  const auto* z = static_cast<const float*>(run->result(1));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(y[i + 4 * j], 2 * x[3 * i + j]);
      EXPECT_EQ(z[3 * i + j], 3 * x[3 * i + j]);
    }
}

// Updates lie in their targets' strides, whatever those of the value; by_both sees that what lies
// between the elements stays.
TEST(StridedUpdate, is_written_into_the_targets_strides) {
  const Array b = scattered(DType::f32, {2, 3}, 1), x = scattered(DType::f32, {2, 3}, 2);
  for (const char* target : {"", "{1,2}", "{5,1}", "{3,2}", "{1,7}"})
    for (const char* value : {"", "{1,2}", "{9,2}"})
      for (const char* body : {"add(%b, %x)", "add(%x; other=1.0)", "cumsum(%b; dim=0)"}) {
        const std::string text = fmt::format(
            "graph @main(%b: buffer f32[2,3]{}, %x: input f32[2,3]{{1,2}}) {{\n"
            "  %n = {} : f32[2,3]{}\n  %s = sum(%b; dim=[1])\n  return %n -> %b, %s, %n\n}}\n",
            target, body, value);
        SCOPED_TRACE(text);
        const Arrays got = by_both(text, {{"b", b}, {"x", x}}, 1e-6);
        const CompiledRun run = by_compiled(text, {{"b", b}, {"x", x}});
        EXPECT_EQ(run.memory.at("b").f, got[0].f);
      }
}

TEST(StridedUpdate, of_two_buffers_that_change_places) {
  const Array a = scattered(DType::f32, {3, 4}, 1), b = scattered(DType::f32, {3, 4}, 2);
  const std::string text =
      "graph @main(%a: buffer f32[3,4]{1,3}, %b: buffer f32[3,4]{6,1}) {\n"
      "  return %b -> %a, %a -> %b\n}\n";
  by_both(text, {{"a", a}, {"b", b}}, 0);
  const CompiledRun run = by_compiled(text, {{"a", a}, {"b", b}});
  EXPECT_EQ(run.memory.at("a").f, b.f);
  EXPECT_EQ(run.memory.at("b").f, a.f);
}

TEST(StridedPlaceholder, of_elements_that_share_a_place_and_differ_is_refused) {
  const std::string text =
      "graph @main(%x: input f32[2,3]{0,1}) {\n  %y = sin(%x)\n  return %y\n}\n";
  EXPECT_EQ(reference_error(text, {{"x", counting(DType::f32, {2, 3})}}),
            "%x: elements [0,0] and [1,0] share their memory in f32[2,3]{0,1}, but are 0 and 3; "
            "expected one value for both");
}

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
