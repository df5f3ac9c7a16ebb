// The code of doc/from_onnx.md, between the lines `// [NAME]` and `// [end]` (script/check_readme
// compares the page with it).
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cleave/cleave.h"
#include "test/import/onnx_file.h"

namespace cleave {
namespace {

// A folder with model.onnx: relu(x w + b) of x[batch,2].
struct FromOnnxPage : testing::Test {
  std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("cleave_onnx_page_" + std::to_string(getpid()));

  FromOnnxPage() {
    std::filesystem::create_directories(folder);
    std::filesystem::current_path(folder);
    OnnxFile f;
    f.input("x", {0, 2}, onnx::Element::f32, {"batch"});
    f.initializer("w", HostTensor::from<float>({1, 2, 3, 4}, {2, 2}));
    f.initializer("b", HostTensor::from<float>({-5, 0}));
    f.node("Gemm", {"x", "w", "b"}, {"h"}).node("Relu", {"h"}, {"y"}).output("y");
    std::ofstream("model.onnx", std::ios::binary) << f.bytes();
    OnnxFile shaped;
    shaped.input("x", {4}).input("shape", {2}, onnx::Element::i64);
    shaped.node("Reshape", {"x", "shape"}, {"y"}).output("y");
    std::ofstream("shaped.onnx", std::ios::binary) << shaped.bytes();
  }
  ~FromOnnxPage() override {
    std::filesystem::current_path(before);
    std::filesystem::remove_all(folder);
  }
};

TEST_F(FromOnnxPage, Run) {
  const HostTensor x = HostTensor::from<float>({1, 1}, {1, 2});
  // [run]
  const OnnxModel model = load_onnx("model.onnx");
  const GraphCallable run = native()(model.graph, model.operands({x}));
  const HostTensor y = run(model.operands({x}))[0];
  // [end]
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 6}));
}

TEST_F(FromOnnxPage, Inputs) {
  const OnnxModel model = load_onnx("model.onnx");
  std::ostringstream out;
  // [inputs]
  for (const GraphValue& v : model.graph.inputs())
    out << v.role << " " << v.name << " " << v.type << "\n";
  // [end]
  EXPECT_EQ(out.str(),
            "symint batch i64[]\ninput x f32[batch,2]\nparam w f32[2,2]\nparam b f32[2]\n");
}

TEST_F(FromOnnxPage, Fixed) {
  // [fixed]
  OnnxOptions options;
  options.fixed["shape"] = HostTensor::from<int64_t>({2, 2});
  const OnnxModel model = load_onnx("shaped.onnx", options);
  // [end]
  EXPECT_EQ(model.graph.results()[0].type, "f32[2,2]");
}

TEST_F(FromOnnxPage, Written) {
  // [written]
  const TracedGraph graph = TracedGraph::parse(R"(
    graph @main(%batch: symint range(1,64), %w: param f32[2,3], %x: input f32[batch,2]) {
      %h = mm(%x, %w)
      %y = relu(%h)
      return %y
    })");
  const NamedTensors weights = {{"w", HostTensor::from<float>({1, 0, -1, 0, 1, 0}, {2, 3})}};
  write_onnx("written.onnx", graph, {.weights = weights});
  // [end]
  const OnnxModel model = load_onnx("written.onnx");
  const HostTensor x = HostTensor::from<float>({3, 4}, {1, 2});
  const GraphCallable run = native()(model.graph, model.operands({x}));
  EXPECT_EQ(run(model.operands({x}))[0].to_vector<float>(), (std::vector<float>{3, 4, 0}));
  EXPECT_EQ(model.producer, "cleave");
  EXPECT_EQ(model.opset, 21);
}

TEST_F(FromOnnxPage, NotWritten) {
  std::string text;
  // [not_written]
  const TracedGraph graph = TracedGraph::parse(R"(
    graph @main(%x: input f32[2], %m: buffer f32[2], %rng: rng_state i64[2]) {
      %n = randn(%rng; size=[2], stream=0)
      %y = add(%x, %n)
      return %y, %y -> %m
    })");
  try {
    write_onnx("noise.onnx", graph);
  } catch (const Error& e) { text = e.what(); }
  // [end]
  EXPECT_EQ(text,
            "2 kinds of calls can't be written as ONNX\n"
            "  1 x randn: draws random numbers\n"
            "  1 x update of %m: a model of ONNX has no state");
}

TEST_F(FromOnnxPage, Refused) {
  std::string text;
  // [refused]
  try {
    load_onnx("shaped.onnx");
  } catch (const Error& e) { text = e.what(); }
  // [end]
  EXPECT_EQ(text,
            "shaped.onnx: 1 kinds of calls aren't covered\n"
            "  1 x Reshape: its shape is computed from what the program is given");
}

}  // namespace
}  // namespace cleave
