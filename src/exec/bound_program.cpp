#include "exec/bound_program.h"

#include <algorithm>
#include <set>

#include "ir/edit.h"
#include "ir/text.h"
#include "pass/freeze/frozen_values.h"
#include "runtime/shared_threads.h"
#include "trace/tracing.h"

namespace cleave {
namespace {

HostMemory memory_of(void* data, const HostTensor& t) { return {data, t.bytes(), t.dtype()}; }

}  // namespace

Result<std::shared_ptr<const ProgramCode>> ProgramCode::make(Parts parts,
                                                             const CompileOptions& options) {
  auto p = std::make_shared<ProgramCode>();
  p->options = options;
  p->traced = std::move(parts.graph);
  p->results = parts.results;
  p->marks = std::move(parts.marks);

  StageOptions stages{options};
  if (!stages.executor) { CLEAVE_TRY(stages.executor, runtime::shared_threads(options.threads)); }
  p->executor = stages.executor;
  stages.forward_results = parts.forward_results;
  CLEAVE_TRY(p->program, CompiledProgram::compile(p->traced, options.ops.registry(), stages));
  p->report = p->program->report();
  p->report.trace_ms = parts.trace_ms;
  p->report.warnings = std::move(parts.warnings);
  p->report.nodes = static_cast<int64_t>(p->traced.node_count());
  std::vector<CompilePass>& passes = p->report.passes;
  passes.insert(passes.begin(), parts.passes.begin(), parts.passes.end());

  // The memory of each placeholder, by its position. A frozen program lacks some, and has others.
  const Graph& lowered = p->program->graph();
  std::map<ValueId, size_t> position;
  for (const Placeholder& q : p->traced.placeholders())
    if (const ValueId v = lowered.find(p->traced.name(q.value));
        v.valid() && lowered.placeholder_of(v))
      position[q.value] = lowered.value(v).index;
  for (const trace::Recording::Bound& b : parts.variables)
    if (const auto at = position.find(b.placeholder); at != position.end())
      p->variables.emplace_back(at->second, b.variable);
  for (const ValueId v : parts.inputs) p->inputs.push_back(position.at(v));
  for (const auto& [v, memory] : parts.own)
    if (const auto at = position.find(v); at != position.end())
      p->own.emplace_back(at->second, memory);
  if (options.freeze) {
    std::vector<FoldedValues::Frozen> frozen;
    for (const auto& [v, variable] : parts.variables)
      if (is_kept(p->traced, v))
        frozen.push_back({p->traced.name(v), variable, !position.contains(v)});
    const auto& part = p->program->frozen_part();
    CLEAVE_TRY(p->folded, parts.folded->get(part, frozen, p->executor));
    for (const std::string& name : p->program->folded())
      p->folded_at.push_back(lowered.value(lowered.find(name)).index);
  }
  return std::shared_ptr<const ProgramCode>(std::move(p));
}

Result<std::unique_ptr<BoundProgram>> BoundProgram::make(std::shared_ptr<const ProgramCode> code,
                                                         std::shared_ptr<ArenaMemory> arena) {
  std::unique_ptr<BoundProgram> p(new BoundProgram);
  CLEAVE_TRY(p->instance_, Instance::make(code->program, code->executor, std::move(arena)));
  const Graph& g = code->program->graph();
  std::set<size_t> updated;
  for (const Return& r : g.returns())
    if (r.kind == ReturnKind::update) updated.insert(g.value(r.target).index);
  for (const auto& [placeholder, variable] : code->variables) {
    if (updated.contains(placeholder)) p->assigned_.push_back(p->variables_.size());
    p->variables_.push_back({placeholder, variable, nullptr});
  }
  for (const auto& [placeholder, memory] : code->own)
    CLEAVE_CHECK(p->instance_->bind(placeholder, memory_of(memory->data(), *memory)));
  p->report_ = code->report;
  p->code_ = std::move(code);
  return p;
}

bool BoundProgram::assigns_variables() const {
  return std::ranges::any_of(traced().returns(),
                             [](const Return& r) { return r.kind == ReturnKind::update; });
}

Status BoundProgram::bind_folded() {
  CLEAVE_CHECK(code_->folded->check());
  const std::shared_ptr<const FoldedValues::List> newer = code_->folded->newer_than(folded_);
  if (!newer) return {};
  for (size_t k = 0; k < newer->size(); ++k) {
    const HostTensor& bytes = (*newer)[k];
    void* data = const_cast<void*>(bytes.data());  // placeholders of role const aren't written
    CLEAVE_CHECK(instance_->bind(code_->folded_at[k], {data, bytes.bytes()}));
  }
  folded_ = newer;
  return {};
}

Status BoundProgram::run(std::span<const InputRef> inputs) {
  if (code_->folded) CLEAVE_CHECK(bind_folded());
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
      copies_.resize(inputs.size());
      copies_[k] = *tensor;
      tensor = &copies_[k];
      ++report_.copied_inputs;
    }
    void* data = const_cast<void*>(tensor->data());
    CLEAVE_CHECK(instance_->bind(code_->inputs[k], memory_of(data, *tensor)));
  }
  CLEAVE_CHECK(instance_->run());
  for (const size_t k : assigned_) trace::Access::written(variables_[k].variable);
  return {};
}

Result<HostTensors> BoundProgram::recompute(const Values& values,
                                            std::span<const InputRef> inputs) const {
  Graph g = code_->traced;
  std::vector<Return> returns;
  for (const ValueId v : values) returns.push_back({v});
  g.set_returns(std::move(returns));
  eliminate_dead_code(g);
  CompileOptions plain;
  plain.compiler = CompilerChoice::none;
  plain.target = code_->options.target;
  plain.passes_off = {"all"};
  StageOptions stages{plain};
  stages.executor = code_->executor;
  stages.fuse = false;
  const OpRegistry& ops = code_->options.ops.registry();
  auto made = CompiledProgram::compile(g, ops, stages);
  if (!made.ok() && made.failure().kind == ErrorKind::unsupported) {  // a kernel in C
    stages.compiler = code_->options.compiler;
    made = CompiledProgram::compile(g, ops, stages);
  }
  CLEAVE_TRY(const auto program, std::move(made));
  CLEAVE_TRY(const std::unique_ptr<Instance> run, Instance::make(program, stages.executor));
  const auto bind = [&](size_t placeholder, const HostTensor& t) {
    return run->bind(placeholder, memory_of(const_cast<void*>(t.data()), t));
  };
  for (const auto& [placeholder, memory] : code_->own) CLEAVE_CHECK(bind(placeholder, *memory));
  for (const Bound& b : variables_)
    CLEAVE_CHECK(bind(b.placeholder, trace::Access::memory(b.variable)));
  for (size_t k = 0; k < inputs.size(); ++k) {
    const HostTensor& given = inputs[k].tensor();
    CLEAVE_CHECK(bind(code_->inputs[k], is_written(given) ? copies_[k] : given));
  }
  CLEAVE_CHECK(run->run());
  HostTensors out;
  for (size_t k = 0; k < values.size(); ++k) {
    const Type& type = g.type(values[k]);
    const HostTensor view =
        HostTensor::borrow(type.dtype, static_shape(type), const_cast<void*>(run->result(k)));
    out.push_back(HostTensor(view));
  }
  return out;
}

// Results of an earlier run lie in the arena; a Variable may be updated in place.
bool BoundProgram::is_written(const HostTensor& input) const {
  if (input.bytes() == 0) return false;
  if (instance_->overlaps_arena(input.data(), input.bytes())) return true;
  const auto* begin = static_cast<const std::byte*>(input.data());
  return std::ranges::any_of(variables_, [&](const Bound& b) {
    const auto* memory = static_cast<const std::byte*>(b.data);
    return begin < memory + trace::Access::memory(b.variable).bytes() &&
           memory < begin + input.bytes();
  });
}

HostTensor BoundProgram::result(size_t k, std::shared_ptr<void> keep) const {
  const Type& type = traced().type(traced().returns()[k].value);
  return HostTensor::borrow(type.dtype, static_shape(type), const_cast<void*>(instance_->result(k)),
                            std::move(keep));
}

double BoundProgram::number(size_t k) const {
  const void* data = instance_->result(k);
  switch (traced().type(traced().returns()[k].value).dtype) {
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
  Tensors results;
  {
    const trace::Within program(&trace::Tracing::program, recording.get());
    results = function(tensors);
  }
  for (size_t k = 0; k < results.size(); ++k)
    if (!results[k].defined())
      trace::refuse(at, "{}: result {} of the function is an empty Tensor", recording->what(), k);
  return results;
}

void declare_model(trace::Recording& recording, const nn::Module& model,
                   const std::string& prefix) {
  recording.add_modules(trace::ModulePaths::of(model), prefix);
  for (const auto& [name, v] : model.named_parameters()) recording.declare(v, prefix + name);
  for (const auto& [name, v] : model.named_buffers()) recording.declare(v, prefix + name);
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
