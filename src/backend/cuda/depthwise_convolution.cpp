#include "backend/cuda/depthwise_convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "backend/cuda/plain_convolution.h"
#include "run/run_context.h"

namespace cleave::cuda {
namespace {

using Product = ConvolutionProduct;

// `strip` and `summed_channels` of device/depthwise.h.
constexpr int64_t strip_places = 8, summed_channels = 8;
constexpr int64_t sum_bytes = sizeof(float);
constexpr int64_t read_bytes = 8;  // of neighbouring channels, which a thread reads at once
// Threads that keep a GPU of 132 processors busy, and terms that are summed in f32.
constexpr int64_t many_threads = int64_t{1} << 17, most_terms = 2048;

int64_t rounded_up(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }
int64_t divided_up(int64_t a, int64_t unit) { return (a + unit - 1) / unit; }

// The most neighbours, at most `most`, a power of two, that divide the channels.
int64_t neighbour_count(int64_t channels, int64_t most) {
  while (channels % most != 0) most /= 2;
  return most;
}

// How the work of a weight's gradient is shared out; it follows from the spec alone.
struct WeightShares {
  int64_t channels, lines, parts, threads;  // neighbours; lines of a thread
  explicit WeightShares(const ConvolutionSpec& s)
      : channels(neighbour_count(s.groups, read_bytes / size_of(s.dtype))) {
    const int64_t all = s.images * s.small[1];
    const int64_t of_a_line = s.groups / channels * s.kernel[1];
    lines = std::clamp<int64_t>(all * of_a_line / many_threads, 1,
                                std::max<int64_t>(1, most_terms / s.small[2]));
    parts = divided_up(all, lines);
    threads = of_a_line * parts;
  }
};

class Depthwise final : public LibraryFunction {
 public:
  Depthwise(const ConvolutionSpec& s, LibraryDevicePtr device, DeviceKernelPtr main,
            DeviceKernelPtr other)
      : spec_(s), device_(std::move(device)), main_(std::move(main)), other_(std::move(other)),
        taps_(s.kernel[1] * s.kernel[2]) {}

  int64_t scratch_bytes() const override {
    if (spec_.product == Product::to_weight)
      return rounded_up(WeightShares(spec_).parts * taps_ * spec_.groups * sum_bytes, 64);
    return rounded_up(taps_ * spec_.groups * sum_bytes, 64);
  }
  void call(void* const* at, void* scratch, const RunContext& context) const override {
    using At = ConvolutionOperand;
    const bool is_aligned = std::ranges::all_of(
        std::initializer_list<size_t>{At::image, At::other, At::bias, At::out}, [&](size_t i) {
          return (i == At::bias && !spec_.has_bias) || reinterpret_cast<uintptr_t>(at[i]) % 16 == 0;
        });
    if (!is_aligned) return plain().call(at, scratch, context);
    if (spec_.product == Product::to_weight)
      weight(at, scratch, context.queue);
    else
      image(at, scratch, context.queue);
  }

 private:
  void image(void* const* at, void* scratch, void* queue) const {
    using At = ConvolutionOperand;
    const ConvolutionSpec& s = spec_;
    const bool is_large = s.product == Product::to_large;
    const device::Int channels = s.groups, taps = taps_;
    const int turned = is_large && s.stride[1] == 1 ? 1 : 0;
    device::ConvolutionArguments p = convolution_arguments(s);
    if (turned != 0) {  // a convolution of the small image
      std::swap(p.large, p.small);
      for (size_t d = 1; d < 3; ++d) p.padding[d] = s.kernel[d] - 1 - s.padding[d];
    }
    const Sizes3& out = is_large ? s.large : s.small;
    const int64_t width = neighbour_count(channels, read_bytes / size_of(s.dtype));
    const int64_t units = s.images * out[1] * divided_up(out[2], strip_places) * (channels / width);
    launch(*other_, blocks_for(channels * taps), queue, channels, taps, turned, at[At::other],
           scratch);
    launch(*main_, blocks_for(units), queue, p, at[At::image], scratch,
           s.has_bias ? at[At::bias] : nullptr, at[At::out]);
  }
  void weight(void* const* at, void* scratch, void* queue) const {
    using At = ConvolutionOperand;
    const WeightShares shares(spec_);
    const device::Int channels = spec_.groups, taps = taps_, parts = shares.parts,
                      lines = shares.lines;
    launch(*main_, blocks_for(shares.threads), queue, convolution_arguments(spec_), lines,
           at[At::image], at[At::other], scratch);
    launch(*other_, divided_up(channels, summed_channels) * taps, queue, channels, taps, parts,
           scratch, at[At::out]);
  }
  const LibraryFunction& plain() const {
    const std::lock_guard lock(mutex_);
    if (!plain_) plain_ = value_or_bug(make_plain(spec_, *device_));
    return *plain_;
  }

  const ConvolutionSpec spec_;
  const LibraryDevicePtr device_;
  const DeviceKernelPtr main_, other_;
  const int64_t taps_;
  mutable std::mutex mutex_;
  mutable LibraryFunctionPtr plain_;
};

DeviceCall depthwise_call(std::string function, std::vector<std::string> parameters) {
  return {.header = "depthwise.h",
          .function = std::move(function),
          .parameters = std::move(parameters)};
}

Result<LibraryFunctionPtr> make_depthwise_weight(const ConvolutionSpec& s,
                                                 const LibraryDevicePtr& device) {
  const std::string type(name_of(s.dtype)), in = fmt::format("const {}*", type);
  const std::string sums = fmt::format("Sums<{}>::type", type);
  CLEAVE_TRY(
      DeviceKernelPtr main,
      device->kernel(depthwise_call(fmt::format("depthwise_to_weight<{}, {}, {}, {}>", type,
                                                WeightShares(s).channels, s.kernel[1], s.stride[1]),
                                    {"ConvolutionArguments", "Int", in, in, sums + "*"})));
  CLEAVE_TRY(DeviceKernelPtr sum, device->kernel(depthwise_call(
                                      fmt::format("depthwise_sum_weight<{}>", type),
                                      {"Int", "Int", "Int", "const " + sums + "*", type + "*"})));
  return LibraryFunctionPtr(
      std::make_shared<Depthwise>(s, device, std::move(main), std::move(sum)));
}

Result<LibraryFunctionPtr> make_depthwise_image(const ConvolutionSpec& s,
                                                const LibraryDevicePtr& device) {
  const std::string type(name_of(s.dtype)), in = fmt::format("const {}*", type);
  const int64_t width = neighbour_count(s.groups, read_bytes / size_of(s.dtype)), k = s.kernel[1];
  const bool spreads = s.product == Product::to_large && s.stride[1] == 2;
  const int64_t first = k - 1 - (s.padding[2] + k - 1) % 2;
  const std::string function =
      spreads ? fmt::format("depthwise_spread<{}, {}, {}, {}>", type, width, k, first)
              : fmt::format("depthwise_strips<{}, {}, {}, {}>", type, width, k, s.stride[1]);
  CLEAVE_TRY(DeviceKernelPtr main,
             device->kernel(depthwise_call(function, {"ConvolutionArguments", in, "const float*",
                                                      "const void*", type + "*"})));
  CLEAVE_TRY(DeviceKernelPtr taps,
             device->kernel(depthwise_call(fmt::format("depthwise_taps<{}>", type),
                                           {"Int", "Int", "int", in, "float*"})));
  return LibraryFunctionPtr(
      std::make_shared<Depthwise>(s, device, std::move(main), std::move(taps)));
}

}  // namespace

bool is_depthwise(const ConvolutionSpec& s) {
  const int64_t k = s.kernel[1];
  const int64_t elements =
      s.images * s.groups * std::max(positions_of(s.large), positions_of(s.small));
  return elements <= INT32_MAX && s.channels_last && s.groups == s.large_channels &&
         s.groups == s.small_channels && s.groups > 1 &&
         (s.dtype == DType::f32 || size_of(s.dtype) == 2) && s.large[0] == 1 && s.small[0] == 1 &&
         s.kernel[0] == 1 && s.padding[0] == 0 && k == s.kernel[2] &&
         (k == 3 || k == 5 || k == 7) && s.stride[1] == s.stride[2] && s.stride[1] <= 2 &&
         s.dilation[1] == 1 && s.dilation[2] == 1;
}

Result<LibraryFunctionPtr> make_depthwise(const ConvolutionSpec& s,
                                          const LibraryDevicePtr& device) {
  return s.product == Product::to_weight ? make_depthwise_weight(s, device)
                                         : make_depthwise_image(s, device);
}

}  // namespace cleave::cuda
