// Types of products, indexing and attention with symbolic sizes, and symbolic graphs run by the
// oracle: their decompositions and gradients hold for sizes that are not known.
#include <gtest/gtest.h>

#include "grad/grad.h"
#include "ir/text.h"
#include "test/random_inputs.h"
#include "test/sample/both_engines.h"

namespace cleave::test {
namespace {

constexpr const char* header =
    "graph @main(%s0: symint range(2,64) hint(8), %s1: symint range(1,9), %x: input f32[s0,4], "
    "%w: input f32[4,s1], %b: input f32[s1], %i: input i64[s1], %j: input i64[s0,s1], "
    "%k: input i64[s1,1], %q: input f32[s0,s1,4], %v: input f32[s0,s1,6], %l: input f32[s0,s1], "
    "%t: input i64[s0], %h: input f32[s0,s1,3,4], %g: input f32[s0,2,s1,4]) {\n  ";

// The type of the first result of `call`, or the message of its failure.
std::string type_of(const std::string& call, const std::string& results = "%r") {
  const std::string text = header + (results + " = " + call) + "\n  return %r\n}\n";
  auto program = parse(text, "test", core());
  if (!program.ok()) return program.failure().message;
  return program->main.type(program->main.find("r")).text();
}

void expect_refused(const std::string& call, const std::string& message) {
  const std::string got = type_of(call);
  EXPECT_NE(got.find(message), std::string::npos) << got;
}

TEST(SymbolicTypes, Products) {
  EXPECT_EQ(type_of("mm(%x, %w)"), "f32[s0,s1]");
  EXPECT_EQ(type_of("addmm(%b, %x, %w)"), "f32[s0,s1]");
  expect_refused("bmm(%q, %q)", "bmm: C3: inner sizes: 4 and s1, which can't be proven equal");
}

TEST(SymbolicTypes, Indexing) {
  EXPECT_EQ(type_of("embedding(%x, %j)"), "f32[s0,s1,4]");
  EXPECT_EQ(type_of("embedding_dense_backward(%q, %j; num_weights=s0*2, padding_idx=-1, "
                    "scale_grad_by_freq=false)"),
            "f32[s0*2,4]");
  EXPECT_EQ(type_of("gather(%l, %j; dim=1)"), "f32[s0,s1]");
  EXPECT_EQ(type_of("index_select(%q, %i; dim=2)"), "f32[s0,s1,s1]");
  EXPECT_EQ(type_of("index(%h, [none, %i, %k])"), "f32[s0,s1,s1,4]");
  EXPECT_EQ(type_of("index(%h, [%i, none, %k])"), "f32[s1,s1,s1,4]");
  expect_refused("index_put(%h, [none, %i], %q)", "index_put: C6: shapes [s0,s1,4] and ");
  EXPECT_EQ(type_of("scatter(%l, %j, %l; dim=0)"), "f32[s0,s1]");
  EXPECT_EQ(type_of("nll_loss_forward(%l, %t; reduction=0, ignore_index=-100)", "%r, %total"),
            "f32[s0]");
}

TEST(SymbolicTypes, SizesThatMayBeTooLarge) {
  expect_refused("gather(%x, %j; dim=0)",
                 "gather: C4: dim 1 of index is s1, expected at most 4, that of self");
}

TEST(SymbolicTypes, Attention) {
  EXPECT_EQ(type_of("scaled_dot_product_attention(%q, %q, %v; is_causal=true)"), "f32[s0,s1,6]");
  EXPECT_EQ(type_of("scaled_dot_product_attention(%h, %h, %h)"), "f32[s0,s1,3,4]");
  EXPECT_EQ(type_of("scaled_dot_product_attention(%g, %g, %g, none; enable_gqa=true)"),
            "f32[s0,2,s1,4]");
}

// The gradient graph of symbolic sizes, at two sizes, against that of fixed ones.
void expect_same_gradient(const std::string& call, const std::string& fixed_head, int64_t s0,
                          int64_t s1) {
  const auto program = [&](const std::string& head) {
    return value_or_throw(
        make_joint(parsed(head + "  %y = " + call + "\n  return %y\n}\n"), core()));
  };
  const Graph symbolic = program(
      "graph @main(%s0: symint range(1,9), %s1: symint range(1,9), %q: input f32[s0,2,s1,4] grad, "
      "%k: input f32[s0,1,s1,4] grad, %i: input i64[s1]) {\n");
  const Graph fixed = program(fixed_head);
  const auto inputs = random_inputs(fixed);
  const Arrays got = value_or_throw(interpret(symbolic, inputs));
  const Arrays want = value_or_throw(interpret(fixed, inputs));
  ASSERT_EQ(got.size(), want.size());
  for (size_t r = 0; r < want.size(); ++r) {
    EXPECT_EQ(got[r].shape, want[r].shape) << call << " at " << s0 << "," << s1;
    EXPECT_EQ(got[r].f, want[r].f) << call << " at " << s0 << "," << s1;
  }
}

TEST(SymbolicGradients, are_those_of_fixed_sizes) {
  for (const std::string call :
       {"scaled_dot_product_attention(%q, %k, %k; is_causal=true, enable_gqa=true)",
        "scaled_dot_product_attention(%q, %k, %k)", "index(%q, [none, none, none, %i])",
        "index_select(%k, %i; dim=3)"})
    for (const auto& [s0, s1] : {std::pair<int64_t, int64_t>{2, 3}, {1, 1}, {3, 2}})
      expect_same_gradient(
          call,
          fmt::format("graph @main(%q: input f32[{0},2,{1},4] grad, %k: input f32[{0},1,{1},4] "
                      "grad, %i: input i64[{1}]) {{\n",
                      s0, s1),
          s0, s1);
}

}  // namespace
}  // namespace cleave::test
