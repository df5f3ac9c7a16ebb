// nn::clone and Module::copy_from.
#include <gtest/gtest.h>

#include "cleave/nn_norm.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

// Holds its children in every way that a copy must follow.
struct Everything : nn::Module {
  nn::Linear member;
  nn::Sequential chain;
  nn::ModuleList<nn::Linear> list;
  nn::BatchNorm1d norm;  // holds Variables
  Variable scale;
  std::function<Tensor(const Tensor&)> captured;
  explicit Everything(Generator& rng)
      : member(add_module("member", nn::Linear(3, 3, rng))),
        chain(add_module("chain", nn::Sequential(nn::Linear(3, 3, rng), nn::Tanh()))),
        list(add_module("list", nn::ModuleList<nn::Linear>())),
        norm(add_module("norm", nn::BatchNorm1d(3))),
        scale(add_parameter("scale", HostTensor::scalar(2, DType::f32))) {
    for (int k = 0; k < 3; ++k) list.push_back(nn::Linear(3, 3, rng));
    const nn::Linear inner = add_module("inner", nn::Linear(3, 3, rng));
    captured = [inner](const Tensor& x) { return inner(x); };
    add_module("tied", nn::Linear(3, 3, rng)).share("weight", member.parameter("weight"));
    add_buffer("seen", HostTensor(DType::i64, {2}));
  }
  Tensor operator()(const Tensor& x) const {
    Tensor y = norm(captured(chain(member(x)))) * scale;
    for (const nn::Linear& l : list) y = l(y);
    return y;
  }
};

HostTensor value_of(const Everything& m) {
  const CompiledFunction f =
      compile([&](const Tensor& x) { return m(x); }, {{"x", DType::f32, {1, 3}}});
  return CompiledFunction(f).run({HostTensor::from<float>({1, 2, 3}, {1, 3})})[0];
}

void fill(const nn::Module& m, double value) {
  for (auto& [name, v] : m.named_parameters()) {
    HostTensor t(v.dtype(), v.shape());
    for (int64_t k = 0; k < t.numel(); ++k) t.set_number(k, value);
    Variable(v).set(t);
  }
}

TEST(Clone, has_the_same_values_and_none_of_the_same_variables) {
  Generator rng(3);
  Everything original(rng);
  original.list[1].parameter("bias").set_requires_grad(false);
  original.chain.eval();
  const Everything copy = nn::clone(original);
  const auto mine = original.named_parameters(), theirs = copy.named_parameters();
  ASSERT_EQ(mine.size(), theirs.size());  // so the tied weight is tied
  for (size_t k = 0; k < mine.size(); ++k) {
    EXPECT_EQ(mine[k].first, theirs[k].first);
    EXPECT_FALSE(mine[k].second == theirs[k].second) << mine[k].first;
    EXPECT_EQ(mine[k].second.requires_grad(), theirs[k].second.requires_grad());
  }
  EXPECT_FALSE(copy.chain.is_training());
  EXPECT_TRUE(copy.is_training());
  EXPECT_TRUE(copy.scale == copy.parameter("scale"));
  EXPECT_EQ(value_of(original).to_vector<float>(), value_of(copy).to_vector<float>());
}

// Each way in which the object holds a child leads to the clone's Variables.
TEST(Clone, computes_with_its_own_variables) {
  Generator rng(3);
  const Everything original(rng);
  const std::vector<float> before = value_of(original).to_vector<float>();
  const Everything copy = nn::clone(original), second = nn::clone(copy);
  fill(original, 0);
  EXPECT_EQ(value_of(copy).to_vector<float>(), before);
  EXPECT_EQ(value_of(original).to_vector<float>(), std::vector<float>(3, 0));
  fill(copy, 1);
  EXPECT_EQ(value_of(original).to_vector<float>(), std::vector<float>(3, 0));
  EXPECT_EQ(value_of(second).to_vector<float>(), before);
  original.norm.store().at("running_mean").data<float>()[0] = 5;
  EXPECT_EQ(copy.norm.store().at("running_mean").data<float>()[0], 0);
  const Everything handle = original;  // after a clone a copy is a handle again
  EXPECT_TRUE(handle.scale == original.scale);
}

TEST(CopyFrom, moves_by_tau) {
  Generator rng(3);
  Everything a(rng), b = nn::clone(a);
  fill(a, 1);
  fill(b, 3);
  b.named_buffers()[0].second.data<int64_t>()[1] = 7;
  a.copy_from(b, 0.25);
  for (const auto& [name, v] : a.named_parameters()) EXPECT_EQ(v.value().number(0), 1.5) << name;
  EXPECT_EQ(a.named_buffers()[0].second.data<int64_t>()[1], 7);
  a.copy_from(b);
  for (const auto& [name, v] : a.named_parameters()) EXPECT_EQ(v.value().number(0), 3) << name;
}

// Each dtype rounds once from f64.
TEST(CopyFrom, of_every_dtype) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    nn::Module a, b;
    Variable p = a.add_parameter("p", HostTensor(dtype, {1}));
    Variable q = b.add_parameter("p", HostTensor(dtype, {1}));
    HostTensor one(dtype, {1}), want(dtype, {1});
    one.set_number(0, 1);
    q.set(one);
    a.copy_from(b, 0.1);
    want.set_number(0, 0.1);
    EXPECT_EQ(p.value().number(0), want.number(0)) << name_of(dtype);
  }
}

TEST(CopyFrom, refuses_other_modules_and_changes_nothing) {
  Generator rng(3);
  nn::Linear a(2, 3, rng), b(2, 4, rng), plain(2, 3, rng, {.bias = false});
  const std::vector<float> before = a.parameter("weight").value().to_vector<float>();
  EXPECT_EQ(message([&] { a.copy_from(b); }),
            "Module: copy_from: the modules differ: weight f32[3,2], bias f32[3] here, weight "
            "f32[4,2], bias f32[4] there");
  EXPECT_EQ(message([&] { a.copy_from(plain); }),
            "Module: copy_from: the modules differ: bias f32[3] here, nothing there");
  EXPECT_EQ(message([&] { a.copy_from(a, 1.5); }),
            "Module: copy_from: tau is 1.5, expected 0 <= tau <= 1");
  EXPECT_EQ(a.parameter("weight").value().to_vector<float>(), before);
}

}  // namespace
}  // namespace cleave
