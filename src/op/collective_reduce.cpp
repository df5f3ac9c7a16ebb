// Collectives that reduce over the ranks of a group: all_reduce, all_reduce_coalesced,
// reduce_scatter_tensor. op/collective.h defines collectives.
//
//   all_reduce(input; reduce_op, group_name) -> y          y = the reduction, on every rank
//   all_reduce_coalesced(inputs...; reduce_op, group_name) the same for each of a list, in one call
//   reduce_scatter_tensor(input; reduce_op, group_size, group_name) -> y
//                                                          rank k gets the k-th part along dim 0
//     (C1) reduce_op is sum, avg, product, min or max   (C2) avg: the dtype is floating
//     (C3) group_size is at least 1                     (C4) input has a dim
//     (C5) dim 0 is divisible by group_size             (C9) group_size ranks run
//
// Gradients, if the loss is the sum of the ranks' losses, over p ranks:
//   all_reduce(sum), all_reduce(avg)    the same all_reduce of the cotangent
//   reduce_scatter(sum), (avg)          all_gather of the cotangent, divided by p for avg
// PyTorch differentiates only sum; product, min and max have no gradient here either.
#include "op/collective.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

constexpr const char* file = "src/op/collective_reduce.cpp";

// ---- all_reduce, all_reduce_coalesced

Result<Types> infer_all_reduce(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(check_reduce_op(op, x, "input"));
  return Types{collective_type(x, x.shape)};
}

Result<Types> infer_coalesced(const OpView& op) {
  Types out;
  for (int k = 0; k < op.list_size(); ++k) {
    const Type& x = op.list_type(k);
    CLEAVE_CHECK(check_reduce_op(op, x, fmt::format("input {}", k)));
    out.push_back(collective_type(x, x.shape));
  }
  return out;
}

Result<std::vector<Arrays>> reduce_over_ranks(const OpView& op, const RankArrays& in) {
  Arrays results;
  for (size_t k = 0; k < in[0].size(); ++k) results.push_back(reduced(op, operand_of_ranks(in, k)));
  return std::vector<Arrays>(in.size(), results);
}

Values grad_all_reduce(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (!has_linear_reduce_op(b, op, file)) return d;
  for (size_t k = 0; k < d.size(); ++k)
    if (const ValueId g = op.dout(static_cast<int>(k)); g.valid())
      d[k] = reduced_and_waited(b, op, g);
  return d;
}

// ---- reduce_scatter_tensor

Result<Types> infer_scatter(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(check_reduce_op(op, x, "input"));
  CLEAVE_CHECK(check_group_size(op));
  if (x.rank() == 0) return op.broken("C4", "input is {}, expected at least one dim", x.text());
  const Dim ranks = op.dim_attr("group_size"), part = Dim::floordiv(x.shape[0], ranks);
  if (!op.env().provably_equal(part * ranks, x.shape[0]))
    return op.broken("C5", "dim 0 of input: {} is {}, expected a multiple of group_size {}",
                     x.text(), x.shape[0].text(), ranks.text());
  Shape shape = x.shape;
  shape[0] = part;
  return Types{collective_type(x, std::move(shape))};
}

Result<std::vector<Arrays>> scatter_over_ranks(const OpView& op, const RankArrays& in) {
  CLEAVE_CHECK(check_ranks(op, in.size()));
  const Array all = reduced(op, operand_of_ranks(in, 0));
  std::vector<Arrays> out;
  for (int64_t r = 0; r < std::ssize(in); ++r) out.push_back({part_of(all, 0, r, std::ssize(in))});
  return out;
}

Values grad_scatter(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  const ValueId g = op.dout(0);
  if (g.is_none() || !has_linear_reduce_op(b, op, file)) return d;
  d[0] = gathered_and_waited(b, op, g);
  if (op.str_attr("reduce_op") == "avg")
    d[0] = b.mul(d[0], 1.0 / static_cast<double>(op.int_attr("group_size")));
  return d;
}

// ---- entries

const SampleAttrs sum_over_dp = {{"reduce_op", "sum"}, {"group_name", "dp"}};
const SampleAttrs avg_over_dp = {{"reduce_op", "avg"}, {"group_name", "dp"}};

SampleAttrs alone(const char* reduce_op) {
  return {{"reduce_op", reduce_op}, {"group_size", 1}, {"group_name", "dp"}};
}

OpDef entry(const char* name, const char* signature, const char* summary, RanksFn ranks) {
  return OpDef{
      .name = name,
      .signature = signature,
      .summary = summary,
      .source = fmt::format("_c10d_functional::{}, PyTorch 2.13", name),
      .traits = collective_traits,
      .infer = infer_all_reduce,
      .reference = reference_alone(ranks),
      .decompose = Absent{"what goes between ranks is not taken apart"},
      .grad = grad_all_reduce,
      .lower = Absent{no_transport},
      .cost = cost_per_result(1),
      .samples = {},
      .rejects = {},
      .ranks = ranks,
  };
}

OpDef all_reduce() {
  OpDef op = entry("all_reduce", "(Tensor input, str reduce_op, str group_name) -> Tensor",
                   "The reduction over the ranks of a group, on each of them.", reduce_over_ranks);
  op.samples = [] {
    return joined({over_dtypes(all_dtypes, {3, 2}, sum_over_dp),
                   over_dtypes(floating_dtypes, {2, 2}, avg_over_dp),
                   {{{f32({})}, sum_over_dp},
                    {{f32({0, 3})}, sum_over_dp},
                    {{i64({4})}, {{"reduce_op", "max"}, {"group_name", "dp"}}},
                    {{boolean({4})}, {{"reduce_op", "product"}, {"group_name", "dp"}}}}});
  };
  op.rejects = []() -> Rejects {
    return {{"C1",
             {{f32({2})}, {{"reduce_op", "mean"}, {"group_name", "dp"}}},
             "all_reduce: C1: reduce_op is \"mean\", expected one of sum, avg, product, min, "
             "max"},
            {"C2",
             {{i64({2})}, avg_over_dp},
             "all_reduce: C2: input is i64[2], expected a floating dtype for avg"}};
  };
  return op;
}

OpDef all_reduce_coalesced() {
  OpDef op =
      entry("all_reduce_coalesced", "(Tensor[] inputs, str reduce_op, str group_name) -> Tensor[]",
            "The reductions of a list over the ranks of a group, in one call.", reduce_over_ranks);
  op.infer = infer_coalesced;
  op.samples = []() -> Samples {
    return {{{std::vector{f32({2}), f32({3, 2})}}, sum_over_dp},
            {{std::vector{f64({2}), bf16({}), f16({0})}}, avg_over_dp},
            {{std::vector{i64({2}), f32({1})}}, {{"reduce_op", "sum"}, {"group_name", ""}}}};
  };
  op.rejects = []() -> Rejects {
    return {{"C2",
             {{std::vector{f32({2}), i64({2})}}, avg_over_dp},
             "all_reduce_coalesced: C2: input 1 is i64[2], expected a floating dtype for avg"}};
  };
  return op;
}

OpDef reduce_scatter_tensor() {
  OpDef op =
      entry("reduce_scatter_tensor",
            "(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor",
            "Each rank's part of the reduction over the ranks of a group.", scatter_over_ranks);
  op.infer = infer_scatter;
  op.grad = grad_scatter;
  op.samples = [] {
    return joined({over_dtypes(all_dtypes, {4, 2}, alone("sum")),
                   over_dtypes(floating_dtypes, {2}, alone("avg")),
                   {{{f32({0, 3})}, alone("sum")}, {{i32({4})}, alone("min")}}});
  };
  op.rejects = []() -> Rejects {
    const SampleAttrs of_two = {{"reduce_op", "sum"}, {"group_size", 2}, {"group_name", "dp"}};
    return {{"C3",
             {{f32({2})}, {{"reduce_op", "sum"}, {"group_size", 0}, {"group_name", "dp"}}},
             "reduce_scatter_tensor: C3: group_size is 0, expected at least 1"},
            {"C4",
             {{f32({})}, of_two},
             "reduce_scatter_tensor: C4: input is f32[], expected at least one dim"},
            {"C5",
             {{f32({3, 2})}, of_two},
             "reduce_scatter_tensor: C5: dim 0 of input: f32[3,2] is 3, expected a multiple of "
             "group_size 2"},
            {"C9",
             {{f32({4, 2})}, of_two},
             "reduce_scatter_tensor: C9: group_size is 2, but group \"dp\" has 1 here; "
             "interpret_ranks runs several"}};
  };
  return op;
}

}  // namespace

CLEAVE_OPS(collective_reduce) {
  return {all_reduce(), all_reduce_coalesced(), reduce_scatter_tensor()};
}

}  // namespace cleave
