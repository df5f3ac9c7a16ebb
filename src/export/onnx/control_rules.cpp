// Calls with graphs. A branch reads its operands by their names; a loop carries values as operands
// of its body.
#include "export/onnx/export_onnx.h"
#include "export/onnx/rules.h"
#include "ir/subgraph.h"

namespace cleave::to_onnx {
namespace {

constexpr int64_t most_pieces = 4096;  // of by_rows

Vs items(Call& c) {
  Vs out;
  for (int k = 0; k < c.op().list_size(); ++k) out.push_back(c.item(k));
  return out;
}

void give_all(Call& c, const Vs& values) {
  for (size_t k = 0; k < values.size(); ++k) c.give(static_cast<int>(k), values[k]);
}

// Outputs of a body are made in it, each under a name of its own.
std::vector<onnx::ValueInfo> outputs_of(Call& c, const Vs& values, const Types& types) {
  std::vector<onnx::ValueInfo> out;
  for (size_t k = 0; k < values.size(); ++k) {
    const V v = c.model().node("Identity", {values[k]}, values[k].dtype);
    out.push_back(value_info(v.name, types[k]));
  }
  return out;
}

// A flag of one element as bool[].
V flag(Call& c, const V& v, const Type& t) { return t.rank() == 0 ? v : c.reshape(v, {}); }

Result<onnx::GraphProto> branch(Call& c, const char* attr) {
  const GraphRef g = c.op().graph_attr(attr);
  c.model().begin_body();
  const Result<Vs> values = c.exporter().write(*g, items(c));
  onnx::GraphProto out;
  out.name = c.model().fresh(attr);
  if (values.ok()) out.outputs = outputs_of(c, *values, result_types(*g));
  out.nodes = c.model().end_body();
  if (!values.ok()) return values.failure();
  return out;
}

Status cond(Call& c) {
  const V pred = flag(c, c.in(0), c.op().in_type(0));
  CLEAVE_TRY(onnx::GraphProto then, branch(c, "then"));
  CLEAVE_TRY(onnx::GraphProto otherwise, branch(c, "otherwise"));
  std::vector<DType> types;
  for (int k = 0; k < c.op().out_count(); ++k) types.push_back(c.result(k).dtype);
  give_all(c, c.model().nodes("If", {pred}, types,
                              {graph("then_branch", std::move(then)),
                               graph("else_branch", std::move(otherwise))}));
  return {};
}

Result<V> holds(Call& c, const Vs& operands) {
  const GraphRef g = c.op().graph_attr("condition");
  CLEAVE_TRY(const Vs values, c.exporter().write(*g, operands));
  return flag(c, values[0], result_types(*g)[0]);
}

// The condition is evaluated before the loop and at the end of each iteration.
Status while_loop(Call& c) {
  const Vs operands = items(c);
  const auto carried = static_cast<size_t>(c.op().out_count());
  const GraphRef body = c.op().graph_attr("body");
  const Types types = result_types(*body);
  CLEAVE_TRY(const V first, holds(c, operands));
  onnx::GraphProto g;
  g.name = c.model().fresh("body");
  const auto input = [&](const std::string& stem, const Type& t) {
    const V v{c.model().fresh(stem), t.dtype};
    g.inputs.push_back(value_info(v.name, t));
    return v;
  };
  input("iteration", Type(DType::i64, {}));
  input("condition", Type(DType::boolean, {}));
  Vs state = operands;
  for (size_t k = 0; k < carried; ++k) state[k] = input("carried", types[k]);
  c.model().begin_body();
  const auto write = [&]() -> Status {
    CLEAVE_TRY(const Vs next, c.exporter().write(*body, state));
    for (size_t k = 0; k < carried; ++k) state[k] = next[k];
    CLEAVE_TRY(const V on, holds(c, state));
    Vs results = {on};
    results.insert(results.end(), next.begin(), next.end());
    Types all = {Type(DType::boolean, {})};
    all.insert(all.end(), types.begin(), types.end());
    g.outputs = outputs_of(c, results, all);
    return {};
  };
  const Status written = write();
  g.nodes = c.model().end_body();
  CLEAVE_CHECK(written);
  std::vector<DType> dtypes;
  Vs inputs = {V{}, first};
  for (size_t k = 0; k < carried; ++k) {
    dtypes.push_back(types[k].dtype);
    inputs.push_back(operands[k]);
  }
  give_all(c, c.model().nodes("Loop", inputs, dtypes, {graph("body", std::move(g))}));
  return {};
}

// ---- graphs that take the place of their call

Status inlined(Call& c, const char* attr) {
  CLEAVE_TRY(const Vs values, c.exporter().write(*c.op().graph_attr(attr), items(c)));
  give_all(c, values);
  return {};
}
Status call(Call& c) { return inlined(c, "graph"); }
Status fused(Call& c) { return inlined(c, "body"); }

// The pieces one after the other, joined along dim 0.
Status by_rows(Call& c) {
  const Ints split = c.op().ints_attr("split");
  const int64_t pieces = c.op().int_attr("pieces");
  if (pieces > most_pieces) return c.refused("more than {} pieces", most_pieces);
  std::vector<Vs> results(static_cast<size_t>(c.op().out_count()));
  for (int64_t p = 0; p < pieces; ++p) {
    Vs operands = items(c);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (split[k] == 0) continue;
      const int64_t rows = c.op().list_type(static_cast<int>(k)).shape[0].value() / pieces;
      operands[k] = c.slice(operands[k], 0, Dim(p * rows), Dim((p + 1) * rows));
    }
    CLEAVE_TRY(const Vs out, c.exporter().write(*c.op().graph_attr("body"), operands));
    for (size_t k = 0; k < out.size(); ++k) results[k].push_back(out[k]);
  }
  for (size_t k = 0; k < results.size(); ++k) c.give(static_cast<int>(k), c.concat(results[k], 0));
  return {};
}

constexpr RuleEntry rules[] = {{"cond", cond},
                               {"while_loop", while_loop},
                               {"call", call},
                               {"fused", fused},
                               {"by_rows", by_rows}};

}  // namespace

std::span<const RuleEntry> control_rules() { return rules; }

}  // namespace cleave::to_onnx
