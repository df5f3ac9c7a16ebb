#include "export/onnx/sizes.h"

#include <optional>

namespace cleave::to_onnx {
namespace {

// A size that is linear in one symbol which isn't known yet: factor * symbol + rest.
struct Linear {
  std::string symbol;
  int64_t factor = 0;
  Dim rest;
};

std::optional<Linear> linear_in_new(const Dim& size, const std::map<std::string, V>& known) {
  Linear out;
  Dim with = 0;
  for (const DimTerm& t : terms_of(size)) {
    Dim product(t.factor);
    std::vector<std::string> symbols;
    for (const DimAtom& a : t.atoms) {
      if (a.kind == DimAtom::Kind::symbol) symbols.push_back(a.symbol);
      a.a.collect_symbols(symbols);
      a.b.collect_symbols(symbols);
    }
    std::erase_if(symbols, [&](const std::string& s) { return known.contains(s); });
    if (symbols.empty()) continue;
    if (!out.symbol.empty() || t.atoms.size() != 1 || t.atoms[0].symbol.empty())
      return std::nullopt;
    out.symbol = t.atoms[0].symbol;
    out.factor = t.factor;
    with = Dim(t.factor) * Dim::symbol(out.symbol);
  }
  if (out.symbol.empty()) return std::nullopt;
  out.rest = size - with;
  return out;
}

}  // namespace

// `value` is a dim's size, i64[].
bool Sizes::bind_one(const Dim& size, const V& value) {
  const std::optional<Linear> linear = linear_in_new(size, symbols_);
  if (!linear) return false;
  m_.name_after(linear->symbol);
  V v = value;
  if (linear->rest != Dim(0)) v = binary("Sub", v, scalar(linear->rest));
  if (linear->factor != 1) v = binary("Div", v, m_.integer_number(linear->factor));
  symbols_[linear->symbol] = v;
  return true;
}

Status Sizes::bind(const Graph& g, const Vs& values) {
  env_ = g.env();
  const std::vector<Placeholder>& places = g.placeholders();
  std::vector<V> shapes(places.size());
  for (bool found = true; found;) {
    found = false;
    for (size_t p = 0; p < places.size(); ++p) {
      if (places[p].role == Role::symint) continue;
      const Shape& shape = g.type(places[p].value).shape;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (!linear_in_new(shape[d], symbols_)) continue;
        m_.name_after(values[p].name);
        if (shapes[p].name.empty()) shapes[p] = m_.node("Shape", {values[p]}, DType::i64);
        const V size =
            m_.node("Gather", {shapes[p], m_.integer_number(static_cast<int64_t>(d))}, DType::i64);
        found = bind_one(shape[d], size) || found;
      }
    }
  }
  for (const Placeholder& p : places)
    if (p.role == Role::symint && !symbols_.contains(g.name(p.value)))
      return unsupported("the size %{} can't be told from the shape of an input", g.name(p.value));
  return {};
}

V Sizes::call(const DimAtom& a) {
  const V x = scalar(a.a), y = scalar(a.b);
  // Div truncates: of what is below 0, a multiple of y is divided.
  const bool positive = env_.range_of(a.a).lo >= 0 && env_.range_of(a.b).lo > 0;
  const auto quotient = [&] {
    return binary("Div", positive ? x : binary("Sub", x, binary("Mod", x, y)), y);
  };
  switch (a.kind) {
    case DimAtom::Kind::symbol: break;
    case DimAtom::Kind::min: return binary("Min", x, y);
    case DimAtom::Kind::max: return binary("Max", x, y);
    case DimAtom::Kind::mod:
      return positive ? binary("Sub", x, binary("Mul", quotient(), y)) : binary("Mod", x, y);
    case DimAtom::Kind::floordiv: break;
  }
  return quotient();
}

V Sizes::scalar(const Dim& d) {
  if (d.is_const()) return m_.integer_number(d.value());
  return m_.once("size " + d.text(), [&] { return sum(d); });
}

V Sizes::sum(const Dim& d) {
  V total;
  for (const DimTerm& t : terms_of(d)) {
    V product;
    const auto times = [&](const V& v) {
      product = product.name.empty() ? v : binary("Mul", product, v);
    };
    for (const DimAtom& a : t.atoms)
      times(a.kind == DimAtom::Kind::symbol ? symbol(a.symbol) : call(a));
    if (t.factor != 1 || product.name.empty()) times(m_.integer_number(t.factor));
    total = total.name.empty() ? product : binary("Add", total, product);
  }
  return total;
}

// i64[1]
V Sizes::item(const Dim& d) {
  if (d.is_const()) return m_.list({d.value()});
  return m_.once("item " + d.text(),
                 [&] { return m_.node("Unsqueeze", {scalar(d), m_.list({0})}, DType::i64); });
}

V Sizes::list(const Shape& dims) {
  Ints known;
  for (const Dim& d : dims)
    if (d.is_const()) known.push_back(d.value());
  if (known.size() == dims.size()) return m_.list(known);
  if (dims.size() == 1) return item(dims[0]);
  return m_.once("sizes " + shape_text(dims), [&] {
    Vs parts;
    for (const Dim& d : dims) parts.push_back(item(d));
    return m_.node("Concat", parts, DType::i64, {integer("axis", 0)});
  });
}

}  // namespace cleave::to_onnx
