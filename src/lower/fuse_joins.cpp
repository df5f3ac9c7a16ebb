// Which joins stay apart: those whose operands kernels write in their places (place.h) that write
// them anyway.
//
//   %p = mm(%a, %a)            %p in its place, %s too: one pass over each instead of %p being
//   %s = sin(%b)               written, read and written again
//   %z = cat([%p, %s])
//
// A join that isn't in memory when it is fused, for it is computed where it is read, is fused.
#include "lower/fuse_cost.h"
#include "lower/fuser.h"
#include "lower/place.h"

namespace cleave {

using namespace fuse_cost;

void Fuser::describe() {
  // A join of joins may make its operands ones that stay apart.
  constexpr int max_rounds = 4;
  describe_calls();
  for (int round = 0; round < max_rounds && find_joins(); ++round) describe_calls();
}

bool Fuser::find_joins() {
  bool found = false;
  for (const NodeId n : order_)
    if (call(n).kind == Kind::elementwise && is_join(g_.view(n)) && is_worth_placing(n))
      found |= joins_.insert(n).second;
  return found;
}

// Operands that aren't made apart and aren't there yet take a kernel each, which one would do for
// when fused.
bool Fuser::is_worth_placing(NodeId join) {
  const Node& node = g_.node(join);
  int64_t saved = 0, more_kernels = -1;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const NodeId d = g_.value(node.inputs[k]).def;
    const int64_t bytes = bytes_of(g_, node.inputs[k]);
    if (bytes == 0) continue;
    if (is_made_apart(join, k))
      saved += 2 * bytes;
    else
      more_kernels += d.valid() && call(d).kind != Kind::other;
  }
  return saved > std::max<int64_t>(more_kernels, 0) * costs_.launch_bytes;
}

bool Fuser::is_made_apart(NodeId join, size_t operand) {
  const Node& node = g_.node(join);
  const OpView op = g_.view(join);
  const auto& rule = std::get<loop::KernelRule>((*node.op->lower)->form);
  const loop::Layout whole = loop::Layout::contiguous(static_shape(op.out_type(0)));
  ValueId v = node.inputs[operand];
  const std::optional<Wanted> made = made_before_views(g_, v, rule.parts(op, whole)[operand]);
  if (!made || g_.use_count(v) != 1 || !can_write(g_, *made)) return false;
  for (; v != made->value; v = g_.node(g_.value(v).def).inputs[0])
    if (returned_.contains(v.v)) return false;
  if (returned_.contains(v.v)) return false;
  const NodeId d = g_.value(v).def;
  const Call& c = call(d);
  if (c.kind == Kind::cheap) return false;
  if (c.kind != Kind::waiting) return true;
  if (is_join(g_.view(d))) {
    for (size_t k = 0; k < g_.node(d).inputs.size(); ++k)
      if (bytes_of(g_, g_.node(d).inputs[k]) > 0 && is_made_apart(d, k)) return true;
    return false;
  }
  // It goes with the kernel that makes what it reads, element by element.
  for (const ValueId leaf : c.materialized_reads) {
    const NodeId from = g_.value(leaf).def;
    if (from.valid() && is_fusible(from) && call(from).elements == c.elements &&
        !contains(c.reordered_reads, leaf))
      return true;
  }
  return false;
}

}  // namespace cleave
