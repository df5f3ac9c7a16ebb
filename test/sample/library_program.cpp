#include "test/sample/library_program.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "ahead/build_library.h"
#include "interp/array_memory.h"
#include "ir/strides.h"
#include "runtime/private_folder.h"
#include "standalone/interface.h"

namespace cleave::law {
namespace {

HostTensor tensor_of(const Type& type, const Array& a) {
  HostTensor out(type.dtype, static_shape(type), strides_of(type));
  to_memory(a, type, out.data());
  return out;
}

struct CTensor {
  explicit CTensor(HostTensor& t)
      : strides(t.strides()),
        tensor{t.data(), static_cast<int32_t>(t.dtype()), static_cast<int32_t>(t.rank()),
               t.shape().data(), strides.data()} {}
  std::vector<int64_t> strides;
  cleave_tensor tensor;
};

std::vector<cleave_tensor> all_of(const std::vector<CTensor>& tensors) {
  std::vector<cleave_tensor> out;
  for (const CTensor& t : tensors) out.push_back({t.tensor});
  for (size_t k = 0; k < out.size(); ++k) out[k].strides = tensors[k].strides.data();
  return out;
}

class Library {
 public:
  static Result<std::unique_ptr<Library>> open(const std::string& path) {
    std::unique_ptr<Library> out(new Library);
    out->handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (out->handle_ == nullptr) return bug("the library doesn't open: {}", dlerror());
    cleave_error error{};
    out->instance_ =
        out->get<cleave_instance*(const void*, cleave_error*)>("open")(nullptr, &error);
    if (out->instance_ == nullptr) return user_error("{}", error.message);
    return out;
  }
  ~Library() {
    if (instance_ != nullptr) get<void(cleave_instance*)>("close")(instance_);
    if (handle_ != nullptr) dlclose(handle_);
  }
  Status run(const std::vector<CTensor>& in, const std::vector<CTensor>& out) {
    const std::vector<cleave_tensor> a = all_of(in), b = all_of(out);
    cleave_error error{};
    using Run = int(cleave_instance*, const cleave_tensor*, size_t, const cleave_tensor*, size_t,
                    cleave_error*);
    if (get<Run>("run")(instance_, a.data(), a.size(), b.data(), b.size(), &error) == CLEAVE_DONE)
      return {};
    return user_error("{}", error.message);
  }
  Status state(const std::string& name, HostTensor& to) {
    const CTensor t(to);
    cleave_error error{};
    using Get = int(cleave_instance*, const char*, const cleave_tensor*, cleave_error*);
    if (get<Get>("get_state")(instance_, name.c_str(), &t.tensor, &error) == CLEAVE_DONE) return {};
    return user_error("{}", error.message);
  }

 private:
  template <class F>
  F* get(const char* function) const {
    return reinterpret_cast<F*>(dlsym(handle_, (std::string("g_") + function).c_str()));
  }
  void* handle_ = nullptr;
  cleave_instance* instance_ = nullptr;
};

}  // namespace

Result<Memory> run_library(const Graph& g, const OpRegistry& ops, const StageOptions& options,
                           const Arrays& inputs) {
  static const auto folder =
      value_or_throw(runtime::PrivateFolder::make(std::filesystem::temp_directory_path()));
  ahead::Source source;
  source.sized.push_back({{}, {g, {}}});
  ahead::Source::Program& program = source.sized[0].step;
  source.ops = &ops;
  source.options = options;
  HostTensors in, out;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Placeholder& p = g.placeholders()[k];
    const std::string& name = g.name(p.value);
    const bool is_updated = std::ranges::any_of(g.returns(), [&](const Return& r) {
      return r.kind == ReturnKind::update && r.target == p.value;
    });
    HostTensor value = tensor_of(g.type(p.value), inputs[k]);
    if (p.role == Role::input && !is_updated) {
      source.inputs.push_back(name);
      program.inputs.push_back(name);
      in.push_back(std::move(value));
    } else {
      const auto kind = p.role == Role::constant && !is_updated ? standalone::StateKind::constant
                                                                : standalone::StateKind::state;
      program.state[name] = source.state.size();
      source.state.push_back({name, std::string(name_of(p.role)), kind, std::move(value)});
    }
  }
  for (size_t k = 0; k < g.returns().size(); ++k) {
    if (g.returns()[k].kind == ReturnKind::update) continue;
    source.outputs.push_back(fmt::format("out.{}", k));
    program.outputs.emplace_back(k);
    const Type& t = g.type(g.returns()[k].value);
    out.emplace_back(t.dtype, static_shape(t));
  }
  CLEAVE_TRY(const BuiltLibrary built,
             ahead::build_library(source, folder->path() + "/g.so", {.name = "g"}));
  CLEAVE_TRY(const auto library, Library::open(built.path));
  CLEAVE_CHECK(library->run({in.begin(), in.end()}, {out.begin(), out.end()}));
  Memory results;
  size_t next = 0;
  for (const Return& r : g.returns()) {
    const bool updates = r.kind == ReturnKind::update;
    const Type& t = g.type(updates ? r.target : r.value);
    HostTensor value = updates ? HostTensor(t.dtype, static_shape(t)) : std::move(out[next++]);
    if (updates) CLEAVE_CHECK(library->state(g.name(r.target), value));
    const auto* data = static_cast<const std::byte*>(value.data());
    results.emplace_back(data, data + value.bytes());
  }
  return results;
}

}  // namespace cleave::law
