// The code of doc/from_pytorch.md, between the lines `// [NAME]` and `// [end]`
// (script/check_readme compares the page with it). model.pt2 is test/import/exported/tiny.pt2,
// net.pt2 the one beside it; what PyTorch gave for them lies there too. The page's commands run in
// test/tool/import_test.py.
// tests: compilers/exported.cpp
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "cleave/cleave.h"

namespace cleave {
namespace {

const std::string models = CLEAVE_SOURCE_DIR "/test/import/exported/";

void expect_near(const HostTensor& got, const HostTensor& want, const std::string& what) {
  ASSERT_EQ(got.type_text(), want.type_text()) << what;
  for (int64_t k = 0; k < got.numel(); ++k)
    EXPECT_LE(std::abs(got.number(k) - want.number(k)),
              1e-5 * std::max(1.0, std::abs(want.number(k))))
        << what << "[" << k << "]";
}

struct FromPytorchPage : testing::Test {
  std::filesystem::path before = std::filesystem::current_path();
  NamedTensors tiny = load_tensors(models + "tiny.safetensors"),
               net = load_tensors(models + "net.safetensors");
  std::string folder = testing::TempDir() + "cleave_from_pytorch";

  FromPytorchPage() {
    std::filesystem::create_directories(folder);
    for (const auto& [from, to] : {std::pair("tiny.pt2", "/model.pt2"), {"net.pt2", "/net.pt2"}})
      std::filesystem::copy_file(models + from, folder + to,
                                 std::filesystem::copy_options::overwrite_existing);
    std::filesystem::current_path(folder);
  }
  ~FromPytorchPage() override {
    std::filesystem::current_path(before);
    std::filesystem::remove_all(folder);
  }
};

TEST_F(FromPytorchPage, run) {
  const HostTensor x = tiny.at("in.0"), shift = tiny.at("in.1");
  // [run]
  ExportedModel model = load_exported("model.pt2");
  GraphCallable run = native()(model.graph, model.operands({x, shift}));
  HostTensors results = run(model.operands({x, shift}));  // forward's tensors, then updates
  // [end]
  ASSERT_EQ(results.size(), 3u);
  expect_near(results[0], tiny.at("out.0"), "y");
  expect_near(results[1], tiny.at("out.1"), "the sum");
  expect_near(results[2], tiny.at("update.seen"), "seen");
  EXPECT_EQ(model.arguments, "((x, {\"shift\": d_shift}), {})");
  EXPECT_EQ(model.results, "{\"y\": out.0, \"rest\": (out.1, constant, None)}");
  EXPECT_EQ(model.ties.at("a.weight"), "b.weight");
}

TEST_F(FromPytorchPage, train) {
  const HostTensor x = tiny.at("in.0"), shift = tiny.at("in.1");
  HostTensor dy(DType::f32, {2, 3});
  for (int64_t k = 0; k < 6; ++k) dy.set_number(k, 1);
  // [train]
  ExportedModel model = load_exported("model.pt2");
  AotFunction f = aot_function(model.graph);
  HostTensors operands = model.operands({x, shift});
  std::vector<InputRef> inputs(operands.begin(), operands.end());
  HostTensor y = f.forward(inputs)[0];
  AotGradients gradients = f.backward({dy, HostTensor::scalar(1)});  // of model's parameters
  // [end]
  expect_near(y, tiny.at("out.0"), "y");
  size_t next = 0;
  for (const GraphValue& v : model.graph.inputs())
    if (v.role == "param")
      expect_near(gradients.inputs.at(next++), tiny.at("grad." + v.name), v.name);
  EXPECT_EQ(next, 3u);
}

TEST_F(FromPytorchPage, step) {
  const HostTensor x = net.at("in.0");
  const HostTensor label = HostTensor::from<int64_t>({2, 0, 1});
  std::vector<double> losses;
  // [step]
  GraphModule model = GraphModule::load("net.pt2");
  TrainStep step = train_step(
      model, [&](const Tensor& x, const Tensor& label) { return cross_entropy(model(x), label); },
      optim::AdamW({.lr = 1e-2}), {{"x", DType::f32, {3, 2, 5, 5}}, {"label", DType::i64, {3}}});
  for (int k = 0; k < 20; ++k) losses.push_back(step.run({x, label}).loss);
  save_weights("trained.safetensors", model);  // in PyTorch: load_state_dict(load_file(...))
  // [end]
  EXPECT_LT(losses.back(), 0.95 * losses.front());
  const Store store = model.store();
  EXPECT_EQ(load_tensors("trained.safetensors").size(), store.entries().size());
}

// One step of SGD at rate 1 takes away PyTorch's gradients; buffers are PyTorch's.
TEST_F(FromPytorchPage, a_step_has_the_gradients_of_pytorch) {
  const HostTensor x = net.at("in.0");
  const GraphModule model = GraphModule::load("net.pt2");
  NamedTensors before;
  for (const auto& [name, v] : model.named_parameters()) before[name] = v.value();
  TrainStep step = train_step(model, [&](const Tensor& a) { return model(a).sum(); },
                              optim::SGD({.lr = 1}), {{"x", DType::f32, {3, 2, 5, 5}}});
  step.run({x});
  for (const auto& [name, v] : model.named_parameters()) {
    HostTensor taken = before.at(name);
    for (int64_t k = 0; k < taken.numel(); ++k)
      taken.set_number(k, taken.number(k) - v.value().number(k));
    expect_near(taken, net.at("grad." + name), name);
  }
  for (const auto& [name, v] : model.named_buffers())
    expect_near(v.value(), net.at("update." + name), name);
  EXPECT_EQ(before.size(), 6u);
}

TEST_F(FromPytorchPage, ABatchOfAnotherSize) {
  const ExportedModel model = load_exported("net.pt2");
  const GraphCallable run = native()(model.graph, model.operands({net.at("in.0")}));
  const HostTensors results = run(model.operands({net.at("in.0")}));
  expect_near(results.at(0), net.at("out.0"), "y");
  for (size_t k = 1; const char* name : {"running_mean", "running_var", "num_batches_tracked"})
    expect_near(results.at(k++), net.at(std::string("update.norm.") + name), name);
  for (const int64_t batch : {7, 1})  // the file says 2 or more, of which PyTorch checks nothing
    EXPECT_EQ(run(model.operands({HostTensor(DType::f32, {batch, 2, 5, 5})})).at(0).shape(),
              (std::vector<int64_t>{batch, 3}));
}

TEST_F(FromPytorchPage, WrongOperandsAreRefused) {
  const ExportedModel model = load_exported("net.pt2");
  const HostTensor x = net.at("in.0");
  const auto refusal = [&](const HostTensors& inputs) -> std::string {
    try {
      (void)model.operands(inputs);
    } catch (const Error& e) { return e.what(); }
    return "accepted";
  };
  EXPECT_EQ(refusal({}), "operands: 0 inputs, and x is one more");
  EXPECT_EQ(refusal({x, x}), "operands: 2 inputs, the model has 1");
  EXPECT_EQ(refusal({HostTensor(DType::f64, {3, 2, 5, 5})}),
            "operands: x is f64[3,2,5,5], the graph has f32[s77,2,5,5]");
  EXPECT_EQ(refusal({HostTensor(DType::f32, {3, 3, 5, 5})}), "%x: dim 1 is 3, expected 2");
  EXPECT_EQ(refusal({HostTensor(DType::f32, {9, 2, 5, 5})}), "accepted");
}

}  // namespace
}  // namespace cleave
