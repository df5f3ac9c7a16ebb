// Two permutes in a row become one, or none.
//
//   permute(permute(x; dims=p); dims=q)  ->  permute(x; dims=p[q])      compose
//   permute(x; dims=0,1,2...)            ->  x                          identity
//
// The inner one must have no other reader: two views of one memory cost nothing, a pair does.
#include "pass/passes.h"

namespace cleave {
namespace {

std::vector<int64_t> counted(std::vector<int64_t> dims) {
  for (int64_t& d : dims)
    if (d < 0) d += std::ssize(dims);
  return dims;
}

bool is_identity(const std::vector<int64_t>& dims) {
  for (size_t k = 0; k < dims.size(); ++k)
    if (dims[k] != static_cast<int64_t>(k)) return false;
  return true;
}

Values composed(Builder& b, const Match& m) {
  const std::vector<int64_t> inner = counted(m.integers("inner")),
                             outer = counted(m.integers("outer"));
  std::vector<int64_t> dims;
  for (const int64_t d : outer) dims.push_back(inner[static_cast<size_t>(d)]);
  return {is_identity(dims) ? m["x"] : b.permute(m["x"], dims)};
}

}  // namespace

Pass fold_permute() {
  const Pattern x = any("x");
  return {
      .name = "fold_permute",
      .summary = "two permutes in a row become one, or none",
      .rules = {{.name = "compose",
                 .search = {call("permute", {call("permute", {x}, {{"dims", bind("inner")}})},
                                 {{"dims", bind("outer")}})},
                 .build = composed},
                {.name = "identity",
                 .search = {call("permute", {x}, {{"dims", bind("dims")}})},
                 .when = [](const Match& m) { return is_identity(counted(m.integers("dims"))); },
                 .build = [](Builder&, const Match& m) -> Values { return {m["x"]}; }}}};
}

}  // namespace cleave
