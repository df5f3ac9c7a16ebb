#include "schedule/group_kept.h"

#include <algorithm>
#include <bit>

#include "base/alignment.h"
#include "schedule/group_reads.h"

namespace cleave {

using namespace cleave::loop;

// A value is kept for later passes if computing it takes more flops than this.
constexpr int64_t dear_flops = 8;

namespace {

uint64_t bit_of(size_t pass) { return uint64_t{1} << std::min<size_t>(pass, 63); }

}  // namespace

KeptValues::KeptValues(GroupContext& c, int64_t local_bytes) : c_(c), local_bytes_(local_bytes) {
  if (c.plan.last_pass == 0) return;
  const Graph& graph = c.calls.graph;
  std::unordered_map<uint32_t, uint64_t> needed;  // passes in which the value is computed
  const auto need = [&](ValueId v, size_t pass) { needed[v.v] |= bit_of(pass); };
  for (const FoldCall& f : c.plan.folds) need(f.operand, f.pass);
  for (const GroupResult& r : c.calls.results)
    if (!c.plan.fold_of(r.value))
      need(r.value,
           c.plan.has_own_length(graph, r.value) ? c.plan.last_pass + 1 : c.plan.pass_of(r.value));
  for (size_t i = c.calls.nodes.size(); i-- > 0;) {
    const Node& node = graph.node(c.calls.nodes[i]);
    if (fold_form_of(graph, c.calls.nodes[i])) continue;
    uint64_t passes = 0;
    for (uint32_t k = 0; k < node.output_count; ++k) {
      const ValueId v = node.out(k);
      uint64_t own = needed[v.v];
      if (own & (own - 1)) own = keep(v, own);
      passes |= own;
    }
    for (const ValueId v : node.inputs)
      if (v.valid() && c.values.sources().call(v).valid()) needed[v.v] |= passes;
  }
  for (const Kept& k : kept_)
    if (k.result)
      c.kernel.buffers[static_cast<size_t>(k.result->at.buffer)].access = Access::update;
}

uint64_t KeptValues::keep(ValueId v, uint64_t passes) {
  const Graph& graph = c_.calls.graph;
  const NodeId n = graph.value(v).def;
  const OpView op = graph.view(n);
  const auto& lower = *graph.node(n).op->lower;
  const bool is_view = std::holds_alternative<ViewRule>(lower->form);
  if (!c_.is_full(v) || (!is_view && !elementwise_rule(*lower, op))) return passes;
  const uint64_t first = passes & ~(passes - 1);
  const auto pass = static_cast<size_t>(std::countr_zero(first));
  // Behind the passes a result isn't read again: a local buffer is in a cache.
  const bool is_in_later_pass = (passes & ~first & ~bit_of(c_.plan.last_pass + 1)) != 0;
  for (const GroupResult& r : c_.calls.results)
    if (r.value == v && is_in_later_pass) {
      kept_.push_back({v, pass, -1, &r});
      return first;
    }
  // A local buffer has the elements of a row in the row's order.
  if (c_.plan.orders.contains(v.v)) return passes;
  const int64_t row_elements = c_.plan.frame.row_elements();
  const DType dtype = compute_type(graph.type(v).dtype);
  if (!is_dear(v)) return passes;
  if (!is_read_in_place(v) || !take_bytes(row_elements * size_of(dtype))) return passes;
  kept_.push_back({v, pass, std::ssize(c_.kernel.buffers), nullptr});
  c_.values.sources().add_use(v);
  c_.kernel.buffers.push_back(
      {graph.name(v), dtype, std::max<int64_t>(row_elements, 1), Access::local});
  return first;
}

bool KeptValues::is_dear(ValueId v) {
  const Graph& graph = c_.calls.graph;
  const OpView op = graph.view(graph.value(v).def);
  const int64_t elements = std::max<int64_t>(numel_of(static_shape(graph.type(v))), 1);
  if (op.def().cost.present() && (*op.def().cost)(op).flops / elements >= dear_flops) return true;
  // Threads that share a row read what lies apart at the same time.
  return !c_.loops.many_threads && is_gathered(v);
}

bool KeptValues::is_gathered(ValueId v) {
  const Graph& graph = c_.calls.graph;
  GroupReads reads(graph, c_.calls.nodes, c_.plan);
  std::vector<GroupReads::Read> open = {{v, reads.own_index(v)}};
  while (!open.empty()) {
    const GroupReads::Read read = std::move(open.back());
    open.pop_back();
    for (GroupReads::Read& next : value_or_bug(reads.reads(read.value, read.index))) {
      const bool is_made_here = reads.is_inside(next.value);
      if (!is_made_here && reads.is_apart(next)) return true;
      if (!is_made_here) continue;
      const auto& made_by = graph.node(graph.value(next.value).def).op->lower;
      if (std::holds_alternative<ViewRule>((*made_by)->form)) open.push_back(std::move(next));
    }
  }
  return false;
}

// Between two flips, for example, a value is read at other elements than the current one. Its
// current element may then depend on the fold of another row.
bool KeptValues::is_read_in_place(ValueId v) {
  if (!read_in_place_) {
    read_in_place_.emplace();
    std::vector<ValueId> results;
    for (const GroupResult& r : c_.calls.results) results.push_back(r.value);
    GroupReads reads(c_.calls.graph, c_.calls.nodes, c_.plan);
    value_or_bug(reads.walk(results, [&](const GroupReads::Read& r) -> Result<bool> {
      if (c_.plan.fold_of(r.value)) return false;
      if (r.index == reads.own_index(r.value)) read_in_place_->insert(r.value.v);
      return true;
    }));
  }
  return read_in_place_->contains(v.v);
}

bool KeptValues::are_stored(size_t pass) const {
  return std::ranges::any_of(kept_, [&](const Kept& k) { return k.local >= 0 && k.pass == pass; });
}

void KeptValues::store(const FrameElement& at, size_t pass) {
  for (const Kept& k : kept_)
    if (k.local >= 0 && k.pass == pass) {
      Expr x = c_.values.value(k.value, c_.index_at(at, k.value));
      c_.sheet.open.back()->push_back({Store{k.local, at.inner, std::move(x)}});
    }
}

void KeptValues::read(const FrameElement& at, size_t pass) {
  for (const Kept& k : kept_) {
    if (k.pass >= pass) continue;
    const Exprs index = c_.index_at(at, k.value);
    if (k.local >= 0) {
      const DType dtype = compute_type(c_.calls.graph.type(k.value).dtype);
      c_.values.sources().set_kept(k.value, {index, k.local, dtype, at.inner});
    } else {
      const Bound& to = k.result->at;
      const Expr address = address_of(c_.math(), to.layout, index);
      c_.values.sources().set_kept(k.value, {index, to.buffer, to.dtype, address});
    }
  }
}

void KeptValues::read_row(const Expr& row) {
  for (const Kept& k : kept_)
    if (k.local >= 0) {
      const DType dtype = compute_type(c_.calls.graph.type(k.value).dtype);
      c_.values.sources().set_kept_row(k.value,
                                       {row, c_.plan.frame.row_elements(), k.local, dtype});
    }
}

bool KeptValues::take_bytes(int64_t bytes) {
  if (rounded(bytes) > local_bytes_) return false;
  local_bytes_ -= rounded(bytes);
  return true;
}

}  // namespace cleave
