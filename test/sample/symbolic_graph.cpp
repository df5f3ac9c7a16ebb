#include "test/sample/symbolic_graph.h"

#include <algorithm>
#include <random>
#include <set>

namespace cleave::random {
namespace {

constexpr const char* symbol = "s0";

// `size` in the graph stands for `expression` of the symbol, whose value is `value`.
struct Change {
  int64_t size = 0;
  Dim expression;
  int64_t value = 0;
};

Shape changed(const Shape& shape, const Change& c) {
  Shape out = shape;
  for (Dim& d : out)
    if (d == Dim(c.size)) d = c.expression;
  return out;
}

AttrValue changed(const AttrValue& a, const Change& c) {
  if (const auto* list = a.get<AttrList>()) {
    AttrList out;
    for (const AttrValue& x : *list) out.push_back(changed(x, c));
    return out;
  }
  if (const Dim* d = a.get<Dim>(); d && *d == Dim(c.size)) return c.expression;
  return a;
}

// Whether `symbolic` is `type` where the symbol has its value.
bool stands_for(const Type& symbolic, const Type& type, const Change& c) {
  if (symbolic.is_none != type.is_none || symbolic.dtype != type.dtype ||
      symbolic.shape.size() != type.shape.size())
    return false;
  const auto value_of = [&](const std::string&) { return std::optional(c.value); };
  for (size_t d = 0; d < type.shape.size(); ++d)
    if (symbolic.shape[d].eval(value_of) != type.shape[d].value()) return false;
  return true;
}

class Symbolizer {
 public:
  Symbolizer(const RandomGraph& r, const Change& c) : r_(r), c_(c) {}

  std::optional<RandomGraph> run() {
    SymInfo info;
    info.range = {1, int64_t{1} << 20};
    info.hint = c_.value;
    if (!out_.g.add_placeholder(Role::symint, symbol, Type{DType::i64, {}}, false, info).ok())
      return std::nullopt;
    Array value(DType::i64, {});
    value.set(0, c_.value);
    out_.inputs.push_back(value);
    out_.inputs.insert(out_.inputs.end(), r_.inputs.begin(), r_.inputs.end());
    out_.symbols[symbol] = c_.value;
    values_.resize(r_.g.value_capacity());
    for (const Placeholder& p : r_.g.placeholders()) {
      Type t = r_.g.type(p.value);
      if (p.role != Role::rng_state) t.shape = changed(t.shape, c_);  // always i64[2]
      auto v = out_.g.add_placeholder(p.role, r_.g.name(p.value), t, p.wants_grad);
      if (!v.ok()) return std::nullopt;
      values_[p.value.v] = *v;
    }
    for (NodeId n = r_.g.first_node(); n.valid(); n = r_.g.next_node(n))
      if (!add(n, false) && !add(n, true)) return std::nullopt;
    for (const Return& x : r_.g.returns()) {
      const ValueId target = x.target.valid() ? values_[x.target.v] : x.target;
      out_.g.add_return({values_[x.value.v], x.kind, target});
    }
    return std::move(out_);
  }

 private:
  bool add(NodeId n, bool change_attributes) {
    const Node& node = r_.g.node(n);
    NodeSpec spec;
    spec.op = node.op;
    spec.list_size = node.list_size;
    spec.attrs = node.attrs;
    for (ValueId v : node.inputs) spec.inputs.push_back(v.valid() ? values_[v.v] : v);
    if (change_attributes)
      for (size_t k = 0; k < node.op->schema.args.size(); ++k) {
        const auto arg = static_cast<uint16_t>(k);
        if (const AttrValue* a = node.attrs.find(arg)) spec.attrs.set(arg, changed(*a, c_));
      }
    const Result<NodeId> made = out_.g.add_node(std::move(spec));
    if (!made.ok()) return false;
    for (uint32_t k = 0; k < node.output_count; ++k) {
      const ValueId v = out_.g.node(*made).out(k);
      if (!stands_for(out_.g.type(v), r_.g.type(node.out(k)), c_)) {
        out_.g.erase(*made);
        return false;
      }
      values_[node.out(k).v] = v;
    }
    return true;
  }

  const RandomGraph& r_;
  const Change& c_;
  RandomGraph out_;
  std::vector<ValueId> values_;
};

}  // namespace

std::optional<RandomGraph> with_symbol(const RandomGraph& r, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::set<int64_t> sizes;
  for (const Placeholder& p : r.g.placeholders())
    if (p.role != Role::rng_state)
      for (const Dim& d : r.g.type(p.value).shape)
        if (d.value() >= 2) sizes.insert(d.value());
  std::vector<int64_t> order(sizes.begin(), sizes.end());
  std::shuffle(order.begin(), order.end(), rng);
  for (int64_t n : order) {
    const bool half = n % 2 == 0 && rng() % 4 == 0;
    const Dim s = Dim::symbol(symbol);
    const Change c{n, half ? s * Dim(2) : s, half ? n / 2 : n};
    if (auto out = Symbolizer(r, c).run()) return out;
  }
  return std::nullopt;
}

}  // namespace cleave::random
