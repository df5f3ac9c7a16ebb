// Of a graph what can be compiled, and the rest.
// tests: partial_program.cpp regions.cpp supported.cpp
#include <gtest/gtest.h>

#include <algorithm>

#include "cleave/cleave.h"
#include "test/compilers/ramp.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;
using test::ramp;

const char* const attention = R"(
graph @main(%s: symint range (1, 64), %x: input f32[s,4], %w: param f32[4,4]) {
  %q = mm(%x, %w)   # model.cpp:7
  %t = permute(%q; dims=[1,0])
  %m = mm(%q, %t)
  %p = _softmax(%m; dim=1, half_to_float=false)
  %a = mm(%p, %x)
  %r = relu(%a)
  %y = add(%r, %x)
  return %y, %r
}
)";

HostTensors given(int64_t rows) {
  return {HostTensor::scalar(static_cast<double>(rows), DType::i64), ramp({rows, 4}, -0.25),
          ramp({4, 4})};
}

PartialOptions refusing(const std::string& op, int64_t least_calls = 1) {
  PartialOptions options;
  options.node = [op](const GraphCall& call) { return call.op != op; };
  options.least_calls = least_calls;
  return options;
}

std::vector<std::string> tags(const PartialProgram& p) {
  std::vector<std::string> out;
  for (const LoweredRegion& r : p.regions()) out.push_back(r.tag);
  return out;
}

TEST(PartialLower, leaves_out_what_the_predicate_refuses) {
  const TracedGraph g = TracedGraph::parse(attention);
  PartialProgram p = partial_lower(g, refusing("_softmax"));
  EXPECT_EQ(tags(p), (std::vector<std::string>{"subgraph", "subgraph"}));
  EXPECT_EQ(p.regions()[0].calls, 2);  // two products; the view isn't counted
  EXPECT_EQ(p.regions()[1].calls, 3);
  ASSERT_EQ(p.outside().size(), 1U);
  EXPECT_EQ(p.outside()[0].name, "p");
  EXPECT_EQ(p.outside()[0].op, "_softmax");
  EXPECT_EQ(p.outside()[0].reason, "user predicate");
  for (const int64_t rows : {5, 1, 8, 5}) {
    const HostTensors want = native()(g, given(rows))(given(rows)), got = p.run(given(rows));
    ASSERT_EQ(got.size(), 2U);
    for (int64_t k = 0; k < want[0].numel(); ++k)
      EXPECT_NEAR(got[0].number(k), want[0].number(k), 1e-5);
  }
  EXPECT_EQ(p.regions()[0].runs, 4);
  EXPECT_GT(p.regions()[0].compile_ms, 0);
  EXPECT_EQ(p.coverage().substr(0, 33), "5 of 6 calls in 2 regions (83.3 %");
}

TEST(PartialLower, one_that_was_moved_from_is_still_the_same) {
  PartialProgram p = partial_lower(TracedGraph::parse(attention), refusing("_softmax"));
  const PartialProgram other = std::move(p);
  EXPECT_EQ(p.coverage(), other.coverage());  // NOLINT(bugprone-use-after-move): a handle
}

TEST(PartialLower, a_region_is_a_call_of_a_graph_with_types_and_lines) {
  const PartialProgram p = partial_lower(TracedGraph::parse(attention), refusing("_softmax"));
  const std::string text = p.graph().text();
  EXPECT_NE(text.find("graph @subgraph_0(%s: symint range(1,64), %x: input f32[s,4], %w: param "
                      "f32[4,4])"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("# model.cpp:7"), std::string::npos) << text;
  EXPECT_NE(text.find("%m = call([%x, %w]; graph=@subgraph_0, tag=\"subgraph\")"),
            std::string::npos)
      << text;
  // Only what is read outside crosses.
  EXPECT_EQ(text.find("%t, %m"), std::string::npos);
}

TEST(PartialLower, compiled_as_a_whole_the_lowered_graph_has_the_same_bits) {
  const TracedGraph g = TracedGraph::parse(attention);
  const CompileOptions strict{.strict = true};
  const HostTensors want = native(strict)(g, given(7))(given(7));
  for (const Grouping grouping : {Grouping::runs, Grouping::convex}) {
    PartialOptions options = refusing("relu");
    options.grouping = grouping;
    const TracedGraph lowered = TracedGraph::parse(partial_lower(g, options).graph().text());
    const HostTensors got = native(strict)(lowered, given(7))(given(7));
    EXPECT_TRUE(got[0].same_bits(want[0]));
    EXPECT_TRUE(got[1].same_bits(want[1]));
  }
}

TEST(PartialLower, regions_of_few_calls_stay_outside) {
  const TracedGraph g = TracedGraph::parse(attention);
  PartialProgram p = partial_lower(g, refusing("_softmax", 3));
  EXPECT_EQ(p.regions().size(), 1U);
  EXPECT_EQ(p.outside()[0].reason, "a region of 2 calls, fewer than 3");
  EXPECT_EQ(p.run(given(3)).size(), 2U);
  PartialOptions options = refusing("_softmax");
  options.region = [](const TracedGraph& region) { return region.calls().size() == 3; };
  options.dumper = [](const std::string& text) {
    return "calls" + std::to_string(std::count(text.begin(), text.end(), '='));
  };
  const PartialProgram chosen = partial_lower(g, options);
  EXPECT_EQ(tags(chosen), (std::vector<std::string>{"calls4", "calls3"}));
  options.region = [](const TracedGraph& region) { return region.calls().size() > 3; };
  const PartialProgram none = partial_lower(g, options);
  EXPECT_TRUE(none.regions().empty());
  EXPECT_EQ(none.outside()[0].reason, "region predicate");
  EXPECT_EQ(none.graph().text(), g.text());
}

TEST(PartialLower, a_region_is_tagged_by_the_dumper_and_spans_are_told) {
  PartialOptions options = refusing("_softmax");
  int count = 0;
  options.dumper = [&](const std::string&) { return "part-" + std::to_string(count++); };
  std::vector<std::string> spans, lines;
  options.span = [&](const std::string& tag, double ms) {
    EXPECT_GE(ms, 0);
    spans.push_back(tag);
  };
  options.log = [&](LogLevel, const std::string& text) { lines.push_back(text); };
  PartialProgram p = partial_lower(TracedGraph::parse(attention), options);
  EXPECT_EQ(tags(p), (std::vector<std::string>{"part-0", "part-1"}));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], "partial_lower: graph break at %p. Reason: user predicate");
  p.run(given(3));
  p.run(given(3));
  EXPECT_EQ(spans, (std::vector<std::string>{"part-0", "part-1", "part-0", "part-1"}));
  ASSERT_EQ(lines.size(), 3U);  // each region is compiled once
  EXPECT_EQ(lines[1].find("partial_lower: region `part-0` @subgraph_0: 2 calls, compiled in "), 0U);
}

TEST(PartialLower, an_operator_without_a_kernel_is_outside_with_its_file) {
  const TracedGraph g = TracedGraph::parse(R"(
graph @main(%x: input f32[4]) {
  %a = relu(%x)
  %b = all_reduce(%a; reduce_op="sum", group_name="0")
  %c = wait_tensor(%b)
  %d = exp(%c)
  return %d
})");
  PartialOptions options;
  options.least_calls = 1;
  PartialProgram p = partial_lower(g, options);
  ASSERT_FALSE(p.outside().empty());
  EXPECT_EQ(p.outside()[0].op, "all_reduce");
  EXPECT_NE(p.outside()[0].reason.find("no kernel: "), std::string::npos);
  EXPECT_NE(p.outside()[0].reason.find("src/op/collective"), std::string::npos);
  EXPECT_EQ(p.run({ramp({4})})[0].number(0), 1);
}

TEST(PartialLower, what_is_outside_may_be_the_host_programs) {
  PartialOptions options = refusing("_softmax");
  std::string asked;
  options.functions["_softmax"] = [&](const GraphCall& call, const HostTensors& in) {
    asked = call.text;
    HostTensor out(DType::f32, in[0].shape());
    return HostTensors{out};
  };
  PartialProgram p = partial_lower(TracedGraph::parse(attention), options);
  const HostTensors got = p.run(given(3));
  EXPECT_NE(asked.find("%p = _softmax(%m"), std::string::npos);
  EXPECT_EQ(got[1].number(5), 0);
  options.functions["_softmax"] = [](const GraphCall&, const HostTensors&) {
    return HostTensors{HostTensor::scalar(1)};
  };
  EXPECT_EQ(message([&] {
              PartialProgram wrong = partial_lower(TracedGraph::parse(attention), options);
              wrong.run(given(3));
            }),
            "partial_lower: %p: the function for _softmax returned f32[], expected f32[3,3]");
}

TEST(PartialLower, a_region_that_cannot_be_compiled_is_named_or_runs_outside) {
  PartialOptions options = refusing("_softmax");
  options.backend = [](const TracedGraph& g, const HostTensors& examples) -> GraphCallable {
    if (g.name() == "subgraph_1") throw Error(ErrorKind::unsupported, "no such instruction");
    return native()(g, examples);
  };
  const TracedGraph g = TracedGraph::parse(attention);
  EXPECT_EQ(message([&] { partial_lower(g, options).run(given(3)); }),
            "region `subgraph` @subgraph_1: no such instruction");
  options.on_failure = OnFailure::outside;
  PartialProgram p = partial_lower(g, options);
  const HostTensors got = p.run(given(3)), want = nop()(g, given(3))(given(3));
  EXPECT_NEAR(got[0].number(4), want[0].number(4), 1e-5);
  EXPECT_EQ(p.regions()[1].failure, "no such instruction");
  EXPECT_NE(p.coverage().find("runs outside: no such instruction"), std::string::npos);
}

TEST(PartialLower, what_a_backend_throws_is_named_whatever_it_is) {
  const TracedGraph g = TracedGraph::parse(attention);
  PartialOptions options = refusing("_softmax");
  options.backend = [](const TracedGraph&, const HostTensors&) -> GraphCallable {
    throw std::runtime_error("out of paper");
  };
  EXPECT_EQ(message([&] { partial_lower(g, options).run(given(3)); }),
            "region `subgraph` @subgraph_0: out of paper");
  options.backend = [](const TracedGraph&, const HostTensors&) {
    return [](HostTensors&&) -> HostTensors { throw std::runtime_error("out of ink"); };
  };
  EXPECT_EQ(message([&] { partial_lower(g, options).run(given(3)); }),
            "region `subgraph` @subgraph_0: out of ink");
}

// Forty graphs, each of which calls the next twice: a trillion calls in a small file.
TEST(PartialLower, graphs_that_grow_by_calls_are_refused_and_not_unrolled) {
  std::string text = "graph @g0(%x: input f32[2]) {\n  %y = sin(%x)\n  return %y\n}\n";
  for (int k = 1; k <= 40; ++k)
    text += fmt::format(
        "graph @g{0}(%x: input f32[2]) {{\n  %a = call([%x]; graph=@g{1})\n"
        "  %b = call([%a]; graph=@g{1})\n  return %b\n}}\n",
        k, k - 1);
  const TracedGraph g = TracedGraph::parse(text);
  const HostTensors in{ramp({2})};
  EXPECT_NE(message([&] { native()(g, in); }).find("stands for more than 1048576 calls"),
            std::string::npos);
  EXPECT_EQ(partial_lower(g, {.least_calls = 1}).regions().size(), 1U);
}

TEST(PartialLower, no_gradient_repeats_an_effect) {
  const TracedGraph g = TracedGraph::parse(R"(
graph @part(%x: input f32[2]) {
  %y = opaque(%x)
  return %y
}
graph @main(%x: input f32[2] grad) {
  %y = call([%x]; graph=@part)
  return %y
})");
  EXPECT_NE(message([&] { aot_function(g); }).find("would repeat its effects"), std::string::npos);
}

TEST(PartialLower, a_backend_that_returns_nonsense_is_named) {
  const TracedGraph g = TracedGraph::parse(attention);
  const auto said = [&](const GraphCallable& callable) {
    PartialOptions options = refusing("_softmax");
    options.backend = [&](const TracedGraph&, const HostTensors&) { return callable; };
    return message([&] { partial_lower(g, options).run(given(3)); });
  };
  EXPECT_EQ(said({}), "region `subgraph` @subgraph_0: the backend returned no callable");
  EXPECT_EQ(said([](HostTensors&&) { return HostTensors(); }),
            "region `subgraph` @subgraph_0: its callable returned 0 tensors, expected 1");
  EXPECT_EQ(said([](HostTensors&&) { return HostTensors{HostTensor::scalar(1)}; }),
            "region `subgraph` @subgraph_0: its callable: result 0: f32[], expected f32[s,s]");
}

TEST(PartialLower, what_is_asked_wrongly_is_one_clear_error) {
  const TracedGraph g = TracedGraph::parse(attention);
  PartialOptions options = refusing("_softmax");
  options.least_calls = 0;
  EXPECT_EQ(message([&] { partial_lower(g, options); }),
            "partial_lower: least_calls is 0, expected 1 or more");
  options = refusing("_softmax");
  options.dumper = [](const std::string&) { return std::string(); };
  EXPECT_EQ(message([&] { partial_lower(g, options); }),
            "partial_lower: the tag of @subgraph_0 is empty");
  options = refusing("_softmax");
  options.backend = GraphCompiler();
  EXPECT_EQ(message([&] { partial_lower(g, options); }),
            "partial_lower: the compiler that it is given is empty");
  options = {};
  options.node = [](const GraphCall&) -> bool { throw std::runtime_error("mine"); };
  EXPECT_THROW(partial_lower(g, options), std::runtime_error);
  PartialProgram p = partial_lower(g, refusing("_softmax"));
  EXPECT_EQ(message([&] { p.run({ramp({3, 4})}); }), "@main: got 1 inputs, expected 3");
}

TEST(PartialLower, trains_through_a_partial_compiler) {
  const TracedGraph g = TracedGraph::parse(R"(
graph @main(%x: input f32[4,3], %w: param f32[3,3] grad) {
  %y = mm(%x, %w)
  %s = _softmax(%y; dim=1, half_to_float=false)
  %z = mm(%s, %w)
  return %z
})");
  const HostTensor x = ramp({4, 3}), w = ramp({3, 3}), dz = ramp({4, 3}, 1);
  PartialOptions options = refusing("_softmax");
  options.node = [](const GraphCall& call) { return call.op.find("softmax") == std::string::npos; };
  AotFunction parts = aot_function(g, {.forward = partial(options)}), whole = aot_function(g);
  EXPECT_NEAR(parts.forward({x, w})[0].number(3), whole.forward({x, w})[0].number(3), 1e-6);
  const HostTensor a = parts.backward({dz}).inputs[0], b = whole.backward({dz}).inputs[0];
  for (int64_t k = 0; k < 9; ++k) EXPECT_NEAR(a.number(k), b.number(k), 1e-5);
}

TEST(UncoveredCalls, are_those_without_a_kernel) {
  const TracedGraph g = TracedGraph::parse(R"(graph @main(%x: input f32[4], %i: input i64[2,3]) {
  %a = exp(%x)
  %b = all_reduce(%a; reduce_op="sum", group_name="0")
  %v = view(%i; size=[6])
  %c = all_reduce(%b; reduce_op="sum", group_name="0")
  return %c, %v
})");
  const std::vector<OutsideCall> out = uncovered_calls(g);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0].name, "b");
  EXPECT_EQ(out[1].name, "c");
  EXPECT_EQ(out[0].op, "all_reduce");
  EXPECT_EQ(out[0].reason.substr(0, 11), "no kernel: ");
}

TEST(UncoveredCalls, are_those_of_another_device) {
  const TracedGraph g =
      TracedGraph::parse("graph @main(%x: input f32[4]@cuda:0) {\n  %a = exp(%x)\n  return %a\n}");
  ASSERT_EQ(uncovered_calls(g).size(), 1U);
  EXPECT_NE(uncovered_calls(g)[0].reason.find("cuda:0"), std::string::npos);
  EXPECT_TRUE(uncovered_calls(g, Device::cuda(0)).empty());
}

TEST(UncoveredCalls, complex_numbers_are_parts) {
  const TracedGraph g = TracedGraph::parse(
      "graph @main(%x: input c64[4]) {\n  %a = mul(%x, %x) : c64[4]\n  return %a\n}");
  EXPECT_TRUE(uncovered_calls(g).empty());
}

TEST(UncoveredCalls, are_those_of_complex_numbers_that_stay_whole) {
  const TracedGraph g =
      TracedGraph::parse("graph @main(%x: input c64[4]) {\n  %a = mul(%x, %x)\n  return %a\n}", {},
                         ComplexTensors::whole);
  EXPECT_EQ(g.results()[0].type, "c64[4]");
  ASSERT_EQ(uncovered_calls(g).size(), 1U);
  EXPECT_EQ(uncovered_calls(g)[0].reason, "%x: complex numbers have no kernels");
}

}  // namespace
}  // namespace cleave
