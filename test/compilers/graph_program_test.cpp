#include "cleave/graph_program.h"

#include <gtest/gtest.h>

#include <thread>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

TracedGraph relu_into() {
  return TracedGraph::parse(R"(graph @main(%x: input f32[2,3], %out: input f32[2,3]) {
  %y = relu(%x)
  return %y -> %out
})");
}

TEST(GraphProgram, writes_updates_where_their_inputs_lie) {
  GraphProgram p = compile_graph(relu_into());
  HostTensor x = HostTensor::from<float>({-1, 2, -3, 4, -5, 6}, {2, 3}), out(DType::f32, {2, 3});
  EXPECT_TRUE(p.run({x, out}).empty());
  EXPECT_EQ(out.to_vector<float>(), (std::vector<float>{0, 2, 0, 4, 0, 6}));
  EXPECT_EQ(p.report().arena_bytes, 0);  // no copy of the result
  EXPECT_EQ(p.report().kernels, 1);
}

TEST(GraphProgram, one_that_was_moved_from_is_still_the_same) {
  GraphProgram p = compile_graph(relu_into());
  const GraphProgram other = std::move(p);
  EXPECT_EQ(p.graph().text(), other.graph().text());  // NOLINT(bugprone-use-after-move): a handle
}

TEST(GraphProgram, tells_what_its_kernels_move) {
  GraphProgram p = compile_graph(relu_into());
  EXPECT_NE(message([&] { p.kernels(); }).find("nothing ran yet"), std::string::npos);
  HostTensor x(DType::f32, {2, 3}), out(DType::f32, {2, 3});
  p.prepare(std::vector<InputRef>{x, out});
  const std::vector<ProgramKernel> kernels = p.kernels();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].kind, "kernel");
  EXPECT_EQ(kernels[0].read_bytes, 24);
  EXPECT_EQ(kernels[0].written_bytes, 24);
}

TEST(GraphProgram, returns_copies_of_results_in_order) {
  GraphProgram p = compile_graph(TracedGraph::parse(
      R"(graph @main(%x: input f32[2]{3}, %out: buffer f32[2]) {
  %y = neg(%x)
  %z = exp(%x)
  return %y, %z -> %out, %x
})"));
  std::vector<float> memory = {1, 0, 0, 2};
  HostTensor x = HostTensor::borrow(DType::f32, {2}, {3}, memory.data()), out(DType::f32, {2});
  const HostTensors results = p.run({x, out});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{-1, -2}));
  EXPECT_EQ(results[1].to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_FALSE(results[0].borrows());
  EXPECT_FLOAT_EQ(out.at<float>({1}), std::exp(2.F));
}

TEST(GraphProgram, compiles_for_sizes_as_they_come) {
  GraphProgram p = compile_graph(TracedGraph::parse(
      R"(graph @main(%n: symint range(1,9), %k: symint, %x: input f32[n,2], %out: input f32[n,2]) {
  %f = full(size=[n,2], fill_value=k)
  %y = add(%x, %f)
  return %y -> %out
})"));
  for (const int64_t rows : {2, 5, 2}) {
    HostTensor x(DType::f32, {rows, 2}), out(DType::f32, {rows, 2});
    p.run({x, out}, {{"k", 7}});
    EXPECT_EQ(out.to_vector<float>(), std::vector<float>(static_cast<size_t>(rows) * 2, 7));
  }
  EXPECT_EQ(p.compiled_sizes(), 2);
  EXPECT_EQ(p.recompiled_sizes(), 0);
  HostTensor x(DType::f32, {10, 2}), out(DType::f32, {10, 2});
  EXPECT_EQ(message([&] { p.run({x, out}, {{"k", 7}}); }),
            "symint n is 10, expected a value in [1, 9]");
  HostTensor y(DType::f32, {2, 2}), into(DType::f32, {2, 2});
  EXPECT_NE(message([&] { p.run({y, into}); }).find("k"), std::string::npos);
}

TEST(GraphProgram, copies_inputs_that_lie_by_other_strides) {
  GraphProgram p = compile_graph(relu_into());
  HostTensor x(DType::f32, {2, 3}, {1, 2}), out(DType::f32, {2, 3});
  x.at<float>({0, 1}) = 5;
  x.at<float>({1, 2}) = -5;
  p.run({x, out});
  EXPECT_EQ(out.to_vector<float>(), (std::vector<float>{0, 5, 0, 0, 0, 0}));
  EXPECT_EQ(p.report().count("stride_copies"), 1);
  p.run({x.contiguous(), out});
  EXPECT_EQ(p.report().count("stride_copies"), 1);
}

TEST(GraphProgram, prepares_without_a_run) {
  GraphProgram p = compile_graph(relu_into());
  EXPECT_EQ(message([&] { p.report(); }), "@main: there is no report: nothing ran yet");
  HostTensor x = HostTensor::from<float>({1, 1, 1, 1, 1, 1}, {2, 3}), out(DType::f32, {2, 3});
  p.prepare({{x, out}});
  EXPECT_EQ(p.compiled_sizes(), 1);
  EXPECT_EQ(out.at<float>({0, 0}), 0);
}

TEST(GraphProgram, refuses_other_inputs) {
  GraphProgram p = compile_graph(relu_into());
  HostTensor x(DType::f32, {2, 3}), out(DType::f32, {2, 3}), turned(DType::f32, {2, 3}, {1, 2}),
      long_one(DType::i64, {2, 3});
  const HostTensor fixed(DType::f32, {2, 3});
  EXPECT_EQ(message([&] { p.run({x}); }), "@main: got 1 inputs, expected 2");
  EXPECT_EQ(message([&] { p.run({x, turned}); }),
            "input 1 `out`: got f32[2,3]{1,2}, expected f32[2,3]");
  EXPECT_EQ(message([&] { p.run({long_one, out}); }),
            "input 0 `x`: got i64[2,3], expected f32[2,3]");
  EXPECT_EQ(message([&] { p.run({x, fixed}); }),
            "@main: input 1 `out` is updated, and given a const tensor");
  EXPECT_EQ(message([&] { p.run({out, out}); }),
            "@main: input 1 `out` is updated, and its memory is also that of input 0 `x`");
  EXPECT_EQ(message([] { compile_graph(relu_into(), {.kept_sizes = 0}); }),
            "compile_graph: kept_sizes is 0, expected 1 or more");
}

TEST(GraphProgram, runs_of_two_threads_follow_each_other) {
  GraphProgram p = compile_graph(relu_into());
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&p, t] {
      HostTensor x(DType::f32, {2, 3}), out(DType::f32, {2, 3});
      for (int k = 0; k < 100; ++k) {
        x.at<float>({1, 2}) = static_cast<float>(t * 1000 + k);
        p.run({x, out});
        ASSERT_EQ(out.at<float>({1, 2}), static_cast<float>(t * 1000 + k));
      }
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace cleave
