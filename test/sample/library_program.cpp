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
  Status set_state(const std::string& name, HostTensor& from) {
    const CTensor t(from);
    cleave_error error{};
    using Set = int(cleave_instance*, const char*, const cleave_tensor*, cleave_error*);
    if (get<Set>("set_state")(instance_, name.c_str(), &t.tensor, &error) == CLEAVE_DONE) return {};
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

bool is_updated(const Graph& g, const Placeholder& p) {
  return std::ranges::any_of(g.returns(), [&](const Return& r) {
    return r.kind == ReturnKind::update && r.target == p.value;
  });
}

// A source of all runs, and what each of them passes.
class Runs {
 public:
  Runs(std::span<const LibraryRun> runs, const OpRegistry& ops, const StageOptions& options)
      : runs_(runs) {
    source_.ops = &ops;
    source_.options = options;
    if (runs.size() > 1) source_.sizes.push_back({"size", 0, std::nullopt});
    for (const LibraryRun& run : runs) add(run);
  }
  const ahead::Source& source() const { return source_; }

  Result<Memory> run(Library& library, size_t n) const {
    const Graph& g = runs_[n].graph;
    const ahead::Source::Program& program = source_.sized[n].step;
    HostTensors in, out;
    for (size_t k = 0; k < runs_[n].inputs.size(); ++k) {
      const Placeholder& p = g.placeholders()[k];
      const std::string& name = g.name(p.value);
      HostTensor value = tensor_of(g.type(p.value), runs_[n].inputs[k]);
      if (const auto at = program.state.find(name); at != program.state.end()) {
        const ahead::Source::State& entry = source_.state[at->second];
        if (entry.kind == standalone::StateKind::state)
          CLEAVE_CHECK(library.set_state(entry.name, value));
      } else if (!program.sizes.contains(name)) {
        in.push_back(std::move(value));
      }
    }
    for (const auto& at : program.outputs) {
      const Type& t = returned_type(g, *at);
      out.emplace_back(t.dtype, static_shape(t));
    }
    CLEAVE_CHECK(library.run({in.begin(), in.end()}, {out.begin(), out.end()}));
    Memory results;
    size_t next = 0;
    for (const Return& r : g.returns()) {
      const bool updates = r.kind == ReturnKind::update;
      const Type& t = g.type(updates ? r.target : r.value);
      HostTensor value = updates ? HostTensor(t.dtype, static_shape(t)) : std::move(out[next++]);
      if (updates)
        CLEAVE_CHECK(library.state(source_.state[program.state.at(g.name(r.target))].name, value));
      const auto* data = static_cast<const std::byte*>(value.data());
      results.emplace_back(data, data + value.bytes());
    }
    return results;
  }

 private:
  void add(const LibraryRun& run) {
    const Graph& g = run.graph;
    const bool is_first = source_.sized.empty();
    ahead::Source::Sized& sized =
        source_.sized.emplace_back(ahead::Source::Sized{{}, {.graph = g, .inputs = {}}});
    if (!source_.sizes.empty()) sized.sizes = {run.size};
    for (size_t k = 0; k < run.inputs.size(); ++k) {
      const Placeholder& p = g.placeholders()[k];
      const std::string& name = g.name(p.value);
      if (p.role == Role::symint && runs_.size() > 1) {
        sized.step.sizes[name] = 0;
      } else if (p.role == Role::input && !is_updated(g, p)) {
        if (is_first) source_.inputs.push_back(name);
        sized.step.inputs.push_back(name);
      } else {
        sized.step.state[name] = entry_of(run, k);
      }
    }
    for (size_t k = 0; k < g.returns().size(); ++k) {
      if (g.returns()[k].kind == ReturnKind::update) continue;
      if (is_first) source_.outputs.push_back(fmt::format("out.{}", k));
      sized.step.outputs.emplace_back(k);
    }
  }

  size_t entry_of(const LibraryRun& run, size_t k) {
    const Placeholder& p = run.graph.placeholders()[k];
    const bool varies = std::ranges::any_of(runs_, [&](const LibraryRun& other) {
      return !(other.graph.type(other.graph.placeholders()[k].value) == run.graph.type(p.value));
    });
    std::string name = run.graph.name(p.value);
    if (varies) name += fmt::format("@{}", run.size);
    const auto known = std::ranges::find(source_.state, name, &ahead::Source::State::name);
    if (known != source_.state.end()) return static_cast<size_t>(known - source_.state.begin());
    const auto kind = p.role == Role::constant && !is_updated(run.graph, p)
                          ? standalone::StateKind::constant
                          : standalone::StateKind::state;
    source_.state.push_back({name, std::string(name_of(p.role)), kind,
                             tensor_of(run.graph.type(p.value), run.inputs[k])});
    return source_.state.size() - 1;
  }

  const std::span<const LibraryRun> runs_;
  ahead::Source source_;
};

}  // namespace

Result<std::vector<Result<Memory>>> run_library(std::span<const LibraryRun> runs,
                                                const OpRegistry& ops,
                                                const StageOptions& options) {
  static const auto folder =
      value_or_throw(runtime::PrivateFolder::make(std::filesystem::temp_directory_path()));
  const Runs all(runs, ops, options);
  CLEAVE_TRY(const BuiltLibrary built,
             ahead::build_library(all.source(), folder->path() + "/g.so", {.name = "g"}));
  CLEAVE_TRY(const auto library, Library::open(built.path));
  std::vector<Result<Memory>> out;
  for (size_t n = 0; n < runs.size(); ++n) out.push_back(all.run(*library, n));
  return out;
}

}  // namespace cleave::law
