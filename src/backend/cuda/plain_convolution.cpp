#include "backend/cuda/plain_convolution.h"

#include <fmt/format.h>

#include "run/run_context.h"

namespace cleave::cuda {
namespace {

// By plain sums.
class PlainConvolution final : public LibraryFunction {
 public:
  PlainConvolution(const ConvolutionSpec& s, DeviceKernelPtr kernel)
      : spec_(s), arguments_(convolution_arguments(s)), kernel_(std::move(kernel)) {}

  int64_t scratch_bytes() const override { return 0; }
  void call(void* const* at, void*, const RunContext& context) const override {
    using At = ConvolutionOperand;
    const ConvolutionSpec& s = spec_;
    void* bias = s.has_bias ? at[At::bias] : nullptr;
    void* added = s.has_added ? at[At::added] : nullptr;
    const int64_t inner = s.large_channels / s.groups;
    switch (s.product) {
      case ConvolutionProduct::to_small:
        return launch(*kernel_, blocks_for(s.images * s.small_channels * positions_of(s.small)),
                      context.queue, arguments_, at[At::image], at[At::other], bias, added,
                      at[At::out]);
      case ConvolutionProduct::to_large:
        return launch(*kernel_, blocks_for(s.images * s.large_channels * positions_of(s.large)),
                      context.queue, arguments_, at[At::image], at[At::other], bias, at[At::out]);
      case ConvolutionProduct::to_weight:
        return launch(*kernel_, s.small_channels * inner * positions_of(s.kernel), context.queue,
                      arguments_, at[At::image], at[At::other], at[At::out]);
    }
  }

 private:
  const ConvolutionSpec spec_;
  const device::ConvolutionArguments arguments_;
  const DeviceKernelPtr kernel_;
};

DeviceCall call_of(const ConvolutionSpec& s) {
  const std::string type(name_of(s.dtype)), in = fmt::format("const {}*", type);
  DeviceCall call{.header = "convolution.h", .function = "", .parameters = {}};
  switch (s.product) {
    case ConvolutionProduct::to_small:
      call.function = fmt::format("convolve_to_small<{}>", type);
      call.parameters = {"ConvolutionArguments", in, in, "const void*", "const void*", type + "*"};
      break;
    case ConvolutionProduct::to_large:
      call.function = fmt::format("convolve_to_large<{}>", type);
      call.parameters = {"ConvolutionArguments", in, in, "const void*", type + "*"};
      break;
    case ConvolutionProduct::to_weight:
      call.function = fmt::format("convolve_to_weight<{}>", type);
      call.parameters = {"ConvolutionArguments", in, in, type + "*"};
      break;
  }
  return call;
}

}  // namespace

device::ConvolutionArguments convolution_arguments(const ConvolutionSpec& s) {
  device::ConvolutionArguments p{};
  p.images = s.images, p.groups = s.groups;
  p.large_channels = s.large_channels, p.small_channels = s.small_channels;
  for (size_t d = 0; d < 3; ++d) {
    p.large[d] = s.large[d], p.small[d] = s.small[d], p.kernel[d] = s.kernel[d];
    p.stride[d] = s.stride[d], p.padding[d] = s.padding[d], p.dilation[d] = s.dilation[d];
  }
  p.relu = s.relu ? 1 : 0;
  p.weight_packed = s.weight_packed ? 1 : 0;
  p.channels_last = s.channels_last ? 1 : 0;
  const auto steps = [&](int64_t channels, const Sizes3& positions) {
    using Steps = device::ConvolutionArguments::Steps;
    return s.channels_last ? Steps{1, channels} : Steps{positions_of(positions), 1};
  };
  p.large_step = steps(s.large_channels, s.large);
  p.small_step = steps(s.small_channels, s.small);
  p.weight_step = steps(s.large_channels / s.groups, s.kernel);
  return p;
}

DeviceCall finish_convolution_call(DType dtype) {
  return {.header = "convolution.h",
          .function = fmt::format("finish_convolution<{}>", name_of(dtype)),
          .parameters = {"ConvolutionArguments", "const void*", "const void*", "Int", "Int", "Int",
                         fmt::format("{}*", name_of(dtype))}};
}

void finish_convolution(const DeviceKernel& kernel, const ConvolutionSpec& s, void* const* operands,
                        void* queue) {
  using At = ConvolutionOperand;
  const bool is_small = s.product == ConvolutionProduct::to_small;
  const device::Int channels = is_small ? s.small_channels : s.large_channels;
  const device::Int positions = positions_of(is_small ? s.small : s.large);
  const device::Int apart = s.channels_last ? 1 : positions;  // of neighbouring channels
  launch(kernel, blocks_for(s.images * channels * positions), queue, convolution_arguments(s),
         s.has_bias ? operands[At::bias] : nullptr, s.has_added ? operands[At::added] : nullptr,
         channels, s.images * channels * positions, apart, operands[At::out]);
}

Result<LibraryFunctionPtr> make_plain(const ConvolutionSpec& s, const LibraryDevice& device) {
  CLEAVE_TRY(DeviceKernelPtr kernel, device.kernel(call_of(s)));
  return LibraryFunctionPtr(std::make_shared<PlainConvolution>(s, std::move(kernel)));
}

}  // namespace cleave::cuda
