#include "loop/linear_index.h"

#include <algorithm>

#include "base/floor_division.h"

namespace cleave::loop {

int64_t LinearIndex::factor_of(int32_t atom) const {
  const auto at = std::ranges::find(terms, atom, &Term::atom);
  return at == terms.end() ? 0 : at->factor;
}

void LinearIndex::add(int32_t atom, int64_t factor) {
  if (factor == 0) return;
  const auto at = std::ranges::lower_bound(terms, atom, {}, &Term::atom);
  if (at == terms.end() || at->atom != atom)
    terms.insert(at, {atom, factor});
  else if ((at->factor += factor) == 0)
    terms.erase(at);
}

void LinearIndex::add(const LinearIndex& x, int64_t factor) {
  constant += x.constant * factor;
  for (const Term& t : x.terms) add(t.atom, t.factor * factor);
}

LinearIndex LinearIndex::take_multiples(int64_t divisor) {
  LinearIndex out{floor_div(constant, divisor)};
  constant = floor_mod(constant, divisor);
  std::erase_if(terms, [&](const Term& t) {
    if (t.factor % divisor) return false;
    out.terms.push_back({t.atom, t.factor / divisor});
    return true;
  });
  return out;
}

size_t LinearIndex::Hash::operator()(const LinearIndex& x) const {
  size_t h = static_cast<size_t>(x.constant);
  for (const Term& t : x.terms)
    h = (h ^ (static_cast<size_t>(t.atom) * 31 + static_cast<size_t>(t.factor))) *
        0x9e3779b97f4a7c15;
  return h;
}

}  // namespace cleave::loop
