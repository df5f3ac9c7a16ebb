// The state and the constants of an instance.
#include <dlfcn.h>

#include <array>
#include <cstring>

#include "runtime/host_arena.h"
#include "standalone/fault_text.h"
#include "standalone/instance.h"
#include "standalone/some_of.h"
#include "standalone/strided_copy.h"

namespace cleave::standalone {
namespace {

// The folder of the library that holds this address, with a slash behind it.
std::string folder_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

void copy_in(std::byte* to, const TensorType& type, const cleave_tensor& from) {
  std::array<int64_t, most_dims> row_major{};
  copy_strided({to, type.strides}, {from.data, strides_of(from, row_major.data())}, type.shape,
               type.dtype);
}

}  // namespace

Result<Instance::Held> Instance::fresh(int64_t bytes) {
  CLEAVE_TRY(runtime::Arena arena, runtime::Arena::make(bytes));
  auto kept = std::make_shared<runtime::Arena>(std::move(arena));
  alignas(64) static std::byte nothing[64];  // of tensors without elements
  return Held{kept->data() != nullptr ? kept->data() : nothing, kept};
}

Result<Instance::Held> Instance::copy_of(const StateEntry& entry, const cleave_tensor& from) const {
  CLEAVE_TRY(Held out, fresh(entry.bytes));
  copy_in(out.data, entry.type, from);
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
    const TensorType& t = entry.type;
    if (entry.kind == StateKind::folded) continue;
    const auto found = weights_->tensors().find(entry.name);
    if (found == weights_->tensors().end()) {
      missing.push_back(entry.name);
      continue;
    }
    const FileTensor& value = found->second;
    if (value.dtype != t.dtype || value.shape != t.shape)
      return user_error("{}: `{}` is {}, expected {}", path, entry.name,
                        type_text(value.dtype, value.shape), type_text(t));
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

bool Instance::has_all_constants(const HeldList& constants) const {
  for (size_t k = 0; k < file_.state.size(); ++k)
    if (file_.state[k].kind == StateKind::constant && constants[k].data == nullptr) return false;
  return true;
}

// Computes what depends on constants alone, into memory of its own.
Status Instance::fold(HeldList& constants) const {
  for (size_t k = 0; k < foldings_.size(); ++k) CLEAVE_CHECK(fold(k, constants));
  return {};
}

Status Instance::fold(size_t folding, HeldList& constants) const {
  const LinkedProgram& program = *foldings_[folding];
  CLEAVE_TRY(std::shared_ptr<ArenaMemory> arena, runtime::make_host_arena(program.arena_bytes()));
  Runner runner(program.runnable(), std::move(arena), executor_);
  const Placeholders& operands = file_.foldings[folding].state;
  for (size_t k = 0; k < operands.size(); ++k)
    if (operands[k]) runner.bind(*operands[k], constants[k].data);
  if (const auto failed = runner.run())
    return user_error("{}", fault_text(program.thunks().thunks[failed->thunk], failed->fault));
  for (size_t k = 0; k < file_.state.size(); ++k) {
    const StateEntry& entry = file_.state[k];
    if (entry.kind != StateKind::folded || entry.folding != folding) continue;
    CLEAVE_TRY(constants[k], fresh(entry.bytes));
    if (entry.bytes > 0)
      std::memcpy(constants[k].data, runner.result(entry.result), static_cast<size_t>(entry.bytes));
  }
  return {};
}

// The newest constants become those of the next run.
void Instance::take_pending() {
  const std::lock_guard lock(mutex_);
  if (!is_pending_) return;
  is_pending_ = false;
  for (size_t k = 0; k < file_.state.size(); ++k)
    if (file_.state[k].kind != StateKind::state) held_[k] = constants_[k];
}

Result<size_t> Instance::find_state(const char* name, std::string_view what) const {
  if (name == nullptr) return user_error("{}: the name is NULL", told(what));
  const auto found = state_by_name_.find(std::string_view(name));
  if (found == state_by_name_.end())
    return user_error("{}: the program has no state `{}` ({}_describe() lists what it has)",
                      told(what), name, file_.name);
  return found->second;
}

Status Instance::is_ready(const Busy& busy, std::string_view what) const {
  if (busy.is_mine()) return {};
  return user_error("{}: the instance is running", told(what));
}

Status Instance::get_state(const char* name, const cleave_tensor* to) {
  const Busy busy(busy_);
  CLEAVE_CHECK(is_ready(busy, "get_state"));
  CLEAVE_TRY(const size_t k, find_state(name, "get_state"));
  const TensorType& t = file_.state[k].type;
  take_pending();
  CLEAVE_CHECK(check_tensor(t, to, Strides::apart, {told("get_state") + ":", {}, name}));
  if (held_[k].data == nullptr) return user_error("{}: `{}` has no value", told("get_state"), name);
  std::array<int64_t, most_dims> row_major{};
  copy_strided({to->data, strides_of(*to, row_major.data())}, {held_[k].data, t.strides}, t.shape,
               t.dtype);
  return {};
}

Status Instance::set_state(const char* name, const cleave_tensor* from) {
  const Busy busy(busy_);
  CLEAVE_CHECK(is_ready(busy, "set_state"));
  CLEAVE_TRY(const size_t k, find_state(name, "set_state"));
  const StateEntry& entry = file_.state[k];
  if (entry.kind == StateKind::constant)
    return user_error("{}: `{}` is a constant: set_constants() sets it", told("set_state"), name);
  CLEAVE_CHECK(check_tensor(entry.type, from, Strides::any, {told("set_state") + ":", {}, name}));
  Held& held = held_[k];
  const bool is_bound = held.data != nullptr && held.own == nullptr && entry.is_updated;
  if (held.own == nullptr && !is_bound) {
    CLEAVE_TRY(held, copy_of(entry, *from));
    return {};
  }
  copy_in(held.data, entry.type, *from);
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
    CLEAVE_CHECK(check_tensor(entry.type, &from[i], Strides::any,
                              {told("set_constants") + ":", i, names[i]}));
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
