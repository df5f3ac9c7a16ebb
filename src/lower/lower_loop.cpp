#include "lower/lower_loop.h"

#include <algorithm>

#include "lower/lower_copy.h"
#include "lower/lower_subgraph.h"
#include "lower/thunk_uses.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// Whether `from` can be made in `to`: the first thunk that touches `from` can write over `to`, and
// no later one touches `to`.
bool can_be_made_in_place(const LoweredProgram& program, size_t first_thunk, size_t from,
                          size_t to) {
  const auto touches = [&](size_t thunk, size_t storage) {
    const std::vector<size_t> touched = storages_of(program.thunks[thunk]);
    return std::find(touched.begin(), touched.end(), storage) != touched.end();
  };
  size_t writer = first_thunk;
  while (writer < program.thunks.size() && !touches(writer, from)) ++writer;
  if (writer == program.thunks.size() || !can_write_over(program.thunks[writer], from, to))
    return false;
  for (size_t i = writer + 1; i < program.thunks.size(); ++i)
    if (touches(i, to)) return false;
  return true;
}

// Assigns the body's results to the carried values, all at once: a result that lies in the memory
// of a carried value (a swap, a view) is copied to other memory first. A result is made in the
// carried value's memory where can_be_made_in_place allows. The body's first thunk is `first`, its
// first storage `own`.
void give_next(Lowering& l, NodeId n, const MemRefs& carried, MemRefs next, size_t first,
               size_t own) {
  const Graph& g = l.graph;
  const Node& node = g.node(n);
  const auto is_carried = [&](const MemRef& at) {
    return std::ranges::find(carried, at.storage, &MemRef::storage) != carried.end();
  };
  const auto stays = [&](size_t k) {
    return next[k].storage == carried[k].storage && next[k].layout == carried[k].layout;
  };
  for (uint32_t k = 0; k < carried.size(); ++k)
    if (const ValueId v = node.out(k); is_carried(next[k]) && !stays(k))
      next[k] = dense_copy(l, next[k], g.type(v).dtype, g.name(v));
  for (uint32_t k = 0; k < carried.size(); ++k) {
    if (stays(k)) continue;
    const ValueId v = node.out(k);
    const size_t to = carried[k].storage;
    const auto from = own_storage(l.program, next, k, own);
    if (from && can_be_made_in_place(l.program, first, *from, to))
      replace_storage(l.program, first, *from, to);
    else
      copy(l, next[k], carried[k], g.type(v).dtype, g.name(v));
  }
}

}  // namespace

Status lower_loop(Lowering& l, NodeId n) {
  const Graph& g = l.graph;
  const Node& node = g.node(n);
  const OpView op = g.view(n);
  const std::string& name = g.name(node.out(0));
  MemRefs operands = list_memory(l, op);
  MemRefs carried;
  for (uint32_t k = 0; k < node.output_count; ++k)
    carried.push_back(l.values.make_dense(node.out(k)));
  for (uint32_t k = 0; k < node.output_count; ++k) {
    const ValueId v = node.out(k);
    copy(l, operands[k], carried[k], g.type(v).dtype, g.name(v));
    operands[k] = carried[k];
  }
  LoweredProgram& p = l.program;
  const size_t begin = p.thunks.size();
  CLEAVE_TRY(const MemRefs flag, inline_subgraph(l, *op.graph_attr("condition"), operands));
  const size_t to_end = add_jump(l, name, flag[0]);
  const size_t first = p.thunks.size(), own = p.storages.size();
  CLEAVE_TRY(MemRefs next, inline_subgraph(l, *op.graph_attr("body"), operands));
  give_next(l, n, carried, std::move(next), first, own);
  const size_t back = add_jump(l, name, {});
  std::get<JumpCall>(p.thunks[back].work).target = begin;
  set_target(p, to_end);
  return {};
}

}  // namespace cleave
