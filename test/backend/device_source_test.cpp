// The texts of kernels that library calls run: what they hold, and whether NVRTC, where this
// machine has it, compiles all that random calls ask for.
#include "backend/cuda/device_source.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "backend/cuda/library.h"
#include "backend/cuda/nvrtc.h"
#include "test/backend/library_cases.h"
#include "test/backend/simulated_device.h"

namespace cleave::test {
namespace {

TEST(DeviceSource, TextsHoldWhatTheyInclude) {
  const std::string text = cuda::device_source(
      {"copy.h", "copy_matrix<bf16, f32>", {"CopyArguments", "const void*", "void*"}});
  EXPECT_EQ(text.find("#include"), std::string::npos);
  EXPECT_NE(text.find("struct CopyArguments"), std::string::npos);
  EXPECT_NE(text.find("CLEAVE_DEVICE void product("), std::string::npos);
  EXPECT_NE(text.find("library_call(CopyArguments x0, const void* x1, void* x2) {\n"
                      "  copy_matrix<bf16, f32>(x0, x1, x2);\n}\n"),
            std::string::npos);
}

// Keeps the calls that it is asked for.
class Recorder final : public cuda::LibraryDevice {
 public:
  Result<cuda::DeviceKernelPtr> kernel(const cuda::DeviceCall& call) const override {
    calls.emplace(call.function, call);
    return device_->kernel(call);
  }
  std::shared_ptr<const cuda::Cublas> cublas() const override { return nullptr; }
  cuda::CudnnPtr cudnn() const override { return nullptr; }
  mutable std::map<std::string, cuda::DeviceCall> calls;

 private:
  const cuda::LibraryDevicePtr device_ = simulated_device(false);
};

TEST(DeviceSource, NvrtcCompilesAllOfThem) {
  const Result<cuda::NvrtcPtr> compiler = cuda::Nvrtc::here();
  if (!compiler.ok()) GTEST_SKIP() << compiler.failure().message;
  const auto recorder = std::make_shared<Recorder>();
  Random random(1);
  for (int round = 0; round < 40; ++round)
    for (const auto draw :
         {gemm_case, attention_case, attention_gradient_case, convolution_case, sort_case})
      ASSERT_TRUE(cuda::make_library(draw(random).spec, recorder).ok());
  for (int round = 0; round < 12; ++round)
    ASSERT_TRUE(cuda::make_library(depthwise_case(random).spec, recorder).ok());
  EXPECT_GT(recorder->calls.size(), 30u);
  for (const auto& [function, call] : recorder->calls) {
    const auto code = (*compiler)->compile(cuda::device_source(call), 90, "library_call");
    EXPECT_TRUE(code.ok()) << function << ": " << code.failure().message;
  }
}

}  // namespace
}  // namespace cleave::test
