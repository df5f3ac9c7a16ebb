// Variables and stores.
#include "cleave/store.h"

#include <map>
#include <set>

#include "base/edit_distance.h"
#include "base/element_address.h"
#include "base/result.h"
#include "trace/clone_map.h"
#include "trace/tracing.h"

namespace cleave {

Variable::Variable(std::string name, HostTensor value, VariableKind kind)
    : state_(std::make_shared<trace::VariableState>()) {
  state_->name = std::move(name);
  state_->kind = kind;
  state_->value = value.is_row_major() ? std::move(value) : value.contiguous();
  state_->requires_grad = kind == VariableKind::parameter && is_floating(state_->value.dtype());
}

Variable::Variable(const Variable& other) noexcept : state_(nn::clone_of(other.state_)) {}

trace::VariableState& Variable::state() const {
  if (!state_)
    throw_failure(
        user_error("Variable: it is undefined; Store::find gives such a one "
                   "for a name that isn't there, Store::at an error"));
  return *state_;
}

const std::string& Variable::name() const { return state().name; }
VariableKind Variable::kind() const { return state().kind; }
DType Variable::dtype() const { return state().value.dtype(); }
const std::vector<int64_t>& Variable::shape() const { return state().value.shape(); }
const HostTensor& Variable::value(Location at) const {
  trace::note_reading(state(), at);
  state().read_back();
  return state().value;
}
HostTensor& Variable::memory(Location at) {
  trace::note_reading(state(), at);
  state().read_back();
  ++state().version;
  return state().value;
}
void Variable::set(const HostTensor& value) {
  const bool fits = value.dtype() == dtype() && value.shape() == shape();
  fits ? state().overwrite() : state().read_back();
  ++state().version;
  state().value.copy_from(value);
}
bool Variable::requires_grad() const { return state().requires_grad; }

void Variable::set_requires_grad(bool on) {
  if (on && !is_floating(dtype()))
    throw_failure(
        user_error("{}: requires_grad: {} is not floating", name(), state_->value.type_text()));
  state().requires_grad = on;
}

void Variable::bind(HostTensor memory, Contents contents) {
  if (memory.dtype() != dtype() || memory.shape() != shape() || !memory.is_row_major())
    throw_failure(user_error("{}: bind: got memory of {}, expected {}", name(), memory.type_text(),
                             state_->value.type_text()));
  if (memory.numel() > 0 && !is_aligned(memory.data(), dtype()))
    throw_failure(user_error("{}: bind: its address is no multiple of the {} bytes of {}", name(),
                             alignment_of(dtype()), name_of(dtype())));
  if (contents == Contents::of_variable) {
    state_->read_back();
    memory.copy_from(state_->value);
  } else {
    state_->overwrite();
    ++state_->version;
  }
  state_->value = std::move(memory);
  state_->forget_copies();
}

namespace {

// Memory of a device that nothing can read before a program runs there.
class Unread final : public trace::DeviceCopy {
 public:
  Unread(std::string name, DeviceTensor there) : name_(std::move(name)), there_(std::move(there)) {}
  Status copy_out(HostTensor&) const override { return refusal(); }
  Status copy_in(const HostTensor&) override { return refusal(); }
  Device device() const override { return there_.device(); }
  Result<void*> settled() const override { return there_.data(); }

 private:
  Status refusal() const {
    return user_error("{}: its elements are in memory of {}, where no program has run with it yet",
                      name_, there_.device().text());
  }
  const std::string name_;
  const DeviceTensor there_;
};

}  // namespace

void Variable::bind(const DeviceTensor& memory, Contents contents) {
  if (memory.is_const())
    throw_failure(user_error("{}: bind: the memory of {} is const", name(), memory.type_text()));
  if (memory.device().is_cpu()) return bind(memory.host(), contents);
  trace::VariableState& s = state();
  if (memory.dtype() != dtype() || memory.shape() != shape() ||
      memory.strides() != s.value.strides())
    throw_failure(user_error("{}: bind: got memory of {}, expected {}", name(), memory.type_text(),
                             s.value.type_text()));
  if (s.value.numel() > 0 && reinterpret_cast<uintptr_t>(memory.data()) % device_alignment != 0)
    throw_failure(user_error("{}: bind: its address on {} is no multiple of {} bytes", name(),
                             memory.device().text(), device_alignment));
  const std::lock_guard lock(s.copy_mutex);
  s.bound_there = memory;
  s.bound_contents = contents;
  if (contents == Contents::of_variable) return;
  if (s.copy) value_or_throw(s.copy->settled());  // runs that write it
  s.copy = std::make_shared<Unread>(s.name, memory);
  s.written_elsewhere();
}

DeviceTensor Variable::there() const {
  trace::VariableState& s = state();
  const std::lock_guard lock(s.copy_mutex);
  if (!s.copy || s.copied_version != s.version)
    return DeviceTensor(HostTensor::borrow(dtype(), shape(), s.value.data(), state_)).as_const();
  return DeviceTensor::borrow(s.copy->device(), dtype(), shape(), {},
                              value_or_throw(s.copy->settled()), s.copy)
      .as_const();
}

struct Store::State {
  std::vector<std::pair<std::string, Variable>> entries;
  std::map<std::string, size_t> by_name;
};

Store::Store() : state_(std::make_shared<State>()) {}

void Store::add(const std::string& name, const Variable& variable) {
  if (!variable.defined()) throw_failure(user_error("store: add: {} is an empty Variable", name));
  const auto known = state_->by_name.find(name);
  if (known == state_->by_name.end()) {
    state_->by_name.emplace(name, state_->entries.size());
    state_->entries.emplace_back(name, variable);
  } else if (!(state_->entries[known->second].second == variable)) {
    throw_failure(
        user_error("store: {} is there already, and is another tensor: {}", name,
                   trace::Access::host(state_->entries[known->second].second).type_text()));
  }
}

Variable Store::find(const std::string& name) const {
  const auto known = state_->by_name.find(name);
  return known == state_->by_name.end() ? Variable() : state_->entries[known->second].second;
}

Variable Store::at(const std::string& name) const {
  Variable v = find(name);
  if (v.defined()) return v;
  NearestName nearest(name);
  for (const auto& [other, variable] : state_->entries) nearest.offer(other);
  throw_failure(
      user_error("store: there is no {}{}", name,
                 nearest.best().empty() ? "" : "; the nearest name is " + nearest.best()));
}

const std::vector<std::pair<std::string, Variable>>& Store::entries() const& {
  return state_->entries;
}

int64_t Store::bytes() const {
  std::set<const void*> seen;
  int64_t total = 0;
  for (const auto& [name, v] : state_->entries)
    if (seen.insert(trace::Access::state(v).get()).second) total += trace::Access::host(v).bytes();
  return total;
}

}  // namespace cleave
