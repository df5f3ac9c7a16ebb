// Sums, means and largest elements of rows of a table: embedding_bag.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

Values embedding_bag(Call& c) {
  const V weight = c.tensor("weight"), indices = c.tensor("indices");
  if (c.rank(indices) != 1 || c.rank(weight) != 2)
    return {c.fail("embedding_bag of {}", c.type(indices).text())};
  if (c.flag("scale_grad_by_freq", false)) return {c.fail("scale_grad_by_freq")};
  int64_t skipped = c.integer("padding_idx", -1);
  // -1 is the last row here, and none in the operators below it
  if (c.has("padding_idx") && skipped < 0 && c.node().target.find("._") == std::string::npos)
    skipped += c.static_size(weight, 0);
  return c.ops("_embedding_bag",
               {weight, indices, c.tensor("offsets"), c.maybe_tensor("per_sample_weights")},
               {{"mode", c.integer("mode", 0)},
                {"include_last_offset", c.flag("include_last_offset", false)},
                {"padding_idx", skipped}});
}

}  // namespace

std::span<const RuleRow> bag_rules() {
  static constexpr RuleRow rows[] = {
      {"embedding_bag", embedding_bag},
      {"_embedding_bag", embedding_bag},
      {"_embedding_bag_forward_only", embedding_bag},
  };
  return rows;
}

}  // namespace cleave::exported
