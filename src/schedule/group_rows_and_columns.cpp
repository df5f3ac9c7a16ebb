// rows and columns: parts of the rows in parallel; the passes over a row also add to the part's
// column sums (column_sums.h).
#include <algorithm>

#include "loop/sum_blocks.h"
#include "schedule/group_fold.h"
#include "schedule/group_row.h"
#include "schedule/group_writers.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// The rows [first, first + step) of a part, in blocks if a Reduce over them is summed in blocks.
void write_part(GroupContext& c, ColumnSums& sums, RowWriter& row, const Expr& first) {
  const int64_t rows = c.plan.frame.rows(), block = column_terms.block;
  const auto some = [&](const Expr& begin, const Expr& count, int64_t most) {
    c.builder.loop(count, [&](const Expr& r) {
      const OpenScope scope(c, {r});
      c.declared(r, most);
      row.write(c.math().simplify(begin + r));
    });
  };
  const FoldForm& cut = sums.cut();
  const Expr count = rows_of_part(first, cut);
  if (!sums.has_blocks()) return some(first, count, std::min(cut.step, rows));
  const int64_t blocks = (cut.step - 1) / block + 1;
  const Expr n = c.builder.let(count, "rows");
  c.values.scopes().own(n);
  c.builder.loop(binary(Op::truncdiv, n + Expr(block - 1), Expr(block)), [&](const Expr& b) {
    const OpenScope scope(c, {b});
    c.declared(b, blocks);
    const Expr begin =
        c.let(first + b * Expr(block), "begin", std::max<int64_t>(rows - block, 0) + 1);
    some(begin, binary(Op::min, n - b * Expr(block), Expr(block)), std::min(block, rows));
    sums.add_block();
  });
  sums.add_blocks();
}

}  // namespace

void write_rows_and_columns(GroupContext& c, const MakePartial& make_partial) {
  ColumnSums sums(c, make_partial);
  RowWriter row(c, &sums);
  const FoldForm& cut = sums.cut();
  c.builder.parallel({cut.parts}, [&](const Exprs& i) {
    const OpenScope scope(c, i);
    const Expr part = c.declared(i[0], cut.parts);
    sums.begin(part);
    const Expr first = c.let(part * Expr(cut.step), "first",
                             std::max<int64_t>(c.plan.frame.rows() - cut.step, 0) + 1);
    write_part(c, sums, row, first);
    sums.end_part();
  });
  sums.end();
}

}  // namespace cleave
