#include "schedule/part_sums.h"

#include <algorithm>

#include "schedule/group_fold.h"
#include "schedule/lane_block.h"

namespace cleave {

using namespace cleave::loop;

PartSums PartSums::of_all(GroupContext& c, const FoldCall& f, const char* name, DType type,
                          const MakePartial& make_partial) {
  const Bound at =
      make_partial(c.calls.graph.name(f.result) + name, type, f.form.results * f.form.parts);
  c.kernel.buffers[static_cast<size_t>(at.buffer)].access = Access::update;
  return {at.buffer, at.dtype, f.form.results};
}

PartSums PartSums::of_one(GroupContext& c, const FoldCall& f, const char* name, DType type) {
  const int64_t buffer = std::ssize(c.kernel.buffers);
  c.kernel.buffers.push_back({c.calls.graph.name(f.result) + name, type,
                              std::max<int64_t>(f.form.results, 1), Access::local});
  return {buffer, type, -1};
}

Expr PartSums::index(const Expr& part, const Expr& column) const {
  return results_ < 0 ? column : part * Expr(results_) + column;
}

Expr PartSums::load(const Expr& part, const Expr& column) const {
  return loop::load(buffer_, dtype_, index(part, column));
}

void PartSums::store(GroupContext& c, const Expr& part, const Expr& column, Expr x) const {
  c.sheet.open.back()->push_back({Store{buffer_, index(part, column), std::move(x)}});
}

void add_parts(GroupContext& c, const std::vector<PartsOfFold>& all) {
  if (all.empty()) return;
  const FoldForm& form = all[0].fold->form;
  const int64_t n = form.results;
  const int64_t width = c.loops.added_columns;
  c.builder.parallel({lane_blocks(n, width)}, [&](const Exprs& i) {
    const Expr block = c.declared(i[0], lane_blocks(n, width));
    const auto add = [&](const Expr& column) {
      const Exprs sums = c.builder.folds({Expr(form.parts)}, [&](const Exprs& q) {
        std::vector<KernelBuilder::Folded> folded;
        for (const auto& [f, parts] : all)
          folded.push_back({rule_of(c, *f).op, cast(parts->load(q[0], column), parts_type(c, *f))});
        return folded;
      });
      for (size_t k = 0; k < all.size(); ++k) {
        const FoldCall& f = *all[k].fold;
        c.store(stored_at(c, f), c.index_of(column, f.result),
                finished(c, f, cast(sums[k], accumulator(c, f))));
      }
    };
    for_lanes(c, block, n, add, width);
  });
}

}  // namespace cleave
