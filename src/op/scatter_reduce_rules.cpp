// The gradient and the loops of scatter_reduce.
//
//   S = 1 where self is included in its fold   G = gather along dim by index
//
//   sum   dself = g S              dsrc = G(g)
//   mean  dself = g S / N          dsrc = G(g / N)          N = S + number of indices
//   amax  dself = g S hit / H      dsrc = hit G(g / H)      hit: equals the result, H: their number
//   prod  dself = g S prod(src)    dsrc = G(g) * product of the others, zeros handled separately
#include "op/dims.h"
#include "op/index_rules.h"
#include "op/kernel_loops.h"
#include "op/scatter_reduce.h"

namespace cleave {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using loop::Op;

namespace {

// Builds the calls of the gradient, all along one dim by one index.
struct Along {
  Builder& b;
  const GradView& op;
  DType t;

  ValueId gather(ValueId x) const {
    return b.call1("gather", {x, op.in(1)}, {{"dim", op.int_attr("dim")}});
  }
  ValueId add(ValueId to, ValueId x) const {
    return b.call1("scatter_add", {to, op.in(1), x}, {{"dim", op.int_attr("dim")}});
  }
  ValueId set(ValueId to, double value) const {
    return b.call1("scatter", {to, op.in(1)}, {{"dim", op.int_attr("dim")}, {"value", value}});
  }
  ValueId multiply(ValueId to, ValueId x) const {
    return b.call1("scatter_reduce", {to, op.in(1), x},
                   {{"dim", op.int_attr("dim")}, {"reduce", "prod"}});
  }
  ValueId like_self(double value) const { return b.full(op.in_type(0).shape, value, t); }
  ValueId like_index(double value) const { return b.full(op.in_type(1).shape, value, t); }
  // S
  ValueId own() const { return includes_self(op) ? like_self(1) : set(like_self(1), 0); }
  // The part of src that index reads, or the number, in the shape of index.
  ValueId src() const {
    if (!op.has(2)) return b.full(op.in_type(1).shape, op.attr("value"), t);
    ValueId x = op.in(2);
    const Shape &index = op.in_type(1).shape, &shape = op.in_type(2).shape;
    if (index.size() != shape.size()) return b.view(x, index);
    for (size_t d = 0; d < shape.size(); ++d)
      if (!(shape[d] == index[d])) x = b.slice(x, static_cast<int64_t>(d), Dim(0), index[d]);
    return x;
  }
  // The transpose of src().
  ValueId to_src(ValueId g) const {
    const Shape &index = op.in_type(1).shape, &shape = op.in_type(2).shape;
    if (index == shape) return g;
    if (index.size() != shape.size()) return b.view(g, shape);
    std::vector<Dim> pad;
    for (size_t d = shape.size(); d-- > 0;) {
      pad.emplace_back(0);
      pad.push_back(shape[d] - index[d]);
    }
    return b.call1("constant_pad_nd", {g}, {{"pad", pad}});
  }
};

ValueId product_of_others(const Along& a, ValueId src) {
  Builder& b = a.b;
  const ValueId zero = b.eq(src, 0.0), plain = b.where(zero, 1.0, src);
  const ValueId start = includes_self(a.op) ? a.op.in(0) : a.like_self(1);
  const ValueId product = a.gather(a.multiply(start, plain));
  const ValueId zeros = a.gather(a.add(a.like_self(0), b.convert(zero, a.t)));
  const ValueId beside = b.where(b.eq(zeros, 0.0), b.div(product, plain), 0.0);
  return b.where(zero, b.where(b.eq(zeros, 1.0), product, 0.0), beside);
}

}  // namespace

Values grad_scatter_reduce(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  const ValueId g = op.dout(0);
  if (g.is_none()) return d;
  const Along a{b, op, op.in_type(0).dtype};
  const ValueId own = a.own(), src = a.src();
  ValueId for_self, for_src;
  switch (fold_of(op)) {
    case Fold::sum:
      for_self = b.mul(g, own);
      for_src = a.gather(g);
      break;
    case Fold::mean: {
      const ValueId each = b.div(g, a.add(own, a.like_index(1)));
      for_self = b.mul(each, own);
      for_src = a.gather(each);
      break;
    }
    case Fold::amax:
    case Fold::amin: {
      const ValueId hit = b.convert(b.eq(src, a.gather(op.out(0))), a.t);
      const ValueId mine = b.mul(b.convert(b.eq(op.in(0), op.out(0)), a.t), own);
      const ValueId each = b.div(g, a.add(mine, hit));
      for_self = b.mul(each, mine);
      for_src = b.mul(a.gather(each), hit);
      break;
    }
    case Fold::prod:
      for_self = b.mul(b.mul(g, a.multiply(a.like_self(1), src)), own);
      for_src = b.mul(a.gather(g), product_of_others(a, src));
      break;
  }
  if (!includes_self(op)) for_self = b.where(b.eq(own, 0.0), 0.0, for_self);  // even next to NaN
  if (op.needs(0)) d[0] = for_self;
  if (op.has(2) && op.needs(2)) d[2] = a.to_src(for_src);
  return d;
}

namespace {

// One column: elements along dim, which fold only into elements of the same column.
struct Column {
  KernelBuilder& k;
  const OpView& op;
  Exprs column;
  size_t dim;
  Fold fold;

  Exprs at(const std::vector<int64_t>& shape, const Expr& along) const {
    if (shape.empty()) return {};
    Exprs index = column;
    index[dim] = along;
    return index;
  }
  Expr key(const Expr& t) const {
    return k.let(cast(k.load(1, at(k.operand(1).layout.shape, t)), DType::i64), "i");
  }
  Expr src(const Expr& t) const {
    if (!op.has(2)) return scatter_number(op);
    return k.load(2, at(k.operand(2).layout.shape, t));
  }
  Exprs place(const Expr& key) const { return at(k.operand(0).layout.shape, key); }

  Expr combine(const Expr& x, const Expr& y) const {
    const bool either = x.type() == DType::boolean;
    switch (fold) {
      case Fold::prod: return binary(either ? Op::logical_and : Op::mul, x, y);
      case Fold::amax: return binary(either ? Op::logical_or : Op::max, x, y);
      case Fold::amin: return binary(either ? Op::logical_and : Op::min, x, y);
      default: return binary(either ? Op::logical_or : Op::add, x, y);
    }
  }
  Expr identity(DType t) const {
    if (t == DType::boolean) return loop::constant_int(t, fold == Fold::prod || fold == Fold::amin);
    switch (fold) {
      case Fold::prod: return loop::constant(t, 1);
      case Fold::amax: return identity_of(loop::ReduceOp::max, t);
      case Fold::amin: return identity_of(loop::ReduceOp::min, t);
      default: return loop::constant(t, 0);
    }
  }

  // Accumulates in the result's buffer, one element of index after the other.
  void fold_in_place(int64_t steps) const {
    const DType t = loop::compute_type(op.out_type(0).dtype);
    if (!includes_self(op))
      k.loop(Expr(steps), [&](const Expr& u) { k.store(0, place(key(u)), identity(t)); });
    k.loop(Expr(steps), [&](const Expr& u) {
      const Exprs to = place(key(u));
      k.store(0, to, combine(k.load_result(0, to), src(u)));
    });
  }

  // One position at a time, at the first index that names it: sums stay unrounded until complete.
  void fold_by_place(int64_t steps) const {
    const DType t = loop::compute_type(op.out_type(0).dtype);
    const bool own = includes_self(op);
    k.loop(Expr(steps), [&](const Expr& u) {
      const Expr mine = key(u);
      const Expr first = k.define(loop::constant_int(DType::boolean, 1), "first");
      k.loop(u, [&](const Expr& v) {
        k.assign(first, binary(Op::logical_and, first, binary(Op::ne, key(v), mine)));
      });
      k.if_(first, [&] {
        const Exprs to = place(mine);
        const Expr sum = k.define(own ? k.load_result(0, to) : identity(t), "sum");
        const Expr count = k.define(Expr(own ? 1 : 0), "count");
        k.loop(Expr(steps) - u, [&](const Expr& later) {
          const Expr v = k.let(u + later, "v");
          k.if_(binary(Op::eq, key(v), mine), [&] {
            k.assign(sum, combine(sum, src(v)));
            k.assign(count, count + Expr(1));
          });
        });
        const bool floats = is_floating(t);
        const Expr by = cast(count, t);
        k.store(0, to, fold != Fold::mean ? sum : binary(floats ? Op::div : Op::floordiv, sum, by));
      });
    });
  }
};

}  // namespace

void lower_scatter_reduce(KernelBuilder& k, const OpView& op) {
  const std::vector<int64_t>& sizes = k.operand(0).layout.shape;
  const std::vector<int64_t>& extents = k.operand(1).layout.shape;
  const auto dim = static_cast<size_t>(scatter_dim(op));
  check_indices(k, op, "index", 1, sizes.empty() ? 1 : sizes[dim], NegativeIndex::refused);
  copy_to_result(k, 0);
  if (numel_of(extents) == 0) return;
  const int64_t steps = extents.empty() ? 1 : extents[dim];
  std::vector<int64_t> columns = extents.empty() ? std::vector<int64_t>{1} : extents;
  columns[dim] = 1;
  const DType t = op.out_type(0).dtype;
  const Fold fold = fold_of(op);
  const bool by_place = fold == Fold::mean || (size_of(t) < 4 && t != DType::boolean);
  k.parallel(columns, [&](const Exprs& i) {
    const Column column{k, op, i, dim, fold};
    if (by_place)
      column.fold_by_place(steps);
    else
      column.fold_in_place(steps);
  });
}

}  // namespace cleave
