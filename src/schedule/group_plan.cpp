#include "schedule/group_plan.h"

#include <algorithm>

#include "loop/lower_rule.h"
#include "schedule/own_loops.h"

namespace cleave {

using namespace cleave::loop;

Frame Frame::of(const FoldForm& form, bool folds_rows) {
  Frame out;
  for (const Run& r : form.runs) out.parts.push_back({r.extent, r.folded == folds_rows});
  return out;
}

int64_t Frame::rows() const {
  int64_t n = 1;
  for (const Part& p : parts)
    if (p.is_row) n *= p.extent;
  return n;
}

int64_t Frame::row_elements() const {
  int64_t n = 1;
  for (const Part& p : parts)
    if (!p.is_row) n *= p.extent;
  return n;
}

std::optional<FoldForm> fold_form_of(const Graph& graph, NodeId n, const FoldParts& cut) {
  const Node& node = graph.node(n);
  const auto* rule = std::get_if<ReductionRule>(&(*node.op->lower)->form);
  if (!rule) return std::nullopt;
  const OpView op = graph.view(n);
  return FoldForm::of(static_shape(op.in_type(0)), rule->dims(op), cut);
}

size_t GroupPlan::pass_of(ValueId v) const {
  const auto it = pass_.find(v.v);
  return it == pass_.end() ? 0 : it->second;
}

const FoldCall* GroupPlan::fold_of(ValueId result) const {
  for (const FoldCall& f : folds)
    if (f.result == result) return &f;
  return nullptr;
}

Expr GroupPlan::number_in(IndexMath& math, ValueId v, const Expr& number) const {
  const auto order = orders.find(v.v);
  if (order == orders.end()) return number;
  std::vector<int64_t> extents, weights;
  for (const Reorder::Digit& d : order->second.digits()) {
    extents.push_back(d.extent);
    weights.push_back(d.to);
  }
  return math.dot(math.delinearise(number, extents), weights);
}

bool GroupPlan::is_full(const Graph& graph, ValueId v) const {
  return numel_of(static_shape(graph.type(v))) == frame.rows() * frame.row_elements();
}

int64_t GroupPlan::row_length(const Graph& graph, ValueId v) const {
  return numel_of(static_shape(graph.type(v))) / std::max<int64_t>(frame.rows(), 1);
}

bool GroupPlan::has_own_length(const Graph& graph, ValueId v) const {
  return !is_full(graph, v) && numel_of(static_shape(graph.type(v))) != frame.rows();
}

namespace {

using Kind = FoldForm::Kind;

// The folds, and which of them are complete within their row.
std::vector<FoldCall> folds_of(const Graph& graph, const std::vector<NodeId>& nodes,
                               const FoldParts& cut) {
  std::vector<FoldCall> out;
  std::unordered_map<uint32_t, bool> is_read;
  for (const NodeId n : nodes)
    for (const ValueId v : graph.node(n).inputs)
      if (v.valid()) is_read[v.v] = true;
  for (const NodeId n : nodes) {
    std::optional<FoldForm> form = fold_form_of(graph, n, cut);
    if (!form) continue;
    const ValueId result = graph.node(n).out(0);
    // A columns fold whose result is read in this kernel runs in lanes;
    const bool in_rows =
        form->kind == Kind::rows || (form->kind == Kind::columns && is_read.contains(result.v));
    out.push_back({n, graph.node(n).inputs[0], result, *std::move(form), 0, in_rows});
  }
  // and with it the other columns folds of the same rows.
  for (FoldCall& f : out)
    if (f.form.kind == Kind::columns)
      f.in_rows = std::any_of(out.begin(), out.end(), [&](const FoldCall& g) {
        return g.in_rows && g.form.runs == f.form.runs;
      });
  return out;
}

// Others than the last call's loops would have to run before or after them.
Status check_own_loops(const Graph& graph, const std::vector<NodeId>& nodes,
                       const std::vector<ValueId>& results) {
  const Node& last = graph.node(nodes.back());
  const auto wrong = [&](const char* why) {
    return bug("lower: %{}: {}", graph.name(last.out(0)), why);
  };
  const KernelRule* rule = own_loops(graph, nodes.back());
  if (!rule || results.size() != 1 || results[0] != last.out(0))
    return wrong("is no call behind the one with loops of its own");
  for (const NodeId n : nodes)
    if (n != nodes.back() && (own_loops(graph, n) || fold_form_of(graph, n)))
      return wrong("reads what has loops too");
  const int start = start_of(*rule, graph.view(nodes.back()));
  if (start < 0) return {};
  const NodeId begun = graph.value(last.inputs[static_cast<size_t>(start)]).def;
  if (std::ranges::find(nodes, begun) == nodes.end()) return wrong("starts as what is in memory");
  return {};
}

Frame frame_of(const FoldCall& f) {
  return Frame::of(f.form, f.form.kind == Kind::columns && !f.in_rows);
}

}  // namespace

Result<GroupPlan> GroupPlan::make(const Graph& graph, const std::vector<NodeId>& nodes,
                                  const std::vector<ValueId>& results, const FoldParts& cut) {
  GroupPlan out;
  const auto wrong = [&](const char* why, ValueId v) {
    return bug("lower: %{}: {}", graph.name(v), why);
  };
  out.folds = folds_of(graph, nodes, cut);
  for (const NodeId n : nodes) {
    const Node& node = graph.node(n);
    size_t pass = 0;
    for (const ValueId v : node.inputs)
      if (v.valid()) pass = std::max(pass, out.pass_of(v));
    for (FoldCall& f : out.folds)
      if (f.node == n) {
        f.pass = pass;
        if (f.in_rows) ++pass;
      }
    for (uint32_t k = 0; k < node.output_count; ++k) out.pass_[node.out(k).v] = pass;
    out.last_pass = std::max(out.last_pass, pass);
  }
  if (out.folds.empty() && results.empty()) return bug("lower: a kernel without results");
  if (std::ranges::any_of(nodes, [&](NodeId n) { return own_loops(graph, n) != nullptr; })) {
    CLEAVE_CHECK(check_own_loops(graph, nodes, results));
    out.mode = GroupMode::own_loops;
    return out;
  }
  if (out.folds.empty()) {
    const int64_t n = numel_of(static_shape(graph.type(results[0])));
    out.frame.parts = {{1, true}, {n, false}};
    for (const ValueId v : results)
      if (!out.is_full(graph, v)) return wrong("another number of elements", v);
    out.orders = order_results(graph, nodes, results);
    return out;
  }
  out.frame = frame_of(out.folds[0]);
  bool rows = false, columns = false, chunks = false;
  for (const FoldCall& f : out.folds) {
    if (frame_of(f) != out.frame) return wrong("folds other rows", f.result);
    rows |= f.in_rows;
    columns |= f.form.kind == Kind::columns && !f.in_rows;
    chunks |= f.form.kind == Kind::chunks;
  }
  if (chunks && (rows || columns)) return wrong("chunks beside rows", out.folds[0].result);
  out.mode = chunks                  ? GroupMode::chunks
             : columns && rows       ? GroupMode::rows_and_columns
             : columns               ? GroupMode::columns
             : out.frame.has_lanes() ? GroupMode::lanes
                                     : GroupMode::rows;
  if (out.mode == GroupMode::rows_and_columns && out.frame.parts.size() != 2)
    return wrong("folds rows of several runs", out.folds[0].result);
  for (const FoldCall& f : out.folds)
    if (!f.in_rows && std::find(results.begin(), results.end(), f.result) == results.end())
      return wrong("is folded for nobody", f.result);
  for (const ValueId v : results) {
    if (out.fold_of(v) || out.is_full(graph, v)) continue;
    if (rows && !out.has_own_length(graph, v)) continue;
    const int64_t length = out.row_length(graph, v);
    const bool fits =
        length > 0 && length * out.frame.rows() == numel_of(static_shape(graph.type(v)));
    if (!rows || !fits || !out.frame.has_whole_rows())
      return wrong("has another number of rows", v);
  }
  if (rows && out.frame.has_whole_rows()) {
    std::vector<ValueId> full, folded;
    for (const ValueId v : results)
      if (!out.fold_of(v) && out.is_full(graph, v)) full.push_back(v);
    for (const FoldCall& f : out.folds) folded.push_back(f.operand);
    out.orders = order_results(graph, nodes, full, folded);
  }
  return out;
}

}  // namespace cleave
