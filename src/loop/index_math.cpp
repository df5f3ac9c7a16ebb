#include "loop/index_math.h"

#include <algorithm>
#include <numeric>

#include "base/result.h"

namespace cleave::loop {

void IndexMath::declare(const Expr& var, int64_t extent) {
  if (var->op != Op::var) return;  // a constant: it says all
  Atom& atom = atoms_[atom_of(var)];
  if (atom.kind == Kind::opaque) atom.largest = std::max<int64_t>(extent - 1, 0);
  atom.kind = Kind::variable;
}

void IndexMath::declare_sum(const Expr& a, int64_t factor, const Expr& b, int64_t extent) {
  if (b->op != Op::var || a->op != Op::var) return;  // a constant: the other one says it all
  Atom& atom = atoms_[atom_of(b)];
  const int32_t other = atom_of(a);
  atom.other = other;
  atom.factor = factor;
  atom.largest_sum = std::min(extent - 1, factor * atoms_[other].largest + atom.largest);
}

int32_t IndexMath::atom_of(const Expr& e) {
  const auto [it, fresh] = atom_of_.try_emplace(e, static_cast<int32_t>(atoms_.size()));
  if (fresh) atoms_.push_back({e});
  return it->second;
}

int32_t IndexMath::part(Kind kind, const LinearIndex& inner, int64_t divisor) {
  const Op op = kind == Kind::quotient ? Op::truncdiv : Op::truncmod;
  const int32_t number = atom_of(binary(op, expr_of(inner), Expr(divisor)));
  Atom& atom = atoms_[number];
  if (atom.kind != Kind::opaque) return number;
  const int64_t most = largest(inner);
  atom.kind = kind;
  atom.inner = inner;
  atom.divisor = divisor;
  atom.largest = kind == Kind::remainder ? divisor - 1 : most < 0 ? -1 : most / divisor;
  return number;
}

LinearIndex IndexMath::chosen(Op op, const LinearIndex& a, const LinearIndex& b) {
  const bool larger = op == Op::max;
  const std::optional<Range> x = range(a), y = range(b);
  if (x && y && (larger ? x->low >= y->high : x->high <= y->low)) return a;
  if (x && y && (larger ? y->low >= x->high : y->high <= x->low)) return b;
  const int32_t number = atom_of(binary(op, expr_of(a), expr_of(b)));
  if (x && y && (larger ? std::max(x->low, y->low) : std::min(x->low, y->low)) >= 0)
    atoms_[number].largest = larger ? std::max(x->high, y->high) : std::min(x->high, y->high);
  LinearIndex out;
  out.add(number, 1);
  return out;
}

// x / d * (d * f) + x % d * f = x * f
void IndexMath::join_parts(LinearIndex& x) {
  for (bool again = true; again;) {
    again = false;
    for (const LinearIndex::Term t : x.terms) {
      const Atom& remainder = atoms_[t.atom];
      if (remainder.kind != Kind::remainder) continue;
      // The quotient may have been simplified further, so it is made again and looked for.
      const LinearIndex quotient = split(remainder.inner, remainder.divisor).quotient;
      const int64_t factor = t.factor * remainder.divisor;
      const bool whole =
          std::all_of(quotient.terms.begin(), quotient.terms.end(),
                      [&](const auto& q) { return x.factor_of(q.atom) == q.factor * factor; });
      if (!whole || quotient.terms.empty()) continue;
      const LinearIndex inner = remainder.inner;
      const int64_t f = t.factor;
      x.add(quotient, -factor);
      x.add(t.atom, -f);
      x.add(inner, f);
      again = true;
      break;
    }
  }
}

int64_t IndexMath::largest(const LinearIndex& x) const {
  const std::optional<Range> known = range(x);
  return known && known->low >= 0 ? known->high : -1;
}

int64_t IndexMath::less_by_sums(const LinearIndex& x) const {
  int64_t out = 0;
  for (const LinearIndex::Term& t : x.terms) {
    const Atom& a = atoms_[t.atom];
    if (a.other < 0 || t.factor < 0 || x.factor_of(a.other) != t.factor * a.factor) continue;
    out += t.factor * (a.factor * atoms_[a.other].largest + a.largest - a.largest_sum);
  }
  return out;
}

std::optional<IndexMath::Range> IndexMath::range(const LinearIndex& x) const {
  Range out{x.constant, x.constant};
  for (const LinearIndex::Term& t : x.terms) {
    const Atom& a = atoms_[t.atom];
    if (a.largest < 0) return std::nullopt;
    out.low += t.factor * (t.factor < 0 ? a.largest : a.smallest);
    out.high += t.factor * (t.factor < 0 ? a.smallest : a.largest);
  }
  out.high -= less_by_sums(x);
  return out;
}

// The quotient or remainder e of an index a that may be negative.
LinearIndex IndexMath::of_negative(const Expr& e, const LinearIndex& a, int64_t divisor) {
  const int32_t number = atom_of(e);
  if (const std::optional<Range> x = range(a); x && divisor > 0) {
    const auto floored = [&](int64_t v) { return v / divisor - (v % divisor < 0 ? 1 : 0); };
    Range to{0, divisor - 1};  // floormod
    if (e->op == Op::truncdiv) to = {x->low / divisor, x->high / divisor};
    if (e->op == Op::floordiv) to = {floored(x->low), floored(x->high)};
    if (e->op == Op::truncmod) to = {std::max(x->low, 1 - divisor), std::min(x->high, divisor - 1)};
    Atom& atom = atoms_[number];
    if (to.high >= 0) {
      atom.largest = to.high;
      atom.smallest = std::min<int64_t>(to.low, 0);
    }
  }
  LinearIndex out;
  out.add(number, 1);
  return out;
}

IndexMath::Split IndexMath::split(const LinearIndex& x, int64_t divisor) {
  Split out;
  if (divisor == 1) {
    out.quotient = x;
    return out;
  }
  LinearIndex rest = x;
  out.quotient = rest.take_multiples(divisor);
  // What is left must not be negative: (d * a - j) / d = a - 1 + (d - j) / d.
  if (const std::optional<Range> left = range(rest); left && left->low < 0) {
    const int64_t whole = (-left->low + divisor - 1) / divisor;
    rest.constant += whole * divisor;
    out.quotient.constant -= whole;
  }
  if (const int64_t most = largest(rest); most >= 0 && most < divisor) {
    out.remainder = std::move(rest);
    return out;
  }
  // (g * y + z) / (g * d) = y / d where 0 <= z < g.
  for (const LinearIndex::Term& t : rest.terms) {
    const int64_t g = std::gcd(t.factor, divisor);
    if (g <= 1) continue;
    LinearIndex high, low;
    for (const LinearIndex::Term& u : rest.terms)
      (u.factor % g == 0 ? high : low).add(u.atom, u.factor % g == 0 ? u.factor / g : u.factor);
    low.constant = rest.constant % g;
    high.constant = rest.constant / g;
    const int64_t most = largest(low);
    if (most < 0 || most >= g || high == rest) continue;
    const Split inner = split(high, divisor / g);
    out.quotient.add(inner.quotient, 1);
    out.remainder.add(inner.remainder, g);
    out.remainder.add(low, 1);
    return out;
  }
  const Atom* whole = rest.constant == 0 && rest.terms.size() == 1 && rest.terms[0].factor == 1
                          ? &atoms_[rest.terms[0].atom]
                          : nullptr;
  // x % (a * b) / a = x / a % b, and x % (a * b) % a = x % a.
  if (whole && whole->kind == Kind::remainder && whole->divisor % divisor == 0) {
    const int64_t kept = whole->divisor / divisor;
    const LinearIndex inner = whole->inner;
    const Split of_all = split(inner, divisor);
    out.quotient.add(split(of_all.quotient, kept).remainder, 1);
    out.remainder = of_all.remainder;
    return out;
  }
  // (y + x / a) / b = (y * a + x) / (a * b)
  const auto divided = std::ranges::find_if(rest.terms, [&](const LinearIndex::Term& t) {
    return t.factor == 1 && atoms_[t.atom].kind == Kind::quotient;
  });
  if (divided != rest.terms.end()) {
    const Atom& x = atoms_[divided->atom];
    LinearIndex all = x.inner;
    LinearIndex others = rest;
    others.add(divided->atom, -1);
    all.add(others, x.divisor);
    const LinearIndex quotient = split(all, x.divisor * divisor).quotient;
    out.quotient.add(quotient, 1);
    if (quotient == LinearIndex()) {
      out.remainder.add(rest, 1);
      return out;
    }
  } else {
    out.quotient.add(part(Kind::quotient, rest, divisor), 1);
  }
  out.remainder.add(part(Kind::remainder, rest, divisor), 1);
  return out;
}

LinearIndex IndexMath::linear(const Expr& e) {
  if (const auto it = linear_.find(e); it != linear_.end()) return it->second;
  LinearIndex out;
  const auto divisor = [&]() -> int64_t {
    const int64_t* d = e->args[1].as_const_int();
    return d && *d > 0 ? *d : 0;
  };
  switch (e->op) {
    case Op::constant: out.constant = e->integer(); return out;
    case Op::add:
    case Op::sub:
      out = linear(e->args[0]);
      out.add(linear(e->args[1]), e->op == Op::add ? 1 : -1);
      break;
    case Op::mul: {
      const LinearIndex a = linear(e->args[0]), b = linear(e->args[1]);
      if (b.terms.empty()) {
        out.add(a, b.constant);
      } else if (a.terms.empty()) {
        out.add(b, a.constant);
      } else {
        out.add(atom_of(e), 1);
      }
      break;
    }
    case Op::truncdiv:
    case Op::floordiv:
    case Op::truncmod:
    case Op::floormod: {
      const int64_t d = divisor();
      const LinearIndex a = linear(e->args[0]);
      if (d == 0 || largest(a) < 0) {
        out = of_negative(e, a, d);
        break;
      }
      Split s = split(a, d);
      out = e->op == Op::truncdiv || e->op == Op::floordiv ? s.quotient : s.remainder;
      break;
    }
    case Op::max:
    case Op::min: out = chosen(e->op, linear(e->args[0]), linear(e->args[1])); break;
    default: out.add(atom_of(e), 1); break;
  }
  join_parts(out);
  return out;
}

Expr IndexMath::expr_of(const LinearIndex& x) {
  const auto [known, fresh] = known_.try_emplace(x);
  if (!fresh) return known->second;
  // The largest factors first: rows before columns.
  std::vector<LinearIndex::Term> terms = x.terms;
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return a.factor > b.factor; });
  Expr out(0);
  for (const LinearIndex::Term& t : terms) out = out + atoms_[t.atom].expr * Expr(t.factor);
  out = out + Expr(x.constant);
  linear_.emplace(out, x);
  return known->second = out;
}

Expr IndexMath::simplify(const Expr& e) { return expr_of(linear(e)); }

Expr IndexMath::divide(const Expr& e, int64_t divisor) {
  return simplify(binary(Op::truncdiv, e, Expr(divisor)));
}

Expr IndexMath::modulo(const Expr& e, int64_t divisor) {
  return simplify(binary(Op::truncmod, e, Expr(divisor)));
}

Exprs IndexMath::delinearise(const Expr& number, const std::vector<int64_t>& shape) {
  Exprs out(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) {
      out[d] = Expr(0);
      continue;
    }
    const int64_t extent = std::max<int64_t>(shape[d], 1);
    const Expr above = divide(number, step);
    const int64_t most = largest(linear(above));
    out[d] = most >= 0 && most < extent ? above : modulo(above, extent);
    step *= extent;
  }
  return out;
}

Expr IndexMath::dot(const Exprs& index, const std::vector<int64_t>& factors) {
  LinearIndex out;
  for (size_t d = 0; d < index.size(); ++d) out.add(linear(index[d]), factors[d]);
  join_parts(out);
  return expr_of(out);
}

const std::vector<int64_t>& IndexMath::variables(const Expr& e) {
  const auto it = variables_.find(e);
  if (it != variables_.end()) return it->second;
  std::vector<int64_t> out;
  if (e->op == Op::var) out.push_back(e->id());
  for (const Expr& a : e->args)
    for (const int64_t v : variables(a))
      if (std::find(out.begin(), out.end(), v) == out.end()) out.push_back(v);
  return variables_.emplace(e, std::move(out)).first->second;
}

bool IndexMath::is_nested(const LinearIndex& index, int64_t variable) {
  for (const LinearIndex::Term& t : index.terms) {
    const Atom& a = atoms_[t.atom];
    if (a.kind == Kind::variable) continue;
    const std::vector<int64_t>& in = variables(a.expr);
    if (std::find(in.begin(), in.end(), variable) != in.end()) return true;
  }
  return false;
}

}  // namespace cleave::loop
