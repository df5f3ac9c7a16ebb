// Folds of one thread, and of a team.
#include <algorithm>

#include "loop/sum_blocks.h"
#include "simt/fold_values.h"
#include "simt/phase_writer.h"
#include "simt/team.h"

namespace cleave::simt {

using loop::Fold;
using loop::Op;

// In plain order, and in blocks (loop/sum_blocks.h).
void PhaseWriter::ordered_fold(const loop::Reduce& r, Block& out) {
  Exprs sums, totals;
  for (const Fold& f : r.folds) {
    const bool has_total = r.blocks && loop::rounds(f.op, f.var.type());
    sums.push_back(fresh("sum", f.var.type()));
    totals.push_back(has_total ? fresh("total", DType::f64) : Expr());
    if (has_total)
      var(totals.back(), identity_of(f.op, DType::f64), out);
    else
      var(sums.back(), identity_of(f.op, f.var.type()), out);
  }
  fold_nest(r, 0, sums, totals, out);
  for (size_t k = 0; k < r.folds.size(); ++k)
    let(r.folds[k].var, cast(totals[k].defined() ? totals[k] : sums[k], r.folds[k].var.type()),
        out);
}

void PhaseWriter::fold_nest(const loop::Reduce& r, size_t depth, const Exprs& sums,
                            const Exprs& totals, Block& out) {
  if (depth == r.loops.size()) {
    thread_block(r.body, out);
    Exprs values;
    for (const Fold& f : r.folds) values.push_back(expr(f.value));
    for (size_t k = 0; k < r.folds.size(); ++k)
      out.push_back({Assign{sums[k], combined(r.folds[k].op, sums[k], values[k])}});
    return;
  }
  const loop::Loop& l = r.loops[depth];
  if (!r.blocks || r.blocks->loop != depth)
    return serial_loop(l, out, [&](Block& body) { fold_nest(r, depth + 1, sums, totals, body); });
  const Expr count = extent(l.extent), begin = fresh("begin");
  const auto range = ranges_.of(count);
  const auto within =
      range ? std::optional(Range{0, std::max<int64_t>(range->high - 1, 0)}) : std::nullopt;
  ranges_.set(begin, within), ranges_.set(l.var, within);
  For blocks{.var = begin, .begin = Expr(0), .end = count, .step = r.blocks->iterations};
  for (size_t k = 0; k < r.folds.size(); ++k)
    if (totals[k].defined())
      var(sums[k], identity_of(r.folds[k].op, r.folds[k].var.type()), blocks.body);
  For inside{.var = l.var,
             .begin = begin,
             .end = binary(Op::min, begin + Expr(r.blocks->iterations), count),
             .body = {},
             .unrolled = 8};
  fold_nest(r, depth + 1, sums, totals, inside.body);
  blocks.body.push_back({std::move(inside)});
  for (size_t k = 0; k < r.folds.size(); ++k)
    if (totals[k].defined())
      blocks.body.push_back(
          {Assign{totals[k], combined(r.folds[k].op, totals[k], cast(sums[k], DType::f64))}});
  out.push_back({std::move(blocks)});
}

void PhaseWriter::spread_fold(const loop::Reduce& r, Block& out) {
  Elements elements{.count = Expr(1), .chunk = fold_chunk, .body = &r.body, .folds = &r.folds};
  for (const loop::Loop& l : r.loops) {
    elements.loops.push_back({l.var, extent(l.extent)});
    elements.count = elements.count * elements.loops.back().extent;
  }
  Exprs results;
  for (const Fold& f : r.folds) {
    const DType type = total_type(f);
    const Expr total = fresh("total", type);
    var(total, identity_of(f.op, type), out);
    const bool is_wide = type != f.var.type();
    elements.sums.push_back(is_wide ? fresh("sum", f.var.type()) : total);
    elements.totals.push_back(is_wide ? total : Expr());
    results.push_back(total);
  }
  spread(elements, out);
  combine_team(r.folds, results, out);
  for (size_t k = 0; k < r.folds.size(); ++k)
    let(r.folds[k].var, cast(results[k], r.folds[k].var.type()), out);
}

// A buffer of the block, for each place and type one.
int64_t PhaseWriter::scratch(size_t place, DType type, int64_t elements) {
  while (scratch_.size() <= place) scratch_.push_back(-1);
  int64_t& known = scratch_[place];
  if (known >= 0) {
    const Buffer& b = to_.buffers[static_cast<size_t>(known)];
    if (b.dtype == type && b.elements >= elements) return known;
  }
  known = add_buffer(fmt::format("sums{}", to_.buffers.size()), type, elements, Space::shared);
  return known;
}

// Each thread gets what all of them have, added up pairwise.
void PhaseWriter::combine_team(const std::vector<Fold>& folds, const Exprs& sums, Block& out) {
  const auto tree = [&](int width, int lanes) {
    for (int distance = width / 2; distance > 0; distance /= 2)
      for (size_t k = 0; k < folds.size(); ++k) {
        const Expr other = fresh("other", sums[k].type());
        out.push_back({Exchange{other, sums[k], distance, lanes}});
        out.push_back({Assign{sums[k], combined(folds[k].op, sums[k], other)}});
      }
  };
  tree(std::min(team_, warp_lanes), std::min(team_, warp_lanes));
  if (team_ <= warp_lanes) return;
  const int warps = team_ / warp_lanes;
  const Expr lane = binary(Op::truncmod, thread_, Expr(warp_lanes));
  std::vector<int64_t> buffers;
  for (size_t k = 0; k < folds.size(); ++k)
    buffers.push_back(scratch(k, sums[k].type(), max_threads / warp_lanes));
  barrier(out);  // others may read the last sums
  If first{binary(Op::eq, lane, Expr(0)), {}, {}};
  for (size_t k = 0; k < folds.size(); ++k)
    first.then.push_back(
        {Store{buffers[k], binary(Op::truncdiv, thread_, Expr(warp_lanes)), sums[k]}});
  out.push_back({std::move(first)});
  barrier(out);
  for (size_t k = 0; k < folds.size(); ++k)
    out.push_back({Assign{
        sums[k], load(buffers[k], sums[k].type(), binary(Op::truncmod, thread_, Expr(warps)))}});
  tree(warps, warp_lanes);
}

}  // namespace cleave::simt
