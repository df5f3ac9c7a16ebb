// Tensors made of one number.
//
//   full(; size, fill_value, dtype, device)
//                                          default dtype: that of the number, bool, i64 or f32
//   full_like(self; fill_value, dtype)     shape of self; default dtype: that of self
//   zeros ones empty (; size, dtype, device)
//                                          default dtype: f32
//   zeros_like ones_like empty_like (self; dtype)
//   scalar_tensor(; s, dtype, device)      0-d; default dtype: f32
//
//   size    (C1) no dim is negative
//   device  (C2) cpu, cuda or cuda:N; default: the CPU
//
// A number is truncated and wrapped if the dtype is an integer. The contents of empty, which ATen
// leaves undefined, are zeros: the same bits in every run. The *_like operators read no element.
#include <limits>

#include "op/constructor_device.h"
#include "op/cost.h"
#include "op/entry.h"
#include "op/pointwise.h"
#include "op/pointwise_lower.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

constexpr Trait constructor_traits = pointwise_traits | Trait::constructor;

Status check_size(const OpView& op) {
  for (const Dim& d : op.dims_attr("size"))
    if (op.env().range_of(d).hi < 0)
      return op.broken("C1", "size {} has a negative dim", op.attr("size").text());
  return {};
}

Array filled(const OpView& op, const AttrValue& number) {
  Array out = result_array(op, 0);
  for (int64_t k = 0; k < out.numel(); ++k) set_number(out, k, number);
  return out;
}

Reject device_reject(const std::string& name, SampleAttrs attrs) {
  attrs.emplace_back("device", "tpu:0");
  return {"C2", {{}, attrs}, name + ": C2: device is \"tpu:0\", expected cpu, cuda or cuda:N"};
}

std::vector<Reject> size_rejects(const std::string& name, SampleAttrs attrs) {
  SampleAttrs far = attrs;
  far.emplace_back("size", std::vector<int64_t>{2});
  attrs.emplace_back("size", AttrValue{2, -1});
  return {{"C1", {{}, attrs}, name + ": C1: size [2,-1] has a negative dim"},
          device_reject(name, far)};
}

Samples full_samples() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  Samples out;
  const auto add = [&](std::vector<int64_t> size, AttrValue v, std::optional<DType> t = {}) {
    Sample s{{}, {{"size", size}, {"fill_value", std::move(v)}}};
    if (t) s.attrs.emplace_back("dtype", *t);
    out.push_back(std::move(s));
  };
  add({2, 3}, 1.5);
  add({2}, 3);
  add({2}, true);
  add({}, -inf);
  add({0, 2}, 1.0);
  add({3}, 0.1, DType::bf16);
  add({3}, 1, DType::f16);
  add({3}, 2.75, DType::i64);
  add({3}, 300, DType::u8);
  add({3}, -7, DType::i32);
  add({3}, 0.5, DType::boolean);
  add({3}, 0.1, DType::f64);
  add({3}, 0.1);
  add({3}, std::numeric_limits<double>::quiet_NaN());
  add({2}, inf, DType::bf16);
  add({2}, 1e30, DType::f32);
  add({2}, 65504, DType::f16);
  add({1, 2, 1, 3}, -0.0);
  add({3}, -128, DType::i8);
  add({3}, 1000, DType::i16);
  add({3}, true, DType::f32);
  add({3}, true, DType::i64);
  add({}, 7);
  add({0}, 7);
  add({2, 70}, 1.25);
  add({3}, -2.75, DType::i32);
  return out;
}

OpDef full_entry() {
  return OpDef{
      .name = "full",
      .signature =
          "(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Device? "
          "device=None) -> Tensor",
      .summary = "a number everywhere",
      .source = "aten::full, PyTorch 2.13",
      .traits = constructor_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(check_size(op));
        const DType t = op.dtype_attr("dtype").value_or(number_dtype(op.attr("fill_value")));
        return made_on_device(op, "C2", Type(t, op.dims_attr("size")));
      },
      .reference = [](const OpView& op, std::span<const Array* const>) -> Result<Arrays> {
        return Arrays{filled(op, op.attr("fill_value"))};
      },
      .decompose = Absent{"primitive"},
      .grad = Absent{"no operand"},
      .lower = loop::pointwise([](const OpView& op, const loop::Exprs&) {
        return loop::number_constant(op.attr("fill_value"), op.out_type(0).dtype);
      }),
      .cost = cost_per_result(0),
      .samples = full_samples,
      .rejects = [] { return size_rejects("full", {{"fill_value", 1}}); },
  };
}

// zeros, ones, empty: full with a fixed number.
OpDef sized_entry(const char* name, const char* summary, int number, const char* more = "") {
  const auto samples = [] {
    const std::vector<int64_t> size = {2, 3}, none = {}, empty = {0, 3};
    Samples out = {{{}, {{"size", size}}}, {{}, {{"size", none}}}, {{}, {{"size", empty}}}};
    for (DType t : all_dtypes)
      for (const std::vector<int64_t>& s : {size, none})
        out.push_back({{}, {{"size", s}, {"dtype", t}}});
    for (const std::vector<int64_t>& s :
         {std::vector<int64_t>{0}, {1}, {1, 1, 1}, {2, 3, 4, 5}, {3, 70}})
      out.push_back({{}, {{"size", s}}});
    return out;
  };
  return OpDef{
      .name = name,
      .signature = fmt::format(
          "(SymInt[] size, *, ScalarType? dtype=None, Device? device=None{}) -> Tensor", more),
      .summary = summary,
      .source = fmt::format("aten::{}, PyTorch 2.13", name),
      .traits = constructor_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(check_size(op));
        const DType t = op.dtype_attr("dtype").value_or(DType::f32);
        return made_on_device(op, "C2", Type(t, op.dims_attr("size")));
      },
      .reference = [number](const OpView& op, std::span<const Array* const>) -> Result<Arrays> {
        return Arrays{filled(op, number)};
      },
      .decompose = [number](Builder& b, const OpView& op) -> Values {
        return {b.full(op.out_type(0).shape, number, op.out_type(0).dtype)};
      },
      .grad = Absent{"no operand"},
      .lower = loop::by_decomposition(),
      .cost = cost_per_result(0),
      .samples = samples,
      .rejects = [=] { return size_rejects(name, {}); },
  };
}

struct LikeRow {
  const char* name;
  const char* summary;
  const char* argument;  // of the signature
  AttrValue (*number)(const OpView&);
  SampleAttrs attrs;
  const char* sized;  // the operator that builds it from a shape alone; else full does
};

OpDef like_entry(const LikeRow& row) {
  const auto samples = [row] {
    Samples out = joined({over_dtypes(all_dtypes, {2, 3}, row.attrs),
                          over_dtypes({DType::f32}, {}, row.attrs),
                          over_dtypes({DType::f32}, {0, 3}, row.attrs)});
    for (DType t : all_dtypes) {
      out.push_back({{f32({3})}, row.attrs});
      out.back().attrs.emplace_back("dtype", t);
    }
    return out;
  };
  return OpDef{
      .name = row.name,
      .signature = fmt::format("(Tensor self{}, *, ScalarType? dtype=None, MemoryFormat? "
                               "memory_format=None) -> Tensor",
                               row.argument),
      .summary = row.summary,
      .source = fmt::format("aten::{}, PyTorch 2.13", row.name),
      .traits = pointwise_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        return like_self(op, op.dtype_attr("dtype").value_or(op.in_type(0).dtype));
      },
      .reference = [number = row.number](const OpView& op, std::span<const Array* const>)
          -> Result<Arrays> { return Arrays{filled(op, number(op))}; },
      .decompose = [row](Builder& b, const OpView& op) -> Values {
        const Type& t = op.out_type(0);
        if (row.sized) return {b.call1(row.sized, {}, {{"size", t.shape}, {"dtype", t.dtype}})};
        return {b.full(t.shape, row.number(op), t.dtype)};
      },
      .grad = Absent{"reads no element"},
      .lower = loop::by_decomposition(),
      .cost = cost_per_result(0),
      .samples = samples,
      .rejects = {},
      .nondifferentiable = 1,
  };
}

OpDef scalar_entry() {
  return OpDef{
      .name = "scalar_tensor",
      .signature = "(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
      .summary = "a 0-d tensor of one number",
      .source = "aten::scalar_tensor, PyTorch 2.13",
      .traits = constructor_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        return made_on_device(op, "C2", Type(op.dtype_attr("dtype").value_or(DType::f32), {}));
      },
      .reference = [](const OpView& op, std::span<const Array* const>) -> Result<Arrays> {
        return Arrays{filled(op, op.attr("s"))};
      },
      .decompose = [](Builder& b, const OpView& op) -> Values {
        return {b.full({}, op.attr("s"), op.out_type(0).dtype)};
      },
      .grad = Absent{"no operand"},
      .lower = loop::by_decomposition(),
      .cost = cost_per_result(0),
      .samples = []() -> Samples {
        return {{{}, {{"s", 1}}},
                {{}, {{"s", 2.5}}},
                {{}, {{"s", true}}},
                {{}, {{"s", 0.1}}},
                {{}, {{"s", -0.0}}},
                {{}, {{"s", std::numeric_limits<double>::quiet_NaN()}}},
                {{}, {{"s", -std::numeric_limits<double>::infinity()}}},
                {{}, {{"s", std::numeric_limits<double>::infinity()}, {"dtype", DType::bf16}}},
                {{}, {{"s", 0.1}, {"dtype", DType::f64}}},
                {{}, {{"s", 0.1}, {"dtype", DType::f16}}},
                {{}, {{"s", 3}, {"dtype", DType::f64}}},
                {{}, {{"s", 3}, {"dtype", DType::i32}}},
                {{}, {{"s", -300}, {"dtype", DType::i16}}},
                {{}, {{"s", -128}, {"dtype", DType::i8}}},
                {{}, {{"s", 255}, {"dtype", DType::u8}}},
                {{}, {{"s", 4503599627370497}, {"dtype", DType::i64}}},
                {{}, {{"s", true}, {"dtype", DType::i64}}},
                {{}, {{"s", true}, {"dtype", DType::bf16}}},
                {{}, {{"s", false}, {"dtype", DType::boolean}}},
                {{}, {{"s", 0.5}, {"dtype", DType::boolean}}},
                {{}, {{"s", 2.75}, {"dtype", DType::i64}}},
                {{}, {{"s", -2.75}, {"dtype", DType::i32}}},
                {{}, {{"s", 1e30}, {"dtype", DType::f32}}},
                {{}, {{"s", -3}, {"dtype", DType::i64}}},
                {{}, {{"s", 0.1}, {"dtype", DType::bf16}}},
                {{}, {{"s", 2}, {"dtype", DType::boolean}}}};
      },
      .rejects = []() -> Rejects { return {device_reject("scalar_tensor", {{"s", 1}})}; },
  };
}

AttrValue fill_value(const OpView& op) { return op.attr("fill_value"); }
AttrValue zero(const OpView&) { return 0; }
AttrValue one(const OpView&) { return 1; }

}  // namespace

CLEAVE_OPS(constant) {
  return {
      full_entry(),
      sized_entry("zeros", "zeros", 0),
      sized_entry("ones", "ones", 1),
      sized_entry("empty", "a tensor whose contents don't matter: zeros", 0,
                  ", MemoryFormat? memory_format=None"),
      like_entry({"full_like",
                  "a number everywhere, in the shape of self",
                  ", Scalar fill_value",
                  fill_value,
                  {{"fill_value", 2.5}},
                  nullptr}),
      like_entry({"zeros_like", "zeros in the shape of self", "", zero, {}, "zeros"}),
      like_entry({"ones_like", "ones in the shape of self", "", one, {}, "ones"}),
      like_entry({"empty_like", "zeros in the shape of self", "", zero, {}, "empty"}),
      scalar_entry(),
  };
}

}  // namespace cleave
