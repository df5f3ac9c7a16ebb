#include "exec/graph_function.h"

#include <algorithm>

#include "ir/strides.h"

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

bool is_returned(const Graph& g, size_t placeholder) {
  const ValueId v = g.placeholders()[placeholder].value;
  return std::ranges::any_of(g.returns(), [v](const Return& r) { return r.value == v; });
}

HostTensor view_of(const Type& type, const void* data) {
  return HostTensor::borrow(type.dtype, static_shape(type), strides_of(type),
                            const_cast<void*>(data));
}

}  // namespace

GraphFunction::GraphFunction(Graph graph, Operators ops, CompileOptions options)
    : sizes_(as_function(std::move(graph)), std::move(ops), std::move(options)),
      programs_(static_cast<size_t>(sizes_.options().kept_sizes)) {}

Result<SizedGraph*> GraphFunction::sized(const HostTensors& inputs, bool& is_new) {
  CLEAVE_TRY(const SymbolValues symbols, symbols_of(graph(), inputs));
  std::vector<int64_t> sizes;
  for (const auto& [name, value] : symbols) sizes.push_back(value);
  const std::shared_ptr<SizedGraph>* known = programs_.find(sizes);
  is_new = known == nullptr;
  if (is_new) {
    CLEAVE_TRY(SizedGraph program, sizes_.made(symbols));
    programs_.add(sizes, std::make_shared<SizedGraph>(std::move(program)));
    known = programs_.find(sizes);
  }
  for (size_t k = 0; k < inputs.size(); ++k)
    CLEAVE_CHECK(check_input((*known)->graph, k, inputs[k]));
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
  CLEAVE_TRY(SizedGraph* const program, sized(inputs, is_new));
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

HostTensors GraphFunction::results(const SizedGraph& program,
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
