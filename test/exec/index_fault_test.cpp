// An index out of range: the message names the function, the line, the element and the index.
#include <gtest/gtest.h>

#include "cleave/cleave.h"
#include "ir/text.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

const std::string here = "index_fault_test.cpp:";

HostTensor integers(std::vector<int64_t> values, std::vector<int64_t> shape,
                    DType dtype = DType::i64) {
  HostTensor t(DType::i64, std::move(shape));
  std::ranges::copy(values, t.data<int64_t>());
  return t.to(dtype);
}

// The error of a run, without the line; "not here: ..." if it isn't a line of this file.
std::string fault(CompiledFunction f, std::vector<InputRef> inputs) {
  const std::string text = message([&] { f.run(inputs); });
  int line = 0;
  return test::after_line(text, here.substr(0, here.size() - 1), &line);
}

TEST(IndexFault, a_class_of_cross_entropy) {
  for (const DType t : {DType::i64, DType::i32}) {
    CompiledFunction f =
        compile([](const Tensor& x, const Tensor& y) { return cross_entropy(tanh(x) * 3.0, y); },
                {{"x", DType::f32, {4, 5}}, {"y", t, {4}}});
    const HostTensor x(DType::f32, {4, 5});
    EXPECT_EQ(fault(f, {x, integers({0, 4, 1, 5}, {4}, t)}),
              "cross_entropy: class 5 is out of range [0, 5), %y[3]");
    EXPECT_EQ(fault(f, {x, integers({0, -1, 1, 4}, {4}, t)}),
              "cross_entropy: class -1 is out of range [0, 5), %y[1]");
    EXPECT_EQ(message([&] { f.run({x, integers({0, -100, 1, 4}, {4}, t)}); }), "no error");
  }
}

// The graph's text says whose call it is, and is read again.
TEST(IndexFault, the_function_in_the_text) {
  const Graph g =
      test::traced({{"x", DType::f32, {4, 5}}, {"y", DType::i64, {4}}},
                   [](const Tensor& x, const Tensor& y) { return cross_entropy(x, y); });
  const std::string text = print(g);
  EXPECT_NE(text.find("# \"cross_entropy at index_fault_test.cpp\":"), std::string::npos) << text;
  EXPECT_EQ(print(value_or_throw(parse(text, "text", test::core())).main), text);
}

TEST(IndexFault, a_class_of_nll_loss_by_pixel_with_weights) {
  CompiledFunction f = compile(
      [](const Tensor& x, const Tensor& y, const Tensor& w) {
        return nll_loss(x, y, {.weight = w});
      },
      {{"x", DType::f32, {2, 3, 2, 2}}, {"y", DType::i64, {2, 2, 2}}, {"w", DType::f32, {3}}});
  EXPECT_EQ(fault(f, {HostTensor(DType::f32, {2, 3, 2, 2}),
                      integers({0, 1, 2, 0, 1, 2, 3, 0}, {2, 2, 2}), HostTensor(DType::f32, {3})}),
            "nll_loss: class 3 is out of range [0, 3), %y[1,1,0]");
}

TEST(IndexFault, a_class_in_a_training_step) {
  Generator rng(1);
  nn::Linear model(2, 5, rng);
  TrainStep step = train_step(
      model, [&](const Tensor& x, const Tensor& y) { return cross_entropy(model(x), y); },
      optim::AdamW({}), {{"x", DType::f32, {3, 2}}, {"y", DType::i64, {3}}});
  const std::string text =
      message([&] { step.run({HostTensor(DType::f32, {3, 2}), integers({0, 9, 1}, {3})}); });
  EXPECT_TRUE(text.starts_with(here)) << text;
  EXPECT_TRUE(text.ends_with("cross_entropy: class 9 is out of range [0, 5), %y[1]")) << text;
}

// Which of several is told by the size that is indexed, then by the input that holds the index.
TEST(IndexFault, one_of_several_tables) {
  Generator rng(1);
  nn::Embedding words(10, 4, rng), places(6, 4, rng), more(6, 4, rng);
  const int line = __LINE__ + 4;
  CompiledFunction f = compile(
      [&](const Tensor& t, const Tensor& p, const Tensor& m) {
        const Tensor a = words(t);
        const Tensor b = places(p);
        const Tensor c = more(m);
        return tanh(a + b) * c;
      },
      {{"t", DType::i64, {2, 3}}, {"p", DType::i64, {3}}, {"m", DType::i64, {3}}});
  const auto run = [&](int64_t t, int64_t p, int64_t m) {
    return message([&] {
      f.run({integers({0, 1, 2, t, 4, 7}, {2, 3}), integers({0, 1, p}, {3}),
             integers({m, 0, 0}, {3})});
    });
  };
  const std::string range = ": embedding: indices: index ";
  EXPECT_EQ(run(10, 0, 0),
            here + std::to_string(line - 1) + range + "10 is out of range [0, 10), %t[1,0]");
  EXPECT_EQ(run(0, 7, 0), here + std::to_string(line) + range + "7 is out of range [0, 6), %p[2]");
  EXPECT_EQ(run(0, 0, 7),
            here + std::to_string(line + 1) + range + "7 is out of range [0, 6), %m[0]");
}

// No input holds an index that is computed.
TEST(IndexFault, an_index_that_is_computed) {
  CompiledFunction f = compile([](const Tensor& x, const Tensor& i) { return gather(x, 0, i + 1); },
                               {{"x", DType::f32, {3}}, {"i", DType::i64, {2}}});
  EXPECT_EQ(fault(f, {HostTensor(DType::f32, {3}), integers({0, 2}, {2})}),
            "gather: index: index 3 is out of range [0, 3)");
}

TEST(IndexFault, an_index_that_is_moved) {
  CompiledFunction f = compile(
      [](const Tensor& x, const Tensor& i) {
        return exp(gather(x, 1, cat({i.select(1, 1).unsqueeze(1), zeros({2, 1}, DType::i64)}, 1)));
      },
      {{"x", DType::f32, {2, 3}}, {"i", DType::i64, {2, 2}}});
  EXPECT_EQ(fault(f, {HostTensor(DType::f32, {2, 3}), integers({7, 1, 7, 8}, {2, 2})}),
            "gather: index: index 8 is out of range [0, 3), %i[1,1]");
}

TEST(IndexFault, in_a_branch) {
  CompiledFunction f = compile(
      [](const Tensor& x, const Tensor& i) {
        return cond(sum(x) >= 0.0, [&] { return exp(gather(x, 0, i)); }, [&] { return x; })[0];
      },
      {{"x", DType::f32, {3}}, {"i", DType::i64, {3}}});
  EXPECT_TRUE(fault(f, {HostTensor(DType::f32, {3}), integers({0, 2, 3}, {3})})
                  .starts_with("gather: index: index 3 is out of range [0, 3)"));
}

}  // namespace
}  // namespace cleave
