#include "export/onnx/exporter.h"

#include "export/onnx/call.h"
#include "export/onnx/rules.h"
#include "ir/builder.h"
#include "ir/edit.h"

namespace cleave::to_onnx {
namespace {

constexpr int64_t most_graphs = int64_t{1} << 16;  // graphs that call each other twice grow fast

}  // namespace

Result<bool> Exporter::write_call(const Graph& g, NodeId n, Values& values) {
  const Node& node = g.node(n);
  const Rule rule = find_rule(node.op->name);
  if (!rule) {
    why_ = reason_without_rule(*node.op);
    return false;
  }
  model_.name_after(g.name(node.out(0)));
  const size_t mark = model_.mark();
  Call call(*this, g, n, [&values](ValueId v) { return values.at(v.v); });
  const Status written = rule(call);
  if (!written.ok()) {
    model_.roll_back(mark);
    if (written.failure().kind == ErrorKind::user) return written.failure();
    if (written.failure().kind == ErrorKind::bug)
      return Failure(written.failure()).within(node.op->name);
    why_ = written.failure().message;
    return false;
  }
  for (uint32_t k = 0; k < node.output_count; ++k) {
    V v = call.given(k);
    if (v.name.empty()) continue;
    const std::string now = model_.rename(mark, v.name, g.name(node.out(k)));
    call.renamed(v.name, now);
  }
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (!call.given(k).name.empty()) values[node.out(k).v] = call.given(k);
  return true;
}

Result<bool> Exporter::decompose(Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (!node.op->decompose.present()) return false;
  const size_t known = g.value_capacity();
  Builder b(g, ops_);
  b.insert_before(n);
  const std::vector<ValueId> parts = (*node.op->decompose)(b, g.view(n));
  if (!b.status().ok()) {
    if (b.status().failure().kind == ErrorKind::bug) return Failure(b.status().failure());
    why_ = b.status().failure().message;
    return false;
  }
  std::vector<std::string> names;
  for (uint32_t k = 0; k < node.output_count; ++k) {
    names.push_back(g.name(node.out(k)));
    if (parts[k].valid()) g.replace_uses(node.out(k), parts[k]);
  }
  g.erase(n);
  for (size_t k = 0; k < names.size(); ++k)  // a new value keeps the name if it is free
    if (parts[k].valid() && parts[k].v >= known && !g.find(names[k]).valid())
      CLEAVE_CHECK(g.rename(parts[k], names[k]));
  return true;
}

Result<Vs> Exporter::write(const Graph& from, const Vs& operands) {
  if (++graphs_ > most_graphs)
    return user_error("more than {} graphs would be written, each as often as it is called",
                      most_graphs);
  Graph g = from;
  eliminate_dead_code(g);
  Values values;
  size_t next = 0;
  for (const Placeholder& p : g.placeholders())
    values[p.value.v] =
        p.role == Role::symint ? sizes_.symbol(g.name(p.value)) : operands.at(next++);
  for (NodeId n = g.first_node(); n.valid();) {
    CLEAVE_TRY(const bool written, write_call(g, n, values));
    if (written) {
      n = g.next_node(n);
      continue;
    }
    const NodeId before = g.prev_node(n);
    const std::string why = why_;
    CLEAVE_TRY(const bool simpler, decompose(g, n));
    if (simpler) {
      n = before.valid() ? g.next_node(before) : g.first_node();
      continue;
    }
    const Node& node = g.node(n);
    refuse(node.op->name + ": " + why);
    for (uint32_t k = 0; k < node.output_count; ++k)
      values[node.out(k).v] = {"refused", g.type(node.out(k)).dtype};
    n = g.next_node(n);
  }
  Vs out;
  for (const Return& r : g.returns()) out.push_back(values.at(r.value.v));
  return out;
}

}  // namespace cleave::to_onnx
