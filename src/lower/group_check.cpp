#include "lower/group_check.h"

#include <algorithm>
#include <set>

#include "loop/index_math.h"
#include "loop/kernel_builder.h"
#include "loop/lower_rule.h"
#include "lower/read_recorder.h"

namespace cleave {

using namespace cleave::loop;

namespace {

class Checker {
 public:
  Checker(const Graph& graph, const std::vector<NodeId>& nodes, const GroupPlan& plan)
      : graph_(graph), nodes_(nodes), plan_(plan), sheet_(nothing_) {}

  Status run(const std::vector<ValueId>& results) {
    CLEAVE_CHECK(check_rules());
    if (folded_.empty()) return {};
    Exprs parts;
    std::vector<int64_t> steps(plan_.frame.parts.size()), row_steps(steps.size());
    int64_t step = 1, row_step = 1;
    for (size_t d = steps.size(); d-- > 0;) {
      const Frame::Part& part = plan_.frame.parts[d];
      steps[d] = step;
      step *= part.extent;
      if (part.is_row) row_steps[d] = row_step, row_step *= part.extent;
    }
    for (const Frame::Part& part : plan_.frame.parts) {
      parts.push_back(make_var(sheet_.next_var++, "d", DType::i64));
      math_.declare(parts.back(), part.extent);
    }
    number_ = math_.dot(parts, steps);
    row_ = math_.dot(parts, row_steps);
    for (const FoldCall& f : plan_.folds) CLEAVE_CHECK(read(f.operand, number_index(f.operand)));
    for (const ValueId v : results)
      if (!plan_.fold_of(v))
        CLEAVE_CHECK(read(v, plan_.is_full(graph_, v) ? number_index(v) : row_index(v)));
    return {};
  }

 private:
  Status wrong(const char* why, ValueId v) const {
    return bug("lower: %{}: {}", graph_.name(v), why);
  }

  // Sets which values hold something folded.
  Status check_rules() {
    std::set<uint32_t> inside;
    for (const NodeId n : nodes_) {
      const Node& node = graph_.node(n);
      if (!node.op->lower.present()) return wrong("has no lowering", node.out(0));
      const auto& form = (*node.op->lower)->form;
      const ElementwiseRule* rule = elementwise_rule(**node.op->lower, graph_.view(n));
      const bool is_fold = std::holds_alternative<ReductionRule>(form);
      if (rule && !rule->in_range)
        return wrong("has loops of its own, or reads what it may not use", node.out(0));
      if (!rule && !is_fold && !std::holds_alternative<ViewRule>(form))
        return wrong("is no call that can be computed in place", node.out(0));
      if (std::holds_alternative<ViewRule>(form) &&
          graph_.type(node.inputs[0]).dtype != graph_.type(node.out(0)).dtype)
        return wrong("is a view as another dtype", node.out(0));
      bool folded = is_fold;
      for (const ValueId v : node.inputs) {
        if (!v.valid()) continue;
        folded |= folded_.contains(v.v);
      }
      for (uint32_t k = 0; k < node.output_count; ++k) {
        inside.insert(node.out(k).v);
        if (folded) folded_.insert(node.out(k).v);
      }
    }
    inside_ = std::move(inside);
    return {};
  }

  Exprs number_index(ValueId v) { return math_.delinearise(number_, static_shape(graph_.type(v))); }
  Exprs row_index(ValueId v) { return math_.delinearise(row_, static_shape(graph_.type(v))); }

  static bool same(const Exprs& a, const Exprs& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Expr& x, const Expr& y) {
      const int64_t *i = x.as_const_int(), *j = y.as_const_int();
      return i && j ? *i == *j : &*x == &*y;
    });
  }

  Status read(ValueId v, const Exprs& index) {
    if (!inside_.contains(v.v) || !folded_.contains(v.v)) return {};
    std::vector<uintptr_t> key = {v.v};
    for (const Expr& e : index) {
      const int64_t* number = e.as_const_int();
      key.push_back(number ? static_cast<uintptr_t>(*number) << 1 | 1
                           : reinterpret_cast<uintptr_t>(&*e));
    }
    if (!seen_.insert(std::move(key)).second) return {};
    if (const FoldCall* f = plan_.fold_of(v)) {
      if (!f->in_rows) return wrong("is read before its parts are added up", v);
      return same(index, row_index(v)) ? Status() : wrong("is read in another row", v);
    }
    const NodeId n = graph_.value(v).def;
    const Node& node = graph_.node(n);
    const OpView op = graph_.view(n);
    const auto& form = (*node.op->lower)->form;
    if (const auto* view = std::get_if<ViewRule>(&form)) {
      const std::vector<int64_t> shape = static_shape(op.in_type(0));
      const auto layout =
          view->layout(op, Layout::contiguous(shape), static_cast<int>(graph_.value(v).index));
      if (!layout) return wrong("is no view of row-major memory", v);
      Exprs at = index;
      std::vector<int64_t> strides = layout->strides;
      at.emplace_back(1), strides.push_back(layout->offset);
      return read(node.inputs[0], math_.delinearise(math_.dot(at, strides), shape));
    }
    ReadRecorder recorder(graph_, n, sheet_);
    elementwise_rule(**node.op->lower, op)->value(recorder, op, index);
    for (const auto& [flat, at, x] : recorder.reads()) {
      const ValueId o = node.inputs[static_cast<size_t>(flat)];
      Exprs own = at;
      const std::vector<int64_t>& shape = recorder.operand(flat).layout.shape;
      for (size_t d = 0; d < own.size(); ++d)
        own[d] = shape[d] == 1 ? Expr(0) : math_.simplify(own[d]);
      CLEAVE_CHECK(read(o, own));
    }
    return {};
  }

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  const GroupPlan& plan_;
  Kernel nothing_;
  KernelSheet sheet_;
  IndexMath math_;
  Expr number_, row_;
  std::set<uint32_t> inside_, folded_;
  std::set<std::vector<uintptr_t>> seen_;
};

}  // namespace

Status check_group(const Graph& graph, const std::vector<NodeId>& nodes,
                   const std::vector<ValueId>& results) {
  for (const NodeId n : nodes)
    if (!graph.node(n).op->lower.present())
      return bug("lower: {} has no lowering", graph.node(n).op->name);
  CLEAVE_TRY(const GroupPlan plan, GroupPlan::make(graph, nodes, results));
  return Checker(graph, nodes, plan).run(results);
}

}  // namespace cleave
