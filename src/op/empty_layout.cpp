// Tensors whose contents are irrelevant, with the memory order that ATen gives them.
//
// empty_strided(; size, stride, dtype, device)
//                           stride[d]: distance in elements between neighbours along d
// empty_permuted(; size, physical_layout, dtype, device)
//                           physical_layout: the dims in the order of memory
//
//   (C1) no dim is negative                (C2) stride has an entry for each dim, none negative
//   (C3) physical_layout names each dim once    (C4) device is cpu, cuda or cuda:N
//
// The contents are zeros: the same bits in every run (constant.cpp). Lowering chooses the order of
// the elements in memory, so strides are checked but have no other effect. The default dtype is
// f32.
#include <algorithm>

#include "op/constructor_device.h"
#include "op/cost.h"
#include "op/entry.h"
#include "op/pointwise.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

Result<Types> sized_type(const OpView& op) {
  for (const Dim& d : op.dims_attr("size"))
    if (op.env().range_of(d).hi < 0)
      return op.broken("C1", "size {} has a negative dim", op.attr("size").text());
  const DType t = op.dtype_attr("dtype").value_or(DType::f32);
  return made_on_device(op, "C4", Type(t, op.dims_attr("size")));
}

Result<Types> infer_strided(const OpView& op) {
  const std::vector<Dim> size = op.dims_attr("size"), stride = op.dims_attr("stride");
  if (size.size() != stride.size())
    return op.broken("C2", "stride is {} for size {}, expected as many entries",
                     op.attr("stride").text(), op.attr("size").text());
  for (const Dim& s : stride)
    if (op.env().range_of(s).hi < 0)
      return op.broken("C2", "stride {} has a negative entry", op.attr("stride").text());
  return sized_type(op);
}

Result<Types> infer_permuted(const OpView& op) {
  std::vector<int64_t> order = op.ints_attr("physical_layout");
  std::sort(order.begin(), order.end());
  bool each_once = order.size() == op.dims_attr("size").size();
  for (size_t d = 0; each_once && d < order.size(); ++d)
    each_once = order[d] == static_cast<int64_t>(d);
  if (!each_once)
    return op.broken("C3", "physical_layout is {} for size {}, expected each dim once",
                     op.attr("physical_layout").text(), op.attr("size").text());
  return sized_type(op);
}

OpDef entry(const char* name, const char* argument, InferFn infer, Lazy<Samples> samples,
            Lazy<Rejects> rejects) {
  return OpDef{
      .name = name,
      .signature = fmt::format(
          "(SymInt[] size, {}, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
          argument),
      .summary = "A tensor whose contents don't matter: zeros.",
      .source = fmt::format("aten::{}, PyTorch 2.13", name),
      .traits = pointwise_traits | Trait::constructor,
      .infer = std::move(infer),
      .reference = [](const OpView& op, std::span<const Array* const>) -> Result<Arrays> {
        return Arrays{result_array(op, 0)};
      },
      .decompose = [](Builder& b, const OpView& op) -> Values {
        const Type& t = op.out_type(0);
        NamedAttrs how = {{"size", t.shape}, {"fill_value", 0}, {"dtype", t.dtype}};
        if (t.device.kind != DeviceKind::cpu) how.emplace_back("device", t.device.text());
        return {b.call1("full", {}, how)};
      },
      .grad = Absent{"no operand"},
      .lower = loop::by_decomposition(),
      .cost = cost_per_result(0),
      .samples = std::move(samples),
      .rejects = std::move(rejects),
  };
}

std::vector<Sample> layouts(const char* argument, std::vector<int64_t> two,
                            std::vector<int64_t> three) {
  const std::vector<int64_t> none, one = {argument[0] == 's' ? 1 : 0};
  std::vector<Sample> out;
  const auto add = [&](std::vector<int64_t> size, std::vector<int64_t> order) {
    out.push_back({{}, {{"size", std::move(size)}, {argument, std::move(order)}}});
  };
  for (DType t : all_dtypes) {
    add({2, 3}, two);
    out.back().attrs.emplace_back("dtype", t);
  }
  add({2, 3, 4}, std::move(three));
  add({5}, one);
  add({0, 3}, two);
  add({70, 3}, two);
  add(none, none);
  return out;
}

}  // namespace

CLEAVE_OPS(empty_layout) {
  return {
      entry(
          "empty_strided", "SymInt[] stride", infer_strided,
          [] { return layouts("stride", {1, 2}, {12, 1, 3}); },
          []() -> Rejects {
            const std::vector<int64_t> size = {2, 3}, negative = {2, -1}, straight = {3, 1};
            const std::vector<int64_t> short_one = {1}, backward = {-3, 1}, order = {1, 0};
            return {{"C1",
                     {{}, {{"size", negative}, {"stride", straight}}},
                     "empty_strided: C1: size [2,-1] has a negative dim"},
                    {"C4",
                     {{}, {{"size", size}, {"stride", order}, {"device", "cuda:-1"}}},
                     "empty_strided: C4: device is \"cuda:-1\", expected cpu, cuda or cuda:N"},
                    {"C2",
                     {{}, {{"size", size}, {"stride", short_one}}},
                     "empty_strided: C2: stride is [1] for size [2,3], expected as many entries"},
                    {"C2",
                     {{}, {{"size", size}, {"stride", backward}}},
                     "empty_strided: C2: stride [-3,1] has a negative entry"}};
          }),
      entry(
          "empty_permuted", "int[] physical_layout", infer_permuted,
          [] { return layouts("physical_layout", {1, 0}, {0, 2, 1}); },
          []() -> Rejects {
            const std::vector<int64_t> size = {2, 3}, negative = {2, -1}, order = {1, 0};
            const std::vector<int64_t> short_one = {1}, twice = {1, 1};
            return {
                {"C1",
                 {{}, {{"size", negative}, {"physical_layout", order}}},
                 "empty_permuted: C1: size [2,-1] has a negative dim"},
                {"C3",
                 {{}, {{"size", size}, {"physical_layout", twice}}},
                 "empty_permuted: C3: physical_layout is [1,1] for size [2,3], expected each dim "
                 "once"},
                {"C3",
                 {{}, {{"size", size}, {"physical_layout", short_one}}},
                 "empty_permuted: C3: physical_layout is [1] for size [2,3], expected each dim "
                 "once"}};
          }),
  };
}

}  // namespace cleave
