// to_small and to_large of convolution.h: each phase is a product
//
//   out[rows of a group, (image, position)] = weight[rows, (channel, tap)] @ windows
//
// If the positions of one image don't fill the panels, the positions of all images are the columns
// of one product. Then, and if a phase's positions aren't adjacent in the result, a piece is
// computed in scratch and copied to its positions. A phase that uses only some of the taps, or
// whose weights are read for many positions, has a copy of them, transposed so that its rows are
// channels of the result.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "runtime/convolution_planes.h"
#include "runtime/convolution_products.h"
#include "runtime/convolution_windows.h"
#include "runtime/gemm_block.h"
#include "runtime/gemm_cut.h"
#include "runtime/run_lanes.h"

namespace cleave::runtime {
namespace {

constexpr int64_t round_up(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }
// With fewer positions than this, packing the weight again for each image costs too much.
constexpr int64_t min_positions = 256;

struct Phase {
  Sizes3 positions, stride;
  std::vector<Sizes3> taps;        // offsets from position * stride
  std::vector<int64_t> tap_index;  // in the weight's kernel
  Sizes3 out_stride = {1, 1, 1}, out_base = {0, 0, 0};
  bool joins_images = false;     // the images side by side
  bool writes_in_place = false;  // written where it belongs
  bool reads_in_place = false;
  int64_t transposed = -1;  // where its weight stands in scratch, in elements; -1: as it lies
  GemmCuts cuts;
  std::array<long, cut_threads.size()> first_piece = {};
};

Phase phase_of(const ConvolutionSpec& s, const PhaseDim& depth, const PhaseDim& row,
               const PhaseDim& column) {
  Phase p;
  p.positions = {depth.count, row.count, column.count};
  p.stride = {1, 1, 1};
  p.out_stride = s.stride;
  p.out_base = {depth.base, row.base, column.base};
  for (const PhaseDim::Tap& i : depth.taps)
    for (const PhaseDim::Tap& j : row.taps)
      for (const PhaseDim::Tap& k : column.taps) {
        p.taps.push_back({i.offset, j.offset, k.offset});
        p.tap_index.push_back((i.index * s.kernel[1] + j.index) * s.kernel[2] + k.index);
      }
  return p;
}

std::vector<Phase> phases_of(const ConvolutionSpec& s) {
  std::vector<Phase> out;
  if (s.product == ConvolutionProduct::to_small) {
    Phase p{s.small, s.stride, {}, {}};
    for (int64_t i = 0; i < s.kernel[0]; ++i)
      for (int64_t j = 0; j < s.kernel[1]; ++j)
        for (int64_t k = 0; k < s.kernel[2]; ++k)
          p.taps.push_back({i * s.dilation[0] - s.padding[0], j * s.dilation[1] - s.padding[1],
                            k * s.dilation[2] - s.padding[2]});
    out.push_back(std::move(p));
    return out;
  }
  for (const PhaseDim& depth : phase_dims(s, 0))
    for (const PhaseDim& row : phase_dims(s, 1))
      for (const PhaseDim& column : phase_dims(s, 2))
        out.push_back(phase_of(s, depth, row, column));
  return out;
}

class ImageProduct final : public Convolution {
 public:
  ImageProduct(const ConvolutionSpec& spec, InstructionSet set);
  int64_t scratch_bytes() const override;
  void run(const ConvolutionOperands& at, void* scratch, Executor& executor) const override;

 private:
  // Of the cut number `i` of all phases.
  long lanes(size_t i) const { return cut_lanes(i, cycles_, plans_[i].pieces); }
  struct Plan {
    long pieces = 0;
    int64_t block_bytes = 0, copy_bytes = 0;
    int64_t lane_bytes() const { return block_bytes + copy_bytes; }
  };
  void plan_phase(Phase& p);
  void transpose_weight(const Phase& p, long rows, const char* weight, char* transposed) const;
  template <class T>
  void transpose_rows(const Phase& p, int64_t group, int64_t first, const T* weight,
                      T* transposed) const;
  void set_weight(GemmBlock& block, const Phase& p, int64_t group, int64_t first_row,
                  const ConvolutionOperands& at, const char* transposed) const;
  // scratch: of the block, and behind it of its copy.
  void run_piece(const Phase& p, const GemmPiece& piece, const ConvolutionOperands& at,
                 const char* transposed, char* scratch, char* copy) const;
  void scatter(const Phase& p, const GemmPiece& piece, int64_t group, const char* from,
               const ConvolutionOperands& at) const;
  template <class T>
  void scatter_rows(const Phase& p, const GemmPiece& piece, int64_t group, const T* from,
                    const ConvolutionOperands& at) const;

  const ConvolutionSpec s_;
  const GemmBlockKernel kernel_;
  const bool to_small_;
  const int64_t bytes_;  // of an element
  // The spatial sizes of the image that is read, and of the result.
  const Sizes3 in_, out_;
  const int64_t in_channels_, out_channels_, rows_, channels_;  // the last two of a group
  WindowPacking packing_;
  std::vector<Phase> phases_;
  std::array<Plan, cut_threads.size()> plans_;
  double cycles_ = 0;  // of all phases
  int64_t transposed_bytes_ = 0;
};

ImageProduct::ImageProduct(const ConvolutionSpec& s, InstructionSet set)
    : s_(s), kernel_(gemm_block_kernel(s.dtype, set)),
      to_small_(s.product == ConvolutionProduct::to_small), bytes_(size_of(s.dtype)),
      in_(to_small_ ? s.large : s.small), out_(to_small_ ? s.small : s.large),
      in_channels_(to_small_ ? s.large_channels : s.small_channels),
      out_channels_(to_small_ ? s.small_channels : s.large_channels),
      rows_(out_channels_ / s.groups), channels_(in_channels_ / s.groups),
      packing_(window_packing(s.dtype, in_channels_ * product_of(in_), kernel_.nr, set)) {
  phases_ = phases_of(s);
  for (Phase& p : phases_) plan_phase(p);
}

void ImageProduct::plan_phase(Phase& p) {
  const int64_t positions = product_of(p.positions), k = channels_ * std::ssize(p.taps);
  p.joins_images = s_.images > 1 && (positions < min_positions ||
                                     10 * round_up(positions, kernel_.nr) > 11 * positions);
  p.writes_in_place = p.positions == out_ && (!p.joins_images || s_.images == 1);
  p.reads_in_place = !p.joins_images && p.taps.size() == 1 && p.taps[0] == Sizes3{0, 0, 0} &&
                     p.stride == Sizes3{1, 1, 1} && p.positions == in_;
  const int64_t batch = p.joins_images ? s_.groups : s_.groups * s_.images;
  const int64_t columns = p.joins_images ? s_.images * positions : positions;
  p.cuts = cut_gemm(batch, rows_, columns, k, kernel_.mr, kernel_.nr);
  cycles_ += p.cuts[0].cycles;
  const bool has_some = std::ssize(p.taps) < product_of(s_.kernel);
  const bool is_read_often = s_.images * positions >= min_positions && std::ssize(p.taps) > 1;
  if (!to_small_ && p.taps.size() > 0 && (has_some || is_read_often)) {
    p.transposed = transposed_bytes_ / bytes_;
    transposed_bytes_ += round_up(out_channels_ * k * bytes_, 64);
  }
  for (size_t i = 0; i < plans_.size(); ++i) {
    Plan& plan = plans_[i];
    const GemmCut& cut = p.cuts[i];
    p.first_piece[i] = plan.pieces;
    plan.pieces += cut.pieces();
    if (cut.pieces() == 0) continue;
    plan.block_bytes = std::max(plan.block_bytes, kernel_.scratch_bytes(cut.m, cut.n, k));
    if (!p.writes_in_place)
      plan.copy_bytes = std::max(plan.copy_bytes, round_up(cut.m * cut.n * bytes_, 64));
  }
}

int64_t ImageProduct::scratch_bytes() const {
  int64_t most = 0;
  for (size_t i = 0; i < plans_.size(); ++i)
    most = std::max(most, lanes(i) * plans_[i].lane_bytes());
  return transposed_bytes_ + most;
}

// --- The transposed weight -----------------------------------------------------------------------

// transposed[group, row, (channel, tap)] = weight[group, channel, row, tap], a block of rows and
// channels at a time: what is read stays in the cache, and writes are sequential.
constexpr int64_t transposed_rows = 16, transposed_channels = 16;

template <class T>
void ImageProduct::transpose_rows(const Phase& p, int64_t group, int64_t first, const T* weight,
                                  T* transposed) const {
  const int64_t kernel = product_of(s_.kernel), taps = std::ssize(p.taps);
  const int64_t* index = p.tap_index.data();
  const int64_t end_row = std::min(first + transposed_rows, rows_);
  for (int64_t c = 0; c < channels_; c += transposed_channels)
    for (int64_t row = first; row < end_row; ++row) {
      const T* from = weight + ((group * channels_ + c) * rows_ + row) * kernel;
      T* to = transposed + ((group * rows_ + row) * channels_ + c) * taps;
      const int64_t count = std::min(transposed_channels, channels_ - c);
      for (int64_t i = 0; i < count; ++i, from += rows_ * kernel)
        for (int64_t t = 0; t < taps; ++t) *to++ = from[index[t]];
    }
}

void ImageProduct::transpose_weight(const Phase& p, long index, const char* weight,
                                    char* transposed) const {
  const int64_t blocks = (rows_ + transposed_rows - 1) / transposed_rows;
  const int64_t group = index / blocks, first = index % blocks * transposed_rows;
  const auto transpose = [&]<class T>(const T* from) {
    transpose_rows(p, group, first, from, reinterpret_cast<T*>(transposed) + p.transposed);
  };
  if (bytes_ == 8)
    transpose(reinterpret_cast<const uint64_t*>(weight));
  else if (bytes_ == 4)
    transpose(reinterpret_cast<const uint32_t*>(weight));
  else
    transpose(reinterpret_cast<const uint16_t*>(weight));
}

// --- The products --------------------------------------------------------------------------------

void ImageProduct::run(const ConvolutionOperands& at, void* scratch, Executor& executor) const {
  char* transposed = static_cast<char*>(scratch);
  if (transposed_bytes_ > 0) {
    const long blocks =
        static_cast<long>(s_.groups * ((rows_ + transposed_rows - 1) / transposed_rows));
    run_lanes(std::min<long>(blocks, max_lanes), blocks, executor, [&](long, long index) {
      for (const Phase& p : phases_)
        if (p.transposed >= 0)
          transpose_weight(p, index, static_cast<const char*>(at.other), transposed);
    });
  }
  const size_t cut = cut_index(executor.threads());
  const Plan& plan = plans_[cut];
  run_lanes(lanes(cut), plan.pieces, executor, [&](long lane, long index) {
    size_t i = phases_.size() - 1;
    while (phases_[i].first_piece[cut] > index) --i;
    const Phase& p = phases_[i];
    char* own = transposed + transposed_bytes_ + lane * plan.lane_bytes();
    run_piece(p, p.cuts[cut].piece(index - p.first_piece[cut]), at, transposed, own,
              own + plan.block_bytes);
  });
}

// A: the rows of the group's weight from `first_row` on.
void ImageProduct::set_weight(GemmBlock& block, const Phase& p, int64_t group, int64_t first_row,
                              const ConvolutionOperands& at, const char* transposed) const {
  const int64_t kernel = product_of(s_.kernel), row = group * rows_ + first_row;
  const char* weight = static_cast<const char*>(at.other);
  if (to_small_) {
    block.a = weight + row * block.k * bytes_;
    block.a_row = block.k, block.a_col = 1;
  } else if (p.transposed >= 0) {
    block.a = transposed + (p.transposed + row * block.k) * bytes_;
    block.a_row = block.k, block.a_col = 1;
  } else if (kernel > 1) {  // [channel, row, tap]
    block.a = weight + (group * channels_ * rows_ + first_row) * kernel * bytes_;
    block.a_row = kernel, block.a_col = 1;
    block.a_run = kernel, block.a_next = rows_ * kernel;
  } else {
    block.a = weight + (group * channels_ * rows_ + first_row) * kernel * bytes_;
    block.a_row = kernel, block.a_col = rows_ * kernel;
  }
}

void ImageProduct::run_piece(const Phase& p, const GemmPiece& piece, const ConvolutionOperands& at,
                             const char* transposed, char* scratch, char* copy) const {
  const int64_t taps = std::ssize(p.taps), k = channels_ * taps;
  const int64_t in_plane = product_of(in_), out_plane = product_of(out_);
  const int64_t positions = product_of(p.positions);
  for (int64_t b = piece.first_batch; b < piece.first_batch + piece.batch; ++b) {
    const int64_t group = b % s_.groups, image = b / s_.groups;
    const char* in = static_cast<const char*>(at.image) + group * channels_ * in_plane * bytes_;
    const WindowSource windows{.images = in,
                               .image_stride = in_channels_ * in_plane,
                               .size = in_,
                               .positions = p.positions,
                               .stride = p.stride,
                               .taps = p.taps.data(),
                               .tap_count = taps,
                               .nr = kernel_.nr};
    GemmBlock block;
    block.m = piece.m, block.n = piece.n, block.k = k;
    const int64_t row = group * rows_ + piece.first_row;
    set_weight(block, p, group, piece.first_row, at, transposed);
    if (p.reads_in_place) {
      block.b = in + (image * windows.image_stride + piece.first_column) * bytes_;
      block.b_row = in_plane, block.b_col = 1;
    } else {
      block.panels = {packing_.windows, &windows, image * positions + piece.first_column};
    }
    if (s_.has_bias) {
      block.c_in = static_cast<const char*>(at.bias) + row * bytes_;
      block.c_in_row = 1;
    }
    block.scratch = scratch;
    if (p.writes_in_place) {
      const int64_t first =
          ((image * out_channels_ + row) * out_plane + piece.first_column) * bytes_;
      block.c = static_cast<char*>(at.out) + first;
      block.c_row = out_plane;
      if (s_.has_added) block.added = static_cast<const char*>(at.added) + first;
      block.added_row = out_plane;
      block.relu = s_.relu;
    } else {
      block.c = copy;
      block.c_row = piece.n;
    }
    kernel_.run(block);
    if (p.writes_in_place) continue;
    GemmPiece scattered = piece;
    scattered.first_column += image * positions;
    scatter(p, scattered, group, copy, at);
  }
}

void ImageProduct::scatter(const Phase& p, const GemmPiece& piece, int64_t group, const char* from,
                           const ConvolutionOperands& at) const {
  if (bytes_ == 8)
    scatter_rows(p, piece, group, reinterpret_cast<const uint64_t*>(from), at);
  else if (bytes_ == 4)
    scatter_rows(p, piece, group, reinterpret_cast<const float*>(from), at);
  else
    scatter_rows(p, piece, group, reinterpret_cast<const uint16_t*>(from), at);
}

// A run of the result, with what happens to it as it is written (has_added, relu).
void write_run(const float* from, int64_t count, const float* added, bool relu, float* to) {
  for (int64_t x = 0; x < count; ++x) {
    const float y = added == nullptr ? from[x] : from[x] + added[x];
    to[x] = relu && 0 > y ? 0 : y;
  }
}

// Copies runs of a row of positions, or of a whole image if its positions are adjacent.
template <class T>
void ImageProduct::scatter_rows(const Phase& p, const GemmPiece& piece, int64_t group,
                                const T* from, const ConvolutionOperands& at) const {
  T* const out = static_cast<T*>(at.out);
  const T* const added = s_.has_added ? static_cast<const T*>(at.added) : nullptr;
  const bool has_end = added != nullptr || s_.relu;
  const int64_t out_plane = product_of(out_);
  const bool dense = p.positions == out_;
  const int64_t stride = dense ? 1 : p.out_stride[2];
  const int64_t row = dense ? out_plane : p.positions[2];
  for (int64_t j = 0; j < piece.n;) {
    const int64_t column = piece.first_column + j, in_row = column % row;
    const int64_t count = std::min(row - in_row, piece.n - j);
    int64_t image = column / row, offset = in_row;
    if (!dense) {
      const int64_t h = image % p.positions[1], d = image / p.positions[1] % p.positions[0];
      image = image / p.positions[1] / p.positions[0];
      offset =
          ((d * p.out_stride[0] + p.out_base[0]) * out_[1] + h * p.out_stride[1] + p.out_base[1]) *
              out_[2] +
          in_row * stride + p.out_base[2];
    }
    const int64_t first =
        (image * out_channels_ + group * rows_ + piece.first_row) * out_plane + offset;
    T* to = out + first;
    const T* source = from + j;
    for (int64_t i = 0; i < piece.m; ++i, to += out_plane, source += piece.n) {
      if constexpr (std::is_same_v<T, float>)
        if (has_end) {
          write_run(source, count, added == nullptr ? nullptr : added + first + i * out_plane,
                    s_.relu, to);
          continue;
        }
      if (stride == 1)
        std::memcpy(to, source, static_cast<size_t>(count) * sizeof(T));
      else
        for (int64_t x = 0; x < count; ++x) to[x * stride] = source[x];
    }
    j += count;
  }
}

}  // namespace

std::shared_ptr<Convolution> make_image_product(const ConvolutionSpec& spec, InstructionSet set) {
  return std::make_shared<ImageProduct>(spec, set);
}

}  // namespace cleave::runtime
