// An attention to a step: operands are read as they lie; results that have no place lie so that
// what undoes the permutation of the query is a view.
#include "lower/lower_node.h"

namespace cleave {

using namespace cleave::loop;

namespace {

using Matrix = AttentionCall::Matrix;

// The last four dims of a layout of up to four.
Matrix matrix_of(const Location& at, DType dtype) {
  const auto& [shape, strides, offset] = at.layout;
  const auto stride = [&](size_t from_last) {
    if (from_last > shape.size()) return int64_t{0};
    const size_t d = shape.size() - from_last;
    return shape[d] == 1 ? 0 : strides[d];
  };
  return {at.storage, dtype, offset, stride(4), stride(3), stride(2), stride(1)};
}

// [batch,heads,rows] as the runtime wants it: rows side by side, heads and batches evenly apart.
bool is_even(const Layout& l) {
  const bool rows = l.shape[2] <= 1 || l.strides[2] == 1;
  const bool batches = l.shape[0] <= 1 || l.strides[0] == l.strides[1] * l.shape[1];
  return rows && batches && l.strides[1] >= l.shape[2];
}

// Row-major, or with heads inside rows where those of `like` lie so.
Layout result_layout(const std::vector<int64_t>& shape, const Layout& like) {
  Layout l = Layout::contiguous(shape);
  if (like.shape[1] <= 1 || like.shape[2] <= 1 || like.strides[1] >= like.strides[2]) return l;
  l.strides[1] = shape[3];
  l.strides[2] = shape[1] * shape[3];
  return l;
}

}  // namespace

void Lowering::attention(NodeId n, const OpView& op, const AttentionForm& form) {
  using Part = AttentionPart;
  const Node& node = graph_.node(n);
  AttentionCall call;
  call.form = form;
  const auto type = [&](ValueId v) { return graph_.type(v).dtype; };
  const auto read = [&](Part part, int operand) {
    const ValueId v = op.in(operand);
    call[part] = matrix_of(at_.at(v.v), type(v));
  };
  const auto number_at = [&](const AttentionForm::Number& number) {
    Location at = at_.at(op.in(number.operand).v);
    const auto& strides = at.layout.strides;
    at.layout.offset += strides.empty() ? 0 : number.index * strides[0];
    at.layout.shape.clear();
    at.layout.strides.clear();
    return at;
  };
  read(Part::query, form.query);
  read(Part::key, form.query + 1);
  read(Part::value, form.query + 2);
  if (form.mask >= 0) read(Part::mask, form.mask);
  if (form.dropout_p > 0) {
    call[Part::seed] = matrix_of(number_at(form.seed), DType::i64);
    call[Part::step] = matrix_of(number_at(form.step), DType::i64);
  }
  const Layout query = at_.at(op.in(form.query).v).layout;
  const auto write = [&](Part part, int k, bool always) {
    const ValueId v = node.out(static_cast<uint32_t>(k));
    if (op.out_type(k).is_none || !(always || is_wanted(v))) return;
    Location at = new_result(v);
    if (!is_part(v) && at.layout.shape.size() == 4)
      at.layout = result_layout(at.layout.shape, query);
    at_[v.v] = at;
    if (at.layout.numel() == 0 && part == Part::logsumexp) return;  // not asked for
    call[part] = matrix_of(at, type(v));
  };
  std::vector<int64_t> whole;
  if (form.is_backward) {
    read(Part::dout, form.dout);
    read(Part::out, form.out);
    Location sums = at_.at(op.in(form.sums).v);
    if (!is_even(sums.layout))
      sums = dense_copy(sums, type(op.in(form.sums)), graph_.name(op.in(form.sums)));
    call[Part::logsumexp] = {sums.storage, DType::f32, sums.layout.offset, 0,
                             sums.layout.strides[1]};
    for (int k = 0; k < 3; ++k)
      write(static_cast<Part>(static_cast<int>(Part::dquery) + k), k, false);
    whole = static_shape(op.in_type(form.dout));
  } else {
    write(Part::out, 0, true);
    write(Part::logsumexp, 1, false);
    if (auto& sums = call[Part::logsumexp]) sums->head_stride = static_shape(op.out_type(1)).back();
    whole = static_shape(op.out_type(0));
  }
  // What the backward makes the same dropout from.
  if (op.out_count() == 4 && !form.is_backward) {
    at_[node.out(2).v] = number_at(form.seed);
    at_[node.out(3).v] = number_at(form.step);
  }
  call.batch = whole[0];
  call.heads = whole[1];
  call.rows = whole[2];
  call.value_width = whole[3];
  call.columns = at_.at(op.in(form.query + 1).v).layout.shape[2];
  call.width = query.shape[3];
  out_.steps.push_back({graph_.name(node.out(0)), std::move(call), false});
}

}  // namespace cleave
