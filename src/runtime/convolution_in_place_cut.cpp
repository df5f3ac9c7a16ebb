// The cut of convolution_in_place.h. The unit of cost is a cycle, as in gemm_cut.cpp.
#include <algorithm>
#include <initializer_list>

#include "library/gemm_spec.h"
#include "runtime/convolution_in_place.h"

namespace cleave::runtime {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t most_positions = 1024, most_bytes = 4 << 20;

InPlaceCut cut_of(const InPlaceWork& w, int64_t images, int64_t rows, int64_t columns) {
  InPlaceCut cut;
  cut.images = std::min(images, w.images);
  cut.rows = std::min(rows, w.rows);
  cut.columns = std::min(columns, ceil_div(w.results, gemm_panel) * gemm_panel);
  cut.image_blocks = ceil_div(w.images, cut.images);
  cut.row_blocks = ceil_div(w.rows, cut.rows);
  cut.column_blocks = ceil_div(w.results, cut.columns);
  cut.shares_panels = w.weight_packed || w.phases > 1 || cut.image_blocks * cut.row_blocks > 1;
  return cut;
}

// Threads are late, and other programs run: a cut is priced for fewer and for more of them, too.
double cost(const InPlaceWork& w, const InPlaceCut& cut, double piece, int threads) {
  const auto weights = static_cast<double>(w.results * w.k);
  double sum = cut.shares_panels && !w.weight_packed ? 2 * weights : 0;
  for (const double times : {0.5, 1.0, 2.0}) {
    const double cores = std::max(1.0, times * threads);
    const int64_t rounds = ceil_div(cut.pieces(), std::max<int64_t>(1, std::llround(cores)));
    sum += cores * static_cast<double>(rounds) * piece / (times > 1 ? 4 : 1);
  }
  return sum;
}

}  // namespace

int64_t InPlaceWork::piece_bytes(const InPlaceCut& cut) const {
  const int64_t positions = cut.images * cut.rows * width;
  const int64_t planes = cut.images * (cut.rows + more_rows) * row_numbers;
  return 4 * (planes + positions * cut.columns * (by_rows ? 1 + inner : 1));
}

// Pieces of the same images and rows fill planes once on a lane.
double InPlaceWork::piece_cycles(const InPlaceCut& cut, int threads) const {
  const auto positions = static_cast<double>(cut.images * cut.rows * width);
  const auto planes = static_cast<double>(cut.images * (cut.rows + more_rows) * row_numbers);
  const auto rows_filled = static_cast<double>(cut.images * (cut.rows + more_rows) * channel_rows);
  double filling = 0.5 * planes + 15 * rows_filled;
  if (cut.image_blocks * cut.row_blocks == 1 && cut.column_blocks > threads)
    filling *= static_cast<double>(threads) / static_cast<double>(cut.column_blocks);
  const auto columns = static_cast<double>(cut.columns), steps = static_cast<double>(k);
  const double panels = columns / gemm_panel;
  const double results = positions * columns * static_cast<double>(phases);
  const int64_t parts = phases + k / 192;
  const double tiles = panels * positions / 12 * static_cast<double>(parts);
  return positions * panels * steps +                     // sums
         (cut.shares_panels ? 4 : 20) * panels * steps +  // packing panels, or reading them
         30 * tiles + filling + (by_rows ? 2 : 1) * results + 300;
}

std::array<InPlaceCut, cut_threads.size()> in_place_cuts(const InPlaceWork& w) {
  std::array<InPlaceCut, cut_threads.size()> best;
  std::array<double, cut_threads.size()> least = {};
  bool any = false;
  const auto consider = [&](int64_t images, int64_t rows, int64_t columns) {
    InPlaceCut cut = cut_of(w, images, rows, columns);
    const int64_t positions = cut.images * cut.rows * w.width;
    const bool is_least = cut.images == 1 && cut.rows == 1 && cut.columns == gemm_panel;
    if (!is_least && (positions > most_positions || w.piece_bytes(cut) > most_bytes)) return;
    for (size_t i = 0; i < best.size(); ++i) {
      const double piece = w.piece_cycles(cut, cut_threads[i]);
      cut.cycles = static_cast<double>(cut.pieces()) * piece;
      const double it_costs = cost(w, cut, piece, cut_threads[i]);
      if (any && it_costs >= least[i]) continue;
      best[i] = cut;
      least[i] = it_costs;
    }
    any = true;
  };
  const int64_t all = ceil_div(w.results, gemm_panel);
  for (int64_t parts = 1; parts <= all; parts *= 2) {
    const int64_t columns = ceil_div(all, parts) * gemm_panel;
    for (int64_t images = 1; images <= w.images; images *= 2) consider(images, w.rows, columns);
    for (int64_t bands = 2; bands <= w.rows; ++bands) consider(1, ceil_div(w.rows, bands), columns);
  }
  consider(1, 1, gemm_panel);
  return best;
}

}  // namespace cleave::runtime
