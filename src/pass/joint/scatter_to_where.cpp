// Replaces a scatter of one number to one position in each line of a uniform tensor by a where.
//
//   scatter(full(bg), index; dim, value=v)   or   scatter(full(bg), index, full(v); dim)
//     ->  where(eq(class_index(index; classes=n), arange(n) along dim), v, bg)
//
// index must have size 1 along dim and the size of the result in every other dim, so that each line
// gets v at one position: one-hot codes, and gradients of one class per row. The where can be fused
// into its users, and the full, the copy and the writes disappear. An index outside [0, n) is the
// same error as before: class_index reports it under scatter's name. Its ignore_index, which it
// maps to 0, is set to -2^62, which no program uses as an index.
// Sizes may be symbolic; n must be proven to be at least 1. The full may have other users.
// Source: joint_graph.py scatter_upon_const_tensor, PyTorch 2.13, which drops the check.
#include "pass/constant.h"
#include "pass/passes.h"

namespace cleave {
namespace {

constexpr int64_t no_index = -(int64_t{1} << 62);

size_t dim_of(const Match& m) {
  const int64_t dim = m.integer("dim");
  return static_cast<size_t>(dim < 0 ? dim + m.type("y").rank() : dim);
}

bool is_number(const Match& m, const char* name) {
  const Dim* d = m.attr(name).get<Dim>();
  return m.attr(name).is_number() && (!d || d->is_const());
}

bool writes_one_place(const Match& m) {
  const Type &y = m.type("y"), &index = m.type("index");
  if (y.rank() == 0 || index.rank() != y.rank() || y.device != Device() || !is_number(m, "value") ||
      !is_number(m, "background"))
    return false;
  const SymEnv& env = m.graph().env();
  for (size_t d = 0; d < y.shape.size(); ++d)
    if (!env.provably_equal(index.shape[d], d == dim_of(m) ? Dim(1) : y.shape[d])) return false;
  return env.range_of(y.shape[dim_of(m)]).lo >= 1;
}

Values chosen(Builder& b, const Match& m) {
  const Type& y = m.type("y");
  const Dim n = y.shape[dim_of(m)];
  Shape along(y.shape.size(), Dim(1));
  along[dim_of(m)] = n;
  const ValueId index =
      b.call1("class_index", {m["index"]},
              {{"classes", n}, {"ignore_index", no_index}, {"what", "scatter: index"}});
  const ValueId positions = b.view(b.call1("arange", {}, {{"end", n}}), along);
  const ValueId mask = b.eq(index, positions);
  const ValueId value = b.full({}, m.attr("value"), y.dtype),
                background = b.full({}, m.attr("background"), y.dtype);
  return {b.where(mask, value, background)};
}

}  // namespace

Pass scatter_to_where() {
  const Pattern background = full_of("background"), index = any("index");
  const auto rule = [](const char* name, const Pattern& scatter) {
    return Rule{
        .name = name, .search = {scatter.named("y")}, .when = writes_one_place, .build = chosen};
  };
  return {.name = "scatter_to_where",
          .summary = "a number scattered into another becomes a choice by position",
          .rules = {rule("value", call("scatter", {background, index, absent()},
                                       {{"dim", bind("dim")}, {"value", bind("value")}})),
                    rule("source", call("scatter", {background, index, full_of("value")},
                                        {{"dim", bind("dim")}}))}};
}

}  // namespace cleave
