// The memory of a GPU and copies to and from it, by a driver without one.
#include "backend/cuda/cuda_memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "test/backend/fake/fake_driver.h"

namespace cleave::cuda {
namespace {

using test::FakeState;

TEST(CudaMemory, copies_take_their_place_on_a_queue) {
  const FakeState fake;
  const CudaDevicePtr device = test::fake_device();
  const CudaStream stream = value_or_throw(CudaStream::make(device));
  const std::shared_ptr<DeviceMemory> memory = cuda_memory(device);
  EXPECT_EQ(memory->device(), Device::cuda(0));
  for (void* const queue : {static_cast<void*>(nullptr), static_cast<void*>(stream.get())}) {
    const DeviceBlock x = value_or_throw(DeviceBlock::make(memory, 16));
    const DeviceBlock y = value_or_throw(DeviceBlock::make(memory, 16));
    const std::vector<int> in = {1, 2, 3, 4};
    std::vector<int> out(4);
    const auto is_there = [&] {  // without one it is a queue of its own
      return queue != nullptr ? fake->last_stream == queue
                              : fake->last_stream != nullptr && fake->last_stream != stream.get();
    };
    EXPECT_TRUE(memory->copy_in(x.data(), in.data(), 16, queue).ok());
    EXPECT_TRUE(is_there());
    EXPECT_TRUE(memory->copy(y.data(), x.data(), 16, queue).ok());
    EXPECT_TRUE(is_there());
    EXPECT_TRUE(memory->copy_out(out.data(), y.data(), 16, queue).ok());
    EXPECT_TRUE(is_there());
    const int waits = fake->waits;
    EXPECT_TRUE(memory->wait(queue).ok());
    EXPECT_EQ(fake->waits, waits + 1);
    EXPECT_TRUE(is_there());
    EXPECT_EQ(out, in);
  }
  int host = 0;
  EXPECT_EQ(memory->copy_in(&host, &host, 1, nullptr).failure().kind, ErrorKind::bug);
}

TEST(CudaMemory, blocks_come_and_go) {
  const FakeState fake;
  const CudaDevicePtr device = test::fake_device();
  const std::shared_ptr<DeviceMemory> memory = cuda_memory(device);
  const size_t blocks = fake->memory.size(), pinned = fake->pinned.size();
  {
    const DeviceBlock x = value_or_throw(DeviceBlock::make(memory, 100));
    EXPECT_EQ(fake->memory.at(x.data()), 100u);
    const DeviceBlock p = value_or_throw(DeviceBlock::make(memory, 64, DeviceBlock::Kind::pinned));
    EXPECT_TRUE(fake->pinned.contains(p.data()));
    const DeviceMemory::Room room = value_or_throw(memory->room());
    EXPECT_EQ(room.total, int64_t{1} << 30);
    EXPECT_EQ(room.free, room.total - static_cast<int64_t>(fake->used_bytes()));
    const auto more = memory->allocate(int64_t{1} << 30);
    ASSERT_FALSE(more.ok());
    EXPECT_EQ(more.failure().kind, ErrorKind::user);
    EXPECT_TRUE(more.failure().message.starts_with("cuda:0: 1073741824 bytes can't be had from "));
  }
  EXPECT_EQ(fake->memory.size(), blocks);
  EXPECT_EQ(fake->pinned.size(), pinned);
}

TEST(CudaMemory, each_device_has_one) {
  const FakeState fake;
  fake->gpus = 2;
  const DriverPtr driver = test::fake_driver();
  const CudaDevicePtr first = value_or_throw(CudaDevice::open(driver, 0));
  const CudaDevicePtr second = value_or_throw(CudaDevice::open(driver, 1));
  const std::shared_ptr<DeviceMemory> memory = cuda_memory(first);
  EXPECT_EQ(cuda_memory(first), memory);
  EXPECT_NE(cuda_memory(second), memory);
  EXPECT_EQ(cuda_memory(second)->device(), Device::cuda(1));
}

}  // namespace
}  // namespace cleave::cuda
