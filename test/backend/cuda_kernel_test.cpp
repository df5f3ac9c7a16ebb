// What a kernel on a device is launched with, by a driver without a GPU.
// tests: cuda_module.cpp
#include "backend/cuda/cuda_kernel.h"

#include <gtest/gtest.h>

#include <span>
#include <tuple>

#include "backend/cuda/cuda_arena.h"
#include "runtime/shared_threads.h"
#include "test/backend/fake/fake_driver.h"

namespace cleave::cuda {
namespace {

using test::FakeState;

std::vector<std::byte> image(const std::string& names) {
  const auto bytes = std::as_bytes(std::span(names.c_str(), names.size() + 1));
  return {bytes.begin(), bytes.end()};
}

uint64_t address(const void* p) { return reinterpret_cast<uint64_t>(p); }

TEST(CudaKernel, launches_its_phases_with_their_arguments) {
  const FakeState fake;
  const CudaDevicePtr device = test::fake_device();
  const auto arena = value_or_throw(make_cuda_arena(device, 64));
  const auto threads = value_or_throw(runtime::shared_threads(1));
  const int modules = fake->modules;
  {
    const CudaModulePtr code = value_or_throw(CudaModule::load(device, image("one two three")));
    EXPECT_EQ(fake->modules, modules + 1);
    const auto function = [&](const char* name, int shared_bytes) {
      return value_or_throw(code->function(name, shared_bytes));
    };
    const auto kernel = value_or_throw(CudaKernel::make(
        device,
        {{function("one", 0),
          {.blocks = 3, .threads = 128, .buffers = {1, 0}, .scalars = {}, .written = {0}}},
         {function("two", 0), {.blocks = 0, .threads = 0}},
         {function("three", 100 << 10),
          {.blocks = 1,
           .threads = 32,
           .shared_bytes = 100 << 10,
           .buffers = {2},
           .scalars = {1, 0},
           .written = {2}}}},
        {{"first"}, {"second", true}}));
    EXPECT_TRUE(kernel->writes(0));
    EXPECT_FALSE(kernel->writes(1));
    EXPECT_TRUE(kernel->writes(2));
    void* buffers[] = {arena->data(), arena->data() + 16, arena->data() + 32};
    const int64_t scalars[] = {-7, int64_t{1} << 40};
    const RunContext context{*threads, arena->queue(), arena->fault(), 5};
    EXPECT_FALSE(kernel->call(buffers, scalars, context));
    ASSERT_EQ(fake->launches.size(), 2u);
    const auto& [one, three] = std::tie(fake->launches[0], fake->launches[1]);
    EXPECT_EQ(one.function, "one");
    EXPECT_EQ(one.blocks, 3u);
    EXPECT_EQ(one.threads, 128u);
    EXPECT_EQ(one.shared_bytes, 0u);
    EXPECT_EQ(one.stream, arena->queue());
    EXPECT_EQ(one.arguments, (std::vector<uint64_t>{address(buffers[1]), address(buffers[0]), 5,
                                                    address(arena->fault())}));
    EXPECT_EQ(three.function, "three");
    EXPECT_EQ(three.shared_bytes, 100u << 10);
    EXPECT_EQ(three.arguments,
              (std::vector<uint64_t>{address(buffers[2]), uint64_t{1} << 40,
                                     static_cast<uint64_t>(-7), 5, address(arena->fault())}));
    EXPECT_EQ(fake->shared_bytes, (std::map<std::string, int>{{"three", 100 << 10}}));
    const Fault fault = kernel->fault_of({.thunk = 5, .check = 1, .index = 4, .bound = 3});
    EXPECT_EQ(fault.message, "second");
    EXPECT_TRUE(fault.from_zero);
    EXPECT_EQ(fault.index, 4);
    EXPECT_EQ(fault.bound, 3);
    fake->failures["cuLaunchKernel"] = 700;
    EXPECT_THROW(kernel->call(buffers, scalars, context), Error);
  }
  EXPECT_EQ(fake->modules, modules);
}

TEST(CudaKernel, refuses_launches_that_no_device_takes) {
  const CudaDevicePtr device = test::fake_device();
  const auto kind = [&](const Launch& launch) -> std::optional<ErrorKind> {
    const auto made = CudaKernel::make(device, {{nullptr, launch}}, {});
    return made.ok() ? std::nullopt : std::optional(made.failure().kind);
  };
  EXPECT_EQ(kind({.blocks = (int64_t{1} << 31) - 1, .threads = 1024}), std::nullopt);
  EXPECT_EQ(kind({.blocks = int64_t{1} << 31, .threads = 1024}), ErrorKind::bug);
  EXPECT_EQ(kind({.blocks = -1, .threads = 1}), ErrorKind::bug);
  EXPECT_EQ(kind({.blocks = 1, .threads = 1025}), ErrorKind::bug);
  EXPECT_EQ(kind({.blocks = 1, .threads = 0}), ErrorKind::bug);
  EXPECT_EQ(kind({.blocks = 0}), std::nullopt);
  const Launch wide{.blocks = 1, .threads = 1, .buffers = std::vector<uint32_t>(510)};
  EXPECT_EQ(kind(wide), std::nullopt);
  Launch wider = wide;
  wider.scalars = {0};
  EXPECT_EQ(kind(wider), ErrorKind::unsupported);
}

TEST(CudaKernel, what_the_driver_refuses_is_a_bug) {
  const FakeState fake;
  const CudaDevicePtr device = test::fake_device();
  const CudaModulePtr code = value_or_throw(CudaModule::load(device, image("k")));
  EXPECT_EQ(code->function("absent", 0).failure().kind, ErrorKind::bug);
  EXPECT_TRUE(code->function("absent", 0)
                  .failure()
                  .message.starts_with("cuda: looking for kernel absent: "));
  EXPECT_EQ(code->function("k", 1 << 20).failure().kind, ErrorKind::bug);
  fake->max_threads = 255;  // of a function with many registers
  EXPECT_TRUE(code->function("k", 0, 255).ok());
  EXPECT_EQ(code->function("k", 0, 256).failure().message,
            "cuda: k: blocks of 256 threads, of which its registers allow 255");
  fake->failures["cuModuleLoadData"] = 209;
  EXPECT_EQ(CudaModule::load(device, image("k")).failure().kind, ErrorKind::bug);
  // Without a device programs are built, and not called.
  const CudaModulePtr nowhere = value_or_throw(CudaModule::load(nullptr, image("k")));
  EXPECT_EQ(value_or_throw(nowhere->function("k", 0)), nullptr);
}

}  // namespace
}  // namespace cleave::cuda
