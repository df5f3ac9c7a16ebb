// The driver and the device on it, by a driver without one.
// tests: driver.cpp device.cpp
#include "backend/cuda/device.h"

#include <gtest/gtest.h>

#include "test/backend/fake/fake_driver.h"

namespace cleave::cuda {
namespace {

using test::FakeState;

TEST(CudaDevice, says_what_it_is) {
  const FakeState fake;
  fake->arch = 103;
  const CudaDevicePtr device = test::fake_device();
  EXPECT_EQ(device->name(), "Fake H200");
  EXPECT_EQ(device->arch(), 103);
  EXPECT_EQ(device->shared_bytes(), 227 << 10);
  EXPECT_EQ(device->total_bytes(), int64_t{1} << 30);
  EXPECT_EQ(device->driver().version, 13000);
  EXPECT_EQ(version_text(12080), "12.8");
}

TEST(CudaDevice, what_is_missing_has_a_name) {
  const FakeState fake;
  const auto failure = [](const auto& r) { return r.ok() ? Failure() : r.failure(); };
  const Failure none = failure(Driver::open({.asks_system = false, .folders = {"/nowhere"}}));
  EXPECT_EQ(none.kind, ErrorKind::unsupported);
  EXPECT_TRUE(none.message.starts_with("no libcuda.so.1 is found; it comes with NVIDIA's driver"));

  fake->failures["cuInit"] = 100;
  EXPECT_NE(
      failure(Driver::open(test::fake_places())).message.find("the driver finds no GPU: what "),
      std::string::npos);
  fake->failures.clear();

  const DriverPtr driver = test::fake_driver();
  EXPECT_EQ(failure(CudaDevice::open(driver, 1)).message, "cuda:1: the NVIDIA driver shows 1 GPUs");
  EXPECT_EQ(failure(CudaDevice::open(driver, 1)).kind, ErrorKind::unsupported);
  fake->failures["cuDevicePrimaryCtxRetain"] = cuda_out_of_memory;
  EXPECT_EQ(failure(CudaDevice::open(driver)).kind, ErrorKind::user);
  fake->failures["cuDevicePrimaryCtxRetain"] = 700;
  const Failure broken = failure(CudaDevice::open(driver));
  EXPECT_EQ(broken.kind, ErrorKind::bug);
  EXPECT_EQ(broken.message,
            "cuda: opening GPU 0: what the test asked for (CUDA_ERROR_OF_THE_TEST)");
}

TEST(CudaDevice, memory_comes_to_an_end) {
  const FakeState fake;
  const CudaDevicePtr device = test::fake_device();
  const size_t blocks = fake->memory.size();
  const CUdeviceptr block = value_or_throw(device->allocate(1 << 20, "x"));
  EXPECT_EQ(fake->memory.size(), blocks + 1);
  EXPECT_EQ(value_or_throw(device->free_bytes()), (int64_t{1} << 30) - (1 << 20));
  const auto more = device->allocate(int64_t{1} << 30, "arena");
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.failure().kind, ErrorKind::user);
  EXPECT_EQ(more.failure().message,
            "arena: 1073741824 bytes can't be had from Fake H200: 1072693248 of its 1073741824 are "
            "free");
  device->free(block);
  EXPECT_EQ(fake->memory.size(), blocks);

  void* const pinned = value_or_throw(device->allocate_pinned(100));
  EXPECT_TRUE(fake->pinned.contains(pinned));
  device->free_pinned(pinned);
  EXPECT_FALSE(fake->pinned.contains(pinned));
  fake->failures["cuMemHostAlloc"] = cuda_out_of_memory;
  EXPECT_EQ(device->allocate_pinned(100).failure().kind, ErrorKind::user);
}

}  // namespace
}  // namespace cleave::cuda
