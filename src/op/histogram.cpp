// histc(self; bins, min, max) -> y
//   how many elements lie in each of `bins` equal parts of [min, max]
//
//   place of x = whole part of (x - min) * bins / (max - min); x = max lies in the last bin
//
//   self  [*s], of any number of dims      y [bins], dtype of self
//   (C1) self isn't bool or i64            (C2) bins is at least 1, and less than 2^31
//   (C3) min and max are finite, and min is at most max; both are below 2^31 if self is integer
//
// Elements outside and NaN don't count. Where min is max, the range is that of the elements, which
// must be finite; where those are equal too, or there are none, it is [min - 1, max + 1]. The range
// and each step of the place are rounded to self's dtype, as in ATen; of integers, which ATen takes
// on GPUs alone, it is computed in i64. There is no gradient, as in ATen.
// Source: aten/src/ATen/native/cpu/HistogramKernel.cpp, PyTorch 2.13.
#include <cmath>
#include <limits>
#include <utility>

#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/kernel_loops.h"
#include "op/pointwise.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::Op;

constexpr const char* not_finite = "histc: self has elements that are not finite, and min is max";

constexpr int64_t most = std::numeric_limits<int32_t>::max();

struct Range {
  double low, high;
};
// As given, in self's dtype.
Range given_range(const OpView& op) {
  const auto in_dtype = [&](const char* name) {
    const DType t = op.in_type(0).dtype;
    const double v = op.float_attr(name);
    return is_floating(t) ? round_to(t, v) : std::trunc(v);
  };
  return {in_dtype("min"), in_dtype("max")};
}

// Of elements that all equal x: one less and one more, in x's dtype.
Range around(DType t, double x) {
  if (!is_floating(t)) return {x - 1, x + 1};
  return {round_to(t, x - 1), round_to(t, x + 1)};
}

Result<Types> infer(const OpView& op) {
  const Type& x = op.in_type(0);
  if (x.dtype == DType::boolean || x.dtype == DType::i64)
    return op.broken("C1", "self is {}, expected a floating dtype or at most 32 bits", x.text());
  const Dim bins = op.dim_attr("bins");
  if (const auto range = op.env().range_of(bins); range.lo < 1 || range.hi > most)
    return op.broken("C2", "bins is {}, expected a number in [1, 2^31)", bins.text());
  const double low = op.float_attr("min"), high = op.float_attr("max");
  if (!std::isfinite(low) || !std::isfinite(high) || low > high ||
      (!is_floating(x.dtype) && std::max(-low, high) > most))
    return op.broken("C3", "min is {} and max is {}, expected a range", op.attr("min").text(),
                     op.attr("max").text());
  return Types{typed_like(x, x.dtype, {bins})};
}

// ---- reference

int64_t place_of(const OpView& op, double x, Range r, int64_t bins) {
  const DType t = op.in_type(0).dtype;
  const auto rounded = [&](double v) { return round_to(t, v); };
  const double scaled = rounded(rounded(x - r.low) * rounded(static_cast<double>(bins)));
  const double place = rounded(scaled / rounded(r.high - r.low));
  return std::min(static_cast<int64_t>(std::isnan(place) ? 0 : std::min(place, 1e18)), bins - 1);
}

int64_t place_of_integer(int64_t x, Range r, int64_t bins) {
  const auto low = static_cast<int64_t>(r.low), high = static_cast<int64_t>(r.high);
  return std::min((x - low) * bins / (high - low), bins - 1);
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  const int64_t bins = op.int_attr("bins");
  Range r = given_range(op);
  if (r.low == r.high && x.numel() > 0) {
    r = {INFINITY, -INFINITY};
    for (int64_t i = 0; i < x.numel(); ++i) {
      if (!std::isfinite(x.number(i))) return user_error("{}", not_finite);
      r = {std::min(r.low, x.number(i)), std::max(r.high, x.number(i))};
    }
  }
  if (r.low == r.high) r = around(x.dtype, r.low);
  std::vector<int64_t> counts(static_cast<size_t>(bins), 0);
  for (int64_t i = 0; i < x.numel(); ++i)
    if (x.number(i) >= r.low && x.number(i) <= r.high)
      ++counts[x.floating() ? place_of(op, x.f[i], r, bins) : place_of_integer(x.i[i], r, bins)];
  Array y(x.dtype, {bins});
  for (int64_t b = 0; b < bins; ++b)
    x.floating() ? y.set(b, static_cast<double>(counts[b])) : y.set_int(b, counts[b]);
  return Arrays{std::move(y)};
}

// ---- lowering

class HistogramLoops {
 public:
  HistogramLoops(loop::KernelBuilder& k, const OpView& op)
      : k_(k), op_(op), stored_(op.in_type(0).dtype),
        type_(is_floating(stored_) ? loop_type(stored_) : DType::i64),
        shape_(static_shape(op.in_type(0))), bins_(op.int_attr("bins")) {}

  void write() {
    find_range();
    const int64_t count = numel_of(shape_);
    const int places = k_.scratch(DType::i64, {count});
    if (count > 0)
      k_.parallel({count}, [&](const Exprs& i) { k_.store(places, i, place_of(element(i[0]))); });
    k_.parallel({bins_}, [&](const Exprs& bin) {
      const Expr sum = k_.reduce(loop::ReduceOp::sum, {count}, [&](const Exprs& i) {
        return select(binary(Op::eq, k_.load_result(places, i), bin[0]), Expr(1), Expr(0));
      });
      k_.store(0, bin, cast(sum, type_));
    });
  }

 private:
  static DType loop_type(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }
  Expr number(double v) const {
    return is_floating(type_) ? loop::constant(type_, v)
                              : loop::constant_int(type_, static_cast<int64_t>(v));
  }
  Expr element(const Expr& at) { return cast(k_.load(0, index_at(k_, shape_, at)), type_); }
  Expr rounded(const Expr& x) const { return is_floating(type_) ? round_to_stored(x, stored_) : x; }
  Expr test(Op op, const Expr& a, const Expr& b) const { return binary(op, a, b); }

  // The range in `range_`, where it is that of the elements.
  void find_range() {
    given_ = given_range(op_);
    if (given_.low != given_.high) return;
    if (numel_of(shape_) == 0) {
      given_ = around(stored_, given_.low);
      return;
    }
    range_ = k_.scratch(type_, {2});
    k_.parallel({}, [&](const Exprs&) {
      const auto folded = [&](loop::ReduceOp how) {
        return k_.let(
            k_.reduce(how, {numel_of(shape_)}, [&](const Exprs& i) { return element(i[0]); }));
      };
      const Expr low = folded(loop::ReduceOp::min), high = folded(loop::ReduceOp::max);
      if (is_floating(type_))
        k_.check(test(Op::eq, high - high + (low - low), number(0)), not_finite);
      const Expr more = select(test(Op::eq, low, high), number(1), number(0));
      k_.store(range_, {Expr(0)}, rounded(low - more));
      k_.store(range_, {Expr(1)}, rounded(high + more));
    });
  }
  Expr bound(bool is_high) {
    if (range_ < 0) return number(is_high ? given_.high : given_.low);
    return k_.load_result(range_, {Expr(is_high ? 1 : 0)});
  }

  // -1 of an element outside.
  Expr place_of(const Expr& given) {
    const Expr x = k_.let(given), low = k_.let(bound(false)), high = k_.let(bound(true));
    const Expr scaled = rounded(rounded(x - low) * rounded(number(static_cast<double>(bins_))));
    const Expr width = rounded(high - low);
    const Expr inside = binary(Op::logical_and, test(Op::ge, x, low), test(Op::le, x, high));
    const Expr last = number(static_cast<double>(bins_ - 1));
    Expr place = is_floating(type_) ? rounded(scaled / width) : binary(Op::truncdiv, scaled, width);
    place = k_.let(place);
    place = select(test(Op::lt, place, last), place,
                   select(test(Op::eq, place, place), last, number(0)));
    return select(inside, cast(select(inside, place, number(0)), DType::i64), Expr(-1));
  }

  loop::KernelBuilder& k_;
  const OpView& op_;
  const DType stored_, type_;
  const std::vector<int64_t> shape_;
  const int64_t bins_;
  Range given_{};
  int range_ = -1;
};

Samples samples() {
  const auto call = [](SampleTensor x, int64_t bins, AttrValue min, AttrValue max) {
    return Sample{{std::move(x)},
                  {{"bins", bins}, {"min", std::move(min)}, {"max", std::move(max)}}};
  };
  Samples out;
  for (const DType t : all_dtypes) {
    if (t == DType::boolean || t == DType::i64) continue;
    out.push_back(call(any_of(t, {4, 5}), 4, -1, 2));
    out.push_back(call(any_of(t, {7}), 3, 0, 0));
    out.push_back(call(sample(t, {6}).with({0, 1, 1, 2, 3, 3}), 4, 0, 3));
  }
  const SampleTensor odd = f32({8}).with({NAN, INFINITY, -INFINITY, 0, 1, -0.0, 0.999, 1.001});
  out.push_back(call(odd, 2, 0, 1));
  out.push_back(call(f32({2}).with({2, 2}), 4, 0, 0));
  // In the middle, at the border of two parts: how the range is rounded says which counts it.
  for (const auto& [t, x] : {std::pair{DType::f16, -0.942},
                             {DType::bf16, -0.66015625},
                             {DType::f32, -0.656375},
                             {DType::f64, 0.3}})
    out.push_back(call(sample(t, {1}).with({x}), 2, 0, 0));
  out.push_back(call(f32({3}).with({0.1, 0.2, 0.3}), 10, 0.0, 1.0));
  out.push_back(call(f64({2, 50}), 100, -2, 2));
  out.push_back(call(f32({3}).with({-3e38, 0, 3e38}), 4, 0, 0));
  out.push_back(call(f32({}), 3, -4, 4));
  out.push_back(call(f32({0, 2}), 3, 0, 0));
  out.push_back(call(f32({5}), 1, -4, 4));
  out.push_back({{f32({6})}});
  return out;
}

}  // namespace

CLEAVE_OPS(histogram) {
  return {OpDef{
      .name = "histc",
      .signature = "(Tensor self, SymInt bins=100, Scalar min=0, Scalar max=0) -> Tensor",
      .summary = "How many elements lie in each of equal parts of a range.",
      .source = "aten::histc, PyTorch 2.13",
      .traits = Trait::reduction | Trait::recomputable | Trait::data_dependent,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"a primitive: counts"},
      .grad = Absent{"counts, which don't change with the elements"},
      .lower = loop::kernel(
          [](loop::KernelBuilder& k, const OpView& op) { HistogramLoops(k, op).write(); }),
      .cost =
          [](const OpView& op) {
            const int64_t n = numel_hint(op, op.in_type(0));
            return Cost{n * (5 + op.env().hint_of(op.dim_attr("bins"))), bytes_moved(op)};
          },
      .samples = samples,
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{boolean({2})}},
                 "histc: C1: self is bool[2], expected a floating dtype or at most 32 bits"},
                {"C1",
                 {{i64({2})}},
                 "histc: C1: self is i64[2], expected a floating dtype or at most 32 bits"},
                {"C2",
                 {{f32({2})}, {{"bins", 0}}},
                 "histc: C2: bins is 0, expected a number in [1, 2^31)"},
                {"C3",
                 {{i32({2})}, {{"min", -3e9}, {"max", 1}}},
                 "histc: C3: min is -3000000000.0 and max is 1, expected a range"},
                {"C3",
                 {{f32({2})}, {{"min", 2}, {"max", 1}}},
                 "histc: C3: min is 2 and max is 1, expected a range"},
                {"not finite", {{f32({2}).with({1, INFINITY})}}, not_finite},
                {"not finite", {{f64({2}).with({NAN, 1})}}, not_finite}};
      },
      .nondifferentiable = 1,
  }};
}

}  // namespace cleave
