// Library calls on a GPU: random ones beside the CPU's library, then the times of models' shapes.
// Not among those that `make bench` runs.
//
//   bench_device_library [ROUNDS] [KIND]     300 rounds of each kind unless told; KIND: gemm,
//                                            attention, gradient, convolution, depthwise, sort,
//                                            times, convolutions (times of layers)
//
// Prints a line for each kind, with the first calls that are wrong; exit status 1 if one is. A call
// that throws is wrong. Of bf16 attention and of convolutions it says what cuDNN refuses.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "backend/cuda/cuda_library_device.h"
#include "backend/cuda/cudnn_attention.h"
#include "backend/cuda/cudnn_convolution.h"
#include "backend/cuda/cudnn_half_convolution.h"
#include "backend/cuda/depthwise_convolution.h"
#include "backend/cuda/device.h"
#include "backend/cuda/library.h"
#include "bench/timing.h"
#include "cleave/executor.h"
#include "run/run_context.h"
#include "test/backend/library_cases.h"

namespace {

using namespace cleave;
using namespace cleave::cuda;
using Operands = std::array<test::CaseOperand, max_library_operands>;

int wrong = 0;

// The device, and memory on it that calls take one after the other.
class Gpu {
 public:
  Gpu()
      : device_(value_or_throw(CudaDevice::here())),
        stream_(value_or_throw(CudaStream::make(device_))),
        memory_(value_or_throw(device_->allocate(bytes, "operands"))) {}
  ~Gpu() { device_->free(memory_); }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const CudaDevice& device() const { return *device_; }
  void* queue() const { return stream_.get(); }
  void reset() { used_ = 0; }
  char* take(int64_t size) {
    const int64_t at = used_;
    used_ += (size + 255) / 256 * 256;
    if (used_ > bytes) throw_bug("{} bytes of operands, expected at most {}", used_, bytes);
    return reinterpret_cast<char*>(memory_) + at;
  }
  void write(void* to, const void* from, size_t size) {
    check(driver().cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(to), from, size, stream_.get()));
  }
  void read(void* to, const void* from, size_t size) {
    check(driver().cuMemcpyDtoHAsync(to, reinterpret_cast<CUdeviceptr>(from), size, stream_.get()));
  }
  void wait() { value_or_throw(stream_.wait()); }

  // Milliseconds of one call: the least of five times ten.
  template <class F>
  double time(const F& f) {
    CUevent begin = nullptr, end = nullptr;
    check(driver().cuEventCreate(&begin, 0));
    check(driver().cuEventCreate(&end, 0));
    f();
    wait();
    float least = 1e9f;
    for (int round = 0; round < 5; ++round) {
      check(driver().cuEventRecord(begin, stream_.get()));
      for (int i = 0; i < 10; ++i) f();
      check(driver().cuEventRecord(end, stream_.get()));
      wait();
      float ms = 0;
      check(driver().cuEventElapsedTime(&ms, begin, end));
      least = std::min(least, ms / 10);
    }
    driver().cuEventDestroy(begin);
    driver().cuEventDestroy(end);
    return least;
  }

 private:
  static constexpr int64_t bytes = int64_t{24} << 30;
  const Driver& driver() const { return device_->driver(); }
  void check(CUresult code) const { value_or_throw(driver().check(code, "bench")); }

  CudaDevicePtr device_;
  CudaStream stream_;
  CUdeviceptr memory_;
  int64_t used_ = 0;
};

const RunContext context_of(Gpu& gpu) {
  static const auto pool = make_thread_pool(1);
  return {.executor = *pool, .queue = gpu.queue()};
}

// --- Random calls --------------------------------------------------------------------------------

Operands run(Gpu& gpu, const test::LibraryCase& c) {
  gpu.reset();
  Operands operands = c.operands;
  std::array<char*, max_library_operands> memory{};
  std::array<void*, max_library_operands> at{};
  for (size_t i = 0; i < at.size(); ++i) {
    if (!operands[i].is_there) continue;
    memory[i] = gpu.take(std::ssize(operands[i].bytes));
    gpu.write(memory[i], operands[i].bytes.data(), operands[i].bytes.size());
    at[i] = memory[i] + operands[i].offset;
  }
  const LibraryFunctionPtr function =
      value_or_throw(make_library(c.spec, cuda_library_device(gpu.device().arch(), 0)));
  function->call(at.data(), gpu.take(function->scratch_bytes()), context_of(gpu));
  for (size_t i = 0; i < at.size(); ++i)
    if (operands[i].is_there)
      gpu.read(operands[i].bytes.data(), memory[i], operands[i].bytes.size());
  gpu.wait();
  return operands;
}

void compare(Gpu& gpu, const char* kind, test::LibraryCase (*draw)(test::Random&), int rounds) {
  test::Random random(1);
  int bad = 0;
  const auto begin = bench::Clock::now();
  for (int round = 0; round < rounds; ++round) {
    const test::LibraryCase c = draw(random);
    std::string text;
    try {
      text = test::difference(c, run(gpu, c), test::expected(c));
    } catch (const std::exception& e) { text = c.text + ": " + e.what(); }
    if (text.empty()) continue;
    if (++bad <= 8) std::printf("     %s\n", text.c_str());
  }
  std::printf("%-12s %d of %d as on the CPU, %.1f s\n", kind, rounds - bad, rounds,
              bench::ms_since(begin) / 1000);
  wrong += bad;
}

// --- Times ---------------------------------------------------------------------------------------

// Of a call whose operands are random bits that are small numbers, by position and bytes.
double time_call(Gpu& gpu, const LibrarySpec& spec, const std::map<size_t, int64_t>& bytes) {
  gpu.reset();
  std::array<void*, max_library_operands> at{};
  for (const auto& [position, size] : bytes) {
    at[position] = gpu.take(size);
    std::vector<uint16_t> numbers(static_cast<size_t>(size / 2));
    std::mt19937 random(static_cast<uint32_t>(position));
    constexpr size_t drawn = 1 << 20;            // then they repeat
    for (size_t i = 0; i < numbers.size(); ++i)  // +-[0.03, 1) as bf16, and nearly so as f32
      numbers[i] = i < drawn
                       ? static_cast<uint16_t>((random() & 0x8000) | (0x3d00 + random() % 0x280))
                       : numbers[i - drawn];
    gpu.write(at[position], numbers.data(), numbers.size() * 2);
    gpu.wait();
  }
  const LibraryFunctionPtr function =
      value_or_throw(make_library(spec, cuda_library_device(gpu.device().arch(), 0)));
  void* scratch = gpu.take(function->scratch_bytes());
  const RunContext context = context_of(gpu);
  const auto begin = bench::Clock::now();
  function->call(at.data(), scratch, context);
  gpu.wait();
  const double first = bench::ms_since(begin);
  const double ms = gpu.time([&] { function->call(at.data(), scratch, context); });
  std::printf("%8.3f ms  %7.1f TFLOP/s  first call %.0f ms, workspace %.1f MB", ms,
              static_cast<double>(flops_of(spec)) / ms / 1e9, first,
              static_cast<double>(function->scratch_bytes()) / 1e6);
  return ms;
}

void time_product(Gpu& gpu, const char* name, DType dtype, int64_t m, int64_t n, int64_t k,
                  bool is_a_transposed, bool is_b_transposed, const char* c_in) {
  GemmSpec s{.dtype = dtype, .m = m, .n = n, .k = k};
  s.a_row = is_a_transposed ? 1 : k, s.a_col = is_a_transposed ? m : 1;
  s.b_row = is_b_transposed ? 1 : n, s.b_col = is_b_transposed ? k : 1;
  s.has_c_in = *c_in != 0;
  s.c_in_row = std::string(c_in) == "residual" ? n : 0;
  const int64_t size = size_of(dtype);
  using At = GemmOperand;
  std::map<size_t, int64_t> bytes = {
      {At::a, m * k * size}, {At::b, k * n * size}, {At::c, m * n * size}};
  if (s.has_c_in) bytes[At::c_in] = m * n * size;
  std::printf("%-5s %-28s ", std::string(name_of(dtype)).c_str(), name);
  time_call(gpu, s, bytes);
  std::printf("\n");
}

void time_attention(Gpu& gpu, DType dtype, int64_t batch, int64_t heads, int64_t rows,
                    int64_t width) {
  AttentionBackwardSpec b;
  AttentionSpec& s = b.forward;
  s.dtype = dtype;
  s.batch = batch, s.heads = heads, s.rows = s.columns = rows, s.width = s.value_width = width;
  // q, k, v and their gradients lie in [batch, rows, 3, heads, width].
  const int64_t row = 3 * heads * width, out_row = heads * width;
  s.query = s.key = s.value = {rows * row, width, row, 1};
  s.out = {rows * out_row, width, out_row, 1};
  s.sum_rows = rows;
  s.scale = 0.125, s.is_causal = true;
  b.dout = s.out;
  b.dquery = b.dkey = b.dvalue = s.query;
  const int64_t packed = batch * rows * row * size_of(dtype);
  const int64_t out = batch * rows * out_row * size_of(dtype), sums = batch * heads * rows * 4;
  using At = AttentionOperand;
  const std::string text = fmt::format("{}x{}x{}x{}", batch, heads, rows, width);
  std::printf("%-5s %-28s ", std::string(name_of(dtype)).c_str(), (text + " forward").c_str());
  time_call(gpu, s,
            {{At::query, packed},
             {At::key, packed},
             {At::value, packed},
             {At::out, out},
             {At::logsumexp, sums}});
  const LibraryDevicePtr device = cuda_library_device(gpu.device().arch(), 0);
  const CudnnPtr cudnn = device->cudnn();
  const auto say = [&](const auto& made) {
    std::printf("  %s\n", made.ok() ? "by cuDNN" : made.failure().message.c_str());
  };
  const bool is_asked = cudnn && CudnnAttention::takes(s);
  if (is_asked)
    say(CudnnAttention::make(s, cudnn, *device));
  else
    std::printf("\n");
  std::printf("%-5s %-28s ", std::string(name_of(dtype)).c_str(), (text + " backward").c_str());
  time_call(gpu, b,
            {{At::query, packed},
             {At::key, packed},
             {At::value, packed},
             {At::out, out},
             {At::logsumexp, sums},
             {At::dout, out},
             {At::dquery, packed},
             {At::dkey, packed},
             {At::dvalue, packed}});
  if (is_asked && CudnnAttentionGradient::takes(b))
    say(CudnnAttentionGradient::make({b}, cudnn, *device));
  else
    std::printf("\n");
}

// A layer: a square kernel, padded by half of it.
struct Layer {
  int64_t images, channels, out, size, kernel, stride, groups;
};

// What cuDNN refuses, else nothing.
std::string refusal(Gpu& gpu, const ConvolutionSpec& s) {
  const LibraryDevicePtr device = cuda_library_device(gpu.device().arch(), 0);
  const CudnnPtr cudnn = device->cudnn();
  if (!cudnn || is_depthwise(s)) return "";
  if (CudnnHalfConvolution::takes(s)) {
    const auto made = CudnnHalfConvolution::make(s, cudnn, *device);
    return made.ok() ? "" : made.failure().message;
  }
  if (!CudnnConvolution::takes(s)) return "not asked";
  const auto made = CudnnConvolution::make(s, cudnn, *device);
  return made.ok() ? "" : made.failure().message;
}

void time_convolution(Gpu& gpu, DType dtype, const Layer& l, bool channels_last) {
  using At = ConvolutionOperand;
  using Product = ConvolutionProduct;
  for (const Product product : {Product::to_small, Product::to_large, Product::to_weight}) {
    if (product == Product::to_large && l.channels == 3) continue;  // of images
    ConvolutionSpec s;
    s.product = product, s.dtype = dtype, s.channels_last = channels_last;
    s.images = l.images, s.large_channels = l.channels, s.small_channels = l.out;
    s.groups = l.groups;
    s.large = {1, l.size, l.size}, s.kernel = {1, l.kernel, l.kernel};
    s.stride = {1, l.stride, l.stride}, s.padding = {0, l.kernel / 2, l.kernel / 2};
    const int64_t small_size = (l.size + 2 * (l.kernel / 2) - l.kernel) / l.stride + 1;
    s.small = {1, small_size, small_size};
    const int64_t large = s.images * l.channels * l.size * l.size * size_of(dtype);
    const int64_t small = s.images * l.out * small_size * small_size * size_of(dtype);
    const int64_t weight = l.channels / l.groups * l.out * l.kernel * l.kernel * size_of(dtype);
    const bool is_small = product == Product::to_small, is_large = product == Product::to_large;
    std::printf(
        "%-5s %-44s ", std::string(name_of(dtype)).c_str(),
        fmt::format("{}x{} -> {} {}x{}, {}/{}{}{} {}", l.images, l.channels, l.out, l.size, l.size,
                    l.kernel, l.stride, l.groups > 1 ? fmt::format(" groups {}", l.groups) : "",
                    channels_last ? " last" : "",
                    is_small   ? "forward"
                    : is_large ? "input"
                               : "weight")
            .c_str());
    const double ms = time_call(gpu, s,
                                {{At::image, is_large ? small : large},
                                 {At::other, is_small || is_large ? weight : small},
                                 {At::out, is_small   ? small
                                           : is_large ? large
                                                      : weight}});
    std::printf("  %.2f TB/s  %s\n", static_cast<double>(large + small + weight) / ms / 1e9,
                refusal(gpu, s).c_str());
  }
}

// Of models: ResNet-50, RegNet (groups), EfficientNet, MobileNet and ConvNeXt (depthwise).
constexpr Layer layers_of_models[] = {
    {128, 3, 64, 224, 7, 2, 1},       {128, 64, 64, 56, 3, 1, 1},
    {128, 64, 256, 56, 1, 1, 1},      {128, 128, 128, 56, 3, 2, 1},
    {128, 128, 128, 28, 3, 1, 1},     {128, 256, 512, 56, 1, 2, 1},
    {128, 256, 256, 14, 3, 1, 1},     {128, 512, 512, 14, 3, 2, 1},
    {128, 512, 512, 7, 3, 1, 1},      {128, 2048, 512, 7, 1, 1, 1},
    {64, 128, 128, 56, 3, 1, 8},      {64, 3, 96, 224, 4, 4, 1},
    {64, 12, 20, 56, 3, 1, 1},        {128, 32, 32, 112, 3, 1, 32},
    {128, 96, 96, 112, 3, 2, 96},     {128, 144, 144, 56, 3, 1, 144},
    {128, 240, 240, 28, 5, 1, 240},   {128, 672, 672, 14, 5, 2, 672},
    {128, 1152, 1152, 7, 5, 1, 1152}, {64, 96, 96, 56, 7, 1, 96},
    {64, 768, 768, 7, 7, 1, 768}};

void time_convolutions(Gpu& gpu) {
  for (const Layer& layer : layers_of_models) time_convolution(gpu, DType::bf16, layer, true);
  const Layer plain{128, 64, 64, 56, 3, 1, 1};
  time_convolution(gpu, DType::bf16, plain, false);
  time_convolution(gpu, DType::f32, plain, false);
  time_convolution(gpu, DType::f32, plain, true);
}

void time_all(Gpu& gpu) {
  constexpr int64_t tokens = 16384;
  const DType half = DType::bf16;
  const struct {
    const char* name;
    int64_t in, out;
  } layers[] = {{"qkv", 768, 2304},
                {"proj", 768, 768},
                {"fc", 768, 3072},
                {"out", 3072, 768},
                {"head", 768, 50304}};
  for (const auto& [name, in, out] : layers) {
    const auto product = [&](const char* what, int64_t m, int64_t n, int64_t k, bool a, bool b,
                             const char* c_in) {
      time_product(gpu, fmt::format("{} {}", name, what).c_str(), half, m, n, k, a, b, c_in);
    };
    product("forward", tokens, out, in, false, true, "");
    product("forward + bias", tokens, out, in, false, true, "bias");
    if (out < 50000) product("forward + residual", tokens, out, in, false, true, "residual");
    product("dX", tokens, in, out, false, false, "");
    product("dW", out, in, tokens, true, false, "");
  }
  time_product(gpu, "fc forward", DType::f32, tokens, 3072, 768, false, true, "bias");
  time_product(gpu, "1024 x 1024 x 1024", DType::f64, 1024, 1024, 1024, false, false, "");
  time_product(gpu, "1024 x 1024 x 1024", DType::i32, 1024, 1024, 1024, false, false, "");
  time_attention(gpu, half, 16, 12, 1024, 64);
  time_attention(gpu, half, 4, 32, 2048, 64);
  time_attention(gpu, half, 32, 12, 512, 64);
  time_attention(gpu, half, 8, 16, 4096, 128);
  time_attention(gpu, half, 64, 12, 197, 64);  // of a ViT
  time_attention(gpu, half, 32, 12, 577, 64);
  time_attention(gpu, DType::f32, 4, 12, 1024, 64);
  const SortSpec sort{.outer = 64, .length = 50304, .count = 50304};
  std::printf("%-5s %-28s ", "f32", "sort 64 x 50304");
  time_call(gpu, sort,
            {{SortOperand::self, 64 * 50304 * 4},
             {SortOperand::values, 64 * 50304 * 4},
             {SortOperand::indices, 64 * 50304 * 8}});
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 300;
  const std::string only = argc > 2 ? argv[2] : "";
  try {
    Gpu gpu;
    std::printf("%s, sm_%d\n", gpu.device().name().c_str(), gpu.device().arch());
    const auto asked = [&](const char* kind) { return only.empty() || only == kind; };
    if (asked("gemm")) compare(gpu, "gemm", test::gemm_case, rounds);
    if (asked("attention")) compare(gpu, "attention", test::attention_case, rounds);
    if (asked("gradient")) compare(gpu, "gradient", test::attention_gradient_case, rounds);
    if (asked("convolution")) compare(gpu, "convolution", test::convolution_case, rounds);
    if (asked("depthwise")) compare(gpu, "depthwise", test::depthwise_case, rounds);
    if (asked("sort")) compare(gpu, "sort", test::sort_case, rounds);
    if (asked("times")) time_all(gpu);
    if (asked("convolutions")) time_convolutions(gpu);
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
  return wrong == 0 ? 0 : 1;
}
