// Copies of a tensor with elements written at indices.
#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

// What scatter_reduce calls the reduction; empty: the element is replaced.
Result<std::string> reduction_of(const Call& c) {
  const std::string r = c.text("reduction", "none");
  if (r == "none") return std::string();
  if (r == "add") return std::string("sum");
  if (r == "mul") return std::string("prod");
  if (r == "max") return std::string("amax");
  if (r == "min") return std::string("amin");
  return user_error("the reduction \"{}\" isn't known", r);
}

V scattered(Call& c, V x, int64_t axis, V index, V updates, const std::string& reduce) {
  if (reduce.empty()) return c.op("scatter", {x, index, updates}, {{"dim", axis}});
  if (reduce == "sum") return c.op("scatter_add", {x, index, updates}, {{"dim", axis}});
  return c.op("scatter_reduce", {x, index, updates}, {{"dim", axis}, {"reduce", reduce}});
}

Status scatter_elements(Call& c) {
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis"), c.rank(0)));
  CLEAVE_TRY(const std::string reduce, reduction_of(c));
  const V index = from_start(c, c.in(1), c.shape(0)[static_cast<size_t>(axis)]);
  c.give(0, scattered(c, c.in(0), axis, index, c.in(2), reduce), c.element(0));
  return {};
}

// The last dim of the indices holds places in the first dims. By rows: these dims become one.
Status scatter_nd(Call& c) {
  const Shape s = c.shape(0), at = c.shape(1);
  CLEAVE_TRY(const std::string reduce, reduction_of(c));
  if (at.empty() || !at.back().is_const())
    return unsupported("places of a length that isn't a number");
  const size_t depth = static_cast<size_t>(at.back().value());
  if (at.back().value() < 1 || depth > s.size())
    return user_error("places of {} in a tensor of {} dims", depth, s.size());
  const V places = c.in(1);
  Values index;
  for (size_t k = 0; k < depth; ++k)
    index.push_back(from_start(c, c.select(places, -1, static_cast<int64_t>(k)), s[k]));
  if (reduce.empty() || reduce == "sum") {
    c.give(0,
           c.op("index_put", {c.in(0), CallOperand(std::move(index)), c.in(2)},
                {{"accumulate", reduce == "sum"}}),
           c.element(0));
    return {};
  }
  V row = index[0];
  for (size_t k = 1; k < depth; ++k) row = c.add(c.mul(row, AttrValue(s[k])), index[k]);
  const Dim rows = product_of(s, 0, depth), width = product_of(s, depth, s.size());
  const Dim count = product_of(at, 0, at.size() - 1);
  const V x = c.view(c.in(0), {rows, width});
  const V updates = c.view(c.in(2), {count, width});
  row = c.expand(c.view(row, {count, 1}), {count, width});
  c.give(0, c.view(scattered(c, x, 0, row, updates, reduce), s), c.element(0));
  return {};
}

// Rows of a cache from a place on, one for each member of the batch.
Status tensor_scatter(Call& c) {
  const Shape s = c.shape(0), u = c.shape(1);
  const int64_t rank = c.rank(0);
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis", -2), rank));
  if (axis == 0 || u.size() != s.size())
    return user_error("axis 0 is the batch, and both have as many dims");
  const size_t along = static_cast<size_t>(axis);
  Shape line(s.size(), Dim(1)), batch(s.size(), Dim(1));
  line[along] = u[along];
  batch[0] = s[0];
  V at = c.view(c.op("arange", {}, {{"end", u[along]}}), line);
  if (c.has(2)) at = c.add(at, c.view(c.convert(c.in(2), DType::i64), batch));
  if (c.text("mode", "linear") == "circular") at = c.op("remainder", {at, AttrValue(s[along])});
  c.give(0, c.op("scatter", {c.in(0), c.expand(at, u), c.in(1)}, {{"dim", axis}}), c.element(0));
  return {};
}

constexpr RuleEntry entries[] = {{"Scatter", scatter_elements},
                                 {"ScatterElements", scatter_elements},
                                 {"ScatterND", scatter_nd},
                                 {"TensorScatter", tensor_scatter}};

}  // namespace

std::span<const RuleEntry> scatter_rules() { return entries; }

}  // namespace cleave::onnx
