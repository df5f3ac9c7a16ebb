// Branches and loops.
//
// A branch whose condition is known now is written in its place; otherwise both become graphs of a
// `cond`. A loop whose iterations are known is written out, one after the other, and has gradients;
// otherwise it is a `while_loop`, whose results are the carried values alone.
#include <algorithm>

#include "import/onnx/rules.h"
#include "import/onnx/subgraph.h"

namespace cleave::onnx {
namespace {

constexpr int64_t most_iterations = 1024;

Status give_all(Call& c, const std::vector<Value>& values) {
  if (values.size() < c.results())
    return user_error("{} results for {}", values.size(), c.results());
  for (size_t k = 0; k < c.results(); ++k) c.give(k, values[k]);
  return {};
}

std::string fresh_graph_name(Call& c, const char* stem) {
  return fmt::format("{}_{}", stem, c.importer().next_graph());
}

// ---- If

Status branch(Call& c) {
  const Attribute* then = c.attribute("then_branch");
  const Attribute* otherwise = c.attribute("else_branch");
  if (!then || !then->graph || !otherwise || !otherwise->graph) return user_error("lacks a branch");
  if (const auto known = c.known(0)) {
    if (known->numel() != 1) return user_error("the condition has {} elements", known->numel());
    CLEAVE_TRY(const std::vector<Value> out,
               c.importer().inlined(known->number(0) != 0 ? *then->graph : *otherwise->graph, {},
                                    c.context()));
    return give_all(c, out);
  }
  const auto write = [&](const GraphProto& g) {
    return [&c, &g](const std::vector<Value>&) { return c.importer().inlined(g, {}, c.context()); };
  };
  // Once each to see what they read, then again with all of that as operands.
  Values captured;
  const std::string first = fresh_graph_name(c, "then"), second = fresh_graph_name(c, "otherwise");
  Subgraph a, b;
  c.importer().want(c.value(0));  // if what follows fails
  for (int round = 0; round < 2; ++round) {
    CLEAVE_TRY(a, write_subgraph(c, first, {}, captured, write(*then->graph)));
    CLEAVE_TRY(b, write_subgraph(c, second, {}, captured, write(*otherwise->graph)));
  }
  if (a.elements != b.elements) return unsupported("its branches give different types");
  const V pred = c.view(c.in(0), {});
  const Values out =
      c.ops("cond", {pred, CallOperand(captured)}, {{"then", a.graph}, {"otherwise", b.graph}});
  for (size_t k = 0; k < out.size(); ++k) c.give(k, out[k], a.elements[k]);
  return {};
}

// ---- Loop

struct Loop {
  const GraphProto* body = nullptr;
  std::optional<int64_t> trips;  // none: not known, or without end
  bool counted = false;          // operand 0 is given
  std::vector<Value> carried;
};

Value number(Call& c, int64_t n) {
  return c.importer().constant("iteration", HostTensor::from<int64_t>({n}, {}));
}
Value truth(Call& c, bool b) {
  HostTensor t(DType::boolean, {});
  t.set_number(0, b ? 1 : 0);
  return c.importer().constant("condition", std::move(t));
}

std::optional<bool> known_truth(Call& c, const Value& v) {
  const auto a = c.importer().known(v);
  if (!a || a->numel() != 1) return std::nullopt;
  return a->number(0) != 0;
}

// Rows that iterations gave, as one tensor.
Result<Value> stacked(Call& c, const std::vector<Value>& rows, int64_t axis) {
  if (rows.empty()) return unsupported("rows of a loop without iterations");
  Values parts;
  for (const Value& v : rows) parts.push_back(c.importer().resolve(v, c.builder()));
  const V all = c.op("stack", {CallOperand(std::move(parts))}, {{"dim", axis}});
  if (!all.valid()) return Value{};
  return c.importer().made(all, rows[0].element);
}

// All iterations; false where their number turns out not to be known.
Result<bool> unrolled(Call& c, const Loop& loop, std::optional<bool> on) {
  if (!on || (loop.counted && !loop.trips)) return false;
  std::vector<Value> state = loop.carried;
  std::vector<std::vector<Value>> rows(loop.body->outputs.size() - 1 - state.size());
  for (int64_t k = 0; *on && (!loop.trips || k < *loop.trips); ++k) {
    if (k >= most_iterations) return unsupported("more than {} iterations", most_iterations);
    std::vector<Value> inputs = {number(c, k), truth(c, true)};
    inputs.insert(inputs.end(), state.begin(), state.end());
    CLEAVE_TRY(std::vector<Value> out, c.importer().inlined(*loop.body, inputs, c.context()));
    for (const Value& v : out)
      if (v.kind == Value::Kind::refused) return unsupported("its body isn't covered");
    on = known_truth(c, out[0]);
    if (!on) return false;
    for (size_t s = 0; s < state.size(); ++s) state[s] = out[s + 1];
    for (size_t r = 0; r < rows.size(); ++r) rows[r].push_back(out[1 + state.size() + r]);
  }
  for (size_t s = 0; s < state.size(); ++s) c.give(s, state[s]);
  for (size_t r = 0; r < rows.size(); ++r) {
    if (!c.wants(state.size() + r)) continue;
    CLEAVE_TRY(Value v, stacked(c, rows[r], 0));
    c.give(state.size() + r, std::move(v));
  }
  return true;
}

Status while_loop(Call& c, const Loop& loop) {
  if (loop.body->outputs.size() != loop.carried.size() + 1)
    return unsupported("rows of a loop whose number of iterations isn't known");
  Importer& importer = c.importer();
  const auto here = [&](const Value& v) {
    return importer.made(importer.resolve(v, c.builder()), v.element);
  };
  Value limit = c.has(0) ? here(c.value(0)) : number(c, INT64_MAX);
  if (c.has(0) && c.rank(0) != 0) limit = importer.made(c.view(limit.id, {}), Element::i64);
  V on = c.has(1) ? c.view(c.in(1), {}) : c.full({}, 1, DType::boolean);
  std::vector<Value> own = {importer.made(c.full({}, 0, DType::i64), Element::i64),
                            importer.made(on, Element::boolean)};
  for (const Value& v : loop.carried) {
    if (v.kind != Value::Kind::tensor) return unsupported("a loop that carries a sequence");
    own.push_back(here(v));
  }
  if (!c.status().ok()) return {};
  const auto write_body = [&](const std::vector<Value>& operands) -> Result<std::vector<Value>> {
    CLEAVE_TRY(std::vector<Value> out, importer.inlined(*loop.body, operands, c.context()));
    Builder b(importer.top(), importer.ops());
    const V next = b.add(operands[0].id, 1);
    if (!b.status().ok()) return Failure(b.status().failure());
    out.insert(out.begin(), importer.made(next, Element::i64));
    return out;
  };
  Values captured;
  if (c.has(0)) captured.push_back(limit.id);
  const std::string body_name = fresh_graph_name(c, "body"),
                    condition_name = fresh_graph_name(c, "condition");
  Subgraph body;
  for (int round = 0; round < 2; ++round) {
    CLEAVE_TRY(body, write_subgraph(c, body_name, own, captured, write_body));
  }
  const auto write_condition =
      [&](const std::vector<Value>& operands) -> Result<std::vector<Value>> {
    Builder b(importer.top(), importer.ops());
    V go = operands[1].id;
    if (c.has(0)) go = b.logical_and(go, b.lt(operands[0].id, importer.resolve(limit, b)));
    if (!b.status().ok()) return Failure(b.status().failure());
    return std::vector<Value>{importer.made(go, Element::boolean)};
  };
  CLEAVE_TRY(const Subgraph condition,
             write_subgraph(c, condition_name, own, captured, write_condition));
  Values operands;
  for (const Value& v : own) operands.push_back(v.id);
  operands.insert(operands.end(), captured.begin(), captured.end());
  const Values out = c.ops("while_loop", {CallOperand(std::move(operands))},
                           {{"condition", condition.graph}, {"body", body.graph}});
  for (size_t k = 2; k < out.size(); ++k) c.give(k - 2, out[k], own[k].element);
  return {};
}

Status loop(Call& c) {
  const Attribute* body = c.attribute("body");
  if (!body || !body->graph) return user_error("has no body");
  Loop l;
  l.body = body->graph.get();
  l.counted = c.has(0);
  for (size_t k = 2; k < c.count(); ++k) l.carried.push_back(c.value(k));
  if (l.body->outputs.size() < 1 + l.carried.size())
    return user_error("the body has {} results for {} carried values", l.body->outputs.size(),
                      l.carried.size());
  if (const auto m = c.known(0); m && m->numel() == 1)
    l.trips = m->floating() ? truncate_to(DType::i64, m->number(0)) : m->i[0];
  const std::optional<bool> on = c.has(1) ? known_truth(c, c.value(1)) : true;
  CLEAVE_TRY(const bool done, unrolled(c, l, on));
  if (done) return {};
  if (c.has(0)) c.importer().want(c.value(0));
  if (c.has(1)) c.importer().want(c.value(1));
  return while_loop(c, l);
}

// ---- Scan

struct Scan {
  const GraphProto* body = nullptr;
  size_t states = 0, inputs = 0;
  Ints axes, directions, out_axes, out_directions;
};

// Iterations over the values, states first; rows are stacked along their axes.
Result<std::vector<Value>> scanned(Call& c, const Scan& s, std::vector<Value> values) {
  Importer& importer = c.importer();
  std::vector<Value> state(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(s.states));
  std::optional<int64_t> length;
  Values scans;
  for (size_t k = 0; k < s.inputs; ++k) {
    const V v = importer.resolve(values[s.states + k], c.builder());
    if (!c.status().ok()) return Failure(c.status().failure());
    CLEAVE_TRY(const int64_t axis, c.axis(s.axes[k], c.rank(v)));
    const Dim n = c.shape(v)[static_cast<size_t>(axis)];
    if (!n.is_const()) return unsupported("a number of iterations that isn't known");
    if (length && *length != n.value())
      return user_error("scans of {} and {} iterations", *length, n.value());
    length = n.value();
    scans.push_back(v);
  }
  if (!length || *length > most_iterations)
    return unsupported("more than {} iterations", most_iterations);
  if (s.body->outputs.size() < s.states)
    return user_error("the body has {} results for {} states", s.body->outputs.size(), s.states);
  std::vector<std::vector<Value>> rows(s.body->outputs.size() - s.states);
  for (int64_t k = 0; k < *length; ++k) {
    std::vector<Value> inputs = state;
    for (size_t i = 0; i < s.inputs; ++i) {
      const V row = c.select(scans[i], s.axes[i], s.directions[i] != 0 ? *length - 1 - k : k);
      if (!row.valid()) return Failure(c.status().failure());
      inputs.push_back(importer.made(row, values[s.states + i].element));
    }
    CLEAVE_TRY(const std::vector<Value> out, importer.inlined(*s.body, inputs, c.context()));
    for (const Value& v : out)
      if (v.kind == Value::Kind::refused) return unsupported("its body isn't covered");
    for (size_t i = 0; i < s.states; ++i) state[i] = out[i];
    for (size_t r = 0; r < rows.size(); ++r) rows[r].push_back(out[s.states + r]);
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    if (r < s.out_directions.size() && s.out_directions[r] != 0) std::ranges::reverse(rows[r]);
    CLEAVE_TRY(Value v, stacked(c, rows[r], r < s.out_axes.size() ? s.out_axes[r] : 0));
    state.push_back(std::move(v));
  }
  return state;
}

Status scan(Call& c) {
  const Attribute* body = c.attribute("body");
  if (!body || !body->graph) return user_error("has no body");
  Scan s;
  s.body = body->graph.get();
  s.inputs =
      static_cast<size_t>(std::clamp(c.integer("num_scan_inputs"), int64_t{0}, int64_t{1} << 20));
  const size_t first = c.version() < 9 ? 1 : 0;  // sequence_lens
  if (c.count() < first + s.inputs || s.inputs == 0)
    return user_error("{} scans of {} operands", s.inputs, c.count());
  s.states = c.count() - first - s.inputs;
  std::vector<Value> values;
  for (size_t k = first; k < c.count(); ++k) values.push_back(c.value(k));
  s.axes = c.list("scan_input_axes", Ints(s.inputs, 0));
  s.directions =
      c.list(c.version() < 9 ? "directions" : "scan_input_directions", Ints(s.inputs, 0));
  s.out_axes = c.list("scan_output_axes");
  s.out_directions = c.list("scan_output_directions");
  if (s.axes.size() != s.inputs || s.directions.size() != s.inputs)
    return user_error("lists of another length than {} scans", s.inputs);
  if (c.version() >= 9) {
    CLEAVE_TRY(const std::vector<Value> out, scanned(c, s, std::move(values)));
    return give_all(c, out);
  }
  // Each member of a batch by itself.
  if (c.has(0)) return unsupported("lines of different lengths");
  const V sample = c.in(1);
  if (!sample.valid() || c.rank(sample) < 1 || !c.shape(sample)[0].is_const())
    return unsupported("a batch of a size that isn't known");
  const int64_t batch = c.shape(sample)[0].value();
  std::vector<std::vector<Value>> results;
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<Value> rows;
    for (const Value& v : values) {
      const V row = c.select(c.importer().resolve(v, c.builder()), 0, b);
      if (!row.valid()) return {};
      rows.push_back(c.importer().made(row, v.element));
    }
    CLEAVE_TRY(std::vector<Value> out, scanned(c, s, std::move(rows)));
    results.resize(out.size());
    for (size_t k = 0; k < out.size(); ++k) results[k].push_back(std::move(out[k]));
  }
  std::vector<Value> all;
  for (const auto& rows : results) {
    CLEAVE_TRY(Value v, stacked(c, rows, 0));
    all.push_back(std::move(v));
  }
  return give_all(c, all);
}

constexpr RuleEntry entries[] = {{"If", branch}, {"Loop", loop}, {"Scan", scan}};

}  // namespace

std::span<const RuleEntry> control_rules() { return entries; }

}  // namespace cleave::onnx
