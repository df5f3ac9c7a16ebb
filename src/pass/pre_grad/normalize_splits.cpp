// Converts every split to a split by sizes, along a dim counted from the front.
//
//   split(x; split_size, dim)                 ->  split_with_sizes(x; sizes, dim)    split
//   chunk(x; chunks, dim)                     ->  split_with_sizes(x; sizes, dim)    chunk
//   split_with_sizes(x; sizes, dim=-1)        ->  split_with_sizes(x; sizes, dim)    dim
//   split_with_sizes(x; [n])                  ->  x                                  single
//
// The sizes are those of the results. unbind is left alone: its results have one dim less.
#include "op/dims.h"
#include "pass/passes.h"

namespace cleave {
namespace {

int64_t split_dim(const Match& m) { return from_front(m.integer("dim"), m.type("x").rank()); }

Values by_sizes(Builder& b, const Match& m) {
  const int64_t dim = split_dim(m);
  Shape sizes;
  for (const ValueId v : m.outputs()) sizes.push_back(b.type(v).shape[dim]);
  return b.call("split_with_sizes", {m["x"]}, {{"split_sizes", sizes}, {"dim", dim}});
}

std::vector<Pattern> split(const char* op, const char* attr) {
  return {results(call(op, {any("x")}, {{attr, anything()}, {"dim", bind("dim")}}).named("split"))};
}

}  // namespace

Pass normalize_splits() {
  return {.name = "normalize_splits",
          .summary = "every split is one by sizes, and of two parts at least",
          .rules = {{.name = "split", .search = split("split", "split_size"), .build = by_sizes},
                    {.name = "chunk", .search = split("chunk", "chunks"), .build = by_sizes},
                    {.name = "single",
                     .search = split("split_with_sizes", "split_sizes"),
                     .when = [](const Match& m) { return m.call("split").out_count() == 1; },
                     .build = [](Builder&, const Match& m) -> Values { return {m["x"]}; }},
                    {.name = "dim",
                     .search = split("split_with_sizes", "split_sizes"),
                     .when = [](const Match& m) { return m.integer("dim") < 0; },
                     .build = by_sizes}}};
}

}  // namespace cleave
