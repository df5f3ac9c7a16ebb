#include "trace/recording.h"

#include <algorithm>
#include <set>

#include "ir/lex.h"
#include "trace/custom_op.h"
#include "trace/tracing.h"

namespace cleave::trace {
namespace {

Role role_of(VariableKind kind) {
  switch (kind) {
    case VariableKind::parameter: return Role::param;
    case VariableKind::buffer:
    case VariableKind::state: return Role::buffer;
    case VariableKind::constant: return Role::constant;
    case VariableKind::random: return Role::rng_state;
  }
  return Role::input;
}

std::string base_name(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// "  in mm(%a: f32[2,3], %b: f32[4,5])": the operands of a failed call.
std::string call_text(const Graph& g, const std::string& op,
                      const std::vector<CallOperand>& operands) {
  const auto value_text = [&](ValueId v) {
    return v.valid() ? fmt::format("%{}: {}", g.name(v), g.type(v).text()) : std::string("none");
  };
  std::string text;
  for (const CallOperand& o : operands) {
    if (!text.empty()) text += ", ";
    if (!o.number.is_none()) {
      text += o.number.text();
    } else if (o.is_list) {
      std::vector<std::string> items;
      for (const ValueId v : o.values) items.push_back(value_text(v));
      text += fmt::format("[{}]", fmt::join(items, ", "));
    } else {
      text += value_text(o.values.empty() ? ValueId::none() : o.values[0]);
    }
  }
  return fmt::format("\n  in {}({})", op, text);
}

// The module whose parameter or buffer an operand is, for modules that don't say where they are.
std::string owner_note(const Graph& g, const std::vector<CallOperand>& operands) {
  for (const CallOperand& o : operands)
    for (const ValueId v : o.values) {
      const Placeholder* p = v.valid() ? g.placeholder_of(v) : nullptr;
      if (p == nullptr || (p->role != Role::param && p->role != Role::buffer)) continue;
      const size_t dot = g.name(v).rfind('.');
      if (dot != std::string::npos)
        return fmt::format("\n  in module `{}`", g.name(v).substr(0, dot));
    }
  return "";
}

}  // namespace

Status check_name(const std::string& name) {
  if (is_name(name)) return {};
  return user_error("the name `{}` is empty, too long, or holds more than A-Za-z0-9_.-/", name);
}

std::string text_of(Location at) { return fmt::format("{}:{}", at.file_name(), at.line()); }

void throw_at(Location at, Failure failure) {
  failure.message += module_note() + sizes_note();
  if (*at.file_name() == '\0') throw_failure(failure);
  throw_failure(std::move(failure).within(text_of(at)));
}

RecordingPtr Recording::program(const OpRegistry& ops, Mode mode, const std::string& what,
                                bool names_foreign) {
  RecordingPtr r(new Recording);
  r->kind_ = Kind::program;
  r->program_ops_ = ops;
  r->ops_ = &r->program_ops_;
  r->mode_ = mode;
  r->what_ = what;
  r->names_foreign_ = names_foreign;
  return r;
}

RecordingPtr Recording::free() {
  RecordingPtr r(new Recording);
  r->ops_ = &core_registry();
  r->what_ = "values outside of a program";
  return r;
}

RecordingPtr Recording::borrowed(Builder& builder) {
  RecordingPtr r(new Recording);
  r->kind_ = Kind::borrowed;
  r->builder_ = &builder;
  r->what_ = "a rule";
  return r;
}

RecordingPtr Recording::subgraph(const RecordingPtr& parent, const std::string& name,
                                 const std::string& what, Location at) {
  if (parent->is_free())
    refuse(at, "{}: its operands belong to no program yet; give one of the program's tensors",
           what);
  if (parent->kind_ == Kind::borrowed) refuse(at, "{}: a rule of an operator can't use it", what);
  RecordingPtr r(new Recording);
  r->kind_ = Kind::subgraph;
  r->parent_ = parent;
  r->ops_ = parent->ops_;
  r->mode_ = parent->mode_;
  r->what_ = what;
  r->own_graph_.set_name(name);
  parent->inner_ = r.get();
  return r;
}

RecordingPtr Recording::innermost() {
  return inner_ != nullptr ? inner_->innermost() : shared_from_this();
}

bool Recording::is_inside(const Recording& outer) const {
  for (const Recording* r = parent_.get(); r != nullptr; r = r->parent_.get())
    if (r == &outer) return true;
  return false;
}

ValueId Recording::capture(ValueId outer) {
  if (const auto known = captures_.find(outer); known != captures_.end()) return known->second;
  const Graph& g = parent_->graph();
  const Placeholder* p = g.placeholder_of(outer);
  const Role role = p && p->role == Role::rng_state ? Role::rng_state : Role::input;
  Type type(g.type(outer).dtype, g.type(outer).shape);
  type.device = g.type(outer).device;
  const ValueId inner = value_or_throw(
      own_graph_.add_placeholder(role, own_graph_.fresh_name(g.name(outer)), std::move(type)));
  captured_.push_back(outer);
  return captures_[outer] = inner;
}

std::string Recording::subgraph_name(const std::string& stem) {
  if (parent_) return parent_->subgraph_name(stem);
  const int number = subgraph_names_[stem]++;
  return number == 0 ? stem : fmt::format("{}_{}", stem, number);
}

void Recording::abandon() {
  open_ = false;
  if (parent_ && parent_->inner_ == this) parent_->inner_ = nullptr;
}

Graph Recording::close() {
  abandon();
  return std::move(own_graph_);
}

ValueId Recording::add_input(const std::string& name, Type type, Role role, Location at) {
  value_or_throw_at(at, check_name(name));
  return value_or_throw_at(at, graph().add_placeholder(role, name, std::move(type)));
}

ValueId Recording::declare(const Variable& v, const std::string& name) {
  const VariableState* state = Access::state(v).get();
  if (const auto known = placeholders_.find(state); known != placeholders_.end())
    return known->second;
  if (v.kind() == VariableKind::random && (v.dtype() != DType::i64 || v.shape() != Sizes{2}))
    throw_failure(user_error("{}: %{} holds the state of random numbers: got {}, expected i64[2]",
                             what_, name, Access::host(v).type_text()));
  const Type type(v.dtype(), Shape(v.shape().begin(), v.shape().end()));
  const ValueId id = add_input(name, type, role_of(v.kind()));
  placeholders_.emplace(state, id);
  bound_.push_back({id, v});
  return id;
}

ValueId Recording::leaf(const Variable& v, Location at) {
  if (kind_ == Kind::subgraph) return capture(parent_->leaf(v, at));
  const auto known = placeholders_.find(Access::state(v).get());
  if (known != placeholders_.end()) return known->second;
  if (kind_ == Kind::borrowed)
    refuse(at, "{}: %{} is a Variable, which a rule can't read", what_, v.name());
  if (kind_ == Kind::program && !names_foreign_ && v.kind() != VariableKind::constant)
    refuse(at,
           "{}: {} `{}`, {}, is used, but the model given to {} doesn't hold it; register it "
           "in its module (Module::add_module, add_parameter, add_buffer){}",
           what_, v.kind() == VariableKind::buffer ? "buffer" : "parameter", v.name(),
           Access::host(v).type_text(), what_,
           mode_ == Mode::training ? ", or give the module that holds it in TrainOptions::frozen"
                                   : "");
  return declare(v, graph().fresh_name(v.name()));
}

ValueId Recording::rng() {
  if (kind_ != Kind::subgraph) return declare(rng_, "rng");
  const ValueId state = capture(parent_->rng());
  if (!counter_.valid()) return state;
  if (!folded_.valid()) {
    Builder b(own_graph_, *ops_);
    folded_ = b.call1("rng_fold", {state, counter_}, {{"stream", next_stream()}});
    value_or_throw(b.status());
  }
  return folded_;
}

void Recording::update(const Variable& v, ValueId next) {
  const ValueId target = placeholders_.at(Access::state(v).get());
  update(target, next);
  std::ranges::find(updates_, target, &Update::target)->variable = v;
}

void Recording::update(ValueId target, ValueId next) {
  const Type &got = graph().type(next), &expected = graph().type(target);
  if (got.dtype != expected.dtype || got.shape != expected.shape || got.device != expected.device)
    throw_failure(user_error("{}: update of %{}: got {}, expected {}", what_, graph().name(target),
                             got.text(), expected.text()));
  const auto known = std::ranges::find(updates_, target, &Update::target);
  if (known != updates_.end())
    known->next = next;
  else
    updates_.push_back({target, next, {}});
}

int64_t Recording::begin_region() {
  if (region_depth_++ == 0) ++region_;
  return region_;
}

SourceLoc Recording::loc(Location at) {
  const char* const function = tracing().function;
  const std::string file = base_name(at.file_name());
  return {graph().file_id(function != nullptr ? fmt::format("{} at {}", function, file) : file),
          at.line()};
}

std::string Recording::module_path(const void* module) const {
  const auto known = modules_.find(module);
  return known == modules_.end() ? "" : known->second;
}

void Recording::warn(const std::string& code, const void* subject, const std::string& text) {
  if (warned_.emplace(code, subject).second) warnings_.push_back({code, text});
}

ValueId Recording::value_of(const Tensor& t, Location at) {
  if (!t.defined()) return ValueId::none();
  if (Access::leaf(t).defined()) return leaf(Access::leaf(t), at);
  const RecordingPtr& from = Access::recording(t);
  if (from.get() == this) return Access::value(t);
  if (kind_ == Kind::subgraph && is_inside(*from)) return capture(parent_->value_of(t, at));
  if (!from->is_free())
    refuse(at, "a tensor of {} is used in {}; give it as an input or a result instead",
           from->what(), what_);
  return copied(t, at);
}

// Copies the nodes that a value of a free recording depends on, in their order there.
ValueId Recording::copied(const Tensor& t, Location at) {
  const RecordingPtr& from = Access::recording(t);
  Copies& copies = copies_[from];
  const Graph& g = from->graph();
  std::vector<ValueId> wanted{Access::value(t)};
  std::set<NodeId> nodes;
  while (!wanted.empty()) {
    const ValueId v = wanted.back();
    wanted.pop_back();
    const NodeId n = g.value(v).def;
    if (copies.contains(v.v) || (n.valid() && nodes.contains(n))) continue;
    if (!n.valid()) {
      for (const Bound& b : from->bound_)
        if (b.placeholder == v) copies[v.v] = leaf(b.variable, at);
      continue;
    }
    nodes.insert(n);
    for (const ValueId in : g.node(n).inputs)
      if (in.valid()) wanted.push_back(in);
  }
  // Free recordings only grow at the end, so ids are in order.
  for (const NodeId n : nodes) {
    const Node& node = g.node(n);
    NodeSpec spec;
    spec.op = ops().find(node.op->name);
    if (spec.op == nullptr)
      refuse(at, "{}: the operator {} is not among the program's Operators", what_, node.op->name);
    for (const ValueId in : node.inputs) spec.inputs.push_back(in.valid() ? copies.at(in.v) : in);
    spec.list_size = node.list_size;
    spec.attrs = node.attrs;
    if (kind_ != Kind::borrowed && node.loc.file != 0)
      spec.loc = {graph().file_id(g.files()[node.loc.file]), node.loc.line};
    const Result<NodeId> made = graph().add_node(std::move(spec));
    if (!made.ok()) throw_at(at, made.failure());
    for (uint32_t k = 0; k < node.output_count; ++k)
      copies[node.out(k).v] = graph().node(*made).out(k);
  }
  return copies.at(Access::value(t).v);
}

Values Recording::call(const std::string& op, std::vector<CallOperand> operands, NamedAttrs attrs,
                       Location at) {
  if (kind_ == Kind::borrowed) {
    Values out = builder_->call(op, std::move(operands), std::move(attrs));
    if (!builder_->status().ok()) throw_at(at, builder_->status().failure());
    return out;
  }
  Builder builder(own_graph_, *ops_);
  builder.set_loc(loc(at));
  Values out = builder.call(op, operands, std::move(attrs));
  if (!builder.status().ok()) {
    Failure failure = builder.status().failure();
    failure.message += call_text(own_graph_, op, operands);
    if (module_note().empty()) failure.message += owner_note(own_graph_, operands);
    throw_at(at, std::move(failure));
  }
  return out;
}

}  // namespace cleave::trace
