// Integers stay integers: they are rounded and saturate where the operator says so, and are exact
// beyond what a double holds.
// tests: rules.cpp resize_rules.cpp constructor_rules.cpp index_rules.cpp
#include "test/import/onnx_run.h"

namespace cleave {
namespace {

constexpr int64_t beyond_doubles = (int64_t{1} << 53) + 1;

// The first result of one node on x and constants.
HostTensor result_of(const std::string& op, const HostTensor& x, onnx::Element e,
                     const std::vector<HostTensor>& constants,
                     const std::vector<OnnxMessage>& attributes = {}) {
  OnnxFile f;
  f.input("x", x.shape(), e);
  OnnxNames inputs = {"x"};
  for (const HostTensor& t : constants) {
    inputs.push_back(t.numel() == 0 ? "" : "c" + std::to_string(inputs.size()));
    if (t.numel() > 0) f.initializer(inputs.back(), t);
  }
  f.node(op, inputs, {"y"}, attributes).output("y");
  const OnnxResults r = results_of(f, {{"x", x}});
  EXPECT_EQ(r.failure, "");
  return r.tensors.empty() ? HostTensor() : r.tensors[0];
}

const HostTensor none(DType::f32, {0});

TEST(OnnxIntegers, ResizesAreRoundedAndSaturate) {
  const HostTensor twice = floats({2});
  EXPECT_EQ(result_of("Resize", HostTensor::from<uint8_t>({0, 255, 255, 0}), onnx::Element::u8,
                      {none, twice}, {onnx_text("mode", "cubic")})
                .to_vector<uint8_t>(),
            (std::vector<uint8_t>{0, 58, 197, 255, 255, 197, 58, 0}));
  EXPECT_EQ(result_of("Resize", HostTensor::from<int32_t>({INT32_MAX, INT32_MAX - 7}),
                      onnx::Element::i32, {none, twice}, {onnx_text("mode", "linear")})
                .to_vector<int32_t>(),
            (std::vector<int32_t>{INT32_MAX, INT32_MAX - 2, INT32_MAX - 5, INT32_MAX - 7}));
}

TEST(OnnxIntegers, WhatLiesBeyondARegionSaturates) {
  const auto cropped = [](const HostTensor& x, onnx::Element e) {
    return result_of("Resize", x, e, {floats({0.5F, 2}), none, ints({3})},
                     {onnx_text("mode", "nearest"), onnx_float("extrapolation_value", 300),
                      onnx_text("coordinate_transformation_mode", "tf_crop_and_resize")});
  };
  EXPECT_EQ(cropped(HostTensor::from<uint8_t>({5, 7}), onnx::Element::u8).to_vector<uint8_t>(),
            (std::vector<uint8_t>{5, 255, 255}));
  EXPECT_EQ(cropped(ints({beyond_doubles, 7}), onnx::Element::i64).to_vector<int64_t>(),
            (std::vector<int64_t>{beyond_doubles, 300, 300}));
}

TEST(OnnxIntegers, ExtremesOfNothingAreTheLimitsOfTheType) {
  const auto extreme = [](const char* op, DType t, onnx::Element e) {
    return result_of(op, HostTensor(t, {0, 1}), e, {ints({0})}, {onnx_int("keepdims", 0)});
  };
  using onnx::Element;
  EXPECT_EQ(extreme("ReduceMax", DType::i64, Element::i64).to_vector<int64_t>()[0], INT64_MIN);
  EXPECT_EQ(extreme("ReduceMin", DType::i64, Element::i64).to_vector<int64_t>()[0], INT64_MAX);
  EXPECT_EQ(extreme("ReduceMax", DType::i32, Element::i32).to_vector<int32_t>()[0], INT32_MIN);
  EXPECT_EQ(extreme("ReduceMin", DType::u8, Element::u8).to_vector<uint8_t>()[0], 255);
  EXPECT_EQ(extreme("ReduceMin", DType::i64, Element::u32).to_vector<int64_t>()[0], UINT32_MAX);
  EXPECT_EQ(extreme("ReduceMin", DType::i64, Element::u64).to_vector<int64_t>()[0], -1);
  EXPECT_EQ(extreme("ReduceMax", DType::i64, Element::u64).to_vector<int64_t>()[0], 0);
  EXPECT_EQ(extreme("ReduceMax", DType::boolean, Element::boolean).number(0), 0);
  EXPECT_EQ(extreme("ReduceMin", DType::boolean, Element::boolean).number(0), 1);
}

TEST(OnnxIntegers, ExtremesOfUnsignedTypesAreThose) {
  const HostTensor x = ints({1, -1, 2});  // 2^64 - 1 in its bits is -1
  const auto first = [&](const char* op, const std::vector<HostTensor>& constants) {
    return result_of(op, x, onnx::Element::u64, constants).to_vector<int64_t>()[0];
  };
  EXPECT_EQ(first("ReduceMax", {ints({0})}), -1);
  EXPECT_EQ(first("ReduceMin", {ints({0})}), 1);
  EXPECT_EQ(first("ArgMax", {}), 1);
  EXPECT_EQ(first("ArgMin", {}), 0);
  EXPECT_EQ(first("TopK", {ints({2})}), -1);
}

TEST(OnnxIntegers, SumsWrap) {
  const HostTensor x = ints({UINT32_MAX, 3});
  EXPECT_EQ(result_of("ReduceSum", x, onnx::Element::u32, {ints({0})}).to_vector<int64_t>()[0], 2);
}

TEST(OnnxIntegers, PadsAreExact) {
  const int64_t value = (int64_t{1} << 62) + 1;
  const HostTensor y = result_of("Pad", ints({1, 2}), onnx::Element::i64,
                                 {ints({1, 0}), HostTensor::from<int64_t>({value}, {})});
  EXPECT_EQ(y.to_vector<int64_t>(), (std::vector<int64_t>{value, 1, 2}));
}

TEST(OnnxIntegers, ShrinkIsCutOffAtLast) {
  const HostTensor x = HostTensor::from<int32_t>({-4, -1, 1, 2, 5});
  EXPECT_EQ(result_of("Shrink", x, onnx::Element::i32, {},
                      {onnx_float("lambd", 1.5F), onnx_float("bias", 1.5F)})
                .to_vector<int32_t>(),
            (std::vector<int32_t>{-2, 0, 0, 0, 3}));
}

TEST(OnnxIntegers, FunctionsGiveTheTypeOfTheirOperand) {
  const HostTensor y =
      result_of("Erf", HostTensor::from<int32_t>({-9, 0, 1, 9}), onnx::Element::i32, {});
  ASSERT_EQ(y.dtype(), DType::i32);
  EXPECT_EQ(y.to_vector<int32_t>(), (std::vector<int32_t>{-1, 0, 0, 1}));
}

TEST(OnnxIntegers, RangesAreCountedInIntegers) {
  const auto range = [](int64_t start, int64_t limit, int64_t step) {
    OnnxFile f;
    const auto one = [](int64_t n) { return HostTensor::from<int64_t>({n}, {}); };
    f.input("x", {1}).initializer("a", one(start)).initializer("b", one(limit));
    f.initializer("c", one(step)).node("Range", {"a", "b", "c"}, {"y"}).output("y");
    const OnnxResults r = results_of(f, {{"x", floats({0})}});
    EXPECT_EQ(r.failure, "");
    return r.tensors.empty() ? std::vector<int64_t>{} : r.tensors[0].to_vector<int64_t>();
  };
  using List = std::vector<int64_t>;
  EXPECT_EQ(range(beyond_doubles, beyond_doubles + 3, 1),
            (List{beyond_doubles, beyond_doubles + 1, beyond_doubles + 2}));
  EXPECT_EQ(range(5, -2, -3), (List{5, 2, -1}));
  EXPECT_EQ(range(5, 5, 1), (List{}));
  EXPECT_EQ(range(INT64_MIN, INT64_MAX, INT64_MAX), (List{INT64_MIN, -1, INT64_MAX - 1}));
  OnnxFile mixed;
  mixed.initializer("a", HostTensor::from<int64_t>({0}, {}))
      .initializer("b", HostTensor::scalar(3));
  mixed.initializer("c", HostTensor::scalar(1)).node("Range", {"a", "b", "c"}, {"y"}).output("y");
  EXPECT_EQ(results_of(mixed, {}).failure,
            "model: 1 kinds of calls aren't covered\n"
            "  1 x Range: start, limit and delta are of different types");
}

}  // namespace
}  // namespace cleave
