#include "pass/autocast.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "ir/edit.h"
#include "ir/result_strides.h"
#include "ir/subgraph.h"
#include "pass/autocast_policy.h"

namespace cleave {
namespace {

bool may_cast(const Type& t) { return is_floating(t.dtype) && t.dtype != DType::f64; }

// Whether `to` can represent each value of `from`.
bool widens(DType from, DType to) {
  return is_floating(from) && (to == DType::f64 || (to == DType::f32 && from != DType::f64));
}

class Autocast {
 public:
  Autocast(Graph& g, const OpDef& copy, DType dtype) : g_(g), copy_(copy), lower_(dtype) {}

  // Returns whether anything changed.
  Result<bool> run() {
    for (const NodeId n : g_.order()) {
      CLEAVE_CHECK(visit(n));
      remember(n);
    }
    CLEAVE_CHECK(keep_results());
    for (const NodeId n : std::views::reverse(replaced_)) g_.erase(n);
    changed_ = changed_ || !replaced_.empty();
    if (changed_) eliminate_dead_code(g_);
    return changed_;
  }

 private:
  ValueId now(ValueId v) const {
    const auto found = now_.find(v);
    return found == now_.end() ? v : found->second;
  }

  // Returns v in another dtype, for `user` (invalid: the end of the graph).
  Result<ValueId> cast(ValueId v, DType t, NodeId user) {
    if (g_.type(v).dtype == t) return v;
    const auto known = casts_.find({v, t});
    if (known != casts_.end()) return known->second;
    const NodeId def = g_.value(v).def;
    if (def.valid() && g_.node(def).op == &copy_) {
      const ValueId from = g_.node(def).inputs[0];
      if (g_.type(from).dtype == t && widens(t, g_.type(v).dtype)) return from;
    }
    NodeSpec spec;
    if (def.valid() && holds_all(*g_.node(def).op)) {
      // Views the cast, so that all views of a parameter share one cast, and products see through
      // it.
      CLEAVE_TRY(const ValueId from, cast(g_.node(def).inputs[0], t, user));
      spec.op = g_.node(def).op;
      spec.inputs = {from};
      spec.attrs = g_.node(def).attrs;
    } else {
      spec.op = &copy_;
      spec.inputs = {v};
      spec.attrs.set(static_cast<uint16_t>(copy_.schema.find("dtype")), AttrValue(t));
    }
    spec.names = {g_.fresh_name(fmt::format("{}.{}", g_.name(v), name_of(t)))};
    spec.before = user;
    if (user.valid()) {
      spec.loc = g_.node(user).loc;
      if (def.valid()) spec.tag = g_.node(user).tag;  // a parameter's cast is shared by all regions
    }
    CLEAVE_TRY(const NodeId made, g_.add_node(std::move(spec)));
    changed_ = true;
    return casts_[{v, t}] = g_.node(made).out(0);
  }

  // The dtype that a call's operands are converted to; none: they are left as they are.
  std::optional<DType> wanted(CastPolicy policy, const std::vector<ValueId>& inputs) const {
    switch (policy) {
      case CastPolicy::lower: return lower_;
      case CastPolicy::f32: return DType::f32;
      case CastPolicy::promote: {
        const bool wide = std::ranges::any_of(
            inputs, [&](ValueId v) { return v.valid() && g_.type(v).dtype == DType::f32; });
        return wide ? DType::f32 : lower_;
      }
      case CastPolicy::declared:
      case CastPolicy::follow: break;
    }
    return std::nullopt;
  }

  Result<std::vector<ValueId>> operands(NodeId n, CastPolicy policy) {
    const Node& node = g_.node(n);
    std::vector<ValueId> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(now(v));
    const std::optional<DType> want = wanted(policy, inputs);
    for (size_t k = 0; k < inputs.size(); ++k) {
      ValueId& v = inputs[k];
      if (!v.valid() || !may_cast(g_.type(v))) continue;
      if (policy == CastPolicy::declared) {
        CLEAVE_TRY(v, cast(v, g_.type(node.inputs[k]).dtype, n));
      } else if (want) {
        CLEAVE_TRY(v, cast(v, *want, n));
      }
    }
    return inputs;
  }

  Status visit(NodeId n) {
    const Node& node = g_.node(n);
    if (const ValueId same = uncopied(node); same.valid()) {
      now_[node.out(0)] = same;
      replaced_.push_back(n);
      return {};
    }
    const CastPolicy policy = cast_policy(*node.op);
    CLEAVE_TRY(std::vector<ValueId> inputs, operands(n, policy));
    if (inputs == node.inputs) return {};
    std::vector<std::string> names;
    for (uint32_t k = 0; k < node.output_count; ++k) {
      names.push_back(g_.name(node.out(k)));
      CLEAVE_CHECK(g_.rename(node.out(k), g_.fresh_name(names.back() + ".before")));
    }
    Result<NodeId> made = again(n, std::move(inputs), names);
    if (!made.ok() || !fits(node, g_.node(*made))) {
      if (made.ok()) g_.erase(*made);
      CLEAVE_TRY(inputs, operands(n, CastPolicy::declared));
      made = again(n, std::move(inputs), names);
    }
    if (!made.ok()) return std::move(made).failure();
    for (uint32_t k = 0; k < node.output_count; ++k) now_[node.out(k)] = g_.node(*made).out(k);
    replaced_.push_back(n);
    return {};
  }

  // Records a conversion of the program, so that later uses of that dtype share it.
  void remember(NodeId n) {
    const Node& node = g_.node(n);
    if (node.op != &copy_ || g_.view(n).given("memory_format")) return;
    const ValueId out = now(node.out(0));
    casts_.try_emplace({now(node.inputs[0]), g_.type(out).dtype}, out);
  }

  // The operand of a copy to the dtype that the operand already has.
  ValueId uncopied(const Node& node) const {
    if (node.op != &copy_) return {};
    const OpView call = g_.view(g_.value(node.out(0)).def);
    const ValueId from = now(node.inputs[0]);
    const bool same = call.dtype_attr("dtype") == g_.type(from).dtype;
    return same && !call.given("memory_format") ? from : ValueId();
  }

  Result<NodeId> again(NodeId n, std::vector<ValueId> inputs,
                       const std::vector<std::string>& names) {
    const Node& node = g_.node(n);
    NodeSpec spec;
    spec.op = node.op;
    spec.inputs = std::move(inputs);
    spec.list_size = node.list_size;
    spec.attrs = node.attrs;
    spec.names = names;
    spec.before = n;
    spec.loc = node.loc;
    spec.tag = node.tag;
    return g_.add_node(std::move(spec));
  }

  // Whether the results are unchanged, except for the widths of floats.
  bool fits(const Node& before, const Node& after) const {
    if (before.output_count != after.output_count) return false;
    for (uint32_t k = 0; k < before.output_count; ++k) {
      const Type &a = g_.type(before.out(k)), &b = g_.type(after.out(k));
      if (a.is_none != b.is_none) return false;
      if (a.is_none) continue;
      if (a.shape != b.shape) return false;
      if (a.dtype != b.dtype && !(may_cast(a) && may_cast(b))) return false;
    }
    return true;
  }

  Status keep_results() {
    std::vector<Return> returns = g_.returns();
    for (Return& r : returns) {
      CLEAVE_TRY(r.value, cast(now(r.value), g_.type(r.value).dtype, {}));
    }
    g_.set_returns(std::move(returns));
    return {};
  }

  Graph& g_;
  const OpDef& copy_;
  DType lower_;
  std::map<ValueId, ValueId> now_;  // the replacements of values
  std::map<std::pair<ValueId, DType>, ValueId> casts_;
  std::vector<NodeId> replaced_;
  bool changed_ = false;
};

}  // namespace

Status autocast(Graph& g, const OpRegistry& ops, DType dtype) {
  if (dtype != DType::bf16 && dtype != DType::f16)
    return user_error("autocast: {}: expected bf16 or f16", name_of(dtype));
  if (g.is_joint())
    return user_error("@{}: has tangents or gradients already, autocast comes before them",
                      g.name());
  const OpDef* copy = ops.find("_to_copy");
  if (!copy) return bug("autocast: there is no operator _to_copy");
  const auto change = [&](Graph& body) { return Autocast(body, *copy, dtype).run(); };
  const ResultStrides strides(g);
  CLEAVE_CHECK(rewrite_subgraphs(g, change));
  const Result<bool> changed = change(g);
  if (!changed.ok()) return Failure(changed.failure());
  return strides.restore(g, ops);
}

}  // namespace cleave
