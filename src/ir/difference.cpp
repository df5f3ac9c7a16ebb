// Compares graphs structurally: values are the same if they have the same name and are defined by
// the same placeholder or by the same result of the node at the same place in the order.
#include <set>

#include "ir/print.h"
#include "ir/text.h"

namespace cleave {
namespace {

class Comparison {
 public:
  // Pairs of graphs already known to be equal, so that each pair is compared once.
  using Equal = std::set<std::pair<const Graph*, const Graph*>>;

  Comparison(const Graph& a, const Graph& b, Equal& equal) : a_(a), b_(b), equal_(equal) {}
  std::string run();

 private:
  std::string placeholders();
  std::string node(NodeId m, NodeId n);
  std::string returns();
  std::string attr(const AttrValue& v, const AttrValue& w);
  bool same(ValueId v, ValueId w) const {
    if (!v.valid() || !w.valid()) return v == w;
    return v.v < to_b_.size() && to_b_[v.v] == w;
  }
  std::string values(ValueId v, ValueId w);

  const Graph& a_;
  const Graph& b_;
  Equal& equal_;
  std::vector<ValueId> to_b_ = std::vector<ValueId>(a_.value_capacity());
};

std::string Comparison::values(ValueId v, ValueId w) {
  to_b_[v.v] = w;
  if (a_.name(v) != b_.name(w)) return fmt::format("%{} against %{}", a_.name(v), b_.name(w));
  if (!(a_.type(v) == b_.type(w)))
    return fmt::format("%{} is {} against {}", a_.name(v), a_.type(v).text(), b_.type(w).text());
  return "";
}

std::string Comparison::placeholders() {
  const auto &p = a_.placeholders(), &q = b_.placeholders();
  if (p.size() != q.size()) return fmt::format("{} placeholders against {}", p.size(), q.size());
  for (size_t i = 0; i < p.size(); ++i) {
    if (std::string d = values(p[i].value, q[i].value); !d.empty()) return d;
    if (p[i].role != q[i].role || p[i].wants_grad != q[i].wants_grad ||
        p[i].sym.range.lo != q[i].sym.range.lo || p[i].sym.range.hi != q[i].sym.range.hi ||
        p[i].sym.hint != q[i].sym.hint)
      return fmt::format("the role, grad, range or hint of %{}", a_.name(p[i].value));
  }
  return "";
}

std::string Comparison::attr(const AttrValue& v, const AttrValue& w) {
  const GraphRef *g = v.get<GraphRef>(), *h = w.get<GraphRef>();
  if (g && h && *g && *h) return *g == *h ? "" : Comparison(**g, **h, equal_).run();
  const AttrList *x = v.get<AttrList>(), *y = w.get<AttrList>();
  if (!x || !y) return v == w ? "" : fmt::format("{} against {}", v.text(), w.text());
  if (x->size() != y->size()) return "lists of different lengths";
  for (size_t i = 0; i < x->size(); ++i)
    if (std::string d = attr((*x)[i], (*y)[i]); !d.empty()) return d;
  return "";
}

std::string Comparison::node(NodeId m, NodeId n) {
  const Node &x = a_.node(m), &y = b_.node(n);
  const auto &p = x.attrs.given(), &q = y.attrs.given();
  bool equal = x.op == y.op && x.list_size == y.list_size && x.inputs.size() == y.inputs.size() &&
               x.output_count == y.output_count && x.tag == y.tag && p.size() == q.size() &&
               a_.loc_text(x.loc) == b_.loc_text(y.loc);
  for (size_t i = 0; equal && i < x.inputs.size(); ++i) equal = same(x.inputs[i], y.inputs[i]);
  std::string why;
  for (size_t i = 0; equal && i < p.size(); ++i) {
    equal = p[i].first == q[i].first;
    if (equal) why = attr(p[i].second, q[i].second);
    equal = equal && why.empty();
  }
  for (uint32_t k = 0; equal && k < x.output_count; ++k) {
    why = values(x.out(k), y.out(k));
    equal = why.empty();
  }
  if (equal) return "";
  return fmt::format("'{}' against '{}'{}{}", print_node(a_, m), print_node(b_, n),
                     why.empty() ? "" : ": ", why);
}

std::string Comparison::returns() {
  const auto &r = a_.returns(), &s = b_.returns();
  if (r.size() != s.size()) return fmt::format("{} returns against {}", r.size(), s.size());
  for (size_t i = 0; i < r.size(); ++i)
    if (r[i].kind != s[i].kind || !same(r[i].value, s[i].value) ||
        (r[i].kind != ReturnKind::result && !same(r[i].target, s[i].target)))
      return fmt::format("entry {} of return", i);
  return "";
}

std::string Comparison::run() {
  if (equal_.contains({&a_, &b_})) return "";
  auto in_graph = [&](const std::string& why) { return fmt::format("@{}: {}", a_.name(), why); };
  if (a_.name() != b_.name()) return in_graph("against @" + b_.name());
  if (a_.node_count() != b_.node_count())
    return in_graph(fmt::format("{} nodes against {}", a_.node_count(), b_.node_count()));
  if (std::string d = placeholders(); !d.empty()) return in_graph(d);
  NodeId m = a_.first_node(), n = b_.first_node();
  for (; m.valid(); m = a_.next_node(m), n = b_.next_node(n))
    if (std::string d = node(m, n); !d.empty()) return in_graph(d);
  if (std::string d = returns(); !d.empty()) return in_graph(d);
  equal_.insert({&a_, &b_});
  return "";
}

}  // namespace

std::string difference(const Graph& a, const Graph& b) {
  Comparison::Equal equal;
  return Comparison(a, b, equal).run();
}

std::string difference(const Program& a, const Program& b) {
  Comparison::Equal equal;
  const auto x = subgraphs_in_order(a.main, a.subgraphs),
             y = subgraphs_in_order(b.main, b.subgraphs);
  if (x.size() != y.size()) return fmt::format("{} subgraphs against {}", x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i)
    if (std::string d = Comparison(*x[i], *y[i], equal).run(); !d.empty()) return d;
  return Comparison(a.main, b.main, equal).run();
}

}  // namespace cleave
