// The loop nests of elementwise operators, reductions and copies.
#include <algorithm>

#include "lower/collapse.h"
#include "lower/lower_node.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// The layout of an operand as the result's dims see it: broadcast dims have stride 0.
std::vector<int64_t> broadcast_strides(const Layout& l, const std::vector<int64_t>& shape) {
  std::vector<int64_t> out(shape.size());
  const size_t lead = shape.size() - l.shape.size();
  for (size_t d = lead; d < shape.size(); ++d)
    out[d] = l.shape[d - lead] == 1 ? 0 : l.strides[d - lead];
  return out;
}

// Loops over `shape`: all but the last dim as one parallel loop, the last one inside.
void nest(KernelBuilder& b, const std::vector<int64_t>& shape,
          const std::function<void(const Exprs&)>& body) {
  if (shape.size() <= 1) return b.parallel(shape, body);
  std::vector<int64_t> outer(shape.begin(), shape.end() - 1);
  b.parallel(outer, [&](const Exprs& i) {
    b.each(Expr(shape.back()), [&](Expr j) {
      Exprs index = i;
      index.push_back(j);
      body(index);
    });
  });
}

// Merges dims of all operands and results of a call whose rule only broadcasts.
std::vector<int64_t> collapse_call(std::vector<Bound>& operands, std::vector<Bound>& results,
                                   const std::vector<int64_t>& shape) {
  StridedDims dims{shape, {}};
  std::vector<Bound*> bounds;
  for (auto* list : {&operands, &results})
    for (Bound& b : *list)
      if (b.buffer >= 0) {
        bounds.push_back(&b);
        dims.strides.push_back(broadcast_strides(b.layout, shape));
      }
  collapse(dims);
  for (size_t k = 0; k < bounds.size(); ++k) {
    // A stride of 0 stands for a broadcast dim of size 1, but the loop still runs over the shape.
    bounds[k]->layout.shape = dims.shape;
    bounds[k]->layout.strides = dims.strides[k];
  }
  return dims.shape;
}

// The storages of operands that are read where the results are written. `operands` and `results`
// have been collapsed to one shape.
std::vector<size_t> same_addresses(const KernelCall& call, const std::vector<Bound>& operands,
                                   const std::vector<Bound>& results) {
  auto at_result = [&](const Bound& b) {
    return std::all_of(results.begin(), results.end(), [&](const Bound& r) {
      return r.buffer < 0 || (r.layout == b.layout && size_of(r.dtype) == size_of(b.dtype));
    });
  };
  std::vector<size_t> out;
  for (size_t k = 0; k < call.storages.size(); ++k) {
    bool read = false, same = true;
    for (const Bound& b : operands)
      if (b.buffer == static_cast<int64_t>(k)) read = true, same = same && at_result(b);
    if (read && same) out.push_back(call.storages[k]);
  }
  return out;
}

}  // namespace

void Lowering::elementwise(NodeId n, const OpView& op, const ElementwiseRule& rule) {
  Call c = begin_call(n, op);
  std::vector<int64_t> shape = static_shape(op.out_type(0));
  if (rule.broadcast_only) {
    shape = collapse_call(c.operands, c.results, shape);
    c.call.same_address = same_addresses(c.call, c.operands, c.results);
  }
  KernelBuilder b(c.kernel, c.operands, c.results);
  nest(b, shape, [&](const Exprs& i) {
    Exprs values = rule.value(b, op, i);
    if (values.size() > 1)  // all are computed before the first store: it may lie over an operand
      for (size_t k = 0; k < values.size(); ++k)
        if (b.wanted(static_cast<int>(k))) values[k] = b.let(values[k], "v");
    for (size_t k = 0; k < values.size(); ++k)
      if (b.wanted(static_cast<int>(k))) b.store(static_cast<int>(k), i, values[k]);
  });
  finish_call(std::move(c), graph_.name(graph_.node(n).out(0)), &op);
}

void Lowering::copy(const Location& from, const Location& to, DType dtype,
                    const std::string& name) {
  Call c;
  c.kernel.name = name;
  c.kernel.work = 2 * to.layout.numel();
  c.operands = {bind(c.kernel, c.call, from, dtype, false)};
  c.results = {bind(c.kernel, c.call, to, dtype, true)};
  std::vector<int64_t> shape = collapse_call(c.operands, c.results, to.layout.shape);
  c.call.same_address = same_addresses(c.call, c.operands, c.results);
  c.call.whole_copy = !c.call.same_address.empty() && from.layout.is_contiguous() &&
                      out_.storages[from.storage].elements == from.layout.numel();
  KernelBuilder b(c.kernel, c.operands, c.results);
  nest(b, shape, [&](const Exprs& i) { b.store(0, i, b.load(0, i)); });
  finish_call(std::move(c), name, nullptr);
}

namespace {

// A reduction after collapsing: loops over kept and folded dims, with the strides of the operand.
struct FoldNest {
  std::vector<int64_t> kept, kept_in, kept_out;  // extents, strides of operand and result
  std::vector<int64_t> folded, folded_in;
  int64_t kept_count() const { return numel_of(kept); }
  int64_t folded_count() const { return numel_of(folded); }
};

FoldNest fold_nest(const Layout& in, const std::vector<int64_t>& dims) {
  const size_t rank = in.shape.size();
  std::vector<int> group(rank, 0);
  for (int64_t d : dims) group[static_cast<size_t>(d)] = 1;
  std::vector<int64_t> result_strides(rank);
  int64_t step = 1;
  for (size_t d = rank; d-- > 0;)
    if (!group[d]) {
      result_strides[d] = step;
      step *= in.shape[d];
    }
  StridedDims all{in.shape, {in.strides, result_strides}};
  collapse(all, &group);
  FoldNest out;
  for (size_t d = 0; d < all.shape.size(); ++d) {
    if (group[d]) {
      out.folded.push_back(all.shape[d]);
      out.folded_in.push_back(all.strides[0][d]);
    } else {
      out.kept.push_back(all.shape[d]);
      out.kept_in.push_back(all.strides[0][d]);
      out.kept_out.push_back(all.strides[1][d]);
    }
  }
  if (out.folded.empty()) out.folded = {1}, out.folded_in = {0};
  return out;
}

Expr dot(const Exprs& index, const std::vector<int64_t>& strides) {
  Expr at(0);
  for (size_t d = 0; d < index.size(); ++d) at = at + index[d] * Expr(strides[d]);
  return at;
}

// One dim of the operand and result each: linear addresses.
Bound linear(Bound b) {
  b.layout.shape = {int64_t{1} << 60};
  b.layout.strides = {1};
  return b;
}

constexpr int64_t few_results = 32;          // below this a long fold is cut into chunks,
constexpr int64_t long_fold = 1 << 15;       // when it is at least this long,
constexpr int64_t chunk_elements = 1 << 13;  // into chunks of about this length,
constexpr int64_t most_chunks = 64;

}  // namespace

// Three forms, chosen by shape and layout alone:
//   rows      parallel over results, each folds its elements (lanes along the innermost folded dim)
//   columns   the innermost kept dim is dense and the folded one is not: lanes of results
//   chunks    few results of long folds: partial results, then a fold of those
void Lowering::reduction(NodeId n, const OpView& op, const ReductionRule& rule) {
  Call c = begin_call(n, op);
  if (!is_wanted(graph_.node(n).out(0))) return;
  FoldNest f = fold_nest(c.operands[0].layout, rule.dims(op));
  const int64_t count = f.folded_count(), results = f.kept_count();
  const Bound in = linear(c.operands[0]), result = linear(c.results[0]);
  const std::string name = graph_.name(graph_.node(n).out(0));
  auto value = [&](KernelBuilder& b, Expr at) { return rule.map(op, b.load(0, {at})); };
  auto finish = [&](Expr s) { return rule.finish ? rule.finish(op, s, count) : s; };

  const bool columns = !f.kept.empty() && f.kept_in.back() == 1 && f.folded_in.back() != 1 &&
                       f.kept.back() >= reduce_lanes && f.kept_out.back() == 1;
  const bool chunks =
      !columns && results < few_results && count >= long_fold && f.folded[0] >= most_chunks;
  if (columns) {
    KernelBuilder b(c.kernel, {in}, {result});
    std::vector<int64_t> outer(f.kept.begin(), f.kept.end() - 1);
    const int64_t last = f.kept.back();
    outer.push_back((last + column_lanes - 1) / column_lanes);
    b.parallel(outer, [&](const Exprs& i) {
      Expr first = b.let(i.back() * Expr(column_lanes), "first");
      b.lanes(binary(Op::min, Expr(last) - first, Expr(column_lanes)), [&](Expr lane) {
        Exprs kept(i.begin(), i.end() - 1);
        kept.push_back(first + lane);
        Expr s = b.reduce(rule.op, f.folded, [&](const Exprs& r) {
          return value(b, dot(kept, f.kept_in) + dot(r, f.folded_in));
        });
        b.store(0, {dot(kept, f.kept_out)}, finish(s));
      });
    });
    return finish_call(std::move(c), name, &op);
  }
  if (!chunks) {
    KernelBuilder b(c.kernel, {in}, {result});
    b.parallel(f.kept, [&](const Exprs& i) {
      Expr base = b.let(dot(i, f.kept_in), "base");
      Expr s = b.reduce(rule.op, f.folded,
                        [&](const Exprs& r) { return value(b, base + dot(r, f.folded_in)); });
      b.store(0, {dot(i, f.kept_out)}, finish(s));
    });
    return finish_call(std::move(c), name, &op);
  }
  // The outermost folded dim is cut; each chunk leaves one partial result.
  const int64_t parts = std::min(most_chunks, count / chunk_elements);
  const int64_t step = (f.folded[0] + parts - 1) / parts;
  Expr probe = rule.map(op, constant(compute_type(in.dtype), 0));
  const DType accumulator = probe.type();
  Location partial{new_storage(name + ".partial", accumulator, results * parts), {}};
  partial.layout = Layout::contiguous({results * parts});
  Bound part = linear(bind(c.kernel, c.call, partial, accumulator, true));
  c.kernel.buffers[static_cast<size_t>(part.buffer)].access = Access::update;
  KernelBuilder b(c.kernel, {in, part}, {part, result});
  std::vector<int64_t> outer = f.kept;
  outer.push_back(parts);
  b.parallel(outer, [&](const Exprs& i) {
    Exprs kept(i.begin(), i.end() - 1);
    Expr first = b.let(i.back() * Expr(step), "first");
    Expr rows = binary(Op::max, binary(Op::min, Expr(f.folded[0]) - first, Expr(step)), Expr(0));
    Expr s =
        b.reduce_loops(rule.op, rows, {f.folded.begin() + 1, f.folded.end()}, [&](const Exprs& r) {
          Exprs at = r;
          at[0] = r[0] + first;
          return value(b, dot(kept, f.kept_in) + dot(at, f.folded_in));
        });
    Expr row(0);  // row-major number of the result
    for (size_t d = 0; d < kept.size(); ++d) row = row * Expr(f.kept[d]) + kept[d];
    b.store(0, {row * Expr(parts) + i.back()}, s);
  });
  b.parallel(f.kept, [&](const Exprs& i) {
    Expr row(0);
    for (size_t d = 0; d < i.size(); ++d) row = row * Expr(f.kept[d]) + i[d];
    Expr s = b.reduce(rule.op, {parts},
                      [&](const Exprs& r) { return b.load(1, {row * Expr(parts) + r[0]}); });
    b.store(1, {dot(i, f.kept_out)}, finish(s));
  });
  finish_call(std::move(c), name, &op);
}

}  // namespace cleave
