// Elements picked by indices, and edges around a tensor.
#include <algorithm>

#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

Status gather(Call& c) {
  const int64_t rank = c.rank(0);
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis"), rank));
  const V x = c.in(0);
  if (const auto one = c.known(1); one && one->rank() == 0) {
    c.give(0, c.select(x, axis, one->i.empty() ? 0 : one->i[0]), c.element(0));
    return {};
  }
  const V index = from_start(c, c.in(1), c.shape(0)[static_cast<size_t>(axis)]);
  Values at(static_cast<size_t>(axis), V::none());
  at.push_back(index);
  c.give(0, c.op("index", {x, CallOperand(std::move(at))}), c.element(0));
  return {};
}

Status gather_elements(Call& c) {
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis"), c.rank(0)));
  const V index = from_start(c, c.in(1), c.shape(0)[static_cast<size_t>(axis)]);
  c.give(0, c.op("gather", {c.in(0), index}, {{"dim", axis}}), c.element(0));
  return {};
}

// The last dim of the indices holds a place in the dims after the batch.
Status gather_nd(Call& c) {
  const Shape s = c.shape(0), at = c.shape(1);
  const int64_t batch = c.integer("batch_dims");
  if (at.empty() || !at.back().is_const())
    return unsupported("places of a length that isn't a number");
  const int64_t depth = at.back().value();
  if (batch < 0 || batch >= static_cast<int64_t>(at.size()) || depth < 1 ||
      batch + depth > static_cast<int64_t>(s.size()))
    return user_error("places of {} in a tensor of {} dims, {} of them of the batch", depth,
                      s.size(), batch);
  Values index;
  for (int64_t b = 0; b < batch; ++b) {
    Shape line(at.size() - 1, Dim(1));
    line[static_cast<size_t>(b)] = s[static_cast<size_t>(b)];
    index.push_back(c.view(c.op("arange", {}, {{"end", s[static_cast<size_t>(b)]}}), line));
  }
  const V places = c.in(1);
  for (int64_t k = 0; k < depth; ++k)
    index.push_back(from_start(c, c.select(places, -1, k), s[static_cast<size_t>(batch + k)]));
  c.give(0, c.op("index", {c.in(0), CallOperand(std::move(index))}), c.element(0));
  return {};
}

// On and off where the index is the place along the new axis.
Status one_hot(Call& c) {
  CLEAVE_TRY(const Ints depth, c.ints(1, "depth"));
  if (depth.size() != 1 || depth[0] < 0) return user_error("the depth is no size");
  const int64_t rank = c.rank(0) + 1;
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis", -1), rank));
  const V index = c.unsqueeze(from_start(c, c.in(0), depth[0]), axis);
  Shape line(static_cast<size_t>(rank), Dim(1));
  line[static_cast<size_t>(axis)] = depth[0];
  const V at = c.view(c.op("arange", {}, {{"end", depth[0]}}), line);
  if (c.rank(2) != 1) return user_error("the values have {} dims, expected 1", c.rank(2));
  const V values = c.in(2);
  const V off = c.select(values, 0, 0), on = c.select(values, 0, 1);
  c.give(0, c.where(c.op("eq", {index, at}), on, off), c.element(2));
  return {};
}

Status compress(Call& c) {
  CLEAVE_TRY(const Array chosen, c.constant(1, "condition"));
  Ints index;
  for (int64_t k = 0; k < chosen.numel(); ++k)
    if (chosen.number(k) != 0) index.push_back(k);
  V x = c.in(0);
  int64_t axis = 0;
  if (c.given("axis")) {
    CLEAVE_TRY(axis, c.axis(c.integer("axis"), c.rank(0)));
  } else {
    const Shape s = c.shape(0);
    x = c.view(x, {product_of(s, 0, s.size())});
  }
  c.give(0, taken(c, x, axis, index), c.element(0));
  return {};
}

// ---- edges

// Where element k - before of the padded line comes from.
int64_t source(const std::string& mode, int64_t at, int64_t n) {
  if (mode == "edge") return std::clamp(at, int64_t{0}, n - 1);
  if (mode == "wrap") return ((at % n) + n) % n;
  if (n == 1) return 0;  // reflect
  const int64_t period = 2 * (n - 1), within = ((at % period) + period) % period;
  return within < n ? within : period - within;
}

// Its index is as long as the padded line, whatever the file's size: ten seconds of sound fit.
constexpr int64_t longest_padded = 1 << 20;

Result<V> padded_by_source(Call& c, V x, int64_t axis, int64_t before, int64_t after,
                           const std::string& mode) {
  const Dim n = c.shape(x)[static_cast<size_t>(axis)];
  if (!n.is_const()) return unsupported("{} of a size that isn't a number", mode);
  const int64_t total = n.value() + before + after;
  if (n.value() == 0 || total < 0)
    return user_error("a dim of {} padded by {} and {}", n.value(), before, after);
  if (total > longest_padded)
    return unsupported("a dim of {} padded by {} and {}, expected at most {} elements of mode {}",
                       n.value(), before, after, longest_padded, mode);
  Ints index;
  for (int64_t k = 0; k < total; ++k) index.push_back(source(mode, k - before, n.value()));
  return taken(c, x, axis, index);
}

Status pad(Call& c) {
  const int64_t rank = c.rank(0);
  Ints pads = c.list("pads"), axes = all_axes(rank);
  V value = c.full({}, c.real("value"), c.dtype(0));
  if (c.version() >= 11) {
    CLEAVE_TRY(pads, c.ints(1, "pads"));
    if (c.has(2)) value = c.in(2);
    if (c.has(3)) { CLEAVE_TRY(axes, c.ints(3, "axes")); }
  }
  CLEAVE_TRY(axes, c.axes(std::move(axes), rank));
  if (pads.size() != 2 * axes.size())
    return user_error("{} pads for {} axes", pads.size(), axes.size());
  for (const int64_t p : pads)
    if (p < -(int64_t{1} << 47) || p > int64_t{1} << 47) return user_error("a pad of {}", p);
  const std::string mode = c.text("mode", "constant");
  V x = c.in(0);
  if (mode != "constant") {
    for (size_t k = 0; k < axes.size() && c.status().ok(); ++k)
      if (pads[k] != 0 || pads[k + axes.size()] != 0) {
        CLEAVE_TRY(x, padded_by_source(c, x, axes[k], pads[k], pads[k + axes.size()], mode));
      }
    c.give(0, x, c.element(0));
    return {};
  }
  Ints own(2 * static_cast<size_t>(rank), 0);  // of the last dim first
  for (size_t k = 0; k < axes.size(); ++k) {
    const size_t at = 2 * static_cast<size_t>(rank - 1 - axes[k]);
    own[at] = pads[k];
    own[at + 1] = pads[k + axes.size()];
  }
  const auto known = c.has(2) && c.version() >= 11 ? c.known(2) : nullptr;
  if (c.version() < 11 || !c.has(2) || (known && known->numel() == 1)) {
    const double number = known ? known->number(0) : c.version() < 11 ? c.real("value") : 0;
    AttrValue by = number;
    if (c.dtype(0) == DType::boolean) by = number != 0;
    if (is_integer(c.dtype(0)))
      by = known && !known->floating() ? known->i[0] : truncate_to(DType::i64, number);
    c.give(0, c.op("constant_pad_nd", {x}, {{"pad", own}, {"value", by}}), c.element(0));
    return {};
  }
  // A value that the program is given: where the operand isn't.
  const V here = c.op("constant_pad_nd",
                      {c.op("full_like", {x}, {{"fill_value", true}, {"dtype", DType::boolean}})},
                      {{"pad", own}, {"value", false}});
  x = c.op("constant_pad_nd", {x}, {{"pad", own}});
  c.give(0, c.where(here, x, c.view(value, {})), c.element(0));
  return {};
}

Status center_crop_pad(Call& c) {
  CLEAVE_TRY(const Ints wanted, c.ints(1, "shape"));
  CLEAVE_TRY(Ints axes, c.axes(c.given("axes") ? c.list("axes") : all_axes(c.rank(0)), c.rank(0)));
  CLEAVE_TRY(const Ints sizes, c.sizes(0));
  if (wanted.size() != axes.size())
    return user_error("{} sizes for {} axes", wanted.size(), axes.size());
  V x = c.in(0);
  Ints pad(2 * sizes.size(), 0);
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t n = sizes[static_cast<size_t>(axes[k])], to = wanted[k];
    const size_t at = 2 * (sizes.size() - 1 - static_cast<size_t>(axes[k]));
    if (to < 0 || to > int64_t{1} << 47) return user_error("a size of {}", to);
    if (to < n) {
      const int64_t start = (n - to) / 2;
      x = c.slice(x, axes[k], start, start + to);
    } else {
      pad[at] = (to - n) / 2;
      pad[at + 1] = to - n - pad[at];
    }
  }
  c.give(0, c.op("constant_pad_nd", {x}, {{"pad", pad}}), c.element(0));
  return {};
}

// The first lengths[b] elements of each line in reverse.
Status reverse_sequence(Call& c) {
  const Shape s = c.shape(0);
  CLEAVE_TRY(const int64_t time, c.axis(c.integer("time_axis", 0), c.rank(0)));
  CLEAVE_TRY(const int64_t batch, c.axis(c.integer("batch_axis", 1), c.rank(0)));
  if (time == batch || c.rank(1) != 1) return user_error("expected two axes and a list of lengths");
  Shape along(s.size(), Dim(1)), across(s.size(), Dim(1));
  along[static_cast<size_t>(time)] = s[static_cast<size_t>(time)];
  across[static_cast<size_t>(batch)] = s[static_cast<size_t>(batch)];
  const V at = c.view(c.op("arange", {}, {{"end", s[static_cast<size_t>(time)]}}), along);
  const V length = c.view(c.convert(c.in(1), DType::i64), across);
  const V back = c.sub(c.sub(length, 1), at);
  const V index = c.where(c.op("lt", {at, length}), back, at);
  c.give(0, c.op("gather", {c.in(0), c.expand(index, s)}, {{"dim", time}}), c.element(0));
  return {};
}

// Columns by their numbers; of a vector, as a row.
Status array_feature_extractor(Call& c) {
  const Shape s = c.shape(0), at = c.shape(1);
  if (s.empty()) return user_error("the operand has no dims");
  const Dim count = product_of(at, 0, at.size());
  const V index = c.view(c.convert(c.in(1), DType::i64), {count});
  Shape out(s.begin(), s.end() - 1);
  if (out.empty()) out.emplace_back(1);
  out.push_back(count);
  const V y = c.op("index_select", {c.in(0), index}, {{"dim", c.rank(0) - 1}});
  c.give(0, c.view(y, out), c.element(0));
  return {};
}

Status binarizer(Call& c) {
  const V above = c.op("gt", {c.in(0), c.real("threshold")});
  c.give(0, c.convert(above, c.dtype(0)), c.element(0));
  return {};
}

constexpr RuleEntry entries[] = {{"ai.onnx.ml.ArrayFeatureExtractor", array_feature_extractor},
                                 {"ai.onnx.ml.Binarizer", binarizer},
                                 {"Gather", gather},
                                 {"GatherElements", gather_elements},
                                 {"GatherND", gather_nd},
                                 {"OneHot", one_hot},
                                 {"Compress", compress},
                                 {"Pad", pad},
                                 {"CenterCropPad", center_crop_pad},
                                 {"ReverseSequence", reverse_sequence}};

}  // namespace

std::span<const RuleEntry> index_rules() { return entries; }

}  // namespace cleave::onnx
