#include "test/sample/single_steps.h"

#include <algorithm>

#include "ir/edit.h"
#include "ir/text.h"

namespace cleave::random {
namespace {

void drop_unread_inputs(Graph& graph) {
  graph.filter_placeholders([&](const Placeholder& p) {
    const auto is_of = [&](const Return& r) { return r.value == p.value || r.target == p.value; };
    return p.role == Role::symint || graph.use_count(p.value) > 0 ||
           std::ranges::any_of(graph.returns(), is_of);
  });
}

void halve(Array& a, size_t dim) {
  std::vector<int64_t> shape = a.shape;
  shape[dim] /= 2;
  Array half(a.dtype, shape);
  std::vector<int64_t> index(half.shape.size());
  int64_t to = 0;
  if (half.numel() == 0) return;
  do {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at = at * a.shape[d] + index[d];
    if (a.floating())
      half.f[static_cast<size_t>(to++)] = a.f[static_cast<size_t>(at)];
    else
      half.i[static_cast<size_t>(to++)] = a.i[static_cast<size_t>(at)];
  } while (next_index(index, half.shape));
  a = std::move(half);
}

class Steps {
 public:
  explicit Steps(const GivenGraph& given)
      : given_(given),
        values_(has_inputs(given) ? values_of(given) : std::map<std::string, Array>()) {
    for (const Placeholder& p : g().placeholders()) placeholders_.push_back(p.value);
    for (const Return& r : g().returns()) returned_.push_back(r.value);
  }

  std::vector<SingleStep> all() {
    for (size_t k = 0; k < returned_.size() && returned_.size() > 1; ++k) {
      Values rest = returned_;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
      add_part(fmt::format("without return {}", k), placeholders_, rest);
    }
    for (NodeId n = g().first_node(); n.valid(); n = g().next_node(n)) add_without(n);
    for (const Placeholder& p : g().placeholders()) add_without_mark(p);
    for (size_t k = 0; k < placeholders_.size(); ++k)
      for (size_t d = 0; d < g().type(placeholders_[k]).shape.size(); ++d) add_half(k, d);
    return std::move(steps_);
  }

 private:
  const Graph& g() const { return given_.g; }

  // What computes `outputs`, with `inputs` as inputs.
  void add_part(const std::string& what, const Values& inputs, Values outputs) {
    const auto is_cut = [&](ValueId v) {
      return g().value(v).def.valid() && std::ranges::find(inputs, v) != inputs.end();
    };
    if (!std::ranges::all_of(outputs, is_cut)) std::erase_if(outputs, is_cut);
    Result<Graph> part = extract_subgraph(g(), g().name(), inputs, outputs, Role::input);
    if (part.ok()) add(what, *std::move(part));
  }

  void add_without(NodeId n) {
    const Node& node = g().node(n);
    Values inputs = placeholders_, outputs = returned_;
    for (uint32_t k = 0; k < node.output_count; ++k)
      if (!g().type(node.out(k)).is_none) inputs.push_back(node.out(k));
    const std::string name = "%" + g().name(node.out(0));
    add_part(name + " as an input", inputs, outputs);
    for (const ValueId v : node.inputs)
      if (v.valid() && g().value(v).def.valid()) outputs.push_back(v);
    add_part(name + " cut out", inputs, outputs);
    for (size_t operand = 0; operand < node.inputs.size(); ++operand) add_bypassed(n, operand);
  }

  void add_bypassed(NodeId n, size_t operand) {
    const Node& node = g().node(n);
    const ValueId other = node.inputs[operand];
    if (!other.valid() || node.output_count != 1 || g().type(other) != g().type(node.out(0)))
      return;
    Graph to = g();
    to.replace_uses(node.out(0), other);
    to.erase(n);
    add(fmt::format("%{} by its operand {}", g().name(node.out(0)), operand), std::move(to));
  }

  void add_without_mark(const Placeholder& p) {
    if (!p.wants_grad) return;
    Graph to = g();
    to.placeholder(g().value(p.value).index).wants_grad = false;
    add(fmt::format("%{} without grad", g().name(p.value)), std::move(to));
  }

  // With half of one dim of one input, and its leading values.
  void add_half(size_t input, size_t dim) {
    const Dim& size = g().type(placeholders_[input]).shape[dim];
    if (!size.is_const() || size.value() < 2) return;
    Graph to(g().name());
    std::unordered_map<uint32_t, ValueId> map;
    for (size_t k = 0; k < placeholders_.size(); ++k) {
      const Placeholder& p = g().placeholders()[k];
      Type type = g().type(p.value);
      if (k == input) type.shape[dim] = size.value() / 2;
      if (k == input) type.strides.reset();
      Result<ValueId> made =
          to.add_placeholder(p.role, g().name(p.value), type, p.wants_grad, p.sym);
      if (!made.ok()) return;
      map[p.value.v] = *made;
    }
    if (!copy_nodes(g(), g().order(), to, map).ok()) return;
    for (const Return& r : g().returns())
      to.add_return({map.at(r.value.v), ReturnKind::result, {}});
    const std::string what =
        fmt::format("half of dim {} of %{}", dim, g().name(placeholders_[input]));
    if (!verify(to).ok()) return;
    GivenGraph made{std::move(to), given_.inputs, given_.symbols};
    if (has_inputs(given_)) halve(made.inputs[input], dim);
    steps_.push_back({what, std::move(made)});
  }

  // With the inputs by name, where there are any: those of `given_`, and values of calls.
  void add(const std::string& what, Graph graph) {
    eliminate_dead_code(graph);
    drop_unread_inputs(graph);
    if (!verify(graph).ok()) return;
    SingleStep step{what, {std::move(graph), {}, given_.symbols}};
    if (has_inputs(given_))
      for (const Placeholder& p : step.graph.g.placeholders()) {
        const std::string& name = step.graph.g.name(p.value);
        const ValueId before = g().find(name);
        const Placeholder* given = g().placeholder_of(before);
        if (!given && !values_.contains(name)) return;
        step.graph.inputs.push_back(given ? given_.inputs[g().value(before).index]
                                          : values_.at(name));
      }
    steps_.push_back(std::move(step));
  }

  const GivenGraph& given_;
  const std::map<std::string, Array> values_;
  Values placeholders_, returned_;
  std::vector<SingleStep> steps_;
};

}  // namespace

std::vector<SingleStep> single_steps(const GivenGraph& given) { return Steps(given).all(); }

}  // namespace cleave::random
