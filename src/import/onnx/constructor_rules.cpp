// Tensors that are made of attributes and sizes.
#include <algorithm>
#include <cmath>

#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

Status constant(Call& c) {
  const std::string own_name = c.node().outputs.empty() ? "constant" : c.node().outputs[0];
  const auto give = [&](HostTensor t, Element e) {
    Value v = c.importer().constant(own_name, std::move(t));
    v.element = e;
    c.give(0, std::move(v));
  };
  if (const Attribute* a = c.attribute("value"); a && a->tensor) {
    CLEAVE_TRY(Value v, c.importer().constant(own_name, *a->tensor));
    c.give(0, std::move(v));
  } else if (c.given("value_int")) {
    give(HostTensor::from<int64_t>({c.integer("value_int")}, {}), Element::i64);
  } else if (c.given("value_ints")) {
    give(HostTensor::from<int64_t>(c.list("value_ints")), Element::i64);
  } else if (const Attribute* f = c.attribute("value_float")) {
    give(HostTensor::scalar(static_cast<double>(f->f)), Element::f32);
  } else if (const Attribute* fs = c.attribute("value_floats")) {
    give(HostTensor::from<float>(fs->floats), Element::f32);
  } else {
    return unsupported("a constant of texts or sparse elements");
  }
  return {};
}

Status constant_of_shape(Call& c) {
  CLEAVE_TRY(const std::vector<Dim> dims, c.dims(0, "shape"));
  Element e = Element::f32;
  V value;
  if (const Attribute* a = c.attribute("value"); a && a->tensor) {
    CLEAVE_TRY(HostTensor t, read_elements(*a->tensor, c.importer().folder()));
    if (t.numel() != 1) return user_error("the value has {} elements, expected 1", t.numel());
    e = a->tensor->element;
    value = c.tensor("value", t.reshaped({}));
  } else {
    value = c.full({}, 0, DType::f32);
  }
  c.give(0, c.expand(value, dims), e);
  return {};
}

// first, first + by, ..., below limit (above it where by < 0); by isn't 0.
uint64_t count_steps(int64_t first, int64_t limit, int64_t by) {
  const uint64_t from = static_cast<uint64_t>(first), to = static_cast<uint64_t>(limit),
                 step = static_cast<uint64_t>(by);
  if (by > 0) return limit > first ? (to - from - 1) / step + 1 : 0;
  return limit < first ? (from - to - 1) / (0 - step) + 1 : 0;
}

Status range(Call& c) {
  const DType t = c.dtype(0);
  const auto start = c.known_dims(0), end = c.known_dims(1), step = c.known_dims(2);
  if (is_integer(t) && start && end && step && start->size() == 1 && end->size() == 1 &&
      step->size() == 1 && !((*end)[0].is_const() && (*start)[0].is_const())) {
    if (!((*step)[0] == Dim(1)))
      return unsupported("a step other than 1 of sizes that aren't numbers");
    Dim count = (*end)[0] - (*start)[0];
    if (c.importer().graph().env().range_of(count).lo < 0) count = Dim::max(count, Dim(0));
    const V at = c.op("arange", {}, {{"end", count}, {"dtype", t}});
    c.give(0, c.add(at, AttrValue((*start)[0])), c.element(0));
    return {};
  }
  CLEAVE_TRY(const Array first, c.constant(0, "start"));
  CLEAVE_TRY(const Array limit, c.constant(1, "limit"));
  CLEAVE_TRY(const Array delta, c.constant(2, "delta"));
  if (first.numel() != 1 || limit.numel() != 1 || delta.numel() != 1)
    return user_error("start, limit and delta have one number each");
  if (first.floating() != limit.floating() || first.floating() != delta.floating())
    return user_error("start, limit and delta are of different types");
  const double by = delta.number(0);
  if (by == 0) return user_error("the delta is 0");
  const double count = is_integer(t)
                           ? static_cast<double>(count_steps(first.i[0], limit.i[0], delta.i[0]))
                           : std::ceil((limit.number(0) - first.number(0)) / by);
  if (!(count < 1e12)) return user_error("a range of {} elements", count);
  const int64_t n = count > 0 ? static_cast<int64_t>(count) : 0;
  const V at = c.op("arange", {}, {{"end", n}, {"dtype", DType::i64}});
  if (is_integer(t)) {
    c.give(0, c.convert(c.add(c.mul(at, AttrValue(delta.i[0])), AttrValue(first.i[0])), t),
           c.element(0));
  } else {
    const V wide = c.convert(at, DType::f64);
    c.give(0, c.convert(c.add(c.mul(wide, by), first.number(0)), t), c.element(0));
  }
  return {};
}

Result<Element> element_or(Call& c, Element otherwise) {
  if (!c.given("dtype")) return otherwise;
  const int64_t e = c.integer("dtype");
  if (e <= 0 || e > last_element) return user_error("dtype is {}", e);
  return static_cast<Element>(e);
}

// Row - column + k, of the last two dims.
V diagonal_distance(Call& c, const Shape& s, V k) {
  const V rows = c.op("arange", {}, {{"end", s[s.size() - 2]}});
  const V columns = c.op("arange", {}, {{"end", s[s.size() - 1]}});
  return c.sub(c.add(c.unsqueeze(rows, 1), k), c.unsqueeze(columns, 0));
}

Status eye_like(Call& c) {
  if (c.rank(0) != 2) return user_error("the operand has {} dims, expected 2", c.rank(0));
  CLEAVE_TRY(const Element e, element_or(c, c.element(0)));
  const V k = c.full({}, static_cast<double>(c.integer("k")), DType::i64);
  const V on = c.op("eq", {diagonal_distance(c, c.shape(0), k), 0});
  c.give(0, c.cast(on, Element::boolean, e), e);
  return {};
}

Status trilu(Call& c) {
  if (c.rank(0) < 2) return user_error("the operand has {} dims, expected 2 or more", c.rank(0));
  V k = c.has(1) ? c.in(1) : c.full({}, 0, DType::i64);
  if (c.has(1) && c.rank(1) != 0) k = c.view(k, {});
  const bool upper = c.integer("upper", 1) != 0;
  const V distance = diagonal_distance(c, c.shape(0), k);
  const V kept = c.op(upper ? "le" : "ge", {distance, 0});
  c.give(0, c.where(kept, c.in(0), c.full({}, 0, c.dtype(0))), c.element(0));
  return {};
}

constexpr RuleEntry entries[] = {{"Constant", constant},
                                 {"ConstantOfShape", constant_of_shape},
                                 {"Range", range},
                                 {"EyeLike", eye_like},
                                 {"Trilu", trilu}};

}  // namespace

std::span<const RuleEntry> constructor_rules() { return entries; }

}  // namespace cleave::onnx
