#include <algorithm>

#include "lower/group_writer.h"

namespace cleave {

using namespace cleave::loop;

void GroupWriter::chunks() {
  for (const FoldCall& f : folds_) make_partial(f);
  const FoldForm& cut = folds_[0].form;
  const int64_t rows = frame_.rows();
  builder_.parallel({rows, cut.parts}, [&](const Exprs& i) {
    values_.open_scope(i);
    declared(i[0], rows), declared(i[1], cut.parts);
    part_ = i[1];
    Exprs parts(frame_.parts.size());
    split_rows(i[0], parts);
    const Expr first = builder_.let(i[1] * Expr(cut.step), "first");
    values_.own(first);
    const int64_t extent = cut.runs[cut.cut_run()].extent;
    values_.math().declare(first, std::max<int64_t>(extent - cut.step, 0) + 1);
    Exprs extents = {rows_of_part(first, cut)};
    std::vector<size_t> inner;
    for (size_t d = 0; d < parts.size(); ++d)
      if (!frame_.parts[d].is_row) {
        if (!inner.empty()) extents.emplace_back(frame_.parts[d].extent);
        inner.push_back(d);
      }
    const Exprs sums = builder_.folds(extents, [&](const Exprs& r) {
      values_.open_scope(r);
      for (size_t k = 0; k < inner.size(); ++k) {
        declared(r[k], k == 0 ? std::min(cut.step, extent) : frame_.parts[inner[k]].extent);
        parts[inner[k]] = k == 0 ? first + r[0] : r[k];
      }
      set_frame(parts);
      std::vector<KernelBuilder::Folded> out;
      for (const FoldCall& f : folds_) out.push_back({rule(f).op, mapped(f)});
      store_all(results_of_pass(std::nullopt));
      values_.close_scope();
      return out;
    });
    for (size_t k = 0; k < folds_.size(); ++k)
      sheet_.open.back()->push_back(
          {Store{partial(folds_[k])->buffer, i[0] * Expr(cut.parts) + i[1], sums[k]}});
    values_.close_scope();
  });
  for (const FoldCall& f : folds_) {
    const GroupResult* result = &result_of(f);
    builder_.parallel({rows}, [&](const Exprs& p) {
      const Expr sum = builder_.reduce(rule(f).op, {f.form.parts}, [&](const Exprs& q) {
        return load(partial(f)->buffer, partial(f)->dtype, p[0] * Expr(f.form.parts) + q[0]);
      });
      store(result->at,
            values_.math().delinearise(declared(p[0], rows), static_shape(graph_.type(f.result))),
            finished(f, sum));
    });
  }
}

}  // namespace cleave
