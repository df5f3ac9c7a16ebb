// to_weight of convolution.h for groups of few channels: each weight is a sum over the positions of
// all images, vectors of them at a time. Lanes are added up in f64 after at most `most_steps`
// vectors, in the order of the images.
#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/convolution_products.h"
#include "runtime/direct_block.h"
#include "runtime/lane_count.h"
#include "runtime/run_lanes.h"

namespace cleave::runtime {
namespace {

constexpr int64_t round_up(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }
constexpr double piece_cycles = 40'000;
constexpr int64_t most_steps = 256;

class DirectWeight final : public Convolution {
 public:
  DirectWeight(const ConvolutionSpec& spec, InstructionSet set);
  int64_t scratch_bytes() const override { return lanes() * lane_bytes_; }
  long pieces() const { return static_cast<long>((s_.groups + piece_groups_ - 1) / piece_groups_); }
  void run(const ConvolutionOperands& at, void* scratch, Executor& executor) const override;

 private:
  long lanes() const { return lanes_for(cycles_, pieces()); }
  int64_t taps() const { return std::ssize(offset_); }
  void fill_mask();
  void set_cycles();
  void run_group(int64_t group, const ConvolutionOperands& at, char* scratch) const;
  void fill(int64_t image, int64_t group, const ConvolutionOperands& at, char* scratch) const;

  const ConvolutionSpec s_;
  const DirectKernel kernel_;
  const int64_t bytes_, sum_bytes_;                // of an element, and of a sum
  const int64_t large_channels_, small_channels_;  // of a group
  PlaneLayout layout_;
  std::vector<int64_t> offset_;  // of each tap
  int64_t count_ = 0;            // positions of an image, gaps included
  std::vector<char> mask_;       // all bits of a position, none of a gap
  int64_t large_at_ = 0, small_at_ = 0, sums_at_ = 0, totals_at_ = 0, lane_bytes_ = 0;
  int64_t piece_groups_ = 1;
  double cycles_ = 0;
};

DirectWeight::DirectWeight(const ConvolutionSpec& s, InstructionSet set)
    : s_(s), kernel_(direct_kernel(s.dtype, set)), bytes_(size_of(s.dtype)),
      sum_bytes_(s.dtype == DType::f64 ? 8 : 4), large_channels_(s.large_channels / s.groups),
      small_channels_(s.small_channels / s.groups) {
  const std::vector<PhaseDim> dims[3] = {phase_dims(s, 0), phase_dims(s, 1), phase_dims(s, 2)};
  layout_ = plane_layout(dims, s.stride, s.large);
  const PhaseDim* const only[3] = {dims[0].data(), dims[1].data(), dims[2].data()};
  for (const PlaneTap& tap : plane_taps(layout_, s.kernel, only)) offset_.push_back(tap.offset);
  const Sizes3& e = layout_.extent;
  count_ = ((s.small[0] - 1) * e[1] + s.small[1] - 1) * e[2] + s.small[2];
  fill_mask();
  const int64_t n = kernel_.lanes, weights = large_channels_ * small_channels_ * taps();
  const auto place = [this](int64_t bytes) {
    const int64_t at = lane_bytes_;
    lane_bytes_ += round_up(bytes, 64);
    return at;
  };
  large_at_ = place((large_channels_ * layout_.numbers() + n) * sum_bytes_);
  small_at_ = place(small_channels_ * round_up(count_, n) * sum_bytes_);
  sums_at_ = place(weights * n * sum_bytes_);
  totals_at_ = place(weights * int64_t{sizeof(double)});
  set_cycles();
}

void DirectWeight::fill_mask() {
  const Sizes3& e = layout_.extent;
  mask_.assign(static_cast<size_t>(round_up(count_, kernel_.lanes) * sum_bytes_), 0);
  for (int64_t i = 0; i < s_.small[0]; ++i)
    for (int64_t j = 0; j < s_.small[1]; ++j)
      std::memset(mask_.data() + (i * e[1] + j) * e[2] * sum_bytes_, 0xff,
                  static_cast<size_t>(s_.small[2] * sum_bytes_));
}

void DirectWeight::set_cycles() {
  const double image = static_cast<double>(large_channels_ * product_of(s_.large) +
                                           small_channels_ * product_of(s_.small)) +
                       static_cast<double>(large_channels_ * small_channels_ * taps() * count_) /
                           static_cast<double>(kernel_.lanes);
  const double group = image * static_cast<double>(s_.images);
  cycles_ = group * static_cast<double>(s_.groups);
  piece_groups_ =
      static_cast<int64_t>(std::clamp(piece_cycles / group, 1.0, static_cast<double>(s_.groups)));
}

void DirectWeight::run(const ConvolutionOperands& at, void* scratch, Executor& executor) const {
  run_lanes(lanes(), pieces(), executor, [&](long lane, long index) {
    char* const here = static_cast<char*>(scratch) + lane * lane_bytes_;
    std::memset(here, 0, static_cast<size_t>(lane_bytes_));
    const int64_t first = index * piece_groups_;
    for (int64_t g = first; g < std::min(first + piece_groups_, s_.groups); ++g)
      run_group(g, at, here);
  });
}

void DirectWeight::fill(int64_t image, int64_t group, const ConvolutionOperands& at,
                        char* scratch) const {
  const int64_t plane = product_of(s_.large), row = s_.small[2];
  const char* large = static_cast<const char*>(at.image) +
                      (image * s_.groups + group) * large_channels_ * plane * bytes_;
  for (int64_t l = 0; l < large_channels_; ++l)
    kernel_.fill(layout_, large + l * plane * bytes_, 0, layout_.extent[1],
                 scratch + large_at_ + l * layout_.numbers() * sum_bytes_);
  const char* small = static_cast<const char*>(at.other) +
                      (image * s_.groups + group) * small_channels_ * product_of(s_.small) * bytes_;
  for (int64_t m = 0; m < small_channels_; ++m) {
    char* const to = scratch + small_at_ + m * round_up(count_, kernel_.lanes) * sum_bytes_;
    for (int64_t i = 0; i < s_.small[0]; ++i, small += s_.small[1] * row * bytes_)
      kernel_.widen(small, row, s_.small[1],
                    to + i * layout_.extent[1] * layout_.extent[2] * sum_bytes_, layout_.extent[2]);
  }
}

void DirectWeight::run_group(int64_t group, const ConvolutionOperands& at, char* scratch) const {
  const int64_t pairs = small_channels_ * large_channels_, n = kernel_.lanes;
  double* const totals = reinterpret_cast<double*>(scratch + totals_at_);
  std::fill_n(totals, pairs * taps(), 0.0);
  int64_t steps = 0;
  for (int64_t image = 0; image < s_.images; ++image) {
    fill(image, group, at, scratch);
    for (int64_t p = 0; p < count_; p += most_steps * n) {
      const int64_t count = std::min(count_ - p, most_steps * n);
      if (steps > 0 && steps + count / n > most_steps) {
        kernel_.flush(scratch + sums_at_, pairs * taps(), totals);
        steps = 0;
      }
      for (int64_t pair = 0; pair < pairs; ++pair) {
        const int64_t m = pair / large_channels_, l = pair % large_channels_;
        kernel_.dots({.in = scratch + large_at_ + (l * layout_.numbers() + p) * sum_bytes_,
                      .offset = offset_.data(),
                      .small = scratch + small_at_ + (m * round_up(count_, n) + p) * sum_bytes_,
                      .mask = mask_.data() + p * sum_bytes_,
                      .lanes = scratch + sums_at_ + pair * taps() * n * sum_bytes_,
                      .taps = taps(),
                      .count = count});
      }
      steps += (count + n - 1) / n;
    }
  }
  kernel_.flush(scratch + sums_at_, pairs * taps(), totals);
  kernel_.narrow(totals, pairs * taps(),
                 static_cast<char*>(at.out) + group * pairs * taps() * bytes_);
}

}  // namespace

std::shared_ptr<Convolution> make_direct_weight(const ConvolutionSpec& spec, InstructionSet set) {
  return std::make_shared<DirectWeight>(spec, set);
}

}  // namespace cleave::runtime
