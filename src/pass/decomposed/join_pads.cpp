// Turns a sum of zero-padded tensors with disjoint unpadded ranges into a cat. Such sums are the
// gradients of a value that was split into parts (slice, select).
//
//   %p = constant_pad_nd(%a; pad=[0,2])
//   %q = constant_pad_nd(%b; pad=[1,1])
//   %r = constant_pad_nd(%c; pad=[2,0])      ->      %t = cat([%a, %b, %c]; dim=-1)
//   %s = add(%p, %q)
//   %t = add(%s, %r)
//
// Sums whose parts leave gaps or whose calls have different checkpoint tags are unchanged. Only the
// sign of a zero may differ: -0 + 0 is 0. Time is linear in the calls, and sorts the parts: a sum
// whose parts together aren't as long as it is isn't looked at.
#include <algorithm>
#include <optional>
#include <set>

#include "pass/passes.h"
#include "pass/plain_sum.h"

namespace cleave {
namespace {

struct Part {
  ValueId value;
  int64_t dim = 0, begin = 0, end = 0;
};

bool is_static(const Graph& g, ValueId v) { return g.type(v).is_static(); }

// Returns the value as a part along one dim, or none.
std::optional<Part> part_of(const Graph& g, ValueId v) {
  const NodeId n = g.value(v).def;
  if (!n.valid() || g.node(n).op->name != "constant_pad_nd") return std::nullopt;
  const OpView op = g.view(n);
  if (!is_static(g, v) || !is_static(g, op.in(0)) || op.in_type(0).dtype != g.type(v).dtype)
    return std::nullopt;
  if (op.attr("value").as_double() != 0) return std::nullopt;
  const std::vector<Dim> pads = op.dims_attr("pad");
  const int64_t rank = op.in_type(0).rank();
  std::optional<Part> out;
  for (size_t k = 0; k + 1 < pads.size(); k += 2) {
    const int64_t before = pads[k].value(), after = pads[k + 1].value();
    if (before == 0 && after == 0) continue;
    if (out || before < 0 || after < 0) return std::nullopt;
    const int64_t dim = rank - 1 - static_cast<int64_t>(k / 2);
    out =
        Part{op.in(0), dim, before, before + op.in_type(0).shape[static_cast<size_t>(dim)].value()};
  }
  return out;
}

// Returns the parts of the sum, in order; empty if it isn't a sum of parts, or they leave a gap.
std::vector<Part> parts_of_sum(const Graph& g, NodeId sum, const std::set<ValueId>& returned) {
  std::vector<Part> out;
  std::vector<ValueId> open = {g.node(sum).inputs[0], g.node(sum).inputs[1]};
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    const NodeId d = g.value(v).def;
    if (d.valid() && !(g.node(d).tag == g.node(sum).tag)) return {};
    if (const std::optional<Part> part = part_of(g, v)) {
      if (part->dim != (out.empty() ? part->dim : out[0].dim)) return {};
      out.push_back(*part);
      continue;
    }
    if (!d.valid() || g.use_count(v) != 1 || returned.contains(v) || !is_plain_sum(g, d)) return {};
    open.push_back(g.node(d).inputs[0]);
    open.push_back(g.node(d).inputs[1]);
  }
  std::ranges::stable_sort(out, {}, &Part::begin);
  int64_t end = 0;
  for (const Part& p : out) {
    if (p.begin != end) return {};
    end = p.end;
  }
  const Type& y = g.type(g.node(sum).out(0));
  return y.shape[static_cast<size_t>(out[0].dim)].value() == end ? out : std::vector<Part>();
}

// How long the parts of a sum are together; none if it isn't one of parts alone, along one dim.
struct Length {
  int64_t dim = 0, parts = 0;
};

// The sums whose parts may cover them: they are as long.
std::vector<NodeId> covered_sums(const Graph& g, const std::set<ValueId>& returned) {
  std::vector<std::optional<Length>> lengths(g.value_capacity());
  std::vector<NodeId> out;
  const auto length_of = [&](ValueId v) -> std::optional<Length> {
    if (const std::optional<Part> p = part_of(g, v)) return Length{p->dim, p->end - p->begin};
    return g.use_count(v) == 1 && !returned.contains(v) ? lengths[v.v] : std::nullopt;
  };
  for (const NodeId n : g.order()) {
    if (!is_plain_sum(g, n)) continue;
    const Node& node = g.node(n);
    const std::optional<Length> a = length_of(node.inputs[0]), b = length_of(node.inputs[1]);
    if (!a || !b || a->dim != b->dim) continue;
    const Length both{a->dim, a->parts + b->parts};
    lengths[node.out(0).v] = both;
    if (g.type(node.out(0)).shape[static_cast<size_t>(both.dim)] == Dim(both.parts))
      out.push_back(n);
  }
  return out;
}

Result<PassCount> run(Graph& g, const OpRegistry& ops) {
  PassCount count;
  std::set<ValueId> returned;
  for (const Return& r : g.returns()) returned.insert(r.value);
  std::vector<NodeId> sums = covered_sums(g, returned);
  // The last sum of a chain first; afterwards its operands are dead, and erased elsewhere.
  for (; !sums.empty(); sums.pop_back()) {
    const NodeId n = sums.back();
    const std::vector<Part> parts = parts_of_sum(g, n, returned);
    if (parts.empty()) continue;
    const Node& node = g.node(n);
    std::vector<ValueId> operands;
    for (const Part& p : parts) operands.push_back(p.value);
    Builder b(g, ops);
    b.insert_before(n);
    b.set_loc(node.loc);
    b.set_tag(node.tag);
    const ValueId made = b.cat(operands, parts[0].dim);
    CLEAVE_CHECK(b.status());
    const std::string name = g.name(node.out(0));
    g.replace_uses(node.out(0), made);
    g.erase(n);
    CLEAVE_CHECK(g.rename(made, name));
    ++count.matches;
    count.nodes += 2 * std::ssize(parts) - 1;
  }
  return count;
}

}  // namespace

Pass join_pads() {
  return {.name = "join_pads", .summary = "a sum of padded parts becomes a cat", .run = run};
}

}  // namespace cleave
