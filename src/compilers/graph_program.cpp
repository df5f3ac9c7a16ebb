// Graphs over the caller's memory.
#include "cleave/graph_program.h"

#include <mutex>

#include "compilers/traced_graph.h"
#include "exec/recently_used.h"
#include "exec/shared_memory.h"
#include "exec/sized_graphs.h"
#include "inspect/program_traffic.h"
#include "ir/strides.h"

namespace cleave {
namespace {

// What a run gives for its inputs may be another tensor in each run.
Graph with_inputs(Graph g) {
  for (size_t i = 0; i < g.placeholders().size(); ++i) {
    Placeholder& p = g.placeholder(i);
    if (p.role == Role::param || p.role == Role::buffer || p.role == Role::constant)
      p.role = Role::input;
  }
  return g;
}

std::vector<bool> updated_inputs(const Graph& g) {
  std::vector<bool> out(g.placeholders().size());
  for (const Return& r : g.returns())
    if (r.kind == ReturnKind::update) out[g.value(r.target).index] = true;
  return out;
}

}  // namespace

struct GraphProgram::State {
  State(const TracedGraph& given, CompileOptions chosen)
      : traced(given),
        sized(with_inputs(given.state().graph), given.state().ops, std::move(chosen)),
        graph(sized.graph()), updated(updated_inputs(graph)),
        programs(static_cast<size_t>(sized.options().kept_sizes)) {
    for (size_t k = 0; k < graph.placeholders().size(); ++k)
      if (graph.placeholders()[k].role != Role::symint) taken.push_back(k);
  }

  Result<HostTensors> run(std::span<const InputRef> inputs, const Sizes& sizes);
  Status prepare(std::span<const InputRef> inputs, const Sizes& sizes);

  const TracedGraph traced;
  SizedGraphs sized;  // guarded by the mutex but for its graph
  const Graph& graph;
  const std::vector<bool> updated;  // by placeholder
  std::vector<size_t> taken;        // the placeholder of each input
  std::mutex mutex;                 // of what follows
  struct Sized {
    SizedGraph program;
    std::vector<int64_t> symints;  // the memory of placeholders
  };
  RecentlyUsed<std::shared_ptr<Sized>> programs;
  std::shared_ptr<Sized> last;
  std::map<size_t, HostTensor> copies;  // of inputs of this run, because of their strides
  int64_t stride_copies = 0;

 private:
  Status find(std::span<const InputRef> inputs, const Sizes& sizes);
  Result<Sized> made(const SymbolValues& symbols);
  Status check_written(std::span<const InputRef> inputs);
  std::string input_text(size_t k) const {
    return fmt::format("input {} `{}`", k, graph.name(graph.placeholders()[taken[k]].value));
  }
  SharedMemory shared_;
};

Result<GraphProgram::State::Sized> GraphProgram::State::made(const SymbolValues& symbols) {
  CLEAVE_TRY(SizedGraph program, sized.made(symbols));
  Sized out{std::move(program), std::vector<int64_t>(graph.placeholders().size())};
  for (size_t k = 0; k < graph.placeholders().size(); ++k) {
    if (graph.placeholders()[k].role != Role::symint) continue;
    out.symints[k] = symbols.at(graph.name(graph.placeholders()[k].value));
    CLEAVE_CHECK(out.program.instance->bind(k, std::span(&out.symints[k], 1)));
  }
  return out;
}

Status GraphProgram::State::find(std::span<const InputRef> inputs, const Sizes& sizes) {
  if (inputs.size() != taken.size())
    return user_error("@{}: got {} inputs, expected {}", graph.name(), inputs.size(), taken.size());
  copies.clear();
  std::vector<std::optional<std::vector<int64_t>>> shapes(graph.placeholders().size());
  for (size_t k = 0; k < inputs.size(); ++k) shapes[taken[k]] = inputs[k].tensor().shape();
  CLEAVE_TRY(const SymbolValues symbols, bind_symbols(graph, shapes, sizes));
  std::vector<int64_t> key;
  for (const auto& [name, value] : symbols) key.push_back(value);
  if (const std::shared_ptr<Sized>* known = programs.find(key)) {
    last = *known;
  } else {
    CLEAVE_TRY(Sized program, made(symbols));
    last = std::make_shared<Sized>(std::move(program));
    programs.add(key, last);
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    const HostTensor& t = inputs[k].tensor();
    std::optional<HostTensor> laid;
    if (!updated[taken[k]]) laid = laid_as_input(last->program.graph, taken[k], t);
    CLEAVE_CHECK(check_input(last->program.graph, taken[k], laid ? *laid : t));
    if (laid) copies.insert_or_assign(k, *std::move(laid));
  }
  return {};
}

Status GraphProgram::State::check_written(std::span<const InputRef> inputs) {
  shared_.clear();
  for (size_t k = 0; k < inputs.size(); ++k) {
    const bool is_written = updated[taken[k]];
    if (is_written && inputs[k].is_const())
      return user_error("@{}: {} is updated, and given a const tensor", graph.name(),
                        input_text(k));
    shared_.add({&inputs[k].tensor(), k, is_written});
  }
  const auto pair = shared_.find();
  if (!pair) return {};
  return user_error("@{}: {} is updated, and its memory is also that of {}", graph.name(),
                    input_text(pair->first.number), input_text(pair->second.number));
}

Status GraphProgram::State::prepare(std::span<const InputRef> inputs, const Sizes& sizes) {
  const std::lock_guard lock(mutex);
  return find(inputs, sizes);
}

Result<HostTensors> GraphProgram::State::run(std::span<const InputRef> inputs, const Sizes& sizes) {
  const std::lock_guard lock(mutex);
  CLEAVE_CHECK(find(inputs, sizes));
  CLEAVE_CHECK(check_written(inputs));
  stride_copies += static_cast<int64_t>(copies.size());
  const Graph& g = last->program.graph;
  Instance& instance = *last->program.instance;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const auto copy = copies.find(k);
    const HostTensor& t = copy == copies.end() ? inputs[k].tensor() : copy->second;
    CLEAVE_CHECK(
        instance.bind(taken[k], {const_cast<void*>(t.data()), t.extent_bytes(), t.dtype()}));
  }
  Status ran = instance.run();
  copies.clear();
  CLEAVE_CHECK(std::move(ran));
  HostTensors out;
  for (size_t k = 0; k < g.returns().size(); ++k) {
    if (g.returns()[k].kind == ReturnKind::update) continue;
    const Type& type = returned_type(g, k);
    const HostTensor view = HostTensor::borrow(type.dtype, static_shape(type), strides_of(type),
                                               const_cast<void*>(instance.result(k)));
    out.push_back(HostTensor(view));  // a copy
  }
  return out;
}

HostTensors GraphProgram::run(std::span<const InputRef> inputs, const Sizes& sizes) {
  return value_or_throw(state_->run(inputs, sizes));
}
void GraphProgram::prepare(std::span<const InputRef> inputs, const Sizes& sizes) {
  value_or_throw(state_->prepare(inputs, sizes));
}

Report GraphProgram::report() const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->last)
    throw_failure(user_error("@{}: there is no report: nothing ran yet", state_->graph.name()));
  Report out = state_->last->program.report;
  out.counters["stride_copies"] = state_->stride_copies;
  return out;
}

std::vector<ProgramKernel> GraphProgram::kernels() const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->last)
    throw_failure(user_error("@{}: there are no kernels: nothing ran yet", state_->graph.name()));
  const ProgramTraffic traffic = value_or_throw(
      program_traffic(state_->last->program.graph, state_->traced.state().ops.registry(),
                      StageOptions{state_->sized.options()}));
  std::vector<ProgramKernel> out;
  for (const KernelTraffic& k : traffic.kernels) out.push_back({k.name, k.kind, k.read, k.written});
  return out;
}

int64_t GraphProgram::compiled_sizes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->sized.count();
}

int64_t GraphProgram::recompiled_sizes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->sized.recompiles();
}

TracedGraph GraphProgram::graph() const { return state_->traced; }

GraphProgram compile_graph(const TracedGraph& graph, CompileOptions options) {
  if (options.kept_sizes < 1)
    throw_failure(
        user_error("compile_graph: kept_sizes is {}, expected 1 or more", options.kept_sizes));
  return GraphProgram(std::make_shared<GraphProgram::State>(graph, std::move(options)));
}

}  // namespace cleave
