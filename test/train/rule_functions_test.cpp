// Rules of the host program with a condition and a replacement in C++, by the public headers.
// tests: pass/rule_match.cpp rewrite/any_attrs.cpp
#include <gtest/gtest.h>

#include <set>

#include "cleave/cleave.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

const std::vector<InputSpec> input = {{"x", DType::f32, {4, 8}}};
const RulePoint points[] = {RulePoint::pre_grad, RulePoint::joint, RulePoint::before_post_grad,
                            RulePoint::after_post_grad};

const char* const double_relu = R"(
graph @search(%m: symint, %n: symint, %x: input f32[m,n]) {
  %a = relu(%x)
  %y = relu(%a)
  return %y
})";

Tensor twice(const Tensor& x) { return exp(relu(relu(x))); }

// The report's count of rewrites.
int64_t matches(const Report& report, const std::string& rule) {
  int64_t out = 0;
  for (const CompilePass& p : report.passes)
    if (p.name == rule) out += p.matches;
  return out;
}

template <class F>
CompiledFunction compiled(const F& f, const RewriteRule& rule) {
  return compile(f, input, CompileOptions{.passes_off = {"all"}, .rules = {rule}});
}

TEST(RuleFunctions, make_at_each_point_what_replaces_the_results) {
  for (const RulePoint point : points) {
    CompiledFunction made = compiled(
        twice,
        {.name = "shifted", .text = double_relu, .point = point, .make = [](const RuleMatch& m) {
           return Tensors{relu(m["x"]) + 1.0};
         }});
    CompiledFunction want = compile([](const Tensor& x) { return exp(relu(x) + 1.0); }, input);
    const HostTensor x = Generator(1).normal({4, 8});
    EXPECT_TRUE(made.run({x})[0].same_bits(want.run({x})[0])) << static_cast<int>(point);
    EXPECT_EQ(matches(made.report(), "shifted"), 1);
  }
}

TEST(RuleFunctions, gradients_are_those_of_the_replacement) {
  Generator rng(1);
  const HostTensor x = rng.normal({4, 8});
  const auto losses = [&](const CompileOptions& options, const auto& f) {
    Generator first(7);
    nn::Linear layer(8, 8, first);
    TrainStep step = train_step(layer, [&](const Tensor& t) { return mean(f(layer(t))); },
                                optim::SGD({.lr = 1}), input, {.compile = options});
    std::vector<double> out;
    for (int k = 0; k < 3; ++k) out.push_back(step.run({x}).loss);
    return out;
  };
  CompileOptions options{.passes_off = {"all"}};
  const auto tripled = [](const Tensor& t) { return relu(t) * 3.0; };
  const auto relus = [](const Tensor& t) { return relu(relu(t)); };
  const std::vector<double> want = losses(options, tripled), plain = losses(options, relus);
  options.rules = {{.name = "tripled", .text = double_relu, .make = [](const RuleMatch& m) {
                      return Tensors{relu(m["x"]) * 3.0};
                    }}};
  EXPECT_EQ(losses(options, relus), want);
  EXPECT_NE(want, plain);
}

TEST(RuleFunctions, see_types_attributes_sizes_numbers_and_lines) {
  const char* const text = R"(
graph @search(%m: symint, %n: symint, %x: input f32[m,n]) {
  %a = mul(%x; other=0.125)
  %y = amax(%a; dim=[1], keepdim=true)
  return %y
})";
  int asked = 0;
  RewriteRule rule{.name = "seen", .text = text, .numbers = {{"scale", 0.125}}};
  rule.make = [](const RuleMatch& m) { return Tensors{m["y"]}; };
  rule.when = [&](const RuleMatch& m) {
    ++asked;
    EXPECT_EQ(m.type("x").shape, (std::vector<int64_t>{4, 8}));
    EXPECT_EQ(m.type_text("y"), "f32[4,1]");
    EXPECT_EQ(m.call("y").ints_attr("dim"), std::vector<int64_t>{1});
    EXPECT_TRUE(m.call("y").bool_attr("keepdim"));
    EXPECT_EQ(m.call("y").operand(0).shape, (std::vector<int64_t>{4, 8}));
    EXPECT_EQ(m.call("y").result(0).shape, (std::vector<int64_t>{4, 1}));
    EXPECT_EQ(m.size("m"), 4);
    EXPECT_EQ(m.size("n"), 8);
    EXPECT_EQ(m.number("scale"), 3.0);
    EXPECT_NE(m.source("a").find("rule_functions_test.cpp:"), std::string::npos) << m.source("a");
    return false;
  };
  const auto f = [](const Tensor& x) { return amax(x * 3.0, {1}, true); };
  CompiledFunction plain = compiled(f, rule);
  EXPECT_GT(asked, 0);
  EXPECT_EQ(matches(plain.report(), "seen"), 0);
}

TEST(RuleFunctions, conditions_choose_among_matches_at_each_point) {
  const auto both = [](const Tensor& x) {
    return sum(relu(relu(x))) + sum(relu(relu(x.slice(1, 0, 4))));
  };
  for (const RulePoint point : points) {
    std::set<int64_t> asked;
    RewriteRule rule{.name = "wide", .text = double_relu, .point = point};
    rule.when = [&](const RuleMatch& m) {
      asked.insert(m.size("n"));
      return m.size("n") > 4;
    };
    rule.make = [](const RuleMatch& m) { return Tensors{relu(m["x"])}; };
    CompiledFunction made = compiled(both, rule);
    EXPECT_EQ(matches(made.report(), "wide"), 1) << static_cast<int>(point);
    EXPECT_EQ(asked, (std::set<int64_t>{4, 8})) << static_cast<int>(point);
  }
}

TEST(RuleFunctions, conditions_go_with_replacements_of_text_and_with_their_gradients) {
  RewriteRule rule{.name = "texts", .text = std::string(double_relu) + R"(
graph @replace(%m: symint, %n: symint, %x: input f32[m,n]) {
  %y = relu(%x)
  return %y
})"};
  for (const bool fits : {false, true}) {
    rule.when = [fits](const RuleMatch&) { return fits; };
    EXPECT_EQ(matches(compiled(twice, rule).report(), "texts"), fits);
  }
  rule.point = RulePoint::joint;
  rule.derive_backward = true;
  rule.text.replace(rule.text.find("input f32[m,n])"), 15, "input f32[m,n] grad)");
  rule.text.replace(rule.text.rfind("input f32[m,n])"), 15, "input f32[m,n] grad)");
  Generator first(7);
  nn::Linear layer(8, 8, first);
  for (const bool fits : {false, true}) {
    rule.when = [fits](const RuleMatch& m) { return m.type("x").dtype == DType::f32 && fits; };
    TrainStep step = train_step(layer, [&](const Tensor& t) { return mean(twice(layer(t))); },
                                optim::SGD({.lr = 1}), input,
                                {.compile = {.passes_off = {"all"}, .rules = {rule}}});
    EXPECT_EQ(matches(step.report(), "texts"), fits);
  }
}

TEST(RuleFunctions, attributes_may_match_any_value) {
  RewriteRule rule{.name = "sums", .text = R"(
graph @search(%m: symint, %n: symint, %x: input f32[m,n]) {
  %e = exp(%x)
  %y = sum(%e; dim=[0], keepdim=false)
  return %y
})"};
  rule.make = [](const RuleMatch& m) {
    const OpCall y = m.call("y");
    return Tensors{sum(exp(m["x"]) * 2.0, DimList(y.ints_attr("dim")), y.bool_attr("keepdim"))};
  };
  const auto with = [](int64_t dim, bool keepdim) {
    return [=](const Tensor& x) { return sum(exp(x), dim, keepdim); };
  };
  const HostTensor x = Generator(1).normal({4, 8});
  EXPECT_EQ(matches(compiled(with(0, false), rule).report(), "sums"), 1);
  EXPECT_EQ(matches(compiled(with(1, false), rule).report(), "sums"), 0);
  rule.any = {"y.dim"};
  EXPECT_EQ(matches(compiled(with(1, false), rule).report(), "sums"), 1);
  EXPECT_EQ(matches(compiled(with(1, true), rule).report(), "sums"), 0);
  rule.any = {"y.dim", "y.keepdim"};
  for (const int64_t dim : {0, 1})
    for (const bool keepdim : {false, true}) {
      CompiledFunction made = compiled(with(dim, keepdim), rule);
      EXPECT_EQ(matches(made.report(), "sums"), 1);
      const HostTensor got = made.run({x})[0];
      const HostTensor want =
          compile([&](const Tensor& t) { return sum(exp(t) * 2.0, dim, keepdim); }, input)
              .run({x})[0];
      EXPECT_TRUE(got.same_bits(want)) << dim << keepdim;
    }
}

TEST(RuleFunctions, reach_into_branches) {
  const auto branch = [](const Tensor& x) {
    return cond(sum(x) > 0.0, [&] { return relu(relu(x)); }, [&] { return exp(x); })[0];
  };
  CompiledFunction made =
      compiled(branch, {.name = "inside", .text = double_relu, .make = [](const RuleMatch& m) {
                          return Tensors{m["x"] * 2.0};
                        }});
  EXPECT_EQ(matches(made.report(), "inside"), 1);
  HostTensor x = Generator(1).normal({4, 8});
  x.data<float>()[0] = 100;
  EXPECT_EQ(made.run({x})[0].at<float>({0, 0}), 200);
}

TEST(RuleFunctions, replace_several_results) {
  RewriteRule rule{.name = "pair", .text = R"(
graph @search(%m: symint, %n: symint, %x: input f32[m,n]) {
  %values, %indices = sort(%x; dim=1, descending=false)
  return %values, %indices
})"};
  rule.make = [](const RuleMatch& m) {
    EXPECT_EQ(m.type("indices").dtype, DType::i64);
    return Tensors{m["x"] * 2.0, full_like(m["indices"], 7)};
  };
  CompiledFunction made =
      compiled([](const Tensor& x) { return call("sort", {x}, {{"dim", 1}}); }, rule);
  const HostTensors out = made.run({Generator(1).normal({4, 8})});
  EXPECT_EQ(matches(made.report(), "pair"), 1);
  EXPECT_EQ(out[1].at<int64_t>({0, 0}), 7);
}

// What compile() says of the rule.
std::string error(const RewriteRule& rule, ErrorKind kind = ErrorKind::user) {
  try {
    compiled(twice, rule);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  return "no error";
}

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

using Make = std::function<Tensors(const RuleMatch&)>;
RewriteRule mine(const Make& make) { return {.name = "mine", .text = double_relu, .make = make}; }

TEST(RuleFunctions, what_they_throw_names_the_rule) {
  expect_has(error(mine([](const RuleMatch&) -> Tensors { throw std::runtime_error("no!"); })),
             "rule mine at %relu_1: make: no!");
  expect_has(error(mine([](const RuleMatch& m) { return Tensors{m["x"], m["x"]}; })), "rule mine");
  expect_has(error(mine([](const RuleMatch& m) { return Tensors{sum(m["x"])}; })), "rule mine");
  expect_has(error(mine([](const RuleMatch&) { return Tensors{Tensor()}; })),
             "result 0 is not defined");
  expect_has(error(mine([](const RuleMatch& m) { return Tensors{m["z"]}; })),
             "@search has no value %z");
  expect_has(error(mine([](const RuleMatch& m) { return Tensors{relu(relu(m["x"]))}; })),
             "rule mine");
  RewriteRule rule{.name = "mine", .text = double_relu};
  rule.make = [](const RuleMatch& m) { return Tensors{m["x"]}; };
  const auto asks = [&](const std::function<bool(const RuleMatch&)>& when,
                        ErrorKind kind = ErrorKind::user) {
    rule.when = when;
    return error(rule, kind);
  };
  expect_has(asks([](const RuleMatch&) -> bool { throw std::runtime_error("no!"); }),
             "rule mine: when: no!");
  expect_has(asks([](const RuleMatch&) -> bool { throw 7; }), "throws no std::exception");
  expect_has(asks([](const RuleMatch& m) { return m["x"].defined(); }), "only `make` has");
  expect_has(asks([](const RuleMatch& m) { return m.size("k") > 0; }), "@search has no symint %k");
  expect_has(asks([](const RuleMatch& m) { return m.number("k") > 0; }), "it has no number k");
  expect_has(asks([](const RuleMatch& m) { return m.call("x").has(0); }), "@search has no call %x");
  expect_has(asks([](const RuleMatch& m) { return m.call("y").bool_attr("dim"); }),
             "it has no attribute dim");
}

TEST(RuleFunctions, texts_and_options_that_do_not_go_with_them_are_refused) {
  RewriteRule rule = mine([](const RuleMatch& m) { return Tensors{m["x"]}; });
  rule.text += "\ngraph @replace(%x: input f32[2]) {\n  return %x\n}\n";
  expect_has(error(rule), "rule mine: its text ends in no @search");
  rule.text = double_relu;
  rule.derive_backward = true;
  expect_has(error(rule), "rule mine: derive_backward needs @replace");
  rule.derive_backward = false;
  for (const char* name : {"y.dim", "z.dim", "y", "", ".", "x.dim"}) {
    rule.any = {name};
    expect_has(error(rule), "no call of @search has the attribute");
  }
}

TEST(RuleFunctions, symbolic_sizes_are_shown_as_text_alone) {
  const TracedGraph g = TracedGraph::parse(R"(
graph @main(%s0: symint, %x: input f32[s0,8]) {
  %a = relu(%x)
  %b = relu(%a)
  return %b
})");
  RewriteRule rule = mine([](const RuleMatch& m) { return Tensors{relu(m["x"])}; });
  rule.when = [](const RuleMatch& m) {
    EXPECT_EQ(m.type_text("x"), "f32[s0,8]");
    EXPECT_EQ(m.size("n"), 8);
    return true;
  };
  EXPECT_EQ(Decompositions().with_rule(rule).apply(g).calls().size(), 1u);
  for (const bool ask_size : {false, true}) {
    rule.when = [&](const RuleMatch& m) {
      return (ask_size ? m.size("m") : m.type("x").numel()) > 0;
    };
    try {
      Decompositions().with_rule(rule).apply(g);
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::unsupported);
      expect_has(e.what(), "symbolic");
    }
  }
}

}  // namespace
}  // namespace cleave
