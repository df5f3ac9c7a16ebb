// The convolutions of ResNet-50 and of models with groups alone, forward and both backwards, on two
// threads.
//
//   bench_convolution [OPTIONS]       every layer as a table row
//   bench_convolution NAME [OPTIONS]  one layer as one JSON object: forward_ms, input_ms, weight_ms
//
//   --images 8      of a batch
//   --pixels 128    of a side of a picture
//   --threads 2
//   --packed        forward alone, beside the same with a packed weight
//   --type f32      or bf16, f16
//   --target T      x86-64-v3 and so on; the processor's own without it
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/timing.h"
#include "runtime/convolution.h"
#include "runtime/half.h"

namespace {

using namespace cleave;
using namespace cleave::runtime;

struct Layer {
  const char* name;
  int64_t channels, size, out_channels, kernel, stride, groups = 1;
};

constexpr Layer layers[] = {
    {"stem", 3, 128, 64, 7, 2},
    {"1-reduce", 256, 32, 64, 1, 1},
    {"1-first", 64, 32, 64, 1, 1},
    {"1-spatial", 64, 32, 64, 3, 1},
    {"1-widen", 64, 32, 256, 1, 1},
    {"2-reduce", 512, 16, 128, 1, 1},
    {"2-enter", 256, 32, 128, 1, 1},
    {"2-stride", 128, 32, 128, 3, 2},
    {"2-spatial", 128, 16, 128, 3, 1},
    {"2-widen", 128, 16, 512, 1, 1},
    {"2-shortcut", 256, 32, 512, 1, 2},
    {"3-reduce", 1024, 8, 256, 1, 1},
    {"3-enter", 512, 16, 256, 1, 1},
    {"3-stride", 256, 16, 256, 3, 2},
    {"3-spatial", 256, 8, 256, 3, 1},
    {"3-widen", 256, 8, 1024, 1, 1},
    {"3-shortcut", 512, 16, 1024, 1, 2},
    {"4-reduce", 2048, 4, 512, 1, 1},
    {"4-enter", 1024, 8, 512, 1, 1},
    {"4-stride", 512, 8, 512, 3, 2},
    {"4-spatial", 512, 4, 512, 3, 1},
    {"4-widen", 512, 4, 2048, 1, 1},
    {"4-shortcut", 1024, 8, 2048, 1, 2},
    // Of MobileNet, EfficientNet, ConvNeXt, RegNet and ResNeXt.
    {"depthwise-3-112", 32, 112, 32, 3, 1, 32},
    {"depthwise-3-56", 96, 112, 96, 3, 2, 96},
    {"depthwise-3-14", 480, 14, 480, 3, 1, 480},
    {"depthwise-5-28", 240, 28, 240, 5, 1, 240},
    {"depthwise-5-7", 672, 14, 672, 5, 2, 672},
    {"depthwise-5-last", 1152, 7, 1152, 5, 1, 1152},
    {"depthwise-7-56", 40, 56, 40, 7, 1, 40},
    {"depthwise-7-7", 320, 7, 320, 7, 1, 320},
    {"groups-of-2", 64, 56, 64, 3, 1, 32},
    {"groups-of-4", 128, 56, 128, 3, 1, 32},
    {"groups-of-8", 104, 28, 104, 3, 1, 13},
    {"groups-of-16", 256, 14, 256, 3, 1, 16},
};

struct Settings {
  std::string layer;
  int64_t images = 8, pixels = 128;
  int threads = 2;
  bool packed = false;
  DType dtype = DType::f32;
  Target target = Target::here();
};

// The first half of the memory has the same numbers in 16 bits.
template <class T>
void narrow(std::vector<float>& x) {
  std::vector<T> narrowed(x.begin(), x.end());
  std::memcpy(x.data(), narrowed.data(), narrowed.size() * sizeof(T));
}

int64_t size_of_result(const Layer& l) { return (l.size - 1) / l.stride + 1; }

double measure(const Layer& l, const Settings& settings, ConvolutionProduct product,
               bool packed = false) {
  ConvolutionSpec s;
  s.product = product;
  s.dtype = settings.dtype;
  s.weight_packed = packed;
  const int64_t batch = settings.images, padding = l.kernel / 2, out = size_of_result(l);
  s.groups = l.groups;
  s.images = batch, s.large_channels = l.channels, s.small_channels = l.out_channels;
  s.large = {1, l.size, l.size}, s.small = {1, out, out};
  s.kernel = {1, l.kernel, l.kernel}, s.stride = {1, l.stride, l.stride};
  s.padding = {0, padding, padding};
  const auto convolution = value_or_throw(Convolution::make(s, settings.target));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto numbers = [&](int64_t count) {
    std::vector<float> x(static_cast<size_t>(count));
    for (float& y : x) y = normal(random);
    if (s.dtype == DType::bf16) narrow<runtime::Bf16>(x);
    if (s.dtype == DType::f16) narrow<runtime::F16>(x);
    return x;
  };
  auto large = numbers(batch * l.channels * l.size * l.size);
  auto small = numbers(batch * l.out_channels * out * out);
  // Room for what packing rounds up.
  auto weight = numbers((l.out_channels + 32) * (l.channels * l.kernel * l.kernel + 32));
  std::vector<char> room(static_cast<size_t>(convolution->scratch_bytes() + 64));
  void* scratch = room.data();
  size_t space = room.size();
  std::align(64, 64, scratch, space);
  const auto executor = make_thread_pool(settings.threads);
  ConvolutionOperands at{large.data(), weight.data(), nullptr, small.data()};
  if (product == ConvolutionProduct::to_large)
    at = {small.data(), weight.data(), nullptr, large.data()};
  if (product == ConvolutionProduct::to_weight)
    at = {large.data(), small.data(), nullptr, weight.data()};
  return bench::median_ms([&] { convolution->run(at, scratch, *executor); });
}

double gflop(const Layer& l, int64_t images) {
  const int64_t out = size_of_result(l);
  return 2e-9 * static_cast<double>(images * l.out_channels * out * out * l.channels / l.groups *
                                    l.kernel * l.kernel);
}

bool read(int argc, char** argv, Settings& out) {
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--packed")
      out.packed = true;
    else if (!word.starts_with("--"))
      out.layer = word;
    else if (++k == argc)
      return false;
    else if (word == "--images")
      out.images = std::atol(argv[k]);
    else if (word == "--pixels")
      out.pixels = std::atol(argv[k]);
    else if (word == "--threads")
      out.threads = std::atoi(argv[k]);
    else if (word == "--type")
      out.dtype = std::string(argv[k]) == "bf16"  ? DType::bf16
                  : std::string(argv[k]) == "f16" ? DType::f16
                                                  : DType::f32;
    else if (word == "--target")
      out.target = Target::named(argv[k]);
    else
      return false;
  }
  return out.images > 0 && out.pixels > 0 && out.threads > 0;
}

void print_packed(const Layer& l, const Settings& settings, double work) {
  const double plain = measure(l, settings, ConvolutionProduct::to_small);
  const double packed = measure(l, settings, ConvolutionProduct::to_small, true);
  std::printf("%-16s %11.3f %9.1f %11.3f %9.1f %9.2f\n", l.name, plain, work / plain, packed,
              work / packed, plain / packed);
}

void print_products(const Layer& l, const Settings& settings, double work) {
  const double forward = measure(l, settings, ConvolutionProduct::to_small);
  const double input = measure(l, settings, ConvolutionProduct::to_large);
  const double weight = measure(l, settings, ConvolutionProduct::to_weight);
  if (settings.layer.empty())
    std::printf("%-16s %11.3f %9.1f %11.3f %9.1f %11.3f %9.1f\n", l.name, forward, work / forward,
                input, work / input, weight, work / weight);
  else
    std::printf(
        "{\"layer\": \"%s\", \"forward_ms\": %.4f, \"input_ms\": %.4f, \"weight_ms\": %.4f}\n",
        l.name, forward, input, weight);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!read(argc, argv, settings)) {
    std::fprintf(stderr,
                 "usage: bench_convolution [LAYER] [--images N] [--pixels P] [--threads T] "
                 "[--packed] [--type T] [--target T]\n");
    return 1;
  }
  if (settings.packed)
    std::printf("%-16s %11s %9s %11s %9s %9s\n", "layer", "forward ms", "GFLOP/s", "packed ms",
                "GFLOP/s", "ratio");
  else if (settings.layer.empty())
    std::printf("%-16s %11s %9s %11s %9s %11s %9s\n", "layer", "forward ms", "GFLOP/s", "input ms",
                "GFLOP/s", "weight ms", "GFLOP/s");
  for (Layer l : layers) {
    if (!settings.layer.empty() && settings.layer != l.name) continue;
    l.size = l.size * settings.pixels / 128;
    const double work = 1e3 * gflop(l, settings.images);
    if (settings.packed && l.groups == 1)
      print_packed(l, settings, work);
    else
      print_products(l, settings, work);
  }
}
