#include <algorithm>
#include <bit>

#include "base/alignment.h"
#include "lower/group_reads.h"
#include "lower/group_writer.h"

namespace cleave {

using namespace cleave::loop;

// A value is kept for the next passes where computing it again would take longer than this.
constexpr int64_t dear_flops = 8;

void GroupWriter::choose_kept() {
  if (last_pass_ == 0) return;
  std::unordered_map<uint32_t, uint64_t> needed;  // passes in which the value is computed
  const auto need = [&](ValueId v, size_t pass) {
    needed[v.v] |= uint64_t{1} << std::min<size_t>(pass, 63);
  };
  for (const FoldCall& f : folds_) need(f.operand, f.pass);
  for (const GroupResult& r : results_)
    if (!fold_of(r.value)) need(r.value, pass_of(r.value));
  for (size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = graph_.node(nodes_[i]);
    if (fold_form_of(graph_, nodes_[i])) continue;
    uint64_t passes = 0;
    for (uint32_t k = 0; k < node.output_count; ++k) {
      const ValueId v = node.out(k);
      uint64_t own = needed[v.v];
      if (own & (own - 1)) own = keep(v, own);
      passes |= own;
    }
    for (const ValueId v : node.inputs)
      if (v.valid() && values_.is_inside(v)) needed[v.v] |= passes;
  }
  for (const Kept& k : kept_)
    if (k.result) kernel_.buffers[static_cast<size_t>(k.result->at.buffer)].access = Access::update;
}

uint64_t GroupWriter::keep(ValueId v, uint64_t passes) {
  const NodeId n = graph_.value(v).def;
  if (!is_full(v) || !elementwise_rule(**graph_.node(n).op->lower, graph_.view(n))) return passes;
  const uint64_t first = passes & ~(passes - 1);
  const auto pass = static_cast<size_t>(std::countr_zero(first));
  for (const GroupResult& r : results_)
    if (r.value == v) {
      kept_.push_back({v, pass, -1, &r});
      return first;
    }
  const OpView op = graph_.view(n);
  const int64_t elements = std::max<int64_t>(numel_of(static_shape(graph_.type(v))), 1);
  const DType dtype = compute_type(graph_.type(v).dtype);
  const int64_t bytes = rounded(frame_.row_elements() * size_of(dtype));
  if ((*op.def().cost)(op).flops / elements < dear_flops || bytes > room_) return passes;
  if (!is_read_in_place(v)) return passes;
  room_ -= bytes;
  kept_.push_back({v, pass, static_cast<int64_t>(kernel_.buffers.size()), nullptr});
  values_.add_use(v);
  kernel_.buffers.push_back(
      {graph_.name(v), dtype, std::max<int64_t>(frame_.row_elements(), 1), Access::local});
  return first;
}

// Between two flips a value is read at other elements than the one that is worked on: there its
// own element may need what another row folds to.
bool GroupWriter::is_read_in_place(ValueId v) {
  if (!read_in_place_) {
    read_in_place_.emplace();
    std::vector<ValueId> results;
    for (const GroupResult& r : results_) results.push_back(r.value);
    GroupReads reads(graph_, nodes_, plan_);
    value_or_throw(reads.walk(results, [&](const GroupReads::Read& r) -> Result<bool> {
      if (plan_.fold_of(r.value)) return false;
      if (same_index(r.index, reads.own_index(r.value))) read_in_place_->insert(r.value.v);
      return true;
    }));
  }
  return read_in_place_->contains(v.v);
}

void GroupWriter::keep_values(size_t pass) {
  for (const Kept& k : kept_)
    if (k.local >= 0 && k.pass == pass) {
      Expr x = values_.value(k.value, index_in(k.value));
      sheet_.open.back()->push_back({Store{k.local, inner_, std::move(x)}});
    }
}

void GroupWriter::read_kept(size_t pass) {
  for (const Kept& k : kept_) {
    if (k.pass >= pass) continue;
    const Exprs index = index_in(k.value);
    if (k.local >= 0)
      values_.set_kept(k.value, index, k.local, compute_type(graph_.type(k.value).dtype), inner_);
    else
      values_.set_kept(k.value, index, k.result->at.buffer, k.result->at.dtype,
                       values_.address(k.result->at.layout, index));
  }
}

}  // namespace cleave
