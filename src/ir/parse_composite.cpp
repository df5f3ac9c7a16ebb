// Calls of composites: StatementParser's last step where an operator has no entry.
#include <algorithm>

#include "ir/parse_statement.h"

namespace cleave {

// What a node's own operator would check: new names, and attributes of the right kinds.
Status StatementParser::check_composite() {
  for (size_t k = 0; k < spec_.names.size(); ++k)
    if (graph_->find(spec_.names[k]).valid() || std::ranges::count(spec_.names, spec_.names[k]) > 1)
      return explain({ErrorKind::user, {}});
  const Schema& schema = spec_.op->schema;
  for (const uint16_t index : schema.attrs) {
    const AttrValue* const given = spec_.attrs.find(index);
    if (!given && schema.args[index].has_default) continue;
    if (!given) return explain({ErrorKind::user, {}});
    Result<AttrValue> checked = checked_attr(schema.args[index], *given);
    if (!checked.ok()) return explain(std::move(checked).failure());
    spec_.attrs.set(index, *std::move(checked));
  }
  return {};
}

bool StatementParser::touches_complex() const {
  return std::ranges::count(type_is_complex_, true) > 0 ||
         (!complex_.empty() &&
          std::ranges::any_of(spec_.inputs, [this](ValueId v) { return is_complex(v); }));
}

Result<ComplexCall> StatementParser::complex_call() const {
  if (!has_types_)
    return user_error("{} of complex tensors, expected the types of its results behind ':'",
                      spec_.op->name);
  ComplexCall call{{}, type_is_complex_, types_};
  for (const ValueId v : spec_.inputs) call.inputs.push_back(is_complex(v));
  return call;
}

Result<Values> StatementParser::expand(Builder& b) const {
  if (!touches_complex()) return composites_->expand(b, spec_);
  CLEAVE_TRY(const ComplexCall complex, complex_call());
  return composites_->expand_complex(b, spec_, complex);
}

// The last calls have the names of the results, those before them the first one's and their own:
// %y.sub.
Status StatementParser::add_composite() {
  CLEAVE_CHECK(check_composite());
  const auto first_new = static_cast<uint32_t>(graph_->value_capacity());
  Builder b(*graph_, ops_);
  b.set_loc(spec_.loc);
  b.set_tag(spec_.tag);
  Result<Values> made = expand(b);
  if (!made.ok())
    return lex_.placed(op_at_, made.failure().kind, rule::refused, made.failure().message);
  Values results = *std::move(made);
  if (results.size() < spec_.names.size())
    return lex_.error(op_at_, rule::results, "results: {}, expected the {} of {}",
                      spec_.names.size(), results.size(), spec_.op->name);
  results.resize(spec_.names.size());
  for (size_t k = 0; k < results.size(); ++k) {
    ValueId& v = results[k];
    const bool is_taken =
        v.valid() &&
        (v.v < first_new ||
         std::count(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(k), v) > 0);
    if (is_taken) v = b.call1("clone", {v});
  }
  CLEAVE_CHECK(b.status());
  // The builder may have given a result's name to another call.
  const auto end = static_cast<uint32_t>(graph_->value_capacity());
  for (uint32_t id = first_new; id < end && !spec_.names.empty(); ++id) {
    const ValueId v{id};
    if (!graph_->value(v).def.valid()) continue;
    const std::string& op = graph_->node(graph_->value(v).def).op->name;
    CLEAVE_CHECK(graph_->rename(v, graph_->fresh_name(fmt::format("{}.{}", spec_.names[0], op))));
  }
  for (size_t k = 0; k < results.size(); ++k)
    if (results[k].valid()) CLEAVE_CHECK(graph_->rename(results[k], spec_.names[k]));
  for (size_t k = 0; k < type_is_complex_.size(); ++k)
    if (type_is_complex_[k] && results[k].valid()) note_complex(results[k]);
  return has_types_ ? check_types(results) : Status();
}

}  // namespace cleave
