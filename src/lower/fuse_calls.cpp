#include "lower/fuser.h"

#include "loop/lower_rule.h"
#include "lower/fuse_cost.h"

namespace cleave {

using namespace fuse_cost;

int64_t bytes_of(const Graph& g, ValueId v) {
  return numel_of(static_shape(g.type(v))) * size_of(g.type(v).dtype);
}

Fuser::Kind Fuser::kind_of(NodeId n) {
  const Node& node = g_.node(n);
  if (!node.op->lower.present() || has(node.op->traits, Trait::effect)) return Kind::other;
  if (joins_.contains(n)) return Kind::other;
  const auto& form = (*node.op->lower)->form;
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (!g_.type(node.out(k)).is_none && g_.type(node.out(k)).dtype == DType::c64)
      return Kind::other;
  if (std::holds_alternative<loop::ViewRule>(form))
    return g_.type(node.inputs[0]).dtype == g_.type(node.out(0)).dtype ? Kind::view : Kind::other;
  if (std::holds_alternative<loop::ReductionRule>(form)) return Kind::fold;
  // Others have loops of their own, or read what they may not use.
  const loop::ElementwiseRule* rule = loop::elementwise_rule(**node.op->lower, g_.view(n));
  return rule && rule->in_range ? Kind::elementwise : Kind::other;
}

bool Fuser::is_fusible(NodeId n) {
  const Kind k = call(n).kind;
  return k != Kind::other;
}

bool Fuser::is_through(NodeId n) {
  const Kind k = call(n).kind;
  return k == Kind::view || k == Kind::cheap || k == Kind::waiting;
}

void Fuser::describe_calls() {
  int64_t kernels = 0;
  for (size_t i = 0; i < order_.size(); ++i) {
    const NodeId n = order_[i];
    Call& c = call(n) = {};
    c.kind = kind_of(n);
    c.position = static_cast<int64_t>(i);
    if (c.kind == Kind::other) ++kernels;
    c.kernels_before = kernels;
    const Node& node = g_.node(n);
    const ValueId sized = c.kind == Kind::fold ? node.inputs[0] : node.out(0);
    if (c.kind != Kind::other) c.elements = numel_of(static_shape(g_.type(sized)));
  }
  for (const NodeId n : order_) {
    Call& c = call(n);
    find_leaves(n);
    if (c.kind != Kind::elementwise) continue;
    if (is_cheap(n))
      c.kind = Kind::cheap;
    else if (waits(n))
      c.kind = Kind::waiting;
  }
}

void Fuser::find_leaves(NodeId n) {
  Call& c = call(n);
  for (const ValueId v : g_.node(n).inputs) {
    if (!v.valid()) continue;
    const NodeId d = g_.value(v).def;
    if (!d.valid() || !is_through(d)) {
      add(c.materialized_reads, v);
    } else {
      const bool reordered = call(d).kind == Kind::view && !keeps_order(d);
      for (const ValueId l : call(d).materialized_reads) {
        add(c.materialized_reads, l);
        if (reordered || contains(call(d).reordered_reads, l)) add(c.reordered_reads, l);
      }
      c.flops += call(d).flops;
      c.through += call(d).through;
    }
  }
  if (c.kind == Kind::elementwise) c.flops += flops_of(n);
}

bool Fuser::keeps_order(NodeId n) {
  const OpView op = g_.view(n);
  if (op.name() == "expand") return true;
  const loop::Layout in = loop::Layout::contiguous(static_shape(op.in_type(0)));
  const auto layout = std::get<loop::ViewRule>((*op.def().lower)->form).layout(op, in, 0);
  return g_.node(n).output_count == 1 && layout && layout->is_contiguous() &&
         layout->numel() == in.numel();
}

int64_t Fuser::flops_of(NodeId n) {
  const OpView op = g_.view(n);
  return (*op.def().cost)(op).flops / std::max<int64_t>(call(n).elements, 1);
}

bool Fuser::contains(const std::vector<ValueId>& list, ValueId v) {
  return std::find(list.begin(), list.end(), v) != list.end();
}

void Fuser::add(std::vector<ValueId>& list, ValueId v) {
  if (!contains(list, v)) list.push_back(v);
}

bool Fuser::is_cheap(NodeId n) {
  const Node& node = g_.node(n);
  const Call& c = call(n);
  if (node.output_count != 1 || c.flops > costs_.cheap_flops ||
      has(node.op->traits, Trait::random) || has(node.op->traits, Trait::data_dependent))
    return false;
  const ValueId y = node.out(0);
  if (returned_.contains(y.v)) return false;
  if (!every_reader_inlines(y)) return false;
  int64_t bytes = 0;
  for (const ValueId v : c.materialized_reads) {
    // What a group makes is stored for it: little, as a fold's result, one value a row.
    const NodeId d = g_.value(v).def;
    if (d.valid() && is_fusible(d) && bytes_of(g_, v) * small_part > bytes_of(g_, y)) return false;
    bytes += bytes_of(g_, v);
  }
  return bytes <= bytes_of(g_, y) + bytes_of(g_, y) / 4;
}

bool Fuser::waits(NodeId n) {
  const Node& node = g_.node(n);
  const Call& c = call(n);
  if (node.output_count != 1 || c.through > max_waiting) return false;
  ValueId v = node.out(0);
  for (;;) {
    if (returned_.contains(v.v) || g_.use_count(v) != 1) return false;
    const NodeId u = g_.uses(v)[0].node;
    if (!is_fusible(u)) return false;
    if (call(u).kind == Kind::view) {
      if (g_.node(u).output_count != 1) return false;
      v = g_.node(u).out(0);
      continue;
    }
    return call(u).kernels_before - c.kernels_before <= max_kernel_distance &&
           is_worth_repeating(c.flops, c.elements, call(u).elements);
  }
}

bool Fuser::is_worth_repeating(int64_t flops, int64_t elements, int64_t larger) {
  if (larger <= elements) return true;
  const int64_t again = flops * (larger - elements);
  return again <= costs_.launch_flops + elements * costs_.flops_of_8_bytes;
}

bool Fuser::every_reader_inlines(ValueId v) {
  for (const Use& u : g_.uses(v)) {
    if (!is_fusible(u.node)) return false;
    if (call(u.node).kind != Kind::view) continue;
    for (uint32_t k = 0; k < g_.node(u.node).output_count; ++k) {
      const ValueId w = g_.node(u.node).out(k);
      if (returned_.contains(w.v) || !every_reader_inlines(w)) return false;
    }
  }
  return true;
}

}  // namespace cleave
