// The laws can fail: for each law an entry that breaks it, and the exact message. A correct entry
// passes.
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "op/cost.h"
#include "op/entry.h"
#include "op/registry.h"
#include "test/law/laws.h"

namespace cleave::law {
namespace {

Result<Arrays> squares(const OpView&, std::span<const Array* const> in) {
  Array y = *in[0];
  for (double& x : y.f) x = x * x;
  return Arrays{y};
}

// y = x * x: every rule right.
OpDef square() {
  return OpDef{
      .name = "square",
      .signature = "(Tensor self) -> Tensor",
      .summary = "y = x * x",
      .source = "a toy of the tests",
      .traits = Trait::pointwise,
      .infer = [](const OpView& op) -> Result<Types> {
        const Type& x = op.in_type(0);
        if (x.rank() == 0)
          return op.broken("C1", "self is {}, expected at least one dim", x.text());
        return Types{Type(x.dtype, x.shape)};
      },
      .reference = squares,
      .decompose = [](Builder& b, const OpView& op) -> Values {
        return {b.mul(op.in(0), op.in(0))};
      },
      .grad = [](Builder& b, const GradView& op) -> Values {
        return {b.mul(op.dout(0), b.mul(op.in(0), 2))};
      },
      .lower = loop::pointwise([](const OpView&, const loop::Exprs& x) { return x[0] * x[0]; }),
      .cost = cost_per_result(1),
      .samples = []() -> Samples {
        return {{{f32({2, 3})}}, {{f64({5})}}, {{f32({1, 0})}}, {{bf16({4})}}};
      },
      .rejects = []() -> Rejects {
        return {{"C1", {{f32({})}}, "square: C1: self is f32[], expected at least one dim"}};
      },
  };
}

// The entry inside a registry that has the core operators too.
struct Toy {
  OpRegistry ops = value_or_throw(core_ops());
  const OpDef* op;
  explicit Toy(OpDef def) {
    def.name = "toy_" + def.name;
    def.rejects = [all = def.rejects] {
      Rejects out = all();
      for (Reject& r : out) r.message = "toy_" + r.message;
      return out;
    };
    value_or_throw(ops.add(def));
    op = ops.find(def.name);
  }
};

std::string broken_by(const Status& s) { return s.ok() ? "nothing" : s.failure().message; }

void expect_broken(const Status& s, const std::string& text) {
  ASSERT_FALSE(s.ok()) << "the law holds for an entry that breaks it";
  EXPECT_NE(s.failure().message.find(text), std::string::npos) << s.failure().message;
}

TEST(Toys, right_entry_keeps_every_law) {
  Toy t(square());
  EXPECT_EQ(broken_by(entry_law(*t.op)), "nothing");
  EXPECT_EQ(broken_by(infer_law(*t.op)), "nothing");
  EXPECT_EQ(broken_by(decompose_law(t.ops, *t.op)), "nothing");
  EXPECT_EQ(broken_by(grad_law(t.ops, *t.op)), "nothing");
  EXPECT_EQ(broken_by(text_law(t.ops, *t.op)), "nothing");
  EXPECT_EQ(broken_by(reject_law(*t.op)), "nothing");
  EXPECT_EQ(grad_samples(t.ops, *t.op), 4);
}

TEST(Toys, entry_without_samples) {
  OpDef def = square();
  def.samples = {};
  expect_broken(entry_law(*Toy(def).op), "no samples");
}

TEST(Toys, entry_without_reason) {
  OpDef def = square();
  def.cost = Absent{""};
  expect_broken(entry_law(*Toy(def).op), "cost is absent without a reason");
}

TEST(Toys, cost_of_other_bytes) {
  OpDef def = square();
  def.cost = [](const OpView&) { return Cost{1, 24}; };
  expect_broken(entry_law(*Toy(def).op), "sample 0: it moves 24 bytes, expected 48, or none");
}

TEST(Toys, infer_of_another_shape) {
  OpDef def = square();
  def.infer = [](const OpView& op) -> Result<Types> {
    Type t(op.in_type(0).dtype, op.in_type(0).shape);
    std::swap(t.shape.front(), t.shape.back());
    return Types{t};
  };
  expect_broken(infer_law(*Toy(def).op),
                "sample 0: toy_square: result 0 of the reference is f32[2,3]");
}

TEST(Toys, infer_of_another_dtype) {
  OpDef def = square();
  def.infer = [](const OpView& op) -> Result<Types> {
    return Types{Type(DType::f64, op.in_type(0).shape)};
  };
  expect_broken(infer_law(*Toy(def).op), "expected f64[2,3]");
}

TEST(Toys, decomposition_of_another_value) {
  OpDef def = square();
  def.decompose = [](Builder& b, const OpView& op) -> Values {
    return {b.mul(op.in(0), b.mul(op.in(0), 1.000001))};
  };
  Toy t(def);
  expect_broken(decompose_law(t.ops, *t.op), "decomposed result 0 element");
}

TEST(Toys, decomposition_of_another_type) {
  OpDef def = square();
  def.decompose = [](Builder& b, const OpView& op) -> Values {
    return {b.convert(b.mul(op.in(0), op.in(0)), DType::f64)};
  };
  Toy t(def);
  expect_broken(decompose_law(t.ops, *t.op), "is f64[2,3], expected f32[2,3]");
}

TEST(Toys, gradient_without_its_factor) {
  OpDef def = square();
  def.grad = [](Builder& b, const GradView& op) -> Values { return {b.mul(op.dout(0), op.in(0))}; };
  Toy t(def);
  expect_broken(grad_law(t.ops, *t.op), "the first gradient of %s.self");
}

TEST(Toys, gradient_off_by_two_millionths) {
  OpDef def = square();
  def.grad = [](Builder& b, const GradView& op) -> Values {
    return {b.mul(op.dout(0), b.mul(op.in(0), 2.000004))};
  };
  Toy t(def);
  expect_broken(grad_law(t.ops, *t.op), "the first gradient of %s.self");
}

TEST(Toys, gradient_right_at_first_order_alone) {
  OpDef def = square();
  def.grad = [](Builder& b, const GradView& op) -> Values {
    return {b.mul(op.dout(0), b.mul(b.call1("detach", {op.in(0)}), 2))};
  };
  Toy t(def);
  expect_broken(grad_law(t.ops, *t.op), "the second gradient of %s.self");
}

TEST(Toys, gradient_that_is_rounded_away_in_bf16) {
  OpDef def = square();
  def.grad = [](Builder& b, const GradView& op) -> Values {
    const ValueId x = b.sub(b.add(op.in(0), 64.0), 64.0);
    return {b.mul(op.dout(0), b.mul(x, 2))};
  };
  Toy t(def);
  expect_broken(grad_law(t.ops, *t.op), "sample 3: the narrow gradient of %s.self");
}

TEST(Toys, gradient_that_asks_for_the_other_operand) {
  OpDef def = *value_or_throw(core_ops()).find("mul");
  def.grad = [](Builder& b, const GradView& op) -> Values {
    if (!op.needs(1)) return op.no_grads();
    return {b.mul(op.dout(0), op.in(1)), b.mul(op.dout(0), op.in(0))};
  };
  def.samples = []() -> Samples { return {{{f32({3}), f32({3})}}}; };
  Toy t(def);
  expect_broken(grad_law(t.ops, *t.op), "the only gradient of %s.self");
}

TEST(Toys, gradient_of_another_type) {
  OpDef def = square();
  def.grad = [](Builder& b, const GradView& op) -> Values {
    return {b.sum(op.dout(0), {0}, true)};
  };
  Toy t(def);
  expect_broken(grad_law(t.ops, *t.op), "operand 0 gets f64[1,3], expected its type f64[2,3]");
}

TEST(Toys, text_that_is_not_read_back) {
  Toy t(square());
  expect_broken(text_law(value_or_throw(core_ops()), *t.op), "its text is not read back");
}

TEST(Toys, text_that_is_no_name) {
  OpDef def = square();
  def.name = "square+";
  Toy t(def);
  expect_broken(text_law(t.ops, *t.op), "V1");
}

TEST(Toys, reject_that_is_accepted) {
  OpDef def = square();
  def.rejects = []() -> Rejects { return {{"C1", {{f32({2})}}, "square: C1: self is f32[2]"}}; };
  expect_broken(reject_law(*Toy(def).op), "reject 0 (C1): is accepted");
}

TEST(Toys, reject_with_another_text) {
  OpDef def = square();
  def.rejects = []() -> Rejects { return {{"C1", {{f32({})}}, "square: C1: self is f32[]"}}; };
  expect_broken(reject_law(*Toy(def).op), "expected at least one dim");
}

}  // namespace
}  // namespace cleave::law
