// check_operator: what is right passes, and each way to be wrong is found at its element.
#include <gtest/gtest.h>

#include <cmath>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

// y = a x^2, n = x > 0
Operator square_sign(DType only = DType::f32) {
  return {
      .name = "square_sign",
      .signature = "(Tensor x, Tensor? scale=None, *, float a=1.0) -> (Tensor y, Tensor n)",
      .infer =
          [only](const OpCall& op) {
            if (op.operand(0).dtype != only) op.refuse("C1", "x is of another dtype");
            return std::vector{op.operand(0), TensorType{DType::boolean, op.operand(0).shape}};
          },
      .reference =
          [](const OpCall& op, const HostTensors& in, HostTensors& out) {
            const double a = op.float_attr("a") * (op.has(1) ? in[1].item() : 1);
            for (int64_t i = 0; i < in[0].numel(); ++i) {
              const double x = in[0].data<double>()[i];
              out[0].data<double>()[i] = a * x * x;
              out[1].data<int64_t>()[i] = x > 0;
            }
          },
      .grad =
          [](const OpGradCall& op) {
            const Tensor x = op.operand_value(0), d = op.cotangent(0);
            if (!op.has(1)) return Tensors{d * x * (2 * op.float_attr("a")), Tensor()};
            return Tensors{d * x * op.operand_value(1) * (2 * op.float_attr("a")),
                           sum(d * x * x) * op.float_attr("a")};
          },
      .callback =
          [](const OpCall& op) {
            const double a = op.float_attr("a");
            return [a, scaled = op.has(1)](const OpMemory& m) {
              const auto x = m.operand<float>(0);
              const double s = scaled ? m.operand<float>(1)[0] : 1;
              for (size_t i = 0; i < x.size(); ++i) {
                m.result<float>(0)[i] = static_cast<float>(a * s * x[i] * x[i]);
                m.result<bool>(1)[i] = x[i] > 0;
              }
            };
          },
  };
}

OperatorReport checked(const Operator& op, const HostTensors& operands,
                       const Attributes& attributes = {{"a", 1.5}}) {
  Operators ops;
  ops.add(op);
  return check_operator(ops, op.name, operands, attributes);
}

const HostTensor x = HostTensor::from<float>({1, -2, 3, -4, 5, 6}, {2, 3});

TEST(CheckOperator, right) {
  for (const HostTensors& operands :
       {HostTensors{x}, HostTensors{x, HostTensor::scalar(2)}, HostTensors{x, HostTensor()}}) {
    const OperatorReport report = checked(square_sign(), operands);
    EXPECT_TRUE(report.ok()) << report.text();
    EXPECT_EQ(report.text(), "");
  }
}

TEST(CheckOperator, a_kernel_in_c) {
  Operator op = square_sign();
  op.callback = {};
  op.kernel = [](const OpCall&) {
    return "for (int i = 0; i < 6; ++i) { y[i] = 1.5f * x[i] * x[i]; n[i] = x[i] > 0; }";
  };
  EXPECT_EQ(checked(op, {x}).text(), "");
  op.kernel = [](const OpCall&) {
    return "for (int i = 0; i < 6; ++i) { y[i] = x[i] * x[i]; n[i] = x[i] >= 5; }";
  };
  EXPECT_EQ(checked(op, {x}).text(),
            "kernel: result 0 [1,2]: got 36, expected 54\n"
            "kernel: result 1 [0,0]: got 0, expected 1\n");
}

TEST(CheckOperator, elements_that_are_not_written) {
  Operator op = square_sign();
  op.callback = [](const OpCall&) {
    return [](const OpMemory& m) {
      for (size_t i = 0; i < 5; ++i) {
        m.result<float>(0)[i] = 1.5f * m.operand<float>(0)[i] * m.operand<float>(0)[i];
        m.result<bool>(1)[i] = m.operand<float>(0)[i] > 0;
      }
    };
  };
  const OperatorReport report = checked(op, {x});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.differences[0].what, "kernel: result 0");
  EXPECT_EQ(report.differences[0].element, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(report.differences[0].expected, 54);
}

TEST(CheckOperator, an_operand_that_is_written) {
  Operator op = square_sign();
  const auto right = op.callback;
  op.callback = [right](const OpCall& call) {
    return [f = right(call)](const OpMemory& m) {
      f(m);
      const_cast<float&>(m.operand<float>(0)[4]) = 0;
    };
  };
  EXPECT_EQ(checked(op, {x}).text(), "kernel: after the run, operand x [1,1]: got 0, expected 5\n");
}

TEST(CheckOperator, a_gradient) {
  Operator op = square_sign();
  op.grad = [](const OpGradCall& op) {
    return Tensors{op.cotangent(0) * op.operand_value(0) * 3.0, Tensor()};  // right without a scale
  };
  EXPECT_EQ(checked(op, {x}).text(), "");
  const OperatorReport report = checked(op, {x, HostTensor::scalar(2)});
  ASSERT_EQ(report.differences.size(), 2u);
  EXPECT_EQ(report.differences[0].what, "gradient: operand x");
  EXPECT_NEAR(report.differences[0].got * 2, report.differences[0].expected, 1e-6);
  EXPECT_EQ(report.differences[1].what, "gradient: operand scale");
  EXPECT_EQ(report.differences[1].got, 0);
}

TEST(CheckOperator, what_is_not_checked) {
  Operator op = square_sign();
  op.grad = {};
  EXPECT_EQ(checked(op, {x}).text(),
            "gradient: the operator has none: Operator::grad is not set (not checked)\n");
  EXPECT_EQ(checked(square_sign(), {HostTensor::from<float>({2e4f})}).text(),
            "gradient: an operand or a result is not finite, or beyond 1e4 (not checked)\n");
  Operator half = square_sign(DType::bf16);
  half.callback = [](const OpCall&) {
    return [](const OpMemory& m) {
      for (size_t i = 0; i < m.operand<uint16_t>(0).size(); ++i) {
        m.result<uint16_t>(0)[i] = 0x4110;  // 9
        m.result<bool>(1)[i] = true;
      }
    };
  };
  EXPECT_EQ(checked(half, {HostTensor::from<float>({3, 3}).to(DType::bf16)}, {}).text(),
            "gradient: infer takes the operands neither in f64 nor in f32 (not checked)\n");
}

TEST(CheckOperator, cleaves_own) {
  const OperatorReport report =
      check_operator({}, "mm", {x, x.reshaped({3, 2})}, {}, {.kernel = 1e-5});
  EXPECT_TRUE(report.ok()) << report.text();
}

TEST(CheckOperator, errors) {
  Operators ops;
  ops.add(square_sign());
  int line = 0;
  const auto refused = [&](const std::string& name, const HostTensors& operands,
                           const Attributes& attributes = {}) {
    return test::after_line(message([&] { check_operator(ops, name, operands, attributes); }),
                            __FILE__, &line);
  };
  EXPECT_EQ(refused("square_sing", {x}),
            "check_operator: there is no operator square_sing; the nearest name is square_sign");
  EXPECT_EQ(refused("square_sign", {}), "check_operator: square_sign: no operand is given");
  EXPECT_EQ(refused("square_sign", {x, x, x}), "call: square_sign takes 2 operands, got 3");
  EXPECT_EQ(refused("square_sign", {x}, {{"b", 1}}).substr(0, 37),
            "call: square_sign has no attribute b:");
  EXPECT_EQ(refused("square_sign", {x.to(DType::i64)}).substr(0, 39),
            "square_sign: C1: x is of another dtype\n");
  Operator throwing = square_sign();
  throwing.name = "throwing";
  throwing.reference = [](const OpCall&, const HostTensors&, HostTensors&) {
    throw std::runtime_error("no reference");
  };
  ops.add(throwing);
  EXPECT_NE(refused("throwing", {x}).find("throwing: reference: no reference"), std::string::npos);
  Operator replacing = square_sign();
  replacing.name = "replacing";
  replacing.reference = [](const OpCall&, const HostTensors&, HostTensors& out) {
    out[1] = HostTensor(DType::i64, {1});
  };
  ops.add(replacing);
  EXPECT_NE(
      refused("replacing", {x}).find("replacing: reference: result 1 is i64[1], expected i64[2,3]"),
      std::string::npos);
  Operator clearing = square_sign();
  clearing.name = "clearing";
  clearing.reference = [](const OpCall&, const HostTensors&, HostTensors& out) { out.clear(); };
  ops.add(clearing);
  EXPECT_NE(refused("clearing", {x}).find("clearing: reference: it left 0 results, expected 2"),
            std::string::npos);
}

}  // namespace
}  // namespace cleave
