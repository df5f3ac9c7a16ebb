// Tensors as DLPack's structs: both ways without a copy, whoever keeps them, and structs that lie.
// tests: device_tensor.cpp
#include "cleave/dlpack.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "base/split_mix.h"

namespace cleave {
namespace {

using dlpack::ManagedTensor, dlpack::ManagedTensorVersioned;

template <class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_NE(e.kind(), ErrorKind::bug) << e.what();
    return e.what();
  }
  return "no error";
}

// A struct of another library, f32[2,3], that counts how often it was deleted.
struct Theirs {
  float elements[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  int deleted = 0;
  ManagedTensorVersioned managed = {};
  Theirs() {
    managed.version = {1, 0};
    managed.manager_context = this;
    managed.deleter = [](ManagedTensorVersioned* m) {
      ++static_cast<Theirs*>(m->manager_context)->deleted;
    };
    managed.tensor = {elements, {1, 0}, 2, {2, 32, 1}, shape, strides, 0};
  }
};

TEST(Dlpack, a_tensor_of_another_library_is_read_where_it_lies) {
  Theirs theirs;
  {
    DeviceTensor t = from_dlpack(&theirs.managed);
    EXPECT_EQ(t.type_text(), "f32[2,3]");
    EXPECT_EQ(t.data(), theirs.elements);
    EXPECT_FALSE(t.is_const());
    HostTensor host = t.host();
    EXPECT_EQ(host.at<float>({1, 2}), 5);
    host.at<float>({0, 1}) = 77;
    t = DeviceTensor();
    EXPECT_EQ(theirs.deleted, 0);  // `host` has it
  }
  EXPECT_EQ(theirs.elements[1], 77);
  EXPECT_EQ(theirs.deleted, 1);
}

TEST(Dlpack, strides_offsets_flags_and_missing_deleters) {
  Theirs theirs;
  theirs.strides[0] = 1;
  theirs.strides[1] = 2;
  theirs.managed.tensor.byte_offset = 8;
  theirs.managed.flags = dlpack::read_only;
  const DeviceTensor t = from_dlpack(&theirs.managed);
  EXPECT_EQ(t.type_text(), "f32[2,3]{1,2}");
  EXPECT_EQ(t.data(), theirs.elements + 2);
  EXPECT_TRUE(t.is_const());
  EXPECT_EQ(message([&] { t.host(); }),
            "DeviceTensor: host: f32[2,3]{1,2} is const, and a HostTensor may be written");
  Theirs plain;
  plain.managed.tensor.strides = nullptr;
  plain.managed.deleter = nullptr;
  EXPECT_EQ(from_dlpack(&plain.managed).type_text(), "f32[2,3]");
  Theirs empty;
  empty.shape[0] = 0;
  empty.managed.tensor.data = nullptr;
  EXPECT_EQ(from_dlpack(&empty.managed).shape(), (std::vector<int64_t>{0, 3}));
  Theirs number;
  number.managed.tensor.ndim = 0;
  number.managed.tensor.shape = number.managed.tensor.strides = nullptr;
  EXPECT_EQ(from_dlpack(&number.managed).host().item(), 0);
}

TEST(Dlpack, the_unversioned_struct) {
  Theirs theirs;
  static int deleted;
  deleted = 0;
  ManagedTensor old{theirs.managed.tensor, nullptr, [](ManagedTensor*) { ++deleted; }};
  EXPECT_EQ(from_dlpack(&old).host().at<float>({1, 0}), 3);
  EXPECT_EQ(deleted, 1);
}

TEST(Dlpack, a_tensor_on_a_device_is_an_address) {
  Theirs theirs;
  theirs.managed.tensor.device = {2, 3};
  theirs.managed.tensor.data = reinterpret_cast<void*>(uintptr_t{1} << 46);
  const DeviceTensor t = from_dlpack(&theirs.managed);
  EXPECT_EQ(t.type_text(), "f32[2,3]@cuda:3");
  EXPECT_EQ(t.device(), Device::cuda(3));
  EXPECT_EQ(message([&] { t.host(); }),
            "DeviceTensor: host: f32[2,3]@cuda:3 lies on cuda:3, expected cpu");
  theirs.managed.tensor.device = {3, 0};  // pinned memory of the host
  EXPECT_TRUE(from_dlpack(&theirs.managed).device().is_cpu());
}

TEST(Dlpack, ours_is_kept_until_its_deleter_is_called) {
  HostTensor x(DType::bf16, {2, 5}, {1, 2});
  const void* const data = x.data();
  ManagedTensorVersioned* const given = to_dlpack(DeviceTensor(std::move(x)));
  EXPECT_EQ(given->version.major, 1u);
  EXPECT_EQ(given->flags, 0u);
  EXPECT_EQ(given->tensor.data, data);
  EXPECT_EQ(given->tensor.ndim, 2);
  EXPECT_EQ(given->tensor.shape[1], 5);
  EXPECT_EQ(given->tensor.strides[1], 2);
  EXPECT_EQ(given->tensor.dtype.code, 4);
  EXPECT_EQ(given->tensor.dtype.bits, 16);
  *static_cast<uint16_t*>(given->tensor.data) = 0x3f80;
  DeviceTensor back = from_dlpack(given);
  EXPECT_EQ(back.host().number(0), 1);
  EXPECT_EQ(back.type_text(), "bf16[2,5]{1,2}");
}

TEST(Dlpack, every_dtype_comes_back) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto dtype = static_cast<DType>(t);
    const DeviceTensor x = DeviceTensor::borrow(Device::cuda(1), dtype, {2, 0, 3}, {}, nullptr);
    EXPECT_EQ(from_dlpack(to_dlpack(x)).type_text(), x.type_text());
    EXPECT_EQ(from_dlpack(to_dlpack_unversioned(x)).type_text(), x.type_text());
  }
}

TEST(Dlpack, const_tensors_say_so) {
  const DeviceTensor x = DeviceTensor(HostTensor(DType::f32, {2})).as_const();
  ManagedTensorVersioned* const given = to_dlpack(x);
  EXPECT_EQ(given->flags, dlpack::read_only);
  EXPECT_TRUE(from_dlpack(given).is_const());
  EXPECT_EQ(
      message([&] { to_dlpack_unversioned(x); }),
      "to_dlpack_unversioned: f32[2] is const, which DLPack says from version 1 on: to_dlpack");
}

TEST(Dlpack, structs_that_lie_are_refused_and_stay_the_callers) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  using Change = std::function<void(Theirs&)>;
  const std::pair<Change, const char*> cases[] = {
      {[](Theirs& t) { t.managed.version = {2, 7}; }, "version 2.7, expected 1.x"},
      {[](Theirs& t) { t.managed.version = {0, 8}; }, "version 0.8, expected 1.x"},
      {[](Theirs& t) { t.managed.tensor.ndim = -1; }, "ndim is -1, expected 0 to 64"},
      {[](Theirs& t) { t.managed.tensor.ndim = 65; }, "ndim is 65, expected 0 to 64"},
      {[](Theirs& t) { t.managed.tensor.shape = nullptr; }, "shape is null for 2 dims"},
      {[](Theirs& t) { t.managed.tensor.data = nullptr; }, "data is null for 24 bytes"},
      {[](Theirs& t) { t.shape[1] = -3; }, "shape: dim 1 is -3, expected 0 or more"},
      {[](Theirs& t) { t.shape[0] = most; },
       "shape: [9223372036854775807,3] of f32 is more than 2^60 bytes"},
      {[](Theirs& t) {
         t.shape[0] = most;
         t.shape[1] = 0;
         t.managed.tensor.strides = nullptr;
       },
       "shape: [9223372036854775807,0] of f32 is more than 2^60 bytes"},
      {[](Theirs& t) { t.strides[1] = -1; }, "strides: dim 1 has -1, expected 0 or more"},
      {[](Theirs& t) { t.strides[0] = most; },
       "strides: [2,3] by {9223372036854775807,1} of f32 reaches over more than 2^60 bytes"},
      {[](Theirs& t) { t.strides[0] = int64_t{1} << 59; },
       "strides: [2,3] by {576460752303423488,1} of f32 reaches over more than 2^60 bytes"},
      {[](Theirs& t) { t.managed.tensor.byte_offset = ~uint64_t{0}; },
       "byte_offset: 18446744073709551615 and 24 bytes are beyond the last address"},
      {[](Theirs& t) { t.managed.tensor.byte_offset = 2; },
       "data: the first element's address is no multiple of the 4 bytes of f32"},
      {[](Theirs& t) { t.managed.tensor.dtype = {2, 8, 1}; },
       "dtype: code 2, 8 bits, 1 lanes is no dtype of cleave"},
      {[](Theirs& t) { t.managed.tensor.dtype = {2, 32, 4}; },
       "dtype: code 2, 32 bits, 4 lanes is no dtype of cleave"},
      {[](Theirs& t) { t.managed.tensor.dtype = {10, 8, 1}; },
       "dtype: code 10, 8 bits, 1 lanes is no dtype of cleave"},
      {[](Theirs& t) { t.managed.tensor.device = {8, 0}; },
       "device: type 8, expected 1 (cpu), 2 (cuda) or 3 (cuda host)"},
      {[](Theirs& t) { t.managed.tensor.device = {2, -1}; },
       "device: cuda:-1, expected 0 to 32767"},
      {[](Theirs& t) { t.managed.tensor.device = {2, 70000}; },
       "device: cuda:70000, expected 0 to 32767"}};
  for (const auto& [change, text] : cases) {
    Theirs theirs;
    change(theirs);
    EXPECT_EQ(message([&] { from_dlpack(&theirs.managed); }), std::string("from_dlpack: ") + text);
    EXPECT_EQ(theirs.deleted, 0);
  }
  EXPECT_EQ(message([] { from_dlpack(static_cast<ManagedTensor*>(nullptr)); }),
            "from_dlpack: the tensor is null");
  EXPECT_EQ(message([] { from_dlpack(static_cast<ManagedTensorVersioned*>(nullptr)); }),
            "from_dlpack: the tensor is null");
}

// What is accepted is no larger than its numbers say, and nothing crashes.
TEST(Dlpack, random_structs) {
  uint64_t state = 5;
  const auto below = [&](uint64_t n) { return split_mix(state += split_mix_step) % n; };
  const int64_t numbers[] = {0,
                             1,
                             2,
                             3,
                             7,
                             -1,
                             1 << 20,
                             int64_t{1} << 40,
                             int64_t{1} << 62,
                             std::numeric_limits<int64_t>::min()};
  int accepted = 0;
  for (int k = 0; k < 50000; ++k) {
    Theirs theirs;
    int64_t shape[64], strides[64];
    for (int d = 0; d < 64; ++d) shape[d] = numbers[below(4 + below(7))];
    for (int d = 0; d < 64; ++d) strides[d] = numbers[below(4 + below(7))];
    dlpack::Tensor& t = theirs.managed.tensor;
    t.ndim = static_cast<int32_t>(below(20) ? below(4) : below(80) - 5);
    t.shape = shape;
    t.strides = below(2) ? strides : nullptr;
    t.device = {static_cast<int32_t>(1 + below(below(5) ? 2 : 20)), static_cast<int32_t>(below(3))};
    if (below(3) == 0)
      t.dtype = {static_cast<uint8_t>(below(8)), static_cast<uint8_t>(8 << below(5)), 1};
    t.byte_offset = below(5) ? 0 : numbers[below(10)];
    const std::string said = message([&] {
      const DeviceTensor x = from_dlpack(&theirs.managed);
      EXPECT_LE(x.extent_bytes(), int64_t{1} << 60);
      EXPECT_EQ(std::ssize(x.shape()), t.ndim);
    });
    const bool is_taken = said == "no error";
    EXPECT_EQ(theirs.deleted, is_taken ? 1 : 0) << said;
    accepted += is_taken;
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace cleave
