// A graph, whose symints are sizes that vary: its halves are those for all of them.
#include <algorithm>

#include "compilers/aot_halves.h"
#include "ir/specialize.h"
#include "ir/strides.h"

namespace cleave {
namespace {

class GraphSource final : public AotSource {
 public:
  GraphSource(const TracedGraph& graph, const AotOptions& options)
      : graph_(graph.state().graph), options_(options) {
    options_.ops = graph.state().ops;
    for (const Placeholder& p : graph_.placeholders())
      if (p.wants_grad) wanted_.push_back(graph_.name(p.value));
  }

  std::vector<int64_t> sizes(std::span<const InputRef> inputs) override {
    value_or_throw(bind(inputs));
    return {};
  }
  std::vector<int64_t> first_sizes() const override { return {}; }
  Halves halves(const std::vector<int64_t>&) override {
    Graph function = graph_;
    const auto first_update = std::ranges::find_if(
        graph_.returns(), [](const Return& r) { return r.kind != ReturnKind::result; });
    const auto results = static_cast<size_t>(first_update - graph_.returns().begin());
    return value_or_throw(Halves::make(std::move(function), results, options_));
  }
  HostTensors operands(const Graph& forward, std::span<const InputRef> inputs) override {
    HostTensors out;
    for (const Placeholder& p : forward.placeholders()) {
      const std::string& name = forward.name(p.value);
      if (const auto symbol = symbols_.find(name); symbol != symbols_.end()) {
        HostTensor& size = out.emplace_back(DType::i64, std::vector<int64_t>{});
        *size.data<int64_t>() = symbol->second;
        continue;
      }
      out.push_back(borrowed(inputs[input_.at(name)].tensor()));
    }
    return out;
  }
  HostTensor& target(const std::string& name, std::span<const InputRef> inputs) override {
    return const_cast<HostTensor&>(inputs[input_.at(name)].tensor());  // bind() refuses const ones
  }
  const std::vector<std::string>& wanted_inputs() const override { return wanted_; }
  std::vector<int64_t> versions() const override { return {}; }

  static Status check(const Graph& g) {
    if (g.is_joint())
      return user_error("aot_function: @{} is a joint graph, expected a forward one", g.name());
    bool updates = false;
    for (const Return& r : g.returns()) {
      if (updates && r.kind == ReturnKind::result)
        return user_error("aot_function: @{}: a result stands behind an update", g.name());
      updates |= r.kind == ReturnKind::update;
    }
    return {};
  }

 private:
  // One tensor for each placeholder that is no symint, in order.
  Status bind(std::span<const InputRef> inputs) {
    std::vector<std::optional<std::vector<int64_t>>> shapes;
    input_.clear();
    size_t k = 0;
    for (const Placeholder& p : graph_.placeholders()) {
      shapes.emplace_back();
      if (p.role == Role::symint) continue;
      const std::string& name = graph_.name(p.value);
      input_[name] = k;
      if (k < inputs.size()) {
        const HostTensor& t = inputs[k].tensor();
        if (t.dtype() != graph_.type(p.value).dtype)
          return user_error("aot_function: input {} `{}`: got {}, expected {}", k, name,
                            t.type_text(), graph_.type(p.value).text());
        if (inputs[k].is_const() && is_updated(p.value))
          return user_error("aot_function: input {} `{}` is updated, and given a const tensor", k,
                            name);
        shapes.back() = t.shape();
      }
      ++k;
    }
    if (k != inputs.size())
      return user_error("aot_function: got {} inputs, expected {}", inputs.size(), k);
    CLEAVE_TRY(symbols_, bind_symbols(graph_, shapes));
    return {};
  }
  bool is_updated(ValueId v) const {
    return std::ranges::any_of(graph_.returns(), [&](const Return& r) {
      return r.kind == ReturnKind::update && r.target == v;
    });
  }

  const Graph graph_;
  AotOptions options_;
  std::vector<std::string> wanted_;
  SymbolValues symbols_;                 // of the last inputs
  std::map<std::string, size_t> input_;  // by placeholder
};

}  // namespace

std::unique_ptr<AotSource> graph_source(const TracedGraph& graph, const AotOptions& options) {
  value_or_throw(GraphSource::check(graph.state().graph));
  if (!options.wants_grad.empty())
    throw_failure(
        user_error("aot_function: wants_grad: a graph says itself which inputs want a gradient"));
  return std::make_unique<GraphSource>(graph, options);
}

}  // namespace cleave
