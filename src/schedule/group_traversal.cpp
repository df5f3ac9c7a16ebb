#include "schedule/group_traversal.h"

#include <algorithm>

namespace cleave {

using namespace cleave::loop;

namespace {

// Elements that are further apart are in different cache lines.
constexpr int64_t line_elements = 16;
// So many lines stay in a first-level cache, unless they are a multiple of this many elements apart
// and share its sets. Moving [4,96,56,56] to [4,56,56,96] takes 0.41 ms without tiles and 0.76 with
// them; [512,512] transposed 0.27 and 0.04, [2048,1024] 49 and 13 (Zen 5, one thread, 2026-11-26).
constexpr int64_t cached_lines = 512, set_elements = 1024;
// With more flops an element it pays to compute them in vectors: a sine of the former takes 11.3 ms
// without tiles and 1.4 with them.
constexpr int64_t dear_flops = 8;

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
           !math.is_nested(x, vars[before]->id()) && !math.is_nested(x, vars[d]->id());
  });
}

// Whether it is more than index arithmetic.
bool computes(const Expr& e) {
  return e->op == Op::load || e->op == Op::cast || e->op == Op::round_to || e->op == Op::philox ||
         std::ranges::any_of(e->args, computes);
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

size_t joined_dims(IndexMath& math, const std::vector<LinearIndex>& forms, const Exprs& vars,
                   const std::vector<int64_t>& shape) {
  for (size_t d = shape.size(); d-- > 1;)
    if (!joins(math, forms, vars, shape, d)) return shape.size() - d;
  return shape.size();
}

bool is_dear(const GroupCalls& calls, int64_t elements) {
  int64_t flops = 0;
  for (const NodeId n : calls.nodes) {
    const OpView op = calls.graph.view(n);
    if (elementwise_rule(**op.def().lower, op)) flops += (*op.def().cost)(op).flops;
  }
  return flops >= dear_flops * elements;
}

std::optional<size_t> crossed_dim(IndexMath& math, const std::vector<LinearIndex>& forms,
                                  const Exprs& vars, const std::vector<int64_t>& shape,
                                  bool is_dear) {
  const size_t last = shape.size() - 1;
  if (shape[last] < line_elements) return std::nullopt;
  const auto factor = [&](const LinearIndex& x, size_t d) {
    return x.factor_of(math.atom_of(vars[d]));
  };
  const auto stands_apart = [&](size_t d) {
    return std::ranges::none_of(
        forms, [&](const LinearIndex& x) { return math.is_nested(x, vars[d]->id()); });
  };
  if (!stands_apart(last)) return std::nullopt;
  for (size_t d = last; d-- > 0;)
    if (shape[d] >= line_elements && stands_apart(d) &&
        std::ranges::any_of(forms, [&](const LinearIndex& x) {
          const int64_t apart = factor(x, last);
          return factor(x, d) == 1 && apart > line_elements &&
                 (is_dear || shape[last] > cached_lines || apart % set_elements == 0);
        }))
      return d;
  return std::nullopt;
}

}  // namespace

Traversal Traversal::of(const GroupCalls& calls, const GroupPlan& plan,
                        const std::vector<int64_t>& shape) {
  // Computes the values once into a scratch kernel, with a variable for each dim.
  Kernel nothing;
  KernelSheet sheet(nothing);
  AccessLog accesses;
  GroupValues probe(calls.graph, calls.nodes, sheet, accesses);
  IndexMath& math = probe.math();
  for (const auto& [v, at] : calls.operands) probe.sources().bind(v, at);
  Exprs vars, used;
  for (const int64_t extent : shape) {
    vars.push_back(extent == 1 ? Expr(0) : make_var(sheet.next_var++, "d", DType::i64));
    if (extent == 1) continue;
    math.declare(vars.back(), extent);
    used.push_back(vars.back());
  }
  probe.scopes().open(used);
  const Expr number = math.dot(vars, row_major(shape));
  Exprs uses;
  for (const GroupResult& r : calls.results) {
    const Exprs index = math.delinearise(plan.number_in(math, r.value, number),
                                         static_shape(calls.graph.type(r.value)));
    uses.push_back(address_of(math, r.at.layout, index));
    collect(probe.value(r.value, index), uses);
  }
  for (const Stmt& s : nothing.body) collect(s, uses);
  probe.scopes().close();
  std::vector<LinearIndex> forms;
  for (const Expr& e : uses) forms.push_back(math.linear(e));
  if (shape.empty()) return {};
  return {joined_dims(math, forms, vars, shape),
          crossed_dim(math, forms, vars, shape, is_dear(calls, numel_of(shape)))};
}

}  // namespace cleave
