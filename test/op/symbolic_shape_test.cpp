// Views, reductions and norms of tensors with symbolic sizes: what is inferred, what is refused,
// and that gradients taken before the sizes are known are those taken after.
#include <gtest/gtest.h>

#include "grad/grad.h"
#include "ir/specialize.h"
#include "test/random_inputs.h"

namespace cleave::test {
namespace {

const char* const head =
    "graph @main(%s0: symint range(2,4096), %s1: symint range(1,64), %x: input f32[s0,6] grad, "
    "%a: input f32[s0*4,s1] grad, %c: input f32[s0,s1,8] grad, %v: input f32[s1] grad) {\n";

std::string text_of(const std::string& call, int results) {
  std::string names = "%y0";
  for (int k = 1; k < results; ++k) names += fmt::format(", %y{}", k);
  return fmt::format("{}  {} = {}\n  return {}\n}}\n", head, names, call, names);
}

std::string types_of(const std::string& call, int results = 1) {
  const Graph g = parsed(text_of(call, results));
  std::string out;
  for (const Return& r : g.returns()) out += (out.empty() ? "" : " ") + g.type(r.value).text();
  return out;
}

TEST(SymbolicShape, views) {
  EXPECT_EQ(types_of("view(%x; size=[-1,3])"), "f32[s0*2,3]");
  EXPECT_EQ(types_of("view(%a; size=[s0,-1])"), "f32[s0,s1*4]");
  EXPECT_EQ(types_of("view(%a; size=[-1])"), "f32[s0*s1*4]");
  EXPECT_EQ(types_of("view(%c; size=[s0*s1,2,4])"), "f32[s0*s1,2,4]");
  EXPECT_EQ(types_of("unsqueeze(%x; dim=1)"), "f32[s0,1,6]");
  EXPECT_EQ(types_of("squeeze(%x)"), "f32[s0,6]");
  EXPECT_EQ(types_of("expand(%x; size=[s1,-1,6])"), "f32[s1,s0,6]");
  EXPECT_EQ(types_of("repeat(%x; repeats=[2,s1,1])"), "f32[2,s0*s1,6]");
  EXPECT_EQ(types_of("constant_pad_nd(%x; pad=[1,1,s1,-1])"), "f32[s0+s1-1,8]");
}

// (s0 - 8)^2 elements: intervals don't say that it isn't negative, the operand does.
TEST(SymbolicShape, a_size_that_the_operand_proves) {
  const auto viewed = [](const std::string& size) {
    const auto read = parse(
        "graph @main(%s0: symint range(1,64), %z: input f32[s0*s0-16*s0+64]) {\n"
        "  %y = view(%z; size=[" +
            size + "])\n  return %y\n}\n",
        "test", core());
    if (!read.ok()) return read.failure().message;
    return read->main.type(read->main.returns()[0].value).text();
  };
  EXPECT_EQ(viewed("1, s0*s0-16*s0+64"), "f32[1,s0*-16+s0*s0+64]");
  EXPECT_NE(viewed("s0-8, s0-8").find("C2: size s0-8 of [s0-8,s0-8] can't be proven"),
            std::string::npos);
}

TEST(SymbolicShape, parts) {
  EXPECT_EQ(types_of("select(%x; dim=0, index=-1)"), "f32[6]");
  EXPECT_EQ(types_of("slice(%x; start=1)"), "f32[s0-1,6]");
  EXPECT_EQ(types_of("slice(%x; end=-1)"), "f32[s0-1,6]");
  EXPECT_EQ(types_of("slice(%x; end=s1)"), "f32[min(s0,s1),6]");
  EXPECT_EQ(types_of("slice(%x; end=9223372036854775807, step=2)"), "f32[floordiv(s0+1,2),6]");
  EXPECT_EQ(types_of("slice(%a; start=s0, end=s0*2)"), "f32[s0,s1]");
  EXPECT_EQ(types_of("split_with_sizes(%a; split_sizes=[s0,s0*3])", 2), "f32[s0,s1] f32[s0*3,s1]");
  EXPECT_EQ(types_of("split(%a; split_size=s0*2)", 2), "f32[s0*2,s1] f32[s0*2,s1]");
  EXPECT_EQ(types_of("diagonal(%x; offset=1)"), "f32[min(5,s0)]");
  EXPECT_EQ(types_of("unfold(%x; dimension=0, size=2, step=2)"), "f32[floordiv(s0-2,2)+1,6,2]");
  EXPECT_EQ(types_of("cat([%x, %x])"), "f32[s0*2,6]");
  EXPECT_EQ(types_of("stack([%v, %v])"), "f32[2,s1]");
}

TEST(SymbolicShape, reductions) {
  EXPECT_EQ(types_of("sum(%x; dim=[0])"), "f32[6]");
  EXPECT_EQ(types_of("mean(%c; dim=[1], keepdim=true)"), "f32[s0,1,8]");
  EXPECT_EQ(types_of("amax(%x; dim=[0])"), "f32[6]");
  EXPECT_EQ(types_of("argmax(%x; dim=0)"), "i64[6]");
  EXPECT_EQ(types_of("sym_size(%x; dim=0)"), "i64[]");
  EXPECT_EQ(types_of("native_layer_norm(%c; normalized_shape=[s1,8], eps=0.1)", 3),
            "f32[s0,s1,8] f32[s0,1,1] f32[s0,1,1]");
}

std::string error_of(const std::string& call) {
  auto p = parse(text_of(call, 1), "test", core());
  if (p.ok()) return "no error";
  const std::string& m = p.failure().message;
  const size_t from = m.find(": ") + 2;
  return m.substr(from, m.find('\n') - from);
}

TEST(SymbolicShape, what_cannot_be_proven_is_refused) {
  EXPECT_EQ(
      error_of("view(%c; size=[7,-1])"),
      "view: C3: [7,-1] can't hold the s0*s1*8 elements of self: f32[s0,s1,8], which can't be "
      "proven to be as many");
  EXPECT_EQ(error_of("squeeze(%v)"),
            "squeeze: C3: dim 0 of self: f32[s1] is s1, which can't be proven to be 1 or not");
  EXPECT_EQ(
      error_of("expand(%x; size=[s1,6])"),
      "expand: C2: size s1 of [s1,6] for self: f32[s0,6], expected the size of the dim, or any "
      "where that is provably 1");
  EXPECT_EQ(error_of("slice(%x; start=s1-3)"),
            "slice: C4: start s1-3 can't be proven to be negative or not");
  EXPECT_EQ(error_of("split(%a; split_size=3)"),
            "split: C5: dim 0 of self: f32[s0*4,s1] is s0*4, expected a size that is known");
  EXPECT_EQ(
      error_of("slice_scatter(%x, %x; end=s1)"),
      "slice_scatter: C5: src and the slice of self: [s0,6] and [min(s0,s1),6], which can't be "
      "proven equal");
}

class SymbolicGradient : public testing::TestWithParam<const char*> {};

// s0 = 3, s1 = 2.
TEST_P(SymbolicGradient, is_that_of_the_static_graph) {
  const std::map<std::string, int64_t> sizes = {{"s0", 3}, {"s1", 2}};
  const Graph g = parsed(text_of(GetParam(), 1));
  const Graph before = value_or_throw(make_joint(g, core()));
  const Graph after = value_or_throw(make_joint(value_or_throw(specialize(g, sizes)), core()));
  const auto inputs = random_inputs(before, sizes);
  const Arrays got = value_or_throw(interpret(before, inputs));
  const Arrays want = value_or_throw(interpret(after, inputs));
  ASSERT_EQ(got.size(), want.size());
  double largest = 0;
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ(mismatch(got[k], want[k], 1e-12), "") << "return " << k;
    for (double x : want[k].f) largest = k == 0 ? 0 : std::max(largest, std::fabs(x));
  }
  EXPECT_GT(largest, 0) << "no gradient at all";
}

INSTANTIATE_TEST_SUITE_P(
    , SymbolicGradient,
    testing::Values("view(%a; size=[s0,-1])", "squeeze(%x)", "expand(%x; size=[s1,-1,6])",
                    "repeat(%x; repeats=[2,s1,1])", "select(%x; dim=0, index=-1)",
                    "slice(%x; start=1, end=-1)", "slice(%x; start=1, step=2)",
                    "diagonal(%x; offset=1)", "diagonal(%x; offset=-1)", "cat([%x, %x])",
                    "unfold(%x; dimension=0, size=2, step=1)",
                    "unfold(%x; dimension=0, size=2, step=2)",
                    "constant_pad_nd(%x; pad=[1,-1,s1,-1])", "flip(%x; dims=[0])",
                    "split(%a; split_size=s0*4)", "sum(%c; dim=[1])", "mean(%c; dim=[0,1])",
                    "prod(%x; dim=0)", "amax(%c; dim=[1])", "var(%c; dim=[0,1], correction=0)",
                    "linalg_vector_norm(%c; dim=[1])", "logsumexp(%c; dim=[0])",
                    "cumsum(%c; dim=1)", "_softmax(%c; dim=1, half_to_float=false)",
                    "_log_softmax(%c; dim=0, half_to_float=false)"));

}  // namespace
}  // namespace cleave::test
