// to_weight of convolution.h for groups of one channel each: channels are lanes (direct_block.h), a
// band of rows of both images at a time. Sums of some 256 positions are added up in f64, in the
// order of the rows; those of parts of the images at the end.
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
constexpr int64_t few_positions = 256, enough_pieces = 16;

class DepthwiseWeight final : public Convolution {
 public:
  DepthwiseWeight(const ConvolutionSpec& spec, InstructionSet set);
  int64_t scratch_bytes() const override { return pieces() * total_bytes_ + lanes() * lane_bytes_; }
  long pieces() const { return static_cast<long>(blocks() * parts_); }
  void run(const ConvolutionOperands& at, void* scratch, Executor& executor) const override;

 private:
  long lanes() const { return lanes_for(cycles_, pieces()); }
  int64_t blocks() const { return (s_.groups + kernel_.lanes - 1) / kernel_.lanes; }
  int64_t taps() const { return std::ssize(offset_); }
  int64_t channels(int64_t block) const {
    return std::min(kernel_.lanes, s_.groups - block * kernel_.lanes);
  }
  void run_image(int64_t image, int64_t block, const ConvolutionOperands& at, double* totals,
                 char* scratch) const;
  void finish(int64_t block, const ConvolutionOperands& at, char* totals, char* scratch) const;

  const ConvolutionSpec s_;
  const DirectKernel kernel_;
  const int64_t bytes_, sum_bytes_;  // of an element, and of a sum
  const DepthwiseBand band_;
  std::vector<int64_t> offset_;  // of each tap
  int64_t rows_ = 1, parts_ = 1;
  int64_t total_bytes_ = 0, small_at_ = 0, sums_at_ = 0, lane_bytes_ = 0;
  double cycles_ = 0;
};

DepthwiseWeight::DepthwiseWeight(const ConvolutionSpec& s, InstructionSet set)
    : s_(s), kernel_(direct_kernel(s.dtype, set)), bytes_(size_of(s.dtype)),
      sum_bytes_(s.dtype == DType::f64 ? 8 : 4), band_(s, s.large[1], s.large[2]) {
  const int64_t n = kernel_.lanes;
  for (const PhaseDim::Tap& a : band_.rows.phases[0].taps)
    for (const PhaseDim::Tap& b : band_.columns.phases[0].taps)
      offset_.push_back(band_.offset(a, b) * n);
  rows_ = band_.rows_that_fit(s.small[2], n * sum_bytes_);
  parts_ = std::clamp<int64_t>(enough_pieces / blocks(), 1, s.images);
  total_bytes_ = round_up(taps() * n * int64_t{sizeof(double)}, 64);
  small_at_ = round_up(band_.rows.span(rows_) * band_.row * n * sum_bytes_, 64);
  sums_at_ = small_at_ + round_up(rows_ * s.small[2] * n * sum_bytes_, 64);
  lane_bytes_ = sums_at_ + round_up(taps() * n * sum_bytes_, 64);
  cycles_ = static_cast<double>(s.images * blocks()) *
            static_cast<double>(product_of(s.small) * taps() +
                                6 * (product_of(s.small) + product_of(s.large)));
}

void DepthwiseWeight::run(const ConvolutionOperands& at, void* scratch, Executor& executor) const {
  char* const totals = static_cast<char*>(scratch);
  char* const rest = totals + pieces() * total_bytes_;
  run_lanes(lanes(), pieces(), executor, [&](long lane, long index) {
    const int64_t block = index % blocks(), part = index / blocks();
    char* const here = rest + lane * lane_bytes_;
    std::memset(here, 0, static_cast<size_t>(lane_bytes_));
    auto* const sums = reinterpret_cast<double*>(totals + index * total_bytes_);
    std::fill_n(sums, taps() * kernel_.lanes, 0.0);
    const int64_t end = s_.images * (part + 1) / parts_;
    for (int64_t i = s_.images * part / parts_; i < end; ++i) run_image(i, block, at, sums, here);
  });
  for (int64_t block = 0; block < blocks(); ++block) finish(block, at, totals, rest);
}

void DepthwiseWeight::run_image(int64_t image, int64_t block, const ConvolutionOperands& at,
                                double* totals, char* scratch) const {
  const int64_t n = kernel_.lanes, channel = image * s_.groups + block * n;
  const int64_t width = s_.small[2], row_bytes = width * n * sum_bytes_;
  const char* large = static_cast<const char*>(at.image) + channel * product_of(s_.large) * bytes_;
  const char* small = static_cast<const char*>(at.other) + channel * product_of(s_.small) * bytes_;
  const int64_t few_rows = std::max<int64_t>(1, few_positions / width);
  for (int64_t first = 0; first < s_.small[1]; first += rows_) {
    const int64_t count = std::min(rows_, s_.small[1] - first);
    band_.fill(kernel_, bytes_, first, count, large, channels(block), scratch, sum_bytes_);
    kernel_.lanes_in({.image = const_cast<char*>(small) + first * width * bytes_,
                      .plane = product_of(s_.small),
                      .channels = channels(block),
                      .positions = count * width,
                      .at = scratch + small_at_,
                      .row = width,
                      .at_row = width * n});
    for (int64_t row = 0; row < count; row += few_rows) {
      kernel_.lane_dots({.in = scratch + row * band_.rows.step * band_.row * n * sum_bytes_,
                         .in_row = band_.rows.step * band_.row * n,
                         .in_step = band_.columns.step * n,
                         .offset = offset_.data(),
                         .small = scratch + small_at_ + row * row_bytes,
                         .small_row = width * n,
                         .sums = scratch + sums_at_,
                         .taps = taps(),
                         .rows = std::min(few_rows, count - row),
                         .count = width});
      kernel_.lane_flush(scratch + sums_at_, taps() * n, totals);
    }
  }
}

void DepthwiseWeight::finish(int64_t block, const ConvolutionOperands& at, char* totals,
                             char* scratch) const {
  const int64_t n = kernel_.lanes;
  auto* const whole = reinterpret_cast<double*>(totals + block * total_bytes_);
  for (int64_t part = 1; part < parts_; ++part) {
    const auto* more =
        reinterpret_cast<const double*>(totals + (part * blocks() + block) * total_bytes_);
    for (int64_t i = 0; i < taps() * n; ++i) whole[i] += more[i];
  }
  auto* const channel = reinterpret_cast<double*>(scratch);
  for (int64_t c = 0; c < channels(block); ++c) {
    for (int64_t t = 0; t < taps(); ++t) channel[t] = whole[t * n + c];
    kernel_.narrow(channel, taps(), static_cast<char*>(at.out) + (block * n + c) * taps() * bytes_);
  }
}

}  // namespace

std::shared_ptr<Convolution> make_depthwise_weight(const ConvolutionSpec& spec,
                                                   InstructionSet set) {
  return std::make_shared<DepthwiseWeight>(spec, set);
}

}  // namespace cleave::runtime
