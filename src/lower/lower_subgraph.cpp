#include "lower/lower_subgraph.h"

#include <algorithm>

#include "lower/lower_node.h"
#include "lower/thunk_uses.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// Each of n nested graphs may call the next one twice: a small text can ask for 2^64 thunks.
constexpr size_t max_thunks = 1 << 18;

}  // namespace

MemRefs list_memory(const Lowering& l, const OpView& op) {
  MemRefs out;
  for (int k = 0; k < op.list_size(); ++k) out.push_back(l.values.at(op.list_in(k)));
  return out;
}

Result<MemRefs> inline_subgraph(Lowering& l, const Graph& g, const MemRefs& operands,
                                const MemRefs& wanted) {
  if (l.program.thunks.size() > max_thunks)
    return unsupported(
        "more than {} steps once subgraphs stand in their places "
        "(src/lower/lower_subgraph.cpp)",
        max_thunks);
  Lowering inner(g, l.program, l.kernels);
  size_t next = 0;
  for (const Placeholder& p : g.placeholders()) {
    if (p.role != Role::symint) {
      inner.values.put(p.value, operands[next++]);
      continue;
    }
    const ValueId outer = l.graph.find(g.name(p.value));
    if (!l.values.is_made(outer))
      return bug("@{}: its caller has no symint {}", g.name(), g.name(p.value));
    inner.values.put(p.value, l.values.at(outer));
  }
  for (size_t k = 0; k < wanted.size(); ++k)
    if (const Wanted w{g.returns()[k].value, wanted[k].layout};
        g.value(w.value).def.valid() && can_write(g, w))
      inner.values.give(w.value, wanted[k]);
  CLEAVE_CHECK(lower_nodes(inner));
  MemRefs results;
  for (const Return& r : g.returns()) results.push_back(inner.values.at(r.value));
  return results;
}

std::optional<size_t> own_storage(const LoweredProgram& program, const MemRefs& values, size_t k,
                                  size_t own) {
  const MemRef& l = values[k];
  if (l.storage < own || !l.layout.is_contiguous() ||
      program.storages[l.storage].elements != l.layout.numel())
    return std::nullopt;
  if (std::ranges::count(values, l.storage, &MemRef::storage) != 1) return std::nullopt;
  return l.storage;
}

void replace_storage(LoweredProgram& program, size_t first_thunk, size_t from, size_t to) {
  for (size_t i = first_thunk; i < program.thunks.size(); ++i)
    rename_storages(program.thunks[i], [&](size_t s) { return s == from ? to : s; });
}

size_t add_jump(Lowering& l, const std::string& name, std::optional<MemRef> unless) {
  JumpCall call;
  if (unless) call.unless = {unless->storage, unless->layout.offset};
  l.add_thunk(name, call);
  return l.program.thunks.size() - 1;
}

void set_target(LoweredProgram& program, size_t jump) {
  std::get<JumpCall>(program.thunks[jump].work).target = program.thunks.size();
}

}  // namespace cleave
