#include "pass/freeze/constant_values.h"

#include <algorithm>
#include <limits>

#include "pass/freeze/frozen_values.h"
#include "pass/uniform_value.h"

namespace cleave {
namespace {

constexpr double always = std::numeric_limits<double>::infinity();
// What an operand that is broadcast counts for: it is read.
constexpr double read_once = 1;

double elements(const Type& t) {
  double n = 1;
  for (const int64_t size : static_shape(t)) n *= static_cast<double>(size);
  return n;
}

class DearConstants {
 public:
  DearConstants(const Graph& g, const ConstantLimits& limits)
      : g_(g), limits_(limits), constant_(constant_values(g)), flops_(g.value_capacity()),
        is_uniform_(g.value_capacity()), needed_(g.value_capacity()) {}

  Values find() {
    bool is_any = false;
    for (const NodeId n : g_.order())
      if (is_constant(n)) is_any |= measure(n);
    if (!is_any) return {};
    find_uniform();
    Values found;
    for (NodeId n = g_.last_node(); n.valid(); n = g_.prev_node(n)) {
      const Node& node = g_.node(n);
      if (!is_constant(n)) {
        need_operands(node);
        continue;
      }
      Values dear;
      bool is_needed = false;
      for (uint32_t k = 0; k < node.output_count; ++k) {
        const ValueId v = node.out(k);
        is_needed |= needed_[v.v];
        if (needed_[v.v] && is_dear(v) && !is_uniform_[v.v]) dear.push_back(v);
      }
      if (dear.empty() && is_needed) need_operands(node);
      found.insert(found.end(), dear.rbegin(), dear.rend());
    }
    std::ranges::reverse(found);
    return found;
  }

 private:
  bool is_constant(NodeId n) const {
    const Node& node = g_.node(n);
    return node.output_count > 0 && constant_[node.out(0).v];
  }
  void need_operands(const Node& node) {
    for (const ValueId v : node.inputs)
      if (v.valid()) needed_[v.v] = true;
  }

  // Those whose number is known, and what is computed from them element by element.
  void find_uniform() {
    const UniformValues known(g_);
    for (const NodeId n : g_.order()) {
      if (!is_constant(n)) continue;
      const Node& node = g_.node(n);
      const bool keeps =
          has(node.op->traits, Trait::pointwise) || has(node.op->traits, Trait::view);
      const bool all = keeps && !node.inputs.empty() &&
                       std::ranges::all_of(
                           node.inputs, [&](ValueId v) { return is_none(v) || is_uniform_[v.v]; });
      for (uint32_t k = 0; k < node.output_count; ++k)
        is_uniform_[node.out(k).v] = all || known.find(node.out(k)) != nullptr;
    }
  }

  // Sets the work for each element of the results; returns whether one of them is dear.
  bool measure(NodeId n) {
    const Node& node = g_.node(n);
    if (!std::ranges::all_of(node.inputs, [&](ValueId v) { return is_none(v) || is_static(v); }))
      return false;
    bool is_any = false;
    for (uint32_t k = 0; k < node.output_count; ++k) {
      const Type& t = g_.type(node.out(k));
      if (t.is_none || !t.is_static()) continue;
      flops_[node.out(k).v] = flops_of(node, g_.view(n), elements(t));
      is_any |= is_dear(node.out(k));
    }
    return is_any;
  }
  bool is_static(ValueId v) const { return g_.type(v).is_static(); }
  static bool is_none(ValueId v) { return !v.valid(); }

  double flops_of(const Node& node, const OpView& call, double count) const {
    const Trait traits = node.op->traits;
    if (count == 0) return 0;
    double flops = 0;
    if (!has(traits, Trait::view)) {
      if (has(traits, Trait::reduction) || has(traits, Trait::compute_intensive)) return always;
      if (!has(traits, Trait::fusible)) return always;
      flops = std::max(static_cast<double>((*node.op->cost)(call).flops) / count,
                       has(traits, Trait::constructor) ? 0.0 : 1.0);
    }
    for (const ValueId v : node.inputs) {
      if (is_none(v)) continue;
      const bool is_broadcast = elements(g_.type(v)) < count;
      flops += is_broadcast ? std::min(flops_[v.v], read_once) : flops_[v.v];
    }
    return flops;
  }

  bool is_dear(ValueId v) const {
    const Type& t = g_.type(v);
    if (t.is_none || !t.is_static() || has(g_.node(g_.value(v).def).op->traits, Trait::view))
      return false;
    const double count = elements(t),
                 words = std::max(1.0, static_cast<double>(size_of(t.dtype)) / 4);
    if (count == 0 || flops_[v.v] < static_cast<double>(limits_.least_flops) * words) return false;
    return work(v) >= static_cast<double>(limits_.least_work);
  }

  // Of the call and those in its kernel; of one that isn't pointwise, its own alone.
  double work(ValueId v) const {
    const NodeId n = g_.value(v).def;
    if (flops_[v.v] != always) return flops_[v.v] * elements(g_.type(v));
    double read = 0;
    for (const ValueId operand : g_.node(n).inputs)
      if (!is_none(operand)) read += elements(g_.type(operand));
    return std::max(read, static_cast<double>((*g_.node(n).op->cost)(g_.view(n)).flops));
  }

  const Graph& g_;
  const ConstantLimits limits_;
  const std::vector<bool> constant_;
  std::vector<double> flops_;     // by value: for each element
  std::vector<bool> is_uniform_;  // by value: one number everywhere
  std::vector<bool> needed_;      // by value, in each run
};

bool has_graph(const Node& node) {
  return std::ranges::any_of(node.attrs.given(), [](const auto& attr) {
    return attr.second.template get<GraphRef>() != nullptr;
  });
}

}  // namespace

std::vector<bool> constant_values(const Graph& g) {
  return frozen_values(g, std::vector<bool>(g.value_capacity()), [](const Node& node) {
    return node.op->file.empty() || has(node.op->traits, Trait::data_dependent) ||
           !node.op->cost.present() || has_graph(node);
  });
}

Values dear_constants(const Graph& g, const ConstantLimits& limits) {
  return DearConstants(g, limits).find();
}

}  // namespace cleave
