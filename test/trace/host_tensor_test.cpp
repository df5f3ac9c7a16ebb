// HostTensor and Generator.
// tests: generator.cpp base/host_tensor.cpp
#include <gtest/gtest.h>

#include <sstream>

#include <cmath>
#include <cstring>

#include "cleave/generator.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

TEST(HostTensor, zeros_aligned_and_typed) {
  HostTensor t(DType::f32, {2, 3});
  EXPECT_EQ(t.type_text(), "f32[2,3]");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % 64, 0u);
  EXPECT_EQ(t.bytes(), 24);
  for (float x : t.span<float>()) EXPECT_EQ(x, 0);
  t.at<float>({1, 2}) = 7;
  EXPECT_EQ(t.data<float>()[5], 7);
  EXPECT_EQ(t.number(5), 7);
}

TEST(HostTensor, copies_own_their_memory) {
  float memory[] = {1, 2, 3};
  HostTensor borrowed = HostTensor::borrow(DType::f32, {3}, memory);
  HostTensor copy = borrowed;
  memory[0] = 9;
  EXPECT_TRUE(borrowed.borrows());
  EXPECT_FALSE(copy.borrows());
  EXPECT_EQ(borrowed.at<float>({0}), 9);
  EXPECT_EQ(copy.at<float>({0}), 1);
  HostTensor moved = std::move(borrowed);
  EXPECT_EQ(moved.data(), memory);
  EXPECT_EQ(moved.shape(), std::vector<int64_t>{3});
}

// Of every rank, with dims in any order, gaps between them, dims of sizes 0 and 1, repeated rows.
struct RandomLayout {
  std::vector<int64_t> shape, strides;
  explicit RandomLayout(Generator& rng, bool repeats = true) {
    const auto rank = static_cast<size_t>(rng.integer(5));
    shape.resize(rank);
    strides.resize(rank);
    std::vector<size_t> order(rank);
    for (size_t d = 0; d < rank; ++d) {
      shape[d] = rng.integer(8) == 0 ? 0 : 1 + rng.integer(4);
      order[d] = d;
    }
    for (size_t d = rank; d > 1; --d)
      std::swap(order[d - 1], order[static_cast<size_t>(rng.integer(static_cast<int64_t>(d)))]);
    int64_t inner = 1 + rng.integer(2);
    for (const size_t d : order) {
      strides[d] = repeats && rng.integer(6) == 0 ? 0 : inner;
      inner = inner * std::max<int64_t>(shape[d], 1) + rng.integer(2);
    }
  }
};

TEST(HostTensor, strides_say_where_elements_lie_and_change_no_value) {
  Generator rng(21);
  for (int round = 0; round < 300; ++round) {
    const auto dtype = static_cast<DType>(rng.integer(dtype_count));
    if (dtype == DType::c64) continue;
    const RandomLayout layout(rng, round % 2 == 0);
    HostTensor t(dtype, layout.shape, layout.strides);
    SCOPED_TRACE(t.type_text());
    EXPECT_EQ(t.bytes(), t.numel() * size_of(dtype));
    std::memset(t.data(), 1, static_cast<size_t>(t.extent_bytes()));  // all of it is there
    for (int64_t k = 0; k < t.numel(); ++k) t.set_number(k, static_cast<double>(k % 100));
    const HostTensor rows = t.contiguous(), copy = t;
    ASSERT_TRUE(rows.is_row_major());
    ASSERT_EQ(copy.strides(), t.strides());
    ASSERT_EQ(copy.type_text(), t.type_text());
    for (const HostTensor* other : {&rows, &copy}) {
      ASSERT_TRUE(other->same_bits(t) && t.same_bits(*other));
      for (int64_t k = 0; k < t.numel(); ++k) ASSERT_EQ(other->number(k), t.number(k));
    }
    EXPECT_TRUE(t.to(DType::f64).is_row_major());
    EXPECT_EQ(t.to(DType::f64).to_vector<double>(), t.to_vector<double>());
    EXPECT_TRUE(t.reshaped({t.numel()}).same_bits(rows.reshaped({t.numel()})));
    HostTensor zeros(dtype, layout.shape);
    HostTensor moved = std::move(t);
    zeros.copy_from(moved);
    EXPECT_TRUE(zeros.same_bits(rows));
    EXPECT_EQ(moved.is_row_major(), moved.strides() == HostTensor(dtype, layout.shape).strides());
  }
}

TEST(HostTensor, an_element_lies_at_its_strides) {
  float memory[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  HostTensor t = HostTensor::borrow(DType::f32, {2, 3}, {1, 2}, memory);
  EXPECT_EQ(t.type_text(), "f32[2,3]{1,2}");
  EXPECT_EQ(t.at<float>({1, 2}), 5);
  t.at<float>({1, 0}) = 9;
  EXPECT_EQ(memory[1], 9);
  EXPECT_EQ(t.extent_bytes(), 24);
  EXPECT_EQ(t.to_vector<float>(), (std::vector<float>{0, 2, 4, 9, 3, 5}));
  EXPECT_EQ((std::ostringstream() << t).str(), "f32[2,3]{1,2}\n[[0, 2, 4],\n [9, 3, 5]]");
  const HostTensor row = HostTensor::borrow(DType::f32, {3, 2}, {0, 4}, memory);
  EXPECT_EQ(row.to_vector<float>(), (std::vector<float>{0, 4, 0, 4, 0, 4}));
  // What means nothing is as if row-major.
  EXPECT_TRUE(HostTensor::borrow(DType::f32, {2, 1, 3}, {3, 77, 1}, memory).is_row_major());
  EXPECT_TRUE(HostTensor(DType::f32, {2, 0}, {5, 6}).is_row_major());
  // Memory between elements isn't read or written.
  const HostTensor copy = HostTensor::borrow(DType::f32, {3}, {2}, memory);
  EXPECT_EQ(static_cast<const float*>(copy.data())[2], 2);
  const HostTensor owned = copy;
  EXPECT_EQ(static_cast<const float*>(owned.data())[1], 0);
  HostTensor::borrow(DType::f32, {4}, {2}, memory).copy_from(HostTensor(DType::f32, {4}));
  EXPECT_EQ(memory[3], 3);
  EXPECT_EQ(memory[2], 0);
}

TEST(HostTensor, errors_of_strides) {
  HostTensor t(DType::f32, {2, 3}, {1, 2});
  EXPECT_EQ(message([] { HostTensor(DType::f32, {2, 3}, {1}); }),
            "HostTensor: strides: 1 for 2 dims: f32[2,3]{1}");
  EXPECT_EQ(message([] { HostTensor(DType::f32, {2, 3}, {-1, 2}); }),
            "HostTensor: strides: -1 is negative: f32[2,3]{-1,2}");
  EXPECT_EQ(message([] { HostTensor(DType::f32, {2, 3}, {1, int64_t{1} << 58}); }),
            "HostTensor: strides: more than 2^60 bytes: f32[2,3]{1,288230376151711744}");
  EXPECT_EQ(message([] { HostTensor(DType::u8, {3}, {int64_t{1} << 62}); }),
            "HostTensor: strides: more than 2^60 bytes: u8[3]{4611686018427387904}");
  EXPECT_EQ(message([&] { t.data<float>(); }),
            "HostTensor: strides: data<T>() and span<T>() are row-major, and f32[2,3]{1,2} isn't; "
            "at() and number() go by index, contiguous() makes a row-major copy, data() is its "
            "first element");
  EXPECT_EQ(message([&] { std::as_const(t).span<float>(); }).substr(0, 20), "HostTensor: strides:");
  EXPECT_EQ(message([&] { t.at<float>({2, 0}); }),
            "HostTensor: index: [2,0] is outside f32[2,3]{1,2}");
  EXPECT_EQ(message([&] { t.at<double>({0, 0}); }),
            "HostTensor: dtype: f64 elements of f32[2,3]{1,2} were asked for");
  EXPECT_EQ(message([&] { t.stride(2); }),
            "HostTensor: stride: dim 2 is outside [0, 2) of f32[2,3]{1,2}");
  EXPECT_EQ(message([] { HostTensor::borrow(DType::f32, {2}, {2}, nullptr); }),
            "HostTensor: memory: a null pointer for f32[2]{2}");
}

TEST(HostTensor, errors) {
  const auto says = [](const std::function<void()>& f) { return message(f); };
  HostTensor t(DType::f32, {2, 3});
  EXPECT_EQ(says([] { HostTensor(DType::f32, {2, -1}); }),
            "HostTensor: shape: dim -1 is negative: f32[2,-1]");
  EXPECT_EQ(says([] { HostTensor(DType::f32, {int64_t{1} << 40, int64_t{1} << 40}); }),
            "HostTensor: shape: more than 2^60 bytes: f32[1099511627776,1099511627776]");
  EXPECT_EQ(HostTensor(DType::f32, {int64_t{1} << 40, 0}).numel(), 0);
  EXPECT_EQ(says([&] { t.data<double>(); }),
            "HostTensor: dtype: f64 elements of f32[2,3] were asked for");
  EXPECT_EQ(says([&] { t.at<float>({2, 0}); }), "HostTensor: index: [2,0] is outside f32[2,3]");
  EXPECT_EQ(says([&] { t.at<float>({0}); }), "HostTensor: index: [0] is outside f32[2,3]");
  EXPECT_EQ(says([&] { t.item(); }), "HostTensor: item: f32[2,3] has 6 elements, expected one");
  EXPECT_EQ(says([&] { t.copy_from(HostTensor(DType::f32, {3, 2})); }),
            "HostTensor: copy_from: got f32[3,2], expected f32[2,3]");
  EXPECT_EQ(says([] { HostTensor::from<float>({1, 2}, {3}); }),
            "HostTensor: from: 2 values for f32[3]");
  EXPECT_EQ(says([] { HostTensor::borrow(DType::f32, {1}, nullptr); }),
            "HostTensor: memory: a null pointer for f32[1]");
}

// Against the oracle's rounding, which is implemented separately.
TEST(HostTensor, half_types_round_as_the_oracle) {
  Generator rng(5);
  for (const DType type : {DType::bf16, DType::f16}) {
    std::vector<double> values{0.0,    -0.0,       1.0,         65504,    65519.9,  65520,
                               1e-8,   6e-8,       3e-8,        2.98e-8,  1e-45,    1e39,
                               3.4e38, 1.00390625, 1.005859375, INFINITY, -INFINITY};
    for (int i = 0; i < 5000; ++i) {
      const double scale = std::exp2(40 * rng.uniform() - 30);
      values.push_back(rng.normal() * scale);
    }
    HostTensor t(type, {static_cast<int64_t>(values.size())});
    for (size_t k = 0; k < values.size(); ++k) {
      t.set_number(k, values[k]);
      EXPECT_EQ(t.number(k), round_to(type, values[k])) << name_of(type) << " of " << values[k];
    }
    t.set_number(0, NAN);
    EXPECT_TRUE(std::isnan(t.number(0)));
  }
}

TEST(HostTensor, half_bits_all_read_back) {
  for (const DType type : {DType::bf16, DType::f16}) {
    HostTensor t(type, {1});
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      t.data<uint16_t>()[0] = static_cast<uint16_t>(bits);
      const double x = t.number(0);
      if (std::isnan(x)) continue;
      t.set_number(0, x);
      ASSERT_EQ(t.data<uint16_t>()[0], bits);
    }
  }
}

TEST(HostTensor, conversions) {
  const HostTensor x = HostTensor::from<double>({1.5, -2.7, 300, NAN, 1e300});
  const HostTensor i8 = x.to(DType::i8);
  EXPECT_EQ(i8.to_vector<int>(), (std::vector<int>{1, -2, 44, 0, 0}));
  EXPECT_EQ(x.to(DType::boolean).to_vector<int>(), (std::vector<int>{1, 1, 1, 1, 1}));
  const HostTensor big = HostTensor::from<int64_t>({(int64_t{1} << 53) + 1});
  EXPECT_EQ(big.to(DType::i64).to_vector<int64_t>()[0], (int64_t{1} << 53) + 1);
  EXPECT_EQ(HostTensor::from<int32_t>({-1}).to(DType::u8).to_vector<int>()[0], 255);
  EXPECT_TRUE(x.same_bits(HostTensor(x)));
  EXPECT_FALSE(x.same_bits(x.to(DType::f32)));
  EXPECT_EQ(x.reshaped({5, 1}).type_text(), "f64[5,1]");
}

// Salmon et al.'s known answer for Philox 4x32-10 with counter and key 0.
TEST(HostTensor, as_text) {
  const auto text = [](const HostTensor& t) { return (std::ostringstream() << t).str(); };
  EXPECT_EQ(text(HostTensor::from<float>({1, -0.5, 3e-7f, INFINITY, NAN, 1234567}, {2, 3})),
            "f32[2,3]\n[[1, -0.5, 3e-07],\n [inf, nan, 1.23457e+06]]");
  EXPECT_EQ(text(HostTensor::from<int64_t>({9007199254740993})), "i64[1]\n[9007199254740993]");
  EXPECT_EQ(text(HostTensor::from<bool>({true, false})), "bool[2]\n[true, false]");
  EXPECT_EQ(text(HostTensor::scalar(2)), "f32[]\n2");
  EXPECT_EQ(text(HostTensor(DType::f32, {2, 0})), "f32[2,0]\n[[],\n []]");
  EXPECT_EQ(text(HostTensor(DType::i32, {3, 100})),
            "i32[3,100]\n[[0, 0, 0, ..., 0, 0, 0],\n [0, 0, 0, ..., 0, 0, 0],\n "
            "[0, 0, 0, ..., 0, 0, 0]]");
}

TEST(Generator, philox_known_answer) {
  Generator rng(0);
  EXPECT_EQ(rng.next(), 0x6627e8d5u);
  EXPECT_EQ(rng.next(), 0xe169c58du);
  EXPECT_EQ(rng.next(), 0xbc57ac4cu);
  EXPECT_EQ(rng.next(), 0x9b00dbd8u);
}

TEST(Generator, moments_and_ranges) {
  Generator rng(11);
  const HostTensor n = rng.normal({100000}, 2, 3);
  double mean = 0, square = 0;
  for (float x : n.span<float>()) mean += x / 1e5, square += double(x) * x / 1e5;
  EXPECT_NEAR(mean, 2, 0.05);
  EXPECT_NEAR(std::sqrt(square - mean * mean), 3, 0.05);
  const HostTensor u = rng.uniform({100000}, -1, 3);
  double low = 9, high = -9;
  for (float x : u.span<float>()) low = std::min<double>(low, x), high = std::max<double>(high, x);
  EXPECT_GE(low, -1);
  EXPECT_LT(low, -0.999);
  EXPECT_LT(high, 3);
  EXPECT_GT(high, 2.999);
  std::vector<int> seen(5);
  const HostTensor drawn = rng.integers({5000}, -2, 3);
  for (int64_t i : drawn.span<int64_t>()) ++seen.at(i + 2);
  for (int count : seen) EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(message([&] { rng.integers({1}, 3, 3); }),
            "Generator: integers: the range [3, 3) is empty");
}

TEST(Generator, a_copy_goes_on_where_the_original_stood) {
  Generator a(9);
  a.normal();
  Generator b = a;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(a.normal(), b.normal());
}

}  // namespace
}  // namespace cleave
