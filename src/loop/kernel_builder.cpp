#include "loop/kernel_builder.h"

namespace cleave::loop {

KernelSheet::KernelSheet(Kernel& k) : kernel(k), open{&k.body} {}

KernelBuilder::KernelBuilder(Kernel& kernel, std::vector<Bound> operands,
                             std::vector<Bound> results)
    : own_(std::make_unique<KernelSheet>(kernel)), sheet_(*own_), operands_(std::move(operands)),
      results_(std::move(results)) {}

KernelBuilder::KernelBuilder(KernelSheet& sheet, std::vector<Bound> operands,
                             std::vector<Bound> results)
    : sheet_(sheet), operands_(std::move(operands)), results_(std::move(results)) {}

KernelBuilder::~KernelBuilder() = default;

void KernelBuilder::emit(Stmt s) { sheet_.open.back()->push_back(std::move(s)); }

Expr KernelBuilder::fresh_var(const std::string& name, DType type) {
  int64_t id = sheet_.next_var++;
  return make_var(id, fmt::format("{}{}", name, id), type);
}

int KernelBuilder::scratch(DType dtype, const std::vector<int64_t>& shape) {
  results_.push_back(sheet_.make_scratch(dtype, shape));
  return static_cast<int>(std::ssize(results_)) - 1;
}

Expr KernelBuilder::address(const Bound& b, const Exprs& index) const {
  Expr at(b.layout.offset);
  for (size_t d = 0; d < index.size(); ++d)
    if (b.layout.shape[d] != 1) at = at + index[d] * Expr(b.layout.strides[d]);
  return at;
}

Expr KernelBuilder::load(int flat, const Exprs& index) {
  const Bound& b = operands_[flat];
  return loop::load(b.buffer, b.dtype, address(b, index));
}

Expr KernelBuilder::load_broadcast(int flat, const Exprs& index) {
  const Bound& b = operands_[flat];
  const size_t rank = b.layout.shape.size();
  Exprs own(index.end() - static_cast<std::ptrdiff_t>(rank), index.end());
  return load(flat, own);
}

void KernelBuilder::store(int k, const Exprs& index, Expr value) {
  if (!wanted(k)) return;
  const Bound& b = results_[k];
  emit({Store{b.buffer, address(b, index), cast(std::move(value), compute_type(b.dtype))}});
}

Expr KernelBuilder::load_result(int k, const Exprs& index) {
  const Bound& b = results_[k];
  sheet_.kernel.buffers[static_cast<size_t>(b.buffer)].access = Access::update;
  return loop::load(b.buffer, b.dtype, address(b, index));
}

void KernelBuilder::parallel(const std::vector<int64_t>& extents,
                             const std::function<void(const Exprs&)>& body) {
  // The outer loops are flattened into one parallel loop; its index is taken apart again.
  int64_t total = numel_of(extents);
  For loop{{fresh_var("p", DType::i64), Expr(total)}, ForKind::parallel, {}};
  sheet_.open.push_back(&loop.body);
  Exprs index(extents.size());
  Expr rest = loop.loop.var;
  for (size_t d = extents.size(); d-- > 0;) {
    if (d == 0) {
      index[d] = rest;
    } else {
      index[d] = let(binary(Op::truncmod, rest, Expr(extents[d])), "i");
      rest = let(binary(Op::truncdiv, rest, Expr(extents[d])), "q");
    }
  }
  body(index);
  sheet_.open.pop_back();
  emit({std::move(loop)});
}

void KernelBuilder::loop(Expr extent, const std::function<void(Expr)>& body) {
  for_(std::move(extent), ForKind::serial, body);
}

void KernelBuilder::each(Expr extent, const std::function<void(Expr)>& body) {
  for_(std::move(extent), ForKind::independent, body);
}

void KernelBuilder::lanes(Expr extent, const std::function<void(Expr)>& body) {
  for_(std::move(extent), ForKind::lanes, body);
}

void KernelBuilder::for_(Expr extent, ForKind kind, const std::function<void(Expr)>& body) {
  For f{{fresh_var("i", DType::i64), std::move(extent)}, kind, {}};
  sheet_.open.push_back(&f.body);
  body(f.loop.var);
  sheet_.open.pop_back();
  emit({std::move(f)});
}

void KernelBuilder::loops(const std::vector<int64_t>& extents,
                          const std::function<void(const Exprs&)>& body) {
  Exprs index;
  std::function<void(size_t)> open = [&](size_t d) {
    if (d == extents.size()) return body(index);
    loop(Expr(extents[d]), [&](Expr i) {
      index.push_back(i);
      open(d + 1);
      index.pop_back();
    });
  };
  open(0);
}

Expr KernelBuilder::reduce(ReduceOp op, const std::vector<int64_t>& extents,
                           const std::function<Expr(const Exprs&)>& value) {
  if (extents.empty())
    return reduce_loops(op, Expr(1), {}, [&](const Exprs&) { return value({}); });
  return reduce_loops(op, Expr(extents[0]), {extents.begin() + 1, extents.end()}, value);
}

Expr KernelBuilder::reduce_loops(ReduceOp op, Expr outer, const std::vector<int64_t>& inner,
                                 const std::function<Expr(const Exprs&)>& value) {
  Exprs extents = {std::move(outer)};
  for (int64_t e : inner) extents.emplace_back(e);
  return folds(extents,
               [&](const Exprs& index) { return std::vector<Folded>{{op, value(index)}}; })[0];
}

Exprs KernelBuilder::folds(const Exprs& extents,
                           const std::function<std::vector<Folded>(const Exprs& index)>& body) {
  Reduce r;
  Exprs index;
  for (const Expr& e : extents) {
    r.loops.push_back({fresh_var("r", DType::i64), e});
    index.push_back(r.loops.back().var);
  }
  sheet_.open.push_back(&r.body);
  const std::vector<Folded> folded = body(index);
  sheet_.open.pop_back();
  Exprs out;
  for (const Folded& f : folded) {
    out.push_back(fresh_var("s", f.value.type()));
    r.folds.push_back({f.op, out.back(), f.value});
  }
  emit({std::move(r)});
  return out;
}

Expr KernelBuilder::let(Expr value, const std::string& name) {
  if (value->op == Op::constant || value->op == Op::var) return value;
  Expr var = fresh_var(name, value.type());
  emit({Let{var, std::move(value)}});
  return var;
}

Expr KernelBuilder::define(Expr value, const std::string& name) {
  Expr var = fresh_var(name, value.type());
  emit({Define{var, std::move(value)}});
  return var;
}

void KernelBuilder::assign(Expr var, Expr value) {
  emit({Assign{std::move(var), std::move(value)}});
}

void KernelBuilder::if_(Expr condition, const std::function<void()>& then) {
  If s{std::move(condition), {}};
  sheet_.open.push_back(&s.then);
  then();
  sheet_.open.pop_back();
  emit({std::move(s)});
}

Expr KernelBuilder::checked_index(Expr index, int64_t bound, const std::string& what) {
  Expr i = let(cast(std::move(index), DType::i64), "i");
  Expr inside =
      binary(Op::logical_and, binary(Op::ge, i, Expr(-bound)), binary(Op::lt, i, Expr(bound)));
  emit({Check{inside, i, Expr(bound), what}});
  const Expr wrapped = let(select(binary(Op::lt, i, Expr(0)), i + Expr(bound), i), "i");
  checked(wrapped, bound);
  return wrapped;
}

Expr KernelBuilder::checked_from_zero(Expr index, int64_t bound, const std::string& what) {
  Expr i = let(cast(std::move(index), DType::i64), "i");
  Expr inside = binary(Op::logical_and, binary(Op::ge, i, Expr(0)), binary(Op::lt, i, Expr(bound)));
  emit({Check{inside, i, Expr(bound), what, true}});
  if (i->op != Op::var) return i;
  // Of this block, though i may be of one around it: what is read there stays behind the check.
  Expr own = fresh_var("i", DType::i64);
  emit({Let{own, i}});
  checked(own, bound);
  return own;
}

void KernelBuilder::checked(const Expr&, int64_t) {}

void KernelBuilder::check(Expr condition, const std::string& what) {
  emit({Check{std::move(condition), Expr(0), Expr(-1), what}});
}

Expr KernelBuilder::stream() {
  if (sheet_.kernel.scalars.empty()) sheet_.kernel.scalars.push_back({"stream"});
  return make_var(-1, "stream", DType::i64);
}

}  // namespace cleave::loop
