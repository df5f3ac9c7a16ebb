// to_small of convolution.h with a packed weight:
//
//   out^T[(image, position), rows] = windows^T[(image, position), (channel, tap)] @ weight^T
//
// Channels of the result are the columns, so that any number of positions fills the vectors, and
// panels of the weight are read where they lie. A piece is computed in scratch and copied,
// transposed, to its positions. Bits are those of the other order of the operands.
#include <algorithm>
#include <vector>

#include "library/gemm_spec.h"
#include "runtime/convolution_products.h"
#include "runtime/convolution_windows.h"
#include "runtime/gemm_block.h"
#include "runtime/gemm_cut.h"
#include "runtime/run_lanes.h"
#include "runtime/transposed_copy.h"

namespace cleave::runtime {
namespace {

// Windows take longer to pack than rows that lie there: cycles for a number.
constexpr double packing_windows = 2;
constexpr int64_t max_columns = 2048;

constexpr int64_t round_up(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }

std::vector<Sizes3> taps_of(const ConvolutionSpec& s) {
  std::vector<Sizes3> taps;
  for (int64_t i = 0; i < s.kernel[0]; ++i)
    for (int64_t j = 0; j < s.kernel[1]; ++j)
      for (int64_t k = 0; k < s.kernel[2]; ++k)
        taps.push_back({i * s.dilation[0] - s.padding[0], j * s.dilation[1] - s.padding[1],
                        k * s.dilation[2] - s.padding[2]});
  return taps;
}

class PackedProduct final : public Convolution {
 public:
  PackedProduct(const ConvolutionSpec& s, InstructionSet set)
      : s_(s), kernel_(gemm_block_kernel(s.dtype, set)), taps_(taps_of(s)),
        plane_(product_of(s.small)), k_(s.large_channels * std::ssize(taps_)),
        cuts_(cut_gemm(1, s.images * plane_, s.small_channels, k_, kernel_.mr, kernel_.nr,
                       max_columns, packing_windows)),
        packing_(window_packing(s.dtype, s.large_channels * product_of(s.large), kernel_.nr, set)),
        copy_(copy_transposed(set)) {}
  int64_t scratch_bytes() const override {
    int64_t most = 0;
    for (size_t i = 0; i < cuts_.size(); ++i)
      most = std::max(most, lanes(i) * (block_bytes(cuts_[i]) + copy_bytes(cuts_[i])));
    return most;
  }
  void run(const ConvolutionOperands& at, void* scratch, Executor& executor) const override {
    const size_t i = cut_index(executor.threads());
    const GemmCut& cut = cuts_[i];
    const int64_t block = block_bytes(cut), bytes = block + copy_bytes(cut);
    run_lanes(lanes(i), cut.pieces(), executor, [&](long lane, long index) {
      char* own = static_cast<char*>(scratch) + lane * bytes;
      run_piece(cut.piece(index), at, own, own + block);
    });
  }

 private:
  long lanes(size_t i) const { return cut_lanes(i, cuts_[i].cycles, cuts_[i].pieces()); }
  int64_t block_bytes(const GemmCut& cut) const {
    return cut.pieces() == 0 ? 0 : kernel_.scratch_bytes(round_up(cut.m, kernel_.nr), cut.n, k_);
  }
  static int64_t copy_bytes(const GemmCut& cut) {
    return round_up(cut.m * cut.n * int64_t{sizeof(float)}, 64);
  }
  void run_piece(const GemmPiece& piece, const ConvolutionOperands& at, char* scratch,
                 char* copy) const;
  void scatter(const GemmPiece& piece, const float* from, const ConvolutionOperands& at) const;

  const ConvolutionSpec s_;
  const GemmBlockKernel kernel_;
  const std::vector<Sizes3> taps_;
  const int64_t plane_, k_;  // positions of an image
  const GemmCuts cuts_;      // rows are positions of all images
  const WindowPacking packing_;
  const CopyTransposed copy_;
};

void PackedProduct::run_piece(const GemmPiece& piece, const ConvolutionOperands& at, char* scratch,
                              char* copy) const {
  const WindowSource windows{.images = at.image,
                             .image_stride = s_.large_channels * product_of(s_.large),
                             .size = s_.large,
                             .positions = s_.small,
                             .stride = s_.stride,
                             .taps = taps_.data(),
                             .tap_count = std::ssize(taps_),
                             .nr = kernel_.nr};
  GemmBlock block;
  block.m = piece.m, block.n = piece.n, block.k = k_;
  block.a_panels = {packing_.windows, &windows, piece.first_row};
  block.b = at.other;
  block.b_packed = true;
  block.b_first = piece.first_column;
  if (s_.has_bias) {
    block.c_in = static_cast<const float*>(at.bias) + piece.first_column;
    block.c_in_col = 1;
  }
  block.c = copy;
  block.c_row = piece.n;
  block.scratch = scratch;
  kernel_.run(block);
  scatter(piece, static_cast<const float*>(block.c), at);
}

void PackedProduct::scatter(const GemmPiece& piece, const float* from,
                            const ConvolutionOperands& at) const {
  for (int64_t i = 0; i < piece.m;) {
    const int64_t image = (piece.first_row + i) / plane_, position = (piece.first_row + i) % plane_;
    const int64_t count = std::min(plane_ - position, piece.m - i);
    const int64_t first = (image * s_.small_channels + piece.first_column) * plane_ + position;
    copy_({.from = from + i * piece.n,
           .from_row = piece.n,
           .to = static_cast<float*>(at.out) + first,
           .to_row = plane_,
           .rows = count,
           .columns = piece.n,
           .added = s_.has_added ? static_cast<const float*>(at.added) + first : nullptr,
           .relu = s_.relu});
    i += count;
  }
}

}  // namespace

std::shared_ptr<Convolution> make_packed_product(const ConvolutionSpec& spec, InstructionSet set) {
  return std::make_shared<PackedProduct>(spec, set);
}

}  // namespace cleave::runtime
