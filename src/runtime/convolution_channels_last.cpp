// Convolutions of tensors whose last dim are channels, as those of row-major ones: operands are
// copied to scratch in the other order, and the result back.
//
//   image [images, positions, channels]        ->  [images, channels, positions]
//   weight [small_channels, taps, channels]    ->  [small_channels, channels, taps]
//
// A processor's programs make such calls only where they are asked to (the pass channels_last).
// Bits are those of the row-major call.
#include <algorithm>
#include <cstring>

#include "runtime/convolution_products.h"
#include "runtime/convolution_windows.h"
#include "runtime/run_lanes.h"

namespace cleave::runtime {
namespace {

using Product = ConvolutionProduct;

constexpr int64_t round_up(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }

// `outer` matrices of so many rows and columns.
struct Matrices {
  int64_t outer = 1, rows = 1, columns = 1;
  Matrices turned() const { return {outer, columns, rows}; }
  int64_t bytes(DType t) const { return round_up(outer * rows * columns * size_of(t), 64); }
};

template <class T>
void transpose(const T* from, T* to, int64_t rows, int64_t columns) {
  constexpr int64_t tile = 16;  // lines of both sides stay in the first-level cache
  for (int64_t i = 0; i < rows; i += tile)
    for (int64_t j = 0; j < columns; j += tile)
      for (int64_t r = i; r < std::min(i + tile, rows); ++r)
        for (int64_t c = j; c < std::min(j + tile, columns); ++c)
          to[c * rows + r] = from[r * columns + c];
}

void transpose(const char* from, char* to, int64_t rows, int64_t columns, int64_t size) {
  switch (size) {
    case 2:
      return transpose(reinterpret_cast<const uint16_t*>(from), reinterpret_cast<uint16_t*>(to),
                       rows, columns);
    case 4:
      return transpose(reinterpret_cast<const uint32_t*>(from), reinterpret_cast<uint32_t*>(to),
                       rows, columns);
    default:
      return transpose(reinterpret_cast<const uint64_t*>(from), reinterpret_cast<uint64_t*>(to),
                       rows, columns);
  }
}

class ChannelsLast final : public Convolution {
 public:
  ChannelsLast(const ConvolutionSpec& s, std::shared_ptr<Convolution> inner)
      : spec_(s), inner_(std::move(inner)) {
    const Matrices large{s.images, product_of(s.large), s.large_channels};
    const Matrices small{s.images, product_of(s.small), s.small_channels};
    const Matrices weight{s.small_channels, product_of(s.kernel), s.large_channels / s.groups};
    image_ = s.product == Product::to_large ? small : large;
    other_ = s.product == Product::to_weight ? small : weight;
    out_ = s.product == Product::to_weight  ? weight
           : s.product == Product::to_large ? large
                                            : small;
  }
  int64_t scratch_bytes() const override {
    const DType t = spec_.dtype;
    return image_.bytes(t) + other_.bytes(t) + out_.bytes(t) + inner_->scratch_bytes();
  }
  void run(const ConvolutionOperands& at, void* scratch, Executor& executor) const override {
    char* image = static_cast<char*>(scratch);
    char* other = image + image_.bytes(spec_.dtype);
    char* out = other + other_.bytes(spec_.dtype);
    copy(at.image, image, image_, executor);
    copy(at.other, other, other_, executor);
    inner_->run({image, other, at.bias, out, nullptr}, out + out_.bytes(spec_.dtype), executor);
    copy(out, at.out, out_.turned(), executor);
  }

 private:
  void copy(const void* from, void* to, const Matrices& m, Executor& executor) const {
    const int64_t size = size_of(spec_.dtype), bytes = m.rows * m.columns * size;
    const long lanes = std::min<long>(executor.threads(), m.outer);
    run_lanes(std::max(lanes, 1L), m.outer, executor, [&](long, long k) {
      transpose(static_cast<const char*>(from) + k * bytes, static_cast<char*>(to) + k * bytes,
                m.rows, m.columns, size);
    });
  }

  const ConvolutionSpec spec_;
  const std::shared_ptr<Convolution> inner_;
  Matrices image_, other_, out_;
};

}  // namespace

std::shared_ptr<Convolution> make_channels_last(const ConvolutionSpec& spec,
                                                std::shared_ptr<Convolution> row_major) {
  return std::make_shared<ChannelsLast>(spec, std::move(row_major));
}

}  // namespace cleave::runtime
