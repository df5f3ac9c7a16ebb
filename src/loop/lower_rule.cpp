#include "loop/lower_rule.h"

namespace cleave::loop {
namespace {

template <class Form>
LowerPtr rule(Form form) {
  return std::make_shared<const LowerRule>(LowerRule{std::move(form)});
}

}  // namespace

const ElementwiseRule* elementwise_rule(const LowerRule& rule, const OpView& op) {
  if (const auto* r = std::get_if<ElementwiseRule>(&rule.form)) return r;
  const auto* k = std::get_if<KernelRule>(&rule.form);
  return k && k->is_elementwise && k->is_elementwise(op) ? &*k->elementwise : nullptr;
}

bool LowerRule::decomposes(const OpView& op, bool on_gpu) const {
  if (const auto* library = std::get_if<LibraryRule>(&form))
    return (on_gpu && library->is_of_host) || !library->form(op);
  return std::holds_alternative<DecompositionRule>(form);
}

LowerPtr elementwise(std::function<Exprs(KernelBuilder&, const OpView&, const Exprs&)> value,
                     bool in_range) {
  return rule(ElementwiseRule{std::move(value), in_range});
}

LowerPtr pointwise(std::function<Expr(const OpView&, const Exprs&)> value) {
  auto at = [value = std::move(value)](KernelBuilder& k, const OpView& op,
                                       const Exprs& index) -> Exprs {
    Exprs x;
    for (int i = 0; i < op.operand_count(); ++i) {
      if (op.is_number(i)) {
        const AttrValue& n = op.number(i);
        DType t = compute_type(op.out_type(0).dtype);
        if (auto* d = n.get<Dim>())
          x.push_back(constant_int(t, d->value()));
        else
          x.push_back(constant(t, n.as_double()));
      } else if (op.has(i)) {
        x.push_back(k.load_broadcast(i, index));
      } else {
        x.emplace_back();
      }
    }
    return {value(op, x)};
  };
  return rule(ElementwiseRule{std::move(at), true});
}

LowerPtr reduction(ReductionRule r) { return rule(std::move(r)); }
LowerPtr kernel(std::function<void(KernelBuilder&, const OpView&)> build) {
  return rule(KernelRule{std::move(build)});
}
LowerPtr kernel(KernelRule r) { return rule(std::move(r)); }
LowerPtr view(std::function<std::optional<Layout>(const OpView&, const Layout&, int)> layout) {
  return rule(ViewRule{std::move(layout)});
}
LowerPtr library(std::function<std::optional<LibraryForm>(const OpView&)> form) {
  return rule(LibraryRule{std::move(form)});
}
LowerPtr library_of_host(std::function<std::optional<LibraryForm>(const OpView&)> form) {
  return rule(LibraryRule{std::move(form), true});
}
LowerPtr foreign(ForeignRule r) { return rule(std::move(r)); }
LowerPtr branch() { return rule(BranchRule{}); }
LowerPtr repeat() { return rule(LoopRule{}); }
LowerPtr group() { return rule(GroupRule{}); }
LowerPtr by_rows() { return rule(RowsRule{}); }
LowerPtr by_decomposition() { return rule(DecompositionRule{}); }

}  // namespace cleave::loop
