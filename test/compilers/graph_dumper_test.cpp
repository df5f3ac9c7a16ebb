// Graphs and inputs of a function as files.
// tests: graph_dumper.cpp dump_files.cpp get_inputs.cpp draw_compile.cpp
#include "cleave/graph_dumper.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cleave/cleave.h"
#include "runtime/private_folder.h"
#include "test/compilers/ramp.h"
#include "test/emulated.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;
using test::ramp;

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

const std::vector<InputSpec> dumped_specs{{"x", DType::f32, {4, 3}}, {"w", DType::f32, {3, 2}}};

Tensor dumped_layer(const Tensor& x, const Tensor& w) { return tanh(matmul(x, w)); }

struct GraphDumper : testing::Test {
  std::unique_ptr<runtime::PrivateFolder> place =
      value_or_throw(runtime::PrivateFolder::make(testing::TempDir()));
  std::string folder = place->path() + "/dumped";
  AotFunction dumped(std::vector<std::string> wants_grad) const {
    AotOptions options = graph_dumper("net", folder, true);
    options.wants_grad = std::move(wants_grad);
    return aot_function(dumped_layer, dumped_specs, options);
  }
  std::string file(const std::string& kind, const std::string& end) const {
    return fmt::format("{0}/net/net_{1}/net_{1}.{2}", folder, kind, end);
  }
};

TEST_F(GraphDumper, writes_each_graph_and_goes_on_running) {
  AotFunction f = dumped({"w"});
  const HostTensor x = ramp({4, 3}), w = ramp({3, 2});
  f.forward({x, w});
  EXPECT_FALSE(std::filesystem::exists(file("backward_0", "clv")));
  f.backward({ramp({4, 2})});
  EXPECT_EQ(text_of(file("joint_0", "clv")), f.joint_graph().text());
  EXPECT_EQ(text_of(file("forward_0", "clv")), f.forward_graph().text());
  EXPECT_EQ(text_of(file("backward_0", "clv")), f.backward_graph().text());
  // What is dumped is what runs.
  const NamedTensors given = load_tensors(file("forward_0", "safetensors"));
  const TracedGraph g = TracedGraph::parse(text_of(file("forward_0", "clv")));
  HostTensors in;
  for (const GraphValue& v : g.inputs()) in.push_back(given.at(v.name));
  EXPECT_TRUE(native()(g, in)(HostTensors(in))[0].same_bits(f.forward({x, w})[0]));
}

TEST_F(GraphDumper, an_input_file_has_the_types_and_makes_inputs) {
  AotFunction f = dumped({"w"});
  f.forward({ramp({4, 3}), ramp({3, 2})});
  EXPECT_EQ(text_of(file("forward_0", "input")),
            "[{\"kind\":\"tensor\",\"shape\":[4,3],\"stride\":[3,1],\"dtype\":\"f32\",\"device\":"
            "\"cpu\"},{\"kind\":\"tensor\",\"shape\":[3,2],\"stride\":[2,1],\"dtype\":\"f32\","
            "\"device\":\"cpu\"}]\n");
  const HostTensors in = get_inputs(file("forward_0", "input"), 3);
  ASSERT_EQ(in.size(), 2U);
  EXPECT_EQ(in[0].type_text(), "f32[4,3]");
  for (const double v : in[0].to_vector<double>()) {
    EXPECT_GE(v, 0);
    EXPECT_LT(v, 1);
  }
  EXPECT_FALSE(in[0].same_bits(get_inputs(file("forward_0", "input"), 4)[0]));
  EXPECT_TRUE(in[0].same_bits(get_inputs(file("forward_0", "input"), 3)[0]));
  const std::string joint = text_of(file("joint_0", "input"));
  EXPECT_EQ(joint.substr(0, 3), "[[{");
  EXPECT_NE(joint.find("}],[{"), std::string::npos);  // the tangents
  EXPECT_EQ(get_inputs(file("joint_0", "input")).size(), 3U);
}

TEST_F(GraphDumper, the_number_grows_behind_each_backward) {
  AotFunction f = dumped({"w"});
  const HostTensor x = ramp({4, 3}), w = ramp({3, 2});
  f.forward({x, w});
  f.backward({ramp({4, 2})});
  AotOptions options = graph_dumper("net", folder);
  options.wants_grad = {"x"};
  for (int k = 0; k < 2; ++k) {
    AotFunction g = aot_function(dumped_layer, dumped_specs, options);
    g.forward({x, w});
    g.backward({ramp({4, 2})});
  }
  EXPECT_TRUE(std::filesystem::exists(file("backward_1", "clv")));
  EXPECT_TRUE(std::filesystem::exists(file("joint_1", "input")));
  EXPECT_FALSE(std::filesystem::exists(file("backward_1", "safetensors")));
  EXPECT_FALSE(std::filesystem::exists(file("forward_2", "clv")));
}

TEST_F(GraphDumper, without_a_gradient_there_is_a_forward_alone) {
  AotFunction f = dumped({});
  f.forward({ramp({4, 3}), ramp({3, 2})});
  EXPECT_TRUE(std::filesystem::exists(file("forward_0", "clv")));
  EXPECT_FALSE(std::filesystem::exists(file("joint_0", "clv")));
}

TEST_F(GraphDumper, a_graph_without_calls_is_a_warning) {
  testing::internal::CaptureStderr();
  AotFunction f = aot_function([](const Tensor& x) { return x; }, {{"x", DType::f32, {2}}},
                               graph_dumper("net", folder));
  EXPECT_EQ(f.forward({ramp({2})})[0].numel(), 2);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("net_forward_0 has no calls"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(GraphDumper, a_folder_that_cannot_be_made_is_an_error_with_the_reason) {
  std::ofstream(folder) << "a file";
  const std::string said = message([&] { dumped({"w"}); });
  EXPECT_NE(said.find(folder), std::string::npos);
  EXPECT_NE(said.find("can't be made"), std::string::npos);
}

TEST_F(GraphDumper, get_inputs_keeps_strides_and_kinds) {
  std::ofstream(folder) << R"([{"kind":"tensor","shape":[2,3],"stride":[1,2],"dtype":"bf16",
      "device":"cpu"}, {"kind":"tensor","shape":[2],"stride":[0],"dtype":"i64","device":"cpu"},
      {"kind":"int"}, {"kind":"float"}, {"kind":"bool"}])";
  const HostTensors in = get_inputs(folder);
  ASSERT_EQ(in.size(), 5U);
  EXPECT_EQ(in[0].type_text(), "bf16[2,3]{1,2}");
  for (const double v : in[0].to_vector<double>()) EXPECT_LT(v, 1);
  EXPECT_EQ(in[1].to_vector<int64_t>(), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(in[2].type_text(), "i64[]");
  EXPECT_EQ(in[3].type_text(), "f64[]");
  EXPECT_EQ(in[4].type_text(), "bool[]");
}

TEST_F(GraphDumper, a_file_that_holds_no_inputs_is_an_error_with_the_place) {
  const auto said = [&](const std::string& text) {
    std::ofstream(folder) << text;
    const std::string all = message([&] { get_inputs(folder); });
    EXPECT_EQ(all.find(folder), 0U) << all;
    return all.substr(std::min(all.size(), folder.size() + 2));
  };
  EXPECT_EQ(message([&] { get_inputs(folder); }), folder + ": the file can't be read");
  EXPECT_EQ(said("nonsense"), "it is no JSON");
  EXPECT_EQ(said("{}"), "expected a list of inputs, or two of them");
  EXPECT_EQ(said("[3]"), "input 0: kind: expected a text");
  EXPECT_EQ(said(R"([{"kind":"int"},{"kind":"image"}])"),
            "input 1: kind: expected tensor, int, float or bool");
  EXPECT_EQ(said(R"([{"kind":"tensor","dtype":"q8","shape":[],"stride":[]}])"),
            "input 0: dtype: expected one of cleave's, such as \"f32\"");
  EXPECT_EQ(said(R"([{"kind":"tensor","dtype":"f32","shape":["s0"],"stride":[1]}])"),
            "input 0: shape: expected numbers from 0 on; those of symints are to be put in");
  EXPECT_EQ(said(R"([{"kind":"tensor","dtype":"f32","shape":[2],"stride":[]}])"),
            "input 0: stride: expected a number from 0 on for each dim");
  EXPECT_NE(
      said(R"([{"kind":"tensor","dtype":"f32","shape":[99999999999,99999999999],"stride":[1,1]}])"),
      "");
}

TEST_F(GraphDumper, draw_compile_draws_small_graphs_and_writes_large_ones_for_graphviz) {
  std::string text = "graph @main(%x: input f32[3]) {\n  %y0 = relu(%x)\n";
  const TracedGraph small = TracedGraph::parse(text + "  return %y0\n}\n");
  for (int k = 1; k <= 200; ++k) text += fmt::format("  %y{} = sin(%y{})\n", k, k - 1);
  const TracedGraph large = TracedGraph::parse(text + "  return %y200\n}\n");
  const HostTensors in{ramp({3})};
  testing::internal::CaptureStdout();
  const GraphCallable f = draw_compile(folder)(small, in);
  draw_compile(folder, true)(large, in);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), small.text() + large.text());
  EXPECT_EQ(text_of(folder + ".svg").substr(0, 4), "<svg");
  EXPECT_EQ(text_of(folder + ".dot").substr(0, 16), "digraph \"main\" {");
  EXPECT_EQ(text_of(folder + ".dot").find("f32["), std::string::npos);
  EXPECT_EQ(f(HostTensors(in)).size(), 1U);
  EXPECT_NE(message([&] { draw_compile(folder + "/none/g")(small, in); }), "");
}

TEST_F(GraphDumper, debug_compile_leaves_a_line_that_repeats_the_run) {
  const TracedGraph g =
      TracedGraph::parse("graph @main(%x: input f32[2,3]) {\n  %y = relu(%x)\n  return %y\n}\n");
  const HostTensors in{ramp({2, 3})};
  testing::internal::CaptureStdout();
  const GraphCallable f = debug_compile(folder)(g, in);
  const std::string line = testing::internal::GetCapturedStdout();
  EXPECT_EQ(line, text_of(folder + "/repeat.txt"));
  const HostTensor y = f(HostTensors(in))[0];
  const std::string command = test::command_folder().string() + "/" + line;
  ASSERT_EQ(std::system((command.substr(0, command.size() - 1) + " > /dev/null 2>&1").c_str()), 0)
      << command;
  EXPECT_TRUE(load_tensors(folder + "/results.safetensors").at("out.0").same_bits(y));
}

}  // namespace
}  // namespace cleave
