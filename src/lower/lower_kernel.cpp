#include "lower/lower_kernel.h"

#include "loop/kernel_builder.h"
#include "lower/kernel_thunk.h"
#include "lower/lower_copy.h"
#include "lower/lower_join.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// The kernel's operands and results, in the operator's order.
struct Bounds {
  std::vector<Bound> operands, results;
};

// start: the flat operand of which result 0 starts as a copy; -1: none.
Bounds bind_all(Lowering& l, NodeId n, int start, KernelThunk& thunk) {
  const Node& node = l.graph.node(n);
  const OpView op = l.graph.view(n);
  Bounds out;
  std::optional<MemRef> begun;
  if (start >= 0) {
    const ValueId v = node.inputs[static_cast<size_t>(start)];
    begun = dense_copy(l, l.values.at(v), l.graph.type(v).dtype, thunk.kernel.name);
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId v = node.inputs[i];
    if (!v.valid()) {
      out.operands.emplace_back();
      continue;
    }
    const MemRef& at = begun && static_cast<int>(i) == start ? *begun : l.values.at(v);
    out.operands.push_back(thunk.bind(l.program, at, l.graph.type(v).dtype, Access::read));
    thunk.kernel.work += l.graph.type(v).numel().value();
  }
  for (int k = 0; k < op.out_count(); ++k) {
    const ValueId v = node.out(static_cast<uint32_t>(k));
    const Type& type = op.out_type(k);
    if (type.is_none || !l.values.is_wanted(v)) {
      const Layout layout = type.is_none ? Layout{} : Layout::contiguous(static_shape(type));
      out.results.push_back({-1, type.dtype, layout});
      continue;
    }
    const MemRef& at = begun && k == 0 ? l.values.put(v, *begun) : l.values.make(v);
    out.results.push_back(thunk.bind(l.program, at, type.dtype, Access::write));
    thunk.kernel.work += type.numel().value();
  }
  return out;
}

}  // namespace

void lower_kernel(Lowering& l, NodeId n, const KernelRule& rule) {
  const OpView op = l.graph.view(n);
  const int start = rule.starts_as ? rule.starts_as(op) : -1;
  if (start >= 0 && !l.values.is_wanted(l.graph.node(n).out(0))) return;
  if (lower_join(l, n, rule)) return;
  KernelThunk thunk;
  const std::string& name = thunk.kernel.name = l.graph.name(l.graph.node(n).out(0));
  Bounds bounds = bind_all(l, n, start, thunk);
  KernelSheet sheet(thunk.kernel);
  sheet.many_threads = l.kernels.choices().loops.many_threads;
  sheet.make_scratch = [&](DType dtype, const std::vector<int64_t>& shape) {
    const Layout layout = Layout::contiguous(shape);
    const MemRef at{add_storage(l.program, name + ".scratch", dtype, layout.numel()), layout};
    return thunk.bind(l.program, at, dtype, Access::write);
  };
  KernelBuilder b(sheet, bounds.operands, bounds.results);
  rule.build(b, op);
  if (!thunk.kernel.scalars.empty()) thunk.call.scalars = {op.int_attr("stream")};
  add_thunk(l, std::move(thunk), l.graph.name(l.graph.node(n).out(0)));
}

}  // namespace cleave
