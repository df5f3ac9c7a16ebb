// Compilers of graphs: what each of them makes of one graph.
// tests: traced_graph.cpp native.cpp nop.cpp print_compile.cpp script.cpp debug_nop.cpp
// tests: exec/graph_function.cpp interp/compare_with_oracle.cpp interp/moved_oracle.cpp
#include <gtest/gtest.h>

#include "cleave/cleave.h"
#include "test/compilers/ramp.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;
using test::ramp;

constexpr const char* product = R"(
graph @main(%s: symint range (1, 64), %x: input f32[s,3], %w: param f32[3,2]) {
  %y = mm(%x, %w)
  %h = tanh(%y)
  %n = full(; size=[2], fill_value=3.0, dtype=f32)
  %m = mul(%n, %n)
  %z = add(%h, %m)
  return %z, %x
}
)";

HostTensor size_of_rows(int64_t rows) {
  return HostTensor::scalar(static_cast<double>(rows), DType::i64);
}

HostTensors inputs(int64_t rows) { return {size_of_rows(rows), ramp({rows, 3}), ramp({3, 2})}; }

double largest_difference(const HostTensor& a, const HostTensor& b) {
  EXPECT_EQ(a.type_text(), b.type_text());
  double most = 0;
  for (int64_t k = 0; k < a.numel(); ++k)
    most = std::max(most, std::abs(a.number(k) - b.number(k)));
  return most;
}

TEST(TracedGraph, shows_its_inputs_results_and_calls) {
  const TracedGraph g = TracedGraph::parse(product);
  EXPECT_EQ(g.name(), "main");
  ASSERT_EQ(g.inputs().size(), 3U);
  EXPECT_EQ(g.inputs()[0].role, "symint");
  EXPECT_EQ(g.inputs()[1].name, "x");
  EXPECT_EQ(g.inputs()[1].type, "f32[s,3]");
  EXPECT_EQ(g.inputs()[1].shape, (std::vector<std::string>{"s", "3"}));
  EXPECT_EQ(g.inputs()[2].role, "param");
  ASSERT_EQ(g.results().size(), 2U);
  EXPECT_EQ(g.results()[0].name, "z");
  EXPECT_EQ(g.results()[0].role, "result");
  ASSERT_EQ(g.calls().size(), 5U);
  EXPECT_EQ(g.calls()[0].op, "mm");
  EXPECT_EQ(g.calls()[0].operands, (std::vector<std::string>{"x", "w"}));
  EXPECT_EQ(g.calls()[0].results[0].type, "f32[s,2]");
  EXPECT_EQ(TracedGraph::parse(g.text()).text(), g.text());
}

TEST(TracedGraph, an_update_and_a_gradient_name_their_inputs) {
  const TracedGraph g = TracedGraph::parse(R"(
graph @main(%b: buffer f32[2], %x: input f32[2] grad, %t: tangent f32[2]) {
  %y = add(%b, %x)
  return %y, %y -> %b, %t -> grad %x
})");
  EXPECT_EQ(g.results()[1].role, "update");
  EXPECT_EQ(g.results()[1].target, "b");
  EXPECT_EQ(g.results()[2].role, "grad");
  EXPECT_EQ(g.results()[2].target, "x");
}

TEST(TracedGraph, a_text_that_is_no_graph_is_an_error_with_its_line) {
  EXPECT_NE(message([] {
              TracedGraph::parse("graph @main() {\n  %y = nonsense()\n  return %y\n}");
            }).find("graph:2"),
            std::string::npos);
}

TEST(TracedGraph, one_that_was_moved_from_is_still_the_same) {
  TracedGraph g = TracedGraph::parse(product);
  const TracedGraph other = std::move(g);
  EXPECT_EQ(g.text(), other.text());  // NOLINT(bugprone-use-after-move): a handle
}

TEST(GraphCompiler, all_compute_the_same_for_sizes_that_vary) {
  const TracedGraph g = TracedGraph::parse(product);
  for (const int64_t rows : {4, 1, 7, 4}) {
    HostTensors given = inputs(rows);
    const HostTensors want = nop()(g, given)(HostTensors(given));
    ASSERT_EQ(want.size(), 2U);
    EXPECT_EQ(want[0].shape(), (std::vector<int64_t>{rows, 2}));
    EXPECT_EQ(want[1].number(1), given[1].number(1));
    for (const GraphCompiler& compiler : {native(), script(), simple_script(), debug_nop()}) {
      const HostTensors got = compiler(g, given)(HostTensors(given));
      ASSERT_EQ(got.size(), 2U);
      EXPECT_LT(largest_difference(got[0], want[0]), 1e-6);
      EXPECT_TRUE(got[1].same_bits(given[1]));
    }
  }
}

TEST(GraphCompiler, one_callable_takes_any_sizes_of_its_graph) {
  const TracedGraph g = TracedGraph::parse(product);
  const GraphCallable f = native()(g, inputs(4));
  for (const int64_t rows : {4, 9, 64, 9})
    EXPECT_LT(largest_difference(f(inputs(rows))[0], nop()(g, inputs(rows))(inputs(rows))[0]),
              1e-6);
  EXPECT_EQ(message([&] { f(inputs(65)); }), message([&] { nop()(g, inputs(4))(inputs(65)); }));
  EXPECT_NE(message([&] { f(inputs(65)); }), "");
}

TEST(GraphCompiler, a_callable_is_boxed) {
  const TracedGraph g = TracedGraph::parse(product);
  for (const GraphCompiler& compiler : {native(), nop(), script(), debug_nop()}) {
    const GraphCallable f = compiler(g, inputs(4));
    HostTensors given = inputs(4);
    f(std::move(given));
    EXPECT_TRUE(given.empty());
  }
}

TEST(GraphCompiler, a_result_that_is_an_input_is_the_tensor_or_a_copy_of_what_is_borrowed) {
  const TracedGraph g = TracedGraph::parse(product);
  const GraphCallable f = native()(g, inputs(4));
  HostTensors owned = inputs(4);
  const void* memory = owned[1].data();
  EXPECT_EQ(f(std::move(owned))[1].data(), memory);
  HostTensor x = ramp({4, 3});
  HostTensors borrowed = inputs(4);
  borrowed[1] = HostTensor::borrow(DType::f32, {4, 3}, x.data());
  const HostTensors got = f(std::move(borrowed));
  EXPECT_NE(got[1].data(), x.data());
  EXPECT_TRUE(got[1].same_bits(x));
}

TEST(GraphCompiler, an_update_is_a_result_and_writes_nothing) {
  const TracedGraph g = TracedGraph::parse(R"(
graph @main(%b: buffer f32[2], %x: input f32[2]) {
  %n = add(%b, %x)
  return %x, %n -> %b
})");
  for (const GraphCompiler& compiler : {native(), script(), nop(), debug_nop()}) {
    HostTensor b = HostTensor::from<float>({1, 2});
    HostTensors given;
    given.push_back(HostTensor::borrow(DType::f32, {2}, b.data()));
    given.push_back(HostTensor::from<float>({3, 4}));
    const HostTensors got = compiler(g, given)(HostTensors(given));
    EXPECT_EQ(got[1].to_vector<float>(), (std::vector<float>{4, 6}));
    EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{1, 2}));
  }
}

TEST(GraphCompiler, wrong_inputs_are_one_clear_error) {
  const TracedGraph g = TracedGraph::parse(product);
  const GraphCallable f = native()(g, inputs(4));
  EXPECT_EQ(message([&] { f({ramp({4, 3})}); }), "@main: got 1 inputs, expected 3");
  EXPECT_EQ(message([&] { f({size_of_rows(4), HostTensor(DType::f64, {4, 3}), ramp({3, 2})}); }),
            "input 1 `x`: got f64[4,3], expected f32[4,3]");
  EXPECT_EQ(message([&] { f({ramp({}), ramp({4, 3}), ramp({3, 2})}); }),
            "input 0 `s`: got f32[], expected i64[]");
  EXPECT_NE(message([&] { f({size_of_rows(5), ramp({4, 3}), ramp({3, 2})}); }), "");
}

TEST(GraphCompiler, an_empty_one_within_another_is_refused) {
  const auto said = [](const char* what) {
    return std::string(what) + ": the compiler that it is given is empty";
  };
  EXPECT_EQ(message([&] { print_compile({}); }), said("print_compile"));
  EXPECT_EQ(message([&] { draw_compile("none", false, {}); }), said("draw_compile"));
  EXPECT_EQ(message([&] { debug_nop({}); }), said("debug_nop"));
  const GraphCompiler lazy = [](const TracedGraph&, const HostTensors&) { return GraphCallable(); };
  const TracedGraph g = TracedGraph::parse(product);
  EXPECT_EQ(message([&] { debug_nop(lazy)(g, inputs(4))(inputs(4)); }),
            "debug_nop: the compiler returned no callable for @y");
}

TEST(GraphCompiler, script_leaves_out_conversions_that_change_nothing) {
  const TracedGraph g = TracedGraph::parse(R"(
graph @main(%x: input f32[2]) {
  %a = _to_copy(%x; dtype=f32)
  %b = _to_copy(%a; dtype=f64, non_blocking=true)
  return %b
})");
  const HostTensors given{HostTensor::from<float>({1, 2})};
  EXPECT_EQ(script()(g, given)(HostTensors(given))[0].to_vector<double>(),
            (std::vector<double>{1, 2}));
}

TEST(GraphCompiler, print_compile_prints_the_text_and_runs) {
  const TracedGraph g = TracedGraph::parse(product);
  testing::internal::CaptureStdout();
  const GraphCallable f = print_compile(native())(g, inputs(4));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), g.text());
  EXPECT_EQ(f(inputs(4)).size(), 2U);
}

// Wraps native: what is wrong with the results of one operator.
GraphCompiler broken(const std::string& op, std::function<void(HostTensors&)> spoil) {
  return [=](const TracedGraph& graph, const HostTensors& examples) -> GraphCallable {
    GraphCallable f = native()(graph, examples);
    if (graph.calls()[0].op != op) return f;
    return [f, spoil](HostTensors&& in) {
      HostTensors out = f(std::move(in));
      spoil(out);
      return out;
    };
  };
}

TEST(DebugNop, names_the_first_call_that_differs_and_how) {
  const TracedGraph g = TracedGraph::parse(product);
  const auto said = [&](std::function<void(HostTensors&)> spoil) {
    const std::string text =
        message([&] { debug_nop(broken("tanh", std::move(spoil)))(g, inputs(4))(inputs(4)); });
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(said([](HostTensors& out) { out[0].set_number(3, 2); }),
            "@main: output 0 of %h where {s: 4}: element 3: 2, expected 0.06241874769330025 "
            "within 2e-05");
  EXPECT_EQ(said([](HostTensors& out) { out[0].set_number(5, std::nan("")); }),
            "@main: output 0 of %h where {s: 4}: element 5: nan, expected -0.07796644419431686 "
            "within 2e-05");
  EXPECT_EQ(said([](HostTensors& out) { out[0] = out[0].to(DType::f64); }),
            "@main: output 0 of %h where {s: 4}: f64[4,2], expected f32[4,2]");
  EXPECT_EQ(said([](HostTensors& out) { out[0] = HostTensor(DType::f32, {2, 4}); }),
            "@main: output 0 of %h where {s: 4}: f32[2,4], expected f32[4,2]");
  EXPECT_EQ(said([](HostTensors& out) {
              HostTensor t(DType::f32, {4, 2}, {1, 4});
              t.copy_from(out[0]);
              out[0] = std::move(t);
            }),
            "@main: output 0 of %h where {s: 4}: strides [1,4], expected [2,1]");
  EXPECT_EQ(said([](HostTensors& out) { out.clear(); }),
            "@main: %h where {s: 4}: 0 results, expected 1");
}

TEST(DebugNop, roundings_are_no_difference) {
  const TracedGraph g = TracedGraph::parse(R"(
graph @main(%x: input f32[64,512], %w: input f32[512,64]) {
  %y = mm(%x, %w)
  %s = _softmax(%y; dim=1, half_to_float=false)
  %v = var(%s; dim=[1])
  return %s, %v, %y
})");
  const HostTensors given{ramp({64, 512}), ramp({512, 64})};
  EXPECT_EQ(debug_nop()(g, given)(HostTensors(given)).size(), 3U);
}

}  // namespace
}  // namespace cleave
