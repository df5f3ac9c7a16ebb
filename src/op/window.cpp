#include "op/window.h"

#include <algorithm>

namespace cleave {
namespace {

// Beyond any size: a larger bound or step has the same meaning, and sums of it don't overflow.
constexpr int64_t far_away = int64_t{1} << 48;

bool never_negative(const OpView& op, const Dim& d) { return op.env().range_of(d).lo >= 0; }

// d clamped to [lo, hi], without the min or max that provably has no effect.
Dim moved_inside(const OpView& op, const Dim& d, const Dim& lo, const Dim& hi) {
  if (never_negative(op, d - hi)) return hi;
  const Dim above = never_negative(op, d - lo) ? d : Dim::max(lo, d);
  return never_negative(op, hi - d) ? above : Dim::min(above, hi);
}

// `bound` counted from the front, not yet clamped.
Result<Dim> front_bound(const OpView& op, const char* attr, const Dim& fallback, const Dim& size) {
  if (!op.given(attr)) return fallback;
  Dim bound = op.dim_attr(attr);
  if (bound.is_const()) bound = std::clamp(bound.value(), -far_away, far_away);
  const DimRange range = op.env().range_of(bound);
  if (range.lo >= 0) return bound;
  if (range.hi < 0) return bound + size;
  return op.broken("C4", "{} {} can't be proven to be negative or not", attr, bound.text());
}

Status check_has_dim(const OpView& op) {
  if (op.in_type(0).rank() > 0) return {};
  return op.broken("C1", "self is {}, expected at least one dim", op.in_type(0).text());
}

Result<Window> window_in(const OpView& op) {
  CLEAVE_CHECK(check_has_dim(op));
  const Type& x = op.in_type(0);
  Window w;
  CLEAVE_TRY(w.dim, checked_dim(op, "C2", op.int_attr("dim"), x));
  const Dim step = op.dim_attr("step"), size = x.shape[w.dim];
  if (!step.is_const() || step.value() <= 0)
    return op.broken("C3", "step is {}, expected a positive integer", step.text());
  w.step = std::min(step.value(), far_away);
  CLEAVE_TRY(const Dim start, front_bound(op, "start", 0, size));
  CLEAVE_TRY(const Dim end, front_bound(op, "end", size, size));
  w.start = moved_inside(op, start, 0, size);
  w.stop = end == size ? size : moved_inside(op, end, w.start, size);
  w.size = Dim::floordiv(w.stop - w.start + Dim(w.step - 1), Dim(w.step));
  return w;
}

}  // namespace

Result<Window> checked_window(const OpView& op) { return window_in(op); }
Window window_of(const OpView& op) { return *window_in(op); }

Result<Position> checked_position(const OpView& op) {
  CLEAVE_CHECK(check_has_dim(op));
  const Type& x = op.in_type(0);
  Position p;
  CLEAVE_TRY(p.dim, checked_dim(op, "C2", op.int_attr("dim"), x));
  const Dim size = x.shape[p.dim], given = op.dim_attr("index");
  const SymEnv& env = op.env();
  const int64_t most = env.range_of(size).hi;
  const bool outside = env.range_of(given).lo >= most || env.range_of(given).hi < -most;
  if (outside)
    return op.broken("C3", "index {} is outside [-{}, {}) of dim {} of self: {}", given.text(),
                     size.text(), size.text(), p.dim, x.text());
  const DimRange sign = env.range_of(given);
  if (sign.lo < 0 && sign.hi >= 0)
    return op.broken("C3", "index {} can't be proven to be negative or not", given.text());
  p.index = sign.hi < 0 ? given + size : given;
  return p;
}

Position position_at(const OpView& op) { return *checked_position(op); }

Shape with_size(Shape shape, int64_t dim, Dim size) {
  shape[dim] = std::move(size);
  return shape;
}

Shape without_dim(Shape shape, int64_t dim) {
  shape.erase(shape.begin() + dim);
  return shape;
}

ValueId padded(Builder& b, ValueId v, int64_t dim, int64_t rank, Dim before, Dim after) {
  std::vector<Dim> pad;  // from the last dim to the first
  for (int64_t d = rank - 1; d > dim; --d) pad.insert(pad.end(), {Dim(0), Dim(0)});
  pad.insert(pad.end(), {std::move(before), std::move(after)});
  return b.call1("constant_pad_nd", {v}, {{"pad", pad}});
}

}  // namespace cleave
