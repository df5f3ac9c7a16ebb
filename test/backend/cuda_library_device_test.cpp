// Kernels of library calls: asked for by a call, compiled and loaded with a program's own, or at
// their first launch.
#include "backend/cuda/cuda_library_device.h"

#include <gtest/gtest.h>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/plain_convolution.h"
#include "base/target.h"
#include "cache/memory_cache.h"
#include "test/backend/fake/fake_driver.h"

namespace cleave::cuda {
namespace {

using test::FakeState;

Result<CudaDevicePtr> opened_device(int index) {
  return CudaDevice::open(test::fake_driver(), index);
}
Result<CudaDevicePtr> no_device(int) { return unsupported("no driver"); }
Result<NvrtcPtr> no_compiler() { return unsupported("no NVRTC"); }

// A compiler that is asked for counts.
struct Parts {
  int asked = 0;
  CudaParts all() {
    return {.device = opened_device, .compiler = [this]() -> Result<NvrtcPtr> {
              ++asked;
              return Nvrtc::open({.asks_system = false, .folders = {CLEAVE_FAKE_NVRTC}});
            }};
  }
};

const DeviceCall sum{.header = "product.h", .function = "sum<f32, 4>", .parameters = {"Int"}};
const DeviceCall product{.header = "product.h", .function = "product<f32>", .parameters = {"Int"}};

TEST(CudaLibraryDevice, asks_no_compiler_for_a_kernel) {
  const FakeState fake;
  Parts parts;
  const CudaLibraryDevice device(90, 0, parts.all());
  const DeviceKernelPtr first = value_or_throw(device.kernel(sum));
  EXPECT_EQ(value_or_throw(device.kernel(sum)), first);
  EXPECT_NE(value_or_throw(device.kernel(product)), first);
  EXPECT_EQ(parts.asked, 0);
  EXPECT_EQ(device.waiting().size(), 2u);
}

TEST(CudaLibraryDevice, what_is_loaded_waits_no_more) {
  const FakeState fake;
  Parts parts;
  const CudaLibraryDevice device(90, 0, parts.all());
  const DeviceKernelPtr kernel = value_or_throw(device.kernel(sum));
  for (const auto& waiting : device.waiting()) ASSERT_TRUE(waiting->load(nullptr).ok());
  EXPECT_TRUE(device.waiting().empty());
  EXPECT_EQ(fake->modules, 1);
  const int asked = parts.asked;
  launch(*kernel, 3, nullptr, int64_t{7});
  EXPECT_EQ(parts.asked, asked);
  ASSERT_EQ(fake->launches.size(), 1u);
  EXPECT_EQ(fake->launches[0].function, "library_call");
  EXPECT_EQ(fake->launches[0].blocks, 3u);
}

TEST(CudaLibraryDevice, the_first_launch_loads_what_waits) {
  const FakeState fake;
  Parts parts;
  const CudaLibraryDevice device(90, 0, parts.all());
  const DeviceKernelPtr kernel = value_or_throw(device.kernel(sum));
  launch(*kernel, 2, nullptr, int64_t{7});
  launch(*kernel, 2, nullptr, int64_t{7});
  EXPECT_EQ(fake->modules, 1);
  EXPECT_EQ(fake->launches.size(), 2u);
  EXPECT_TRUE(device.waiting().empty());
}

// As another process finds it.
TEST(CudaLibraryDevice, machine_code_comes_from_the_cache) {
  const FakeState fake;
  cache::MemoryCache cache(1 << 20);
  Parts parts;
  const auto load = [&] {
    const CudaLibraryDevice device(90, 0, parts.all());
    (void)value_or_throw(device.kernel(sum));
    const auto waiting = device.waiting();
    ASSERT_TRUE(waiting.at(0)->load(&cache).ok());
  };
  load();
  const int first = parts.asked;
  load();
  EXPECT_LT(parts.asked - first, first);  // for its name alone, which is a part of the key
}

TEST(CudaLibraryDevice, plans_where_there_is_neither_compiler_nor_gpu) {
  const CudaLibraryDevice device(90, 0, {.device = no_device, .compiler = no_compiler});
  const DeviceKernelPtr kernel = value_or_throw(device.kernel(sum));
  ASSERT_TRUE(device.waiting().at(0)->load(nullptr).ok());
  EXPECT_THROW(launch(*kernel, 1, nullptr, int64_t{7}), Error);
}

TEST(CudaLibraryDevice, a_gpu_without_a_compiler_says_what_is_missing) {
  const FakeState fake;
  const CudaLibraryDevice device(90, 0, {.device = opened_device, .compiler = no_compiler});
  (void)value_or_throw(device.kernel(sum));
  for (int k = 0; k < 2; ++k) {  // it is asked for again
    const Status loaded = device.waiting().at(0)->load(nullptr);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.failure().message, "no NVRTC");
  }
}

// Not at its first launch alone, which would hide a failure until a step runs.
TEST(CudaLibraryDevice, a_build_loads_what_waits) {
  const auto device = cuda_library_device(90, 9);  // of no other test
  (void)value_or_throw(device->kernel(finish_convolution_call(DType::f32)));
  ASSERT_EQ(device->waiting().size(), 1u);
  CudaBackend backend(Target::named("sm_90"), 9, {.device = no_device, .compiler = no_compiler});
  const auto threads = make_thread_pool(1);
  ASSERT_TRUE(backend.build({}, EmittedCode(), *threads, nullptr).ok());
  EXPECT_TRUE(device->waiting().empty());
}

}  // namespace
}  // namespace cleave::cuda
