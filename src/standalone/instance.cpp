#include "standalone/instance.h"

#include <algorithm>

#include "runtime/host_arena.h"
#include "runtime/shared_threads.h"
#include "standalone/cpu_features.h"
#include "standalone/host_memory.h"
#include "standalone/some_of.h"

namespace cleave::standalone {
namespace {

std::span<const std::byte> bytes_of(const unsigned char* data, size_t bytes) {
  return {reinterpret_cast<const std::byte*>(data), bytes};
}

}  // namespace

Result<std::unique_ptr<Instance>> Instance::open(const cleave_embedded& embedded,
                                                 const cleave_options* given) {
  std::unique_ptr<Instance> out(new Instance);
  ArchiveReader in(bytes_of(embedded.program, embedded.program_bytes));
  in(out->file_);
  if (!in.is_complete() || out->file_.version != file_version)
    return bug("{}: what is embedded is of another version", embedded.name);
  const cleave_options none = CLEAVE_OPTIONS_INIT(0);
  const cleave_options& options = given == nullptr ? none : *given;
  const auto at_open = [&](Status s) -> Status {
    if (s.ok()) return {};
    return std::move(s).failure().within(out->told("open"));
  };
  CLEAVE_CHECK(at_open(out->check_options(options)));
  CLEAVE_CHECK(at_open(out->start_threads(options)));
  CLEAVE_CHECK(at_open(out->find_callbacks(options)));
  CLEAVE_CHECK(at_open(out->link_programs(embedded)));
  CLEAVE_CHECK(at_open(out->make_runners(options)));
  CLEAVE_CHECK(at_open(out->read_weights(embedded, options)));
  return out;
}

Status Instance::check_options(const cleave_options& o) const {
  if (o.version != CLEAVE_INTERFACE_VERSION || o.bytes != sizeof(cleave_options))
    return user_error(
        "the options are of version {} of the interface ({} bytes), the library has version {} ({} "
        "bytes): compile with the header that was built beside it",
        o.version, o.bytes, CLEAVE_INTERFACE_VERSION, sizeof(cleave_options));
  if (o.program != 0 && o.program != file_.id)
    return user_error(
        "the options are those of program {:016x}, the library holds {:016x}: compile with the "
        "header that was built beside it",
        o.program, file_.id);
  const std::vector<std::string> missing = missing_here(file_.features);
  if (!missing.empty())
    return unsupported("the program was built for a processor with {}, which this one lacks",
                       fmt::join(missing, ", "));
  if (o.threads < 0) return user_error("threads is {}, expected 0 or more", o.threads);
  if (o.parallel_for != nullptr && o.pool_threads < 1)
    return user_error("pool_threads is {} beside parallel_for, expected 1 or more", o.pool_threads);
  if (o.callback_count > 0 && o.callbacks == nullptr)
    return user_error("callback_count is {}, callbacks is NULL", o.callback_count);
  return {};
}

Status Instance::start_threads(const cleave_options& options) {
  if (options.parallel_for != nullptr) {
    executor_ = std::make_shared<HostPool>(options);
    return {};
  }
  CLEAVE_TRY(executor_, runtime::shared_threads(options.threads));
  return {};
}

Status Instance::find_callbacks(const cleave_options& options) {
  std::vector<std::string> missing;
  for (const std::string& name : file_.callbacks) {
    const cleave_callback* found = nullptr;
    for (size_t k = 0; k < options.callback_count; ++k)
      if (options.callbacks[k].name != nullptr && name == options.callbacks[k].name)
        found = &options.callbacks[k];
    if (found == nullptr || found->function == nullptr) {
      missing.push_back(name);
      continue;
    }
    callbacks_.emplace_back(
        [f = found->function, user = found->user](void* const* operands, void* const* results) {
          f(user, operands, results);
        });
  }
  if (missing.empty()) return {};
  return user_error("callbacks has no function for {}", some_of(missing));
}

Status Instance::link_programs(const cleave_embedded& embedded) {
  functions_ =
      std::make_unique<runtime::LibraryCache>(Target{static_cast<InstructionSet>(file_.set)});
  const Functions tables{{embedded.phases, embedded.phase_count},
                         {embedded.operators, embedded.operator_count},
                         callbacks_};
  const auto link = [&](ProgramEntry& entry) {
    return LinkedProgram::link(std::move(entry.code), tables, *functions_);
  };
  for (SizedEntry& s : file_.sized) {
    LinkedSize& out = sized_.emplace_back();
    CLEAVE_TRY(out.step.linked, link(s.step));
    out.step.entry = &s.step;
    out.step.sizes = &s.sizes;
    if (!s.gather) continue;
    out.gather.emplace();
    CLEAVE_TRY(out.gather->linked, link(*s.gather));
    out.gather->entry = &*s.gather;
    out.gather->sizes = &s.sizes;
  }
  for (ProgramEntry& entry : file_.foldings) {
    CLEAVE_TRY(auto folding, link(entry));
    foldings_.push_back(std::move(folding));
  }
  return {};
}

Status Instance::make_runners(const cleave_options& options) {
  int64_t needed = 0;
  for (const LinkedSize& s : sized_)
    needed = std::max(
        {needed, s.step.linked->arena_bytes(), s.gather ? s.gather->linked->arena_bytes() : 0});
  if (options.memory != nullptr) {
    if (std::cmp_less(options.memory_bytes, needed))
      return user_error("memory has {} bytes, expected {} or more", options.memory_bytes, needed);
    if (reinterpret_cast<uintptr_t>(options.memory) % storage_alignment != 0)
      return user_error("memory is at an address that is no multiple of {}", storage_alignment);
    arena_ = std::make_shared<GivenArena>(options.memory, needed);
  } else {
    CLEAVE_TRY(arena_, runtime::make_host_arena(needed));
  }
  const auto make = [&](LinkedEntry& p) {
    p.runner = std::make_unique<Runner>(p.linked->runnable(), arena_, executor_);
  };
  for (LinkedSize& s : sized_) {
    make(s.step);
    if (s.gather) make(*s.gather);
  }
  inputs_.resize(file_.inputs.size());
  types_.resize(file_.inputs.size());
  for (size_t k = 0; k < file_.inputs.size(); ++k) {
    input_by_name_[file_.inputs[k].name] = k;
    if (file_.inputs[k].types.size() == 1) inputs_[k].type = 0;
  }
  for (size_t k = 0; k < file_.state.size(); ++k)
    if (file_.state[k].kind != StateKind::folded) state_by_name_[file_.state[k].name] = k;
  return {};
}

namespace {

cleave_tensor without_data(const TensorType& t) {
  return {nullptr, static_cast<int32_t>(t.dtype), static_cast<int32_t>(t.shape.size()),
          t.shape.data(), t.strides.empty() ? nullptr : t.strides.data()};
}

Status check_index(const std::string& what, size_t index, size_t count, const cleave_tensor* type) {
  if (type == nullptr) return user_error("{}: the tensor is NULL", what);
  if (index >= count) return user_error("{}: {} is outside [0, {})", what, index, count);
  return {};
}

}  // namespace

Status Instance::input(size_t index, cleave_tensor* type) const {
  CLEAVE_CHECK(check_index(told("input"), index, file_.inputs.size(), type));
  *type = without_data(file_.inputs[index].type);
  return {};
}

Status Instance::output(size_t index, cleave_tensor* type) const {
  CLEAVE_CHECK(check_index(told("output"), index, file_.outputs.size(), type));
  *type = without_data(results_ ? results_->entry->outputs[index].type : file_.outputs[index].type);
  return {};
}

Status Instance::result(size_t index, cleave_tensor* result) const {
  CLEAVE_CHECK(check_index(told("result"), index, file_.outputs.size(), result));
  if (!results_)
    return user_error("{}: there is none: the instance did not run yet, or the last run failed",
                      told("result"));
  const ResultEntry& entry = results_->entry->outputs[index];
  if (!entry.result)
    return user_error("{}: the last run doesn't update the parameters and doesn't compute `{}`",
                      told("result"), file_.outputs[index].name);
  *result = without_data(entry.type);
  result->data = const_cast<std::byte*>(results_->runner->result(*entry.result));
  return {};
}

Status Instance::bind(const char* name, const cleave_tensor* tensor) {
  const Busy busy(busy_);
  CLEAVE_CHECK(is_ready(busy, "bind"));
  if (name == nullptr) return user_error("{}: the name is NULL", told("bind"));
  if (const auto at = input_by_name_.find(std::string_view(name)); at != input_by_name_.end()) {
    const size_t k = at->second;
    const std::string what = told("bind") + ": input";
    CLEAVE_TRY(const std::optional<size_t> type, choice_.type_of(k, tensor, what));
    if (!type) {
      SizeChoice::Shapes shapes(inputs_.size());
      shapes[k] = shape_of(*tensor);
      return choice_.refusal(shapes).within(told("bind"));
    }
    CLEAVE_CHECK(check_tensor(file_.inputs[k].types[*type], tensor, Strides::given,
                              {what, k, file_.inputs[k].name}));
    inputs_[k] = {static_cast<std::byte*>(tensor->data), type};
    return {};
  }
  CLEAVE_TRY(const size_t k, find_state(name, "bind"));
  const StateEntry& entry = file_.state[k];
  if (entry.kind == StateKind::constant)
    return user_error("{}: `{}` is a constant: set_constants() sets it", told("bind"), name);
  CLEAVE_CHECK(
      check_tensor(entry.type, tensor, Strides::given, {told("bind") + ": state", {}, entry.name}));
  held_[k] = {static_cast<std::byte*>(tensor->data), nullptr};
  is_state_moved_ = true;
  return {};
}

}  // namespace cleave::standalone
