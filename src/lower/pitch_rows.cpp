#include "lower/pitch_rows.h"

namespace cleave {

using namespace cleave::loop;

namespace {

constexpr int64_t min_pieces = 16;  // of row_bytes in a row: gaps are at most a part of them

const LowerRule* lower_rule(const Node& node) {
  return node.op->lower.present() ? &**node.op->lower : nullptr;
}

// The row-major layout with gaps behind the rows; nullopt if there are none, or rows are short.
std::optional<Layout> pitched(const Type& type, int64_t row_bytes) {
  if (type.is_none || !is_floating(type.dtype) || !type.is_static() || type.strides ||
      type.rank() < 2)
    return std::nullopt;
  Layout at = Layout::contiguous(static_shape(type));
  const int64_t row = at.shape.back(), unit = row_bytes / size_of(type.dtype);
  if (unit <= 1 || row % unit == 0 || row < min_pieces * unit || at.numel() == row)
    return std::nullopt;
  int64_t stride = (row + unit - 1) / unit * unit;
  for (size_t d = at.shape.size() - 1; d-- > 0;) {
    at.strides[d] = stride;
    stride *= at.shape[d];
  }
  return at;
}

class Readers {
 public:
  explicit Readers(const Graph& g) : g_(g), returned_(g.value_capacity()) {
    for (const Return& r : g.returns()) returned_[r.value.v] = true;
  }
  bool has_product = false;

  bool take(ValueId v, const Layout& at) {
    if (returned_[v.v]) return false;
    for (const Use& use : g_.uses(v))
      if (!takes(use.node, v, at)) return false;
    return true;
  }

 private:
  bool takes(NodeId n, ValueId v, const Layout& at) {
    const OpView op = g_.view(n);
    const LowerRule* rule = lower_rule(g_.node(n));
    if (!rule) return false;
    if (auto* view = std::get_if<ViewRule>(&rule->form)) {
      for (int k = 0; k < op.out_count(); ++k) {
        const std::optional<Layout> seen = view->layout(op, at, k);
        if (!seen || !take(g_.node(n).out(static_cast<uint32_t>(k)), *seen)) return false;
      }
      return true;
    }
    if (auto* library = std::get_if<LibraryRule>(&rule->form)) {
      const std::optional<LibraryForm> form = library->form(op);
      if (!form) return false;
      for (const LibraryOperand& o : form->operands) {
        if (o.access == LibraryAccess::write || op.in(o.index) != v || !o.takes) continue;
        if (!o.takes(at)) return false;
        has_product = true;
      }
      return true;
    }
    return std::holds_alternative<ElementwiseRule>(rule->form) ||
           std::holds_alternative<ReductionRule>(rule->form) ||
           std::holds_alternative<KernelRule>(rule->form) ||
           std::holds_alternative<GroupRule>(rule->form);
  }

  const Graph& g_;
  std::vector<bool> returned_;  // by value
};

}  // namespace

void pitch_rows(const Graph& g, int64_t row_bytes, Places& places) {
  if (row_bytes <= 1) return;
  Readers readers(g);
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const LowerRule* rule = lower_rule(g.node(n));
    for (uint32_t k = 0; k < g.node(n).output_count; ++k) {
      const ValueId v = g.node(n).out(k);
      const std::optional<Layout> at = pitched(g.type(v), row_bytes);
      if (!at || places.contains(v.v) || !can_write(g, {v, *at})) continue;
      readers.has_product = std::holds_alternative<LibraryRule>(rule->form);
      if (readers.take(v, *at) && readers.has_product) places[v.v] = {v, *at};
    }
  }
}

}  // namespace cleave
