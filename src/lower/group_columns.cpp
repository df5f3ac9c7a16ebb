#include <algorithm>
#include <utility>

#include "loop/sum_blocks.h"
#include "lower/group_writer.h"

namespace cleave {

using namespace cleave::loop;

Expr GroupWriter::rows_of_part(const Expr& first, const FoldForm& cut) {
  const int64_t extent = cut.runs[cut.cut_run()].extent;
  return binary(Op::max, binary(Op::min, Expr(extent) - first, Expr(cut.step)), Expr(0));
}

Bound GroupWriter::sums_of_parts(const FoldCall& f, const char* name, DType type) {
  const Bound at = make_partial_(graph_.name(f.result) + name, type, f.form.results * f.form.parts);
  kernel_.buffers[static_cast<size_t>(at.buffer)].access = Access::update;
  return at;
}

void GroupWriter::make_partial(const FoldCall& f) {
  partial(f) = sums_of_parts(f, ".partial", accumulator(f));
}

Expr GroupWriter::sum_index(const Bound& sums, const FoldCall& f, const Expr& column) const {
  const bool local = kernel_.buffers[static_cast<size_t>(sums.buffer)].access == Access::local;
  return local ? column : partial_at(f, part_, column);
}

Expr GroupWriter::sum_at(const Bound& sums, const FoldCall& f, const Expr& column) {
  return load(sums.buffer, sums.dtype, sum_index(sums, f, column));
}

void GroupWriter::store_sum(const Bound& sums, const FoldCall& f, const Expr& column, Expr x) {
  sheet_.open.back()->push_back({Store{sums.buffer, sum_index(sums, f, column), std::move(x)}});
}

void GroupWriter::store_partial(const FoldCall& f, const Expr& column, Expr x) {
  store_sum(*partial(f), f, column, std::move(x));
}

void GroupWriter::add_to_partial(const FoldCall& f, const Expr& column, const Expr& x) {
  store_partial(f, column, combined(rule(f).op, sum_at(*partial(f), f, column), x));
}

Expr GroupWriter::combined(ReduceOp op, const Expr& a, const Expr& b) {
  switch (op) {
    case ReduceOp::sum: return a + b;
    case ReduceOp::prod: return a * b;
    case ReduceOp::max:
      return a.type() == DType::boolean ? binary(Op::logical_or, a, b) : binary(Op::max, a, b);
    case ReduceOp::min:
      return a.type() == DType::boolean ? binary(Op::logical_and, a, b) : binary(Op::min, a, b);
    case ReduceOp::any: return binary(Op::logical_or, a, b);
    case ReduceOp::all: return binary(Op::logical_and, a, b);
  }
  return a;
}

DType GroupWriter::parts_type(const FoldCall& f) const {
  const DType t = accumulator(f);
  return rounds(rule(f).op, t) ? DType::f64 : t;
}

void GroupWriter::add_parts() {
  for (const FoldCall& f : folds_) {
    if (!partial(f)) continue;
    const GroupResult* result = &result_of(f);
    const int64_t n = f.form.results;
    builder_.parallel({(n + column_lanes - 1) / column_lanes}, [&](const Exprs& i) {
      const Expr first = builder_.let(i[0] * Expr(column_lanes), "first");
      values_.math().declare(first, std::max<int64_t>(n - column_lanes, 0) + 1);
      builder_.lanes(binary(Op::min, Expr(n) - first, Expr(column_lanes)), [&](const Expr& l) {
        declared(l, std::min<int64_t>(column_lanes, n));
        const Expr column = first + l;
        const Expr sum = builder_.reduce(rule(f).op, {f.form.parts}, [&](const Exprs& q) {
          const Expr at = partial_at(f, q[0], column);
          return cast(load(partial(f)->buffer, partial(f)->dtype, at), parts_type(f));
        });
        store(result->at, values_.math().delinearise(column, static_shape(graph_.type(f.result))),
              finished(f, cast(sum, accumulator(f))));
      });
    });
  }
}

void GroupWriter::column_blocks() {
  const FoldForm& cut = folds_[0].form;
  const bool whole = cut.parts == 1;
  if (!whole)
    for (const FoldCall& f : folds_) make_partial(f);
  // Rows are folded: the last part is a column; other kept parts go with the block.
  std::vector<int64_t> outer = {cut.parts};
  for (size_t d = 0; d + 1 < frame_.parts.size(); ++d)
    if (!frame_.parts[d].is_row) outer.push_back(frame_.parts[d].extent);
  const int64_t last = frame_.parts.back().extent;
  outer.push_back((last + column_lanes - 1) / column_lanes);
  builder_.parallel(outer, [&](const Exprs& i) {
    values_.open_scope(i);
    for (size_t d = 0; d < i.size(); ++d) declared(i[d], outer[d]);
    part_ = i[0];
    const Expr first = block_start(i.back(), last);
    const Expr first_row = builder_.let(part_ * Expr(cut.step), "row");
    values_.own(first_row);
    const int64_t extent = cut.runs[cut.cut_run()].extent;
    values_.math().declare(first_row, std::max<int64_t>(extent - cut.step, 0) + 1);
    builder_.lanes(block_size(first, last), [&](const Expr& l) {
      values_.open_scope({l});
      declared(l, std::min<int64_t>(column_lanes, last));
      Exprs extents = {rows_of_part(first_row, cut)};
      std::vector<int64_t> row_extents = {std::min(cut.step, extent)};
      bool is_first = true;
      for (const Frame::Part& p : frame_.parts)
        if (p.is_row && !std::exchange(is_first, false)) {
          extents.emplace_back(p.extent);
          row_extents.push_back(p.extent);
        }
      Expr column;
      const Exprs sums = builder_.folds(extents, [&](const Exprs& r) {
        values_.open_scope(r);
        Exprs parts(frame_.parts.size());
        size_t row = 0, kept = 1;
        for (size_t d = 0; d < parts.size(); ++d) {
          if (d + 1 == parts.size()) {
            parts[d] = first + l;
          } else if (frame_.parts[d].is_row) {
            parts[d] = declared(r[row], row_extents[row]);
            if (row++ == 0) parts[d] = first_row + parts[d];
          } else {
            parts[d] = i[kept++];
          }
        }
        set_frame(parts);
        column = inner_;
        std::vector<KernelBuilder::Folded> out;
        for (const FoldCall& f : folds_) out.push_back({rule(f).op, mapped(f)});
        store_all(results_of_pass(std::nullopt));
        values_.close_scope();
        return out;
      });
      for (size_t k = 0; k < folds_.size(); ++k) {
        const FoldCall& f = folds_[k];
        if (!whole) {
          store_partial(f, column, sums[k]);
          continue;
        }
        store(result_of(f).at,
              values_.math().delinearise(column, static_shape(graph_.type(f.result))),
              finished(f, sums[k]));
      }
      values_.close_scope();
    });
    values_.close_scope();
  });
  if (!whole) add_parts();
}

Expr GroupWriter::block_start(const Expr& block, int64_t last) {
  const Expr first = builder_.let(block * Expr(column_lanes), "first");
  values_.own(first);
  // Only first + lane is read, which is below `last`.
  values_.math().declare(first, std::max<int64_t>(last - column_lanes, 0) + 1);
  return first;
}

}  // namespace cleave
