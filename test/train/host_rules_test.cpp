// Rewrite rules that the host program gives, by the public headers.
// tests: pass/host_rules.cpp
#include <gtest/gtest.h>

#include "cleave/cleave.h"

namespace cleave {
namespace {

const std::vector<InputSpec> input = {{"x", DType::f32, {8}}};

const char* const double_relu = R"(
graph @search(%n: symint, %x: input f32[n]) {
  %a = relu(%x)
  %y = relu(%a)
  return %y
}
graph @replace(%n: symint, %x: input f32[n]) {
  %y = relu(%x)
  return %y
}
)";

Tensor twice(const Tensor& x) { return exp(relu(relu(x))); }

TEST(HostRules, rewrite_what_is_compiled) {
  for (const RulePoint point : {RulePoint::pre_grad, RulePoint::joint, RulePoint::before_post_grad,
                                RulePoint::after_post_grad}) {
    CompileOptions options{.passes_off = {"all"}};  // of which one would leave the rule nothing
    CompiledFunction plain = compile(twice, input, options);
    options.rules.push_back({.name = "double_relu", .text = double_relu, .point = point});
    CompiledFunction rewritten = compile(twice, input, options);
    Generator rng(1);
    const HostTensor x = rng.normal({8});
    const HostTensor want = plain.run({x})[0], got = rewritten.run({x})[0];
    for (int k = 0; k < 8; ++k) EXPECT_EQ(got.data<float>()[k], want.data<float>()[k]);
    int64_t matches = 0;
    for (const CompilePass& p : rewritten.report().passes)
      if (p.name == "double_relu") matches += p.matches;
    EXPECT_EQ(matches, 1) << static_cast<int>(point);
    if (point == RulePoint::pre_grad) {
      EXPECT_EQ(rewritten.report().nodes + 1, plain.report().nodes);
    }
  }
}

std::string error(RewriteRule rule) {
  CompileOptions options;
  options.rules.push_back(std::move(rule));
  try {
    compile(twice, input, options);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::user);
    return e.what();
  }
  return "no error";
}

TEST(HostRules, that_are_none_are_refused_with_their_name) {
  EXPECT_NE(error({.name = "mine", .text = "graph @replace(%x: input f32[2]) {\n  return %x\n}\n"})
                .find("rule mine: its text holds no @search and then @replace"),
            std::string::npos);
  std::string other = double_relu;
  other.replace(other.rfind("relu(%x)"), 8, "sum(%x)");
  EXPECT_NE(error({.name = "mine", .text = other}).find("rule mine"), std::string::npos);
  EXPECT_NE(error({.name = "mine", .text = "graph"}).find("rule mine"), std::string::npos);
}

TEST(HostRules, unknown_passes_cannot_be_turned_off) {
  CompileOptions options;
  options.passes_off = {"fold_permut"};
  try {
    compile(twice, input, options);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'fold_permute'?"), std::string::npos);
  }
  options.passes_off = {"all"};
  compile(twice, input, options);
}

}  // namespace
}  // namespace cleave
