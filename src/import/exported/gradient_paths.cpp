#include "import/exported/gradient_paths.h"

#include <algorithm>

namespace cleave::exported {

bool GradientPaths::begins_at(ValueId placeholder) const {
  const Placeholder* p = graph_.placeholder_of(placeholder);
  return p && (p->wants_grad || (of_subgraph_ && p->role == Role::input));
}

bool GradientPaths::leads_to(ValueId result) const {
  const ValueInfo& info = graph_.value(result);
  const Node& node = graph_.node(info.def);
  if (info.index < 32 && (node.op->nondifferentiable >> info.index & 1) != 0) return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId v) { return v.valid() && known_[v.v]; });
}

// Operands are made before their results.
bool GradientPaths::reach(ValueId v) {
  while (known_.size() <= v.v) {
    const ValueId next{static_cast<uint32_t>(known_.size())};
    const ValueInfo& info = graph_.value(next);
    const bool is_number = info.type.is_none || !is_floating(info.type.dtype);
    known_.push_back(!is_number && (info.def.valid() ? leads_to(next) : begins_at(next)));
  }
  return known_[v.v];
}

}  // namespace cleave::exported
