// Reads and writes by indices.
#include "import/exported/layout.h"
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

constexpr int64_t most_differences = 64;

V self_of(Call& c) { return c.tensor("self"); }

// self with src put to the places `index` of a dim: index_put over the dims before it as well.
Values put(Call& c, V src) {
  const V x = self_of(c), index = c.tensor("index");
  const int64_t dim = c.wrapped(c.integer("dim", 0), c.rank(x));
  Values indices(static_cast<size_t>(dim), V::none());
  indices.push_back(index);
  return {c.op("index_put", {x, CallOperand(indices), src})};
}

// self with src where as_strided would read; where it would read twice, the last one.
Values as_strided_scatter(Call& c) {
  const V x = self_of(c), src = c.tensor("src");
  const Argument* self = c.find("self");
  if (const TensorMeta* m = self ? c.meta(*self) : nullptr; m && !is_row_major(*m))
    return {c.fail("as_strided_scatter of a tensor that isn't row-major")};
  const Dim count = c.type(x).numel();
  const V places = c.op("as_strided", {c.op("arange", {}, {{"end", count}})},
                        {{"size", c.sizes("size")},
                         {"stride", c.sizes("stride")},
                         {"storage_offset", c.value("storage_offset", Dim(0))}});
  if (!(c.type(src).shape == c.type(places).shape))
    return {c.fail("src is {}, expected the size of as_strided", c.type(src).text())};
  const Shape row = {c.type(places).numel()};
  const V y =
      c.op("scatter", {c.view(x, {count}), c.view(places, row), c.view(src, row)}, {{"dim", 0}});
  return {c.view(y, c.type(x).shape)};
}

V number_like(Call& c, V x, const AttrValue& value) {
  return c.op("full", {}, {{"size", Shape{}}, {"fill_value", value}, {"dtype", c.type(x).dtype}});
}

// A place that is named twice is one place, so that its gradient counts once.
Values index_fill(Call& c) {
  const V x = self_of(c);
  const int64_t dim = c.wrapped(c.integer("dim", 0), c.rank(x));
  const Dim n = c.size(x, dim);
  const V none = c.op("full", {}, {{"size", Shape{n}}, {"fill_value", false}});
  const V yes = c.op("full", {}, {{"size", Shape{}}, {"fill_value", true}});
  V filled = c.op("index_put", {none, CallOperand(Values{c.tensor("index")}), yes});
  Shape alone(static_cast<size_t>(c.rank(x)), Dim(1));
  if (!alone.empty()) alone[static_cast<size_t>(dim)] = n;
  filled = c.view(filled, alone);
  const V value = c.has_tensor("value") ? c.tensor("value") : number_like(c, x, c.value("value"));
  return {c.op("where", {filled, c.to(value, c.type(x).dtype), x})};
}

// Negative indices count from the end of a dim of n.
V from_the_front(Call& c, V index, const Dim& n) {
  const V wrapped = c.op("add", {index, CallOperand(AttrValue(n))});
  return c.op("where", {c.op("lt", {index, 0}), wrapped, index});
}

// Dims other than the one that is read along are broadcast.
Values take_along_dim(Call& c) {
  V x = self_of(c), index = c.tensor("indices");
  if (!c.has("dim")) {
    x = c.view(x, {c.type(x).numel()});
    index = from_the_front(c, c.view(index, {c.type(index).numel()}), c.size(x, 0));
    return {c.op("gather", {x, index}, {{"dim", 0}})};
  }
  const int64_t dim = c.wrapped(c.integer("dim", 0), c.rank(x));
  Shape from = c.type(x).shape, places = c.type(index).shape;
  if (from.size() != places.size()) return {c.fail("take_along_dim of two ranks")};
  for (size_t d = 0; d < from.size(); ++d) {
    if (static_cast<int64_t>(d) == dim) continue;
    if (from[d] == Dim(1)) from[d] = places[d];
    if (places[d] == Dim(1)) places[d] = from[d];
  }
  if (!(from == c.type(x).shape)) x = c.op("expand", {x}, {{"size", from}});
  if (!(places == c.type(index).shape)) index = c.op("expand", {index}, {{"size", places}});
  index = from_the_front(c, index, c.size(x, dim));
  return {c.op("gather", {x, index}, {{"dim", dim}})};
}

Values one_hot(Call& c) {
  V x = self_of(c);
  const int64_t classes = c.integer("num_classes", -1);
  if (classes < 1) return {c.fail("one_hot without a number of classes")};
  const auto check = [&](V holds, const char* message) {
    x = c.op("_functional_assert_async", {c.op("all", {holds}), x}, {{"assert_msg", message}});
  };
  check(c.op("ge", {x, 0}), "one_hot: Class values must be non-negative.");
  check(c.op("lt", {x, AttrValue(classes)}),
        "one_hot: Class values must be smaller than num_classes.");
  const V all = c.op("arange", {}, {{"end", classes}});
  return {c.to(c.op("eq", {c.op("unsqueeze", {x}, {{"dim", -1}}), all}), DType::i64)};
}

// Neighbours along a dim, subtracted; of bool: which differ.
Values diff(Call& c) {
  V x = self_of(c);
  const int64_t dim = c.wrapped(c.integer("dim", -1), c.rank(x));
  Values parts;
  for (const V part : {c.maybe_tensor("prepend"), x, c.maybe_tensor("append")})
    if (part.valid()) parts.push_back(part);
  if (parts.size() > 1) x = c.op("cat", {CallOperand(parts)}, {{"dim", dim}});
  const int64_t times = c.integer("n", 1);
  if (times < 1 || times > most_differences) return {c.fail("diff of order {}", times)};
  for (int64_t k = 0; c.ok() && k < times; ++k) {
    const V next = c.op("slice", {x}, {{"dim", dim}, {"start", 1}, {"end", INT64_MAX}});
    const V last = c.op("slice", {x}, {{"dim", dim}, {"start", 0}, {"end", -1}});
    x = c.op(c.type(x).dtype == DType::boolean ? "logical_xor" : "sub", {next, last});
  }
  return {x};
}

Values where(Call& c) {
  const auto operand = [&](const char* name) {
    return c.has_tensor(name) ? CallOperand(c.tensor(name)) : CallOperand(c.value(name));
  };
  return {c.op("where", {c.tensor("condition"), operand("self"), operand("other")})};
}

}  // namespace

std::span<const RuleRow> index_rules() {
  static constexpr RuleRow rows[] = {
      {"as_strided_scatter", as_strided_scatter},
      {"index_fill", index_fill},
      {"index_copy", [](Call& c) { return put(c, c.tensor("source")); }},
      {"take_along_dim", take_along_dim},
      {"one_hot", one_hot},
      {"diff", diff},
      {"where.self", where},
      {"where.ScalarSelf", where},
      {"where.ScalarOther", where},
      {"where.Scalar", where},
  };
  return rows;
}

}  // namespace cleave::exported
