#include "exec/bound_program.h"

#include <algorithm>
#include <set>

#include "base/busy.h"
#include "ir/edit.h"
#include "ir/text.h"
#include "runtime/thread_pool.h"
#include "trace/tracing.h"

namespace cleave {
namespace {

HostMemory memory_of(void* data, const HostTensor& t) { return {data, t.bytes(), t.dtype()}; }

std::string spec_text(const InputSpec& s) {
  return fmt::format("{}[{}]", name_of(s.dtype), fmt::join(s.shape, ","));
}

// What the host program's function assigns, and is forgotten if the function throws.
struct Assigned {
  trace::Recording& recording;
  bool are_taken = false;
  ~Assigned() {
    if (!are_taken) recording.forget_assigned();
  }
};

}  // namespace

Result<std::unique_ptr<BoundProgram>> BoundProgram::make(Parts parts, const std::string& what,
                                                         const CompileOptions& options) {
  std::unique_ptr<BoundProgram> p(new BoundProgram);
  p->what_ = what;
  p->specs_ = std::move(parts.specs);
  p->traced_ = std::move(parts.graph);

  if (options.threads < 0)
    return user_error("{}: threads is {}, expected 0 or more", what, options.threads);
  StageOptions stages{options};
  if (!stages.executor) { CLEAVE_TRY(stages.executor, runtime::start_threads(options.threads)); }
  stages.forward_results = parts.forward_results;
  CLEAVE_TRY(p->program_, CompiledProgram::compile(p->traced_, options.ops.registry(), stages));
  p->report_ = p->program_->report();
  p->report_.nodes = static_cast<int64_t>(p->traced_.node_count());
  std::vector<CompilePass>& passes = p->report_.passes;
  passes.insert(passes.begin(), parts.passes.begin(), parts.passes.end());
  CLEAVE_TRY(p->instance_, Instance::make(p->program_, stages.executor));

  // The memory of each placeholder, by its position.
  const auto& placeholders = p->traced_.placeholders();
  std::map<ValueId, size_t> position;
  for (size_t i = 0; i < placeholders.size(); ++i) position[placeholders[i].value] = i;
  for (const trace::Recording::Bound& b : parts.variables)
    if (const auto at = position.find(b.placeholder); at != position.end())
      p->variables_.push_back({at->second, b.variable, nullptr});
  for (const ValueId v : parts.inputs) p->inputs_.push_back(position.at(v));
  for (const auto& [v, memory] : parts.own)
    if (const auto at = position.find(v); at != position.end())
      CLEAVE_CHECK(p->instance_->bind(at->second, memory_of(memory->data(), *memory)));
  return p;
}

Status BoundProgram::check_input(const InputRef& input, size_t k) const {
  const InputSpec& spec = specs_[k];
  const HostTensor& t = input.tensor();
  if (t.dtype() == spec.dtype && t.shape() == spec.shape) return {};
  return user_error("{}: input {} `{}`: got {}, expected {}", what_, k, spec.name, t.type_text(),
                    spec_text(spec));
}

Status BoundProgram::run(std::span<const InputRef> inputs) {
  if (inputs.size() != inputs_.size()) {
    std::vector<std::string> names;
    for (const InputSpec& s : specs_) names.push_back(s.name + ": " + spec_text(s));
    return user_error("{}: {} inputs were given, expected {}: {}", what_, inputs.size(),
                      inputs_.size(), fmt::join(names, ", "));
  }
  for (size_t k = 0; k < inputs.size(); ++k) CLEAVE_CHECK(check_input(inputs[k], k));
  const Busy busy(running_);
  if (!busy.is_mine())
    return user_error("{}: it is running on another thread; one program runs once at a time",
                      what_);
  for (Bound& b : variables_) {
    HostTensor& tensor = trace::Access::memory(b.variable);
    void* data = tensor.data();
    if (data == b.data) continue;
    CLEAVE_CHECK(instance_->bind(b.placeholder, memory_of(data, tensor)));
    b.data = data;
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    // Inputs are never written: an update of one is refused when the program is traced.
    const HostTensor* tensor = &inputs[k].tensor();
    if (is_written(*tensor)) {
      copies_.resize(inputs_.size());
      copies_[k] = *tensor;
      tensor = &copies_[k];
      ++report_.copied_inputs;
    }
    void* data = const_cast<void*>(tensor->data());
    CLEAVE_CHECK(instance_->bind(inputs_[k], memory_of(data, *tensor)));
  }
  return instance_->run();
}

// Results of an earlier run lie in the arena; a Variable may be updated in place.
bool BoundProgram::is_written(const HostTensor& input) const {
  if (input.bytes() == 0) return false;
  if (instance_->overlaps_arena(input.data(), input.bytes())) return true;
  const auto* begin = static_cast<const std::byte*>(input.data());
  return std::ranges::any_of(variables_, [&](const Bound& b) {
    const auto* memory = static_cast<const std::byte*>(b.data);
    return begin < memory + b.variable.value().bytes() && memory < begin + input.bytes();
  });
}

Result<std::vector<InputRef>> BoundProgram::in_order(std::span<const NamedInput> inputs) const {
  std::vector<const NamedInput*> found(specs_.size());
  for (const NamedInput& in : inputs) {
    const auto spec = std::ranges::find(specs_, in.name, &InputSpec::name);
    if (spec == specs_.end()) {
      std::vector<std::string> names;
      for (const InputSpec& s : specs_) names.push_back(s.name);
      return user_error("{}: there is no input `{}`; inputs are {}", what_, in.name,
                        fmt::join(names, ", "));
    }
    const NamedInput*& place = found[static_cast<size_t>(spec - specs_.begin())];
    if (place) return user_error("{}: input `{}` is given twice", what_, in.name);
    place = &in;
  }
  std::vector<InputRef> out;
  for (size_t k = 0; k < found.size(); ++k) {
    if (!found[k]) return user_error("{}: input `{}` is missing", what_, specs_[k].name);
    out.push_back(found[k]->tensor);
  }
  return out;
}

HostTensor BoundProgram::result(size_t k, std::shared_ptr<void> keep) const {
  const Type& type = traced_.type(traced_.returns()[k].value);
  return HostTensor::borrow(type.dtype, static_shape(type), const_cast<void*>(instance_->result(k)),
                            std::move(keep));
}

double BoundProgram::number(size_t k) const {
  const void* data = instance_->result(k);
  switch (traced_.type(traced_.returns()[k].value).dtype) {
    case DType::f64: return *static_cast<const double*>(data);
    case DType::f32: return *static_cast<const float*>(data);
    default: return result(k).number(0);
  }
}

std::vector<ValueId> declare_inputs(trace::Recording& recording,
                                    const std::vector<InputSpec>& inputs, Location at) {
  std::vector<ValueId> out;
  const Graph& graph = recording.graph();
  for (const InputSpec& s : inputs) {
    if (const ValueId taken = graph.find(s.name); taken.valid()) {
      if (std::ranges::find(out, taken) != out.end())
        trace::refuse(at, "{}: two inputs have the name `{}`", recording.what(), s.name);
      trace::refuse(at, "{}: input `{}`: the model has a {} of this name", recording.what(), s.name,
                    graph.placeholder_of(taken)->role == Role::buffer ? "buffer" : "parameter");
    }
    for (const int64_t d : s.shape)
      if (d < 0)
        trace::refuse(at, "{}: input `{}`: dim {} is negative: {}", recording.what(), s.name, d,
                      spec_text(s));
    out.push_back(recording.add_input(s.name, s.dtype, s.shape, Role::input, at));
  }
  return out;
}

Tensors run_traced(const TracedFunction& function, const trace::RecordingPtr& recording,
                   const std::vector<ValueId>& inputs, Location at) {
  if (function.arity() >= 0 && static_cast<size_t>(function.arity()) != inputs.size())
    trace::refuse(at, "{}: the function takes {} Tensors, the specs name {} inputs",
                  recording->what(), function.arity(), inputs.size());
  Tensors tensors;
  for (const ValueId v : inputs) tensors.push_back(trace::Access::tensor(recording, v));
  recording->forget_assigned();
  Assigned assigned{*recording};
  Tensors results;
  {
    const trace::Within program(&trace::Tracing::program, recording.get());
    results = function(tensors);
  }
  assigned.are_taken = true;
  recording->take_assigned(at);
  for (size_t k = 0; k < results.size(); ++k)
    if (!results[k].defined())
      trace::refuse(at, "{}: result {} of the function is an empty Tensor", recording->what(), k);
  return results;
}

void declare_model(trace::Recording& recording, const nn::Module& model) {
  recording.set_modules(trace::ModulePaths::of(model));
  for (const auto& [name, v] : model.named_parameters()) recording.declare(v, name);
  for (const auto& [name, v] : model.named_buffers()) recording.declare(v, name);
}

void drop_unused(Graph& graph, const std::vector<ValueId>& keep) {
  eliminate_dead_code(graph);
  std::set<ValueId> returned(keep.begin(), keep.end());
  for (const Return& r : graph.returns()) {
    returned.insert(r.value);
    returned.insert(r.target);
  }
  graph.filter_placeholders([&](const Placeholder& p) {
    return graph.use_count(p.value) > 0 || returned.contains(p.value);
  });
}

}  // namespace cleave
