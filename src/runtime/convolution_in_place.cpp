#include "runtime/convolution_in_place.h"

#include <algorithm>
#include <cstring>

#include "library/gemm_spec.h"
#include "runtime/convolution_products.h"
#include "runtime/direct_block.h"
#include "runtime/run_lanes.h"
#include "runtime/transposed_copy.h"

namespace cleave::runtime {
namespace {

constexpr int64_t round_up(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }
constexpr int64_t most_taps = 64;  // of a kernel
constexpr int64_t k_at_once = 64;  // of a weight's panel, as it is packed

class InPlaceProduct final : public Convolution {
 public:
  InPlaceProduct(const ConvolutionSpec& spec, InstructionSet set);
  int64_t scratch_bytes() const override;
  void run(const ConvolutionOperands& at, void* scratch, Executor& executor) const override;

 private:
  using Tables = std::vector<std::vector<int32_t>>;
  struct Piece {
    int64_t number;                                     // of its images and rows
    int64_t image, images, row, rows, column, columns;  // columns: of the result
    int64_t padded() const { return round_up(columns, gemm_panel); }
  };
  // Where the parts of a lane's scratch begin, in bytes.
  struct Room {
    int64_t planes = 0, sums = 0, turned = 0, bias = 0, tiles = 0, block = 0, bytes = 0;
    int64_t filled = 0;           // the number of the images and rows that the planes have
    PlaneLayout layout;           // of a piece's rows
    int64_t channel_numbers = 0;  // from one channel's plane to the next
    // Of each phase, one for each (channel, tap): from a position's place in the plane.
    std::shared_ptr<const Tables> tables;
  };

  void add_outer(const PhaseDim& row);
  void set_work();
  Tables tables_of(const Room& room) const;
  Room room_of(size_t i) const;
  long lanes(size_t i) const { return cut_lanes(i, cuts_[i].cycles, cuts_[i].pieces()); }
  int64_t shared_bytes(const InPlaceCut& cut) const {
    return cut.shares_panels && !s_.weight_packed ? panels_bytes_ : 0;
  }
  int64_t panel_count() const { return (results_ + gemm_panel - 1) / gemm_panel; }

  // A phase's weights, as they lie: for PanelSource::pack.
  struct WeightSource {
    const InPlaceProduct& product;
    const InPlacePhase& phase;
    const char* weight;
  };
  static void pack_source(const void* self, int64_t first_k, int64_t count_k, int64_t first_column,
                          int64_t columns, void* to);
  // [taps, count] of a channel that is read, from result `first` on.
  void turn_taps(int64_t source, int64_t first, int64_t count, const char* weight, float* to) const;
  void pack_small(int64_t panel, const char* weight, float* to) const;
  void pack_large(int64_t panel, const char* weight, float* to) const;

  Piece piece_of(const InPlaceCut& cut, long index) const;
  void fill_planes(const Piece& piece, const Room& room, const char* images, char* own) const;
  void run_piece(const Piece& piece, const Room& room, const ConvolutionOperands& at,
                 const float* panels, char* own) const;
  void sum_phase(const InPlaceOuter& outer, size_t inner, const Piece& piece, int64_t rows,
                 const Room& room, const ConvolutionOperands& at, const float* panels,
                 char* own) const;
  void write_columns(const Piece& piece, const ConvolutionOperands& at, const float* sums) const;
  void turn(const InPlaceOuter& outer, size_t inner, const Piece& piece, int64_t rows,
            const Room& room, char* own) const;
  void write_rows(const InPlaceOuter& outer, const Piece& piece, int64_t rows, const Room& room,
                  const ConvolutionOperands& at, char* own) const;
  const ConvolutionSpec s_;
  const GemmBlockKernel kernel_;
  const DirectKernel copies_;
  const CopyTransposed copy_;
  const bool to_small_;
  const int64_t bytes_;  // of an element
  const Sizes3 in_, out_;
  const int64_t sources_, results_;
  const std::vector<PhaseDim> dims_[3];
  PlaneLayout layout_;  // of a whole image
  std::vector<InPlaceOuter> outer_;
  InPlaceWork work_;
  bool copies_images_ = true;
  int64_t panels_bytes_ = 0;
  std::array<InPlaceCut, cut_threads.size()> cuts_;
  std::array<Room, cut_threads.size()> rooms_;
};

InPlaceProduct::InPlaceProduct(const ConvolutionSpec& s, InstructionSet set)
    : s_(s), kernel_(gemm_block_kernel(DType::f32, set)), copies_(direct_kernel(s.dtype, set)),
      copy_(copy_transposed(set)), to_small_(s.product == ConvolutionProduct::to_small),
      bytes_(size_of(s.dtype)), in_(to_small_ ? s.large : s.small),
      out_(to_small_ ? s.small : s.large),
      sources_(to_small_ ? s.large_channels : s.small_channels),
      results_(to_small_ ? s.small_channels : s.large_channels),
      dims_{phase_dims(s, 0), phase_dims(s, 1), phase_dims(s, 2)} {
  const Sizes3 stride = to_small_ ? s.stride : Sizes3{1, 1, 1};
  layout_ = plane_layout(dims_, stride, in_);
  const bool is_whole = layout_.first == Sizes3{0, 0, 0} && layout_.extent == in_;
  copies_images_ = s.dtype != DType::f32 || stride != Sizes3{1, 1, 1} || !is_whole;
  for (const PhaseDim& row : dims_[1]) add_outer(row);
  set_work();
  cuts_ = in_place_cuts(work_);
  for (size_t i = 0; i < cuts_.size(); ++i) rooms_[i] = room_of(i);
}

void InPlaceProduct::add_outer(const PhaseDim& row) {
  InPlaceOuter outer{row.base, row.count, {}, {}};
  for (const PhaseDim& column : dims_[2]) {
    InPlacePhase phase{.width = column.count, .dims = {dims_[0].data(), &row, &column}};
    for (const PlaneTap& tap : plane_taps(layout_, s_.kernel, phase.dims))
      phase.number.push_back(tap.index);
    phase.k = sources_ * std::ssize(phase.number);
    phase.panels_at = panels_bytes_ / int64_t{sizeof(float)};
    panels_bytes_ += panel_count() * gemm_panel * phase.k * int64_t{sizeof(float)};
    outer.widths.push_back(phase.width);
    outer.inner.push_back(std::move(phase));
  }
  outer_.push_back(std::move(outer));
}

void InPlaceProduct::set_work() {
  const InPlaceOuter& largest = outer_[0];
  work_ = {.images = s_.images,
           .rows = largest.count,
           .results = results_,
           .width = largest.widths[0],
           .phases = std::ssize(outer_) * std::ssize(largest.inner),
           .inner = std::ssize(largest.inner),
           .k = 0,
           .by_rows = s_.dtype != DType::f32 || outer_.size() > 1 || largest.inner.size() > 1,
           .weight_packed = s_.weight_packed};
  for (const InPlaceOuter& outer : outer_)
    for (const InPlacePhase& phase : outer.inner) work_.k += phase.k;
  if (!copies_images_) return;
  work_.row_numbers = sources_ * layout_.numbers() / layout_.extent[1];
  work_.channel_rows = sources_ * layout_.slots[1];
  work_.more_rows = layout_.extent[1] - work_.rows;
}

InPlaceProduct::Tables InPlaceProduct::tables_of(const Room& room) const {
  Tables tables;
  for (const InPlaceOuter& outer : outer_)
    for (const InPlacePhase& phase : outer.inner) {
      std::vector<int32_t>& table = tables.emplace_back();
      table.reserve(static_cast<size_t>(phase.k + WindowRows::ahead));
      const std::vector<PlaneTap> taps = plane_taps(room.layout, s_.kernel, phase.dims);
      for (int64_t channel = 0; channel < sources_; ++channel)
        for (const PlaneTap& tap : taps)
          table.push_back(static_cast<int32_t>(channel * room.channel_numbers + tap.offset));
      table.insert(table.end(), WindowRows::ahead, 0);
    }
  return tables;
}

InPlaceProduct::Room InPlaceProduct::room_of(size_t i) const {
  const InPlaceCut& cut = cuts_[i];
  Room room;
  room.layout = layout_;
  room.channel_numbers = product_of(in_);
  if (copies_images_) {
    room.layout.extent[1] = cut.rows + work_.more_rows;
    // An odd number of cache lines: else all channels would be in a few sets of the caches.
    room.channel_numbers = round_up(room.layout.numbers(), 32) + 16;
  }
  for (size_t j = 0; j < i; ++j)
    if (rooms_[j].layout.extent == room.layout.extent) room.tables = rooms_[j].tables;
  if (room.tables == nullptr) room.tables = std::make_shared<const Tables>(tables_of(room));
  const auto place = [&room](int64_t bytes) {
    const int64_t at = room.bytes;
    room.bytes += round_up(bytes, 64);
    return at;
  };
  const int64_t positions = cut.images * cut.rows * work_.width;
  const int64_t columns = round_up(cut.columns, gemm_panel), number = sizeof(float);
  if (copies_images_) room.planes = place(cut.images * sources_ * room.channel_numbers * number);
  room.sums = place(positions * columns * number);
  if (work_.by_rows) room.turned = place(work_.inner * positions * columns * number);
  room.bias = place(columns * number);
  room.filled = place(sizeof(int64_t));
  int64_t tiles = 0, block = 0;
  for (const InPlaceOuter& outer : outer_)
    for (const InPlacePhase& phase : outer.inner) {
      // Rows that are adjacent are one, which has fewer tiles.
      tiles = std::max(tiles, window_tiles_of(
                                  cut.images * cut.rows, phase.width, kernel_,
                                  [](int64_t) { return 0; }, nullptr));
      block = std::max(block, kernel_.window_bytes(positions, columns, phase.k));
    }
  room.tiles = place((tiles + 1) * int64_t{sizeof(WindowTile)});
  room.block = place(block);
  return room;
}

int64_t InPlaceProduct::scratch_bytes() const {
  int64_t most = 0;
  for (size_t i = 0; i < cuts_.size(); ++i)
    most = std::max(most, lanes(i) * rooms_[i].bytes + shared_bytes(cuts_[i]));
  return most;
}

// --- The weight ----------------------------------------------------------------------------------

// From [results, k].
void InPlaceProduct::pack_small(int64_t panel, const char* weight, float* to) const {
  const int64_t k = outer_[0].inner[0].k, first = panel * gemm_panel;
  const int64_t rows = std::min(gemm_panel, results_ - first);
  float* const at = to + panel * k * gemm_panel;
  if (rows < gemm_panel) std::fill_n(at, k * gemm_panel, 0.0F);
  if (s_.dtype == DType::f32) {
    const float* from = reinterpret_cast<const float*>(weight) + first * k;
    return copy_(
        {.from = from, .from_row = k, .to = at, .to_row = gemm_panel, .rows = rows, .columns = k});
  }
  alignas(64) float widened[gemm_panel * k_at_once];
  for (int64_t p = 0; p < k; p += k_at_once) {
    const int64_t count = std::min(k_at_once, k - p);
    for (int64_t r = 0; r < rows; ++r)
      copies_.widen(weight + ((first + r) * k + p) * bytes_, count, 1, widened + r * k_at_once, 0);
    copy_({.from = widened,
           .from_row = k_at_once,
           .to = at + p * gemm_panel,
           .to_row = gemm_panel,
           .rows = rows,
           .columns = count});
  }
}

// From [sources, results, taps].
void InPlaceProduct::turn_taps(int64_t source, int64_t first, int64_t count, const char* weight,
                               float* to) const {
  const int64_t kernel = product_of(s_.kernel);
  alignas(64) float widened[gemm_panel * most_taps];
  const char* from = weight + (source * results_ + first) * kernel * bytes_;
  const float* numbers = reinterpret_cast<const float*>(from);
  if (kernel == 1) return copies_.widen(from, count, 1, to, 0);
  if (s_.dtype != DType::f32) {
    copies_.widen(from, count * kernel, 1, widened, 0);
    numbers = widened;
  }
  copy_({.from = numbers,
         .from_row = kernel,
         .to = to,
         .to_row = gemm_panel,
         .rows = count,
         .columns = kernel});
}

// The taps of each phase.
void InPlaceProduct::pack_large(int64_t panel, const char* weight, float* to) const {
  const int64_t first = panel * gemm_panel;
  alignas(64) float turned[gemm_panel * most_taps] = {};
  for (int64_t source = 0; source < sources_; ++source) {
    turn_taps(source, first, std::min(gemm_panel, results_ - first), weight, turned);
    for (const InPlaceOuter& outer : outer_)
      for (const InPlacePhase& phase : outer.inner) {
        const int64_t taps = std::ssize(phase.number);
        float* at = to + phase.panels_at + (panel * phase.k + source * taps) * gemm_panel;
        for (int64_t t = 0; t < taps; ++t, at += gemm_panel)
          std::memcpy(at, turned + phase.number[static_cast<size_t>(t)] * gemm_panel,
                      gemm_panel * sizeof(float));
      }
  }
}

void InPlaceProduct::pack_source(const void* self, int64_t first_k, int64_t count_k,
                                 int64_t first_column, int64_t columns, void* to) {
  const auto& [product, phase, weight] = *static_cast<const WeightSource*>(self);
  const int64_t taps = std::ssize(phase.number), nr = product.kernel_.nr;
  alignas(64) float turned[gemm_panel * most_taps] = {};
  float* at = static_cast<float*>(to);
  for (int64_t k = first_k; k < first_k + count_k; ++k, at += nr) {
    const int64_t tap = k % taps;
    if (k == first_k || tap == 0)
      product.turn_taps(k / taps, first_column, columns, weight, turned);
    std::memcpy(at, turned + phase.number[static_cast<size_t>(tap)] * gemm_panel,
                static_cast<size_t>(nr) * sizeof(float));
  }
}

// --- The pieces ----------------------------------------------------------------------------------

void InPlaceProduct::run(const ConvolutionOperands& at, void* scratch, Executor& executor) const {
  const size_t i = cut_index(executor.threads());
  const float* panels = s_.weight_packed ? static_cast<const float*>(at.other) : nullptr;
  char* own = static_cast<char*>(scratch);
  if (shared_bytes(cuts_[i]) > 0) {
    float* const packed = reinterpret_cast<float*>(own);
    const auto* const weight = static_cast<const char*>(at.other);
    const long count = static_cast<long>(panel_count());
    run_lanes(std::min<long>(count, max_lanes), count, executor, [&](long, long panel) {
      return to_small_ ? pack_small(panel, weight, packed) : pack_large(panel, weight, packed);
    });
    panels = packed;
    own += panels_bytes_;
  }
  const Room& room = rooms_[i];
  for (long lane = 0; lane < lanes(i); ++lane)
    *reinterpret_cast<int64_t*>(own + lane * room.bytes + room.filled) = -1;
  run_lanes(lanes(i), cuts_[i].pieces(), executor, [&](long lane, long index) {
    run_piece(piece_of(cuts_[i], index), room, at, panels, own + lane * room.bytes);
  });
}

// Neighbours share a part of the weight.
InPlaceProduct::Piece InPlaceProduct::piece_of(const InPlaceCut& cut, long index) const {
  const int64_t row = index % cut.row_blocks * cut.rows;
  const int64_t image = index / cut.row_blocks % cut.image_blocks * cut.images;
  const int64_t column = index / cut.row_blocks / cut.image_blocks * cut.columns;
  return {.number = index % (cut.row_blocks * cut.image_blocks),
          .image = image,
          .images = std::min(cut.images, s_.images - image),
          .row = row,
          .rows = std::min(cut.rows, work_.rows - row),
          .column = column,
          .columns = std::min(cut.columns, results_ - column)};
}

void InPlaceProduct::run_piece(const Piece& piece, const Room& room, const ConvolutionOperands& at,
                               const float* panels, char* own) const {
  if (copies_images_) fill_planes(piece, room, static_cast<const char*>(at.image), own);
  if (s_.has_bias) {
    float* const bias = reinterpret_cast<float*>(own + room.bias);
    std::fill_n(bias, piece.padded(), 0.0F);
    copies_.widen(static_cast<const char*>(at.bias) + piece.column * bytes_, piece.columns, 1, bias,
                  0);
  }
  for (const InPlaceOuter& outer : outer_) {
    const int64_t rows = std::min(piece.rows, outer.count - piece.row);
    if (rows <= 0) continue;
    for (size_t inner = 0; inner < outer.inner.size(); ++inner) {
      sum_phase(outer, inner, piece, rows, room, at, panels, own);
      if (work_.by_rows) turn(outer, inner, piece, rows, room, own);
    }
    if (work_.by_rows)
      write_rows(outer, piece, rows, room, at, own);
    else
      write_columns(piece, at, reinterpret_cast<const float*>(own + room.sums));
  }
}

void InPlaceProduct::fill_planes(const Piece& piece, const Room& room, const char* images,
                                 char* own) const {
  auto& filled = *reinterpret_cast<int64_t*>(own + room.filled);
  if (filled == piece.number) return;
  filled = piece.number;
  PlaneLayout layout = room.layout;
  layout.first[1] += piece.row;
  const int64_t plane = product_of(in_) * bytes_, channels = piece.images * sources_;
  const char* from = images + piece.image * sources_ * plane;
  float* to = reinterpret_cast<float*>(own + room.planes);
  const int64_t numbers = layout.numbers();
  for (int64_t c = 0; c < channels; ++c, from += plane, to += room.channel_numbers) {
    std::memset(to, 0, static_cast<size_t>(numbers) * sizeof(float));
    copies_.fill(layout, from, 0, layout.extent[1], to);
  }
}

// The sums of a phase's positions, [(image, row, column), results].
void InPlaceProduct::sum_phase(const InPlaceOuter& outer, size_t inner, const Piece& piece,
                               int64_t rows, const Room& room, const ConvolutionOperands& at,
                               const float* panels, char* own) const {
  const InPlacePhase& phase = outer.inner[inner];
  const int64_t columns = piece.padded();
  const int64_t positions = piece.images * rows * phase.width;
  float* const sums = reinterpret_cast<float*>(own + room.sums);
  const float* const bias = s_.has_bias ? reinterpret_cast<const float*>(own + room.bias) : nullptr;
  if (positions == 0) return;
  if (phase.k == 0) {
    for (int64_t i = 0; i < positions; ++i)
      for (int64_t c = 0; c < columns; ++c) sums[i * columns + c] = bias == nullptr ? 0 : bias[c];
    return;
  }
  const int64_t image_numbers = sources_ * room.channel_numbers;
  const int64_t pitch = room.layout.extent[2];
  auto* const tiles = reinterpret_cast<WindowTile*>(own + room.tiles);
  const bool adjacent = phase.width == pitch;
  const int64_t count = adjacent ? 1 : rows, width = adjacent ? rows * phase.width : phase.width;
  window_tiles_of(
      piece.images * count, width, kernel_,
      [&](int64_t r) { return r / count * image_numbers + r % count * pitch; }, tiles);

  const size_t index = static_cast<size_t>(&outer - outer_.data()) * outer.inner.size() + inner;
  GemmBlock block;
  block.m = positions, block.n = piece.columns, block.k = phase.k;
  block.a = own + room.planes;
  if (!copies_images_)
    block.a = static_cast<const float*>(at.image) + piece.image * image_numbers + piece.row * pitch;
  block.windows = {(*room.tables)[index].data(), tiles};
  const WeightSource weight{*this, phase, static_cast<const char*>(at.other)};
  if (panels != nullptr) {
    block.b = panels + phase.panels_at;
    block.b_packed = true;
    block.b_first = piece.column;
  } else if (to_small_) {
    block.b = static_cast<const char*>(at.other) + piece.column * phase.k * bytes_;
    block.b_row = 1, block.b_col = phase.k;
    if (s_.dtype != DType::f32) block.b_stored = s_.dtype;
  } else if (product_of(s_.kernel) == 1) {
    block.b = static_cast<const char*>(at.other) + piece.column * bytes_;
    block.b_row = results_, block.b_col = 1;
    if (s_.dtype != DType::f32) block.b_stored = s_.dtype;
  } else {
    block.panels = {pack_source, &weight, piece.column};
  }
  block.c_in = bias;
  block.c_in_col = 1;
  block.c = sums;
  block.c_row = columns;
  block.scratch = own + room.block;
  kernel_.run(block);
}

// --- Results -------------------------------------------------------------------------------------

void InPlaceProduct::write_columns(const Piece& piece, const ConvolutionOperands& at,
                                   const float* sums) const {
  const int64_t plane = product_of(out_), count = piece.rows * out_[2];
  for (int64_t i = 0; i < piece.images; ++i) {
    const int64_t first =
        ((piece.image + i) * results_ + piece.column) * plane + piece.row * out_[2];
    copy_({.from = sums + i * count * piece.padded(),
           .from_row = piece.padded(),
           .to = static_cast<float*>(at.out) + first,
           .to_row = plane,
           .rows = count,
           .columns = piece.columns,
           .added = s_.has_added ? static_cast<const float*>(at.added) + first : nullptr,
           .relu = s_.relu});
  }
}

// [results, (image, row, column)] of a phase, with rows as long as those of the widest.
void InPlaceProduct::turn(const InPlaceOuter& outer, size_t inner, const Piece& piece, int64_t rows,
                          const Room& room, char* own) const {
  const int64_t width = outer.widths[inner], pitch = outer.widths[0];
  const int64_t count = piece.images * rows;
  const float* from = reinterpret_cast<const float*>(own + room.sums);
  float* to = reinterpret_cast<float*>(own + room.turned) +
              static_cast<int64_t>(inner) * piece.columns * count * pitch;
  const int64_t runs = width == pitch ? 1 : count, run = width == pitch ? count * width : width;
  for (int64_t r = 0; r < runs; ++r)
    copy_({.from = from + r * width * piece.padded(),
           .from_row = piece.padded(),
           .to = to + r * pitch,
           .to_row = count * pitch,
           .rows = run,
           .columns = piece.columns});
}

void InPlaceProduct::write_rows(const InPlaceOuter& outer, const Piece& piece, int64_t rows,
                                const Room& room, const ConvolutionOperands& at, char* own) const {
  const int64_t pitch = outer.widths[0], count = piece.images * rows;
  const float* const turned = reinterpret_cast<const float*>(own + room.turned);
  const Sizes3 step = to_small_ ? Sizes3{1, 1, 1} : s_.stride;
  for (int64_t c = 0; c < piece.columns; ++c)
    for (int64_t i = 0; i < piece.images; ++i) {
      const int64_t row = piece.row * step[1] + outer.base;
      const int64_t first =
          (((piece.image + i) * results_ + piece.column + c) * out_[1] + row) * out_[2] * bytes_;
      copies_.write({.from = turned + (c * count + i * rows) * pitch,
                     .from_row = pitch,
                     .from_phase = piece.columns * count * pitch,
                     .phases = std::ssize(outer.inner),
                     .step = step[2],
                     .counts = outer.widths.data(),
                     .to = static_cast<char*>(at.out) + first,
                     .to_row = step[1] * out_[2],
                     .added = s_.has_added ? static_cast<const char*>(at.added) + first : nullptr,
                     .relu = s_.relu,
                     .rows = rows});
    }
}

}  // namespace

std::shared_ptr<Convolution> make_in_place_product(const ConvolutionSpec& spec,
                                                   InstructionSet set) {
  return std::make_shared<InPlaceProduct>(spec, set);
}

}  // namespace cleave::runtime
