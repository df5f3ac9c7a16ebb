// A run of an instance: what is checked, which program it is, and its results.
#include <array>

#include "standalone/fault_text.h"
#include "standalone/instance.h"
#include "standalone/some_of.h"
#include "standalone/strided_copy.h"

namespace cleave::standalone {
namespace {

bool overlap(const std::byte* a, int64_t a_bytes, const std::byte* b, int64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

Status Instance::check_values() const {
  std::vector<std::string> missing;
  for (size_t k = 0; k < held_.size(); ++k)
    if (held_[k].data == nullptr) missing.push_back(file_.state[k].name);
  if (missing.empty()) return {};
  return user_error("{}: {} has no value: give `weights` to {}_open(), or set each", told("run"),
                    some_of(missing), file_.name);
}

Status Instance::check_bound() const {
  for (size_t k = 0; k < inputs_.size(); ++k)
    if (inputs_[k].data == nullptr && (!inputs_[k].type || input_bytes(k) > 0))
      return user_error("{}: input {} `{}` is bound to nothing", told("run"), k,
                        file_.inputs[k].name);
  return {};
}

Status Instance::take_inputs(const cleave_tensor* in, size_t count) {
  if (count != inputs_.size())
    return user_error("{}: {} inputs, expected {}", told("run"), count, inputs_.size());
  bool are_held = true;
  for (size_t k = 0; k < count; ++k) {
    auto type = choice_.type_of(k, &in[k], "input");
    if (!type.ok()) return std::move(type).failure().within(told("run"));
    are_held = are_held && *type;
    types_[k] = type->value_or(0);
  }
  if (!are_held || !choice_.find(types_, last_)) {
    SizeChoice::Shapes shapes;
    for (size_t k = 0; k < count; ++k) shapes.emplace_back(shape_of(in[k]));
    return choice_.refusal(shapes).within(told("run"));
  }
  for (size_t k = 0; k < count; ++k) {
    const InputEntry& input = file_.inputs[k];
    Status s =
        check_tensor(input.types[types_[k]], &in[k], Strides::given, {"input", k, input.name});
    if (!s.ok()) return std::move(s).failure().within(told("run"));
  }
  for (size_t k = 0; k < count; ++k) inputs_[k] = {static_cast<std::byte*>(in[k].data), types_[k]};
  return {};
}

// The program of the inputs' sizes.
Result<const LinkedEntry*> Instance::choose(const cleave_tensor* in, size_t count) {
  if (in != nullptr) {
    CLEAVE_CHECK(take_inputs(in, count));
  } else {
    if (count > 0) return user_error("{}: in is NULL, in_count is {}", told("run"), count);
    CLEAVE_CHECK(check_bound());
  }
  for (size_t k = 0; k < inputs_.size(); ++k) types_[k] = *inputs_[k].type;
  const std::optional<size_t> at = choice_.find(types_, last_);
  if (!at) {  // bound one by one
    SizeChoice::Shapes shapes;
    for (size_t k = 0; k < types_.size(); ++k)
      shapes.emplace_back(file_.inputs[k].types[types_[k]].shape);
    return choice_.refusal(shapes).within(told("run"));
  }
  last_ = *at;
  return gathers() ? &*sized_[last_].gather : &sized_[last_].step;
}

// Whether this run is a micro step before the last.
bool Instance::gathers() const {
  if (!file_.micro_step || held_[*file_.micro_step].data == nullptr) return false;
  return *reinterpret_cast<const int64_t*>(held_[*file_.micro_step].data) + 1 < file_.accumulate;
}

int64_t Instance::input_bytes(size_t k) const {
  return bytes_of(file_.inputs[k].types[*inputs_[k].type]);
}

// What a run writes is nobody else's.
Status Instance::check_apart() const {
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const InputEntry& input = file_.inputs[k];
    const std::byte* const data = inputs_[k].data;
    const int64_t bytes = input_bytes(k);
    const auto refused = [&](std::string_view other, const std::string& name) {
      return user_error("{}: input {} `{}` lies in the memory of {} `{}`, one of which is written",
                        told("run"), k, input.name, other, name);
    };
    if (overlap(data, bytes, arena_->data(), arena_->size_bytes()))
      return user_error("{}: input {} `{}` lies in memory of the program: results of its last run",
                        told("run"), k, input.name);
    for (size_t j = 0; j < inputs_.size(); ++j)
      if (j != k && (input.is_updated || file_.inputs[j].is_updated) &&
          overlap(data, bytes, inputs_[j].data, input_bytes(j)))
        return refused("input", file_.inputs[j].name);
    for (size_t j = 0; j < held_.size(); ++j)
      if ((input.is_updated || file_.state[j].is_updated) &&
          overlap(data, bytes, held_[j].data, file_.state[j].bytes))
        return refused("state", file_.state[j].name);
  }
  return {};
}

// The same of state that the caller has bound: looked at once, by the next run.
Status Instance::check_state_apart() const {
  for (size_t k = 0; k < held_.size(); ++k) {
    const StateEntry& state = file_.state[k];
    const std::byte* const data = held_[k].data;
    if (overlap(data, state.bytes, arena_->data(), arena_->size_bytes()))
      return user_error("{}: state `{}` lies in memory of the program: results of its last run",
                        told("run"), state.name);
    for (size_t j = 0; j < k; ++j)
      if ((state.is_updated || file_.state[j].is_updated) &&
          overlap(data, state.bytes, held_[j].data, file_.state[j].bytes))
        return user_error(
            "{}: state `{}` lies in the memory of state `{}`, one of which is written", told("run"),
            state.name, file_.state[j].name);
  }
  return {};
}

Status Instance::check_outputs(const LinkedEntry& program, const cleave_tensor* out,
                               size_t count) const {
  if (out == nullptr && count > 0)
    return user_error("{}: out is NULL, out_count is {}", told("run"), count);
  if (out != nullptr && count != file_.outputs.size())
    return user_error("{}: {} outputs, expected {}", told("run"), count, file_.outputs.size());
  for (size_t k = 0; k < count; ++k) {
    Status s = check_tensor(program.entry->outputs[k].type, &out[k], Strides::apart,
                            {"output", k, file_.outputs[k].name});
    if (!s.ok()) return std::move(s).failure().within(told("run"));
  }
  return {};
}

// All that has moved since the program's last run.
void Instance::bind_all(const LinkedEntry& program) const {
  const auto bind = [&](const Placeholders& placeholders, size_t k, void* data) {
    if (k >= placeholders.size() || !placeholders[k]) return;
    if (program.runner->bound(*placeholders[k]) != data)
      program.runner->bind(*placeholders[k], data);
  };
  const ProgramEntry& entry = *program.entry;
  for (size_t k = 0; k < inputs_.size(); ++k) bind(entry.inputs, k, inputs_[k].data);
  for (size_t k = 0; k < held_.size(); ++k) bind(entry.state, k, held_[k].data);
  for (size_t k = 0; k < program.sizes->size(); ++k)  // read alone
    bind(entry.sizes, k, const_cast<int64_t*>(&(*program.sizes)[k]));
}

Failure Instance::failure_of(const LinkedEntry& program, const FailedThunk& failed) {
  const bool skips = !file_.skip_text.empty() && failed.fault.message == file_.skip_text;
  if (skips && file_.random) ++reinterpret_cast<int64_t*>(held_[*file_.random].data)[1];
  return user_error("{}: {}{}", told("run"),
                    fault_text(program.linked->thunks().thunks[failed.thunk], failed.fault),
                    skips ? "; the step was skipped" : "");
}

void Instance::copy_results(const LinkedEntry& program, const cleave_tensor* out, size_t count) {
  alignas(16) static std::byte zero[16];
  constexpr std::array<int64_t, most_dims> still{};
  for (size_t k = 0; k < count; ++k) {
    const auto& [type, result] = program.entry->outputs[k];
    std::array<int64_t, most_dims> row_major{};
    const Strided to{out[k].data, strides_of(out[k], row_major.data())};
    if (result)
      copy_strided(to, {const_cast<std::byte*>(program.runner->result(*result)), type.strides},
                   type.shape, type.dtype);
    else
      copy_strided(to, {zero, std::span(still).first(type.shape.size())}, type.shape, type.dtype);
  }
}

Status Instance::run(const cleave_tensor* in, size_t in_count, const cleave_tensor* out,
                     size_t out_count) {
  const Busy busy(busy_);
  if (!busy.is_mine())
    return user_error("{}: the instance is running already; open a second one to run two at once",
                      told("run"));
  take_pending();
  CLEAVE_TRY(const LinkedEntry* const program, choose(in, in_count));
  CLEAVE_CHECK(check_outputs(*program, out, out_count));
  CLEAVE_CHECK(check_values());
  CLEAVE_CHECK(check_apart());
  if (is_state_moved_) CLEAVE_CHECK(check_state_apart());
  is_state_moved_ = false;
  bind_all(*program);
  results_ = nullptr;
  if (const auto failed = program->runner->run()) return failure_of(*program, *failed);
  results_ = program;
  copy_results(*program, out, out_count);
  return {};
}

}  // namespace cleave::standalone
