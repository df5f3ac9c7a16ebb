// plain: no folds. Parallel over all dims except the last ones that every operand and result
// traverses as one.
#include <algorithm>

#include "schedule/group_results.h"
#include "schedule/group_writers.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// Whether all of these indices traverse dim d and the next outer dim of more than one element as
// one.
bool joins(IndexMath& math, const std::vector<LinearIndex>& forms, const Exprs& vars,
           const std::vector<int64_t>& shape, size_t d) {
  if (shape[d] == 1) return true;
  size_t before = d;
  while (before-- > 0)
    if (shape[before] != 1) break;
  if (before == ~size_t{0}) return true;
  const int32_t outer = math.atom_of(vars[before]), inner = math.atom_of(vars[d]);
  return std::all_of(forms.begin(), forms.end(), [&](const LinearIndex& x) {
    return x.factor_of(outer) == x.factor_of(inner) * shape[d] &&
           !math.is_nested(x, vars[before]->i) && !math.is_nested(x, vars[d]->i);
  });
}

// Whether it is more than index arithmetic.
bool computes(const Expr& e) {
  return e->op == Op::load || e->op == Op::cast || e->op == Op::philox ||
         std::any_of(e->args.begin(), e->args.end(), [](const Expr& a) { return computes(a); });
}

// Collects the outermost index expressions.
void collect(const Expr& e, Exprs& out) {
  if (e.type() == DType::i64 && !computes(e)) {
    out.push_back(e);
    return;
  }
  for (const Expr& a : e->args) collect(a, out);
}

void collect(const Stmt& s, Exprs& out) {
  if (const auto* l = std::get_if<Let>(&s.node)) collect(l->value, out);
  if (const auto* c = std::get_if<Check>(&s.node)) {
    collect(c->condition, out);
    collect(c->value, out);
  }
  if (const auto* st = std::get_if<Store>(&s.node)) {
    collect(st->index, out);
    collect(st->value, out);
  }
  if (const auto* r = std::get_if<Reduce>(&s.node)) {
    for (const Stmt& b : r->body) collect(b, out);
    for (const Fold& f : r->folds) collect(f.value, out);
  }
  if (const auto* f = std::get_if<For>(&s.node))
    for (const Stmt& b : f->body) collect(b, out);
  if (const auto* i = std::get_if<If>(&s.node))
    for (const Stmt& b : i->then) collect(b, out);
}

// The number of last dims that every operand and result traverses as one.
size_t inner_dims(const GroupCalls& calls, const std::vector<int64_t>& shape) {
  // Computes the values once into a scratch kernel, with a variable for each dim.
  Kernel nothing;
  KernelSheet sheet(nothing);
  AccessLog accesses;
  GroupValues probe(calls.graph, calls.nodes, sheet, accesses);
  for (const auto& [v, at] : calls.operands) probe.sources().bind(v, at);
  Exprs vars;
  std::vector<int64_t> steps(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0; step *= shape[d]) steps[d] = step;
  for (size_t d = 0; d < shape.size(); ++d) {
    vars.push_back(shape[d] == 1 ? Expr(0) : make_var(sheet.next_var++, "d", DType::i64));
    if (shape[d] != 1) probe.math().declare(vars.back(), shape[d]);
  }
  Exprs used;
  for (const Expr& v : vars)
    if (v->op == Op::var) used.push_back(v);
  probe.scopes().open(used);
  const Expr number = probe.math().dot(vars, steps);
  Exprs uses;
  for (const GroupResult& r : calls.results) {
    const Exprs index = probe.math().delinearise(number, static_shape(calls.graph.type(r.value)));
    uses.push_back(address_of(probe.math(), r.at.layout, index));
    collect(probe.value(r.value, index), uses);
  }
  for (const Stmt& s : nothing.body) collect(s, uses);
  probe.scopes().close();
  std::vector<LinearIndex> forms;
  for (const Expr& e : uses) forms.push_back(probe.math().linear(e));
  size_t inner = shape.size();
  for (size_t d = shape.size(); d-- > 1;) {
    if (joins(probe.math(), forms, vars, shape, d)) continue;
    inner = shape.size() - d;
    break;
  }
  // A short innermost loop would be slow, so its index is computed by division instead.
  return inner;
}

}  // namespace

void write_plain(GroupContext& c) {
  const std::vector<int64_t> shape = static_shape(c.calls.graph.type(c.calls.results[0].value));
  if (numel_of(shape) == 0) return;
  const size_t inner = inner_dims(c.calls, shape);
  const auto split = shape.end() - static_cast<std::ptrdiff_t>(inner);
  const std::vector<int64_t> outer(shape.begin(), split), last(split, shape.end());
  const int64_t rows = numel_of(outer), columns = numel_of(last);
  const auto body = [&](const Exprs& vars, const Expr& number) {
    const OpenScope scope(c, vars);
    store_all(c, results_of(c, c.numbered(number), std::nullopt));
  };
  if (rows == 1)
    return c.builder.parallel(
        {columns}, [&](const Exprs& j) { body(j, c.math().simplify(c.declared(j[0], columns))); });
  c.builder.parallel({rows}, [&](const Exprs& p) {
    const OpenScope scope(c, p);
    c.declared(p[0], rows);
    c.builder.each(Expr(columns), [&](const Expr& j) {
      c.declared(j, columns);
      body({j}, c.math().dot({p[0], j}, {columns, 1}));
    });
  });
}

}  // namespace cleave
