// Copies and conversions.
//
//   _to_copy(self; dtype, device, memory_format)
//                                          self in another dtype, on another device
//                                          (C1) device is cpu, cuda or cuda:N; default: self's
//   clone(self; memory_format)             self
//   lift_fresh_copy(self)                  self
//   conj_physical(self)                    self: numbers are real
//   alias(self), detach(self)              aliases of self; detach stops the gradient
//   copy(self, src)                        src in the shape and dtype of self
//                                          (C1) src broadcasts to self
//   fill(self, value)                      value everywhere, in the shape and dtype of self
//                                          (C1) a tensor value is 0-d
//
// Floating to integer truncates towards 0; integers wrap to a narrower width; anything to bool is x
// != 0; floating to a narrower floating rounds to nearest, ties to even. The memory format is a
// preference about strides; lowering is free to choose.
#include <cmath>
#include <limits>

#include "op/broadcast.h"
#include "op/constructor_device.h"
#include "op/cost.h"
#include "op/entry.h"
#include "op/pointwise.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

// Converts one element of `from` to the dtype of `into`.
void convert_element(Array& into, int64_t k, const Array& from, int64_t at) {
  if (from.floating())
    into.set(k, from.f[at]);
  else
    into.set_int(k, from.i[at]);
}

Result<Types> same_type(const OpView& op) { return like_self(op, op.in_type(0).dtype); }

Result<Arrays> reference_copy(const OpView&, std::span<const Array* const> in) {
  return Arrays{*in[0]};
}

GradFn identity_grad() {
  return unary_grad([](Builder&, const GradView&, ValueId g) { return g; });
}

// Values whose conversion is the same in every precision.
std::vector<double> convertible() { return {-2.75, -1, -0.5, 0, 0.75, 2.5}; }

std::vector<Sample> conversions() {
  std::vector<Sample> s;
  const auto dtypes = {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64,
                       DType::i32, DType::i16, DType::i8,   DType::u8,  DType::boolean};
  for (DType from : dtypes) {
    for (DType to : dtypes) {
      SampleTensor x = any_of(from, {2, 3});
      // Conversion is portable only for values that the target can represent.
      if (is_floating(from)) x = x.with(convertible());
      if (is_floating(from) && to == DType::u8) x = x.with({0, 0.5, 1, 2.75, 100, 255});
      if (is_integer(from) && from != DType::u8) x = x.with({-128, -7, -1, 0, 5, 127});
      s.push_back({{x}, {{"dtype", to}}});
    }
  }
  return s;
}

OpDef to_copy_entry() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto samples = [] {
    const std::vector<Sample> more = {
        {{f32({2, 3})}},
        {{f32({2, 3})}, {{"device", "cpu"}}},
        {{f32({})}, {{"dtype", DType::bf16}}},
        {{f32({0, 3})}, {{"dtype", DType::i64}}},
        {{f32({4}).with({nan, inf, -inf, -0.0})}, {{"dtype", DType::boolean}}},
        {{f32({2, 2, 1, 1})}, {{"memory_format", MemoryFormat::channels_last}}},
        {{i64({3}).with({4294967296.0, 4294967297.0, -2147483649.0})}, {{"dtype", DType::i32}}},
        {{i64({2}).with({4503599627370497.0, -3})}, {{"dtype", DType::f64}}},
        {{i32({3}).with({300, -129, 65536})}, {{"dtype", DType::u8}}},
        {{f64({3}).with({1e10, -1e-10, 1.0000000001})}, {{"dtype", DType::f32}}},
        {{f32({4}).with({65519, 65520, 5.9e-8, 2e-8})}, {{"dtype", DType::f16}}},
        {{f32({2}).with({1.00390625, 1.01171875})}, {{"dtype", DType::bf16}}}};
    return joined({conversions(), more});
  };
  return OpDef{
      .name = "_to_copy",
      .signature =
          "(Tensor self, *, ScalarType? dtype=None, Device? device=None, bool non_blocking=False, "
          "MemoryFormat? memory_format=None) -> Tensor",
      .summary = "self in another dtype, on another device",
      .source = "aten::_to_copy, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        const Types like = like_self(op, op.dtype_attr("dtype").value_or(op.in_type(0).dtype));
        return made_on_device(op, "C1", like[0]);
      },
      .reference = [](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
        Array out = result_array(op, 0);
        for (int64_t k = 0; k < out.numel(); ++k) convert_element(out, k, *in[0], k);
        return Arrays{std::move(out)};
      },
      .decompose = Absent{"primitive"},
      .grad = [](Builder& b, const GradView& op) -> Values {
        return {grad_to(b, op, 0, [&] { return op.dout(0); })};  // converts back
      },
      .lower = loop::pointwise([](const OpView& op, const loop::Exprs& x) {
        return loop::cast(x[0], loop::compute_type(op.out_type(0).dtype));
      }),
      .cost = cost_per_result(1),
      .samples = samples,
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2})}, {{"device", "tpu:0"}}},
                 "_to_copy: C1: device is \"tpu:0\", expected cpu, cuda or cuda:N"}};
      },
  };
}

// Contents that arithmetic would change, and edge-case shapes.
std::vector<Sample> odd_copies() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> odd = {nan, inf, -inf, 0, -0.0, 1e-30};
  return {{{f32({6}).with(odd)}},
          {{f64({2, 3}).with(odd)}},
          {{bf16({6}).with(odd)}},
          {{f16({6}).with({nan, inf, -inf, -0.0, 65504, 6e-8})}},
          {{i64({3}).with({-9223372036854775808.0, 4503599627370497.0, -1})}},
          {{i32({2}).with({-2147483648.0, 2147483647.0})}},
          {{sample(DType::u8, {2}).with({0, 255})}},
          {{sample(DType::i8, {2}).with({-128, 127})}},
          {{bf16({})}},
          {{boolean({})}},
          {{bf16({0})}},
          {{f32({1, 1, 1})}},
          {{f32({2, 3, 4, 5})}},
          {{bf16({3, 67})}}};
}

OpDef clone_entry(const char* name, const char* signature, const SampleAttrs& attrs) {
  return OpDef{
      .name = name,
      .signature = signature,
      .summary = "a copy of self",
      .source = fmt::format("aten::{}, PyTorch 2.13", name),
      .traits = pointwise_traits,
      .infer = same_type,
      .reference = reference_copy,
      .decompose = Absent{"primitive"},
      .grad = identity_grad(),
      .lower = loop::pointwise([](const OpView&, const loop::Exprs& x) { return x[0]; }),
      .cost = cost_per_result(0),
      .samples =
          [=] {
            return joined({over_dtypes(all_dtypes, {2, 3}), over_dtypes({DType::f32}, {}),
                           over_dtypes({DType::f32}, {0, 3}),
                           over_dtypes({DType::f32}, {2, 3, 1, 2}, attrs), odd_copies()});
          },
      .rejects = {},
  };
}

OpDef alias_entry(const char* name, const char* summary, const Slot<GradFn>& grad) {
  return OpDef{
      .name = name,
      .signature = "(Tensor self) -> Tensor",
      .summary = summary,
      .source = fmt::format("aten::{}, PyTorch 2.13", name),
      .traits = Trait::view | Trait::fusible | Trait::recomputable,
      .infer = same_type,
      .reference = reference_copy,
      .decompose = Absent{"primitive"},
      .grad = grad,
      .lower = loop::view([](const OpView&, const loop::Layout& in, int) { return in; }),
      .cost = cost_of_view(),
      .samples =
          [] {
            return joined({over_dtypes(all_dtypes, {2, 3}), over_dtypes({DType::f32}, {}),
                           over_dtypes({DType::f32}, {0, 3}), odd_copies()});
          },
      .rejects = {},
  };
}

Samples copy_samples() {
  return {{{f32({2, 3}), f32({2, 3})}},
          {{f32({2, 3}), f32({3})}},
          {{f32({2, 3}), f64({})}},
          {{f64({2, 3}), bf16({2, 1})}},
          {{bf16({3}), f32({3})}},
          {{i64({6}), f32({6}).with(convertible())}},
          {{boolean({6}), f32({6}).with(convertible())}},
          {{f32({3}), i32({3})}},
          {{f32({0, 3}), f32({1, 3})}},
          {{f16({2, 3}), f16({})}},
          {{f32({}), f64({})}},
          {{f64({2, 2}), i64({2})}},
          {{i32({6}), f64({6}).with(convertible())}},
          {{i64({2}), boolean({2})}},
          {{sample(DType::u8, {3}), i64({3}).range(0, 9)}},
          {{sample(DType::i8, {2}), i32({2})}},
          {{bf16({2, 3, 2}), f32({3, 1})}},
          {{f16({4}), f32({4}).with({65519, 1e-9, -0.0, 1})}},
          {{f32({3}), f32({3}).with({std::numeric_limits<double>::quiet_NaN(),
                                     std::numeric_limits<double>::infinity(), -0.0})}},
          {{f32({3, 40}), bf16({40})}},
          {{boolean({2, 2}), i64({2}).with({0, 256})}},
          {{f32({2, 0}), f32({})}},
          {{i64({3}), i64({})}},
          {{f64({2, 3}), f32({2, 3})}}};
}

OpDef copy_entry() {
  return OpDef{
      .name = "copy",
      .signature = "(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
      .summary = "src in the shape and dtype of self",
      .source = "aten::copy, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(check_expandable(op, "C1", op.in_type(1).shape, op.in_type(0).shape));
        return same_type(op);
      },
      .reference = [](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
        Array out = result_array(op, 0);
        std::vector<int64_t> index(out.shape.size(), 0);
        for (int64_t k = 0; k < out.numel(); ++k) {
          convert_element(out, k, *in[1], broadcast_position(index, in[1]->shape));
          next_index(index, out.shape);
        }
        return Arrays{std::move(out)};
      },
      .decompose = [](Builder& b, const OpView& op) -> Values {
        const Type& t = op.out_type(0);
        return {b.expand(b.convert(op.in(1), t.dtype), t.shape)};
      },
      .grad = [](Builder& b, const GradView& op) -> Values {
        return {ValueId::none(), grad_to(b, op, 1, [&] { return op.dout(0); })};
      },
      .lower = loop::pointwise([](const OpView& op, const loop::Exprs& x) {
        return loop::cast(x[1], loop::compute_type(op.out_type(0).dtype));
      }),
      .cost = cost_per_result(1),
      .samples = copy_samples,
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2}), f32({3})}},
                 "copy: C1: shapes [3] and [2] don't broadcast: dim -1 is 3 and 2, expected "
                 "equal sizes or 1"},
                {"C1",
                 {{f32({1}), f32({3})}},
                 "copy: C1: shape [3] doesn't broadcast to [1], expected dims that are equal or "
                 "1"},
                {"C1",
                 {{f32({3}), f32({1, 3})}},
                 "copy: C1: shape [1,3] doesn't broadcast to [3], expected dims that are equal "
                 "or 1"}};
      },
  };
}

Samples fill_samples() {
  return {{{f32({2, 3}), 1.5}},
          {{f32({2, 3}), 2}},
          {{f32({2, 3}), f32({})}},
          {{f32({2, 3}), i64({})}},
          {{bf16({3}), 0.1}},
          {{f64({}), f32({})}},
          {{i64({3}), 2.5}},
          {{i32({3}), f32({}).with({-3.75})}},
          {{boolean({3}), 2}},
          {{f32({0}), 1}},
          {{f16({2}), true}},
          {{f32({}), 3}},
          {{f64({2, 2}), 0.1}},
          {{f32({2}), -INFINITY}},
          {{bf16({2, 3, 4}), f32({})}},
          {{boolean({2}), 0.0}},
          {{boolean({2}), f32({}).with({0.5})}},
          {{sample(DType::u8, {2}), 200}},
          {{sample(DType::i8, {2}), -100}},
          {{sample(DType::i16, {2}), i64({})}},
          {{f32({3, 40}), bf16({})}},
          {{f16({3}), f64({}).with({0.1})}},
          {{i64({2}), true}},
          {{i64({2}), -9007199254740991.0}},
          {{f32({2, 0}), f32({})}}};
}

OpDef fill_entry() {
  return OpDef{
      .name = "fill",
      .signature = "(Tensor self, Tensor|Scalar value) -> Tensor",
      .summary = "value everywhere, in the shape and dtype of self",
      .source = "aten::fill.Scalar, aten::fill.Tensor, PyTorch 2.13",
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        if (op.has(1) && op.in_type(1).rank() != 0)
          return op.broken("C1", "value is {}, expected a number or a 0-d tensor",
                           op.in_type(1).text());
        return same_type(op);
      },
      .reference = [](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
        Array out = result_array(op, 0);
        for (int64_t k = 0; k < out.numel(); ++k) {
          if (op.has(1))
            convert_element(out, k, *in[1], 0);
          else
            set_number(out, k, op.number(1));
        }
        return Arrays{std::move(out)};
      },
      .decompose = [](Builder& b, const OpView& op) -> Values {
        const Type& t = op.out_type(0);
        if (op.is_number(1)) return {b.full(t.shape, op.number(1), t.dtype)};
        return {b.expand(b.convert(op.in(1), t.dtype), t.shape)};
      },
      .grad = [](Builder& b, const GradView& op) -> Values {
        return {ValueId::none(), grad_to(b, op, 1, [&] { return op.dout(0); })};
      },
      .lower = loop::by_decomposition(),
      .cost = cost_per_result(0),
      .samples = fill_samples,
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{f32({2}), f32({2})}},
                 "fill: C1: value is f32[2], expected a number or a 0-d tensor"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(convert) {
  const SampleAttrs channels_last = {{"memory_format", MemoryFormat::channels_last}};
  OpDef detach = alias_entry("detach", "self, through which no gradient flows",
                             Absent{"nothing flows through it"});
  detach.nondifferentiable = 1;
  detach.decompose = [](Builder& b, const OpView& op) -> Values {
    return {b.call1("alias", {op.in(0)})};
  };
  OpDef conj = clone_entry("conj_physical", "(Tensor self) -> Tensor", {});
  conj.decompose = [](Builder& b, const OpView& op) -> Values {
    return {b.call1("clone", {op.in(0)})};
  };
  return {
      to_copy_entry(),
      clone_entry("clone", "(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
                  channels_last),
      clone_entry("lift_fresh_copy", "(Tensor self) -> Tensor", {}),
      std::move(conj),
      alias_entry("alias", "self's own memory", identity_grad()),
      std::move(detach),
      copy_entry(),
      fill_entry(),
  };
}

}  // namespace cleave
