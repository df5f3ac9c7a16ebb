// Operators that are replaced by simpler ones.
#include "cleave/decompositions.h"

#include <gtest/gtest.h>

#include <set>

#include "cleave/cleave.h"
#include "test/compilers/ramp.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;
using test::ramp;

std::set<std::string> ops_of(const TracedGraph& g) {
  std::set<std::string> out;
  for (const GraphCall& call : g.calls()) out.insert(call.op);
  return out;
}

const char* const activations = R"(
graph @main(%x: input f32[4,5] grad) {
  %a = elu(%x; alpha=0.5)
  %b = hardtanh(%a)
  %c = leaky_relu(%b)
  %d = hardswish(%c)
  %e = hardsigmoid(%d)
  %f = gelu(%e)
  %g = silu(%f)
  %h = detach(%x)
  %i = conj_physical(%h)
  %s = is_same_size(%g, %i)
  %j = masked_fill(%g, %s; value=2.0)
  %y = mul(%g, %i)
  return %y, %j
})";

TEST(Decompositions, defaults_leave_none_of_theirs_in_both_halves) {
  const Decompositions defaults = Decompositions::defaults();
  EXPECT_EQ(defaults.operators().size(), 21U);
  AotFunction plain = aot_function(TracedGraph::parse(activations));
  AotFunction simple = aot_function(TracedGraph::parse(activations), {.decompositions = defaults});
  std::set<std::string> before = ops_of(plain.joint_graph()), after = ops_of(simple.joint_graph());
  for (const char* name : {"hardswish_backward", "hardsigmoid_backward", "gelu_backward",
                           "silu_backward", "detach", "is_same_size"})
    EXPECT_TRUE(before.contains(name)) << name;
  for (const std::string& name : defaults.operators()) EXPECT_FALSE(after.contains(name)) << name;
  EXPECT_TRUE(after.contains("gelu"));  // forward operators that aren't among them stay
  const HostTensor x = ramp({4, 5}), dy = ramp({4, 5}, 1), dj = ramp({4, 5}, 0);
  const HostTensors want = plain.forward({x}), got = simple.forward({x});
  const HostTensor dx = plain.backward({dy, dj}).inputs[0],
                   same = simple.backward({dy, dj}).inputs[0];
  for (int64_t k = 0; k < 20; ++k) {
    EXPECT_NEAR(got[0].number(k), want[0].number(k), 1e-6);
    EXPECT_NEAR(got[1].number(k), want[1].number(k), 1e-6);
    EXPECT_NEAR(same.number(k), dx.number(k), 1e-6);
  }
}

TEST(Decompositions, no_gradient_flows_through_detach_that_is_decomposed) {
  AotFunction f = aot_function(TracedGraph::parse(R"(
graph @main(%x: input f32[3] grad) {
  %d = detach(%x)
  %y = mul(%x, %d)
  return %y
})"),
                               {.decompositions = Decompositions::defaults()});
  f.forward({HostTensor::from<float>({1, 2, 3})});
  EXPECT_EQ(f.backward({HostTensor::from<float>({1, 1, 1})}).inputs[0].to_vector<float>(),
            (std::vector<float>{1, 2, 3}));
}

TEST(Decompositions, may_be_chosen) {
  const TracedGraph g = TracedGraph::parse(activations);
  EXPECT_TRUE(ops_of(Decompositions::none().apply(g)) == ops_of(g));
  const auto some = Decompositions().with({"gelu", "silu", "elu"}).without({"silu"});
  EXPECT_EQ(some.operators(), (std::vector<std::string>{"gelu", "elu"}));
  const std::set<std::string> left = ops_of(some.apply(g));
  EXPECT_FALSE(left.contains("gelu"));
  EXPECT_TRUE(left.contains("silu"));
  EXPECT_TRUE(left.contains("hardtanh"));
}

TEST(Decompositions, select_is_what_lowering_would_do) {
  const TracedGraph g = TracedGraph::parse(R"(
graph @main(%x: input f32[4,5], %w: input f32[5]) {
  %y, %m, %r = native_layer_norm(%x, %w, none; normalized_shape=[5], eps=1e-5)
  %b, %c, %d, %e = cudnn_batch_norm(%y, %w, none, none, none; training=true, )"
                                           R"(exponential_average_factor=0.1, epsilon=1e-5)
  return %b
})");
  EXPECT_FALSE(ops_of(Decompositions::select().apply(g)).contains("cudnn_batch_norm"));
}

TEST(Decompositions, a_rule_of_the_host_program_is_one_of_them) {
  const RewriteRule rule{.name = "square", .text = R"(
    graph @search(%n: symint, %x: input f32[n]) {
      %y = mul(%x, %x)
      return %y
    }
    graph @replace(%n: symint, %x: input f32[n]) {
      %y = pow(%x; exponent=2.0)
      return %y
    })"};
  const TracedGraph g =
      TracedGraph::parse("graph @main(%x: input f32[3]) {\n  %y = mul(%x, %x)\n  return %y\n}");
  const Decompositions with = Decompositions().with_rule(rule);
  EXPECT_EQ(ops_of(with.apply(g)), (std::set<std::string>{"pow"}));
  EXPECT_EQ(ops_of(with.without({"square"}).apply(g)), (std::set<std::string>{"mul"}));
}

TEST(Decompositions, what_is_not_there_is_an_error) {
  EXPECT_EQ(message([] { Decompositions().with({"gellu"}); }),
            "Decompositions: there is no operator `gellu`; did you mean `gelu`?");
  EXPECT_EQ(message([] { Decompositions().with({"mul"}); }).substr(0, 47),
            "Decompositions: `mul` has no decomposition: pri");
  EXPECT_EQ(message([] { Decompositions::defaults().without({"mul"}); }),
            "Decompositions: `mul` is not among them");
}

TEST(Decompositions, memory_efficient_fusion_and_nnc_jit_train) {
  for (AotOptions options : {memory_efficient_fusion(), nnc_jit()}) {
    options.wants_grad = {"x"};
    AotFunction f = aot_function([](const Tensor& x) { return gelu(x) * elu(x); },
                                 {{"x", DType::f32, {4, 5}}}, options);
    AotFunction plain = aot_function([](const Tensor& x) { return gelu(x) * elu(x); },
                                     {{"x", DType::f32, {4, 5}}}, {.wants_grad = {"x"}});
    const HostTensor x = ramp({4, 5}), dy = ramp({4, 5}, 1);
    EXPECT_NEAR(f.forward({x})[0].number(7), plain.forward({x})[0].number(7), 1e-6);
    const HostTensor got = f.backward({dy}).inputs[0], want = plain.backward({dy}).inputs[0];
    for (int64_t k = 0; k < 20; ++k) EXPECT_NEAR(got.number(k), want.number(k), 1e-5);
  }
}

}  // namespace
}  // namespace cleave
