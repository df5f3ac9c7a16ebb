#include "schedule/group_context.h"

namespace cleave {

using namespace cleave::loop;

GroupContext::GroupContext(const GroupCalls& calls, const GroupPlan& plan, Kernel& kernel,
                           const LoopChoices& loops)
    : calls(calls), plan(plan), loops(loops), kernel(kernel), sheet(kernel), builder(sheet, {}, {}),
      values(calls.graph, calls.nodes, sheet, accesses) {
  for (const auto& [v, at] : calls.operands) values.sources().bind(v, at);
  for (const GroupResult& r : calls.results) values.sources().add_use(r.value);
}

Expr GroupContext::declared(const Expr& var, int64_t extent) {
  math().declare(var, extent);
  return extent == 1 ? Expr(0) : var;
}

Expr GroupContext::let(Expr value, const char* name, int64_t extent) {
  Expr out = builder.let(std::move(value), name);
  values.scopes().own(out);
  math().declare(out, extent);
  return out;
}

FrameElement GroupContext::element(const Exprs& parts, size_t pass) {
  if (parts.empty()) return {Expr(0), Expr(0), Expr(0)};
  std::vector<int64_t> factors(parts.size()), row_factors(parts.size()),
      inner_factors(parts.size());
  int64_t step = 1, row_step = 1, inner_step = 1;
  for (size_t d = parts.size(); d-- > 0;) {
    const auto& [extent, is_row] = plan.frame.parts[d];
    factors[d] = step;
    step *= extent;
    int64_t& own = is_row ? row_step : inner_step;
    (is_row ? row_factors : inner_factors)[d] = own;
    own *= extent;
  }
  FrameElement out;
  out.number = math().dot(parts, factors);
  accesses.set_element(math().simplify(out.number), pass);
  out.row = math().dot(parts, row_factors);
  out.inner = math().dot(parts, inner_factors);
  return out;
}

FrameElement GroupContext::numbered(const Expr& number) {
  accesses.set_element(math().simplify(number), 0);
  return {number, {}, {}};
}

Exprs GroupContext::row_parts(const Expr& row) {
  std::vector<int64_t> extents;
  for (const Frame::Part& part : plan.frame.parts)
    if (part.is_row) extents.push_back(part.extent);
  const Exprs index = math().delinearise(row, extents);
  Exprs out(plan.frame.parts.size());
  size_t next = 0;
  for (size_t d = 0; d < out.size(); ++d)
    if (plan.frame.parts[d].is_row) out[d] = index[next++];
  return out;
}

Exprs GroupContext::index_of(const Expr& number, ValueId v) {
  return math().delinearise(number, static_shape(calls.graph.type(v)));
}

void GroupContext::store(const Bound& to, const Exprs& index, Expr value, bool is_last) {
  Expr address = address_of(math(), to.layout, index);
  accesses.write(to.buffer, address, is_last);
  sheet.open.back()->push_back({Store{to.buffer, std::move(address), std::move(value)}});
}

}  // namespace cleave
