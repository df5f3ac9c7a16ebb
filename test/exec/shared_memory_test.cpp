// Which tensors share memory, against the addresses of all their elements.
#include "exec/shared_memory.h"

#include <gtest/gtest.h>

#include <set>

#include "cleave/generator.h"

namespace cleave {
namespace {

std::set<const std::byte*> bytes_of(const HostTensor& t) {
  std::set<const std::byte*> out;
  const auto size = static_cast<size_t>(size_of(t.dtype()));
  std::vector<int64_t> index(t.shape().size());
  for (int64_t k = 0; k < t.numel(); ++k) {
    int64_t rest = k, place = 0;
    for (size_t d = index.size(); d-- > 0; rest /= t.shape()[d])
      place += rest % t.shape()[d] * t.stride(static_cast<int64_t>(d));
    for (size_t b = 0; b < size; ++b)
      out.insert(static_cast<const std::byte*>(t.data()) + static_cast<size_t>(place) * size + b);
  }
  return out;
}

bool meet(const HostTensor& a, const HostTensor& b) {
  const auto of_a = bytes_of(a), of_b = bytes_of(b);
  return std::ranges::any_of(of_a, [&](const std::byte* p) { return of_b.contains(p); });
}

struct Memory {
  std::vector<std::byte> bytes = std::vector<std::byte>(4096);
  Generator rng{3};
  int64_t below(int64_t n) { return rng.integer(n); }
  HostTensor tensor() {
    const DType types[] = {DType::u8, DType::f32, DType::i64};
    const DType dtype = types[below(3)];
    std::vector<int64_t> shape, strides;
    for (int64_t d = below(4); d > 0; --d) {
      shape.push_back(below(5));
      strides.push_back(below(3) == 0 ? below(3) : below(12));
    }
    // Unaligned addresses too.
    const int64_t at = below(2) == 0 ? below(96) : below(12) * 8;
    return HostTensor::borrow(dtype, shape, strides, bytes.data() + at);
  }
};

TEST(SharedMemory, two_tensors_share_a_byte_of_their_elements) {
  Memory memory;
  int shared = 0, nested = 0;
  for (int round = 0; round < 3000; ++round) {
    const HostTensor a = memory.tensor(), b = memory.tensor();
    const bool expected = meet(a, b);
    ASSERT_EQ(share_memory(a, b), expected) << a.type_text() << " " << b.type_text();
    ASSERT_EQ(share_memory(b, a), expected);
    shared += expected;
    const auto begin = [](const HostTensor& t) { return static_cast<const std::byte*>(t.data()); };
    nested += !expected && a.numel() > 0 && b.numel() > 0 &&
              begin(a) < begin(b) + b.extent_bytes() && begin(b) < begin(a) + a.extent_bytes();
  }
  EXPECT_GT(shared, 300);
  EXPECT_GT(nested, 100);  // ranges meet, elements don't
}

TEST(SharedMemory, columns_and_halves_of_rows_are_apart) {
  std::vector<float> m(1 << 20);
  const auto part = [&](int64_t offset, std::vector<int64_t> shape, std::vector<int64_t> strides) {
    return HostTensor::borrow(DType::f32, std::move(shape), std::move(strides), m.data() + offset);
  };
  EXPECT_FALSE(share_memory(part(0, {1 << 19}, {2}), part(1, {1 << 19}, {2})));
  const auto key = part(0, {64, 128, 32}, {128 * 64, 64, 1});
  EXPECT_FALSE(share_memory(key, part(32, {64, 128, 32}, {128 * 64, 64, 1})));
  EXPECT_TRUE(share_memory(key, part(31, {64, 128, 32}, {128 * 64, 64, 1})));
}

TEST(SharedMemory, finds_a_pair_only_where_one_is_written) {
  Memory memory;
  SharedMemory shared;
  shared.reserve(8);
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<HostTensor> tensors;
    std::vector<bool> written;
    for (int64_t n = memory.below(8); n >= 0; --n) {
      tensors.push_back(memory.tensor());
      written.push_back(memory.below(3) == 0);
    }
    bool expected = false;
    for (size_t i = 0; i < tensors.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        expected |= (written[i] || written[j]) && meet(tensors[i], tensors[j]);
    shared.clear();
    for (size_t i = 0; i < tensors.size(); ++i) shared.add({&tensors[i], i, written[i]});
    const auto pair = shared.find();
    ASSERT_EQ(pair.has_value(), expected);
    if (!pair) continue;
    ++found;
    ASSERT_TRUE(pair->first.is_written);
    ASSERT_NE(pair->first.number, pair->second.number);
    ASSERT_TRUE(meet(*pair->first.tensor, *pair->second.tensor));
  }
  EXPECT_GT(found, 300);
}

}  // namespace
}  // namespace cleave
