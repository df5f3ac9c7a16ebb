// Tensors with a border: a number, their mirror image, their edge.
#include "export/onnx/rules.h"

namespace cleave::to_onnx {
namespace {

struct Pads {
  Shape before, after;  // by dim
  bool crops = false;   // some pad may be below 0
};

// From [before last dim, after last dim, before the dim preceding it, ...].
Pads pads_of(Call& c, const char* attr) {
  const auto rank = static_cast<size_t>(c.rank(0));
  const Shape given = c.op().dims_attr(attr);
  Pads p{Shape(rank, Dim(0)), Shape(rank, Dim(0))};
  for (size_t k = 0; k + 1 < given.size(); k += 2) {
    p.before[rank - 1 - k / 2] = given[k];
    p.after[rank - 1 - k / 2] = given[k + 1];
  }
  for (const Dim& d : given) p.crops = p.crops || c.op().env().range_of(d).lo < 0;
  return p;
}

V list_of(Call& c, const Pads& p) {
  Shape all = p.before;
  all.insert(all.end(), p.after.begin(), p.after.end());
  return c.sizes().list(all);
}

Status constant_pad(Call& c) {
  const DType own = c.dtype(0);
  const AttrValue& given = c.op().attr("value");
  const V x = c.carried(0);
  const V value = own == DType::boolean ? c.number(given.as_double() != 0, x.dtype)
                                        : c.cast(c.number(given, own), x.dtype);
  if (c.rank(0) == 0) {
    c.give(0, x);
    return {};
  }
  c.give(0, c.node("Pad", {x, list_of(c, pads_of(c, "pad")), value}));
  return {};
}

// Along each dim the elements at positions that are computed here, where a pad crops.
Status edge_pad(Call& c, bool mirror) {
  const Pads p = pads_of(c, "padding");
  V x = c.carried(0);
  if (!p.crops && !is_empty(c.shape(0))) {
    c.give(0, c.node("Pad", {x, list_of(c, p)}, {text("mode", mirror ? "reflect" : "edge")}));
    return {};
  }
  for (size_t d = 0; d < p.before.size(); ++d) {
    if (p.before[d] == Dim(0) && p.after[d] == Dim(0)) continue;
    const Dim& size = c.shape(0)[d];
    if (!size.is_const() || !p.before[d].is_const() || !p.after[d].is_const())
      return c.refused("sizes that aren't numbers");
    const int64_t n = size.value(), before = p.before[d].value();
    CLEAVE_CHECK(c.check_count({n + before + p.after[d].value()}));
    Ints at;
    for (int64_t o = -before; o < n + p.after[d].value(); ++o)
      at.push_back(mirror ? (o < 0    ? -o
                             : o >= n ? 2 * (n - 1) - o
                                      : o)
                          : std::min(std::max<int64_t>(o, 0), n - 1));
    x = c.gather(x, c.model().list(at), static_cast<int64_t>(d));
  }
  c.give(0, x);
  return {};
}
Status reflection(Call& c) { return edge_pad(c, true); }
Status replication(Call& c) { return edge_pad(c, false); }

constexpr RuleEntry rules[] = {
    {"constant_pad_nd", constant_pad},  {"reflection_pad1d", reflection},
    {"reflection_pad2d", reflection},   {"reflection_pad3d", reflection},
    {"replication_pad1d", replication}, {"replication_pad2d", replication},
    {"replication_pad3d", replication}};

}  // namespace

std::span<const RuleEntry> pad_rules() { return rules; }

}  // namespace cleave::to_onnx
