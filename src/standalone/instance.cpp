#include "standalone/instance.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "base/busy.h"
#include "runtime/host_arena.h"
#include "runtime/shared_threads.h"
#include "standalone/cpu_features.h"
#include "standalone/fault_text.h"
#include "standalone/host_memory.h"
#include "standalone/strided_copy.h"

namespace cleave::standalone {
namespace {

constexpr size_t unnumbered = std::string::npos;

std::span<const std::byte> bytes_of(const unsigned char* data, size_t bytes) {
  return {reinterpret_cast<const std::byte*>(data), bytes};
}

// The names of some, and how many there are beside them.
std::string some_of(const std::vector<std::string>& names) {
  std::string out = fmt::format("`{}`", names.front());
  if (names.size() > 1) out += fmt::format(" and {} more", names.size() - 1);
  return out;
}

bool overlap(const std::byte* a, int64_t a_bytes, const std::byte* b, int64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

int64_t bytes_of(const TensorEntry& t) { return extent_bytes(t.shape, t.strides, t.dtype); }

// The folder of the library that holds this address, with a slash behind it.
std::string folder_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash + 1);
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
  CLEAVE_CHECK(at_open(out->make_functions(embedded, options)));
  CLEAVE_CHECK(at_open(out->make_runner(options)));
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

Status Instance::make_functions(const cleave_embedded& embedded, const cleave_options& options) {
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
  if (!missing.empty()) return user_error("callbacks has no function for {}", some_of(missing));
  const Target target{static_cast<InstructionSet>(file_.set)};
  functions_ = std::make_unique<runtime::LibraryCache>(target);
  Functions tables{{embedded.phases, embedded.phase_count},
                   {embedded.operators, embedded.operator_count},
                   callbacks_};
  CLEAVE_TRY(step_, LinkedProgram::link(std::move(file_.step), tables, *functions_));
  if (file_.folding) {
    CLEAVE_TRY(folding_, LinkedProgram::link(*std::move(file_.folding), tables, *functions_));
  }
  return {};
}

Status Instance::make_runner(const cleave_options& options) {
  const int64_t needed = step_->arena_bytes();
  if (options.memory != nullptr) {
    if (std::cmp_less(options.memory_bytes, needed))
      return user_error("memory has {} bytes, expected {} or more", options.memory_bytes, needed);
    if (reinterpret_cast<uintptr_t>(options.memory) % storage_alignment != 0)
      return user_error("memory is at an address that is no multiple of {}", storage_alignment);
    arena_ = std::make_shared<GivenArena>(options.memory, needed);
  } else {
    CLEAVE_TRY(arena_, runtime::make_host_arena(needed));
  }
  runner_ = std::make_unique<Runner>(step_->runnable(), arena_, executor_);
  inputs_.resize(file_.inputs.size());
  for (size_t k = 0; k < file_.inputs.size(); ++k) input_by_name_[file_.inputs[k].tensor.name] = k;
  for (size_t k = 0; k < file_.state.size(); ++k) state_by_name_[file_.state[k].tensor.name] = k;
  return {};
}

Result<Instance::Held> Instance::fresh(int64_t bytes) {
  CLEAVE_TRY(runtime::Arena arena, runtime::Arena::make(bytes));
  auto kept = std::make_shared<runtime::Arena>(std::move(arena));
  alignas(64) static std::byte nothing[64];  // of tensors without elements
  return Held{kept->data() != nullptr ? kept->data() : nothing, kept};
}

Result<Instance::Held> Instance::copy_of(const StateEntry& entry, const cleave_tensor& from) const {
  CLEAVE_TRY(Held out, fresh(entry.bytes));
  int64_t row_major[64];
  const TensorEntry& t = entry.tensor;
  copy_strided({out.data, t.strides}, {from.data, strides_of(from, row_major)}, t.shape, t.dtype);
  return out;
}

// Values of the library, or of a file, for all entries but folded ones.
Status Instance::read_weights(const cleave_embedded& embedded, const cleave_options& options) {
  held_.resize(file_.state.size());
  if (options.weights != nullptr) {
    CLEAVE_CHECK(take_file(options.weights));
  } else if (file_.weights == WeightPlace::beside) {
    CLEAVE_CHECK(take_file(folder_of(embedded.program) + file_.weight_file));
  } else if (file_.weights == WeightPlace::inside) {
    for (size_t k = 0; k < file_.state.size(); ++k) {
      const StateEntry& entry = file_.state[k];
      if (entry.kind == StateKind::folded) continue;
      const unsigned char* at = entry.offset < 0 ? nullptr : embedded.weights + entry.offset;
      if (at != nullptr && !entry.is_updated) {
        held_[k] = {reinterpret_cast<std::byte*>(const_cast<unsigned char*>(at)), nullptr};
        continue;
      }
      CLEAVE_TRY(held_[k], fresh(entry.bytes));
      if (at != nullptr) std::memcpy(held_[k].data, at, static_cast<size_t>(entry.bytes));
    }
  }
  for (size_t k = 0; k < held_.size(); ++k)
    if (file_.state[k].kind == StateKind::state) bind_state(k, held_[k]);
  constants_ = held_;
  if (has_all_constants(constants_)) {
    CLEAVE_CHECK(fold(constants_));
    is_pending_ = true;
    take_pending();
  }
  return {};
}

Status Instance::take_file(const std::string& path) {
  CLEAVE_TRY(weights_, WeightFile::open(path));
  std::vector<std::string> missing;
  for (size_t k = 0; k < file_.state.size(); ++k) {
    const StateEntry& entry = file_.state[k];
    const TensorEntry& t = entry.tensor;
    if (entry.kind == StateKind::folded) continue;
    const auto found = weights_->tensors().find(t.name);
    if (found == weights_->tensors().end()) {
      missing.push_back(t.name);
      continue;
    }
    const FileTensor& value = found->second;
    if (value.dtype != t.dtype || value.shape != t.shape)
      return user_error("{}: `{}` is {}[{}], expected {}", path, t.name, name_of(value.dtype),
                        fmt::join(value.shape, ","), type_text(t.dtype, t.shape, t.strides));
    // The file's bytes may lie anywhere, and row-major.
    const cleave_tensor from{const_cast<std::byte*>(value.data.data()),
                             static_cast<int32_t>(t.dtype), static_cast<int32_t>(t.shape.size()),
                             t.shape.data(), nullptr};
    CLEAVE_TRY(held_[k], copy_of(entry, from));
  }
  weights_.reset();
  if (!missing.empty()) return user_error("{}: it has no tensor {}", path, some_of(missing));
  return {};
}

void Instance::bind_state(size_t k, const Held& held) {
  held_[k] = held;
  if (file_.state[k].placeholder) runner_->bind(*file_.state[k].placeholder, held.data);
}

bool Instance::has_all_constants(const HeldList& constants) const {
  for (size_t k = 0; k < file_.state.size(); ++k)
    if (file_.state[k].kind == StateKind::constant && constants[k].data == nullptr) return false;
  return true;
}

// Computes what depends on constants alone, into memory of its own.
Status Instance::fold(HeldList& constants) const {
  if (!folding_) return {};
  CLEAVE_TRY(std::shared_ptr<ArenaMemory> arena, runtime::make_host_arena(folding_->arena_bytes()));
  Runner runner(folding_->runnable(), std::move(arena), executor_);
  for (size_t k = 0; k < file_.state.size(); ++k)
    if (file_.state[k].operand) runner.bind(*file_.state[k].operand, constants[k].data);
  if (const auto failed = runner.run())
    return user_error("{}", fault_text(folding_->thunks().thunks[failed->thunk], failed->fault));
  for (size_t k = 0; k < file_.state.size(); ++k) {
    const StateEntry& entry = file_.state[k];
    if (entry.kind != StateKind::folded) continue;
    CLEAVE_TRY(constants[k], fresh(entry.bytes));
    if (entry.bytes > 0)
      std::memcpy(constants[k].data, runner.result(*entry.result),
                  static_cast<size_t>(entry.bytes));
  }
  return {};
}

// The newest constants become those of the next run.
void Instance::take_pending() {
  const std::lock_guard lock(mutex_);
  if (!is_pending_) return;
  is_pending_ = false;
  for (size_t k = 0; k < file_.state.size(); ++k)
    if (file_.state[k].kind != StateKind::state) bind_state(k, constants_[k]);
}

Result<size_t> Instance::find_state(const char* name, std::string_view what) const {
  if (name == nullptr) return user_error("{}: the name is NULL", told(what));
  const auto found = state_by_name_.find(std::string_view(name));
  if (found == state_by_name_.end() || file_.state[found->second].kind == StateKind::folded)
    return user_error("{}: the program has no state `{}` ({}_describe() lists what it has)",
                      told(what), name, file_.name);
  return found->second;
}

namespace {

// The type of entry `index` of a list; `what` names the list.
template <class Entries>
Status type_of(const Entries& entries, const std::string& what, size_t index, cleave_tensor* type) {
  if (type == nullptr) return user_error("{}: the tensor is NULL", what);
  if (index >= entries.size())
    return user_error("{}: {} is outside [0, {})", what, index, entries.size());
  const TensorEntry& t = entries[index].tensor;
  *type = {nullptr, static_cast<int32_t>(t.dtype), static_cast<int32_t>(t.shape.size()),
           t.shape.data(), t.strides.data()};
  return {};
}

}  // namespace

Status Instance::input(size_t index, cleave_tensor* type) const {
  return type_of(file_.inputs, told("input"), index, type);
}

Status Instance::output(size_t index, cleave_tensor* type) const {
  return type_of(file_.outputs, told("output"), index, type);
}

Status Instance::bind(const char* name, const cleave_tensor* tensor) {
  const Busy busy(busy_);
  if (!busy.is_mine()) return user_error("{}: the instance is running", told("bind"));
  if (name == nullptr) return user_error("{}: the name is NULL", told("bind"));
  if (const auto at = input_by_name_.find(std::string_view(name)); at != input_by_name_.end()) {
    const InputEntry& input = file_.inputs[at->second];
    CLEAVE_CHECK(
        check_tensor(input.tensor, tensor, Strides::given, told("bind") + ": input", at->second));
    inputs_[at->second] = static_cast<std::byte*>(tensor->data);
    runner_->bind(input.placeholder, tensor->data);
    return {};
  }
  CLEAVE_TRY(const size_t k, find_state(name, "bind"));
  if (file_.state[k].kind == StateKind::constant)
    return user_error("{}: `{}` is a constant: set_constants() sets it", told("bind"), name);
  CLEAVE_CHECK(check_tensor(file_.state[k].tensor, tensor, Strides::given, told("bind") + ": state",
                            unnumbered));
  bind_state(k, {static_cast<std::byte*>(tensor->data), nullptr});
  return {};
}

Status Instance::check_values() const {
  std::vector<std::string> missing;
  for (size_t k = 0; k < held_.size(); ++k)
    if (held_[k].data == nullptr) missing.push_back(file_.state[k].tensor.name);
  if (missing.empty()) return {};
  return user_error("{}: {} has no value: give `weights` to {}_open(), or set each", told("run"),
                    some_of(missing), file_.name);
}

Status Instance::check_inputs(const cleave_tensor* in, size_t count) {
  if (in == nullptr) {
    if (count > 0) return user_error("{}: in is NULL, in_count is {}", told("run"), count);
    for (size_t k = 0; k < inputs_.size(); ++k)
      if (inputs_[k] == nullptr && bytes_of(file_.inputs[k].tensor) > 0)
        return user_error("{}: input {} `{}` is bound to nothing", told("run"), k,
                          file_.inputs[k].tensor.name);
    return {};
  }
  if (count != inputs_.size())
    return user_error("{}: {} inputs, expected {}", told("run"), count, inputs_.size());
  for (size_t k = 0; k < count; ++k) {
    Status s = check_tensor(file_.inputs[k].tensor, &in[k], Strides::given, "input", k);
    if (!s.ok()) return std::move(s).failure().within(told("run"));
  }
  for (size_t k = 0; k < count; ++k) {
    auto* data = static_cast<std::byte*>(in[k].data);
    if (data == inputs_[k]) continue;
    inputs_[k] = data;
    runner_->bind(file_.inputs[k].placeholder, data);
  }
  return {};
}

// What a run writes is nobody else's.
Status Instance::check_apart() const {
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const InputEntry& input = file_.inputs[k];
    const int64_t bytes = bytes_of(input.tensor);
    const auto refused = [&](std::string_view other, const std::string& name) {
      return user_error("{}: input {} `{}` lies in the memory of {} `{}`, one of which is written",
                        told("run"), k, input.tensor.name, other, name);
    };
    if (overlap(inputs_[k], bytes, arena_->data(), arena_->size_bytes()))
      return user_error("{}: input {} `{}` lies in memory of the program: results of its last run",
                        told("run"), k, input.tensor.name);
    for (size_t j = 0; j < inputs_.size(); ++j)
      if (j != k && (input.is_updated || file_.inputs[j].is_updated) &&
          overlap(inputs_[k], bytes, inputs_[j], bytes_of(file_.inputs[j].tensor)))
        return refused("input", file_.inputs[j].tensor.name);
    for (size_t j = 0; j < held_.size(); ++j)
      if ((input.is_updated || file_.state[j].is_updated) &&
          overlap(inputs_[k], bytes, held_[j].data, file_.state[j].bytes))
        return refused("state", file_.state[j].tensor.name);
  }
  return {};
}

Failure Instance::failure_of(const FailedThunk& failed) {
  const bool skips = !file_.skip_text.empty() && failed.fault.message == file_.skip_text;
  if (skips && file_.random) ++reinterpret_cast<int64_t*>(held_[*file_.random].data)[1];
  return user_error("{}: {}{}", told("run"),
                    fault_text(step_->thunks().thunks[failed.thunk], failed.fault),
                    skips ? "; the step was skipped" : "");
}

Status Instance::run(const cleave_tensor* in, size_t in_count, const cleave_tensor* out,
                     size_t out_count) {
  const Busy busy(busy_);
  if (!busy.is_mine())
    return user_error("{}: the instance is running already; open a second one to run two at once",
                      told("run"));
  take_pending();
  CLEAVE_CHECK(check_inputs(in, in_count));
  if (out == nullptr && out_count > 0)
    return user_error("{}: out is NULL, out_count is {}", told("run"), out_count);
  if (out != nullptr && out_count != file_.outputs.size())
    return user_error("{}: {} outputs, expected {}", told("run"), out_count, file_.outputs.size());
  for (size_t k = 0; out != nullptr && k < out_count; ++k) {
    Status s = check_tensor(file_.outputs[k].tensor, &out[k], Strides::apart, "output", k);
    if (!s.ok()) return std::move(s).failure().within(told("run"));
  }
  CLEAVE_CHECK(check_values());
  CLEAVE_CHECK(check_apart());
  has_results_ = false;
  if (const auto failed = runner_->run()) return failure_of(*failed);
  has_results_ = true;
  for (size_t k = 0; out != nullptr && k < out_count; ++k) {
    const TensorEntry& t = file_.outputs[k].tensor;
    int64_t row_major[64];
    copy_strided({out[k].data, strides_of(out[k], row_major)},
                 {const_cast<std::byte*>(runner_->result(file_.outputs[k].result)), t.strides},
                 t.shape, t.dtype);
  }
  return {};
}

Status Instance::result(size_t index, cleave_tensor* result) const {
  CLEAVE_CHECK(type_of(file_.outputs, told("result"), index, result));
  if (!has_results_)
    return user_error("{}: there is none: the instance did not run yet, or the last run failed",
                      told("result"));
  result->data = const_cast<std::byte*>(runner_->result(file_.outputs[index].result));
  return {};
}

Status Instance::get_state(const char* name, const cleave_tensor* to) {
  const Busy busy(busy_);
  if (!busy.is_mine()) return user_error("{}: the instance is running", told("get_state"));
  CLEAVE_TRY(const size_t k, find_state(name, "get_state"));
  const TensorEntry& t = file_.state[k].tensor;
  take_pending();
  CLEAVE_CHECK(check_tensor(t, to, Strides::apart, told("get_state") + ":", unnumbered));
  if (held_[k].data == nullptr) return user_error("{}: `{}` has no value", told("get_state"), name);
  int64_t row_major[64];
  copy_strided({to->data, strides_of(*to, row_major)}, {held_[k].data, t.strides}, t.shape,
               t.dtype);
  return {};
}

Status Instance::set_state(const char* name, const cleave_tensor* from) {
  const Busy busy(busy_);
  if (!busy.is_mine()) return user_error("{}: the instance is running", told("set_state"));
  CLEAVE_TRY(const size_t k, find_state(name, "set_state"));
  const StateEntry& entry = file_.state[k];
  if (entry.kind == StateKind::constant)
    return user_error("{}: `{}` is a constant: set_constants() sets it", told("set_state"), name);
  CLEAVE_CHECK(check_tensor(entry.tensor, from, Strides::any, told("set_state") + ":", unnumbered));
  Held& held = held_[k];
  const bool is_bound = held.data != nullptr && held.own == nullptr && entry.is_updated;
  if (held.own == nullptr && !is_bound) {
    CLEAVE_TRY(const Held copy, copy_of(entry, *from));
    bind_state(k, copy);
    return {};
  }
  int64_t row_major[64];
  copy_strided({held.data, entry.tensor.strides}, {from->data, strides_of(*from, row_major)},
               entry.tensor.shape, entry.tensor.dtype);
  return {};
}

Status Instance::set_constants(const char* const* names, const cleave_tensor* from, size_t count) {
  if (count > 0 && (names == nullptr || from == nullptr))
    return user_error("{}: names or tensors are NULL, their count is {}", told("set_constants"),
                      count);
  const std::lock_guard one(setting_);
  HeldList next;
  {
    const std::lock_guard lock(mutex_);
    next = constants_;
  }
  for (size_t i = 0; i < count; ++i) {
    CLEAVE_TRY(const size_t k, find_state(names[i], "set_constants"));
    const StateEntry& entry = file_.state[k];
    if (entry.kind != StateKind::constant)
      return user_error("{}: `{}` is no constant: set_state() sets it", told("set_constants"),
                        names[i]);
    CLEAVE_CHECK(
        check_tensor(entry.tensor, &from[i], Strides::any, told("set_constants") + ":", i));
    CLEAVE_TRY(next[k], copy_of(entry, from[i]));
  }
  if (has_all_constants(next))
    if (Status s = fold(next); !s.ok()) return std::move(s).failure().within(told("set_constants"));
  const std::lock_guard lock(mutex_);
  constants_ = std::move(next);
  is_pending_ = true;
  return {};
}

}  // namespace cleave::standalone
