#include "lower/lower_copy.h"

#include <algorithm>
#include <numeric>

#include "lower/collapse.h"
#include "lower/kernel_thunk.h"
#include "schedule/group_key.h"
#include "schedule/tile_sides.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// The operand's strides for the result's dims; 0 for broadcast dims.
std::vector<int64_t> broadcast_strides(const Layout& l, const std::vector<int64_t>& shape) {
  std::vector<int64_t> out(shape.size());
  const size_t lead = shape.size() - l.shape.size();
  for (size_t d = lead; d < shape.size(); ++d)
    out[d] = l.shape[d - lead] == 1 ? 0 : l.strides[d - lead];
  return out;
}

// Loops over `shape`: all but the last dim as one parallel loop, the last one inside.
void nest_rows(KernelBuilder& b, const std::vector<int64_t>& shape,
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

// Loops over tiles of the last dim and of one that crosses it: each line of memory is used while it
// is in the first-level cache.
void nest_tiles(KernelBuilder& b, const std::vector<int64_t>& shape, size_t crossed,
                const LoopChoices& loops, const std::function<void(const Exprs&)>& body) {
  const size_t last = shape.size() - 1;
  const TileSides rows(shape[crossed], loops.tile_side), columns(shape[last], loops.tile_side);
  std::vector<int64_t> outer = shape;
  outer[crossed] = rows.count, outer[last] = columns.count;
  b.parallel(outer, [&](const Exprs& p) {
    Exprs at = p;
    const Expr row = b.let(p[crossed] * Expr(rows.size), "first"),
               column = b.let(p[last] * Expr(columns.size), "first");
    const auto line = [&](const Expr& i) {
      at[crossed] = row + i;
      b.each(columns.from(column), [&](const Expr& j) {
        at[last] = column + j;
        body(at);
      });
    };
    if (loops.many_threads)
      b.each(rows.from(row), line);
    else
      b.loop(rows.from(row), line);
  });
}

void nest(KernelBuilder& b, const std::vector<int64_t>& shape, const Layout& from,
          const LoopChoices& loops, const std::function<void(const Exprs&)>& body) {
  constexpr int64_t least_side = 8;  // of a dim that is worth a tile
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    if (from.strides[d] == 1 && from.strides.back() > 1 && shape[d] >= least_side &&
        shape.back() >= least_side)
      return nest_tiles(b, shape, d, loops, body);
  nest_rows(b, shape, body);
}

// The dims of a copy in the order in which its elements lie in the result, those merged that follow
// each other in both. Gives their sizes.
std::vector<int64_t> collapse_copy(Bound& operand, Bound& result) {
  const Layout to = result.layout;
  const std::vector<int64_t> from = broadcast_strides(operand.layout, to.shape);
  std::vector<size_t> order(to.shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t d) { return to.strides[d]; });
  StridedDims dims{{}, {{}, {}}};
  for (const size_t d : order) {
    dims.shape.push_back(to.shape[d]);
    dims.strides[0].push_back(from[d]), dims.strides[1].push_back(to.strides[d]);
  }
  collapse(dims);
  // A dim of size 1 that is broadcast has stride 0 here, and the shape that the loop runs over.
  operand.layout.shape = result.layout.shape = dims.shape;
  operand.layout.strides = dims.strides[0], result.layout.strides = dims.strides[1];
  return dims.shape;
}

// What the kernel of copies depends on; their loops run over what the operands' layouts say.
std::string key_of(const std::vector<Bound>& operands, const std::vector<Bound>& results,
                   const Kernel& kernel) {
  std::vector<std::pair<ValueId, Bound>> from;
  std::vector<GroupResult> to;
  for (const Bound& b : operands) from.emplace_back(ValueId(), b);
  for (const Bound& b : results) to.push_back({ValueId(), b});
  return "copies " + memory_key(from, to, kernel);
}

// Independent copies as one kernel.
void copy_together(Lowering& l, const std::vector<Copy>& copies, DType dtype,
                   const std::string& name) {
  KernelThunk thunk;
  thunk.kernel.name = name;
  std::vector<Bound> operands, results;
  std::vector<std::vector<int64_t>> shapes;
  for (const auto& [from, to, stored] : copies) {
    thunk.kernel.work += 2 * to.layout.numel();
    operands.push_back(thunk.bind(l.program, from, stored.value_or(dtype), Access::read));
    results.push_back(thunk.bind(l.program, to, dtype, Access::write));
    shapes.push_back(collapse_copy(operands.back(), results.back()));
  }
  const auto& [from, to, stored] = copies.front();
  // Only a copy that fills the storage may be done in place.
  const bool is_whole = copies.size() == 1 && from.storage != to.storage &&
                        l.program.storages[to.storage].elements == to.layout.numel();
  if (is_whole && operands[0].layout == results[0].layout)
    thunk.call.in_place = {{from.storage, to.storage}};
  thunk.call.whole_copy = !thunk.call.in_place.empty() && from.layout.is_contiguous() &&
                          l.program.storages[from.storage].elements == from.layout.numel();
  std::string key = key_of(operands, results, thunk.kernel);
  if (const LoweredGroup* same = l.kernels.find_group(key)) {
    thunk.call.kernel = same->kernel;
    return l.add_thunk(name, std::move(thunk.call));
  }
  KernelBuilder b(thunk.kernel, operands, results);
  for (size_t k = 0; k < copies.size(); ++k) {
    const int at = static_cast<int>(k);
    nest(b, shapes[k], operands[k].layout, l.kernels.choices().loops,
         [&](const Exprs& i) { b.store(at, i, b.load(at, i)); });
  }
  add_thunk(l, std::move(thunk), name);
  const auto& made = std::get<KernelCall>(l.program.thunks.back().work);
  l.kernels.add_group(std::move(key), {.kernel = made.kernel});
}

}  // namespace

void copy_all(Lowering& l, const std::vector<Copy>& copies, DType dtype, const std::string& name) {
  if (copies.empty()) return;
  if (copies.size() <= max_copies_of_a_kernel) return copy_together(l, copies, dtype, name);
  for (const Copy& c : copies) copy_together(l, {c}, dtype, name);
}

void copy(Lowering& l, const MemRef& from, const MemRef& to, DType dtype, const std::string& name) {
  copy_all(l, {{from, to}}, dtype, name);
}

MemRef dense_copy(Lowering& l, const MemRef& from, DType dtype, const std::string& name) {
  Layout layout = Layout::contiguous(from.layout.shape);
  MemRef to{add_storage(l.program, name, dtype, layout.numel()), layout};
  copy(l, from, to, dtype, name);
  return to;
}

}  // namespace cleave
