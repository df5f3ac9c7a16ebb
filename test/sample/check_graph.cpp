#include "test/sample/check_graph.h"

#include <cmath>
#include <random>

#include "interp/interpret.h"
#include "test/sample/run_program.h"
#include "test/sample/sample_call.h"

namespace cleave::random {
namespace {

constexpr int moved_runs = 3;

// About two roundings of the type. Compiled code may keep a 16-bit value's neighbours in f32, so
// those move by a whole unit.
double rounding_of(DType t) {
  switch (t) {
    case DType::f64: return 0x1p-51;
    case DType::f32: return 0x1p-22;
    case DType::bf16: return 0x1p-8;
    case DType::f16: return 0x1p-11;
    default: return 0;
  }
}
// What a kernel of several operations may be off by, as a part of the largest element.
double base_of(DType t) {
  switch (t) {
    case DType::f64: return 1e-12;
    case DType::f32: return 2e-5;
    case DType::bf16: return 0x1p-6;
    case DType::f16: return 0x1p-9;
    default: return 0;
  }
}

double largest(const Array& a) {
  double most = 0;
  for (double x : a.f)
    if (std::isfinite(x)) most = std::max(most, std::fabs(x));
  return most;
}

// The returns of g; `move` > 0: each floating result of a node moved by up to move roundings, of
// its own size, of products also of the result's largest element, of sums of the largest summand.
Result<Arrays> run_oracle(const RandomGraph& r, double move, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<Array> values(r.g.value_capacity());
  for (size_t i = 0; i < r.inputs.size(); ++i) values[r.g.placeholders()[i].value.v] = r.inputs[i];
  for (NodeId n = r.g.first_node(); n.valid(); n = r.g.next_node(n)) {
    const Node& node = r.g.node(n);
    std::vector<const Array*> operands;
    for (ValueId v : node.inputs) operands.push_back(v.valid() ? &values[v.v] : nullptr);
    CLEAVE_TRY(Arrays results, run_node(r.g, n, operands));
    const bool moves = move > 0 && !has(node.op->traits, Trait::view);
    const bool sums = has(node.op->traits, Trait::reduction | Trait::compute_intensive);
    double summed = 0;  // the largest of what a reduction takes
    if (has(node.op->traits, Trait::reduction))
      for (const Array* x : operands) summed = std::max(summed, x ? largest(*x) : 0);
    const auto size = [&](const Array& a) { return std::max(summed, largest(a)); };
    for (uint32_t k = 0; k < node.output_count; ++k) {
      Array& a = results[k];
      if (moves) {
        const double step = move * rounding_of(a.dtype), whole = sums ? step * size(a) : 0;
        for (double& x : a.f) {
          const double part = static_cast<double>(rng() >> 11) * 0x1p-52 - 1;
          x += part * (step * x + 0.25 * whole);
        }
      }
      if (moves && (a.dtype == DType::bf16 || a.dtype == DType::f16))
        for (double& x : a.f) x = round_to(a.dtype, x);
      values[node.out(k).v] = std::move(a);
    }
  }
  Arrays out;
  for (const Return& x : r.g.returns()) out.push_back(values[x.value.v]);
  return out;
}

// Compares element k of return `at`; adds to the verdict.
class Comparison {
 public:
  Comparison(const Array& want, const std::vector<const Array*>& moved)
      : want_(want), moved_(moved) {
    for (int64_t k = 0; k < want.numel(); ++k)
      if (std::isfinite(want.number(k))) scale_ = std::max(scale_, std::fabs(want.number(k)));
    // The largest change anywhere, since three runs don't show each element at its worst.
    for (int64_t k = 0; k < want.numel(); ++k) largest_ = std::max(largest_, change(k));
  }
  // Whether rounding decides element k: so does it where it takes an index out of its range.
  bool open(int64_t k) const {
    if (moved_.empty()) return true;
    for (const Array* m : moved_) {
      const double a = want_.number(k), b = m->number(k);
      if (std::isnan(a) != std::isnan(b) || std::isinf(a) != std::isinf(b)) return true;
      if (!want_.floating() && a != b) return true;
    }
    return change(k) > 0.05 * scale_;
  }
  double allowed(int64_t k) const {
    return base_of(want_.dtype) * scale_ + 8 * change(k) +
           (want_.floating() ? 2 * std::min(largest_, 0.01 * scale_) : 0);
  }

 private:
  double change(int64_t k) const {
    double most = 0;
    for (const Array* m : moved_) {
      const double d = std::fabs(m->number(k) - want_.number(k));
      if (std::isfinite(d)) most = std::max(most, d);
    }
    return most;
  }
  const Array& want_;
  const std::vector<const Array*>& moved_;
  double scale_ = 1, largest_ = 0;
};

// Whether each element agrees within base_of its type, of its own size.
bool is_close(const Array& got, const Array& want) {
  for (int64_t k = 0; k < want.numel(); ++k) {
    const double a = got.number(k), b = want.number(k);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::fabs(a - b) <= base_of(want.dtype) * std::fabs(b))) return false;
  }
  return true;
}

std::vector<Arrays> moved_oracles(const RandomGraph& r) {
  std::vector<Arrays> moved;
  for (int k = 0; k < moved_runs; ++k) {
    Result<Arrays> m = run_oracle(r, 1, 977 + static_cast<uint64_t>(k));
    if (m.ok()) moved.push_back(*std::move(m));
  }
  return moved;
}

// Return `at`, element by element.
void compare(const Array& got, const Array& want, const std::vector<Arrays>& moved, size_t at,
             Verdict& verdict) {
  std::vector<const Array*> others;
  for (const Arrays& m : moved) others.push_back(&m[at]);
  const Comparison c(want, others);
  for (int64_t k = 0; k < want.numel(); ++k) {
    if (c.open(k)) {
      ++verdict.left_open;
      continue;
    }
    ++verdict.elements;
    const double a = got.number(k), b = want.number(k);
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= c.allowed(k)) continue;
    verdict.difference = fmt::format("return {}, element {}: {}, expected {} within {:.2g}", at, k,
                                     a, b, c.allowed(k));
    return;
  }
}

}  // namespace

Result<Verdict> check_graph(const RandomGraph& r, const OpRegistry& ops,
                            runtime::CompilerKind compiler) {
  CLEAVE_TRY(const Arrays want, run_oracle(r, 0, 0));
  Verdict verdict;
  const Result<Arrays> got = law::run_graph(r.g, ops, r.inputs, compiler);
  if (!got.ok()) {
    if (got.failure().kind == ErrorKind::unsupported) return got.failure();
    verdict.difference = got.failure().message;
    return verdict;
  }
  std::vector<Arrays> moved;  // made when the first return asks for them
  for (size_t at = 0; at < want.size() && verdict.difference.empty(); ++at) {
    Array stored = want[at];
    for (double& x : stored.f) x = round_to(stored.dtype, x);
    if (is_close((*got)[at], stored)) {
      verdict.elements += stored.numel();
      continue;
    }
    if (moved.empty()) moved = moved_oracles(r);
    compare((*got)[at], stored, moved, at, verdict);
  }
  return verdict;
}

Result<Expectation> expectation_of(const RandomGraph& r) {
  Expectation out;
  CLEAVE_TRY(out.want, run_oracle(r, 0, 0));
  const std::vector<Arrays> moved = moved_oracles(r);
  for (size_t at = 0; at < out.want.size(); ++at) {
    std::vector<const Array*> others;
    for (const Arrays& m : moved) others.push_back(&m[at]);
    const Comparison c(out.want[at], others);
    Array allowed(DType::f64, out.want[at].shape);
    for (int64_t k = 0; k < allowed.numel(); ++k)
      allowed.f[k] = c.open(k) ? INFINITY : c.allowed(k);
    out.allowed.push_back(std::move(allowed));
  }
  return out;
}

Result<std::string> symbolic_difference(const RandomGraph& symbolic, const RandomGraph& r) {
  CLEAVE_TRY(const Arrays got, run_oracle(symbolic, 0, 0));
  CLEAVE_TRY(const Arrays want, run_oracle(r, 0, 0));
  if (got.size() != want.size())
    return fmt::format("with a symbol, {} results; with its value, {}", got.size(), want.size());
  for (size_t at = 0; at < want.size(); ++at)
    if (std::string why = law::difference(got[at], want[at], 2 * base_of(want[at].dtype));
        !why.empty())
      return fmt::format("with a symbol, return {} {}", at, why);
  return std::string();
}

}  // namespace cleave::random
