// own loops: the last call writes them; what it reads of the other calls is computed there.
#include <algorithm>

#include "schedule/group_writers.h"
#include "schedule/own_loops.h"
#include "schedule/read_recorder.h"

namespace cleave {

using namespace cleave::loop;

namespace {

class OwnLoops final : public KernelBuilder {
 public:
  OwnLoops(GroupContext& c, NodeId n, std::vector<Bound> operands, std::vector<Bound> results)
      : KernelBuilder(c.sheet, std::move(operands), std::move(results)), c_(c), node_(n) {}

  Expr load(int flat, const Exprs& index) override {
    const ValueId v = c_.calls.graph.node(node_).inputs[static_cast<size_t>(flat)];
    if (!c_.values.sources().call(v).valid()) return KernelBuilder::load(flat, index);
    const OpenScope scope(c_, {});
    Exprs own = index;
    for (size_t d = 0; d < own.size(); ++d) {
      const int64_t size = operand(flat).layout.shape[d];
      own[d] = size == 1 ? Expr(0) : c_.declared(let(own[d], "i"), size);
    }
    return c_.values.value(v, own);
  }

 private:
  GroupContext& c_;
  NodeId node_;
};

Bound bound_of(GroupContext& c, ValueId v) {
  return v.valid() && !c.values.sources().call(v).valid() ? c.values.sources().outside(v)
                                                          : shape_bound(c.calls.graph, v);
}

// The result starts as a copy of the operand.
void write_start(GroupContext& c, ValueId operand, const Bound& result) {
  const int64_t n = result.layout.numel();
  if (n == 0) return;
  c.builder.parallel({n}, [&](const Exprs& i) {
    const OpenScope scope(c, i);
    const Exprs index = c.math().delinearise(c.declared(i[0], n), result.layout.shape);
    c.store(result, index, c.values.value(operand, index));
  });
}

}  // namespace

void write_own_loops(GroupContext& c, const MakePartial& make_partial) {
  const NodeId n = c.calls.nodes.back();
  const Node& node = c.calls.graph.node(n);
  const OpView op = c.calls.graph.view(n);
  const KernelRule& rule = *own_loops(c.calls.graph, n);
  const Bound result = c.calls.results[0].at;
  if (const int start = start_of(rule, op); start >= 0)
    write_start(c, node.inputs[static_cast<size_t>(start)], result);
  std::vector<Bound> operands, results = {result};
  for (const ValueId v : node.inputs) operands.push_back(bound_of(c, v));
  c.sheet.many_threads = c.loops.many_threads;
  c.sheet.make_scratch = [&](DType dtype, const std::vector<int64_t>& shape) {
    Bound made = make_partial(".scratch", dtype, numel_of(shape));
    made.layout = Layout::contiguous(shape);
    return made;
  };
  OwnLoops builder(c, n, std::move(operands), std::move(results));
  rule.build(builder, op);
}

}  // namespace cleave
