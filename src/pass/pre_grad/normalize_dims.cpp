// Counts the dims of joins, cuts and one-dim views from the front, so that equal calls are equal.
//
//   cat, stack(xs; dim=-1)                                ->  dim=rank-1    join
//   unbind, select, slice, unsqueeze, squeeze(x; dim=-1)  ->  dim=rank-1    the operator's name
//
// For stack and unsqueeze the rank is that of the result. A squeeze without dims is left alone:
// which dims it removes depends on sizes. normalize_splits handles splits.
#include <algorithm>

#include "op/dims.h"
#include "pass/passes.h"

namespace cleave {
namespace {

bool counts_new_dims(const OpView& call) {
  return call.name() == "stack" || call.name() == "unsqueeze";
}

int64_t rank_of(const OpView& call) {
  if (call.name() == "cat" || counts_new_dims(call)) return call.out_type(0).rank();
  return call.in_type(0).rank();
}

// Accepts one dim as a number, several as a list, as they were given.
bool is_from_back(const Match& m) {
  const AttrValue& dim = m.attr("dim");
  if (dim.is_int()) return m.integer("dim") < 0;
  return std::ranges::any_of(m.integers("dim"), [](int64_t d) { return d < 0; });
}

Values with_dim_from_front(Builder& b, const Match& m) {
  const OpView call = m.call("call");
  const int64_t rank = rank_of(call);
  NamedAttrs attrs;
  const Schema& schema = call.def().schema;
  for (const auto& [arg, value] : call.attrs().given()) {
    AttrValue given = value;
    if (schema.args[arg].name == "dim")
      given = value.is_int() ? AttrValue(from_front(m.integer("dim"), rank))
                             : AttrValue(from_front(m.integers("dim"), rank));
    attrs.emplace_back(schema.args[arg].name, std::move(given));
  }
  if (call.list_size() > 0) {
    Values items;
    for (int k = 0; k < call.list_size(); ++k) items.push_back(call.list_in(k));
    return b.call(call.name(), {items}, std::move(attrs));
  }
  return b.call(call.name(), {call.in(0)}, std::move(attrs));
}

Rule rule(const std::string& name, Pattern search) {
  return {.name = name,
          .search = {results(search.named("call"))},
          .when = is_from_back,
          .build = with_dim_from_front};
}

Pattern of_one(const char* op, std::vector<std::string> others = {}) {
  AttrTests attrs = {{"dim", bind("dim")}};
  for (std::string& other : others) attrs.emplace_back(std::move(other), anything());
  return call(op, {any()}, std::move(attrs));
}

}  // namespace

Pass normalize_dims() {
  return {.name = "normalize_dims",
          .summary = "dims of joins, cuts and views of one dim are counted from the front",
          .rules = {rule("join", call(std::vector<std::string>{"cat", "stack"}, {each(any())},
                                      {{"dim", bind("dim")}})),
                    rule("unbind", of_one("unbind")), rule("select", of_one("select", {"index"})),
                    rule("slice", of_one("slice", {"start", "end", "step"})),
                    rule("unsqueeze", of_one("unsqueeze")), rule("squeeze", of_one("squeeze"))}};
}

}  // namespace cleave
