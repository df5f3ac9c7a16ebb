#include "exec/graph_function.h"

#include <algorithm>

#include "compile/stages.h"
#include "ir/strides.h"
#include "runtime/shared_threads.h"

namespace cleave {
namespace {

// Updates are results, and every placeholder is an input, which may be another tensor in each run.
Graph as_function(Graph g) {
  std::vector<Return> returns = g.returns();
  for (Return& r : returns)
    if (r.kind == ReturnKind::update) r = {r.value, ReturnKind::result, {}};
  g.set_returns(std::move(returns));
  for (size_t i = 0; i < g.placeholders().size(); ++i) {
    Placeholder& p = g.placeholder(i);
    if (p.role == Role::param || p.role == Role::buffer || p.role == Role::constant)
      p.role = Role::input;
  }
  return g;
}

std::string input_text(const Graph& g, size_t k) {
  return fmt::format("input {} `{}`", k, g.name(g.placeholders()[k].value));
}

bool has_strides(const HostTensor& t, const Type& type) {
  const std::vector<int64_t> wanted = strides_of(type);
  for (size_t d = 0; d < wanted.size(); ++d)
    if (t.shape()[d] != 1 && t.stride(static_cast<int64_t>(d)) != wanted[d]) return false;
  return true;
}

// Of a static graph.
Status check_inputs(const Graph& g, const HostTensors& inputs) {
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Type& type = g.type(g.placeholders()[k].value);
    const HostTensor& t = inputs[k];
    if (t.dtype() != type.dtype || t.shape() != static_shape(type) ||
        (t.numel() > 0 && !has_strides(t, type)))
      return user_error("{}: got {}, expected {}", input_text(g, k), t.type_text(), type.text());
  }
  return {};
}

bool is_returned(const Graph& g, size_t placeholder) {
  const ValueId v = g.placeholders()[placeholder].value;
  return std::ranges::any_of(g.returns(), [v](const Return& r) { return r.value == v; });
}

HostTensor view_of(const Type& type, const void* data) {
  return HostTensor::borrow(type.dtype, static_shape(type), strides_of(type),
                            const_cast<void*>(data));
}

}  // namespace

Result<SymbolValues> symbols_of(const Graph& g, const HostTensors& inputs) {
  if (inputs.size() != g.placeholders().size())
    return user_error("@{}: got {} inputs, expected {}", g.name(), inputs.size(),
                      g.placeholders().size());
  std::vector<std::optional<std::vector<int64_t>>> shapes;
  SymbolValues given;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Placeholder& p = g.placeholders()[k];
    shapes.emplace_back(inputs[k].shape());
    if (p.role != Role::symint) continue;
    if (inputs[k].dtype() != DType::i64 || inputs[k].rank() != 0)
      return user_error("{}: got {}, expected i64[]", input_text(g, k), inputs[k].type_text());
    given[g.name(p.value)] = *inputs[k].data<int64_t>();
  }
  return bind_symbols(g, shapes, given);
}

GraphFunction::GraphFunction(Graph graph, Operators ops, CompileOptions options)
    : graph_(as_function(std::move(graph))), ops_(std::move(ops)), options_(std::move(options)),
      programs_(static_cast<size_t>(options_.kept_sizes)) {}

Result<GraphFunction::Sized> GraphFunction::made(const SymbolValues& symbols) const {
  Sized out;
  if (is_static(graph_)) {
    out.graph = graph_;
  } else {
    CLEAVE_TRY(out.graph, specialize(graph_, symbols));
  }
  StageOptions stages{options_};
  if (!stages.executor) { CLEAVE_TRY(stages.executor, runtime::shared_threads(stages.threads)); }
  CLEAVE_CHECK(run_stages(Stage::autocast, Stage::pre_grad, out.graph, ops_.registry(), stages));
  CLEAVE_TRY(const auto program, CompiledProgram::compile(out.graph, ops_.registry(), stages));
  CLEAVE_TRY(out.instance, Instance::make(program, stages.executor));
  if (!program->frozen_part()) return out;
  CLEAVE_TRY(const auto values, FoldedValues::make(program->frozen_part(), {}, stages.executor));
  out.folded = values->newer_than(nullptr);
  for (size_t k = 0; k < out.folded->size(); ++k) {
    const HostTensor& bytes = (*out.folded)[k];
    CLEAVE_CHECK(out.instance->bind(graph_.placeholders().size() + k,
                                    {const_cast<void*>(bytes.data()), bytes.bytes()}));
  }
  return out;
}

Result<GraphFunction::Sized*> GraphFunction::sized(const HostTensors& inputs, bool& is_new) {
  CLEAVE_TRY(const SymbolValues symbols, symbols_of(graph_, inputs));
  std::vector<int64_t> sizes;
  for (const auto& [name, value] : symbols) sizes.push_back(value);
  const std::shared_ptr<Sized>* known = programs_.find(sizes);
  is_new = known == nullptr;
  if (is_new) {
    CLEAVE_TRY(Sized program, made(symbols));
    programs_.add(sizes, std::make_shared<Sized>(std::move(program)));
    known = programs_.find(sizes);
  }
  CLEAVE_CHECK(check_inputs((*known)->graph, inputs));
  return known->get();
}

Result<bool> GraphFunction::prepare(const HostTensors& inputs) {
  const std::lock_guard lock(mutex_);
  bool is_new = false;
  CLEAVE_CHECK(sized(inputs, is_new));
  return is_new;
}

Result<HostTensors> GraphFunction::run(HostTensors&& inputs) {
  const std::lock_guard lock(mutex_);
  bool is_new = false;
  CLEAVE_TRY(Sized* const program, sized(inputs, is_new));
  std::vector<std::optional<HostTensor>> owned;
  for (HostTensor& t : inputs) owned.emplace_back(std::move(t));
  inputs.clear();
  for (size_t k = 0; k < owned.size(); ++k)
    CLEAVE_CHECK(program->instance->bind(
        k, {owned[k]->data(), owned[k]->extent_bytes(), owned[k]->dtype()}));
  const Instance::Release release = [&](size_t placeholder) {
    if (placeholder >= owned.size() || is_returned(program->graph, placeholder)) return false;
    owned[placeholder].reset();
    return true;
  };
  CLEAVE_CHECK(program->instance->run(&release));
  return results(*program, owned);
}

HostTensors GraphFunction::results(const Sized& program,
                                   std::vector<std::optional<HostTensor>>& inputs) const {
  const Graph& g = program.graph;
  HostTensors out;
  std::vector<std::optional<size_t>> taken(inputs.size());  // by input: the result that it became
  for (size_t k = 0; k < g.returns().size(); ++k) {
    const Return& r = g.returns()[k];
    const HostTensor view = view_of(returned_type(g, k), program.instance->result(k));
    const Placeholder* p = g.placeholder_of(r.value);
    const size_t at = p ? g.value(r.value).index : 0;
    if (p == nullptr || !inputs[at] || inputs[at]->borrows() || taken[at]) {
      out.push_back(HostTensor(view));  // a copy
      continue;
    }
    taken[at] = k;
    out.emplace_back();
  }
  for (size_t at = 0; at < inputs.size(); ++at)
    if (taken[at]) out[*taken[at]] = *std::move(inputs[at]);
  return out;
}

}  // namespace cleave
