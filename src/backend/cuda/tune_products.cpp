#include "backend/cuda/tune_products.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <utility>

namespace cleave::cuda {
namespace {

constexpr int runs = 5, products_of_a_run = 3;
constexpr float gain = .98f;  // of the first answer's time, below which another one is taken
constexpr int64_t pattern_bytes = 1 << 20;

// A block of the device, freed at the end.
class Block {
 public:
  static Result<std::unique_ptr<Block>> make(const CudaDevicePtr& device, int64_t bytes) {
    CLEAVE_TRY(const CUdeviceptr at, device->allocate(std::max<int64_t>(bytes, 256), "a product"));
    return std::make_unique<Block>(device, at, bytes);
  }
  Block(CudaDevicePtr device, CUdeviceptr at, int64_t bytes)
      : device_(std::move(device)), at_(at), bytes_(bytes) {}
  ~Block() { device_->free(at_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  void* data() const { return reinterpret_cast<void*>(at_); }

  // Repeats the bytes.
  Status fill(const std::vector<std::byte>& from, CUstream stream) {
    const Driver& d = device_->driver();
    for (int64_t at = 0; at < bytes_; at += std::ssize(from)) {
      const auto count = static_cast<size_t>(std::min<int64_t>(std::ssize(from), bytes_ - at));
      CLEAVE_CHECK(d.check(
          d.cuMemcpyHtoDAsync(at_ + static_cast<CUdeviceptr>(at), from.data(), count, stream),
          "filling an operand"));
    }
    return {};
  }

 private:
  const CudaDevicePtr device_;
  const CUdeviceptr at_;
  const int64_t bytes_;
};

// Random ones between -1 and 1: a device takes less time and power for zeros.
std::vector<std::byte> numbers(DType t) {
  std::mt19937 rng(1);
  std::uniform_real_distribution<float> real(-1, 1);
  std::vector<std::byte> out(pattern_bytes);
  const auto each = [&](auto make) {
    using T = decltype(make());
    auto* at = reinterpret_cast<T*>(out.data());
    for (size_t k = 0; k < out.size() / sizeof(T); ++k) at[k] = make();
  };
  switch (t) {
    case DType::bf16:
      each([&] { return static_cast<uint16_t>(std::bit_cast<uint32_t>(real(rng)) >> 16); });
      break;
    case DType::f16:  // exponents from 2^-7 to 1
      each([&] { return static_cast<uint16_t>((rng() & 0x83ff) | (8 + rng() % 7) << 10); });
      break;
    case DType::f64: each([&] { return static_cast<double>(real(rng)); }); break;
    default: each([&] { return real(rng); });
  }
  return out;
}

int64_t bytes_of(const CublasMatrix& m, int64_t batch) {
  return ((batch - 1) * m.batch_stride + m.leading * m.columns) * size_of(m.dtype);
}

class Events {
 public:
  static Result<Events> make(const CudaDevicePtr& device) {
    Events out(device);
    for (CUevent& e : out.at_)
      CLEAVE_CHECK(device->driver().check(device->driver().cuEventCreate(&e, 0), "making a clock"));
    return out;
  }
  explicit Events(CudaDevicePtr device) : device_(std::move(device)) {}
  Events(Events&& from) noexcept
      : device_(std::move(from.device_)), at_(std::exchange(from.at_, {})) {}
  Events& operator=(Events&&) = delete;
  ~Events() {
    for (CUevent e : at_)
      if (e != nullptr) device_->driver().cuEventDestroy(e);
  }
  Status mark(size_t k, CUstream stream) const {
    return device_->driver().check(device_->driver().cuEventRecord(at_[k], stream), "a clock");
  }
  Result<float> ms() const {
    const Driver& d = device_->driver();
    float ms = 0;
    CLEAVE_CHECK(d.check(d.cuEventSynchronize(at_[1]), "waiting"));
    CLEAVE_CHECK(d.check(d.cuEventElapsedTime(&ms, at_[0], at_[1]), "a clock"));
    return ms;
  }

 private:
  CudaDevicePtr device_;
  std::array<CUevent, 2> at_ = {};
};

}  // namespace

int fastest_of(std::span<const float> ms) {
  size_t best = 0;
  for (size_t k = 1; k < ms.size(); ++k)
    if (ms[k] < ms[best] || std::isnan(ms[best])) best = k;
  if (ms.empty() || std::isnan(ms[0])) return static_cast<int>(best);
  return ms[best] < gain * ms[0] ? static_cast<int>(best) : 0;
}

Result<int> fastest_answer(const CublasProductSpec& spec,
                           const std::shared_ptr<const Cublas>& cublas,
                           const CudaDevicePtr& device) {
  CLEAVE_CHECK(device->make_current());
  CLEAVE_TRY(const CudaStream stream, CudaStream::make(device));
  const auto block = [&](int64_t bytes) { return Block::make(device, bytes); };
  CLEAVE_TRY(const auto a, block(bytes_of(spec.a, spec.batch)));
  CLEAVE_TRY(const auto b, block(bytes_of(spec.b, spec.batch)));
  CLEAVE_TRY(const auto c, block(spec.beta != 0 ? bytes_of(spec.c, spec.batch) : 0));
  CLEAVE_TRY(const auto d, block(bytes_of(spec.d, spec.batch)));
  CLEAVE_TRY(const auto bias, block(spec.d.rows * size_of(spec.d.dtype)));
  CLEAVE_TRY(const auto workspace, block(spec.workspace_bytes));
  CLEAVE_CHECK(a->fill(numbers(spec.a.dtype), stream.get()));
  CLEAVE_CHECK(b->fill(numbers(spec.b.dtype), stream.get()));
  CLEAVE_CHECK(c->fill(numbers(spec.c.dtype), stream.get()));
  CLEAVE_CHECK(bias->fill(numbers(spec.d.dtype), stream.get()));
  CLEAVE_CHECK(stream.wait());  // the patterns are gone now
  CLEAVE_TRY(const Events events, Events::make(device));
  const void* const of_bias = spec.has_bias ? bias->data() : nullptr;
  const void* const of_c = spec.beta != 0 ? c->data() : d->data();
  const int count = CublasProductCall(spec, cublas)
                        .answers(a->data(), b->data(), of_c, d->data(), of_bias, most_answers);
  std::vector<float> times;
  for (int k = 0; k < count; ++k) {
    times.push_back(NAN);
    const CublasProductCall call(spec, cublas, k);
    const auto run = [&] {
      return call.run(a->data(), b->data(), of_c, d->data(), of_bias, workspace->data(),
                      stream.get());
    };
    if (!run()) continue;
    float& least = times.back();
    for (int r = 0; r < runs; ++r) {
      CLEAVE_CHECK(events.mark(0, stream.get()));
      for (int p = 0; p < products_of_a_run; ++p) run();
      CLEAVE_CHECK(events.mark(1, stream.get()));
      CLEAVE_TRY(const float ms, events.ms());
      if (r == 0 || ms < least) least = ms;
    }
  }
  return fastest_of(times);
}

}  // namespace cleave::cuda
