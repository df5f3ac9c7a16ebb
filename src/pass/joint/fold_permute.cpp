// Replaces two consecutive permutes by one or none.
//
//   permute(permute(x; dims=p); dims=q)  ->  permute(x; dims=p[q])      compose
//   permute(x; dims=0,1,2...)            ->  x                          identity
//   permute(x; dims) that moves only dims of size 1   ->  view(x)       ones
//   permute(unsqueeze(x; dim=d); dims)   ->  unsqueeze(permute(x))      unsqueeze
//
// The inner one must have no other user: two views of one memory cost nothing, but a permute of a
// permute does. Permutes that move only dims of size 1, which products of several letters (einsum)
// insert, are removed, so that the remaining permutes become adjacent.
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

// Whether the dims that aren't of size 1 keep their order.
bool moves_ones_only(const Match& m) {
  const Type& t = m.type("x");
  int64_t last = -1;
  for (const int64_t d : counted(m.integers("dims"))) {
    if (t.shape[static_cast<size_t>(d)] == Dim(1)) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

Values unsqueezed(Builder& b, const Match& m) {
  const int64_t rank = b.type(m["x"]).rank() + 1;
  int64_t put = m.integer("dim");
  if (put < 0) put += rank;
  std::vector<int64_t> dims;
  int64_t at = 0;
  for (const int64_t d : counted(m.integers("dims"))) {
    if (d == put)
      at = std::ssize(dims);
    else
      dims.push_back(d < put ? d : d - 1);
  }
  return {b.unsqueeze(is_identity(dims) ? m["x"] : b.permute(m["x"], dims), at)};
}

}  // namespace

Pass fold_permute() {
  const Pattern x = any("x");
  const Pattern permute = call("permute", {x}, {{"dims", bind("dims")}});
  return {
      .name = "fold_permute",
      .summary = "two permutes in a row become one, or none",
      .rules = {{.name = "compose",
                 .search = {call("permute", {call("permute", {x}, {{"dims", bind("inner")}})},
                                 {{"dims", bind("outer")}})},
                 .build = composed},
                {.name = "identity",
                 .search = {permute},
                 .when = [](const Match& m) { return is_identity(counted(m.integers("dims"))); },
                 .build = [](Builder&, const Match& m) -> Values { return {m["x"]}; }},
                {.name = "unsqueeze",
                 .search = {call("permute", {call("unsqueeze", {x}, {{"dim", bind("dim")}})},
                                 {{"dims", bind("dims")}})},
                 .build = unsqueezed},
                {.name = "ones",
                 .search = {permute.named("y")},
                 .when = moves_ones_only,
                 .build = [](Builder& b, const Match& m) -> Values {
                   return {b.view(m["x"], b.type(m["y"]).shape)};
                 }}}};
}

}  // namespace cleave
