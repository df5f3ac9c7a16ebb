#include "ir/rebuild.h"

#include <map>

#include "ir/strides.h"
#include "ir/text.h"

namespace cleave {

std::vector<Dim> Rebuilding::strides(const std::vector<Dim>& old, const Shape& /*shape*/) {
  std::vector<Dim> out;
  for (const Dim& d : old) out.push_back(size(d));
  return out;
}

namespace {

// Subgraphs that are made already, so that a shared one stays shared.
using Made = std::map<GraphRef, GraphRef>;

class Rebuilder {
 public:
  Rebuilder(const Graph& from, Rebuilding& how, Made& made)
      : from_(from), how_(how), made_(made), to_(from.name()), map_(from.value_capacity()) {}

  Result<Graph> run() {
    for (size_t i = 1; i < from_.files().size(); ++i) to_.file_id(from_.files()[i]);
    for (const Placeholder& p : from_.placeholders()) CLEAVE_CHECK(add_placeholder(p));
    for (NodeId n = from_.first_node(); n.valid(); n = from_.next_node(n))
      CLEAVE_CHECK(add_node(n));
    for (Return r : from_.returns()) {
      r.value = map_[r.value.v];
      if (r.target.valid()) r.target = map_[r.target.v];
      if (r.kind == ReturnKind::update)
        CLEAVE_CHECK(check_written(to_.name(r.target), to_.type(r.target)));
      to_.add_return(r);
    }
    return std::move(to_);
  }

 private:
  AttrValue attr(const ArgDef& arg, const AttrValue& v) {
    if (const Dim* d = v.get<Dim>()) return AttrValue(how_.number(arg, *d));
    if (const AttrList* list = v.get<AttrList>()) {
      AttrList out;
      for (const AttrValue& item : *list) out.push_back(attr(arg, item));
      return AttrValue(std::move(out));
    }
    return v;
  }

  Result<GraphRef> subgraph(const GraphRef& g) {
    if (const auto known = made_.find(g); known != made_.end()) return known->second;
    if (g == nullptr || how_.keeps(*g)) return made_[g] = g;
    CLEAVE_TRY(Graph made, Rebuilder(*g, how_, made_).run());
    made.set_name(how_.name(*g));
    return made_[g] = std::make_shared<const Graph>(std::move(made));
  }

  Status add_placeholder(const Placeholder& p) {
    const std::string& name = from_.name(p.value);
    Type type = from_.type(p.value);
    SymInfo sym = p.sym;
    if (p.role == Role::symint) { CLEAVE_TRY(sym, how_.symint(name, sym)); }
    if (p.role != Role::symint) type.device = how_.device(type.device);
    if (p.role != Role::rng_state) {  // always i64[2]
      for (size_t d = 0; d < type.shape.size(); ++d)
        type.shape[d] = how_.size_of(from_, from_.value(p.value).index, d, type.shape[d]);
      if (type.strides) type.strides = how_.strides(*type.strides, type.shape);
    }
    CLEAVE_TRY(map_[p.value.v], to_.add_placeholder(p.role, name, type, p.wants_grad, sym));
    return {};
  }

  Status add_node(NodeId n) {
    const Node& node = from_.node(n);
    NodeSpec spec;
    spec.op = node.op;
    for (ValueId v : node.inputs) spec.inputs.push_back(v.valid() ? map_[v.v] : v);
    spec.list_size = node.list_size;
    for (const auto& [arg, value] : node.attrs.given()) {
      if (const GraphRef* sub = value.get<GraphRef>()) {
        CLEAVE_TRY(GraphRef made, subgraph(*sub));
        spec.attrs.set(arg, AttrValue(std::move(made)));
      } else {
        spec.attrs.set(arg, attr(node.op->schema.args[arg], value));
      }
    }
    for (uint32_t k = 0; k < node.output_count; ++k) spec.names.push_back(from_.name(node.out(k)));
    spec.loc = node.loc;
    spec.tag = node.tag;
    how_.call(spec);
    auto made = to_.add_node(std::move(spec));
    if (!made.ok()) {
      Failure f = std::move(made).failure();
      f.message += "\n  " + print_node(from_, n);
      return f;
    }
    if (to_.node(*made).output_count != node.output_count)
      return user_error("{}: {} results with these sizes, {} before\n  {}", node.op->name,
                        to_.node(*made).output_count, node.output_count, print_node(from_, n));
    for (uint32_t k = 0; k < node.output_count; ++k)
      CLEAVE_CHECK(add_result(node.out(k), to_.node(*made).out(k)));
    return {};
  }

  Status add_result(ValueId old, ValueId made) {
    CLEAVE_TRY(made, how_.result(to_, made, from_.type(old)));
    map_[old.v] = made;
    const std::optional<std::vector<Dim>>& strides = from_.type(old).strides;
    if (!strides) return {};
    to_.set_strides(made, how_.strides(*strides, to_.type(made).shape));
    CLEAVE_CHECK(check_type_limits(to_.type(made)));
    return check_written(to_.name(made), to_.type(made));
  }

  const Graph& from_;
  Rebuilding& how_;
  Made& made_;
  Graph to_;
  std::vector<ValueId> map_;  // by value id of from_
};

}  // namespace

Result<Graph> rebuilt(const Graph& g, Rebuilding& how) {
  Made made;
  return Rebuilder(g, how, made).run();
}

}  // namespace cleave
