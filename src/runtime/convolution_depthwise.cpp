// to_small and to_large of convolution.h for groups of one channel each: channels are lanes
// (direct_block.h), a band of rows at a time.
#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/convolution_depthwise.h"
#include "runtime/convolution_products.h"
#include "runtime/lane_count.h"
#include "runtime/run_lanes.h"

namespace cleave::runtime {
namespace {

constexpr int64_t round_up(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }
constexpr double piece_cycles = 40'000;

// The taps of a phase of rows and one of columns.
struct Phase {
  std::vector<int64_t> offset;  // in numbers
  std::vector<int64_t> tap;     // in the kernel
  int64_t first_weight = 0;     // of all arranged taps
};

class DepthwiseImage final : public Convolution {
 public:
  DepthwiseImage(const ConvolutionSpec& spec, InstructionSet set);
  int64_t scratch_bytes() const override { return weight_bytes_ + lanes() * lane_bytes_; }
  long pieces() const { return static_cast<long>(s_.images * pieces_of_image_); }
  void run(const ConvolutionOperands& at, void* scratch, Executor& executor) const override;

 private:
  long lanes() const { return lanes_for(cycles_, pieces()); }
  int64_t blocks() const { return (s_.groups + kernel_.lanes - 1) / kernel_.lanes; }
  // Of the channels that are lanes.
  int64_t channels(int64_t block) const {
    return std::min(kernel_.lanes, s_.groups - block * kernel_.lanes);
  }
  template <class T>
  void arrange(int64_t block, const ConvolutionOperands& at, char* scratch) const;
  void run_block(int64_t image, int64_t block, const ConvolutionOperands& at, const char* weights,
                 char* scratch) const;
  void run_band(int64_t first, int64_t count, int64_t image, int64_t block,
                const ConvolutionOperands& at, const char* weights, char* scratch) const;
  void write(const PhaseDim& phase, int64_t first, int64_t count, int64_t image, int64_t block,
             const ConvolutionOperands& at, char* sums) const;

  const ConvolutionSpec s_;
  const DirectKernel kernel_;
  const bool to_small_;
  const int64_t bytes_, sum_bytes_;  // of an element, and of a sum
  const Sizes3 in_, out_;
  const DepthwiseBand band_;
  std::vector<Phase> phases_;  // [rows, columns]
  int64_t all_taps_ = 0, rows_ = 1;
  int64_t band_bytes_ = 0, weight_bytes_ = 0, lane_bytes_ = 0;
  int64_t piece_blocks_ = 1, pieces_of_image_ = 1;
  double cycles_ = 0;
};

DepthwiseImage::DepthwiseImage(const ConvolutionSpec& s, InstructionSet set)
    : s_(s), kernel_(direct_kernel(s.dtype, set)),
      to_small_(s.product == ConvolutionProduct::to_small), bytes_(size_of(s.dtype)),
      sum_bytes_(s.dtype == DType::f64 ? 8 : 4), in_(to_small_ ? s.large : s.small),
      out_(to_small_ ? s.small : s.large), band_(s, in_[1], in_[2]) {
  double sums = 0;
  for (const PhaseDim& i : band_.rows.phases)
    for (const PhaseDim& j : band_.columns.phases) {
      Phase p;
      p.first_weight = all_taps_;
      for (const PhaseDim::Tap& a : i.taps)
        for (const PhaseDim::Tap& b : j.taps) {
          p.offset.push_back(band_.offset(a, b) * kernel_.lanes);
          p.tap.push_back(a.index * s.kernel[2] + b.index);
        }
      all_taps_ += std::ssize(p.tap);
      sums += static_cast<double>(i.count * j.count * (std::ssize(p.tap) + 1));
      phases_.push_back(std::move(p));
    }
  const int64_t n = kernel_.lanes;
  rows_ = band_.rows_that_fit(out_[2], n * sum_bytes_);
  band_bytes_ = round_up(band_.rows.span(rows_) * band_.row * n * sum_bytes_, 64);
  lane_bytes_ = band_bytes_ + round_up(rows_ * out_[2] * n * sum_bytes_, 64);
  weight_bytes_ = blocks() * round_up((all_taps_ + 1) * n * sum_bytes_, 64);
  // A position that is transposed takes six cycles, one under a tap one.
  const double block = sums + 6 * static_cast<double>(product_of(in_) + product_of(out_));
  cycles_ = block * static_cast<double>(s_.images * blocks());
  piece_blocks_ =
      static_cast<int64_t>(std::clamp(piece_cycles / block, 1.0, static_cast<double>(blocks())));
  pieces_of_image_ = (blocks() + piece_blocks_ - 1) / piece_blocks_;
}

// [all taps, lanes] and the bias.
template <class T>
void DepthwiseImage::arrange(int64_t block, const ConvolutionOperands& at, char* scratch) const {
  const int64_t n = kernel_.lanes, kernel = product_of(s_.kernel);
  T* const to = reinterpret_cast<T*>(scratch + block * (weight_bytes_ / blocks()));
  std::fill_n(to, (all_taps_ + 1) * n, T{0});
  for (int64_t c = 0; c < channels(block); ++c) {
    const int64_t channel = block * n + c;
    const char* weight = static_cast<const char*>(at.other) + channel * kernel * bytes_;
    for (const Phase& p : phases_)
      for (size_t t = 0; t < p.tap.size(); ++t)
        kernel_.widen(weight + p.tap[t] * bytes_, 1, 1,
                      to + (p.first_weight + static_cast<int64_t>(t)) * n + c, 0);
    if (s_.has_bias)
      kernel_.widen(static_cast<const char*>(at.bias) + channel * bytes_, 1, 1,
                    to + all_taps_ * n + c, 0);
  }
}

void DepthwiseImage::run(const ConvolutionOperands& at, void* scratch, Executor& executor) const {
  char* const weights = static_cast<char*>(scratch);
  const long some = static_cast<long>(std::min<int64_t>(lanes(), blocks()));
  run_lanes(some, blocks(), executor, [&](long, long block) {
    if (sum_bytes_ == 8)
      arrange<double>(block, at, weights);
    else
      arrange<float>(block, at, weights);
  });
  run_lanes(lanes(), pieces(), executor, [&](long lane, long index) {
    char* const here = weights + weight_bytes_ + lane * lane_bytes_;
    std::memset(here, 0, static_cast<size_t>(band_bytes_));
    const int64_t image = index / pieces_of_image_;
    const int64_t first = index % pieces_of_image_ * piece_blocks_;
    for (int64_t b = first; b < std::min(first + piece_blocks_, blocks()); ++b)
      run_block(image, b, at, weights + b * (weight_bytes_ / blocks()), here);
  });
}

void DepthwiseImage::run_block(int64_t image, int64_t block, const ConvolutionOperands& at,
                               const char* weights, char* scratch) const {
  const int64_t channel = image * s_.groups + block * kernel_.lanes;
  const char* in = static_cast<const char*>(at.image) + channel * product_of(in_) * bytes_;
  const int64_t all = band_.rows.most_positions();
  for (int64_t first = 0; first < all; first += rows_) {
    const int64_t count = std::min(rows_, all - first);
    band_.fill(kernel_, bytes_, first, count, in, channels(block), scratch, sum_bytes_);
    run_band(first, count, image, block, at, weights, scratch);
  }
}

void DepthwiseImage::run_band(int64_t first, int64_t count, int64_t image, int64_t block,
                              const ConvolutionOperands& at, const char* weights,
                              char* scratch) const {
  const int64_t n = kernel_.lanes, step = to_small_ ? 1 : s_.stride[2];
  char* const sums = scratch + band_bytes_;
  const Phase* phase = phases_.data();
  for (const PhaseDim& i : band_.rows.phases) {
    const int64_t rows = std::min(count, i.count - first);
    for (const PhaseDim& j : band_.columns.phases) {
      for (int64_t row = 0; row < rows; ++row)
        kernel_.lane_sums({.in = scratch + row * band_.rows.step * band_.row * n * sum_bytes_,
                           .in_step = band_.columns.step * n,
                           .offset = phase->offset.data(),
                           .weight = weights + phase->first_weight * n * sum_bytes_,
                           .bias = weights + all_taps_ * n * sum_bytes_,
                           .to = sums + (row * out_[2] + j.base) * n * sum_bytes_,
                           .to_step = step * n,
                           .taps = std::ssize(phase->offset),
                           .count = j.count});
      ++phase;
    }
    if (rows > 0) write(i, first, rows, image, block, at, sums);
  }
}

// Rows of one phase, all at once where they are neighbours.
void DepthwiseImage::write(const PhaseDim& phase, int64_t first, int64_t count, int64_t image,
                           int64_t block, const ConvolutionOperands& at, char* sums) const {
  const int64_t n = kernel_.lanes, step = to_small_ ? 1 : s_.stride[1];
  const int64_t rows = step == 1 ? count : 1;
  for (int64_t row = 0; row < count; row += rows) {
    const int64_t channel = image * s_.groups + block * n;
    const int64_t to = ((channel * out_[1] + (first + row) * step + phase.base) * out_[2]) * bytes_;
    kernel_.lanes_out({.image = static_cast<char*>(at.out) + to,
                       .plane = product_of(out_),
                       .channels = channels(block),
                       .positions = rows * out_[2],
                       .at = sums + row * out_[2] * n * sum_bytes_,
                       .row = out_[2],
                       .at_row = out_[2] * n,
                       .added = s_.has_added ? static_cast<const char*>(at.added) + to : nullptr,
                       .relu = s_.relu});
  }
}

}  // namespace

std::shared_ptr<Convolution> make_depthwise_image(const ConvolutionSpec& spec, InstructionSet set) {
  return std::make_shared<DepthwiseImage>(spec, set);
}

}  // namespace cleave::runtime
