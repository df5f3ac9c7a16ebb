// Everything that takes a HostTensor gives the same for tensors of other strides.
// tests: weights.cpp match_tensors.cpp data/memory_source.cpp trace/store.cpp
// tests: exec/check_operator.cpp
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

// The same elements, column-major with gaps.
HostTensor strided(const HostTensor& t) {
  std::vector<int64_t> strides;
  int64_t inner = 2;
  for (const int64_t d : t.shape()) {
    strides.push_back(inner);
    inner *= d + 1;
  }
  HostTensor out(t.dtype(), t.shape(), strides);
  out.copy_from(t);
  EXPECT_FALSE(out.is_row_major());
  return out;
}

constexpr DType types[] = {DType::f32, DType::f64, DType::bf16, DType::i64, DType::boolean};

TEST(TensorLayout, of_files) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("cleave_layout." + std::to_string(getpid()) + ".safetensors");
  Generator rng(1);
  for (const DType dtype : types) {
    const HostTensor t = rng.normal({3, 4}, 0, 4).to(dtype);
    save_tensors(path, {{"a", strided(t)}, {"b", t}, {"c", strided(rng.normal({2}))}});
    const NamedTensors back = load_tensors(path);
    EXPECT_TRUE(back.at("a").same_bits(t) && back.at("b").same_bits(t));
    EXPECT_TRUE(back.at("a").is_row_major());
  }
  std::filesystem::remove(path);
}

TEST(TensorLayout, of_variables) {
  Generator rng(2);
  for (const DType dtype : types) {
    const HostTensor t = rng.normal({3, 4}, 0, 4).to(dtype);
    Variable made("v", strided(t), VariableKind::buffer);
    EXPECT_TRUE(made.value().is_row_major());
    EXPECT_TRUE(made.value().same_bits(t));
    Variable set("v", HostTensor(dtype, {3, 4}), VariableKind::buffer);
    set.set(strided(t));
    EXPECT_TRUE(set.value().same_bits(t));
    EXPECT_EQ(message([&] { set.bind(strided(t), Contents::of_variable); }),
              "v: bind: got memory of " + strided(t).type_text() + ", expected " + t.type_text());
    nn::Module module;
    EXPECT_TRUE(module.add_buffer("b", strided(t)).value().same_bits(t));
    const CompiledFunction f =
        compile([&](const Tensor& x) { return Tensors{x, constant(strided(t))}; },
                {{"x", DType::f32, {1}}});
    CompiledFunction run = f;
    EXPECT_TRUE(run.run({HostTensor(DType::f32, {1})})[1].same_bits(t));
  }
}

TEST(TensorLayout, of_data) {
  Generator rng(3);
  const HostTensor x = rng.normal({6, 2, 3}), y = rng.integers({6}, 0, 9);
  const auto taken = [](HostTensors rows) {
    data::Batches batches(data::tensors(std::move(rows)), {.size = 4, .seed = 5});
    HostTensors out;
    for (int i = 0; i < 3; ++i)
      for (const HostTensor& t : batches.next()) out.push_back(t);
    return out;
  };
  const HostTensors want = taken({x, y}), got = taken({strided(x), strided(y)});
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(got[k].same_bits(want[k]));
  const HostTensor scores = rng.normal({6, 9});
  for (const int64_t top : {1, 3})
    EXPECT_EQ(accuracy(strided(scores), strided(y), top), accuracy(scores, y, top));
}

TEST(TensorLayout, of_results_and_operands_of_a_reference) {
  Operators ops;
  ops.add({.name = "doubled",
           .signature = "(Tensor x) -> Tensor",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference =
               [](const OpCall&, const HostTensors& in, HostTensors& out) {
                 for (int64_t k = 0; k < in[0].numel(); ++k)
                   out[0].set_number(k, 2 * in[0].number(k));
                 out[0] = strided(out[0]);
               },
           .callback =
               [](const OpCall&) {
                 return [](const OpMemory& m) {
                   for (size_t k = 0; k < m.operand<float>(0).size(); ++k)
                     m.result<float>(0)[k] = 2 * m.operand<float>(0)[k];
                 };
               }});
  check_operator(ops, "doubled", {strided(Generator(4).normal({3, 4}))});
}

// A step's inputs, its results, and copies of what it keeps.
TEST(TensorLayout, of_training) {
  const auto trained = [](const std::vector<int64_t>& strides) {
    Generator rng(5);
    nn::Linear model(4, 2, rng);
    TrainStep step =
        train_step(model, [&](const Tensor& x) { return Tensors{mean(square(model(x))), x}; },
                   optim::SGD({.lr = 0.1}), {{"x", DType::f32, {3, 4}, strides}});
    HostTensor x(DType::f32, {3, 4}, strides.empty() ? std::vector<int64_t>{4, 1} : strides);
    x.copy_from(rng.normal({3, 4}));
    for (int i = 0; i < 3; ++i) step.run({x});
    EXPECT_TRUE(step.output(0).same_bits(x));
    EXPECT_EQ(step.output(0).strides(), x.strides());
    EXPECT_EQ(step.report().outputs.at(1).type, x.type_text());
    return HostTensor(model.parameter("weight").value());
  };
  EXPECT_TRUE(trained({}).same_bits(trained({1, 3})));
  EXPECT_TRUE(trained({}).same_bits(trained({9, 2})));
  EXPECT_TRUE(trained({0, 1}).is_row_major());
}

}  // namespace
}  // namespace cleave
