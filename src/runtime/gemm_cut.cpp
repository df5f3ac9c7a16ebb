// The unit of cost is a cycle of a core with two multiply-add units: a tile of mr rows and nr
// columns (two vectors) takes mr of them for each k.
#include "runtime/gemm_cut.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cleave::runtime {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t unit) { return ceil_div(a, unit) * unit; }

// A piece's part of A (m x 192 f32 at a time) stays in the second-level cache. C needn't, since it
// is prefetched; with narrower pieces A would be packed more often.
// Tiles of 32 rows (AMX) are so fast that packing B for each piece is a good part of the time.
constexpr int64_t max_rows(int64_t mr) { return mr < 32 ? 256 : 512; }
constexpr double per_piece = 300;

double piece_cost(int64_t m, int64_t n, int64_t k, int64_t mr, int64_t nr, double packing_a) {
  const auto rows = static_cast<double>(m), steps = static_cast<double>(k);
  const auto panels = static_cast<double>(ceil_div(n, nr));
  const auto tiles = panels * static_cast<double>(ceil_div(m, mr) * ceil_div(k, 256));
  return rows * panels * steps +  // sums
         packing_a * rows * steps + 10 * panels * steps +
         100 * tiles;  // packing B; filling and emptying tiles
}

// A cut for some threads is priced for more and for fewer too, since threads are late, and since
// smaller pieces stay in caches: with weights, relative to the number.
struct Threads {
  double times, weight;
};
constexpr std::array<Threads, 5> machines = {{{0.5, 6}, {1, 6}, {2, 2}, {4, 0.5}, {8, 0.25}}};

// In cycles of all cores.
double cost(const GemmCut& cut, int threads, int64_t k, int64_t mr, int64_t nr, double packing_a) {
  const double one =
      static_cast<double>(cut.batch) * (piece_cost(cut.m, cut.n, k, mr, nr, packing_a) + 100) +
      per_piece;
  const auto worth = static_cast<int64_t>(cut.cycles / (product_wakings * waking_cycles));
  double sum = 0;
  for (const Threads& machine : machines) {
    const double cores = machine.times * threads;
    const int64_t running =
        std::clamp<int64_t>(std::min<int64_t>(worth, cut.pieces()), 1, std::llround(cores));
    const int64_t rounds = ceil_div(cut.pieces(), running);
    sum += machine.weight * cores *
           (static_cast<double>(rounds) * one + (running > 1 ? waking_cycles : 0));
  }
  return sum;
}

GemmCut parts(const GemmCut& whole, int64_t batch, int64_t rows, int64_t columns, int64_t nr) {
  GemmCut cut = whole;
  cut.batch = std::min(batch, whole.all_batch);
  cut.m = ceil_div(whole.all_m, rows);
  cut.n = std::min(round_up(ceil_div(whole.all_n, columns), nr), whole.all_n);
  cut.groups = ceil_div(whole.all_batch, cut.batch);
  cut.rows = ceil_div(whole.all_m, cut.m);
  cut.columns = ceil_div(whole.all_n, cut.n);
  return cut;
}

// A dimension is cut in the fewest parts that the limits allow, or in one of these multiples of
// that.
constexpr std::array<int64_t, 9> multiples = {1, 2, 3, 4, 6, 8, 12, 16, 24};

}  // namespace

GemmPiece GemmCut::piece(long index) const {
  const int64_t column = index % columns, row = index / columns % rows;
  const int64_t group = index / columns / rows;
  return {.first_batch = group * batch,
          .batch = std::min(batch, all_batch - group * batch),
          .first_row = row * m,
          .m = std::min(m, all_m - row * m),
          .first_column = column * n,
          .n = std::min(n, all_n - column * n)};
}

GemmCuts cut_gemm(int64_t batch, int64_t m, int64_t n, int64_t k, int64_t mr, int64_t nr,
                  int64_t max_columns, double packing_a) {
  GemmCut whole{.all_batch = batch, .all_m = m, .all_n = n};
  GemmCuts best;
  best.fill(whole);
  if (batch == 0 || m == 0 || n == 0) return best;
  whole.cycles = static_cast<double>(batch) * piece_cost(m, n, k, mr, nr, packing_a);
  std::array<double, cut_threads.size()> best_cost = {};
  const auto consider = [&](int64_t group, int64_t rows, int64_t columns) {
    const GemmCut cut = parts(whole, group, rows, columns, nr);
    for (size_t i = 0; i < best.size(); ++i) {
      const double it_costs = cost(cut, cut_threads[i], k, mr, nr, packing_a);
      if (best[i].groups != 0 && it_costs >= best_cost[i]) continue;
      best[i] = cut;
      best_cost[i] = it_costs;
    }
  };
  const int64_t rows = ceil_div(m, max_rows(mr)), columns = ceil_div(n, max_columns);
  for (const int64_t more_columns : multiples)
    for (const int64_t more_rows : multiples)
      if ((more_rows == 1 || rows * more_rows <= ceil_div(m, mr)) &&
          (more_columns == 1 || columns * more_columns <= ceil_div(n, nr)))
        consider(1, rows * more_rows, columns * more_columns);
  if (rows == 1 && columns == 1)
    for (const int64_t groups : {1, 2, 4, 8, 16, 32, 64, 128})
      if (groups <= batch) consider(ceil_div(batch, groups), 1, 1);
  return best;
}

}  // namespace cleave::runtime
