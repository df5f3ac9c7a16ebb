#include "schedule/group_reads.h"

#include "loop/lower_rule.h"
#include "schedule/lane_strides.h"
#include "schedule/read_recorder.h"

namespace cleave {

using namespace cleave::loop;

GroupReads::GroupReads(const Graph& graph, const std::vector<NodeId>& nodes, const GroupPlan& plan)
    : graph_(graph), plan_(plan), sheet_(nothing_) {
  for (const NodeId n : nodes)
    for (uint32_t k = 0; k < graph.node(n).output_count; ++k)
      inside_.insert(graph.node(n).out(k).v);
  Exprs parts;
  std::vector<int64_t> steps(plan.frame.parts.size()), row_steps(steps.size());
  int64_t step = 1, row_step = 1;
  for (size_t d = steps.size(); d-- > 0;) {
    const Frame::Part& part = plan.frame.parts[d];
    steps[d] = step;
    step *= part.extent;
    if (part.is_row) row_steps[d] = row_step, row_step *= part.extent;
  }
  for (const Frame::Part& part : plan.frame.parts) {
    parts.push_back(make_var(sheet_.next_var++, "d", DType::i64));
    math_.declare(parts.back(), part.extent);
    if (!part.is_row && part.extent > 1) next_ = parts.back();
  }
  element_ = math_.dot(parts, steps);
  row_ = math_.dot(parts, row_steps);
}

Exprs GroupReads::element_index(ValueId v) {
  return math_.delinearise(plan_.number_in(math_, v, element_), static_shape(graph_.type(v)));
}

Exprs GroupReads::row_index(ValueId v) {
  return math_.delinearise(row_, static_shape(graph_.type(v)));
}

Exprs GroupReads::own_index(ValueId v) {
  if (plan_.is_full(graph_, v)) return element_index(v);
  if (!plan_.has_own_length(graph_, v)) return row_index(v);
  const int64_t length = plan_.row_length(graph_, v);
  const Expr inner = make_var(sheet_.next_var++, "d", DType::i64);
  math_.declare(inner, length);
  return math_.delinearise(math_.dot({row_, inner}, {length, 1}), static_shape(graph_.type(v)));
}

bool GroupReads::is_apart(const Read& read) {
  if (!next_.defined()) return false;
  schedule::LaneStrides strides;
  strides.set(next_, 1);
  const std::vector<int64_t> shape = static_shape(graph_.type(read.value));
  const schedule::LaneStride step =
      strides.of(math_.dot(read.index, Layout::contiguous(shape).strides));
  return !step || *step > schedule::loop_lanes || *step < -schedule::loop_lanes;
}

std::vector<GroupReads::Read> GroupReads::roots(const std::vector<ValueId>& results) {
  std::vector<Read> out;
  for (const FoldCall& f : plan_.folds) out.push_back({f.operand, element_index(f.operand)});
  for (const ValueId v : results)
    if (!plan_.fold_of(v)) out.push_back({v, own_index(v)});
  return out;
}

Result<std::vector<GroupReads::Read>> GroupReads::reads(ValueId v, const Exprs& index) {
  const NodeId n = graph_.value(v).def;
  const Node& node = graph_.node(n);
  const OpView op = graph_.view(n);
  if (const auto* view = std::get_if<ViewRule>(&(*node.op->lower)->form)) {
    const std::vector<int64_t> shape = static_shape(op.in_type(0));
    const auto layout =
        view->layout(op, Layout::contiguous(shape), static_cast<int>(graph_.value(v).index));
    if (!layout) return bug("lower: %{}: is no view of row-major memory", graph_.name(v));
    Exprs at = index;
    std::vector<int64_t> strides = layout->strides;
    at.emplace_back(1), strides.push_back(layout->offset);
    return std::vector<Read>{{node.inputs[0], math_.delinearise(math_.dot(at, strides), shape)}};
  }
  ReadRecorder recorder(graph_, n, sheet_);
  elementwise_rule(**node.op->lower, op)->value(recorder, op, index);
  std::vector<Read> out;
  for (const auto& [flat, at, x] : recorder.reads()) {
    Exprs own = at;
    const std::vector<int64_t>& shape = recorder.operand(flat).layout.shape;
    for (size_t d = 0; d < own.size(); ++d)
      own[d] = shape[d] == 1 ? Expr(0) : math_.simplify(own[d]);
    out.push_back({node.inputs[static_cast<size_t>(flat)], std::move(own)});
  }
  return out;
}

}  // namespace cleave
