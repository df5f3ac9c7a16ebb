// plain: no folds. Parallel over all dims except the last ones that every operand and result
// traverses as one; or over tiles of the last dim and of one that crosses it:
//
//   y[i,j] = x[j,i]     for tiles { for i in 16 { for j in 16 { y[i,j] = x[j,i] } } }
//
// so that each line of memory is used while it is in the first-level cache, or in the memory that
// the threads of a tile share.
#include <algorithm>

#include "schedule/group_results.h"
#include "schedule/group_traversal.h"
#include "schedule/group_writers.h"
#include "schedule/tile_sides.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// The shape of the results whose order the loops follow.
std::vector<int64_t> shape_of(const GroupContext& c) {
  const auto leads = [&](const GroupResult& r) { return !c.plan.orders.contains(r.value.v); };
  const ValueId v = std::ranges::find_if(c.calls.results, leads)->value;
  return static_shape(c.calls.graph.type(v));
}

void write_element(GroupContext& c, const Exprs& vars, const Expr& number) {
  const OpenScope scope(c, vars);
  store_all(c, results_of(c, c.numbered(number), std::nullopt));
}

void write_tiles(GroupContext& c, const std::vector<int64_t>& shape, size_t crossed) {
  const size_t last = shape.size() - 1;
  const TileSides rows(shape[crossed], c.loops.tile_side), columns(shape[last], c.loops.tile_side);
  std::vector<int64_t> outer = shape;
  outer[crossed] = rows.count, outer[last] = columns.count;
  c.builder.parallel(outer, [&](const Exprs& p) {
    const OpenScope scope(c, p);
    Exprs at;
    for (size_t d = 0; d < p.size(); ++d) at.push_back(c.declared(p[d], outer[d]));
    // Only the sum with an element of the tile is read, and is in range.
    const auto first = [&](const Expr& number, const TileSides& s) {
      return c.let(number * Expr(s.size), "first", s.extent - s.size + 1);
    };
    const Expr row = first(at[crossed], rows), column = first(at[last], columns);
    const auto lines = [&](const std::function<void(const Expr&)>& body) {
      if (c.loops.many_threads) return c.builder.each(rows.from(row), body);
      c.builder.loop(rows.from(row), body);
    };
    lines([&](const Expr& i) {
      const OpenScope line(c, {i});
      at[crossed] = row + c.declared(i, rows.size);
      c.builder.each(columns.from(column), [&](const Expr& j) {
        at[last] = column + c.declared(j, columns.size);
        write_element(c, {j}, c.math().dot(at, row_major(shape)));
      });
    });
  });
}

}  // namespace

void write_plain(GroupContext& c) {
  const std::vector<int64_t> shape = shape_of(c);
  if (numel_of(shape) == 0) return;
  const Traversal traversal = Traversal::of(c.calls, c.plan, shape);
  if (traversal.crossed) return write_tiles(c, shape, *traversal.crossed);
  const auto split = shape.end() - static_cast<std::ptrdiff_t>(traversal.inner_dims);
  const int64_t rows = numel_of({shape.begin(), split}), columns = numel_of({split, shape.end()});
  if (rows == 1)
    return c.builder.parallel({columns}, [&](const Exprs& j) {
      write_element(c, j, c.math().simplify(c.declared(j[0], columns)));
    });
  c.builder.parallel({rows}, [&](const Exprs& p) {
    const OpenScope scope(c, p);
    c.declared(p[0], rows);
    c.builder.each(Expr(columns), [&](const Expr& j) {
      c.declared(j, columns);
      write_element(c, {j}, c.math().dot({p[0], j}, {columns, 1}));
    });
  });
}

}  // namespace cleave
