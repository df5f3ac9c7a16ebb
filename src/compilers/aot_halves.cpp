#include "compilers/aot_halves.h"

#include <algorithm>

#include "compilers/decompositions.h"
#include "compilers/partitioner.h"
#include "grad/grad.h"

namespace cleave {

Result<Halves> Halves::make(Graph function, size_t results, const AotOptions& options) {
  const OpRegistry& ops = options.ops.registry();
  if (std::ranges::none_of(function.placeholders(), &Placeholder::wants_grad)) {
    CLEAVE_CHECK(decompose(options.decompositions, function, ops));
    const TracedGraph whole = traced_graph(std::move(function), options.ops);
    return Halves{.joint = whole, .forward = whole, .backward = {}, .results = results};
  }
  CLEAVE_TRY(Graph joint, make_joint(function, ops));
  CLEAVE_CHECK(decompose(options.decompositions, joint, ops));
  CLEAVE_TRY(Partition cut, options.partition.state().cut(joint, options.ops));
  const auto kept_at = static_cast<size_t>(std::ranges::count_if(
      joint.returns(), [](const Return& r) { return r.kind != ReturnKind::grad; }));
  const size_t kept = cut.forward.returns().size() - kept_at;
  return Halves{.joint = traced_graph(std::move(joint), options.ops),
                .forward = traced_graph(std::move(cut.forward), options.ops),
                .backward = traced_graph(std::move(cut.backward), options.ops),
                .results = results,
                .kept_at = kept_at,
                .kept = kept};
}

}  // namespace cleave
