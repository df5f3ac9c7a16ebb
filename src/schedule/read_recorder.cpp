#include "schedule/read_recorder.h"

namespace cleave {

using namespace cleave::loop;

namespace {

std::vector<Bound> operand_bounds(const Graph& g, NodeId n) {
  std::vector<Bound> out;
  for (const ValueId v : g.node(n).inputs) out.push_back(shape_bound(g, v));
  return out;
}

std::vector<Bound> result_bounds(const Graph& g, NodeId n) {
  std::vector<Bound> out;
  for (uint32_t k = 0; k < g.node(n).output_count; ++k) {
    const ValueId v = g.node(n).out(k);
    out.push_back(shape_bound(g, g.type(v).is_none ? ValueId{} : v));
  }
  return out;
}

}  // namespace

Bound shape_bound(const Graph& graph, ValueId v) {
  Bound out;
  if (!v.valid()) return out;
  out.buffer = 0;
  out.dtype = graph.type(v).dtype;
  out.layout = Layout::contiguous(static_shape(graph.type(v)));
  return out;
}

ReadRecorder::ReadRecorder(const Graph& graph, NodeId n, KernelSheet& sheet)
    : KernelBuilder(sheet, operand_bounds(graph, n), result_bounds(graph, n)) {}

Expr ReadRecorder::load(int flat, const Exprs& index) {
  Expr x = make_var(sheet().next_var++, "x", compute_type(operand(flat).dtype));
  reads_.push_back({flat, index, x});
  return x;
}

Expr ReadRecorder::stream() { return make_var(sheet().next_var++, "stream", DType::i64); }

}  // namespace cleave
