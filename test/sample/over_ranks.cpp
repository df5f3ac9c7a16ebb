#include "test/sample/over_ranks.h"

#include <algorithm>

#include "interp/interpret.h"
#include "interp/interpret_ranks.h"

namespace cleave::test {
namespace {

// The array rotated by `rank` elements, floating elements scaled down.
Array on_rank(const Array& a, int64_t rank) {
  Array out = a;
  const int64_t n = a.numel();
  for (int64_t k = 0; k < n; ++k) {
    const int64_t from = (k + rank) % n;
    if (a.floating())
      out.f[k] = round_to(a.dtype, a.f[from] * (1 - 0.25 * static_cast<double>(rank)));
    else
      out.i[k] = a.i[from];
  }
  return out;
}

}  // namespace

int64_t ranks_of(const Graph& g) {
  int64_t ranks = 1;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const OpDef& op = *g.node(n).op;
    if (!op.ranks) continue;
    const bool says = op.schema.find("group_size") >= 0;
    ranks = std::max(ranks, says ? g.view(n).int_attr("group_size") : 2);
  }
  return ranks;
}

Result<Arrays> run_over_ranks(const Graph& g, const Arrays& inputs, int64_t ranks) {
  std::vector<std::map<std::string, Array>> by_rank(static_cast<size_t>(ranks));
  for (int64_t r = 0; r < ranks; ++r)
    for (size_t k = 0; k < inputs.size(); ++k) {
      const Placeholder& p = g.placeholders()[k];
      const bool is_shared = p.role == Role::symint || p.role == Role::rng_state;
      by_rank[static_cast<size_t>(r)][g.name(p.value)] =
          is_shared ? inputs[k] : on_rank(inputs[k], r);
    }
  if (ranks == 1) return interpret(g, by_rank[0]);
  CLEAVE_TRY(const std::vector<Arrays> all, interpret_ranks(g, by_rank));
  Arrays out;
  for (const Arrays& of_rank : all) out.insert(out.end(), of_rank.begin(), of_rank.end());
  return out;
}

}  // namespace cleave::test
