// Nested inputs and results: shapes, names, what comes back, wrong ones.
// tests: tree.cpp compile_tree.cpp
#include <gtest/gtest.h>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

constexpr DType f32 = DType::f32;
using In = Tree<InputRef>;
using Specs = Tree<InputSpec>;
using Traced = Tree<Tensor>;

InputSpec spec(InputShape shape, DType dtype = f32) {
  return {.dtype = dtype, .shape = std::move(shape)};
}

TEST(Tree, has_a_text_for_its_shape) {
  const HostTensor x(f32, {2});
  const auto t = Tree<HostTensor>::map(
      {{"x", x},
       {"state", Tree<HostTensor>::list({x, Tree<HostTensor>::list({}), 1, 0.5, 2.0, true, -3})},
       {"a key", Tree<HostTensor>::map({})}});
  EXPECT_EQ(t.shape_text(), "{x: *, state: [*, [], 1, 0.5, 2.0, true, -3], \"a key\": {}}");
  EXPECT_EQ(Tree<HostTensor>(x).shape_text(), "*");
  EXPECT_EQ(Tree<HostTensor>().shape_text(), "[]");
  EXPECT_EQ(t["x"].leaf().numel(), 2);
  EXPECT_EQ(t["state"][3].number().floating(), 0.5);
  EXPECT_EQ(t.size(), 3u);
  EXPECT_EQ(t.keys()[1], "state");
  EXPECT_FALSE(t.contains("y"));
}

TEST(Tree, shows_its_shape_where_it_is_asked_for_what_is_not_there) {
  const HostTensor x(f32, {2});
  const auto t = Tree<HostTensor>::map({{"x", x}, {"n", 3}});
  EXPECT_EQ(message([&] { t["y"]; }), "Tree: {x: *, n: 3} has no item y");
  EXPECT_EQ(message([&] { t[2]; }), "Tree: {x: *, n: 3} has no item 2");
  EXPECT_EQ(message([&] { t[-1]; }), "Tree: {x: *, n: 3} has no item -1");
  EXPECT_EQ(message([&] { t["x"]["y"]; }), "Tree: * has no item y");
  EXPECT_EQ(message([&] { t.leaf(); }), "Tree: {x: *, n: 3} was asked for as a tensor");
  EXPECT_EQ(message([&] { t["x"].number(); }), "Tree: * was asked for as a number");
  EXPECT_EQ(message([&] { Tree<HostTensor>::map({{"x", x}, {"x", 1}}); }),
            "Tree: map: the key x is there twice");
}

CompiledTree nested() {
  return compile_tree(
      [](const Traced& in) {
        const Tensor &a = in["x"][0]["a"].leaf(), &b = in["x"][1].leaf(), &n = in["n"].leaf();
        return Traced::map(
            {{"sum", a + b},
             {"rest", Traced::list({b * n, in["eps"].number(), Traced::map({{"n", n}})})}});
      },
      Specs::map({{"x", Specs::list({Specs::map({{"a", spec({2})}}), spec({2})})},
                  {"eps", 0.5},
                  {"n", spec({})}}));
}

TEST(CompiledTree, takes_and_returns_nested_tensors) {
  CompiledTree f = nested();
  EXPECT_NE(f.function().graph_text().find("%x.0.a: input f32[2], %x.1: input f32[2], %n: input"),
            std::string::npos)
      << f.function().graph_text();
  const HostTensor a = HostTensor::from<float>({1, 2}), b = HostTensor::from<float>({3, 4});
  const auto x = In::list({In::map({{"a", a}}), b});
  // In any order of keys; a number is a tensor of 0 dims.
  const auto out = f.run(In::map({{"n", 2}, {"eps", 0.5}, {"x", x}}));
  EXPECT_EQ(out.shape_text(), "{sum: *, rest: [*, 0.5, {n: *}]}");
  EXPECT_EQ(out["sum"].leaf().number(1), 6);
  EXPECT_EQ(out["rest"][0].leaf().number(1), 8);
  EXPECT_EQ(out["rest"][2]["n"].leaf().item(), 2);
  CompiledTree g = f.instance();
  EXPECT_EQ(g.run(In::map({{"x", x}, {"eps", 0.5}, {"n", HostTensor::scalar(3)}}))["rest"][0]
                .leaf()
                .number(0),
            9);
}

TEST(CompiledTree, an_error_shows_both_shapes) {
  CompiledTree f = nested();
  const HostTensor t(f32, {2});
  const auto said = [&](const In& in) { return message([&] { f.run(in); }); };
  const std::string expected = ", expected {x: [{a: *}, *], eps: 0.5, n: *}";
  const auto x = In::list({In::map({{"a", t}}), t});
  EXPECT_EQ(said(In::list({t, t})), "compile: inputs are [*, *]" + expected);
  EXPECT_EQ(said(t), "compile: inputs are *" + expected);
  EXPECT_EQ(said(In()), "compile: inputs are []" + expected);
  EXPECT_EQ(said(In::map({{"x", x}, {"eps", 0.25}, {"n", 1}})),
            "compile: inputs are {x: [{a: *}, *], eps: 0.25, n: 1}" + expected);
  EXPECT_EQ(said(In::map({{"x", x}, {"eps", 0.5}, {"n", 1}, {"m", 1}})),
            "compile: inputs are {x: [{a: *}, *], eps: 0.5, n: 1, m: 1}" + expected);
  EXPECT_EQ(said(In::map({{"x", In::list({In::map({{"a", 1}}), t})}, {"eps", 0.5}, {"n", 1}})),
            "compile: inputs are {x: [{a: 1}, *], eps: 0.5, n: 1}" + expected);
  EXPECT_EQ(said(In::map({{"x", x}, {"eps", 0.5}, {"n", t}})),
            "compile: input 2 `n`: got f32[2] on cpu, expected f32[] on cpu");
  EXPECT_EQ(
      said(In::map(
          {{"x", In::list({In::map({{"a", HostTensor(f32, {3})}}), t})}, {"eps", 0.5}, {"n", 1}})),
      "compile: input 0 `x.0.a`: got f32[3] on cpu, expected f32[2] on cpu");
}

TEST(CompiledTree, a_lone_tensor_comes_back_alone) {
  CompiledTree f =
      compile_tree([](const Traced& in) { return Traced(relu(in)); }, InputSpec{"x", f32, {3}});
  EXPECT_NE(f.function().graph_text().find("%x: input f32[3]"), std::string::npos);
  const HostTensor y = f.run(HostTensor::from<float>({-1, 0, 2}));
  EXPECT_EQ(y.number(2), 2);
  // A result is given again: by reference, or handed over.
  Tree<HostTensor> out = f.run(y);
  EXPECT_EQ(f.run(In(out)).leaf().number(2), 2);
  EXPECT_EQ(f.run(std::move(out)).leaf().number(2), 2);
  EXPECT_EQ(out.shape_text(), "[]");
}

TEST(CompiledTree, of_numbers_alone) {
  CompiledTree f = compile_tree([](const Traced& in) { return in; }, Specs::list({1, 2.5}));
  EXPECT_EQ(f.run(In::list({1, 2.5})).shape_text(), "[1, 2.5]");
  EXPECT_EQ(message([&] { f.run(In::list({1.0, 2.5})); }),
            "compile: inputs are [1.0, 2.5], expected [1, 2.5]");
}

TEST(CompiledTree, updates_and_takes_over_leaves) {
  Generator rng(2);
  nn::Linear layer(4, 4, rng);
  CompiledTree f = compile_tree(
      layer,
      [&](const Traced& in) {
        const Tensor h = layer(in["x"]);
        assign(in["cache"][0], h);
        return Traced::list({h});
      },
      Specs::map({{"x", spec({4})},
                  {"cache", Specs::list({InputSpec{.shape = {4}, .is_updated = true}})}}));
  HostTensor x = rng.normal({4}), cache(f32, {4});
  const HostTensor h = f.run(In::map({{"x", x}, {"cache", In::list({cache})}}))[0];
  EXPECT_TRUE(cache.same_bits(h));
  const HostTensor fixed(f32, {4});
  EXPECT_EQ(message([&] { f.run(In::map({{"x", x}, {"cache", In::list({fixed})}})); }),
            "compile: input 1 `cache.0`: it is updated, and the tensor given for it is const");
  Tree<HostTensor> owned =
      Tree<HostTensor>::map({{"cache", Tree<HostTensor>::list({cache})}, {"x", x}});
  EXPECT_TRUE(f.run(owned)[0].leaf().same_bits(h));
  EXPECT_TRUE(owned["cache"][0].leaf().same_bits(h));
  EXPECT_TRUE(f.run(std::move(owned))[0].leaf().same_bits(h));
}

TEST(CompiledTree, sizes_that_vary_keep_the_shape_of_results) {
  CompiledTree f = compile_tree(
      [](const Traced& in) {
        const Tensor& x = in[0];
        return x.size(0) == 2 ? Traced::list({x}) : Traced(x);
      },
      Specs::list({spec({dyn("B", 1, 4)})}));
  EXPECT_EQ(f.run(In::list({HostTensor(f32, {3})})).leaf().numel(), 3);
  EXPECT_NE(message([&] {
              f.run(In::list({HostTensor(f32, {2})}));
            }).find("compile: results are [*], expected *\n  in the program for B=2"),
            std::string::npos);
}

TEST(CompiledTree, misuse) {
  EXPECT_EQ(message([] { CompiledTree().run(In()); }),
            "CompiledTree: it is empty; compile_tree() makes one");
  int line = 0;
  const auto said = [&](const auto& f) { return test::after_line(message(f), __FILE__, &line); };
  EXPECT_EQ(said([] { compile_tree(TreeFunction(), Specs()); }), "compile: there is no function");
  EXPECT_EQ(said([] {
              compile_tree([](const Traced& in) { return in; },
                           Specs::map({{"a.b", spec({1})}, {"a", Specs::map({{"b", spec({1})}})}}));
            }),
            "compile: two inputs have the name `a.b`");
  EXPECT_EQ(
      said([] { compile_tree([](const Traced&) { return Traced(Tensor()); }, Specs::list({})); }),
      "compile: result 0 of the function is an empty Tensor");
}

}  // namespace
}  // namespace cleave
