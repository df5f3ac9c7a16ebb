// The same elements in another shape or order, parts of them, and joined tensors.
#include <limits>

#include "export/onnx/rules.h"
#include "op/dims.h"
#include "op/window.h"

namespace cleave::to_onnx {
namespace {

Status view(Call& c) {
  c.give(0, c.reshape(c.in(0), c.result(0).shape, c.shape(0)));
  return {};
}

Status expand(Call& c) {
  c.give(0, c.expand(c.in(0), c.result(0).shape));
  return {};
}

Status permute(Call& c) {
  c.give(0, c.transpose(c.in(0), from_front(c.op().ints_attr("dims"), c.rank(0))));
  return {};
}

Status transpose(Call& c) {
  const int64_t rank = c.rank(0);
  Ints perm = all_axes(rank);
  if (rank > 0)
    std::swap(perm[static_cast<size_t>(from_front(c.op().int_attr("dim0"), rank))],
              perm[static_cast<size_t>(from_front(c.op().int_attr("dim1"), rank))]);
  c.give(0, c.transpose(c.in(0), perm));
  return {};
}

Status t(Call& c) {
  c.give(0, c.rank(0) < 2 ? c.in(0) : c.transpose(c.in(0), {1, 0}));
  return {};
}

Status unsqueeze(Call& c) {
  c.give(0, c.unsqueeze(c.in(0), {from_front(c.op().int_attr("dim"), c.rank(0) + 1)}));
  return {};
}

Status select(Call& c) {
  const int64_t dim = from_front(c.op().int_attr("dim"), c.rank(0));
  c.give(0, c.gather(c.in(0), c.number(c.op().attr("index"), DType::i64), dim));
  return {};
}

Status slice(Call& c) {
  const Window w = window_of(c.op());
  const bool whole =
      w.start == Dim(0) && w.step == 1 && w.size == c.shape(0)[static_cast<size_t>(w.dim)];
  c.give(0, whole ? c.in(0) : c.slice(c.in(0), w.dim, w.start, w.stop, w.step));
  return {};
}

// From the last element to before the first.
Status flip(Call& c) {
  const Ints dims = from_front(c.op().ints_attr("dims"), c.rank(0));
  if (dims.empty() || c.rank(0) == 0) {
    c.give(0, c.in(0));
    return {};
  }
  const auto each = [&](int64_t v) { return c.model().list(Ints(dims.size(), v)); };
  c.give(0, c.node("Slice", {c.in(0), each(-1), each(std::numeric_limits<int64_t>::min()),
                             c.model().list(dims), each(-1)}));
  return {};
}

Status cat(Call& c) {
  const int64_t dim = from_front(c.op().int_attr("dim"), c.result(0).rank());
  if (dim >= c.result(0).rank()) {  // all are f32[0]
    c.give(0, c.cast(c.item(0), c.result(0).dtype));
    return {};
  }
  Vs parts;
  for (int k = 0; k < c.op().list_size(); ++k)
    if (c.op().list_type(k).rank() == c.result(0).rank())  // else f32[0], which is skipped
      parts.push_back(c.cast(c.item(k), c.result(0).dtype));
  c.give(0, c.concat(parts, dim));
  return {};
}

Status sym_size(Call& c) {
  const int64_t dim = from_front(c.op().int_attr("dim"), c.rank(0));
  c.give(0, c.sizes().scalar(c.shape(0)[static_cast<size_t>(dim)]));
  return {};
}

Status sym_numel(Call& c) {
  c.give(0, c.sizes().scalar(c.op().in_type(0).numel()));
  return {};
}

constexpr RuleEntry rules[] = {{"view", view},
                               {"reshape", view},
                               {"_unsafe_view", view},
                               {"squeeze", view},
                               {"expand", expand},
                               {"permute", permute},
                               {"transpose", transpose},
                               {"t", t},
                               {"unsqueeze", unsqueeze},
                               {"select", select},
                               {"slice", slice},
                               {"flip", flip},
                               {"cat", cat},
                               {"sym_size", sym_size},
                               {"sym_numel", sym_numel}};

}  // namespace

std::span<const RuleEntry> shape_rules() { return rules; }

}  // namespace cleave::to_onnx
