#include "interp/moved_oracle.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "interp/interpret.h"

namespace cleave {
namespace {

constexpr int moved_runs = 9, moved_tries = 24;  // a moved index may leave its range

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
// The least positive number: what underflows is off by about one of these.
double min_of(DType t) {
  switch (t) {
    case DType::f64: return 0x1p-1074;
    case DType::f32: return 0x1p-149;
    case DType::bf16: return 0x1p-133;
    case DType::f16: return 0x1p-24;
    default: return 0;
  }
}
double largest(const Array& a) {
  double most = 0;
  for (double x : a.f)
    if (std::isfinite(x)) most = std::max(most, std::fabs(x));
  return most;
}

// A seed of Rounding that rounds to the nearest, as compiled code does. (Its low bits choose none
// of the special ways below.)
constexpr uint64_t to_nearest = ~uint64_t{0};

// One way to perturb results by rounding: seeds 0 and 1 move all elements in the same direction
// (away from 0 and towards it), the others each element at random.
class Rounding {
 public:
  explicit Rounding(uint64_t seed, Narrowing narrowing = Narrowing::kept)
      : seed_(seed), rng_(seed), narrowing_(narrowing) {}

  // The type whose rounding perturbs the call's result: for a conversion that a pass may drop, that
  // of its operand.
  DType type_of(const OpView& op, DType type) const {
    if (narrowing_ == Narrowing::kept || op.name() != "_to_copy") return type;
    const DType from = op.in_type(0).dtype;
    return is_floating(from) && rounding_of(from) > rounding_of(type) ? from : type;
  }

  // Moves each floating element by up to a rounding of `type`, relative to its size and to `whole`.
  // Values outside the type's range become 0 or infinity, as in compiled code.
  void move_elements(Array& a, DType type, double whole) { move_elements(a, type, type, whole); }
  // The same by a rounding of `by`, then rounded to `type`.
  void move_elements(Array& a, DType by, DType type, double whole) {
    for (double& x : a.f) {
      const double part = seed_ == 0            ? 1
                          : seed_ == 1          ? -1
                          : seed_ == to_nearest ? 0
                                                : static_cast<double>(rng_() >> 11) * 0x1p-52 - 1;
      const bool is_denormal = !moves_alone() && x != 0 && std::fabs(x) < 0x1p24 * min_of(type);
      x = round_to(type, x + part * (rounding_of(by) * (x + whole) +
                                     (is_denormal ? 1.5 * min_of(type) : 0)));
    }
  }
  // Elements relative to their own size alone: a small one among large ones may overflow later.
  bool moves_alone() const { return seed_ % 4 == 3; }
  // Whether what may overflow inside of an operator does.
  bool overflows_inside() const { return seed_ != to_nearest; }
  // A result whose sign internal roundings can change, or that consists of nothing but roundings
  // (the variance of equal elements), may also be 0.
  void cancel_elements(Array& a, const Array& unmoved) {
    for (size_t k = 0; k < a.f.size(); ++k) {
      const double x = a.f[k], y = unmoved.f[k];
      if (seed_ % 2 == 0 && std::fabs(x - y) >= 0.5 * std::fabs(y)) a.f[k] = 0;
    }
  }
  // Squares and products of such small values may underflow to 0 inside of an operator.
  void flush_small(Array& a) const {
    const double least = a.dtype == DType::f64 ? 0x1p-511 : 0x1p-63;
    if (seed_ % 4 != 2) return;
    for (double& x : a.f)
      if (std::fabs(x) < least) x = 0;
  }

 private:
  uint64_t seed_;
  std::mt19937_64 rng_;
  Narrowing narrowing_;
};

// Whether a node's internal rounding acts like perturbed operands: a sum with cancellation, a norm
// of elements far from 0. Not if that could change an index.
bool rounds_like_operands(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (has(node.op->traits, Trait::pointwise | Trait::constructor)) return false;
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (!g.type(node.out(k)).is_none && !is_floating(g.type(node.out(k)).dtype)) return false;
  return true;
}

// The size of terms that its formula adds and that may cancel: 1 + erf(x) far below 0,
// g - exp(y) sum(g) for one element, differences of neighbouring pixels that are equal.
double terms_inside(const OpView& op, const std::vector<const Array*>& operands) {
  const std::string& name = op.name();
  if (name.starts_with("grid_sampler") && name.ends_with("_backward")) {
    // Of each channel; a step of the grid is half of the image.
    const std::vector<int64_t>& image = operands[1]->shape;
    const auto size = static_cast<double>(*std::max_element(image.begin() + 2, image.end()));
    return largest(*operands[0]) * largest(*operands[1]) * static_cast<double>(image[1]) *
           std::max(size / 2, 1.0);
  }
  const bool cancels =
      name == "gelu" || name == "gelu_backward"
          ? op.str_attr("approximate") == "none"
          : name == "_softmax_backward_data" || name == "_log_softmax_backward_data";
  double out = 0;
  for (const Array* x : operands) out = std::max(out, cancels && x ? largest(*x) : 0);
  return out;
}

// Whether a partial product may be infinite or 0 though the whole product isn't, which may give
// NaN; or may not: the product's own value may underflow later, and decide a truth value.
bool may_overflow_inside(const Graph& g, NodeId n, const std::vector<const Array*>& operands) {
  const std::string& name = g.node(n).op->name;
  if (name != "prod" && name != "cumprod" && name != "cumprod_backward") return false;
  const Array& factors = *operands[name == "cumprod_backward" ? 1 : 0];
  if (!factors.floating()) return false;
  double up = 0;
  for (const double x : factors.f)
    if (std::isfinite(x) && std::fabs(x) > 1) up += std::log2(std::fabs(x));
  return up > (factors.dtype == DType::f64 ? 1000 : 120);
}

// The error of each normalised element due to the rounding of the mean: relative to the operand's
// size, scaled like the element.
double normalised_noise(const Graph& g, NodeId n, const std::vector<const Array*>& operands,
                        const Arrays& results) {
  const std::string& name = g.node(n).op->name;
  if (name != "native_layer_norm" && name != "native_group_norm" &&
      !name.starts_with("_native_batch_norm"))
    return 0;
  return results.size() < 3 ? 0 : largest(*operands[0]) * largest(results[2]);
}

// Runs one node with perturbed rounding: each floating result is moved by up to a rounding relative
// to its own size, for products also to the result's largest element; operands of sums are moved by
// a rounding of the type of the sum.
Result<Arrays> run_moved(const Graph& g, NodeId n, std::vector<const Array*> operands,
                         Rounding& rounding) {
  const Node& node = g.node(n);
  if (has(node.op->traits, Trait::view)) return run_node(g, n, operands);
  std::vector<Array> moved;
  moved.reserve(operands.size());
  Arrays unmoved;
  if (rounds_like_operands(g, n)) {
    CLEAVE_TRY(unmoved, run_node(g, n, operands));
    for (const Array*& x : operands) {
      if (!x) continue;
      moved.push_back(*x);
      const DType sums = x->dtype == DType::f64 ? DType::f64 : DType::f32;
      rounding.move_elements(moved.back(), sums, sums, 0);
      rounding.flush_small(moved.back());
      x = &moved.back();
    }
  }
  CLEAVE_TRY(Arrays results, run_node(g, n, operands));
  if (rounding.overflows_inside() && may_overflow_inside(g, n, operands))
    for (double& x : results[0].f) x = NAN;
  double whole = terms_inside(g.view(n), operands);
  double noise = normalised_noise(g, n, operands, results);
  const bool sums = has(node.op->traits, Trait::reduction | Trait::compute_intensive) ||
                    node.op->name.starts_with("fft_");
  for (Array& a : results) {
    if (sums) whole = std::max(whole, 0.25 * largest(a));
    rounding.move_elements(a, rounding.type_of(g.view(n), a.dtype), a.dtype,
                           rounding.moves_alone() ? 0 : whole + std::exchange(noise, 0));
  }
  for (size_t k = 0; k < unmoved.size(); ++k) rounding.cancel_elements(results[k], unmoved[k]);
  return results;
}

// A conversion to bf16 or f16.
bool is_narrowing(const OpView& op) {
  return op.name() == "_to_copy" && is_floating(op.in_type(0).dtype) &&
         rounding_of(op.out_type(0).dtype) > rounding_of(op.in_type(0).dtype);
}

// `rounding` null: unperturbed.
Result<Arrays> run(const Graph& g, const Arrays& inputs, Rounding* rounding, Narrowing narrowing) {
  std::vector<Array> values(g.value_capacity());
  for (size_t i = 0; i < inputs.size(); ++i) values[g.placeholders()[i].value.v] = inputs[i];
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& node = g.node(n);
    std::vector<const Array*> operands;
    for (ValueId v : node.inputs) operands.push_back(v.valid() ? &values[v.v] : nullptr);
    CLEAVE_TRY(Arrays results,
               rounding ? run_moved(g, n, operands, *rounding) : run_node(g, n, operands));
    if (narrowing == Narrowing::may_be_dropped && is_narrowing(g.view(n)))
      results[0].f = operands[0]->f;
    for (uint32_t k = 0; k < node.output_count; ++k) values[node.out(k).v] = std::move(results[k]);
  }
  Arrays out;
  for (const Return& x : g.returns()) out.push_back(values[x.value.v]);
  return out;
}

}  // namespace

double base_error_of(DType t) {
  switch (t) {
    case DType::f64: return 1e-12;
    case DType::f32: return 2e-5;
    case DType::bf16: return 0x1p-6;
    case DType::f16: return 0x1p-9;
    default: return 0;
  }
}

Result<Arrays> run_oracle(const Graph& g, const Arrays& inputs, Narrowing narrowing) {
  return run(g, inputs, nullptr, narrowing);
}

std::vector<Arrays> moved_oracles(const Graph& g, const Arrays& inputs, Narrowing narrowing) {
  std::vector<Arrays> moved;
  const auto add = [&](uint64_t seed) {
    Rounding rounding(seed, narrowing);
    Result<Arrays> m = run(g, inputs, &rounding, narrowing);
    if (m.ok()) moved.push_back(*std::move(m));
  };
  add(to_nearest);
  for (uint64_t k = 0; k < moved_tries && moved.size() < moved_runs; ++k) add(k);
  return moved;
}

bool fails_by_rounding(const Graph& g, const Arrays& inputs, const std::string& message) {
  for (int k = 0; k < moved_tries; ++k) {
    Rounding rounding(static_cast<uint64_t>(k));
    const Result<Arrays> moved = run(g, inputs, &rounding, Narrowing::kept);
    if (moved.ok()) continue;
    const std::string& said = moved.failure().message;
    if (message.starts_with(said.substr(0, said.find('\n')))) return true;  // after it, the node
  }
  return false;
}

Allowance::Allowance(const Array& want, const std::vector<const Array*>& moved)
    : want_(want), moved_(moved) {
  for (int64_t k = 0; k < want.numel(); ++k)
    if (std::isfinite(want.number(k))) scale_ = std::max(scale_, std::fabs(want.number(k)));
  // The largest change anywhere, since a few runs don't show each element at its worst.
  for (int64_t k = 0; k < want.numel(); ++k) largest_ = std::max(largest_, change(k));
}

bool Allowance::is_open(int64_t k) const {
  if (moved_.empty()) return true;
  for (const Array* m : moved_) {
    const double a = want_.number(k), b = m->number(k);
    if (std::isnan(a) != std::isnan(b) || std::isinf(a) != std::isinf(b)) return true;
    if (!want_.floating() && a != b) return true;
  }
  return change(k) > 0.05 * scale_;
}

double Allowance::error(int64_t k) const {
  return base_error_of(want_.dtype) * scale_ + 8 * change(k) +
         (want_.floating() ? 2 * std::min(largest_, 0.01 * scale_) : 0);
}

double Allowance::change(int64_t k) const {
  double most = 0;
  for (const Array* m : moved_) {
    const double d = std::fabs(m->number(k) - want_.number(k));
    if (std::isfinite(d)) most = std::max(most, d);
  }
  return most;
}

}  // namespace cleave
