#include "compile/frozen_report.h"

#include <algorithm>

#include "ir/strides.h"
#include "pass/freeze/frozen_values.h"

namespace cleave {
namespace {

bool is_packed(const Graph& g, ValueId v) {
  return std::ranges::any_of(g.uses(v), [&](const Use& use) {
    const OpView reader = g.view(use.node);
    return use.operand == 1 &&
           (reader.name() == "packed_addmm" ||
            (reader.name() == "convolution_pointwise" && !reader.dims_attr("packed_size").empty()));
  });
}

}  // namespace

FrozenReport frozen_report(const Graph& given, const Graph& lowered, const Graph& frozen) {
  FrozenReport out;
  const auto count = [](FrozenReport::Part& part, const Type& type) {
    ++part.count;
    part.bytes += memory_bytes(type);
  };
  for (const Return& r : frozen.returns()) {
    count(out.folded, frozen.type(r.value));
    if (is_packed(lowered, lowered.find(frozen.name(r.value))))
      count(out.packed, frozen.type(r.value));
  }
  for (const Placeholder& p : given.placeholders())
    if (is_kept(given, p.value)) {
      const bool is_read = lowered.find(given.name(p.value)).valid();
      count(is_read ? out.kept : out.dropped, given.type(p.value));
    }
  return out;
}

}  // namespace cleave
