// Collectives that move values between ranks: all_gather_into_tensor, and wait_tensor, which
// completes any collective. op/collective.h defines collectives.
//
//   all_gather_into_tensor(input; group_size, group_name) -> y   the ranks' inputs along dim 0
//     (C3) group_size is at least 1   (C4) input has a dim
//     (C9) the number of ranks that run equals group_size
//   wait_tensor(tensor) -> y                                     y = tensor, once it has arrived
//
// Other calls run between a collective and its wait. The wait is not a removable copy: without it,
// a value would be read before it has arrived. Recomputing the wait would keep the transfer in
// flight until the backward, so the wait counts as a collective too.
//
// Gradients, if the loss is the sum of the ranks' losses: for all_gather, a reduce_scatter(sum) of
// the cotangent, because each rank reads every rank's part; for wait_tensor, the cotangent.
#include "op/collective.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

Result<Types> infer_gather(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(check_group_size(op));
  if (x.rank() == 0) return op.broken("C4", "input is {}, expected at least one dim", x.text());
  Shape shape = x.shape;
  shape[0] = shape[0] * op.dim_attr("group_size");
  return Types{collective_type(x, std::move(shape))};
}

Result<std::vector<Arrays>> gather_over_ranks(const OpView& op, const RankArrays& in) {
  CLEAVE_CHECK(check_ranks(op, in.size()));
  return std::vector<Arrays>(in.size(), Arrays{joined(operand_of_ranks(in, 0), 0)});
}

Values grad_gather(Builder& b, const GradView& op) {
  const ValueId g = op.dout(0);
  return {g.is_none() ? g : scattered_and_waited(b, op, g, "sum")};
}

OpDef all_gather_into_tensor() {
  const SampleAttrs alone = {{"group_size", 1}, {"group_name", "tp"}};
  return OpDef{
      .name = "all_gather_into_tensor",
      .signature = "(Tensor input, int group_size, str group_name) -> Tensor",
      .summary = "The inputs of the ranks of a group, joined along dim 0, on each of them.",
      .source = "_c10d_functional::all_gather_into_tensor, PyTorch 2.13",
      .traits = collective_traits,
      .infer = infer_gather,
      .reference = reference_alone(gather_over_ranks),
      .decompose = Absent{"what goes between ranks is not taken apart"},
      .grad = grad_gather,
      .lower = Absent{no_transport},
      .cost = cost_per_result(0),
      .samples =
          [alone] {
            return joined({over_dtypes(all_dtypes, {3, 2}, alone),
                           {{{f32({0, 2})}, alone}, {{f32({5})}, alone}}});
          },
      .rejects = [alone]() -> Rejects {
        const SampleAttrs of_two = {{"group_size", 2}, {"group_name", "tp"}};
        return {{"C3",
                 {{f32({2})}, {{"group_size", -1}, {"group_name", "tp"}}},
                 "all_gather_into_tensor: C3: group_size is -1, expected at least 1"},
                {"C4",
                 {{f32({})}, alone},
                 "all_gather_into_tensor: C4: input is f32[], expected at least one dim"},
                {"C9",
                 {{f32({2})}, of_two},
                 "all_gather_into_tensor: C9: group_size is 2, but group \"tp\" has 1 "
                 "here; interpret_ranks runs several"}};
      },
      .ranks = gather_over_ranks,
  };
}

OpDef wait_tensor() {
  return OpDef{
      .name = "wait_tensor",
      .signature = "(Tensor tensor) -> Tensor",
      .summary = "The result of a collective, once it has arrived.",
      .source = "_c10d_functional::wait_tensor, PyTorch 2.13",
      .traits = collective_traits,
      .infer = [](const OpView& op) -> Result<Types> {
        return Types{collective_type(op.in_type(0), op.in_type(0).shape)};
      },
      .reference = [](const OpView&, std::span<const Array* const> in) -> Result<Arrays> {
        return Arrays{*in[0]};
      },
      .decompose = Absent{"without it a value is read before it is there"},
      .grad = [](Builder&, const GradView& op) -> Values { return {op.dout(0)}; },
      .lower = Absent{no_transport},
      .cost = cost_of_view(),
      .samples =
          [] { return joined({over_dtypes(all_dtypes, {3, 2}), {{{f32({})}}, {{f32({0})}}}}); },
      .rejects = {},
  };
}

}  // namespace

CLEAVE_OPS(collective_gather) { return {all_gather_into_tensor(), wait_tensor()}; }

}  // namespace cleave
