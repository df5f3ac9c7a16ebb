// One element of each line of a constant, overwritten by a number, is a choice.
//
//   scatter(full(size, a), index; dim=d, value=b)
//     ->  where(eq(class_index(index), arange(n)), b, a)       index has size 1 along d, n = size[d]
//
// One-hot vectors are written so. A choice joins with what reads it, and needs no constant in
// memory. class_index keeps the check that every index is in range, and its message.
#include <limits>

#include "pass/passes.h"

namespace cleave {
namespace {

size_t dim_of(const Match& m) {
  const int64_t d = m.integer("dim");
  return static_cast<size_t>(d < 0 ? d + m.type("y").rank() : d);
}

// One index a line, and all lines.
bool is_one_a_line(const Match& m) {
  const Shape &size = m.type("y").shape, &index = m.type("index").shape;
  if (size.empty() || m.attr("b").is_none() || !size[dim_of(m)].is_const()) return false;
  if (size[dim_of(m)].value() < 1) return false;
  for (size_t k = 0; k < size.size(); ++k)
    if (!(index[k] == (k == dim_of(m) ? Dim(1) : size[k]))) return false;
  return true;
}

Values chosen(Builder& b, const Match& m) {
  const Type t = m.type("y");
  const size_t d = dim_of(m);
  const ValueId index = b.call1("class_index", {m["index"]},
                                {{"classes", t.shape[d]},
                                 {"ignore_index", std::numeric_limits<int64_t>::min() / 4},
                                 {"what", "scatter"}});
  Shape line(t.shape.size(), Dim(1));
  line[d] = t.shape[d];
  const ValueId counted = b.view(
      b.call1("arange", {}, {{"start", 0}, {"end", t.shape[d]}, {"dtype", DType::i64}}), line);
  const ValueId one = b.full({}, m.attr("b"), t.dtype), other = b.full({}, m.attr("a"), t.dtype);
  return {b.where(b.eq(index, counted), one, other)};
}

}  // namespace

Pass scatter_to_where() {
  const Pattern constant =
      call("full", {}, {{"size", anything()}, {"fill_value", bind("a")}, {"dtype", anything()}})
          .shared();
  return {.name = "scatter_to_where",
          .summary = "a number put into each line of a constant is a choice",
          .rules = {{.name = "one_hot",
                     .search = {call("scatter", {constant, any("index")},
                                     {{"dim", bind("dim")}, {"value", bind("b")}})
                                    .named("y")},
                     .when = is_one_a_line,
                     .build = chosen}}};
}

}  // namespace cleave
