#include "exec/folded_values.h"

#include <algorithm>
#include <cstring>

#include "exec/device_variable.h"
#include "ir/strides.h"
#include "ir/text.h"

namespace cleave {

Result<std::shared_ptr<FoldedValues>> FoldedValues::make(
    std::shared_ptr<const CompiledProgram> part, const std::vector<Frozen>& frozen,
    std::shared_ptr<Executor> executor) {
  auto out = std::make_shared<FoldedValues>();
  out->part_ = std::move(part);
  out->executor_ = std::move(executor);
  for (const Frozen& f : frozen) {
    Source source{.name = f.name, .state = trace::Access::state(f.variable)};
    if (!f.is_dropped) source.keep = f.variable;
    if (out->part_) {
      const Graph& g = out->part_->graph();
      const ValueId v = g.find(f.name);
      source.is_operand = v.valid() && g.placeholder_of(v);
      if (source.is_operand) source.placeholder = g.value(v).index;
    }
    out->sources_.push_back(std::move(source));
  }
  CLEAVE_TRY(Fresh fresh, out->computed());
  out->take(std::move(fresh));
  return out;
}

Result<FoldedValues::Fresh> FoldedValues::computed() const {
  Fresh fresh;
  std::vector<trace::VariablePtr> alive;
  std::unique_ptr<Instance> run;
  if (part_) { CLEAVE_TRY(run, Instance::make(part_, executor_)); }
  for (const Source& s : sources_) {
    const trace::VariablePtr& state = alive.emplace_back(s.state.lock());
    if (!state) {
      if (s.is_operand)
        return user_error("refreeze: `{}` is gone with its model, which this program dropped",
                          s.name);
      fresh.versions.push_back(s.version);
      continue;
    }
    fresh.versions.push_back(state->version);
    if (s.is_operand) CLEAVE_CHECK(bind_variable(*run, s.placeholder, *state));
  }
  auto list = std::make_shared<List>();
  if (run) {
    CLEAVE_CHECK(run->run());
    const Graph& g = part_->graph();
    for (size_t k = 0; k < g.returns().size(); ++k) {
      HostTensor& bytes =
          list->emplace_back(DType::u8, std::vector<int64_t>{memory_bytes(returned_type(g, k))});
      if (bytes.bytes() > 0)
        std::memcpy(bytes.data(), run->result(k), static_cast<size_t>(bytes.bytes()));
    }
  }
  fresh.list = std::move(list);
  return fresh;
}

void FoldedValues::take(Fresh fresh) {
  const std::lock_guard lock(mutex_);
  list_ = std::move(fresh.list);
  for (size_t k = 0; k < sources_.size(); ++k) sources_[k].version = fresh.versions[k];
}

std::shared_ptr<const FoldedValues::List> FoldedValues::newer_than(
    const std::shared_ptr<const List>& known) const {
  const std::lock_guard lock(mutex_);
  return known == list_ ? nullptr : list_;
}

Result<std::vector<std::pair<std::string, Variable>>> FoldedValues::variables() const {
  std::vector<std::pair<std::string, Variable>> out;
  const std::lock_guard lock(mutex_);
  for (const Source& s : sources_) {
    if (trace::VariablePtr state = s.state.lock())
      out.emplace_back(s.name, trace::Access::variable(std::move(state)));
    else if (s.is_operand)
      return user_error("build: `{}` is gone with its model, which this program dropped", s.name);
  }
  return out;
}

Status FoldedValues::check() const {
  const std::lock_guard lock(mutex_);
  for (const Source& s : sources_)
    if (const trace::VariablePtr state = s.state.lock(); state && state->version != s.version)
      return user_error("`{}` was written after it was frozen; refreeze() takes its values",
                        s.name);
  return {};
}

Result<std::shared_ptr<FoldedValues>> FoldedPool::get(
    std::shared_ptr<const CompiledProgram> part, const std::vector<FoldedValues::Frozen>& frozen,
    std::shared_ptr<Executor> executor) {
  std::string key = part ? print(part->graph()) : "";
  for (const FoldedValues::Frozen& f : frozen)
    key += fmt::format("\n{} {}", f.name, f.is_dropped ? "dropped" : "kept");
  const std::lock_guard lock(mutex_);
  if (auto known = known_[key].lock()) return known;
  CLEAVE_TRY(auto made, FoldedValues::make(std::move(part), frozen, std::move(executor)));
  known_[key] = made;
  return made;
}

Status FoldedPool::refreeze() {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::shared_ptr<FoldedValues>, FoldedValues::Fresh>> all;
  for (const auto& [key, weak] : known_)
    if (auto values = weak.lock()) {
      CLEAVE_TRY(FoldedValues::Fresh fresh, values->computed());
      all.emplace_back(std::move(values), std::move(fresh));
    }
  for (auto& [values, fresh] : all) values->take(std::move(fresh));
  return {};
}

}  // namespace cleave
