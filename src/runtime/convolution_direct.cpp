// to_small and to_large of convolution.h for few channels, of a group or of a wide image: a product
// of few rows would pack its windows for little. Here an image's channels of a group are
// copied into planes with a border (convolution_planes.h), and each result is summed over the taps
// of all of them, vectors of positions at a time, some rows of them in scratch.
#include <algorithm>
#include <cstring>
#include <vector>

#include "library/gemm_spec.h"
#include "runtime/convolution_products.h"
#include "runtime/direct_block.h"
#include "runtime/lane_count.h"
#include "runtime/run_lanes.h"

namespace cleave::runtime {
namespace {

constexpr int64_t round_up(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }
// Of a piece, and sums that wait in the cache.
constexpr double piece_cycles = 40'000;
constexpr int64_t waiting_sums = 2048;

// Positions of the result with the same taps along the last dim.
struct InnerPhase {
  std::vector<int64_t> offset;
  int64_t first_weight = 0;  // in the group's arranged weights, [results, taps]
};

struct Phase {
  int64_t base[2], count[2];  // of the outer dims
  std::vector<InnerPhase> inner;
  std::vector<int64_t> counts;  // of each inner phase
};

class DirectImage final : public Convolution {
 public:
  DirectImage(const ConvolutionSpec& spec, InstructionSet set);
  int64_t scratch_bytes() const override { return lanes() * lane_bytes_; }
  long pieces() const { return static_cast<long>(s_.images * pieces_of_image_); }
  void run(const ConvolutionOperands& at, void* scratch, Executor& executor) const override;

 private:
  long lanes() const { return lanes_for(cycles_, pieces()); }
  int64_t weight_at(int64_t result, int64_t source, int64_t tap) const;
  void add_phase(const PhaseDim& depth, const PhaseDim& row, const std::vector<PhaseDim>& columns);
  void set_cycles();
  // The blocks of rows from `first` to `last` of each phase.
  template <class T>
  void run_group(int64_t image, int64_t group, int64_t first, int64_t last,
                 const ConvolutionOperands& at, char* scratch) const;
  // Of all planes; to their end where `end` is all rows.
  template <class T>
  void clear_rows(int64_t begin, int64_t end, char* scratch) const;
  template <class T>
  void run_rows(const Phase& p, int64_t depth, int64_t row, int64_t rows, int64_t first_channel,
                const ConvolutionOperands& at, char* scratch) const;

  const ConvolutionSpec s_;
  const DirectKernel kernel_;
  const bool to_small_;
  const int64_t bytes_, sum_bytes_;  // of an element, and of a sum
  const Sizes3 out_;
  const int64_t sources_, results_;  // channels of a group that are read, and written
  PlaneLayout layout_;
  std::vector<Phase> phases_;
  std::vector<int64_t> weight_of_;   // of each arranged weight, in the group's weights
  int64_t weights_ = 0;              // of a group, as they lie
  int64_t rows_ = 1, row_sums_ = 0;  // of a block, and the sums of one result in it
  int64_t more_rows_ = 0;            // that a row's taps reach beyond it
  int64_t planes_at_ = 0, sums_at_ = 0, weights_at_ = 0, raw_at_ = 0, lane_bytes_ = 0;
  int64_t piece_groups_ = 1, pieces_of_image_ = 1;
  int64_t blocks_ = 1, piece_blocks_ = 1;  // of rows
  double cycles_ = 0;
};

DirectImage::DirectImage(const ConvolutionSpec& s, InstructionSet set)
    : s_(s), kernel_(direct_kernel(s.dtype, set)),
      to_small_(s.product == ConvolutionProduct::to_small), bytes_(size_of(s.dtype)),
      sum_bytes_(s.dtype == DType::f64 ? 8 : 4), out_(to_small_ ? s.small : s.large),
      sources_((to_small_ ? s.large_channels : s.small_channels) / s.groups),
      results_((to_small_ ? s.small_channels : s.large_channels) / s.groups) {
  const std::vector<PhaseDim> dims[3] = {phase_dims(s, 0), phase_dims(s, 1), phase_dims(s, 2)};
  weights_ = sources_ * product_of(s.kernel) *
             (s.weight_packed ? round_up(results_, gemm_panel) : results_);
  layout_ =
      to_small_ ? plane_layout(dims, s.stride, s.large) : plane_layout(dims, {1, 1, 1}, s.small);
  for (const PhaseDim& depth : dims[0])
    for (const PhaseDim& row : dims[1]) add_phase(depth, row, dims[2]);

  more_rows_ = layout_.extent[1];
  for (const PhaseDim& row : dims[1])
    more_rows_ = std::min(more_rows_, layout_.extent[1] - row.count);
  const int64_t pitch = layout_.extent[2], n = kernel_.lanes;
  rows_ = std::clamp<int64_t>(waiting_sums / pitch, 1, layout_.extent[1]);
  row_sums_ = round_up(rows_ * pitch + n, n);
  const auto place = [this](int64_t numbers) {
    const int64_t at = lane_bytes_;
    lane_bytes_ += round_up(numbers * sum_bytes_, 64);
    return at;
  };
  planes_at_ = place(sources_ * layout_.numbers() + n);
  sums_at_ = place(static_cast<int64_t>(dims[2].size()) * results_ * row_sums_);
  weights_at_ = place(std::ssize(weight_of_));
  raw_at_ = place(weights_ + results_);
  set_cycles();
}

// Where the weight of a tap lies, of a group.
int64_t DirectImage::weight_at(int64_t result, int64_t source, int64_t tap) const {
  const int64_t kernel = product_of(s_.kernel);
  if (s_.weight_packed)
    return (result / gemm_panel * sources_ * kernel + source * kernel + tap) * gemm_panel +
           result % gemm_panel;
  return (to_small_ ? result * sources_ + source : source * results_ + result) * kernel + tap;
}

void DirectImage::add_phase(const PhaseDim& depth, const PhaseDim& row,
                            const std::vector<PhaseDim>& columns) {
  Phase p{{depth.base, row.base}, {depth.count, row.count}, {}, {}};
  for (const PhaseDim& column : columns) {
    const PhaseDim* const dims[3] = {&depth, &row, &column};
    const std::vector<PlaneTap> taps = plane_taps(layout_, s_.kernel, dims);
    InnerPhase inner{{}, std::ssize(weight_of_)};
    for (int64_t j = 0; j < sources_; ++j)
      for (const PlaneTap& tap : taps) inner.offset.push_back(j * layout_.numbers() + tap.offset);
    for (int64_t r = 0; r < results_; ++r)
      for (int64_t j = 0; j < sources_; ++j)
        for (const PlaneTap& tap : taps) weight_of_.push_back(weight_at(r, j, tap.index));
    p.counts.push_back(column.count);
    p.inner.push_back(std::move(inner));
  }
  phases_.push_back(std::move(p));
}

// A number that is copied or written takes about a cycle, a vector under a tap as well.
void DirectImage::set_cycles() {
  double group =
      static_cast<double>(sources_ * product_of(layout_.size) + results_ * product_of(out_));
  for (const Phase& p : phases_)
    for (const InnerPhase& inner : p.inner)
      group += static_cast<double>(p.count[0] * p.count[1] * layout_.extent[2] * results_ *
                                   std::ssize(inner.offset)) /
               static_cast<double>(kernel_.lanes);
  cycles_ = group * static_cast<double>(s_.images * s_.groups);
  piece_groups_ =
      static_cast<int64_t>(std::clamp(piece_cycles / group, 1.0, static_cast<double>(s_.groups)));
  pieces_of_image_ = (s_.groups + piece_groups_ - 1) / piece_groups_;
  for (const Phase& p : phases_) blocks_ = std::max(blocks_, (p.count[1] + rows_ - 1) / rows_);
  piece_blocks_ = blocks_;
  if (s_.groups > 1 || phases_.size() > 1 || layout_.extent[0] > 1) return;
  const auto count = static_cast<double>(blocks_);
  // Each piece arranges the weights anew.
  const double piece = std::max(piece_cycles, 16 * static_cast<double>(weights_));
  piece_blocks_ = static_cast<int64_t>(std::clamp(piece * count / group, 1.0, count));
  pieces_of_image_ = (blocks_ + piece_blocks_ - 1) / piece_blocks_;
}

void DirectImage::run(const ConvolutionOperands& at, void* scratch, Executor& executor) const {
  run_lanes(lanes(), pieces(), executor, [&](long lane, long index) {
    char* const here = static_cast<char*>(scratch) + lane * lane_bytes_;
    const int64_t image = index / pieces_of_image_, piece = index % pieces_of_image_;
    const auto run_one = [&](int64_t group, int64_t first, int64_t last) {
      if (sum_bytes_ == 8)
        run_group<double>(image, group, first, last, at, here);
      else
        run_group<float>(image, group, first, last, at, here);
    };
    if (s_.groups == 1) {
      const int64_t first = piece * piece_blocks_;
      return run_one(0, first, std::min(first + piece_blocks_, blocks_));
    }
    std::memset(here + planes_at_, 0, static_cast<size_t>(sums_at_ - planes_at_));
    const int64_t first = piece * piece_groups_;
    for (int64_t g = first; g < std::min(first + piece_groups_, s_.groups); ++g)
      run_one(g, 0, blocks_);
  });
}

template <class T>
void DirectImage::run_group(int64_t image, int64_t group, int64_t first, int64_t last,
                            const ConvolutionOperands& at, char* scratch) const {
  const int64_t plane = product_of(layout_.size), numbers = layout_.numbers();
  const char* in =
      static_cast<const char*>(at.image) + (image * s_.groups + group) * sources_ * plane * bytes_;
  T* const raw = reinterpret_cast<T*>(scratch + raw_at_);
  T* const weights = reinterpret_cast<T*>(scratch + weights_at_);
  kernel_.widen(static_cast<const char*>(at.other) + group * weights_ * bytes_, weights_, 1, raw,
                0);
  for (size_t i = 0; i < weight_of_.size(); ++i) weights[i] = raw[weight_of_[i]];
  const int64_t first_channel = group * results_;
  if (s_.has_bias)
    kernel_.widen(static_cast<const char*>(at.bias) + first_channel * bytes_, results_, 1,
                  raw + weights_, 0);
  else
    std::fill_n(raw + weights_, results_, T{0});

  // Rows are filled just before they are read; what lies around the image is 0.
  const int64_t begin = first * rows_;
  if (s_.groups == 1)
    clear_rows<T>(begin, last == blocks_ ? layout_.extent[1] : last * rows_ + more_rows_, scratch);
  int64_t filled = begin;
  for (const Phase& p : phases_)
    for (int64_t depth = 0; depth < p.count[0]; ++depth)
      for (int64_t row = begin; row < std::min(last * rows_, p.count[1]); row += rows_) {
        const int64_t rows = std::min(rows_, p.count[1] - row), all = layout_.extent[1];
        const int64_t need = layout_.extent[0] > 1 ? all : std::min(all, row + rows + more_rows_);
        for (int64_t j = 0; j < sources_ && need > filled; ++j)
          kernel_.fill(layout_, in + j * plane * bytes_, filled, need,
                       scratch + planes_at_ + j * numbers * sum_bytes_);
        filled = std::max(filled, need);
        run_rows<T>(p, depth, row, rows, image * s_.groups * results_ + first_channel, at, scratch);
      }
}

template <class T>
void DirectImage::clear_rows(int64_t begin, int64_t end, char* scratch) const {
  const int64_t numbers = layout_.numbers(), pitch = layout_.extent[2], first = begin * pitch;
  const int64_t last = end >= layout_.extent[1] ? numbers : end * pitch;
  T* const planes = reinterpret_cast<T*>(scratch + planes_at_);
  for (int64_t j = 0; j < sources_; ++j)
    std::fill(planes + j * numbers + first, planes + j * numbers + last, T{0});
  std::fill_n(planes + sources_ * numbers, kernel_.lanes, T{0});
}

template <class T>
void DirectImage::run_rows(const Phase& p, int64_t depth, int64_t row, int64_t rows,
                           int64_t first_channel, const ConvolutionOperands& at,
                           char* scratch) const {
  const int64_t pitch = layout_.extent[2], phases = std::ssize(p.inner);
  const int64_t first = (depth * layout_.extent[1] + row) * pitch;
  T* const sums = reinterpret_cast<T*>(scratch + sums_at_);
  const T* const weights = reinterpret_cast<const T*>(scratch + weights_at_);
  const T* const raw = reinterpret_cast<const T*>(scratch + raw_at_);
  for (int64_t k = 0; k < phases; ++k) {
    const InnerPhase& inner = p.inner[static_cast<size_t>(k)];
    kernel_.sums({.in = reinterpret_cast<const T*>(scratch + planes_at_) + first,
                  .offset = inner.offset.data(),
                  .weight = weights + inner.first_weight,
                  .bias = raw + weights_,
                  .to = sums + k * results_ * row_sums_,
                  .to_row = row_sums_,
                  .taps = std::ssize(inner.offset),
                  .results = results_,
                  .count = (rows - 1) * pitch + p.counts[static_cast<size_t>(k)]});
  }
  const Sizes3 step = to_small_ ? Sizes3{1, 1, 1} : s_.stride;
  for (int64_t r = 0; r < results_; ++r) {
    const int64_t to = (((first_channel + r) * out_[0] + depth * step[0] + p.base[0]) * out_[1] +
                        row * step[1] + p.base[1]) *
                       out_[2] * bytes_;
    kernel_.write({.from = sums + r * row_sums_,
                   .from_row = pitch,
                   .from_phase = results_ * row_sums_,
                   .phases = phases,
                   .step = step[2],
                   .counts = p.counts.data(),
                   .to = static_cast<char*>(at.out) + to,
                   .to_row = step[1] * out_[2],
                   .added = s_.has_added ? static_cast<const char*>(at.added) + to : nullptr,
                   .relu = s_.relu,
                   .rows = rows});
  }
}

}  // namespace

std::shared_ptr<Convolution> make_direct_image(const ConvolutionSpec& spec, InstructionSet set) {
  return std::make_shared<DirectImage>(spec, set);
}

}  // namespace cleave::runtime
