#include "op/grad_of_parts.h"

#include <algorithm>

#include "ir/builder.h"

namespace cleave {

GradFn grad_of_parts(DecomposeFn decompose) {
  return [decompose = std::move(decompose)](Builder& b, const GradView& op) {
    Values d(op.inputs().size(), ValueId::none());
    const Values parts = decompose(b, op);
    if (!b.status().ok()) return d;
    Values outs, douts, wrt;
    for (int k = 0; k < op.out_count(); ++k)
      if (op.dout(k).valid()) {
        outs.push_back(parts[k]);
        douts.push_back(op.dout(k));
      }
    std::vector<size_t> first;  // for each of wrt: the operand that gets its gradient
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      const ValueId v = op.inputs()[i];
      if (!op.needs_flat(i) || std::ranges::find(wrt, v) != wrt.end()) continue;
      wrt.push_back(v);
      first.push_back(i);
    }
    const Result<Values> grads = op.differentiate(b.graph(), b.ops(), outs, douts, wrt);
    if (!grads.ok()) {
      b.fail(grads.failure());
      return d;
    }
    for (size_t k = 0; k < wrt.size(); ++k) d[first[k]] = (*grads)[k];
    return d;
  };
}

}  // namespace cleave
