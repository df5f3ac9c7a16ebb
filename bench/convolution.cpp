// The convolutions of ResNet-50 alone, forward and both backwards, f32 on two threads.
//
//   bench_convolution           every layer as a table row
//   bench_convolution NAME      one layer as one JSON object: forward_ms, input_ms, weight_ms
//
// Layers are those of a batch of 8 pictures of 128 x 128.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "bench/timing.h"
#include "runtime/convolution.h"

namespace {

using namespace cleave;
using namespace cleave::runtime;

struct Layer {
  const char* name;
  int64_t channels, size, out_channels, kernel, stride;
};

constexpr Layer layers[] = {
    {"stem", 3, 128, 64, 7, 2},          {"1-reduce", 256, 32, 64, 1, 1},
    {"1-first", 64, 32, 64, 1, 1},       {"1-spatial", 64, 32, 64, 3, 1},
    {"1-widen", 64, 32, 256, 1, 1},      {"2-reduce", 512, 16, 128, 1, 1},
    {"2-enter", 256, 32, 128, 1, 1},     {"2-stride", 128, 32, 128, 3, 2},
    {"2-spatial", 128, 16, 128, 3, 1},   {"2-widen", 128, 16, 512, 1, 1},
    {"2-shortcut", 256, 32, 512, 1, 2},  {"3-reduce", 1024, 8, 256, 1, 1},
    {"3-enter", 512, 16, 256, 1, 1},     {"3-stride", 256, 16, 256, 3, 2},
    {"3-spatial", 256, 8, 256, 3, 1},    {"3-widen", 256, 8, 1024, 1, 1},
    {"3-shortcut", 512, 16, 1024, 1, 2}, {"4-reduce", 2048, 4, 512, 1, 1},
    {"4-enter", 1024, 8, 512, 1, 1},     {"4-stride", 512, 8, 512, 3, 2},
    {"4-spatial", 512, 4, 512, 3, 1},    {"4-widen", 512, 4, 2048, 1, 1},
    {"4-shortcut", 1024, 8, 2048, 1, 2},
};
constexpr int64_t batch = 8;

double measure(const Layer& l, ConvolutionProduct product) {
  ConvolutionSpec s;
  s.product = product;
  const int64_t padding = l.kernel / 2, out = (l.size + 2 * padding - l.kernel) / l.stride + 1;
  s.images = batch, s.large_channels = l.channels, s.small_channels = l.out_channels;
  s.large = {1, l.size, l.size}, s.small = {1, out, out};
  s.kernel = {1, l.kernel, l.kernel}, s.stride = {1, l.stride, l.stride};
  s.padding = {0, padding, padding};
  const auto convolution = value_or_throw(Convolution::make(s, Target::here()));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto numbers = [&](int64_t count) {
    std::vector<float> x(static_cast<size_t>(count));
    for (float& y : x) y = normal(random);
    return x;
  };
  auto large = numbers(batch * l.channels * l.size * l.size);
  auto small = numbers(batch * l.out_channels * out * out);
  auto weight = numbers(l.out_channels * l.channels * l.kernel * l.kernel);
  std::vector<char> room(static_cast<size_t>(convolution->scratch_bytes() + 64));
  void* scratch = room.data();
  size_t space = room.size();
  std::align(64, 64, scratch, space);
  const auto executor = make_thread_pool(2);
  ConvolutionOperands at{large.data(), weight.data(), nullptr, small.data()};
  if (product == ConvolutionProduct::to_large)
    at = {small.data(), weight.data(), nullptr, large.data()};
  if (product == ConvolutionProduct::to_weight)
    at = {large.data(), small.data(), nullptr, weight.data()};
  return bench::median_ms([&] { convolution->run(at, scratch, *executor); });
}

double gflop(const Layer& l) {
  const int64_t out = (l.size - 1) / l.stride + 1;
  return 2e-9 *
         static_cast<double>(batch * l.out_channels * out * out * l.channels * l.kernel * l.kernel);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1)
    std::printf("%-12s %11s %9s %11s %9s %11s %9s\n", "layer", "forward ms", "GFLOP/s", "input ms",
                "GFLOP/s", "weight ms", "GFLOP/s");
  for (const Layer& l : layers) {
    if (argc > 1 && std::strcmp(argv[1], l.name) != 0) continue;
    const double forward = measure(l, ConvolutionProduct::to_small);
    const double input = measure(l, ConvolutionProduct::to_large);
    const double weight = measure(l, ConvolutionProduct::to_weight);
    const double work = 1e3 * gflop(l);
    if (argc == 1)
      std::printf("%-12s %11.3f %9.1f %11.3f %9.1f %11.3f %9.1f\n", l.name, forward, work / forward,
                  input, work / input, weight, work / weight);
    else
      std::printf(
          "{\"layer\": \"%s\", \"forward_ms\": %.4f, \"input_ms\": %.4f, \"weight_ms\": %.4f}\n",
          l.name, forward, input, weight);
  }
}
