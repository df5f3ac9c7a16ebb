#include "lower/place.h"

#include <algorithm>

#include "lower/undo_view.h"

namespace cleave {

using namespace cleave::loop;

namespace {

constexpr int64_t near_calls = 12;  // at most, from a part to the last one

const LowerRule* rule_of(const Node& node) {
  return node.op->lower.present() ? &**node.op->lower : nullptr;
}

template <class Form>
const Form* form_of(const Node& node) {
  const LowerRule* rule = rule_of(node);
  return rule ? std::get_if<Form>(&rule->form) : nullptr;
}

bool library_can_write(const OpView& op, const LibraryRule& rule, size_t result, const Layout& at) {
  const std::optional<LibraryForm> form = rule.form(op);
  return form && std::ranges::any_of(form->operands, [&](const LibraryOperand& o) {
           return o.access == LibraryAccess::write && std::cmp_equal(o.index, result) && o.takes &&
                  o.takes(at);
         });
}

class Placer {
 public:
  explicit Placer(const Graph& g) : g_(g), position_(g.node_capacity()) {
    for (const Return& r : g.returns()) returned_.push_back(r.value);
    std::ranges::sort(returned_);
  }

  Places run() {
    int64_t calls = 0;
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n))
      position_[n.v] = calls += form_of<ViewRule>(g_.node(n)) == nullptr;
    // Backwards, so that of nested joins the outer one comes first.
    for (NodeId n = g_.last_node(); n.valid(); n = g_.prev_node(n)) {
      for (uint32_t k = 0; k < g_.node(n).output_count; ++k) place_for_views(g_.node(n).out(k));
      if (const auto* rule = form_of<KernelRule>(g_.node(n));
          rule && rule->parts && is_join(g_.view(n)))
        place_parts(n);
    }
    return std::move(out_);
  }

 private:
  struct Part {
    Wanted wanted;
    int64_t position = 0;
  };

  void place_parts(NodeId n) {
    const Node& node = g_.node(n);
    const OpView op = g_.view(n);
    const KernelRule& rule = *form_of<KernelRule>(node);
    const auto known = out_.find(node.out(0).v);
    const Place whole = known != out_.end()
                            ? known->second
                            : Place{node.out(0), Layout::contiguous(static_shape(op.out_type(0)))};
    const std::vector<Layout> layouts = rule.parts(op, whole.layout);
    std::vector<Part> parts;
    int64_t last = 0;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const Layout& at = layouts[k];
      if (at.numel() == 0) continue;
      const std::optional<Wanted> wanted = made_before_views(g_, node.inputs[k], at);
      if (wanted && g_.use_count(node.inputs[k]) == 1 && !is_returned(node.inputs[k], *wanted) &&
          can_write(g_, *wanted)) {
        parts.push_back({*wanted, position_[g_.value(wanted->value).def.v]});
        last = std::max(last, parts.back().position);
      } else {
        last = position_[n.v];
      }
    }
    const auto is_far = [&](const Part& p) { return last - p.position > near_calls; };
    if (std::ranges::any_of(parts, is_far)) last = position_[n.v];  // where those are copied
    for (Part& p : parts)
      if (!is_far(p)) out_[p.wanted.value.v] = {whole.whole, std::move(p.wanted.layout)};
  }

  // A value read through a view that row-major memory doesn't allow is laid out so that the view's
  // result is row-major.
  void place_for_views(ValueId v) {
    if (g_.use_count(v) != 1 || out_.contains(v.v)) return;
    if (form_of<ViewRule>(g_.node(g_.value(v).def))) return;
    if (!form_of<ViewRule>(g_.node(g_.uses(v)[0].node))) return;
    std::optional<Layout> at = Layout::contiguous(static_shape(g_.type(v)));
    for (ValueId w = v; g_.use_count(w) == 1 && !is_returned(w);) {
      const NodeId n = g_.uses(w)[0].node;
      const auto* view = form_of<ViewRule>(g_.node(n));
      if (!view || g_.node(n).output_count != 1) return;
      w = g_.node(n).out(0);
      at = view->layout(g_.view(n), *at, 0);
      if (at) continue;
      const std::optional<Wanted> made =
          made_before_views(g_, w, Layout::contiguous(static_shape(g_.type(w))));
      if (made && keeps_lines(made->layout) && can_write(g_, *made))
        out_[v.v] = {v, std::move(made->layout)};
      return;
    }
  }

  // The last dim must stay contiguous.
  static bool keeps_lines(const Layout& l) {
    return l.shape.empty() || l.shape.back() == 1 || l.strides.back() == 1;
  }

  bool is_returned(ValueId v) const { return std::ranges::binary_search(returned_, v); }

  // Whether the operand, the value that it is a view of, or a view between them is returned.
  bool is_returned(ValueId v, const Wanted& wanted) const {
    for (; !std::ranges::binary_search(returned_, v); v = g_.node(g_.value(v).def).inputs[0])
      if (v == wanted.value) return false;
    return true;
  }

  const Graph& g_;
  std::vector<int64_t> position_;  // by node: calls up to it, views left out
  std::vector<ValueId> returned_;  // sorted
  Places out_;
};

}  // namespace

Places place_values(const Graph& graph) { return Placer(graph).run(); }

bool is_join(const OpView& op) {
  if (!op.def().lower.present()) return false;
  const auto* rule = std::get_if<KernelRule>(&(*op.def().lower)->form);
  if (!rule || !rule->parts) return false;
  for (int k = 0; k < op.list_size(); ++k)
    if (op.list_type(k).dtype != op.out_type(0).dtype) return false;
  return true;
}

std::optional<Wanted> made_before_views(const Graph& g, ValueId v, Layout layout) {
  while (v.valid()) {
    const NodeId d = g.value(v).def;
    if (!d.valid()) return std::nullopt;
    const Node& node = g.node(d);
    const auto* view = form_of<ViewRule>(node);
    if (!view) return Wanted{v, std::move(layout)};
    const ValueId in = node.inputs[0];
    if (node.output_count != 1 || g.use_count(in) != 1 || g.type(v).dtype != g.type(in).dtype)
      return std::nullopt;
    std::optional<Layout> undone = undo_view(g.view(d), *view, layout);
    if (!undone) return std::nullopt;
    layout = *std::move(undone);
    v = in;
  }
  return std::nullopt;
}

bool can_write(const Graph& g, const Wanted& wanted) {
  const NodeId n = g.value(wanted.value).def;
  struct Form {
    const OpView op;
    size_t result;
    const Layout& at;
    bool operator()(const ElementwiseRule&) { return true; }
    bool operator()(const ReductionRule&) { return true; }
    bool operator()(const GroupRule&) { return true; }
    bool operator()(const KernelRule& r) { return !r.starts_as || r.starts_as(op) < 0; }
    bool operator()(const LibraryRule& r) { return library_can_write(op, r, result, at); }
    bool operator()(const ViewRule&) { return false; }
    bool operator()(const DecompositionRule&) { return false; }
    bool operator()(const ForeignRule&) { return false; }
    bool operator()(const BranchRule&) { return false; }
    bool operator()(const LoopRule&) { return false; }
    bool operator()(const RowsRule&) { return false; }
  };
  const LowerRule* rule = rule_of(g.node(n));
  // A single element is copied together with others: kernels that write it at different offsets
  // would be different kernels.
  if (wanted.layout.numel() == 1) return false;
  return rule && !has(g.node(n).op->traits, Trait::effect) &&
         std::visit(Form{g.view(n), g.value(wanted.value).index, wanted.layout}, rule->form);
}

}  // namespace cleave
