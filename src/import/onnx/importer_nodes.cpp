// Nodes in order, each by its rule, those of functions and subgraphs in their place.
#include <algorithm>

#include "import/onnx/call.h"
#include "import/onnx/importer.h"
#include "import/onnx/names.h"
#include "import/onnx/sizes.h"

namespace cleave::onnx {
namespace {

constexpr int deepest_body = 32;          // of functions and subgraphs
constexpr int64_t most_nodes = 200'000;   // run, those of bodies each time
constexpr size_t most_calls = 2'000'000;  // of the graph that is written

}  // namespace

const FunctionProto* Importer::function(const NodeProto& node) const {
  for (const FunctionProto& f : model_.functions)
    if (f.name == node.op && f.domain == node.domain && f.overload == node.overload) return &f;
  return nullptr;
}

Status Importer::call_function(const FunctionProto& f, const NodeProto& node,
                               const Context& context) {
  std::map<std::string, Attribute> attributes;
  for (const Attribute& a : f.defaults) attributes[a.name] = a;
  for (const Attribute& a : node.attributes) {
    if (a.reference.empty()) {
      attributes[a.name] = a;
    } else if (context.attributes) {
      if (const auto bound = context.attributes->find(a.reference);
          bound != context.attributes->end()) {
        attributes[a.name] = bound->second;
        attributes[a.name].name = a.name;
      }
    }
  }
  Scope scope;
  for (size_t k = 0; k < f.inputs.size(); ++k)
    scope[f.inputs[k]] = k < node.inputs.size() ? find(node.inputs[k]) : Value{};
  const Context inner{&f.opsets, &attributes, context.depth + 1};
  scopes_.push_back({std::move(scope)});
  Status done = run_nodes(f.nodes, inner);
  std::vector<Value> results;
  for (const std::string& name : f.outputs) results.push_back(find(name));
  scopes_.pop_back();
  CLEAVE_CHECK(std::move(done));
  for (size_t k = 0; k < node.outputs.size() && k < results.size(); ++k)
    CLEAVE_CHECK(define(node.outputs[k], std::move(results[k])));
  return {};
}

Result<std::vector<Value>> Importer::inlined(const GraphProto& g, const std::vector<Value>& inputs,
                                             const Context& context) {
  if (inputs.size() != g.inputs.size())
    return user_error("the graph \"{}\" takes {} inputs, {} are given", g.name, g.inputs.size(),
                      inputs.size());
  Scope scope;
  for (size_t k = 0; k < inputs.size(); ++k) scope[g.inputs[k].name] = inputs[k];
  Context inner = context;
  ++inner.depth;
  scopes_.back().push_back(std::move(scope));
  Status done = add_initializers(g);
  if (done.ok()) done = run_nodes(g.nodes, inner);
  std::vector<Value> results;
  for (const ValueInfo& info : g.outputs) {
    results.push_back(find(info.name));
    if (done.ok() && !results.back().present())
      done = user_error("the output \"{}\" of the graph \"{}\" is not defined", info.name, g.name);
  }
  scopes_.back().pop_back();
  CLEAVE_CHECK(std::move(done));
  return results;
}

Status Importer::run_nodes(const std::vector<NodeProto>& nodes, const Context& context) {
  if (context.depth > deepest_body)
    return user_error("functions and subgraphs are nested more than {} deep", deepest_body);
  for (const NodeProto& node : nodes) {
    if (++nodes_run_ > most_nodes)
      return unsupported("more than {} nodes with those of loops and functions", most_nodes);
    if (top().node_count() > most_calls)
      return unsupported("more than {} calls with those of loops and functions", most_calls);
    const std::string name =
        node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
    if (Status s = run_node(node, context); !s.ok())
      return std::move(s).failure().within(fmt::format("{} \"{}\"", node.op, name));
  }
  return {};
}

Status Importer::run_node(const NodeProto& node, const Context& context) {
  if (node.outputs.empty()) return user_error("has no result");
  std::vector<Value> inputs;
  bool from_refused = false;
  for (const std::string& name : node.inputs) {
    inputs.push_back(find(name));
    const auto kind = inputs.back().kind;
    from_refused = from_refused || kind == Value::Kind::refused ||
                   std::ranges::any_of(inputs.back().items, [](const Value& item) {
                     return item.kind == Value::Kind::refused;
                   });
    // A name that is missing in a function's body may be an input that its caller left out.
    if (!inputs.back().present() && !name.empty() && !context.attributes)
      return user_error("its input \"{}\" is not defined by what stands before it", name);
  }
  const auto refused_results = [&]() -> Status {
    Value v;
    v.kind = Value::Kind::refused;
    for (const std::string& name : node.outputs) CLEAVE_CHECK(define(name, v));
    return {};
  };
  const FunctionProto* f = function(node);
  const Rule rule = f ? nullptr : find_rule(node.domain, node.op);
  const std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
  if (!f && !rule) {
    refuse(op, "no rule for it");
    return refused_results();
  }
  if (from_refused) return refused_results();
  if (f) return call_function(*f, node, context);
  Call call(*this, node, context, std::move(inputs));
  const size_t frame = frames_.size() - 1;
  call.builder().set_loc({frame == 0 ? file_ : 0, static_cast<uint32_t>(nodes_run_)});
  Status done;
  const Result<bool> folded = fold_sizes(call);
  if (!folded.ok()) done = folded.failure();
  if (folded.ok() && !*folded) done = rule(call);
  if (done.ok() && !call.status().ok()) done = call.status().failure();
  if (done.ok())
    for (size_t k = 0; k < node.outputs.size(); ++k)
      if (call.wants(k) && !call.given()[k].present())
        done = unsupported("its result {} ({}) isn't covered", k, node.outputs[k]);
  if (!done.ok()) {
    if (done.failure().kind == ErrorKind::bug) return done;
    refuse(op, done.failure().message);
    return refused_results();
  }
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const Value& v = call.given()[k];
    if (v.id.valid() && v.frame == 0 && frames_[0].graph->value(v.id).def.valid()) {
      const std::string own = plain_name(node.outputs[k]);
      if (!own.empty() && !frames_[0].graph->find(own).valid())
        CLEAVE_CHECK(frames_[0].graph->rename(v.id, own));
    }
    CLEAVE_CHECK(define(node.outputs[k], v));
  }
  return {};
}

}  // namespace cleave::onnx
