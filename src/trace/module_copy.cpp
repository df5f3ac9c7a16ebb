// Modules that are cloned, and the values of one copied into another.
#include <cmath>

#include "trace/clone_map.h"

namespace cleave::nn {

using trace::Access;

namespace {

thread_local const CloneMap* cloning = nullptr;

using ModulePtr = std::shared_ptr<ModuleState>;

Variable cloned(CloneMap& map, const Variable& v) {
  trace::VariablePtr& known = map.variables[Access::state(v).get()];
  if (!known) {
    const Variable made(v.name(), HostTensor(Access::memory(v)), v.kind());
    known = Access::state(made);
    known->requires_grad = v.requires_grad();
  }
  return Access::variable(known);
}

ModulePtr cloned(CloneMap& map, const ModulePtr& from) {
  if (const auto known = map.modules.find(from.get()); known != map.modules.end())
    return known->second;
  const auto made = std::make_shared<ModuleState>();
  map.modules.emplace(from.get(), made);
  made->training = from->training;
  for (const auto& [slots, copies] :
       {std::pair(&from->parameters, &made->parameters), std::pair(&from->buffers, &made->buffers)})
    for (const ModuleState::Slot& s : *slots)
      copies->push_back({s.name, cloned(map, s.variable), s.persistent});
  for (const auto& [name, child] : from->children)
    made->children.emplace_back(name, cloned(map, child));
  return made;
}

}  // namespace

ModulePtr clone_of(const ModulePtr& state) noexcept {
  for (const CloneMap* map = cloning; map != nullptr; map = map->outer)
    if (const auto found = map->modules.find(state.get()); found != map->modules.end())
      return found->second;
  return state;
}

trace::VariablePtr clone_of(const trace::VariablePtr& state) noexcept {
  for (const CloneMap* map = cloning; map != nullptr; map = map->outer)
    if (const auto found = map->variables.find(state.get()); found != map->variables.end())
      return found->second;
  return state;
}

Cloning::Cloning(const Module& from) : map_(std::make_unique<CloneMap>()) {
  cloned(*map_, from.state_);
  map_->outer = std::exchange(cloning, map_.get());
}
Cloning::~Cloning() { cloning = map_->outer; }

namespace {

// p = tau q + (1 - tau) p.
template <class T>
void mix(T* p, const T* q, int64_t n, double tau) {
  for (int64_t k = 0; k < n; ++k)
    p[k] = static_cast<T>(tau * static_cast<double>(q[k]) + (1 - tau) * static_cast<double>(p[k]));
}

void mix(HostTensor& to, const HostTensor& from, double tau) {
  const int64_t n = to.numel();
  if (tau == 1 || !is_floating(to.dtype())) {
    to.copy_from(from);
  } else if (to.dtype() == DType::f32) {
    mix(to.data<float>(), from.data<float>(), n, tau);
  } else if (to.dtype() == DType::f64) {
    mix(to.data<double>(), from.data<double>(), n, tau);
  } else {
    for (int64_t k = 0; k < n; ++k)
      to.set_number(k, tau * from.number(k) + (1 - tau) * to.number(k));
  }
}

using Named = std::vector<std::pair<std::string, Variable>>;

// "weight f32[2,3]" of those in `a` that `b` hasn't alike.
std::vector<std::string> unlike(const Named& a, const Named& b) {
  std::vector<std::string> out;
  for (const auto& [name, v] : a) {
    const auto same = std::ranges::find(b, name, &Named::value_type::first);
    const std::string text = Access::host(v).type_text();
    if (same == b.end() || same->second.value().type_text() != text)
      out.push_back(name + " " + text);
  }
  return out;
}

void require_alike(const Named& to, const Named& from) {
  const std::vector<std::string> here = unlike(to, from), there = unlike(from, to);
  if (here.empty() && there.empty()) return;
  const auto listed = [](const std::vector<std::string>& v) {
    return v.empty() ? std::string("nothing") : fmt::format("{}", fmt::join(v, ", "));
  };
  throw_failure(user_error("Module: copy_from: the modules differ: {} here, {} there", listed(here),
                           listed(there)));
}

}  // namespace

void Module::copy_from(const Module& other, double tau) {
  if (!(tau >= 0 && tau <= 1))
    throw_failure(user_error("Module: copy_from: tau is {}, expected 0 <= tau <= 1", tau));
  for (auto list : {&Module::named_parameters, &Module::named_buffers})
    require_alike((this->*list)(), (other.*list)());
  for (const auto& [name, v] : named_parameters())
    if (Access::state(v)->holds_average)
      throw_failure(user_error(
          "Module: copy_from: an average stands in the place of {}; use_ema(false) first", name));
  const auto copy = [](const Named& to, const Named& from, double part) {
    for (const auto& [name, v] : to) {
      const auto same = std::ranges::find(from, name, &Named::value_type::first);
      mix(Access::written(v), Access::memory(same->second), part);
    }
  };
  copy(named_parameters(), other.named_parameters(), tau);
  copy(named_buffers(), other.named_buffers(), 1);
}

}  // namespace cleave::nn
