// The code of doc/compilers.md, between the lines `// [NAME]` and `// [end]` (script/check_readme
// compares the page with it), and what it prints there: the block ```text below the code. With
// CLEAVE_BLESS=1 the blocks are written, to be read before they are committed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cleave/cleave.h"

namespace cleave {
namespace {

const char* const page_file = CLEAVE_SOURCE_DIR "/doc/compilers.md";

std::string contents(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Of `name`'s block of output in the page: where it begins, and how long it is.
std::pair<size_t, size_t> block_of(const std::string& page, const std::string& name) {
  const std::string begin = "\n```text\n";
  const size_t code = page.find("compilers_page_test.cpp#" + name + " -->");
  const size_t at = page.find(begin, code), next = page.find("<!-- example:", code);
  if (code == std::string::npos || at == std::string::npos || at > next) return {page.size(), 0};
  const size_t from = at + begin.size();
  return {from, page.find("\n```", from - 1) + 1 - from};
}

struct CompilersPage : testing::Test {
  std::ostringstream out;
  std::string folder = testing::TempDir() + "cleave_page_" + std::to_string(getpid());

  CompilersPage() {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  ~CompilersPage() override { std::filesystem::remove_all(folder); }

  // The page shows this as the output of its block; the folder's name is FOLDER there.
  void expect_shown(const std::string& name) const {
    std::string text = out.str(), page = contents(page_file);
    for (size_t at; (at = text.find(folder)) != std::string::npos;)
      text.replace(at, folder.size(), "FOLDER");
    const auto [from, size] = block_of(page, name);
    ASSERT_LT(from, page.size()) << "doc/compilers.md has no output of " << name;
    if (std::getenv("CLEAVE_BLESS") != nullptr)
      std::ofstream(page_file) << page.replace(from, size, text);
    else
      EXPECT_EQ(page.substr(from, size), text) << "doc/compilers.md#" << name;
  }
};

const char* const halves = R"(
graph @main(%x: input f32[2,2] grad, %w: input f32[2,2] grad) {
  %h = mm(%x, %w)
  %y = tanh(%h)
  return %y
})";

HostTensor matrix(std::vector<float> v) { return HostTensor::from<float>(v).reshaped({2, 2}); }

TEST_F(CompilersPage, graph) {
  // [graph]
  const TracedGraph graph = TracedGraph::parse(R"(
    graph @main(%x: input f32[2,2], %w: input f32[2,2]) {
      %h = mm(%x, %w)
      %y = tanh(%h)
      return %y
    })");
  for (const GraphValue& v : graph.inputs())
    out << v.role << " " << v.name << " " << v.type << "\n";
  for (const GraphCall& c : graph.calls()) out << c.op << " of " << c.operands[0] << "\n";
  // [end]
  expect_shown("graph");
}

const TracedGraph& tanh_graph() {
  static const TracedGraph graph = TracedGraph::parse(
      "graph @main(%x: input f32[2,2], %w: input f32[2,2]) {\n  %h = mm(%x, %w)\n"
      "  %y = tanh(%h)\n  return %y\n}\n");
  return graph;
}

struct Pages : CompilersPage {
  const TracedGraph& graph = tanh_graph();
  HostTensor x = matrix({1, 2, 3, 4}), w = matrix({0.5f, 0, 0, 0.25f});
};

TEST_F(Pages, native) {
  // [native]
  GraphCallable run = native()(graph, {x, w});  // compiled now, for the sizes of the examples
  out << run({x, w})[0] << "\n";
  // [end]
  expect_shown("native");
}

TEST_F(Pages, nop) {
  // [nop]
  GraphCallable oracle = nop()(graph, {x, w});
  out << oracle({x, w})[0] << "\n";
  // [end]
  expect_shown("nop");
}

TEST_F(Pages, print_compile) {
  testing::internal::CaptureStdout();
  // [print_compile]
  GraphCallable run = print_compile(native())(graph, {x, w});  // prints, then compiles
  // [end]
  out << testing::internal::GetCapturedStdout();
  EXPECT_EQ(run({x, w}).size(), 1u);
  expect_shown("print_compile");
}

TEST_F(Pages, draw_compile) {
  testing::internal::CaptureStdout();
  // [draw_compile]
  draw_compile(folder + "/graph")(graph, {x, w});
  out << std::filesystem::file_size(folder + "/graph.svg") / 1000 << " KB of SVG\n";
  // [end]
  testing::internal::GetCapturedStdout();
  expect_shown("draw_compile");
}

TEST_F(Pages, script) {
  // [script]
  const TracedGraph loose = TracedGraph::parse(R"(
    graph @main(%x: input f32[2,2]) {
      %same = _to_copy(%x; dtype=f32)
      %ones = ones(; size=[2,2])
      %two = mul(%ones; other=2.0)
      %y = mul(%same, %two)
      return %y
    })");
  out << script()(loose, {x})({x})[0] << "\n";
  out << simple_script()(loose, {x})({x})[0] << "\n";
  // [end]
  expect_shown("script");
}

TEST_F(Pages, debug_nop) {
  // [debug_nop]
  // A compiler of single calls with a defect: its tanh is a sine.
  GraphCompiler wrong = [](const TracedGraph& call, const HostTensors& examples) {
    std::string text = call.text();
    if (const size_t at = text.find("tanh("); at != std::string::npos) text.replace(at, 4, "sin");
    return native()(TracedGraph::parse(text), examples);
  };
  try {
    debug_nop(wrong)(graph, {x, w})({x, w});
  } catch (const Error& e) { out << e.what() << "\n"; }
  // [end]
  expect_shown("debug_nop");
}

TEST_F(Pages, aot_function) {
  // [aot_function]
  AotFunction f = aot_function([](const Tensor& x, const Tensor& w) { return tanh(matmul(x, w)); },
                               {{"x", DType::f32, {2, 2}}, {"w", DType::f32, {2, 2}}},
                               {.wants_grad = {"w"}, .partition = Partitioner::pytorch()});
  out << f.forward({x, w})[0] << "\n";
  out << f.backward({matrix({1, 0, 0, 0})}).inputs[0] << "\n";
  for (const GraphValue& v : f.backward_graph().inputs()) out << v.role << " " << v.name << "\n";
  // [end]
  expect_shown("aot_function");
}

TEST_F(Pages, partition) {
  // [partition]
  for (const auto& [name, partition] : {std::pair("standard", Partitioner::standard()),
                                        {"pytorch", Partitioner::pytorch(0)},
                                        {"exact", Partitioner::exact()},
                                        {"own", Partitioner::own([](const TracedGraph&) {
                                           return std::vector<std::string>{"y"};
                                         })}}) {
    AotFunction f = aot_function(TracedGraph::parse(R"(
        graph @main(%x: input f32[2,2] grad) {
          %y = sin(%x)
          %z = exp(%y)
          %s = sum(%z; dim=[])
          return %s
        })"),
                                 {.partition = partition});
    f.forward({x});
    out << name << " keeps";
    for (const GraphValue& v : f.backward_graph().inputs()) out << " " << v.name;
    out << "\n";
  }
  // [end]
  expect_shown("partition");
}

TEST_F(Pages, module) {
  Generator rng(7);
  const std::vector<InputSpec> specs = {{"x", DType::f32, {2, 2}}};
  // [module]
  nn::Linear layer(2, 1, rng);
  AotOptions fused = memory_efficient_fusion();  // change what you like of them
  fused.partition = Partitioner::exact();
  AotFunction f =
      aot_module(layer, [&](const Tensor& t) { return sum(gelu(layer(t))); }, specs, fused);
  f.forward({x});
  for (const auto& [name, gradient] : f.backward().parameters)
    out << name << " " << gradient.type_text() << "\n";
  AotFunction g = aot_function([](const Tensor& t) { return gelu(t); }, specs, nnc_jit());
  out << g.forward({x})[0].type_text() << "\n";
  // [end]
  expect_shown("module");
}

TEST_F(Pages, decompositions) {
  // [decompositions]
  const TracedGraph silu = TracedGraph::parse(R"(
    graph @main(%g: input f32[4], %x: input f32[4]) {
      %y = silu_backward(%g, %x)
      return %y
    })");
  for (const GraphCall& c : Decompositions::defaults().apply(silu).calls()) out << c.op << " ";
  out << "\n";
  for (const GraphCall& c :
       Decompositions::defaults().without({"silu_backward"}).apply(silu).calls())
    out << c.op << "\n";
  // [end]
  expect_shown("decompositions");
}

TEST_F(Pages, graph_dumper) {
  // [graph_dumper]
  AotFunction f = aot_function(TracedGraph::parse(halves), graph_dumper("net", folder));
  f.forward({x, w});
  f.backward({x});
  for (const char* kind : {"joint", "forward", "backward"}) {
    const std::string name = std::string("net_") + kind + "_0";
    const HostTensors inputs = get_inputs(folder + "/net/" + name + "/" + name + ".input");
    out << name << ": " << inputs.size() << " inputs, the last " << inputs.back().type_text()
        << "\n";
  }
  // [end]
  expect_shown("graph_dumper");
}

TEST_F(Pages, debug_compile) {
  testing::internal::CaptureStdout();
  // [debug_compile]
  debug_compile(folder + "/seen")(graph, {x, w});  // prints the line that repeats the run
  // [end]
  out << testing::internal::GetCapturedStdout();
  expect_shown("debug_compile");
}

TEST_F(Pages, partial) {
  // [partial]
  PartialProgram low = partial_lower(
      graph, {.node = [](const GraphCall& c) { return c.op != "tanh"; }, .least_calls = 1});
  out << low.graph().text() << low.run({x, w})[0] << "\n";
  for (const OutsideCall& c : low.outside()) out << c.name << ": " << c.reason << "\n";
  // [end]
  expect_shown("partial");
}

}  // namespace
}  // namespace cleave
