#include <unistd.h>

#include <filesystem>

#include "test/export/exported.h"

namespace cleave::to_onnx {
namespace {

namespace fs = std::filesystem;

struct WriteModel : testing::Test {
  fs::path folder =
      fs::path(testing::TempDir()) / ("cleave_write_model_" + std::to_string(getpid()));
  std::map<std::string, HostTensor> weights = {
      {"w", HostTensor::from<float>(std::vector<float>(300, 0.5f), {300})},
      {"v", HostTensor::from<float>(std::vector<float>(257, 2), {257})},
      {"b", HostTensor::from<float>({3}, {1})}};
  Graph graph = graph_of(R"(
graph @main(%w: param f32[300], %v: param f32[257], %b: param f32[1], %x: input f32[]) {
  %a = sum(%w)
  %c = sum(%v)
  %y = add(%a, %c)
  %z = add(%y, %b)
  %r = mul(%z, %x)
  return %r
})");

  WriteModel() { fs::create_directories(folder); }
  ~WriteModel() override { fs::remove_all(folder); }
  std::string path() const { return (folder / "m.onnx").string(); }

  double result() {
    const auto m = value_or_throw(onnx::import_onnx(path(), registry()));
    std::map<std::string, Array> given;
    for (const auto& [name, t] : m.weights) given[name] = onnx::as_array(t);
    given["x"] = Array(DType::f32, {});
    given["x"].f = {2};
    return value_or_throw(interpret(m.program.main, given))[0].f[0];
  }
};

TEST_F(WriteModel, SmallModelsAreOneFile) {
  const auto m = value_or_throw(export_onnx(graph, registry(), {.weights = &weights}));
  ASSERT_TRUE(write_model(path(), m.model).ok());
  EXPECT_FALSE(fs::exists(path() + ".data"));
  EXPECT_EQ(result(), 2 * (150 + 514 + 3));
}

TEST_F(WriteModel, LargeOnesHaveTheirTensorsBesideThem) {
  const auto m = value_or_throw(export_onnx(graph, registry(), {.weights = &weights}));
  ASSERT_TRUE(write_model(path(), m.model, {.largest_model = 1500}).ok());
  EXPECT_EQ(fs::file_size(path() + ".data"), 4096u + 257 * 4);
  EXPECT_LT(fs::file_size(path()), 1500u);
  EXPECT_EQ(result(), 2 * (150 + 514 + 3));
}

TEST_F(WriteModel, TooManyNodesAreAnError) {
  const auto m = value_or_throw(export_onnx(graph, registry(), {.weights = &weights}));
  const Status s = write_model(path(), m.model, {.largest_model = 100});
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.failure().message.find("without its tensors, at most 100 can be read"),
            std::string::npos);
}

TEST_F(WriteModel, AFolderThatIsMissingIsAnError) {
  const auto m = value_or_throw(export_onnx(graph, registry()));
  const Status s = write_model((folder / "none" / "m.onnx").string(), m.model);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.failure().kind, ErrorKind::user);
}

}  // namespace
}  // namespace cleave::to_onnx
