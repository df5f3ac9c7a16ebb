// Passes of the host program, by the public headers.
// tests: pass/function_passes.cpp
#include <gtest/gtest.h>

#include "cleave/cleave.h"

namespace cleave {
namespace {

const std::vector<InputSpec> input = {{"x", DType::f32, {8}}};
constexpr RulePoint points[] = {RulePoint::pre_grad, RulePoint::joint, RulePoint::before_post_grad,
                                RulePoint::after_post_grad};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << text;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

Tensor f(const Tensor& x) { return exp(sin(x)); }

std::string cosine(const std::string& text) { return replaced(text, " sin(", " cos("); }
std::string same(const std::string& text) { return text; }

std::vector<CompilePass> named(const Report& report, const std::string& name) {
  std::vector<CompilePass> out;
  for (const CompilePass& p : report.passes)
    if (p.name == name) out.push_back(p);
  return out;
}

TEST(FunctionPasses, rewrite_at_each_point) {
  const HostTensor x = Generator(1).normal({8});
  const HostTensor want = compile([](const Tensor& t) { return exp(cos(t)); }, input).run({x})[0];
  for (const RulePoint point : points) {
    CompileOptions options;
    options.functions.push_back({.name = "cosine", .point = point, .function = cosine});
    options.functions.push_back({.name = "same", .point = point, .function = same});
    CompiledFunction made = compile(f, input, options);
    EXPECT_TRUE(made.run({x})[0].same_bits(want)) << static_cast<int>(point);
    const auto changed = named(made.report(), "cosine"), kept = named(made.report(), "same");
    ASSERT_EQ(changed.size(), 1U);
    EXPECT_EQ(changed[0].matches, 1);
    EXPECT_EQ(changed[0].nodes, 1);
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_EQ(kept[0].matches, 0);
    EXPECT_EQ(kept[0].nodes, 0);
  }
}

TEST(FunctionPasses, run_behind_rules_in_their_order) {
  const char* const rule = R"(
graph @search(%n: symint, %x: input f32[n]) {
  %y = sin(%x)
  return %y
}
graph @replace(%n: symint, %x: input f32[n]) {
  %y = tan(%x)
  return %y
}
)";
  CompileOptions options;
  options.rules.push_back({.name = "tangent", .text = rule});
  options.functions.push_back({.name = "first", .function = [](const std::string& text) {
                                 return replaced(text, " tan(", " tanh(");
                               }});
  options.functions.push_back({.name = "second", .function = [](const std::string& text) {
                                 return replaced(text, " tanh(", " sinh(");
                               }});
  EXPECT_NE(compile(f, input, options).graph_text().find(" sinh("), std::string::npos);
  options.passes_off = {"tangent", "first", "second"};
  CompiledFunction none = compile(f, input, options);
  EXPECT_NE(none.graph_text().find(" sin("), std::string::npos);
  for (const std::string& name : options.passes_off)
    EXPECT_TRUE(named(none.report(), name).empty()) << name;
  // All passes of cleave.
  options.passes_off = {"all"};
  EXPECT_NE(compile(f, input, options).graph_text().find(" sinh("), std::string::npos);
}

// Parameters, random numbers, buffers, watched values and updates are found again in the graph.
TEST(FunctionPasses, in_training) {
  const auto losses = [](const CompileOptions& options) {
    Generator rng(1);
    nn::Sequential model(nn::Linear(4, 8, rng), nn::BatchNorm1d(8), nn::Dropout(0.3),
                         nn::Linear(8, 1, rng));
    TrainStep step = train_step(model, [&](const Tensor& x) { return mean(model(x).named("h")); },
                                optim::AdamW({}), {{"x", DType::f32, {16, 4}}},
                                {.compile = options, .clip_norm = 1, .accumulate = 2});
    std::vector<double> out;
    for (int k = 0; k < 6; ++k) {
      out.push_back(step.run({rng.normal({16, 4})}).loss);
      if (k % 2 == 1) out.push_back(step.value("grad.h").at<float>({0, 0}));
    }
    return out;
  };
  CompileOptions options{.watch = {"h", "grad.h"}};
  const std::vector<double> want = losses(options);
  for (const RulePoint point : points)
    options.functions.push_back({.name = fmt::format("renamed_{}", static_cast<int>(point)),
                                 .point = point,
                                 .function = [](const std::string& text) {
                                   return replaced(text, "graph @", "# again\ngraph @");
                                 }});
  EXPECT_EQ(losses(options), want);
}

TEST(FunctionPasses, keep_branches_and_loops) {
  const auto branch = [](const Tensor& x) {
    return cond(sum(x) > 0.0, [&] { return sin(x); }, [&] { return exp(x); })[0];
  };
  CompileOptions options;
  options.functions.push_back({.name = "cosine", .function = cosine});
  CompiledFunction made = compile(branch, input, options);
  const HostTensor x = HostTensor::from<float>({1, 2, 3, 4, 5, 6, 7, 8});
  const HostTensor want = compile([](const Tensor& t) { return cos(t); }, input).run({x})[0];
  EXPECT_TRUE(made.run({x})[0].same_bits(want));
}

std::string error(FunctionPass pass, ErrorKind kind = ErrorKind::user,
                  const std::vector<RewriteRule>& rules = {}) {
  CompileOptions options{.rules = rules};
  options.functions.push_back(std::move(pass));
  try {
    compile(f, input, options);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    const std::string text = e.what();
    return text.substr(text.find(": compile: ") + 11);
  }
  return "no error";
}

std::string result_error(const std::string& from, const std::string& to,
                         RulePoint point = RulePoint::pre_grad) {
  return error({.name = "mine", .point = point, .function = [=](const std::string& text) {
                  return replaced(text, from, to);
                }});
}

void expect_begin(const std::string& text, const std::string& begin) {
  EXPECT_TRUE(text.starts_with(begin)) << text;
}

TEST(FunctionPasses, whose_results_are_refused) {
  expect_begin(error({.name = "mine", .function = [](const std::string&) { return "sin"; }}),
               "pass mine: its graph:1:1: ");
  expect_begin(result_error(" sin(", " sine("), "pass mine: its graph:2:");
  expect_begin(result_error("f32[8]", "f32[7]"), "pass mine: its graph:2:20: P17: ");
  expect_begin(error({.name = "mine",
                      .function =
                          [](const std::string&) {
                            return "graph @main(%x: input f32[7]) {\n  return %x\n}\n";
                          }}),
               "pass mine: placeholder 0 of its graph is %x: input f32[7], expected %x: input "
               "f32[8]");
  expect_begin(result_error("%x: input", "%x: param"),
               "pass mine: placeholder 0 of its graph is %x: param f32[8], expected %x: input "
               "f32[8]");
  expect_begin(result_error("f32[8])", "f32[8], %y: input f32[8])"),
               "pass mine: its graph has 2 placeholders, expected 1");
  expect_begin(error({.name = "mine",
                      .function =
                          [](const std::string& text) {
                            return text.substr(0, text.find("return")) + "return %x, %x\n}\n";
                          }}),
               "pass mine: its graph has 2 returns, expected 1");
  expect_begin(error({.name = "mine",
                      .function =
                          [](const std::string&) {
                            return "graph @main(%x: input f32[8]) {\n  %s = sum(%x)\n"
                                   "  return %s\n}\n";
                          }}),
               "pass mine: return 0 of its graph is a result f32[], expected a result f32[8]");
}

TEST(FunctionPasses, that_throw) {
  const auto throwing = [](auto thrown) {
    return FunctionPass{.name = "mine",
                        .function = [=](const std::string&) -> std::string { throw thrown; }};
  };
  expect_begin(error(throwing(std::runtime_error("no disk"))), "pass mine: no disk");
  expect_begin(error(throwing(Error(ErrorKind::unsupported, "too large")), ErrorKind::unsupported),
               "pass mine: too large");
  expect_begin(error(throwing(7)), "pass mine: throws no std::exception");
}

TEST(FunctionPasses, without_a_name_or_function_or_with_anothers_name) {
  const auto pass = [](const std::string& name) {
    return FunctionPass{.name = name, .function = same};
  };
  expect_begin(error(pass("")), "functions: a pass has no name");
  expect_begin(error({.name = "mine"}), "functions: mine has no function");
  expect_begin(error(pass("all")), "functions: all: another pass has this name");
  expect_begin(error(pass("fold_view")), "functions: fold_view: another pass has this name");
  const RewriteRule rule{.name = "mine"};
  expect_begin(error(pass("mine"), ErrorKind::user, {rule}),
               "functions: mine: another pass has this name");
  CompileOptions options{.passes_off = {"mien"}};
  options.functions.push_back(pass("mine"));
  EXPECT_THROW(compile(f, input, options), Error);
}

}  // namespace
}  // namespace cleave
