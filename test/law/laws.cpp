#include "test/law/laws.h"

#include "interp/interpret.h"
#include "ir/builder.h"
#include "ir/text.h"
#include "test/sample/sample_call.h"

namespace cleave::law {
namespace {

std::vector<const Array*> pointers(const Arrays& arrays) {
  std::vector<const Array*> out;
  for (const Array& a : arrays) out.push_back(&a);
  return out;
}

Failure at_sample(Failure f, const OpDef& op, size_t index) {
  return std::move(f).within(fmt::format("{}, sample {}", op.name, index));
}

template <class F>
Status each_sample(const OpDef& op, F check) {
  const Samples samples = op.samples();
  for (size_t k = 0; k < samples.size(); ++k)
    if (Status s = check(samples[k], k); !s.ok()) return at_sample(std::move(s).failure(), op, k);
  return {};
}

template <class Rule>
Status check_slot(const OpDef& op, const Slot<Rule>& slot, const char* name) {
  if (slot.present() || !slot.reason().empty()) return {};
  return user_error("{}: {} is absent without a reason", op.name, name);
}

// Of all operands and results, each once.
int64_t bytes_of(const Graph& g, const Node& node) {
  std::vector<ValueId> values(node.inputs.begin(), node.inputs.end());
  for (uint32_t r = 0; r < node.output_count; ++r) values.push_back(node.out(r));
  int64_t bytes = 0;
  for (ValueId v : values)
    if (v.valid() && !g.type(v).is_none)
      bytes += numel_of(static_shape(g.type(v))) * size_of(g.type(v).dtype);
  return bytes;
}

bool has_subgraph(const OpDef& op) {
  const auto is_graph = [](const ArgDef& a) { return a.kind == ArgKind::graph; };
  return std::any_of(op.schema.args.begin(), op.schema.args.end(), is_graph);
}

}  // namespace

std::vector<std::string> op_names(const OpRegistry& ops) {
  std::vector<std::string> out;
  for (const auto& op : ops.all()) out.push_back(op->name);
  return out;
}

Status entry_law(const OpDef& op) {
  if (op.summary.empty()) return user_error("{}: no summary", op.name);
  if (op.source.empty()) return user_error("{}: no source", op.name);
  if (op.samples().empty()) return user_error("{}: no samples", op.name);
  if (!op.infer.present()) return user_error("{}: infer is absent", op.name);
  CLEAVE_CHECK(check_slot(op, op.reference, "reference"));
  CLEAVE_CHECK(check_slot(op, op.decompose, "decompose"));
  CLEAVE_CHECK(check_slot(op, op.grad, "grad"));
  CLEAVE_CHECK(check_slot(op, op.lower, "lower"));
  CLEAVE_CHECK(check_slot(op, op.cost, "cost"));
  return each_sample(op, [&](const Sample& s, size_t k) -> Status {
    Graph g;
    Arrays inputs;
    CLEAVE_TRY(SampleCall call, add_sample(g, op, s, k, Floats::own, "s", inputs));
    if (!op.cost.present()) return {};
    const Cost cost = (*op.cost)(g.view(call.node));
    if (cost.flops < 0 || cost.bytes < 0) return user_error("its cost is negative");
    if (!is_static(s) || has_subgraph(op)) return {};
    if (const int64_t bytes = bytes_of(g, g.node(call.node));
        cost.bytes != 0 && cost.bytes != bytes)
      return user_error("it moves {} bytes, expected {}, or none", cost.bytes, bytes);
    return {};
  });
}

Status infer_law(const OpDef& op) {
  if (!op.reference.present()) return {};
  return each_sample(op, [&](const Sample& s, size_t k) -> Status {
    Graph g;
    Arrays inputs;
    CLEAVE_TRY(SampleCall call, add_sample(g, op, s, k, Floats::own, "s", inputs));
    const Node& node = g.node(call.node);
    for (uint32_t r = 0; r < node.output_count; ++r)
      if (!g.type(node.out(r)).is_none) g.add_return({node.out(r), ReturnKind::result, {}});
    auto results = interpret(g, pointers(inputs));
    if (!results.ok()) return std::move(results).failure();
    return {};
  });
}

namespace {

bool has_narrow_float(const Graph& g, NodeId n) {
  const auto narrow = [](const Type& t) {
    return !t.is_none && (t.dtype == DType::bf16 || t.dtype == DType::f16);
  };
  for (ValueId v : g.node(n).inputs)
    if (v.valid() && narrow(g.type(v))) return true;
  const Types outs = g.output_types(n);
  return std::any_of(outs.begin(), outs.end(), narrow);
}

Status check_decompose(const OpRegistry& ops, const OpDef& op, const Sample& s, size_t k) {
  Graph g;
  Arrays inputs;
  CLEAVE_TRY(SampleCall call, add_sample(g, op, s, k, Floats::own, "s", inputs));
  Builder b(g, ops);
  const Values values = (*op.decompose)(b, g.view(call.node));
  CLEAVE_CHECK(b.status());
  const Node& node = g.node(call.node);
  if (values.size() != node.output_count)
    return user_error("decompose gives {} values for {} results", values.size(), node.output_count);
  std::vector<uint32_t> compared;
  for (uint32_t r = 0; r < node.output_count; ++r) {
    if (g.type(node.out(r)).is_none || values[r].is_none()) continue;
    g.add_return({node.out(r), ReturnKind::result, {}});
    g.add_return({values[r], ReturnKind::result, {}});
    compared.push_back(r);
  }
  CLEAVE_TRY(Arrays results, interpret(g, pointers(inputs)));
  const double tolerance = has_narrow_float(g, call.node) ? 2e-2 : 1e-12;
  for (size_t c = 0; c < compared.size(); ++c)
    if (std::string why = difference(results[2 * c + 1], results[2 * c], tolerance); !why.empty())
      return user_error("decomposed result {} {}", compared[c], why);
  return {};
}

}  // namespace

Status decompose_law(const OpRegistry& ops, const OpDef& op) {
  if (!op.decompose.present() || !op.reference.present()) return {};
  return each_sample(op, [&](const Sample& s, size_t k) { return check_decompose(ops, op, s, k); });
}

Status text_law(const OpRegistry& ops, const OpDef& op) {
  return each_sample(op, [&](const Sample& s, size_t k) -> Status {
    Program p;
    Arrays inputs;
    CLEAVE_TRY(SampleCall call, add_sample(p.main, op, s, k, Floats::own, "s", inputs));
    const Node& node = p.main.node(call.node);
    for (uint32_t r = 0; r < node.output_count; ++r)
      if (!p.main.type(node.out(r)).is_none)
        p.main.add_return({node.out(r), ReturnKind::result, {}});
    CLEAVE_CHECK(verify(p.main));
    const std::string text = print(p);
    auto again = parse(text, op.name, ops);
    if (!again.ok())
      return user_error("its text is not read back: {}\n{}", again.failure().message, text);
    CLEAVE_CHECK(verify(*again));
    if (std::string second = print(*again); second != text)
      return user_error("its text is\n{}read back and printed\n{}", text, second);
    return {};
  });
}

Status reject_law(const OpDef& op) {
  const Rejects rejects = op.rejects();
  for (size_t k = 0; k < rejects.size(); ++k) {
    const Reject& reject = rejects[k];
    const std::string where = fmt::format("{}, reject {} ({})", op.name, k, reject.rule);
    Graph g;
    Arrays inputs;
    auto call = add_sample(g, op, reject.call, k, Floats::own, "s", inputs);
    Failure got;
    if (!call.ok()) {
      got = std::move(call).failure();
    } else {
      if (!op.reference.present()) return user_error("{}: is accepted", where);
      std::vector<const Array*> operands;
      size_t next = 0;
      for (ValueId v : g.node(call->node).inputs)
        operands.push_back(v.valid() ? &inputs[next++] : nullptr);
      auto results = (*op.reference)(RunView(g.view(call->node)), operands);
      if (results.ok()) return user_error("{}: is accepted", where);
      got = std::move(results).failure();
    }
    if (got.kind == ErrorKind::bug)
      return user_error("{}: fails with a bug: {}", where, got.message);
    if (got.message != reject.message)
      return user_error("{}: fails with\n  {}\nexpected\n  {}", where, got.message, reject.message);
  }
  return {};
}

}  // namespace cleave::law
