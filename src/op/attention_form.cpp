// Decides which calls of attention the library covers; others become products and a softmax.
//
//   forward    query of f32, bf16 or f16; sizes known; widths above 0
//   backward   also: key and value in equal groups, nothing broadcast over batch or heads (its
//              gradient would be a sum over the copies), sums passed as such (not as weights), in
//              f32, the result and its gradient in the query's dtype (a saved one may be cast). The
//              gradient of a mask is one of f32 [batch or 1,heads,rows,columns]
#include "op/attention.h"

namespace cleave {
namespace {

using loop::Layout, loop::LibraryAccess, loop::LibraryForm, loop::LibraryLayouts;
using loop::LibraryOperand, loop::stride_from_last;
using At = AttentionOperand;

bool is_covered(const AttentionView& call) {
  const DType t = call.type(0).dtype;
  if (t != DType::f32 && t != DType::bf16 && t != DType::f16) return false;
  for (int k = 0; k < 3; ++k)
    if (!call.type(k).is_static() || call.type(k).rank() != 4) return false;
  if (call.masked() && !call.op.in_type(call.mask).is_static()) return false;
  return call.type(0).shape[3].value() > 0 && call.type(2).shape[3].value() > 0;
}

bool is_broadcast(const AttentionView& call, const AttentionShape& s) {
  for (int k = 0; k < 3; ++k) {
    const Shape& shape = call.type(k).shape;
    // If query has no heads, they can't be grouped over key's heads: each has a gradient of zeros.
    const Dim group = k == 0   ? Dim(1)
                      : k == 1 ? Dim::max(s.key_group, 1)
                               : Dim::max(s.value_group, 1);
    if (shape[0] != s.batch[0] || shape[1] * group != s.batch[1]) return true;
  }
  return false;
}

// [batch,heads,rows] as the library wants it: rows side by side, heads and batches evenly apart.
bool is_even(const Layout& l) {
  const bool rows = l.shape[2] <= 1 || l.strides[2] == 1;
  const bool batches = l.shape[0] <= 1 || l.strides[0] == l.strides[1] * l.shape[1];
  return rows && batches && l.strides[1] >= l.shape[2];
}

bool has_lines(const Layout& l) {
  return l.shape.size() == 4 && (l.shape[3] <= 1 || l.strides[3] == 1);
}

// Row-major, or with heads inside rows where those of the query lie so: what undoes the permutation
// of the query is a view then.
Layout like_query(const std::vector<int64_t>& shape, const LibraryLayouts& at) {
  const Layout& like = at[At::query]->layout;
  Layout l = Layout::contiguous(shape);
  if (like.shape[1] <= 1 || like.shape[2] <= 1 || like.strides[1] >= like.strides[2]) return l;
  l.strides[1] = shape[3];
  l.strides[2] = shape[1] * shape[3];
  return l;
}

HeadStrides strides_of(const std::optional<loop::LibraryMemory>& m) {
  if (!m) return {};
  const Layout& l = m->layout;
  return {stride_from_last(l, 4), stride_from_last(l, 3), stride_from_last(l, 2),
          stride_from_last(l, 1)};
}

// Sizes and factors; `y` is [batch,heads,rows,value_width].
AttentionSpec sizes_of(const AttentionView& call, const AttentionShape& s, const Type& y) {
  const std::vector<int64_t> whole = static_shape(y);
  const double dropout_p = call.op.float_attr("dropout_p");
  return {.dtype = call.type(0).dtype,
          .batch = whole[0],
          .heads = whole[1],
          .key_group = std::max<int64_t>(s.key_group.value(), 1),  // 0 where query has no heads
          .value_group = std::max<int64_t>(s.value_group.value(), 1),
          .rows = whole[2],
          .columns = call.type(1).shape[2].value(),
          .width = call.type(0).shape[3].value(),
          .value_width = whole[3],
          .scale = call.scale(),
          .is_causal = call.op.bool_attr("is_causal"),
          .dropout_p = dropout_p,
          .stream = dropout_p > 0 ? call.op.int_attr("stream") : 0};
}

AttentionSpec laid_out(AttentionSpec s, const LibraryLayouts& at) {
  s.query = strides_of(at[At::query]), s.key = strides_of(at[At::key]);
  s.value = strides_of(at[At::value]), s.out = strides_of(at[At::out]);
  if (at[At::logsumexp]) s.sum_rows = at[At::logsumexp]->layout.strides[1];
  if (at[At::mask]) s.mask = at[At::mask]->dtype;
  s.mask_at = strides_of(at[At::mask]);
  return s;
}

AttentionBackwardSpec laid_out(AttentionBackwardSpec s, const LibraryLayouts& at) {
  s.forward = laid_out(s.forward, at);
  s.dout = strides_of(at[At::dout]);
  s.dquery = strides_of(at[At::dquery]), s.dkey = strides_of(at[At::dkey]);
  s.dvalue = strides_of(at[At::dvalue]);
  s.wants_dquery = at[At::dquery].has_value(), s.wants_dkey = at[At::dkey].has_value();
  s.wants_dvalue = at[At::dvalue].has_value();
  s.dmask = strides_of(at[At::dmask]), s.wants_dmask = at[At::dmask].has_value();
  if (s.wants_dmask && at[At::dmask]->layout.shape[0] == 1) s.dmask.batch = 0;
  return s;
}

// What both directions read.
std::vector<LibraryOperand> operands_of(const AttentionView& call, const DropoutState& state) {
  std::vector<LibraryOperand> out;
  for (const size_t k : {At::query, At::key, At::value})
    out.push_back({.position = k, .index = call.query + static_cast<int>(k - At::query)});
  if (call.masked()) out.push_back({.position = At::mask, .index = call.mask});
  if (call.op.float_attr("dropout_p") == 0) return out;
  for (const auto& [position, element] :
       {std::pair{size_t{At::seed}, state.seed}, {At::step, state.step}})
    out.push_back({.position = position, .index = element.operand, .part = [element](Layout whole) {
                     return element.part(std::move(whole));
                   }});
  return out;
}

// Sums are [batch,heads,rows or more].
LibraryOperand sums_operand(LibraryAccess access, int index, int64_t rows) {
  return {.position = At::logsumexp,
          .access = access,
          .index = index,
          .takes = access == LibraryAccess::read ? is_even : nullptr,
          .part = [rows](Layout whole) {
            whole.shape.back() = rows;
            return whole;
          }};
}

LibraryOperand result(size_t position, int index) {
  return {.position = position,
          .access = LibraryAccess::write,
          .index = index,
          .takes = has_lines,
          .best = like_query};
}

}  // namespace

std::optional<LibraryForm> attention_form(const AttentionView& call, const DropoutState& state) {
  if (!is_covered(call)) return std::nullopt;
  const AttentionSpec s = sizes_of(call, attention_shape(call), call.op.out_type(0));
  LibraryForm form{.operands = operands_of(call, state),
                   .spec = [s](const LibraryLayouts& at) { return laid_out(s, at); }};
  form.operands.push_back(result(At::out, 0));
  form.operands.back().is_required = true;
  if (call.op.out_type(1).numel().value() > 0)  // else not asked for
    form.operands.push_back(sums_operand(LibraryAccess::write, 1, s.rows));
  if (state.seed.operand >= 0) form.views = {{2, state.seed}, {3, state.step}};
  return form;
}

bool attention_gives_mask(const Type& mask, const AttentionShape& s) {
  if (mask.dtype != DType::f32 || mask.rank() != 4 || s.batch[0] == Dim(0)) return false;
  Shape whole = s.with(s.rows, s.columns);
  if (mask.shape[0] == Dim(1)) whole[0] = 1;
  return mask.shape == whole;
}

std::optional<LibraryForm> attention_backward_form(const AttentionView& call, int dout, int out,
                                                   int sums, const DropoutState& state,
                                                   MaskGradient dmask) {
  if (!is_covered(call) || call.op.in_type(sums).rank() != 3) return std::nullopt;
  if (call.op.in_type(sums).dtype != DType::f32) return std::nullopt;
  for (const int k : {dout, out})
    if (call.op.in_type(k).dtype != call.type(0).dtype) return std::nullopt;
  const AttentionShape shape = attention_shape(call);
  if (shape.key_group != shape.value_group || is_broadcast(call, shape)) return std::nullopt;
  if (dmask == MaskGradient::wanted && !attention_gives_mask(call.op.in_type(call.mask), shape))
    return std::nullopt;
  const AttentionBackwardSpec s{.forward = sizes_of(call, shape, call.op.in_type(dout))};
  LibraryForm form{.operands = operands_of(call, state),
                   .spec = [s](const LibraryLayouts& at) { return laid_out(s, at); }};
  form.operands.push_back({.position = At::dout, .index = dout});
  form.operands.push_back({.position = At::out, .index = out});
  form.operands.push_back(sums_operand(LibraryAccess::read, sums, s.forward.rows));
  for (int k = 0; k < 3; ++k)
    form.operands.push_back(result(At::dquery + static_cast<size_t>(k), k));
  if (dmask == MaskGradient::wanted)
    form.operands.push_back(
        {.position = At::dmask, .access = LibraryAccess::write, .index = 3, .takes = has_lines});
  return form;
}

}  // namespace cleave
