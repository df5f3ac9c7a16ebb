// Merges matrix products with the same left operand into one product with the concatenated right
// ones.
//
//   mm(x, v), mm(x, w), ...             ->  split(mm(x, cat([v, w, ...]; 1)))
//   addmm(b, x, v), addmm(c, x, w), ... ->  split(addmm(cat([b, c, ...]), x, cat([v, w, ...]; 1)))
//
// The right operands may have any number of columns. addmm with factors, or with a term that
// doesn't have one entry for each column, is left alone. Groups are those of batch.h: at least 5
// products. A wider product may add in another order, so results are rounded differently. Runs only
// on request, as in PyTorch: the weights are copied in each step.
#include "pass/passes.h"
#include "pass/pre_grad/batch.h"

namespace cleave {
namespace {

bool adds(const OpView& call) { return call.name() == "addmm"; }
int left(const OpView& call) { return adds(call) ? 1 : 0; }

std::string key(const OpView& call) {
  if (adds(call)) {
    if (call.float_attr("beta") != 1 || call.float_attr("alpha") != 1) return "";
    const Shape &bias = call.in_type(0).shape, &right = call.in_type(2).shape;
    if (bias.size() != 1 || !call.env().provably_equal(bias[0], right[1])) return "";
  } else if (call.name() != "mm") {
    return "";
  }
  return fmt::format("{} {}", call.name(), call.in(left(call)).v);
}

ValueId joined(Builder& b, const std::vector<OpView>& calls, int k, int64_t dim) {
  Values values;
  for (const OpView& call : calls) values.push_back(call.in(k));
  return b.cat(values, dim);
}

Values build(Builder& b, const std::vector<OpView>& calls) {
  const OpView& first = calls[0];
  const int x = left(first);
  Shape sizes;
  for (const OpView& call : calls) sizes.push_back(call.in_type(x + 1).shape[1]);
  const ValueId right = joined(b, calls, x + 1, 1);
  const ValueId all = adds(first) ? b.call1("addmm", {joined(b, calls, 0, 0), first.in(x), right})
                                  : b.mm(first.in(x), right);
  return b.call("split_with_sizes", {all}, {{"split_sizes", sizes}, {"dim", 1}});
}

}  // namespace

Pass batch_linear_lhs() {
  return batch_pass("batch_linear_lhs", "matrix products of one left operand become one",
                    {.key = key, .build = build}, true);
}

}  // namespace cleave
