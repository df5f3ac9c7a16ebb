// arange(; start=0, end, step=1, dtype, device) -> y        y[k] = start + k * step
//
//   start, end, step  numbers; integers may be symbolic
//                     (C1) step is not 0
//                     (C2) end is in the direction of step, or equals start
//                     (C3) all are finite
//   dtype             (C4) not bool; default: i64 if all numbers are integers, else f32
//   device            (C5) cpu, cuda or cuda:N; default: the CPU
//   y                 [n], n = ceil((end - start) / step)
//
// With dtype i64 the numbers are truncated first. Floating elements are computed in f64 and rounded
// once. A symbolic length that can't be proven positive is max(0, n).
#include <cmath>

#include "op/constructor_device.h"
#include "op/cost.h"
#include "op/entry.h"
#include "op/pointwise.h"
#include "op/pointwise_reference.h"

namespace cleave {
namespace {

constexpr const char* numbers[] = {"start", "end", "step"};

DType dtype_of(const OpView& op) {
  if (const auto t = op.dtype_attr("dtype")) return *t;
  for (const char* n : numbers)
    if (number_dtype(op.attr(n)) == DType::f32) return DType::f32;
  return DType::i64;
}

bool all_integers(const OpView& op) {
  for (const char* n : numbers)
    if (!op.attr(n).is_int()) return false;
  return true;
}

// The number as an integer: itself, or truncated.
Dim whole(const OpView& op, const char* name) {
  const AttrValue& v = op.attr(name);
  return v.is_int() ? *v.get<Dim>() : Dim(truncate_to(DType::i64, v.as_double()));
}

Result<Dim> integer_length(const OpView& op) {
  const Dim start = whole(op, "start"), end = whole(op, "end"), step = whole(op, "step");
  if (!step.is_const() || step.value() == 0)
    return op.broken("C1", "step is {}, expected a non-zero number", step.text());
  const bool up = step.value() > 0;
  const Dim way = up ? end - start : start - end;
  const Dim stride = up ? step : Dim(0) - step;
  const DimRange range = op.env().range_of(way);
  if (range.hi < 0)
    return op.broken("C2",
                     "end {} lies {} start {} and step is {}, expected a way from start to end",
                     end.text(), up ? "below" : "above", start.text(), step.text());
  const Dim n = Dim(0) - Dim::floordiv(Dim(0) - way, stride);  // rounded up
  return range.lo >= 0 ? n : Dim::max(n, Dim(0));
}

Result<Dim> floating_length(const OpView& op) {
  const double start = op.float_attr("start"), end = op.float_attr("end"),
               step = op.float_attr("step");
  for (const char* n : numbers)
    if (!std::isfinite(op.float_attr(n)))
      return op.broken("C3", "{} is {}, expected a finite number", n, op.attr(n).text());
  if (step == 0)
    return op.broken("C1", "step is {}, expected a non-zero number", op.attr("step").text());
  if (step > 0 ? end < start : end > start)
    return op.broken("C2",
                     "end {} lies {} start {} and step is {}, expected a way from start to end",
                     op.attr("end").text(), step > 0 ? "below" : "above", op.attr("start").text(),
                     op.attr("step").text());
  const double n = std::ceil((end - start) / step);
  return n < 1e18 ? Dim(static_cast<int64_t>(n)) : Dim(int64_t{1} << 62);
}

Result<Types> infer_arange(const OpView& op) {
  const DType t = dtype_of(op);
  if (t == DType::boolean) return op.broken("C4", "dtype is bool, expected a number dtype");
  CLEAVE_TRY(Dim n, all_integers(op) ? integer_length(op) : floating_length(op));
  if (t == DType::i64 && !all_integers(op)) { CLEAVE_TRY(n, integer_length(op)); }
  return made_on_device(op, "C5", Type(t, {n}));
}

Result<Arrays> reference_arange(const OpView& op, std::span<const Array* const>) {
  Array out = result_array(op, 0);
  const double start = op.float_attr("start"), step = op.float_attr("step");
  const int64_t first = whole(op, "start").value(), stride = whole(op, "step").value();
  for (int64_t k = 0; k < out.numel(); ++k) {
    if (out.floating())
      out.set(k, start + step * static_cast<double>(k));
    else
      out.set_int(k, wrapping_add(first, wrapping_mul(stride, k)));
  }
  return Arrays{std::move(out)};
}

loop::Exprs lower_arange(loop::KernelBuilder&, const OpView& op, const loop::Exprs& index) {
  const DType t = loop::compute_type(op.out_type(0).dtype);
  if (!is_floating(t)) {
    const loop::Expr first(whole(op, "start").value()), stride(whole(op, "step").value());
    return {loop::cast(first + index[0] * stride, t)};
  }
  const loop::Expr start = loop::constant(DType::f64, op.float_attr("start"));
  const loop::Expr step = loop::constant(DType::f64, op.float_attr("step"));
  return {loop::cast(start + step * loop::cast(index[0], DType::f64), t)};
}

Sample call(AttrValue start, AttrValue end, AttrValue step, std::optional<DType> dtype = {}) {
  Sample s{{}, {{"start", std::move(start)}, {"end", std::move(end)}, {"step", std::move(step)}}};
  if (dtype) s.attrs.emplace_back("dtype", *dtype);
  return s;
}

}  // namespace

CLEAVE_OPS(arange) {
  return {OpDef{
      .name = "arange",
      .signature = "(Scalar start=0, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Device? "
                   "device=None) -> Tensor",
      .summary = "start, start + step, ... before end",
      .source = "aten::arange, aten::arange.start_step, PyTorch 2.13",
      .traits = Trait::constructor | Trait::fusible | Trait::recomputable,
      .infer = infer_arange,
      .reference = reference_arange,
      .decompose = Absent{"primitive"},
      .grad = Absent{"no operand"},
      .lower = loop::elementwise(lower_arange, true),
      .cost = cost_per_result(2),
      .samples = []() -> Samples {
        return {{{}, {{"end", 5}}},
                {{}, {{"end", 2.5}}},
                call(3, -4, -2),
                call(2, 9, 3),
                call(3, 3, 1),
                call(0, 3, 0.5),
                call(0.5, 5, 1.5, DType::i64),
                call(0, 7, 2, DType::f32),
                call(-3, 4, 1, DType::i32),
                call(0, 1, 0.125, DType::bf16),
                call(1, 4, 1, DType::f16),
                call(1.5, -1.0, -0.75, DType::f64),
                call(250, 260, 1, DType::u8)};
      },
      .rejects = []() -> Rejects {
        return {
            {"C1", call(0, 5, 0), "arange: C1: step is 0, expected a non-zero number"},
            {"C1", call(0, 5, 0.5, DType::i64),
             "arange: C1: step is 0, expected a non-zero number"},
            {"C2", call(3, 5, -2),
             "arange: C2: end 5 lies above start 3 and step is -2, expected a way from start "
             "to end"},
            {"C2", call(3.5, 1, 1),
             "arange: C2: end 1 lies below start 3.5 and step is 1, expected a way from start "
             "to end"},
            {"C3",
             {{}, {{"end", std::numeric_limits<double>::infinity()}}},
             "arange: C3: end is inf, expected a finite number"},
            {"size", call(0, 1e19, 0.5),
             "arange: dim 4611686018427387904 of f32[4611686018427387904] is outside [0, 2^47]"},
            {"C5",
             {{}, {{"end", 3}, {"device", "cuda:x"}}},
             "arange: C5: device is \"cuda:x\", expected cpu, cuda or cuda:N"},
            {"C4", call(0, 2, 1, DType::boolean),
             "arange: C4: dtype is bool, expected a number dtype"}};
      },
  }};
}

}  // namespace cleave
