// The same elements in another shape or order.
#include <algorithm>

#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

// Anything passes, sequences too.
Status identity(Call& c) {
  if (!c.has(0)) return user_error("has no operand");
  c.give(0, c.value(0));
  return {};
}

Status reshape(Call& c) {
  std::vector<Dim> wanted;
  if (c.version() < 5) {
    for (const int64_t d : c.list("shape")) wanted.emplace_back(d);
  } else {
    CLEAVE_TRY(wanted, c.dims(1, "shape"));
  }
  const Shape from = c.shape(0);
  const bool zeros = c.integer("allowzero") != 0;
  std::optional<size_t> open;
  Dim others = 1;
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (wanted[d] == Dim(0) && !zeros) {
      if (d >= from.size())
        return user_error("dim {} of the shape is 0, the operand has {}", d, from.size());
      wanted[d] = from[d];
    }
    if (wanted[d] == Dim(-1)) {
      if (open) return user_error("two dims of the shape are -1");
      open = d;
      continue;
    }
    others = others * wanted[d];
  }
  if (open) {
    if (others == Dim(0)) return user_error("a dim can't be told beside one of 0");
    wanted[*open] = Dim::floordiv(product_of(from, 0, from.size()), others);
  }
  c.give(0, c.view(c.in(0), wanted), c.element(0));
  return {};
}

Status flatten(Call& c) {
  const int64_t rank = c.rank(0), given = c.integer("axis", 1);
  if (given < -rank || given > rank)
    return user_error("axis {} is outside [{}, {}]", given, -rank, rank);
  const size_t axis = static_cast<size_t>(given < 0 ? given + rank : given);
  const Shape s = c.shape(0);
  c.give(0, c.view(c.in(0), {product_of(s, 0, axis), product_of(s, axis, s.size())}), c.element(0));
  return {};
}

Status squeeze(Call& c) {
  bool given = false;
  CLEAVE_TRY(Ints axes, c.axes_of(1, 13, given));
  const Shape s = c.shape(0);
  if (given) {
    CLEAVE_TRY(axes, c.axes(std::move(axes), c.rank(0)));
  } else {
    for (size_t d = 0; d < s.size(); ++d)
      if (s[d] == Dim(1)) axes.push_back(static_cast<int64_t>(d));
  }
  Shape out;
  for (const int64_t d : other_axes(c.rank(0), axes)) out.push_back(s[static_cast<size_t>(d)]);
  for (const int64_t d : axes)
    if (s[static_cast<size_t>(d)].is_const() && !(s[static_cast<size_t>(d)] == Dim(1)))
      return user_error("dim {} is {}, expected 1", d, s[static_cast<size_t>(d)].text());
  c.give(0, c.view(c.in(0), out), c.element(0));
  return {};
}

Status unsqueeze(Call& c) {
  bool given = false;
  CLEAVE_TRY(Ints axes, c.axes_of(1, 13, given));
  const Shape s = c.shape(0);
  const int64_t rank = static_cast<int64_t>(s.size() + axes.size());
  CLEAVE_TRY(axes, c.axes(std::move(axes), rank));
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) return user_error("an axis is given twice");
  Shape out;
  size_t next = 0;
  for (int64_t d = 0; d < rank; ++d)
    out.push_back(std::ranges::binary_search(axes, d) ? Dim(1) : s[next++]);
  c.give(0, c.view(c.in(0), out), c.element(0));
  return {};
}

Status transpose(Call& c) {
  const int64_t rank = c.rank(0);
  Ints perm = c.list("perm");
  if (!c.given("perm"))
    for (int64_t d = rank; d-- > 0;) perm.push_back(d);
  c.give(0, c.permute(c.in(0), perm), c.element(0));
  return {};
}

// The size that a dim of the operand and the wanted one broadcast to. One that isn't a number may
// be 1: beside another one it isn't known which of them is the result.
Result<Dim> broadcast(const SymEnv& env, const Dim& a, const Dim& b) {
  if (a == Dim(1)) return b;
  if (b == Dim(1) || env.provably_equal(a, b)) return a;
  if (a.is_const() && b.is_const())
    return user_error("a dim of {} doesn't expand to {}", a.text(), b.text());
  if (a.is_const() || env.range_of(a).lo > 1) return a;
  return unsupported("whether a dim of {} is expanded to {} isn't known: give the input a shape",
                     a.text(), b.text());
}

// To the shape that both broadcast to.
Status expand(Call& c) {
  CLEAVE_TRY(const std::vector<Dim> wanted, c.dims(1, "shape"));
  const Shape s = c.shape(0);
  const size_t rank = std::max(s.size(), wanted.size());
  Shape out(rank, Dim(1));
  for (size_t k = 0; k < rank; ++k) {
    const Dim a = k < s.size() ? s[s.size() - 1 - k] : Dim(1);
    const Dim b = k < wanted.size() ? wanted[wanted.size() - 1 - k] : Dim(1);
    CLEAVE_TRY(out[rank - 1 - k], broadcast(c.importer().graph().env(), a, b));
  }
  c.give(0, c.expand(c.in(0), out), c.element(0));
  return {};
}

Status shape(Call& c) {
  const Shape s = c.shape(0);
  const int64_t rank = c.rank(0);
  const auto bound = [&](int64_t at) {
    return std::clamp(at < 0 ? at + rank : at, int64_t{0}, rank);
  };
  const int64_t begin = bound(c.integer("start")), end = bound(c.integer("end", rank));
  std::vector<Dim> dims;
  for (int64_t d = begin; d < end; ++d) dims.push_back(s[static_cast<size_t>(d)]);
  c.give(0, c.importer().sizes(std::move(dims), false));
  return {};
}

Status size(Call& c) {
  const Shape s = c.shape(0);
  c.give(0, c.importer().sizes({product_of(s, 0, s.size())}, true));
  return {};
}

Status concat(Call& c) {
  if (c.count() == 0) return user_error("has no operand");
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis"), c.rank(0)));
  Values parts;
  for (size_t k = 0; k < c.count(); ++k) parts.push_back(c.in(k));
  c.give(0, c.cat(parts, axis), c.element(0));
  return {};
}

// Sizes are an attribute before opset 13, then an operand; equal ones where none are given.
Status split(Call& c) {
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis"), c.rank(0)));
  const Dim n = c.shape(0)[static_cast<size_t>(axis)];
  Ints parts = c.list("split");
  if (c.version() >= 13 && c.has(1)) { CLEAVE_TRY(parts, c.ints(1, "split")); }
  const int64_t count = static_cast<int64_t>(c.results());
  if (parts.empty() && count > 0) {
    if (!n.is_const()) return unsupported("parts of a size that isn't a number");
    const int64_t one = (n.value() + count - 1) / count;
    for (int64_t k = 0; k < count; ++k)
      parts.push_back(std::clamp(n.value() - k * one, int64_t{0}, one));
  }
  if (static_cast<int64_t>(parts.size()) != count)
    return user_error("{} sizes for {} results", parts.size(), count);
  const V x = c.in(0);
  int64_t at = 0;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t part = parts[static_cast<size_t>(k)];
    if (part < 0 || part > int64_t{1} << 47 || (n.is_const() && part > n.value() - at))
      return user_error("parts of sizes {}, of a dim of {}", fmt::join(parts, ", "), n.text());
    c.give(static_cast<size_t>(k), c.slice(x, axis, at, at + part), c.element(0));
    at += part;
  }
  return {};
}

// One axis of a slice: ends are clamped as numpy does.
Result<V> sliced(Call& c, V x, int64_t axis, const Dim& start, const Dim& end, int64_t step) {
  const Dim n = c.shape(x)[static_cast<size_t>(axis)];
  if (step == 0) return user_error("a step of 0");
  if (n.is_const() && start.is_const() && end.is_const()) {
    const int64_t size = n.value(), low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    const auto place = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, low, high); };
    const int64_t from = place(start.value()), to = place(end.value());
    if (step > 0) return c.slice(x, axis, from, std::max(from, to), step);
    x = c.op("flip", {x}, {{"dims", Ints{axis}}});
    const int64_t first = size - 1 - from, last = size - 1 - to;
    return c.slice(x, axis, first, std::max(first, last), step == INT64_MIN ? INT64_MAX : -step);
  }
  if (step < 0) return unsupported("a negative step along a size that isn't a number");
  // As many rows of a table as a size says, such as positions[:time]: a size beyond the table is
  // a fault when the program runs, where a slice would be cut off.
  if (n.is_const() && start == Dim(0) && !end.is_const() && step == 1 &&
      c.importer().graph().env().range_of(end).lo >= 0)
    return c.op("index_select", {x, c.op("arange", {}, {{"end", end}})}, {{"dim", axis}});
  const bool whole = end.is_const() && end.value() >= int64_t{1} << 30;
  return c.slice(x, axis, start, whole ? n : end, step);
}

Status slice(Call& c) {
  std::vector<Dim> starts, ends;
  Ints axes, steps;
  if (c.version() < 10) {
    for (const int64_t s : c.list("starts")) starts.emplace_back(s);
    for (const int64_t s : c.list("ends")) ends.emplace_back(s);
    axes = c.list("axes");
  } else {
    CLEAVE_TRY(starts, c.dims(1, "starts"));
    CLEAVE_TRY(ends, c.dims(2, "ends"));
    if (c.has(3)) { CLEAVE_TRY(axes, c.ints(3, "axes")); }
    if (c.has(4)) { CLEAVE_TRY(steps, c.ints(4, "steps")); }
  }
  if (axes.empty()) axes = all_axes(static_cast<int64_t>(starts.size()));
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return user_error("{} starts, {} ends, {} axes, {} steps", starts.size(), ends.size(),
                      axes.size(), steps.size());
  CLEAVE_TRY(axes, c.axes(std::move(axes), c.rank(0)));
  V x = c.in(0);
  for (size_t k = 0; k < starts.size() && c.status().ok(); ++k) {
    CLEAVE_TRY(x, sliced(c, x, axes[k], starts[k], ends[k], steps[k]));
  }
  c.give(0, x, c.element(0));
  return {};
}

Status tile(Call& c) {
  CLEAVE_TRY(const Ints repeats, c.ints(1, "repeats"));
  c.give(0, c.op("repeat", {c.in(0)}, {{"repeats", repeats}}), c.element(0));
  return {};
}

// Blocks of channels to squares of the image. DCR: depth, column, row; CRD the other way.
Status depth_to_space(Call& c) {
  const Shape s = c.shape(0);
  const int64_t b = c.integer("blocksize");
  if (s.size() != 4 || b < 1 || b > 1 << 15)
    return user_error("expected 4 dims and a block size of at least 1");
  const Dim depth = Dim::floordiv(s[1], Dim(b * b));
  const bool dcr = c.text("mode", "DCR") == "DCR";
  V x = c.view(c.in(0),
               dcr ? Shape{s[0], b, b, depth, s[2], s[3]} : Shape{s[0], depth, b, b, s[2], s[3]});
  x = c.permute(x, dcr ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3});
  c.give(0, c.op("reshape", {x}, {{"shape", Shape{s[0], depth, s[2] * Dim(b), s[3] * Dim(b)}}}),
         c.element(0));
  return {};
}

Status space_to_depth(Call& c) {
  const Shape s = c.shape(0);
  const int64_t b = c.integer("blocksize");
  if (s.size() != 4 || b < 1 || b > 1 << 15)
    return user_error("expected 4 dims and a block size of at least 1");
  const Dim h = Dim::floordiv(s[2], Dim(b)), w = Dim::floordiv(s[3], Dim(b));
  V x = c.view(c.in(0), {s[0], s[1], h, b, w, b});
  x = c.permute(x, {0, 3, 5, 1, 2, 4});
  c.give(0, c.op("reshape", {x}, {{"shape", Shape{s[0], s[1] * Dim(b * b), h, w}}}), c.element(0));
  return {};
}

constexpr RuleEntry entries[] = {{"Identity", identity},
                                 {"Reshape", reshape},
                                 {"Flatten", flatten},
                                 {"Squeeze", squeeze},
                                 {"Unsqueeze", unsqueeze},
                                 {"Transpose", transpose},
                                 {"Expand", expand},
                                 {"Shape", shape},
                                 {"Size", size},
                                 {"Concat", concat},
                                 {"Split", split},
                                 {"Slice", slice},
                                 {"Tile", tile},
                                 {"DepthToSpace", depth_to_space},
                                 {"SpaceToDepth", space_to_depth}};

}  // namespace

std::span<const RuleEntry> shape_rules() { return entries; }

}  // namespace cleave::onnx
