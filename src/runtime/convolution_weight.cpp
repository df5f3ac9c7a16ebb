// to_weight of convolution.h: for each group a product
//
//   weight[rows, (channel, tap)] = small[rows, (image, position)] @ windows^T
//
// A small weight gives few pieces: its positions are then cut into parts, which are summed
// separately in scratch, and the sums are added up in order.
#include <algorithm>
#include <vector>

#include "runtime/convolution_products.h"
#include "runtime/convolution_windows.h"
#include "runtime/gemm_block.h"
#include "runtime/gemm_cut.h"
#include "runtime/run_lanes.h"

namespace cleave::runtime {
namespace {

constexpr int64_t round_up(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
// A weight of at most small_weight numbers is summed in at most max_parts parts of at least
// min_part positions.
constexpr int64_t small_weight = int64_t{1} << 16, max_parts = 8, min_part = 1024;

class WeightProduct final : public Convolution {
 public:
  WeightProduct(const ConvolutionSpec& spec, InstructionSet set);
  int64_t scratch_bytes() const override {
    int64_t most = 0;
    for (size_t i = 0; i < cuts_.size(); ++i) most = std::max(most, lanes(i) * lane_bytes(i));
    return partial_bytes() + most;
  }
  void run(const ConvolutionOperands& at, void* scratch, Executor& executor) const override;

 private:
  int64_t numbers() const { return s_.small_channels * columns_; }
  int64_t partial_bytes() const {
    return parts_ == 1 ? 0 : round_up(parts_ * numbers() * size_of(s_.dtype), 64);
  }
  long lanes(size_t i) const {
    return cut_lanes(i, cuts_[i].cycles, cuts_[i].pieces(), product_wakings);
  }
  // The last part may need more scratch, though it is shorter: kc_for isn't monotonic.
  int64_t lane_bytes(size_t i) const {
    const GemmCut& cut = cuts_[i];
    if (cut.pieces() == 0) return 0;
    return std::max(kernel_.scratch_bytes(cut.m, cut.n, part_),
                    kernel_.scratch_bytes(cut.m, cut.n, all_positions_ - (parts_ - 1) * part_));
  }
  void run_piece(const GemmPiece& piece, const ConvolutionOperands& at, char* partials,
                 char* scratch) const;
  template <class T>
  void add_parts(const T* partials, T* out, Executor& executor) const;

  const ConvolutionSpec s_;
  const GemmBlockKernel kernel_;
  const WindowPacking packing_;
  std::vector<Sizes3> taps_;
  int64_t columns_ = 0, all_positions_ = 0, parts_ = 1, part_ = 0;
  GemmCuts cuts_;
};

WeightProduct::WeightProduct(const ConvolutionSpec& s, InstructionSet set)
    : s_(s), kernel_(gemm_block_kernel(s.dtype, set)),
      packing_(window_packing(s.dtype, s.large_channels * product_of(s.large), kernel_.nr, set)) {
  for (int64_t i = 0; i < s.kernel[0]; ++i)
    for (int64_t j = 0; j < s.kernel[1]; ++j)
      for (int64_t k = 0; k < s.kernel[2]; ++k)
        taps_.push_back({i * s.dilation[0] - s.padding[0], j * s.dilation[1] - s.padding[1],
                         k * s.dilation[2] - s.padding[2]});
  columns_ = s.large_channels / s.groups * std::ssize(taps_);
  all_positions_ = part_ = s.images * product_of(s.small);
  // Partial sums in a 16-bit type would be rounded twice.
  const bool sums_itself = s.dtype == DType::f32 || s.dtype == DType::f64;
  if (sums_itself && numbers() <= small_weight && all_positions_ >= 2 * min_part) {
    part_ = round_up(ceil_div(all_positions_, std::min(max_parts, all_positions_ / min_part)),
                     min_part / 4);
    parts_ = ceil_div(all_positions_, part_);
  }
  cuts_ = cut_gemm(s.groups * parts_, s.small_channels / s.groups, columns_, part_, kernel_.mr,
                   kernel_.nr);
}

void WeightProduct::run(const ConvolutionOperands& at, void* scratch, Executor& executor) const {
  char* partials = static_cast<char*>(scratch);
  const size_t i = cut_index(executor.threads());
  const GemmCut& cut = cuts_[i];
  char* const rest = partials + partial_bytes();
  run_lanes(lanes(i), cut.pieces(), executor, [&, bytes = lane_bytes(i)](long lane, long index) {
    run_piece(cut.piece(index), at, partials, rest + lane * bytes);
  });
  if (parts_ == 1) return;
  if (s_.dtype == DType::f64)
    add_parts(reinterpret_cast<const double*>(partials), static_cast<double*>(at.out), executor);
  else
    add_parts(reinterpret_cast<const float*>(partials), static_cast<float*>(at.out), executor);
}

void WeightProduct::run_piece(const GemmPiece& piece, const ConvolutionOperands& at, char* partials,
                              char* scratch) const {
  const int64_t bytes = size_of(s_.dtype), rows = s_.small_channels / s_.groups;
  const int64_t positions = product_of(s_.small), plane = product_of(s_.large);
  for (int64_t b = piece.first_batch; b < piece.first_batch + piece.batch; ++b) {
    const int64_t group = b % s_.groups, part = b / s_.groups;
    const int64_t row = group * rows + piece.first_row, first = part * part_;
    const WindowSource windows{.images = static_cast<const char*>(at.image) +
                                         group * (s_.large_channels / s_.groups) * plane * bytes,
                               .image_stride = s_.large_channels * plane,
                               .size = s_.large,
                               .positions = s_.small,
                               .stride = s_.stride,
                               .taps = taps_.data(),
                               .tap_count = std::ssize(taps_),
                               .nr = kernel_.nr,
                               .first_k = first};
    char* out = parts_ == 1 ? static_cast<char*>(at.out) : partials + part * numbers() * bytes;
    GemmBlock block;
    block.m = piece.m, block.n = piece.n, block.k = std::min(part_, all_positions_ - first);
    block.a = static_cast<const char*>(at.other) + row * positions * bytes;
    block.a_row = positions, block.a_col = 1;
    block.a_run = positions, block.a_next = s_.small_channels * positions, block.a_first = first;
    block.panels = {packing_.transposed, &windows, piece.first_column};
    block.c = out + (row * columns_ + piece.first_column) * bytes;
    block.c_row = columns_;
    block.scratch = scratch;
    kernel_.run(block);
  }
}

template <class T>
void WeightProduct::add_parts(const T* partials, T* out, Executor& executor) const {
  constexpr int64_t at_a_time = 4096;
  const long blocks = static_cast<long>(ceil_div(numbers(), at_a_time));
  run_lanes(std::min<long>(blocks, max_lanes), blocks, executor, [&](long, long index) {
    const int64_t first = index * at_a_time, end = std::min(first + at_a_time, numbers());
    for (int64_t i = first; i < end; ++i) out[i] = partials[i];
    for (int64_t part = 1; part < parts_; ++part)
      for (int64_t i = first; i < end; ++i) out[i] += partials[part * numbers() + i];
  });
}

}  // namespace

std::shared_ptr<Convolution> make_weight_product(const ConvolutionSpec& spec, InstructionSet set) {
  return std::make_shared<WeightProduct>(spec, set);
}

}  // namespace cleave::runtime
