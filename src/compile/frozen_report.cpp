#include "compile/frozen_report.h"

#include <algorithm>

#include "ir/strides.h"
#include "ir/subgraph.h"
#include "pass/freeze/frozen_values.h"

namespace cleave {
namespace {

bool is_packed(const Graph& g, ValueId v);

// Where a cond or while_loop reads v, in its graphs.
bool is_packed_inside(const Graph& g, const Use& use) {
  const Node& call = g.node(use.node);
  const auto place = static_cast<int64_t>(use.operand) - std::ssize(call.inputs) + call.list_size;
  if (place < 0 || (call.op->name != "cond" && call.op->name != "while_loop")) return false;
  return std::ranges::any_of(call.attrs.given(), [&](const auto& attr) {
    const GraphRef* graph = attr.second.template get<GraphRef>();
    return graph && is_packed(**graph, parameters_of(**graph)[static_cast<size_t>(place)]);
  });
}

bool is_packed(const Graph& g, ValueId v) {
  return std::ranges::any_of(g.uses(v), [&](const Use& use) {
    const OpView reader = g.view(use.node);
    const bool reads_panels =
        reader.name() == "packed_addmm" ||
        (reader.name() == "convolution_pointwise" && !reader.dims_attr("packed_size").empty());
    return (use.operand == 1 && reads_panels) || is_packed_inside(g, use);
  });
}

}  // namespace

FrozenReport constants_report(const Graph& constants) {
  FrozenReport out;
  out.folded.count = std::ssize(constants.returns());
  for (const Return& r : constants.returns())
    out.folded.bytes += memory_bytes(constants.type(r.value));
  return out;
}

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
