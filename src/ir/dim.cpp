// Canonical polynomials over atoms; see dim.h.
#include "ir/dim.h"

#include <algorithm>
#include <numeric>

#include "base/floor_division.h"
#include "ir/dim_terms.h"

namespace cleave {
namespace {

constexpr int64_t limit = int64_t{1} << 62;
// Limits on an expression; a net with five strides of 2 nests 5 calls in under 100 characters.
constexpr size_t max_atoms = 256;  // summed over the terms, counting one for each term
constexpr size_t max_atom_text = 1024;
constexpr int max_depth = 24;  // nested calls

int64_t clamp(int64_t v) { return v > limit ? limit : v < -limit ? -limit : v; }
int64_t sat_add(int64_t a, int64_t b) {
  int64_t v = 0;
  return __builtin_add_overflow(a, b, &v) ? (a < 0 ? -limit : limit) : clamp(v);
}
int64_t sat_mul(int64_t a, int64_t b) {
  int64_t v = 0;
  return __builtin_mul_overflow(a, b, &v) ? ((a < 0) != (b < 0) ? -limit : limit) : clamp(v);
}
int64_t sat_div(int64_t a, int64_t b) { return b == -1 ? sat_mul(a, b) : floor_div(a, b); }

enum class AtomKind { symbol, floordiv, mod, min, max };

struct Atom {
  AtomKind kind;
  Dim a, b;          // operands of a function
  std::string text;  // the symbol's name, or the printed call: the sort key
  int depth = 0;     // of calls: 0 for a symbol
};
using AtomPtr = std::shared_ptr<const Atom>;

// coefficient * product of atoms (sorted by text; repeated for powers)
struct Term {
  int64_t coefficient;
  std::vector<AtomPtr> atoms;
};

int compare_atoms(const std::vector<AtomPtr>& x, const std::vector<AtomPtr>& y) {
  for (size_t i = 0; i < x.size() && i < y.size(); ++i)
    if (int c = x[i]->text.compare(y[i]->text)) return c;
  return x.size() < y.size() ? -1 : x.size() > y.size() ? 1 : 0;
}

// A saturated size. Anything computed from it stays saturated, so that a division can't make it
// look valid.
bool is_saturated(const Dim& d) {
  return d.is_const() && (d.value() == limit || d.value() == -limit);
}
// A bound such as 2^63-1, which no expression reaches.
bool beyond(const Dim& d) { return d.is_const() && (d.value() > limit || d.value() < -limit); }
bool is_saturated(const Dim& a, const Dim& b) { return is_saturated(a) || is_saturated(b); }

}  // namespace

struct SymExpr {
  std::vector<Term> terms;  // sorted, the constant term (no atoms) last

  static Dim make(std::vector<Term> terms);
  static std::vector<Term> terms_of(const Dim& d) {
    if (d.expr_) return d.expr_->terms;
    if (d.value_ == 0) return {};
    return {{clamp(d.value_), {}}};
  }
  static Dim atom(AtomKind kind, const Dim& a, const Dim& b, std::string text) {
    const int depth = kind == AtomKind::symbol ? 0 : 1 + std::max(depth_of(a), depth_of(b));
    if (depth > max_depth || text.size() > max_atom_text) return Dim(limit);
    return make({{1, {std::make_shared<const Atom>(Atom{kind, a, b, std::move(text), depth})}}});
  }
  static int depth_of(const Dim& d) {
    int depth = 0;
    if (d.expr_)
      for (const Term& t : d.expr_->terms)
        for (const AtomPtr& a : t.atoms) depth = std::max(depth, a->depth);
    return depth;
  }
  static Dim wrap(std::shared_ptr<const SymExpr> e) {
    Dim d;
    d.expr_ = std::move(e);
    return d;
  }
};

std::vector<DimTerm> terms_of(const Dim& d) {
  const auto kind_of = [](AtomKind k) {
    switch (k) {
      case AtomKind::symbol: break;
      case AtomKind::floordiv: return DimAtom::Kind::floordiv;
      case AtomKind::mod: return DimAtom::Kind::mod;
      case AtomKind::min: return DimAtom::Kind::min;
      case AtomKind::max: return DimAtom::Kind::max;
    }
    return DimAtom::Kind::symbol;
  };
  std::vector<DimTerm> out;
  for (const Term& t : SymExpr::terms_of(d)) {
    DimTerm& term = out.emplace_back(DimTerm{t.coefficient, {}});
    for (const AtomPtr& a : t.atoms)
      term.atoms.push_back(
          {kind_of(a->kind), a->kind == AtomKind::symbol ? a->text : "", a->a, a->b});
  }
  return out;
}

Dim SymExpr::make(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) {
    if (x.atoms.empty() != y.atoms.empty()) return y.atoms.empty();
    return compare_atoms(x.atoms, y.atoms) < 0;
  });
  std::vector<Term> merged;
  for (Term& t : terms) {
    if (!merged.empty() && compare_atoms(merged.back().atoms, t.atoms) == 0)
      merged.back().coefficient = sat_add(merged.back().coefficient, t.coefficient);
    else
      merged.push_back(std::move(t));
  }
  std::erase_if(merged, [](const Term& t) { return t.coefficient == 0; });
  if (merged.empty()) return Dim(0);
  if (merged.size() == 1 && merged[0].atoms.empty()) return Dim(merged[0].coefficient);
  size_t atoms = merged.size();
  for (const Term& t : merged) {
    atoms += t.atoms.size();
    if (t.coefficient >= limit || t.coefficient <= -limit) return Dim(limit);
  }
  if (atoms > max_atoms) return Dim(limit);
  auto e = std::make_shared<SymExpr>();
  e->terms = std::move(merged);
  return wrap(std::move(e));
}

Dim Dim::symbol(const std::string& name) { return SymExpr::atom(AtomKind::symbol, {}, {}, name); }

Dim operator+(const Dim& a, const Dim& b) {
  if (is_saturated(a, b)) return Dim(limit);
  if (a.is_const() && b.is_const()) return sat_add(a.value_, b.value_);
  auto t = SymExpr::terms_of(a);
  for (Term& u : SymExpr::terms_of(b)) t.push_back(std::move(u));
  return SymExpr::make(std::move(t));
}

Dim operator-(const Dim& a, const Dim& b) {
  if (is_saturated(a, b)) return Dim(limit);
  int64_t v = 0;
  if (a.is_const() && b.is_const())
    return __builtin_sub_overflow(a.value_, b.value_, &v) ? Dim(limit) : Dim(clamp(v));
  return a + Dim(-1) * b;
}

Dim operator*(const Dim& a, const Dim& b) {
  if (is_saturated(a, b)) return Dim(limit);
  if (a.is_const() && b.is_const()) return sat_mul(a.value_, b.value_);
  std::vector<Term> out;
  for (const Term& x : SymExpr::terms_of(a))
    for (const Term& y : SymExpr::terms_of(b)) {
      Term t{sat_mul(x.coefficient, y.coefficient), {}};
      std::merge(x.atoms.begin(), x.atoms.end(), y.atoms.begin(), y.atoms.end(),
                 std::back_inserter(t.atoms),
                 [](const AtomPtr& p, const AtomPtr& q) { return p->text < q->text; });
      out.push_back(std::move(t));
    }
  return SymExpr::make(std::move(out));
}

namespace {

// Returns a / b if b is a single term that divides every term of a; else nullopt.
std::optional<Dim> exact_quotient(const Dim& a, const Dim& b) {
  auto divisor = SymExpr::terms_of(b);
  if (divisor.size() != 1) return a == b ? std::optional<Dim>(1) : std::nullopt;
  std::vector<Term> out;
  for (const Term& t : SymExpr::terms_of(a)) {
    if (t.coefficient % divisor[0].coefficient) return std::nullopt;
    Term q{t.coefficient / divisor[0].coefficient, t.atoms};
    for (const AtomPtr& atom : divisor[0].atoms) {
      auto it = std::find_if(q.atoms.begin(), q.atoms.end(),
                             [&](const AtomPtr& p) { return p->text == atom->text; });
      if (it == q.atoms.end()) return std::nullopt;
      q.atoms.erase(it);
    }
    out.push_back(std::move(q));
  }
  return SymExpr::make(std::move(out));
}

// a = quotient * b + rest, where b is a constant above 1 and the quotient has every term with a
// symbol that b divides: of s0*4-1 and 2 these are s0*2 and -1.
struct Division {
  Dim quotient = 0, rest;
};

Division divided(const Dim& a, const Dim& b) {
  if (!b.is_const() || b.value() < 2) return {0, a};
  std::vector<Term> quotient, rest;
  for (const Term& t : SymExpr::terms_of(a))
    if (!t.atoms.empty() && t.coefficient % b.value() == 0)
      quotient.push_back({t.coefficient / b.value(), t.atoms});
    else
      rest.push_back(t);
  return {SymExpr::make(std::move(quotient)), SymExpr::make(std::move(rest))};
}

Dim call(AtomKind kind, const char* name, const Dim& a, const Dim& b) {
  return SymExpr::atom(kind, a, b, fmt::format("{}({},{})", name, a.text(), b.text()));
}

}  // namespace

Dim Dim::floordiv(const Dim& a, const Dim& b) {
  if (is_saturated(a, b)) return Dim(limit);
  if (a.is_const() && b.is_const()) return sat_div(a.value_, b.value_);
  if (b.is_const() && b.value_ == 0) return 0;
  if (auto q = exact_quotient(a, b)) return *q;
  const Division d = divided(a, b);
  if (!(d.quotient == Dim(0))) return d.quotient + floordiv(d.rest, b);
  return call(AtomKind::floordiv, "floordiv", a, b);
}

Dim Dim::mod(const Dim& a, const Dim& b) {
  if (is_saturated(a, b)) return Dim(limit);
  if (a.is_const() && b.is_const()) return floor_mod(a.value_, b.value_);
  if (b.is_const() && b.value_ == 0) return 0;
  if (exact_quotient(a, b)) return 0;
  const Division d = divided(a, b);
  if (!(d.quotient == Dim(0))) return mod(d.rest, b);
  return call(AtomKind::mod, "mod", a, b);
}

Dim Dim::min(const Dim& a, const Dim& b) {
  if (is_saturated(a, b)) return Dim(limit);
  if (a.is_const() && b.is_const()) return std::min(a.value_, b.value_);
  if (beyond(a)) return a.value_ > 0 ? b : a;
  if (beyond(b)) return b.value_ > 0 ? a : b;
  const Dim d = a - b;
  if (is_saturated(d)) return Dim(limit);
  if (d.is_const()) return d.value_ <= 0 ? a : b;
  bool swap = b.text() < a.text();
  return call(AtomKind::min, "min", swap ? b : a, swap ? a : b);
}

Dim Dim::max(const Dim& a, const Dim& b) {
  if (is_saturated(a, b)) return Dim(limit);
  if (a.is_const() && b.is_const()) return std::max(a.value_, b.value_);
  if (beyond(a)) return a.value_ > 0 ? a : b;
  if (beyond(b)) return b.value_ > 0 ? b : a;
  const Dim d = a - b;
  if (is_saturated(d)) return Dim(limit);
  if (d.is_const()) return d.value_ >= 0 ? a : b;
  bool swap = b.text() < a.text();
  return call(AtomKind::max, "max", swap ? b : a, swap ? a : b);
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.expr_ == b.expr_) return a.expr_ || a.value_ == b.value_;
  if (!a.expr_ || !b.expr_) return false;
  const auto &x = a.expr_->terms, &y = b.expr_->terms;
  return x.size() == y.size() &&
         std::equal(x.begin(), x.end(), y.begin(), [](const Term& p, const Term& q) {
           return p.coefficient == q.coefficient && compare_atoms(p.atoms, q.atoms) == 0;
         });
}

// s0*4, s0*s1-1, floordiv(s0,2)+3
std::string Dim::text() const {
  if (!expr_) return std::to_string(value_);
  std::string out;
  for (const Term& t : expr_->terms) {
    int64_t c = t.coefficient;
    if (!out.empty() && c >= 0) out += '+';
    if (t.atoms.empty()) {
      out += std::to_string(c);
      continue;
    }
    if (c == -1 && !out.empty()) out += '-', c = 1;
    bool minus_inside = c < 0 && !out.empty();
    if (minus_inside) out += '-', c = -c;
    for (size_t i = 0; i < t.atoms.size(); ++i) out += (i ? "*" : "") + t.atoms[i]->text;
    if (c != 1) out += '*' + std::to_string(c);
  }
  return out;
}

void Dim::collect_symbols(std::vector<std::string>& into) const {
  if (!expr_) return;
  for (const Term& t : expr_->terms)
    for (const AtomPtr& a : t.atoms) {
      if (a->kind == AtomKind::symbol) {
        auto at = std::lower_bound(into.begin(), into.end(), a->text);
        if (at == into.end() || *at != a->text) into.insert(at, a->text);
      } else {
        a->a.collect_symbols(into);
        a->b.collect_symbols(into);
      }
    }
}

void Dim::collect_divisors(std::vector<Dim>& into) const {
  if (!expr_) return;
  for (const Term& t : expr_->terms)
    for (const AtomPtr& a : t.atoms) {
      if (a->kind == AtomKind::floordiv || a->kind == AtomKind::mod) into.push_back(a->b);
      a->a.collect_divisors(into);
      a->b.collect_divisors(into);
    }
}

Dim Dim::substitute(const std::function<Dim(const std::string&)>& value_of) const {
  if (!expr_) return *this;
  Dim sum;
  for (const Term& t : expr_->terms) {
    Dim product(t.coefficient);
    for (const AtomPtr& atom : t.atoms) {
      Dim a = atom->kind == AtomKind::symbol ? value_of(atom->text) : atom->a.substitute(value_of);
      Dim b = atom->kind == AtomKind::symbol ? Dim() : atom->b.substitute(value_of);
      switch (atom->kind) {
        case AtomKind::symbol: break;
        case AtomKind::floordiv: a = floordiv(a, b); break;
        case AtomKind::mod: a = mod(a, b); break;
        case AtomKind::min: a = min(a, b); break;
        case AtomKind::max: a = max(a, b); break;
      }
      product = product * a;
    }
    sum = sum + product;
  }
  return sum;
}

std::optional<int64_t> Dim::eval(
    const std::function<std::optional<int64_t>(const std::string&)>& value_of) const {
  if (!expr_) return value_;
  bool known = true;
  Dim d = substitute([&](const std::string& s) -> Dim {
    auto v = value_of(s);
    known = known && v.has_value();
    return v.value_or(0);
  });
  return known && d.is_const() ? std::optional<int64_t>(d.value()) : std::nullopt;
}

const SymInfo* SymEnv::find(const std::string& name) const {
  auto it = symbols_.find(name);
  return it == symbols_.end() ? nullptr : &it->second;
}

int64_t SymEnv::hint_of(const Dim& d) const {
  return d
      .eval([&](const std::string& s) -> std::optional<int64_t> {
        const SymInfo* info = find(s);
        return info && info->hint ? *info->hint : default_hint;
      })
      .value_or(default_hint);
}

namespace {

DimRange times(DimRange x, DimRange y) {
  auto [lo, hi] = std::minmax(
      {sat_mul(x.lo, y.lo), sat_mul(x.lo, y.hi), sat_mul(x.hi, y.lo), sat_mul(x.hi, y.hi)});
  return {lo, hi};
}

// min(a,b) and max(a,b) equal a or b, so a range is the union over both cases; plain intervals lose
// what the operands share: s0 - max(0,s0-2) is s0 or 2. Each query may split at most this often, so
// that nested calls don't take exponential time.
constexpr int max_splits = 32;

DimRange range_in(const SymEnv& env, const Dim& d, int& splits);

DimRange range_of_atom(const SymEnv& env, const Atom& atom, int& splits) {
  if (atom.kind == AtomKind::symbol) {
    const SymInfo* info = env.find(atom.text);
    return info ? info->range : DimRange{};
  }
  const DimRange a = range_in(env, atom.a, splits), b = range_in(env, atom.b, splits);
  switch (atom.kind) {
    case AtomKind::min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case AtomKind::max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case AtomKind::mod:
      if (b.lo >= 1) return {0, std::min(b.hi - 1, a.lo >= 0 ? a.hi : b.hi - 1)};
      return {-limit, limit};
    default:
      if (b.lo < 1) return {-limit, limit};
      return {std::min(floor_div(a.lo, b.lo), floor_div(a.lo, b.hi)),
              std::max(floor_div(a.hi, b.lo), floor_div(a.hi, b.hi))};
  }
}

DimRange range_of_terms(const SymEnv& env, const std::vector<Term>& terms, int& splits) {
  DimRange sum{0, 0};
  for (const Term& t : terms) {
    DimRange product{t.coefficient, t.coefficient};
    for (const AtomPtr& a : t.atoms) product = times(product, range_of_atom(env, *a, splits));
    sum = {sat_add(sum.lo, product.lo), sat_add(sum.hi, product.hi)};
  }
  return sum;
}

// The sum of the terms with `atom` replaced by x.
Dim replaced(const std::vector<Term>& terms, const Atom& atom, const Dim& x) {
  Dim sum;
  for (const Term& t : terms) {
    std::vector<AtomPtr> others;
    Dim product(1);
    for (const AtomPtr& a : t.atoms)
      if (a->text == atom.text)
        product = product * x;
      else
        others.push_back(a);
    sum = sum + product * SymExpr::make({{t.coefficient, std::move(others)}});
  }
  return sum;
}

// b * floordiv(a,b) is a, less a remainder in [0,b): s0 - 32*floordiv(s0+31,32) is in [-31,0].
std::optional<DimRange> range_by_remainder(const SymEnv& env, const Dim& d,
                                           const std::vector<Term>& terms, int& splits) {
  for (const Term& t : terms) {
    if (t.atoms.size() != 1 || t.atoms[0]->kind != AtomKind::floordiv) continue;
    const Dim &a = t.atoms[0]->a, &b = t.atoms[0]->b;
    if (!b.is_const() || b.value() < 2 || t.coefficient % b.value() != 0) continue;
    if (splits-- <= 0) return std::nullopt;
    const int64_t times_b = t.coefficient / b.value();
    const Dim rest = d - SymExpr::make({t}) + a * Dim(times_b);
    if (is_saturated(rest)) continue;
    const DimRange r = range_in(env, rest, splits);
    const int64_t most = sat_mul(-times_b, b.value() - 1);
    return DimRange{sat_add(r.lo, std::min<int64_t>(most, 0)),
                    sat_add(r.hi, std::max<int64_t>(most, 0))};
  }
  return std::nullopt;
}

DimRange range_in(const SymEnv& env, const Dim& d, int& splits) {
  if (d.is_const()) return {d.value(), d.value()};
  const std::vector<Term> terms = SymExpr::terms_of(d);
  const Term* first = nullptr;  // the first that contains a min or max
  AtomPtr atom;
  int terms_with = 0;
  for (const Term& t : terms) {
    const auto is_case = [&](const AtomPtr& a) {
      return atom ? a->text == atom->text : a->kind == AtomKind::min || a->kind == AtomKind::max;
    };
    const auto at = std::find_if(t.atoms.begin(), t.atoms.end(), is_case);
    if (at == t.atoms.end()) continue;
    if (!atom) atom = *at, first = &t;
    ++terms_with;
  }
  if (!atom || splits <= 0) {
    const DimRange plain = range_of_terms(env, terms, splits);
    const std::optional<DimRange> r = range_by_remainder(env, d, terms, splits);
    return r ? DimRange{std::max(r->lo, plain.lo), std::min(r->hi, plain.hi)} : plain;
  }
  --splits;
  const DimRange whole = range_of_terms(env, terms, splits);
  const Dim with_a = replaced(terms, *atom, atom->a), with_b = replaced(terms, *atom, atom->b);
  if (is_saturated(with_a, with_b)) return whole;
  const DimRange a = range_in(env, with_a, splits), b = range_in(env, with_b, splits);
  DimRange r{std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
  if (terms_with == 1 && first->atoms.size() == 1) {
    // The whole expression is the larger or the smaller of both cases.
    if ((atom->kind == AtomKind::max) == (first->coefficient > 0))
      r.lo = std::max(a.lo, b.lo);
    else
      r.hi = std::min(a.hi, b.hi);
  }
  return {std::max(r.lo, whole.lo), std::min(r.hi, whole.hi)};
}

}  // namespace

// Plain intervals are imprecise where a symbol is multiplied by itself: with s0 = 8 + t, s0 in
// [8,_],
//
//   s0*s0 + s0*-16 + 64 = t*t      is at least 0
DimRange SymEnv::range_without_notes(const Dim& d) const {
  int splits = max_splits;
  const DimRange r = range_in(*this, d, splits);
  if (d.is_const()) return r;
  const std::vector<Term> terms = SymExpr::terms_of(d);
  if (std::ranges::none_of(terms, [](const Term& t) { return t.atoms.size() > 1; })) return r;
  SymEnv from_lowest;
  const Dim shifted = d.substitute([&](const std::string& name) {
    const SymInfo* info = find(name);
    const DimRange bounds = info ? info->range : DimRange{};
    from_lowest.declare(name, {{0, sat_add(bounds.hi, -bounds.lo)}, {}});
    return Dim::symbol(name) + bounds.lo;
  });
  if (is_saturated(shifted)) return r;
  splits = max_splits;
  const DimRange s = range_in(from_lowest, shifted, splits);
  return {std::max(r.lo, s.lo), std::min(r.hi, s.hi)};
}

DimRange SymEnv::range_of(const Dim& d) const {
  DimRange r = range_without_notes(d);
  if (r.lo < 0 && !d.is_const() && sizes_.contains(d.text())) r.lo = 0;
  return r;
}

SymEnv::SymEnv() = default;
SymEnv::SymEnv(const SymEnv& from) = default;
SymEnv::SymEnv(SymEnv&& from) noexcept = default;
SymEnv& SymEnv::operator=(const SymEnv& from) = default;
SymEnv& SymEnv::operator=(SymEnv&& from) noexcept = default;
SymEnv::~SymEnv() = default;

void SymEnv::declare(const std::string& name, SymInfo info) { symbols_[name] = info; }

void SymEnv::note_size(const Dim& d) {
  if (!d.is_const() && range_of(d).lo < 0) sizes_.insert(d.text());
}

SymEnv::Truth SymEnv::equal(const Dim& a, const Dim& b) const {
  if (a == b) return Truth::yes;
  const Dim d = a - b;
  if (is_saturated(d)) return a.is_const() && b.is_const() ? Truth::no : Truth::unknown;
  if (d.is_const()) return d.value() == 0 ? Truth::yes : Truth::no;
  DimRange r = range_of(d);
  if (r.lo > 0 || r.hi < 0) return Truth::no;
  return r.lo == 0 && r.hi == 0 ? Truth::yes : Truth::unknown;
}

}  // namespace cleave
