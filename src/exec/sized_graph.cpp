#include "exec/sized_graph.h"

#include "compile/stages.h"
#include "ir/strides.h"
#include "runtime/shared_threads.h"

namespace cleave {
namespace {

std::string input_text(const Graph& g, size_t k) {
  return fmt::format("input {} `{}`", k, g.name(g.placeholders()[k].value));
}

bool has_strides(const HostTensor& t, const Type& type) {
  const std::vector<int64_t> wanted = strides_of(type);
  for (size_t d = 0; d < wanted.size(); ++d)
    if (t.shape()[d] != 1 && t.stride(static_cast<int64_t>(d)) != wanted[d]) return false;
  return true;
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

Status check_input(const Graph& g, size_t k, const HostTensor& t) {
  const Type& type = g.type(g.placeholders()[k].value);
  if (t.dtype() == type.dtype && t.shape() == static_shape(type) &&
      (t.numel() == 0 || has_strides(t, type)))
    return {};
  return user_error("{}: got {}, expected {}", input_text(g, k), t.type_text(), type.text());
}

std::optional<HostTensor> laid_as_input(const Graph& g, size_t k, const HostTensor& t) {
  const Type& type = g.type(g.placeholders()[k].value);
  if (t.dtype() != type.dtype || t.shape() != static_shape(type) || t.numel() == 0 ||
      has_strides(t, type))
    return std::nullopt;
  HostTensor out(type.dtype, static_shape(type), strides_of(type));
  out.copy_from(t);
  return out;
}

Result<SizedGraph> SizedGraph::make(const Graph& graph, const Operators& ops,
                                    const CompileOptions& options, const SymbolValues& symbols,
                                    std::shared_ptr<CodePool> pool) {
  SizedGraph out;
  if (is_static(graph)) {
    out.graph = graph;
  } else {
    CLEAVE_TRY(out.graph, specialize(graph, symbols));
  }
  StageOptions stages{options};
  stages.pool = std::move(pool);
  if (stages.pool) compute_each_time(stages);
  if (!stages.executor) { CLEAVE_TRY(stages.executor, runtime::shared_threads(stages.threads)); }
  CLEAVE_CHECK(run_stages(Stage::autocast, Stage::pre_grad, out.graph, ops.registry(), stages));
  CLEAVE_TRY(const auto program, CompiledProgram::compile(out.graph, ops.registry(), stages));
  out.report = program->report();
  CLEAVE_TRY(out.instance, Instance::make(program, stages.executor));
  if (!program->frozen_part()) return out;
  CLEAVE_TRY(const auto values, FoldedValues::make(program->frozen_part(), {}, stages.executor));
  out.folded = values->newer_than(nullptr);
  for (size_t k = 0; k < out.folded->size(); ++k) {
    const HostTensor& bytes = (*out.folded)[k];
    CLEAVE_CHECK(out.instance->bind(graph.placeholders().size() + k,
                                    {const_cast<void*>(bytes.data()), bytes.bytes()}));
  }
  return out;
}

}  // namespace cleave
