// Elements written, or added, along a dim of a copy of self.
#include <limits>

#include "export/onnx/rules.h"
#include "op/dims.h"

namespace cleave::to_onnx {
namespace {

// The operands of a scatter in dtype t, with at least one dim; src cut to the shape of index.
struct Scatter {
  V self, index, src;
  int64_t dim = 0;
  Shape index_shape;
};

Attributes how(const Scatter& s, const char* reduction) {
  return {integer("axis", s.dim), text("reduction", reduction)};
}

V with_dim(Call& c, const V& x, int64_t rank) { return rank == 0 ? c.reshape(x, {Dim(1)}) : x; }

V cut_to(Call& c, const V& x, const Shape& from, const Shape& to) {
  if (from == to) return x;
  const Ints axes = all_axes(static_cast<int64_t>(to.size()));
  return c.node("Slice",
                {x, c.model().list(Ints(to.size(), 0)), c.sizes().list(to), c.model().list(axes)});
}

Scatter scatter_of(Call& c, DType t) {
  Scatter s;
  s.dim = from_front(c.op().int_attr("dim"), c.rank(0));
  s.self = with_dim(c, c.in(0, t), c.rank(0));
  s.index = with_dim(c, c.in(1), c.rank(1));
  s.index_shape = c.rank(1) == 0 ? Shape{Dim(1)} : c.shape(1);
  if (c.op().operand_count() > 2 && c.has(2)) {
    const Shape from = c.rank(2) == 0 ? Shape{Dim(1)} : c.shape(2);
    s.src = cut_to(c, with_dim(c, c.in(2, t), c.rank(2)), from, s.index_shape);
  } else {
    const DType own = c.dtype(0);
    const AttrValue& value = c.op().attr("value");
    V number = own == DType::boolean ? c.number(value.as_double() != 0, t)
                                     : c.cast(c.number(value, own), t);
    s.src = c.expand(number, s.index_shape);
    s.src = c.cast(s.src, t);
  }
  return s;
}

void give_scattered(Call& c, const V& y) { c.give(0, c.rank(0) == 0 ? c.reshape(y, {}) : y); }

V scattered(Call& c, const V& self, const Scatter& s, const V& src, const char* reduction) {
  return c.node("ScatterElements", {self, s.index, src}, how(s, reduction));
}

Status scatter(Call& c) {
  const AttrValue& reduce = c.op().attr("reduce");
  if (reduce.is_none()) {
    const Scatter s = scatter_of(c, c.dtype(0));
    give_scattered(c, scattered(c, s.self, s, s.src, "none"));
    return {};
  }
  const Scatter s = scatter_of(c, carried(c.dtype(0)));
  const bool adds = *reduce.get<std::string>() == "add";
  give_scattered(c, scattered(c, s.self, s, s.src, adds ? "add" : "mul"));
  return {};
}

Status scatter_add(Call& c) {
  const Scatter s = scatter_of(c, carried(c.dtype(0)));
  give_scattered(c, scattered(c, s.self, s, s.src, "add"));
  return {};
}

double least(DType t) {
  if (is_floating(t)) return -std::numeric_limits<double>::infinity();
  return t == DType::i64 ? -0x1p63 : -0x1p31;
}

// A number that a fold leaves as it is, of a carrier. The largest i64 is written as -1 - least.
V neutral(Call& c, const std::string& fold, DType t) {
  if (fold == "prod") return c.number(1, t);
  if (fold == "amax") return c.number(least(t), t);
  if (fold != "amin") return c.number(0, t);
  if (is_floating(t)) return c.number(-least(t), t);
  return c.node("Sub", {c.number(-1, t), c.number(least(t), t)});
}

const char* reduction_of(const std::string& fold) {
  if (fold == "prod") return "mul";
  if (fold == "amax") return "max";
  return fold == "amin" ? "min" : "add";
}

Status scatter_reduce(Call& c) {
  const std::string fold = c.op().str_attr("reduce");
  const bool keeps = c.op().bool_attr("include_self");
  const Scatter s = scatter_of(c, carried(c.dtype(0)));
  const DType t = s.self.dtype;
  const Shape shape = c.rank(0) == 0 ? Shape{Dim(1)} : c.shape(0);
  const V zeros = c.full(c.number(0, DType::i32), shape);
  const V ones = c.expand(c.number(1, DType::i32), s.index_shape);
  const V count = scattered(c, zeros, s, ones, "add");
  const V touched = c.compare("Greater", count, c.number(0, DType::i32));
  V base = s.self;
  if (!keeps) base = c.where(touched, neutral(c, fold, t), s.self);
  V y = scattered(c, base, s, s.src, reduction_of(fold));
  if (fold == "mean") {
    const V less = keeps ? c.node("Add", {count, c.number(1, DType::i32)})
                         : c.node("Max", {count, c.number(1, DType::i32)});
    const V by = c.cast(less, t);
    y = is_floating(t) ? c.node("Div", {y, by}) : floor_quotient(c, y, by);
  }
  if (is_floating(t) && (fold == "amax" || fold == "amin")) {
    const V flags = scattered(c, nan_flags(c, base), s, nan_flags(c, s.src), "add");
    y = with_nan(c, flags, y);
  }
  give_scattered(c, y);
  return {};
}

Status index_add(Call& c) {
  const DType t = carried(c.dtype(0));
  const int64_t rank = c.rank(0);
  V source = c.in(2, t);
  if (c.op().float_attr("alpha") != 1)
    source = c.node("Mul", {source, c.number(c.op().attr("alpha"), t)});
  if (c.dtype(0) == DType::boolean) source = c.cast(c.cast(source, DType::boolean), t);
  const V index = c.unsqueeze(with_dim(c, c.in(1, DType::i64), c.rank(1)), {1});
  if (rank == 0) {
    const V y = c.node("ScatterND", {with_dim(c, c.in(0, t), 0), index, with_dim(c, source, 0)},
                       {text("reduction", "add")});
    c.give(0, c.reshape(y, {}));
    return {};
  }
  const Ints front = moved_first(from_front(c.op().int_attr("dim"), rank), rank);
  const V y =
      c.node("ScatterND", {c.transpose(c.in(0, t), front), index, c.transpose(source, front)},
             {text("reduction", "add")});
  c.give(0, c.transpose(y, inverse(front)));
  return {};
}

constexpr RuleEntry rules[] = {{"scatter", scatter},
                               {"scatter_add", scatter_add},
                               {"scatter_reduce", scatter_reduce},
                               {"index_add", index_add}};

}  // namespace

std::span<const RuleEntry> scatter_rules() { return rules; }

}  // namespace cleave::to_onnx
