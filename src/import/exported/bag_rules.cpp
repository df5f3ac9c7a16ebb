// Sums, means and largest elements of rows: embedding_bag.
//
//   indices [B,n]            a bag a row
//   indices [n], offsets     bag b goes from offsets[b] to the next one, or to the end
//
// Result: the bags [B,D].
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Dims = std::vector<int64_t>;
enum Mode : int64_t { sum_mode, mean_mode, max_mode };

V unsqueeze(Call& c, V x, int64_t dim) { return c.op("unsqueeze", {x}, {{"dim", dim}}); }

V zeros(Call& c, const Shape& size, DType t) {
  return c.op("full", {}, {{"size", size}, {"fill_value", 0}, {"dtype", t}});
}

struct Bags {
  V of;  // the bag of each index
  Dim count;
};

// offsets has one for each bag, and with include_last_offset the end behind them.
Bags bags_of(Call& c, const Dim& indices) {
  const V offsets = c.to(c.tensor("offsets"), DType::i64);
  const Dim given = c.type(offsets).numel();
  const Dim count = c.flag("include_last_offset", false) ? given - Dim(1) : given;
  const V starts = c.op("slice", {offsets}, {{"dim", 0}, {"start", 0}, {"end", count}});
  const V k = unsqueeze(c, c.op("arange", {}, {{"end", indices}}), 1);
  const V before = c.op("sum", {c.op("le", {starts, k})}, {{"dim", Dims{1}}});
  return {c.op("sub", {before, 1}), count};
}

Values embedding_bag(Call& c) {
  const V weight = c.tensor("weight"), indices = c.to(c.tensor("indices"), DType::i64);
  const int64_t mode = c.integer("mode", 0);
  int64_t skipped = c.integer("padding_idx", -1);
  // -1 is the last row here, and none in the operators below it
  if (c.has("padding_idx") && skipped < 0 && c.node().target.find("._") == std::string::npos)
    skipped += c.static_size(c.tensor("weight"), 0);
  const V scales = c.maybe_tensor("per_sample_weights");
  if (c.flag("scale_grad_by_freq", false)) return {c.fail("scale_grad_by_freq")};
  if (c.rank(indices) != 1 || c.rank(weight) != 2)
    return {c.fail("embedding_bag of {}", c.type(indices).text())};
  const Dim n = c.type(indices).numel(), width = c.size(weight, 1);
  const DType t = c.type(weight).dtype;
  const Bags bags = bags_of(c, n);
  V rows = c.op("index_select", {weight, indices}, {{"dim", 0}});
  if (scales.valid()) rows = c.op("mul", {rows, unsqueeze(c, scales, 1)});
  const bool skips = skipped >= 0;
  V counts = c.op("ones_like", {indices});
  if (skips) {
    const V kept = c.op("ne", {indices, CallOperand(AttrValue(skipped))});
    counts = c.to(kept, DType::i64);
    rows = c.op("where", {unsqueeze(c, kept, 1), rows, mode == max_mode ? -1e38 : 0.0});
  }
  const V sizes =
      c.op("index_add", {zeros(c, {bags.count}, DType::i64), bags.of, counts}, {{"dim", 0}});
  V y;
  if (mode == max_mode) {
    const V places = c.op("expand", {unsqueeze(c, bags.of, 1)}, {{"size", Shape{n, width}}});
    y = c.op("scatter_reduce", {zeros(c, {bags.count, width}, t), places, rows},
             {{"dim", 0}, {"reduce", std::string("amax")}, {"include_self", false}});
    if (skips) y = c.op("where", {unsqueeze(c, c.op("eq", {sizes, 0}), 1), 0.0, y});
  } else {
    y = c.op("index_add", {zeros(c, {bags.count, width}, t), bags.of, rows}, {{"dim", 0}});
    if (mode == mean_mode) {
      const V divisor = c.to(c.op("clamp", {sizes, 1}), t);
      y = c.op("div", {y, unsqueeze(c, divisor, 1)});
    }
  }
  // what only PyTorch's backward reads has no value here
  return {y, V::none(), V::none(), V::none()};
}

}  // namespace

std::span<const RuleRow> bag_rules() {
  static constexpr RuleRow rows[] = {
      {"embedding_bag", in_f32<embedding_bag>},
      {"_embedding_bag", in_f32<embedding_bag>},
      {"_embedding_bag_forward_only", in_f32<embedding_bag>},
  };
  return rows;
}

}  // namespace cleave::exported
