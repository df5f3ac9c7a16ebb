// Scans and maps over a known number of rows: the body's calls are written out for each.
#include "import/exported/graph_reader.h"
#include "ir/edit.h"
#include "ir/subgraph.h"

namespace cleave::exported {

using Kind = Argument::Kind;

namespace {

// Each call is compiled.
constexpr int64_t most_unrolled_calls = int64_t{1} << 14;

}  // namespace

// The calls of body in graph_, with these operands.
Result<Values> GraphReader::written_out(const cleave::Graph& body, const Values& operands) {
  std::unordered_map<uint32_t, ValueId> map;
  const Values parameters = parameters_of(body);
  for (size_t k = 0; k < parameters.size(); ++k) map[parameters[k].v] = operands[k];
  for (const Placeholder& p : body.placeholders())
    if (p.role == Role::symint) map[p.value.v] = graph_.find(body.name(p.value));
  CLEAVE_CHECK(copy_nodes(body, body.order(), graph_, map));
  Values out;
  for (const Return& r : body.returns()) out.push_back(map.at(r.value.v));
  return out;
}

// The size of the first dim of all xs.
Result<int64_t> GraphReader::steps_of(const Values& xs) {
  std::optional<int64_t> steps;
  for (const ValueId x : xs) {
    const Type& t = graph_.type(x);
    if (t.rank() == 0 || !t.shape[0].is_const())
      return unsupported("a scan or map over {}: the number of its rows isn't known", t.text());
    if (steps.value_or(t.shape[0].value()) != t.shape[0].value())
      return user_error("a scan or map over {} and {} rows", *steps, t.shape[0].value());
    steps = t.shape[0].value();
  }
  if (steps.value_or(0) == 0) return unsupported("a scan or map over no rows");
  return *steps;
}

// scan   carry, ys = scan(body, init, xs, more)    carry, y[t] = body(carry, x[t], more)
// map    ys = map_impl(body, xs, more)             y[t] = body(x[t], more)
Status GraphReader::read_scan(const Node& node, bool has_carry, const Graph& source) {
  const size_t first = has_carry ? 2 : 1;
  CLEAVE_TRY(const Argument* const body, argument(node, 0, Kind::graph));
  CLEAVE_TRY(const Argument* const rows, argument(node, first, Kind::list));
  CLEAVE_TRY(const Argument* const others, argument(node, first + 1, Kind::list));
  Values carry;
  if (has_carry) {
    CLEAVE_TRY(const Argument* const init, argument(node, 1, Kind::list));
    CLEAVE_TRY(carry, operands_of(init->items));
  }
  CLEAVE_TRY(const Values xs, operands_of(rows->items));
  CLEAVE_TRY(const Values more, operands_of(others->items));
  CLEAVE_TRY(const int64_t steps, steps_of(xs));
  const auto operands_at = [&](int64_t step) {
    Values out = carry;
    for (const ValueId x : xs)
      out.push_back(b_.call1("select", {x}, {{"dim", int64_t{0}}, {"index", step}}));
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  Values operands = operands_at(0);
  CLEAVE_CHECK(b_.status());
  CLEAVE_TRY(const cleave::Graph g, read_body(*body, operands));
  if (std::ssize(g.order()) > most_unrolled_calls / steps)
    return unsupported("a scan or map over {} rows of {} calls each, expected at most {} in all",
                       steps, g.order().size(), most_unrolled_calls);
  if (g.returns().size() < carry.size())
    return user_error("a scan of {} carried values whose body has {} results", carry.size(),
                      g.returns().size());
  for (size_t k = 0; k < carry.size(); ++k) {
    const Type &before = graph_.type(carry[k]), &behind = g.type(g.returns()[k].value);
    if (before.dtype != behind.dtype || before.shape != behind.shape)
      return unsupported("a scan whose carried value {} is {} and becomes {}", k, before.text(),
                         behind.text());
  }
  std::vector<Values> ys(g.returns().size() - carry.size());
  for (int64_t step = 0; step < steps; ++step) {
    if (step > 0) operands = operands_at(step);
    CLEAVE_CHECK(b_.status());
    CLEAVE_TRY(const Values results, written_out(g, operands));
    for (size_t k = 0; k < results.size(); ++k)
      if (k < carry.size())
        carry[k] = results[k];
      else
        ys[k - carry.size()].push_back(b_.unsqueeze(results[k], 0));
  }
  Values results = carry;
  for (const Values& y : ys) results.push_back(b_.cat(y, 0));
  CLEAVE_CHECK(b_.status());
  return bind_results(node, results, source);
}

}  // namespace cleave::exported
