#include "exec/bound_program.h"

#include <algorithm>
#include <set>

#include "base/alignment.h"
#include "base/element_address.h"
#include "compile/stages.h"
#include "exec/device_variable.h"
#include "exec/input_sizes.h"
#include "ir/edit.h"
#include "ir/move_graph.h"
#include "ir/strides.h"
#include "ir/text.h"
#include "pass/freeze/frozen_values.h"
#include "runtime/shared_threads.h"
#include "trace/tracing.h"

namespace cleave {
namespace {

HostMemory memory_of(const HostTensor& t) {
  return {const_cast<void*>(t.data()), t.extent_bytes(), t.dtype()};
}

// How the results of the function lie; strides are numbers, since sizes are.
std::vector<OutputLayout> layouts_of(const Graph& g, size_t results) {
  std::vector<OutputLayout> out;
  for (size_t k = 0; k < results; ++k) {
    const Type& type = g.type(g.returns()[k].value);
    OutputLayout layout{g.name(g.returns()[k].value), type.text(), {}};
    for (const int64_t s : strides_of(type)) layout.strides.push_back(std::to_string(s));
    out.push_back(std::move(layout));
  }
  return out;
}

}  // namespace

Status ProgramCode::move_to_device(Parts& parts) {
  const CompileOptions& options = parts.options;
  if (options.device.is_cpu()) return {};
  CLEAVE_TRY(Graph there, moved_to(parts.graph, options.device, options.ops.registry()));
  const auto move = [&](ValueId& v) { v = there.find(parts.graph.name(v)); };
  for (trace::Recording::Bound& b : parts.variables) move(b.placeholder);
  for (ValueId& v : parts.inputs) move(v);
  for (auto& [v, memory] : parts.own) move(v);
  for (ValueId& v : parts.marks.checked) move(v);
  parts.graph = std::move(there);
  return {};
}

Result<std::vector<loop::Kernel>> ProgramCode::kernels(const Parts& parts,
                                                       const std::shared_ptr<Backend>& backend) {
  StageOptions stages{parts.options};
  stages.forward_results = parts.forward_results;
  return scheduled_kernels(parts.graph, parts.options.ops.registry(), stages, backend);
}

Result<std::shared_ptr<const ProgramCode>> ProgramCode::make(Parts parts,
                                                             std::shared_ptr<CodePool> pool) {
  auto p = std::make_shared<ProgramCode>();
  const CompileOptions& options = p->options = std::move(parts.options);
  p->traced = std::move(parts.graph);
  p->results = parts.results;
  p->marks = std::move(parts.marks);

  StageOptions stages{options};
  if (!stages.executor) { CLEAVE_TRY(stages.executor, runtime::shared_threads(options.threads)); }
  p->executor = stages.executor;
  p->forward_results = stages.forward_results = parts.forward_results;
  stages.pool = std::move(pool);
  const double front_ms = parts.front.compile_ms;
  CLEAVE_TRY(p->program, CompiledProgram::compile(p->traced, options.ops.registry(), stages));
  p->report = joined(std::move(parts.front), p->program->report());
  if (!p->report.recompiled.empty())
    p->report.recompiled = parts.sizes + ": " + p->report.recompiled;
  p->report.trace_ms = parts.trace_ms - front_ms;
  p->report.outputs = layouts_of(p->traced, p->results);
  p->report.nodes = static_cast<int64_t>(p->traced.node_count());

  // The memory of each placeholder, by its number in the program. A frozen one lacks some, and has
  // others.
  const std::vector<std::string>& names = p->program->placeholders();
  std::map<std::string_view, size_t> number;
  for (size_t i = 0; i < names.size(); ++i) number[names[i]] = i;
  std::map<ValueId, size_t> position;
  for (const Placeholder& q : p->traced.placeholders())
    if (const auto at = number.find(p->traced.name(q.value)); at != number.end())
      position[q.value] = at->second;
  std::set<ValueId> updated;
  for (const Return& r : p->traced.returns())
    if (r.kind == ReturnKind::update) updated.insert(r.target);
  for (const auto& [v, variable] : parts.variables)
    if (const auto at = position.find(v); at != position.end())
      p->variables.push_back({at->second, variable, p->traced.name(v), updated.contains(v)});
  for (const ValueId v : parts.inputs) p->inputs.push_back(position.at(v));
  p->specs = std::move(parts.specs);
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
    for (const std::string& name : p->program->folded()) p->folded_at.push_back(number.at(name));
  }
  return std::shared_ptr<const ProgramCode>(std::move(p));
}

Result<std::unique_ptr<BoundProgram>> BoundProgram::make(std::shared_ptr<const ProgramCode> code,
                                                         std::shared_ptr<ArenaMemory> arena) {
  std::unique_ptr<BoundProgram> p(new BoundProgram);
  CLEAVE_TRY(p->instance_, Instance::make(code->program, code->executor, std::move(arena)));
  p->report_ = code->report;
  for (const char* name : {"copies", "rebinds", "stride_copies"}) p->report_.counters[name] = 0;
  p->code_ = std::move(code);
  const ProgramCode& c = *p->code_;
  for (const ProgramCode::PlacedVariable& v : c.variables) p->variables_.push_back({v, nullptr});
  for (const auto& [placeholder, memory] : c.own)
    CLEAVE_CHECK(p->instance_->bind(placeholder, memory_of(*memory)));
  CLEAVE_CHECK(p->check_room());
  p->updates_variables_ = std::ranges::any_of(p->variables_, &Bound::is_updated);
  p->updates_inputs_ = std::ranges::any_of(c.specs, &InputSpec::is_updated);
  p->bound_inputs_.resize(c.inputs.size());
  p->copies_.resize(c.inputs.size());
  p->tensors_.resize(c.inputs.size());
  p->is_there_.resize(c.inputs.size());
  p->copies_there_.resize(c.inputs.size());
  p->shared_.reserve(c.inputs.size() + p->variables_.size());
  if (p->instance_->use() || !p->instance_->graph_counts().reason.empty()) {
    p->recorded_ = &p->report_.counters["cudagraph_records"];
    p->launched_ = &p->report_.counters["cudagraph_launches"];
    p->skipped_ = &p->report_.counters["cudagraph_skips"];
  }
  return p;
}

void BoundProgram::wait() const {
  if (instance_ && instance_->use()) instance_->use()->wait();
}

// The arena is there already; Variables move with the first run.
Status BoundProgram::check_room() const {
  const std::shared_ptr<DeviceMemory>& memory = instance_->device_memory();
  if (!memory) return {};
  int64_t needed = report_.placeholder_bytes;
  for (const Bound& b : variables_) {
    trace::VariableState& state = *trace::Access::state(b.variable);
    if (has_place(state, memory)) needed -= rounded(state.value.bytes());
  }
  CLEAVE_TRY(const DeviceMemory::Room room, memory->room());
  if (needed <= room.free) return {};
  return user_error(
      "{}: {} B of {} are free; Variables and inputs need {} beside the arena, which has {} "
      "(the planned peak is {})",
      memory->device().text(), room.free, room.total, needed, report_.arena_bytes,
      report_.planned_peak_bytes);
}

Status BoundProgram::bind_folded() {
  if (!code_->folded) return {};
  CLEAVE_CHECK(code_->folded->check());
  const std::shared_ptr<const FoldedValues::List> newer = code_->folded->newer_than(folded_);
  if (!newer) return {};
  for (size_t k = 0; k < newer->size(); ++k) {
    const HostTensor& bytes = (*newer)[k];
    void* data = const_cast<void*>(bytes.data());  // placeholders of role const aren't written
    CLEAVE_CHECK(instance_->bind(code_->folded_at[k],
                                 {data, bytes.bytes(), std::nullopt, /*is_constant=*/true}));
  }
  folded_ = newer;
  return {};
}

bool BoundProgram::assigns_variables() const { return updates_variables_; }

Status BoundProgram::bind_variables(const std::shared_ptr<DeviceUse>& use) {
  for (Bound& b : variables_) {
    trace::VariableState& state = *trace::Access::state(b.variable);
    if (b.is_updated && stays(state, b.copy, use.get())) continue;
    CLEAVE_TRY(void* const data, bind_variable(*instance_, b.placeholder, state, b.data, use));
    b.copy = instance_->device_memory() ? state.copy : nullptr;
    if (data == b.data) continue;
    if (b.data != nullptr) ++report_.counters["rebinds"];
    b.data = data;
    if (instance_->device_memory())
      b.there = HostTensor::borrow(state.value.dtype(), state.value.shape(), data);
    is_moved_ = true;
  }
  return {};
}

// The tensor, or its copy: where it has other strides than the program's, or is only read and lies
// in memory that the program writes.
const HostTensor& BoundProgram::bindable(const HostTensor& input, size_t k) {
  const InputSpec& spec = code_->specs[k];
  const bool lies = has_strides_of(input, spec);
  if (lies && (spec.is_updated || !is_written(input))) return input;
  ++report_.counters[lies ? "copies" : "stride_copies"];
  std::optional<HostTensor>& copy = copies_[k];
  if (!copy && spec.strides.empty()) copy.emplace(input.dtype(), input.shape());
  if (!copy) copy.emplace(input.dtype(), input.shape(), spec.strides);
  copy->copy_from(input);
  return *copy;
}

// The tensor, or its copy on the device: where its address suits no wide access, or it is only read
// and lies in memory that the program writes.
Result<const HostTensor*> BoundProgram::bindable_there(const InputRef& given, size_t k) {
  const InputSpec& spec = code_->specs[k];
  const HostTensor& input = given.place();
  const std::shared_ptr<DeviceMemory>& memory = instance_->device_memory();
  if (const Device ours = memory ? memory->device() : Device(); given.device() != ours)
    return user_error("{} is {} on {}, and the program runs on {}: expected one device",
                      operand_text(k), input.type_text(), given.device().text(), ours.text());
  if (!has_strides_of(input, spec))
    return user_error("{} is {} on {}, expected {}: only tensors of the host are rearranged",
                      operand_text(k), input.type_text(), given.device().text(), spec_text(spec));
  const bool is_apart = reinterpret_cast<uintptr_t>(input.data()) % device_alignment != 0;
  if (input.numel() == 0 || (!is_apart && (spec.is_updated || !is_written_there(input))))
    return &input;
  if (spec.is_updated)
    return user_error("{} is updated, and its address on {} is no multiple of {} bytes",
                      operand_text(k), given.device().text(), device_alignment);
  ++report_.counters["copies"];
  auto& [block, copy] = copies_there_[k];
  const int64_t bytes = input.extent_bytes();
  if (!copy) {
    CLEAVE_TRY(block, DeviceBlock::make(memory, bytes));
    copy = HostTensor::borrow(input.dtype(), input.shape(), input.strides(), block.data());
  }
  CLEAVE_CHECK(memory->copy(block.data(), input.data(), bytes, instance_->arena()->queue()));
  return &*copy;
}

Status BoundProgram::bind_operand(Instance& instance, size_t k) const {
  const HostTensor& tensor = *tensors_[k];
  const size_t placeholder = code_->inputs[k];
  if (!is_there_[k]) return instance.bind(placeholder, memory_of(tensor));
  return instance.bind_there(placeholder, const_cast<void*>(tensor.data()), tensor.extent_bytes());
}

// A run that is started may read them when the call is over.
void BoundProgram::keep_until_over(std::span<const InputRef> inputs) {
  const auto is_kept = [](const InputRef& r) {
    return r.kept() != nullptr && !r.device().is_cpu();
  };
  std::vector<std::shared_ptr<HostTensor>>& kept = kept_[++runs_ % kept_.size()];
  kept.clear();
  for (const InputRef& input : inputs)
    if (is_kept(input)) kept.push_back(input.kept());
}

Status BoundProgram::bind(std::span<const InputRef> inputs, Next next) {
  CLEAVE_CHECK(bind_folded());
  CLEAVE_CHECK(bind_variables(next == Next::start ? instance_->use() : nullptr));
  // A device has a copy of each input of the host, which is nobody else's.
  const bool may_share = updates_inputs_ || !instance_->device_memory();
  for (size_t k = 0; k < inputs.size(); ++k) {
    const bool is_there = !inputs[k].device().is_cpu();
    const HostTensor* tensor = nullptr;
    if (is_there) {
      CLEAVE_TRY(tensor, bindable_there(inputs[k], k));
    } else {
      tensor = &bindable(inputs[k].place(), k);
    }
    tensors_[k] = tensor;
    is_there_[k] = is_there;
    const void*& bound = bound_inputs_[k];
    const bool is_same = tensor->data() == bound;
    is_moved_ |= !is_same && (may_share || is_there);
    if (is_same && code_->specs[k].is_static) continue;
    if (bound != nullptr && code_->specs[k].is_static) ++report_.counters["rebinds"];
    CLEAVE_CHECK(bind_operand(*instance_, k));
    bound = tensor->data();
  }
  if (is_moved_ && (updates_inputs_ || updates_variables_)) CLEAVE_CHECK(check_shared(inputs));
  is_moved_ = false;
  keep_until_over(inputs);
  return {};
}

// Numbers are those of inputs, and behind them of Variables. Inputs that are only read have been
// copied out of the way of Variables.
Status BoundProgram::check_shared(std::span<const InputRef> inputs) {
  shared_.clear();
  for (size_t k = 0; k < inputs.size(); ++k) {
    const bool is_updated = code_->specs[k].is_updated;
    const auto overlaps = is_there_[k] ? &Instance::overlaps_there : &Instance::overlaps_arena;
    if (is_updated && (*instance_.*overlaps)(tensors_[k]->data(), tensors_[k]->extent_bytes()))
      return user_error("{} is updated, and lies in memory of the program: results of its last run",
                        operand_text(k));
    shared_.add({tensors_[k], k, is_updated});
  }
  for (size_t i = 0; i < variables_.size(); ++i)
    shared_.add(
        {variables_[i].there ? &*variables_[i].there : &trace::Access::host(variables_[i].variable),
         inputs.size() + i, variables_[i].is_updated});
  const auto pair = shared_.find();
  if (!pair) return {};
  return user_error("{} is updated, and its memory is also that of {}",
                    operand_text(pair->first.number), operand_text(pair->second.number));
}

std::string BoundProgram::operand_text(size_t number) const {
  const size_t inputs = code_->inputs.size();
  if (number < inputs) return fmt::format("input {} `{}`", number, code_->specs[number].name);
  return "%" + variables_[number - inputs].name;
}

Status BoundProgram::run_boxed(HostTensors&& inputs) {
  std::vector<std::optional<HostTensor>> owned;
  for (HostTensor& t : inputs) owned.emplace_back(std::move(t));
  inputs.clear();
  const Instance::Release release = [&](size_t placeholder) {
    const auto at = std::ranges::find(code_->inputs, placeholder);
    if (at == code_->inputs.end()) return false;
    const auto k = static_cast<size_t>(at - code_->inputs.begin());
    bound_inputs_[k] = nullptr;
    owned[k].reset();
    return true;
  };
  return end_run(instance_->run(&release));
}

Status BoundProgram::run() {
  Status ran = end_run(instance_->run());
  for (auto& kept : kept_) kept.clear();
  return ran;
}

Status BoundProgram::settle() {
  Status settled = instance_->settle();
  for (auto& kept : kept_) kept.clear();
  return settled;
}

Status BoundProgram::start(std::shared_ptr<StartedRun> run) {
  return end_run(instance_->start(std::move(run)));
}

void BoundProgram::count_graphs() {
  if (recorded_ == nullptr) return;
  const GraphCounts& counts = instance_->graph_counts();
  *recorded_ = counts.recorded;
  *launched_ = counts.launched;
  *skipped_ = counts.skipped;
  if (counts.reason.empty() || said_ || counts.skipped == 0) return;
  said_ = Warning{"cudagraphs", skip_text(counts.reason)};
  report_.warnings.push_back(*said_);
  is_said_ = false;
}

const Warning* BoundProgram::new_warning() {
  if (!said_ || is_said_) return nullptr;
  is_said_ = true;
  return &*said_;
}

// Of a run that was started the copies may not be written yet: whoever reads them waits.
Status BoundProgram::end_run(Status ran) {
  count_graphs();
  if (!ran.ok() || !updates_variables_) return ran;
  for (const Bound& b : variables_) {
    if (!b.is_updated) continue;
    trace::VariableState& state = *trace::Access::state(b.variable);
    instance_->device_memory() ? state.written_elsewhere() : state.written_here();
  }
  return ran;
}

Result<HostTensors> BoundProgram::recompute(const Values& values) const {
  Graph g = code_->traced;
  std::vector<Return> returns;
  for (const ValueId v : values) returns.push_back({v});
  g.set_returns(std::move(returns));
  eliminate_dead_code(g);
  CompileOptions plain;
  plain.compiler = CompilerChoice::none;
  plain.target = code_->options.target;
  plain.device = code_->options.device;
  plain.backend = code_->options.backend;
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
    return run->bind(placeholder, memory_of(t));
  };
  for (const auto& [placeholder, memory] : code_->own) CLEAVE_CHECK(bind(placeholder, *memory));
  for (const Bound& b : variables_)
    CLEAVE_CHECK(bind_variable(*run, b.placeholder, *trace::Access::state(b.variable)));
  for (size_t k = 0; k < tensors_.size(); ++k) CLEAVE_CHECK(bind_operand(*run, k));
  CLEAVE_CHECK(run->run());
  HostTensors out;
  for (size_t k = 0; k < values.size(); ++k) {
    const Type& type = g.type(values[k]);
    const HostTensor view = HostTensor::borrow(type.dtype, static_shape(type), strides_of(type),
                                               const_cast<void*>(run->result(k)));
    out.push_back(HostTensor(view));
  }
  return out;
}

// Results of an earlier run lie in the arena; a Variable may be updated in place. A device reads a
// copy.
bool BoundProgram::is_written(const HostTensor& input) const {
  if (input.bytes() == 0 || instance_->device_memory()) return false;
  if (instance_->overlaps_arena(input.data(), input.extent_bytes())) return true;
  const auto* begin = static_cast<const std::byte*>(input.data());
  return std::ranges::any_of(variables_, [&](const Bound& b) {
    const auto* memory = static_cast<const std::byte*>(b.data);
    return begin < memory + trace::Access::host(b.variable).bytes() &&
           memory < begin + input.extent_bytes();
  });
}

bool BoundProgram::is_written_there(const HostTensor& input) const {
  if (instance_->overlaps_there(input.data(), input.extent_bytes())) return true;
  const auto* begin = static_cast<const std::byte*>(input.data());
  return std::ranges::any_of(variables_, [&](const Bound& b) {
    const auto* memory = static_cast<const std::byte*>(b.data);
    return b.is_updated && begin < memory + trace::Access::host(b.variable).bytes() &&
           memory < begin + input.extent_bytes();
  });
}

DeviceTensor BoundProgram::result_there(size_t k, std::shared_ptr<void> keep) const {
  const std::shared_ptr<DeviceMemory>& memory = instance_->device_memory();
  if (!memory) return DeviceTensor(result(k, std::move(keep)));
  const Type& type = returned_type(traced(), k);
  return DeviceTensor::borrow(memory->device(), type.dtype, static_shape(type), strides_of(type),
                              instance_->result_there(k), std::move(keep));
}

HostTensor BoundProgram::result(size_t k, std::shared_ptr<void> keep) const {
  const Type& type = returned_type(traced(), k);
  return HostTensor::borrow(type.dtype, static_shape(type), strides_of(type),
                            const_cast<void*>(instance_->result(k)), std::move(keep));
}

double BoundProgram::number_at(size_t k, const void* data) const {
  const Type& type = returned_type(traced(), k);
  switch (type.dtype) {
    case DType::f64: return *static_cast<const double*>(data);
    case DType::f32: return *static_cast<const float*>(data);
    default:
      return HostTensor::borrow(type.dtype, static_shape(type), strides_of(type),
                                const_cast<void*>(data))
          .number(0);
  }
}

double BoundProgram::number(size_t k) const { return number_at(k, instance_->result(k)); }
double BoundProgram::ended_number(size_t k) const {
  return number_at(k, instance_->ended_result(k));
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
    const std::vector<int64_t>& shape = s.shape.largest();
    Type type(s.dtype, Shape(shape.begin(), shape.end()));
    if (!s.strides.empty()) type.strides.emplace(s.strides.begin(), s.strides.end());
    if (s.is_updated || s.copy_strides) trace::value_or_throw_at(at, check_written(s.name, type));
    out.push_back(recording.add_input(s.name, std::move(type), Role::input, at));
    if (s.is_updated) recording.allow_update(out.back());
  }
  return out;
}

void advance_random(trace::Recording& recording, Location at) {
  for (const auto& b : recording.bound()) {
    if (b.variable.kind() != VariableKind::random) continue;
    Builder builder(recording.graph(), recording.ops());
    builder.set_loc(recording.loc(at));
    builder.name_next({"rng.next"});
    const ValueId next = builder.call1("rng_next", {b.placeholder});
    value_or_throw(builder.status());
    recording.update(b.variable, next);
  }
}

Tensors run_traced(const TracedFunction& function, const trace::RecordingPtr& recording,
                   const std::vector<ValueId>& inputs, Location at) {
  if (!function) trace::refuse(at, "{}: there is no function", recording->what());
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
