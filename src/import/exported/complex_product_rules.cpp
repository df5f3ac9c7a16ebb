// Products of complex matrices: those of their parts.
//
//   (a + ib) (c + id)     real a c - b d     imaginary a d + b c
//
// A call that is linear in each of its operands is made once for each choice of one part of each.
#include "import/exported/complex_rules.h"
#include "import/exported/target.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Kind = Argument::Kind;

constexpr size_t most_operands = 4;

// The node with its tensors under names of their own, "0", "1", ..., whose values are chosen.
struct Renamed {
  Node node;
  std::vector<Complex> operands;
};

Renamed renamed(Call& c) {
  Renamed out{c.node(), {}};
  const auto rename = [&](Argument& a) {
    if (a.kind != Kind::tensor) return;
    out.operands.push_back(complex_argument(c, a));
    a.text = fmt::format("{}", out.operands.size() - 1);
  };
  for (NamedArgument& a : out.node.inputs) {
    rename(a.value);
    for (Argument& item : a.value.items) rename(item);
  }
  return out;
}

V called(Call& c, const Renamed& r, const std::vector<V>& chosen) {
  Call::Context context = c.context();
  context.tensor = [&](const std::string& name) -> Result<V> {
    return chosen[static_cast<size_t>(std::stoi(name))];
  };
  context.meta = {};
  Call part(r.node, c.builder(), context);
  const Target target = parse_target(r.node.target);
  if (const Rule rule = find_rule(target.name, target.overload)) {
    const Values out = rule(part);
    if (part.is_sharing()) c.share_arguments();
    return c.ok() && !out.empty() ? out[0] : V::none();
  }
  const OpDef* op = c.builder().ops().find(target.name);
  if (!op) return c.fail("the operator {} is not covered", target.name);
  const Result<Values> out = part.direct(*op);
  if (!out.ok()) c.builder().fail(out.failure());
  return out.ok() && !out->empty() ? out->front() : V::none();
}

// The sum over the choices: one whose imaginary parts are m in number counts i^m.
Complex multilinear(Call& c, const Renamed& r) {
  std::vector<size_t> complex;
  for (size_t k = 0; k < r.operands.size(); ++k)
    if (!r.operands[k].is_real()) complex.push_back(k);
  if (complex.size() > most_operands)
    return {c.fail("a product of {} complex tensors", complex.size())};
  Complex sum{V::none(), V::none()};
  for (uint32_t choice = 0; c.ok() && choice >> complex.size() == 0; ++choice) {
    std::vector<V> chosen;
    for (const Complex& z : r.operands) chosen.push_back(z.re);
    int imaginary = 0;
    for (size_t k = 0; k < complex.size(); ++k)
      if ((choice >> k & 1) != 0) {
        chosen[complex[k]] = r.operands[complex[k]].im;
        ++imaginary;
      }
    const V y = called(c, r, chosen);
    V& into = imaginary % 2 != 0 ? sum.im : sum.re;
    const bool subtracts = imaginary % 4 > 1;
    if (!into.valid())
      into = subtracts ? c.op("neg", {y}) : y;
    else
      into = c.op(subtracts ? "sub" : "add", {into, y});
  }
  return sum;
}

Values of_all_parts(Call& c) { return {joined(c, multilinear(c, renamed(c)))}; }

// The conjugate of self, times other.
Values conjugated_product(Call& c) {
  Renamed r = renamed(c);
  if (!c.ok() || r.operands.size() != 2) return {c.fail("vdot of {} tensors", r.operands.size())};
  r.operands[0] = conjugate(c, r.operands[0]);
  return {joined(c, multilinear(c, r))};
}

using Product = V (*)(Call&, V, V);
Complex product(Call& c, Product f, const Complex& a, const Complex& b) {
  const V re = f(c, a.re, b.re);
  if (a.is_real() && b.is_real()) return {re};
  if (a.is_real()) return {re, f(c, a.re, b.im)};
  if (b.is_real()) return {re, f(c, a.im, b.re)};
  return {c.op("sub", {re, f(c, a.im, b.im)}), c.op("add", {f(c, a.re, b.im), f(c, a.im, b.re)})};
}

// beta self + alpha (x y)
Values added(Call& c, Product f, const char* first, const char* second) {
  Complex y = product(c, f, complex_argument(c, first), complex_argument(c, second));
  if (c.has("alpha")) y = mul(c, y, complex_argument(c, "alpha"));
  const auto beta = c.has("beta") ? number_of(c, "beta") : std::complex<double>(1);
  if (!beta) return {c.fail("a factor beta that isn't known")};
  if (*beta == 0.0) return {joined(c, y)};
  Complex self = complex_argument(c, "self");
  if (*beta != 1.0) self = mul(c, self, complex_number(c, *beta));
  return {joined(c, add(c, self, y))};
}

V batches(Call& c, V a, V b) { return c.op("bmm", {a, b}); }
V without_bias(Call& c, V x, V weight) { return linear(c, x, weight, V::none()); }

Values linear_rule(Call& c) {
  Complex y = product(c, without_bias, complex_argument(c, "input"), complex_argument(c, "weight"));
  if (c.has("bias")) y = add(c, y, complex_argument(c, "bias"));
  return {joined(c, y)};
}

}  // namespace

std::span<const RuleRow> complex_product_rules() {
  static constexpr RuleRow rows[] = {
      {"mm", of_all_parts},
      {"bmm", of_all_parts},
      {"matmul", of_all_parts},
      {"mv", of_all_parts},
      {"dot", of_all_parts},
      {"vdot", conjugated_product},
      {"inner", of_all_parts},
      {"outer", of_all_parts},
      {"ger", of_all_parts},
      {"einsum", of_all_parts},
      {"kron", of_all_parts},
      {"tensordot", of_all_parts},
      {"addmm", [](Call& c) { return added(c, matmul, "mat1", "mat2"); }},
      {"addmv", [](Call& c) { return added(c, matmul, "mat", "vec"); }},
      {"baddbmm", [](Call& c) { return added(c, batches, "batch1", "batch2"); }},
      {"linear", linear_rule},
  };
  return rows;
}

}  // namespace cleave::exported
