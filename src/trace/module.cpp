// Module: the tree of named parameters and buffers.
#include <algorithm>
#include <set>

#include "base/edit_distance.h"
#include "base/result.h"
#include "cleave/nn.h"
#include "trace/clone_map.h"
#include "trace/module_state.h"
#include "trace/tracing.h"

namespace cleave::nn {

namespace {

bool reaches(const ModuleState& from, const ModuleState* what) {
  if (&from == what) return true;
  return std::ranges::any_of(from.children,
                             [&](const auto& c) { return reaches(*c.second, what); });
}

}  // namespace

void Module::require_item(size_t number, size_t size) {
  if (number >= size)
    throw_failure(user_error("nn::ModuleList: module {} is outside [0, {})", number, size));
}

Module::Module() : state_(std::make_shared<ModuleState>()) {}

Module::Module(const Module& other) : state_(clone_of(other.state_)) {}

Variable Module::add_parameter(const std::string& name, HostTensor initial) {
  state_->require_free(name);
  Variable v(name, std::move(initial), VariableKind::parameter);
  state_->parameters.push_back({name, v, true});
  return v;
}

Variable Module::add_buffer(const std::string& name, HostTensor initial, bool persistent) {
  state_->require_free(name);
  Variable v(name, std::move(initial), VariableKind::buffer);
  state_->buffers.push_back({name, v, persistent});
  return v;
}

void Module::add_child(const std::string& name, const Module& child) {
  state_->require_free(name);
  if (reaches(*child.state_, state_.get()))
    throw_failure(user_error("Module: add_module: `{}` holds this module itself", name));
  state_->children.emplace_back(name, child.state_);
}

void Module::share(const std::string& name, const Variable& other) {
  for (ModuleState::Slot& s : state_->parameters) {
    if (s.name != name) continue;
    if (!other.defined() || other.dtype() != s.variable.dtype() ||
        other.shape() != s.variable.shape())
      throw_failure(user_error("Module: share: `{}` is {}, got {}", name,
                               trace::Access::host(s.variable).type_text(),
                               other.defined() ? other.value().type_text() : "none"));
    s.variable = other;
    return;
  }
  throw_failure(user_error("Module: share: there is no parameter `{}` here", name));
}

Variable Module::parameter(const std::string& path) const {
  // The common case, a layer's own parameter, doesn't walk the tree.
  for (const ModuleState::Slot& s : state_->parameters)
    if (s.name == path) return s.variable;
  Variable found;
  NearestName nearest(path);
  state_->visit("", [&](const std::string& name, const ModuleState::Slot& s, bool is_parameter) {
    if (!is_parameter) return;
    if (name == path) found = s.variable;
    nearest.offer(name);
  });
  if (!found.defined())
    throw_failure(
        user_error("Module: there is no parameter {}{}", path,
                   nearest.best().empty() ? "" : "; the nearest name is " + nearest.best()));
  return found;
}

namespace {

std::vector<std::pair<std::string, Variable>> each_once(ModuleState& root, bool parameters) {
  std::vector<std::pair<std::string, Variable>> out;
  std::set<const void*> seen;
  root.visit("", [&](const std::string& name, const ModuleState::Slot& s, bool is_parameter) {
    if (is_parameter == parameters && seen.insert(trace::Access::state(s.variable).get()).second)
      out.emplace_back(name, s.variable);
  });
  return out;
}

}  // namespace

std::vector<std::pair<std::string, Variable>> Module::named_parameters() const {
  return each_once(*state_, true);
}
std::vector<std::pair<std::string, Variable>> Module::named_buffers() const {
  return each_once(*state_, false);
}

Store Module::store() const {
  Store out;
  state_->visit("", [&](const std::string& name, const ModuleState::Slot& s, bool) {
    if (s.persistent) out.add(name, s.variable);
  });
  return out;
}

int64_t Module::parameter_count() const {
  int64_t count = 0;
  for (const auto& [name, v] : named_parameters()) count += trace::Access::host(v).numel();
  return count;
}

namespace {

void set_training(ModuleState& m, bool on) {
  m.training = on;
  for (const auto& [name, child] : m.children) set_training(*child, on);
}

}  // namespace

Module::Call::Call(const Module& module)
    : outer_(std::exchange(trace::tracing().module, module.state_.get())) {}
Module::Call::~Call() { trace::tracing().module = outer_; }

void Module::train(bool on) { set_training(*state_, on); }
bool Module::is_training() const { return state_->training; }

void Module::set_requires_grad(bool on) {
  for (auto& [name, v] : named_parameters())
    if (is_floating(v.dtype())) v.set_requires_grad(on);
}

}  // namespace cleave::nn

namespace cleave::trace {

std::map<const void*, std::string> ModulePaths::of(const nn::Module& model) {
  std::map<const void*, std::string> paths;
  const auto add = [&](const auto& self, const nn::ModuleState& m,
                       const std::string& path) -> void {
    if (!paths.emplace(&m, path).second) return;  // its first path names it
    for (const auto& [name, child] : m.children)
      self(self, *child, path.empty() ? name : path + "." + name);
  };
  add(add, *model.state_, "");
  return paths;
}

}  // namespace cleave::trace
