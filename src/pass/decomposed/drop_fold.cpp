// A fold over single elements is a view of them.
//
//   sum, mean, amax, amin(x f32[8,1]; dim=[1])   ->   view(x; size=[8])
//   the same with keepdim                        ->   x
//
// The statistics of a norm over one element, or sums of columns that another fold kept. A fold's
// result keeps its loops apart from those of other folds; a view is read in whatever loops.
// 0.0 + x differs from x for x = -0.0, which is ignored, as in drop_noop.
#include "pass/passes.h"
#include "pass/stands_for.h"

namespace cleave {
namespace {

bool is_of_single_elements(const Match& m) {
  const Type &x = m.type("x"), &y = m.graph().type(m.outputs()[0]);
  return x.dtype == y.dtype && x.is_static() && y.is_static() && x.numel() == y.numel();
}

Rule view_of(const std::string& name, AttrTests attrs) {
  return {.name = name,
          .search = {call(name, {any("x")}, std::move(attrs))},
          .when =
              [](const Match& m) {
                const ValueId x = m["x"], y = m.outputs()[0];
                return is_of_single_elements(m) &&
                       (!has_same_type(m.graph(), x, y) || may_stand_for(m.graph(), x, y));
              },
          .build = [](Builder& b, const Match& m) -> Values {
            const ValueId x = m["x"];
            const Shape shape = m.graph().type(m.outputs()[0]).shape;
            return {m.type("x").shape == shape ? x : b.view(x, shape)};
          }};
}

}  // namespace

Pass drop_fold() {
  const AttrTests dims = {{"dim", anything()}, {"keepdim", anything()}};
  AttrTests sums = dims;
  sums.emplace_back("dtype", anything());
  return {.name = "drop_fold",
          .summary = "a fold over single elements is a view",
          .rules = {view_of("sum", sums), view_of("mean", sums), view_of("amax", dims),
                    view_of("amin", dims)}};
}

}  // namespace cleave
